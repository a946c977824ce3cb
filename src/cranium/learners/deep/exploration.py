"""Exploration rules inside the compiled training loop."""

from __future__ import annotations

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.deep.static import Static
from cranium.learners.exploration import Exploration

__all__ = ["StaticRule"]

Array = jax.Array
TOLERANCE = 1e-3
"""How far probabilities may be from summing to 1, in single precision."""


class StaticRule(Static[Exploration]):
    """An exploration rule."""

    def choose(self, values: Array, rate: Array, u: Array) -> Array:
        """Draw an action with one uniform random number, in JAX."""
        try:
            chances = self.value.probabilities(cast("Any", values), cast("Any", rate))
            cumulative = jnp.cumsum(jnp.asarray(chances))
        except (jax.errors.JAXTypeError, TypeError, ValueError) as problem:
            raise InvalidArgumentError(
                f"{type(self.value).__name__}.probabilities cannot be compiled: "
                f"{shorten(str(problem).splitlines()[0])}",
                fix='use functions that JAX arrays have, too, or path="python"',
            ) from None
        if cumulative.shape != values.shape:
            raise self._wrong_shape(cumulative.shape, values.shape)
        return jnp.minimum((u >= cumulative).sum(), len(cumulative) - 1).astype(jnp.int32)

    def choose_in_python(self, values: NDArray[np.float32], rate: float, u: float) -> int:
        """Draw an action with one uniform random number, in NumPy."""
        chances = np.asarray(self.value.probabilities(values, rate))
        if chances.shape != values.shape:
            raise self._wrong_shape(chances.shape, values.shape)
        if not (chances >= 0).all() or abs(chances.sum() - 1) > TOLERANCE:
            raise InvalidArgumentError(
                f"{type(self.value).__name__}.probabilities returned {shorten(chances.tolist())}",
                fix="return numbers from 0 that sum to 1",
            )
        return min(int((u >= np.cumsum(chances)).sum()), len(chances) - 1)

    def _wrong_shape(self, found: tuple[int, ...], wanted: tuple[int, ...]) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"{type(self.value).__name__}.probabilities returned the shape {found}",
            fix=f"return a probability for each action: {wanted}",
        )
