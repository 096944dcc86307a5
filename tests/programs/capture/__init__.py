"""Random training programs that are recorded and replayed, beside eager ones.

    python -m tests.programs.capture --count 1000 --seed 0

`draw` makes them of `statements`, `compare` runs them.
"""
