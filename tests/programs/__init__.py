"""Generators of programs that look for what nobody thought of."""
