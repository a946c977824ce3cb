"""Several seeds in one loop of JAX: for processors that have more to give than one seed takes."""

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
    """Whether runs can share a loop: their worlds are arrays."""
    return all(isinstance(run, FusedRun) for run in runs)


def learn_together(runs: Sequence[FusedRun], steps: int) -> list[int]:
    """Take up to so many samples in each run; their statuses."""
    first = runs[0]
    told = (first.agent.rates, first.agent.horizon, np.int32(min(steps, CHUNK)))
    with held():
        lives = jax.tree.map(lambda *parts: jnp.stack(parts), *(run.life for run in runs))
        lives = lives._replace(samples=first.life.samples)
        found = interact_together(
            lives, first.arrays, first.machine, *told, method=first.agent.method
        )
        finite = np.isfinite(np.asarray(found.learned.loss))  # waits until it is done
        rest = found._replace(samples=())
        each = [
            jax.tree.map(lambda part, i=i: part[i], rest)._replace(samples=found.samples)
            for i in range(len(runs))
        ]
    return [
        run.take(life, finite=bool(fine))
        for run, life, fine in zip(runs, each, finite, strict=True)
    ]
