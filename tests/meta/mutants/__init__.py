"""Deliberately broken devices: what the conformance kit is worth is how many it kills.

`python -m tests.meta.mutants` plants them one at a time and judges each as any device
is judged, at the budget `standard`.
"""
