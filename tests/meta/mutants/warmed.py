"""Imported once by the server that all judging processes are forked from."""

from tests.meta.mutants.judging import warm

warm()
