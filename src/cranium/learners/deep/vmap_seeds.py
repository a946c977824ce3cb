"""Several seeds in one compiled loop, for devices that one seed does not fill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from cranium._runtime.interrupt import held
from cranium.learners.deep.fused import CHUNK, FusedRun
from cranium.learners.deep.loop import interact_together

__all__ = ["can_be_together", "learn_together"]


def can_be_together(runs: Sequence[Any]) -> bool:
    """Whether runs can share a loop: their worlds step in JAX."""
    return all(isinstance(run, FusedRun) for run in runs)


def learn_together(runs: Sequence[FusedRun], steps: int) -> list[int]:
    """Take up to so many samples in each run, and return their statuses."""
    first = runs[0]
    settings = (first.agent.rates, first.agent.horizon, np.int32(min(steps, CHUNK)))
    with held():
        states = jax.tree.map(lambda *parts: jnp.stack(parts), *(run.state for run in runs))
        states = states._replace(samples=first.state.samples)
        found = interact_together(
            states, first.world, first.machine, *settings, method=first.agent.method
        )
        finite = np.isfinite(np.asarray(found.learner.loss))  # waits until it is done
        rest = found._replace(samples=())
        each = [
            jax.tree.map(lambda part, i=i: part[i], rest)._replace(samples=found.samples)
            for i in range(len(runs))
        ]
    return [
        run.adopt(state, finite=bool(fine))
        for run, state, fine in zip(runs, each, finite, strict=True)
    ]
