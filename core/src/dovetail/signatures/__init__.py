"""What editors and type checkers are told of the names that declarations make.

The package's functions, Tensor's methods and nn.functional come from declarations when
dovetail is imported, which a type checker does not do. The stubs of this folder say
what they are; `python -m dovetail.signatures` writes them from the live objects.
"""
