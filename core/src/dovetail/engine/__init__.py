"""The core: tensors, the declaration of ops, dispatch, tape and engine.

It imports no op; the vocabulary registers itself, and core looks up the few ops that
it uses (`add`, `cast`, `clone`, `sum_to`, …) by name.
"""
