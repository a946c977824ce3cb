"""The command line: ``cranium check | draw | run | unroll | convert | equivalent | library``."""

from cranium.cli.app import app, main

__all__ = ["app", "main"]
