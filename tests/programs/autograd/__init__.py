"""Random programs that differentiate, beside torch.

    python -m tests.programs.autograd --count 5000 --seed 0

`statements` draws them, `side` runs them in one library, `compare` in both.
"""
