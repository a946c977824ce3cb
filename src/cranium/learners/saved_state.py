"""The state of a training as arrays and plain data, and its checks when it is read from a file.

A file may be damaged or hostile, and compiled code follows the numbers in it without bounds checks.
So every number is checked when it is taken out; what is wrong raises ``ValueError`` or another of
``npz.DAMAGES``, which the reader of the file turns into a ``FileFormatError``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cranium.errors import shorten
from cranium.learners.serialisation import whole

__all__ = ["SavedState", "generator_data", "restore_generator"]

ANY = -1
"""A length that is not checked."""
GENERATOR = "PCG64"
WIDE, NARROW = 2**128 - 1, 2**32 - 1


class SavedState:
    """Named arrays, and named plain data beside them.

    Example:
        >>> saved = SavedState()
        >>> saved.arrays["q"], saved.data["samples"] = np.zeros((2, 3)), 7
        >>> saved.array("q", np.float64, (2, 3)).sum(), saved.whole("samples", 0, 10)
        (np.float64(0.0), 7)
        >>> saved.array("q", np.float64, (3, 3))
        Traceback (most recent call last):
        ValueError: q has the shape (2, 3) and the dtype float64, not (3, 3) and float64
    """

    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]] | None = None,
        data: Mapping[str, object] | None = None,
    ) -> None:
        self.arrays: dict[str, NDArray[Any]] = dict(arrays or {})
        self.data: dict[str, object] = dict(data or {})

    def array(
        self,
        name: str,
        dtype: DTypeLike,
        shape: Sequence[int],
        *,
        least: float | None = None,
        most: float | None = None,
    ) -> NDArray[Any]:
        """Return an array if its dtype, its shape (-1 is any length) and its values are allowed."""
        found = self.arrays[name]
        fits = len(shape) == found.ndim and all(
            wanted in (ANY, length) for wanted, length in zip(shape, found.shape, strict=True)
        )
        if not fits or found.dtype != np.dtype(dtype):
            raise ValueError(
                f"{name} has the shape {found.shape} and the dtype {found.dtype}, not "
                f"{tuple(shape)} and {np.dtype(dtype)}"
            )
        # NaN is in no range.
        if least is not None and found.size and not found.min() >= least:
            raise ValueError(f"{name} has a value below {least}")
        if most is not None and found.size and not found.max() <= most:
            raise ValueError(f"{name} has a value above {most}")
        return found

    def finite(self, name: str, shape: Sequence[int]) -> NDArray[np.float64]:
        """Return an array of finite numbers."""
        found = self.array(name, np.float64, shape)
        if not np.isfinite(found).all():
            raise ValueError(f"{name} has values that are not finite")
        return found

    def whole(self, name: str, least: int, most: int) -> int:
        """Return a whole number in a range."""
        return whole(self.data[name], least=least, most=most)

    def switch(self, name: str) -> bool:
        """Return true or false."""
        found = self.data[name]
        if not isinstance(found, bool):
            raise TypeError(f"{name} is {shorten(found)}, where true or false is expected")
        return found

    def items(self, name: str, most: int) -> list[Any]:
        """Return a list that is not too long."""
        found = self.data[name]
        if not isinstance(found, list) or len(found) > most:
            raise TypeError(f"{name} is {shorten(found)}, where a list is expected")
        return found


def generator_data(generator: np.random.Generator) -> dict[str, object] | None:
    """Return the state of a random generator; None if it is not of NumPy's default kind.

    Example:
        >>> one, other = np.random.default_rng(1), np.random.default_rng(2)
        >>> restore_generator(other, generator_data(one))
        >>> one.random() == other.random()
        True
    """
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != GENERATOR:
        return None
    inner = {name: int(state["state"][name]) for name in ("state", "inc")}
    return {**inner, **{name: int(state[name]) for name in ("has_uint32", "uinteger")}}


def restore_generator(generator: np.random.Generator, data: object) -> None:
    """Let a random generator go on from a state."""
    if not isinstance(data, Mapping):
        raise TypeError(f"{shorten(data)} where the state of a random generator is expected")
    inner = {name: whole(data[name], least=0, most=WIDE) for name in ("state", "inc")}
    more = {"has_uint32": whole(data["has_uint32"], least=0, most=1)}
    more["uinteger"] = whole(data["uinteger"], least=0, most=NARROW)
    generator.bit_generator.state = {"bit_generator": GENERATOR, "state": inner, **more}
