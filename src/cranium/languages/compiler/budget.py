"""The budget of a compilation: a language that needs more steps is too large."""

from __future__ import annotations

from cranium.errors import LanguageError

__all__ = ["Budget"]

MAX_STEPS = 2_500_000
"""At about 2 µs a step on a busy machine, a compilation ends well within ten seconds."""


class Budget:
    """Counts the steps of a compilation, and ends those that would take too long.

    Example:
        >>> Budget(2).spend(3)
        Traceback (most recent call last):
        cranium.errors.LanguageError: the language is too large to compile: it needs more than 2
        steps
          fix: use smaller numbers, fewer exponents or fewer alternatives
    """

    def __init__(self, most: int = MAX_STEPS) -> None:
        self.most = self.left = most

    def spend(self, steps: int = 1) -> None:
        """Count steps, and raise an error if the budget is exceeded."""
        self.left -= steps
        if self.left < 0:
            raise LanguageError(
                f"the language is too large to compile: it needs more than {self.most:,} steps",
                fix="use smaller numbers, fewer exponents or fewer alternatives",
            )
