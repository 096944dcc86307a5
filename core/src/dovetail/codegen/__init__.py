"""Kernels that are generated: their form, their mathematics, and their rendering.

A kernel is a small program over buffers (`ir`): no tensors, no devices, no ops. What
an op computes comes from above, as a `Program` of elementary steps; `lanes` makes a
kernel of it, `llvm_text` writes that as LLVM IR with explicit vectors.
"""
