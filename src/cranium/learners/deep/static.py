"""Objects for which the training loop is compiled."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

__all__ = ["Static"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Static(Generic[T]):
    """An object of a user's, as a static argument of JAX: equal ones share the compiled code."""

    value: T
    identity: Hashable

    @classmethod
    def of(cls, value: T) -> Self:
        """Wrap an object. One that is not hashable is only equal to itself."""
        try:
            hash(value)
        except TypeError:
            return cls(value, id(value))
        return cls(value, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)
