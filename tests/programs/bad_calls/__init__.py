"""Random bad calls of everything public: who raises what, and what is left behind.

`python -m tests.programs.bad_calls --count 40000` draws calls from the live namespace
with arguments of wrong types, sizes, numbers, dtypes and devices, and prints

- leaks: errors that are not of dovetail's tree, but for Python's own of a signature,
- silent: answers where torch raises, and tensors that a refused call altered,
- changing: calls that are not refused a second time as they were the first time,
- slow: calls that took longer than the limit.

`calls.py` draws, `values.py` has what is drawn from, `judge.py` makes and judges a
call, `worker.py` does so in a process with little memory, which may die.
"""
