"""The package that `dovetail new-backend acme` writes, filled in with NumPy."""
