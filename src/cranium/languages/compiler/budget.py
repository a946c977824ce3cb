"""The budget of a compilation, after which a language is refused as too large."""

from __future__ import annotations

from cranium.errors import LanguageError

__all__ = ["Budget"]

MAX_STEPS = 2_500_000
"""At about 2 µs a step on a busy machine, this ends well within ten seconds."""


class Budget:
    """Counts the steps of a compilation, so that no language takes for ever.

    Example:
        >>> Budget(2).spend(3)
        Traceback (most recent call last):
        cranium.errors.LanguageError: the language is too large to compile: more than 2 steps had to
        be looked at
          fix: use smaller numbers, fewer exponents or fewer alternatives
    """

    def __init__(self, most: int = MAX_STEPS) -> None:
        self.most = self.left = most

    def spend(self, steps: int = 1) -> None:
        """Count steps; raise an error if there are more than allowed."""
        self.left -= steps
        if self.left < 0:
            raise LanguageError(
                f"the language is too large to compile: more than {self.most:,} steps had to be "
                "looked at",
                fix="use smaller numbers, fewer exponents or fewer alternatives",
            )
