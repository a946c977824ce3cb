"""The patrol of Toro Icarte's office, and how our networks learn it: for ``deep.py``."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import gymnasium as gym

import cranium
from cranium.learners.deep import require_jax
from cranium.worlds import OfficeWorld

BATCH, STATES, HORIZON = 96, 4, 1_000
OURS: dict[str, Any] = {
    "learning_rate": 1e-4,
    "batch": BATCH // STATES,  # each is seen in all of them
    "target_every": 500,
    "double": False,
}


def office() -> OfficeWorld:
    """Toro Icarte's office."""
    return OfficeWorld(None, layout="toro-icarte")


def task() -> gym.Env[Any, Any]:
    """The patrol as a product."""
    return cranium.product(office(), cranium.library.load("toro-patrol"), horizon=HORIZON)


def import_all() -> None:
    """Import what training will."""
    require_jax("cdqn")
    import_module("cranium.learners.deep.fused")


def fused(steps: int, **more: Any) -> Callable[[], float]:
    """Seconds of a run in our loop; the environment is there already, as it is for the others."""

    def run() -> float:
        env = task()
        begin = time.perf_counter()
        cranium.train(env, "cdqn", steps=steps, evaluate_every=steps, **OURS, **more)
        return time.perf_counter() - begin

    return run
