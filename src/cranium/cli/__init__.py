"""The command line: one module for each group of commands."""

from cranium.cli.app import app, main

__all__ = ["app", "main"]
