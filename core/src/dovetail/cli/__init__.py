"""The `dovetail` command."""

from dovetail.cli.app import main

__all__ = ["main"]
