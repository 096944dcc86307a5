"""Where torch has names that dovetail has elsewhere, and what of them is left out."""
