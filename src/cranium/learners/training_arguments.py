"""Checks of what a training is asked for, before anything is built."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.aamdp.tabular_product import TabularProduct
from cranium.arguments import check_number
from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.config import LearnerConfig, TabularConfig
from cranium.learners.deep import require_jax
from cranium.learners.deep.config import NetworkConfig
from cranium.learners.episode_log import Streak

__all__ = ["check_gap", "check_machine", "check_network", "check_path", "check_until"]

MOST_SAMPLES = 2**24


def check_until(until: object, log: object) -> None:
    """Check the stopping rule, and whether a log is wanted."""
    streak = isinstance(until, Streak)
    if not (until is None or streak or until == "solved" or callable(until)):
        raise InvalidArgumentError(
            f'until is "solved", a function of the evaluation, or a streak, not {shorten(until)}',
            fix="until=cranium.learners.Streak(100): so many episodes in a row succeeded",
        )
    if not isinstance(log, bool):
        raise InvalidArgumentError(f"log is true or false, not {shorten(log)}")


def check_path(path: object) -> None:
    """Check where the environment is to step."""
    if path not in ("auto", "compiled", "python"):
        raise InvalidArgumentError(f"a path is auto, compiled or python, not {shorten(path)}")


def check_gap(gap: float | None, model: TabularProduct | None, discount: float) -> None:
    """Check the gap to the optimum, which has to be known for that."""
    if gap is None:
        return
    if not check_number("gap", gap) >= 0:
        raise InvalidArgumentError(f"gap is 0 or more, not {gap}")
    if model is None or not 0 < discount < 1:
        raise InvalidArgumentError(
            "the gap to the optimum is known for finite worlds and a discount between 0 and 1 only",
            fix="leave gap out",
        )


def check_machine(learner: str, config: LearnerConfig, product: AutomatonAugmentedMDP) -> None:
    """Refuse machines with counters where a learner is for reward machines."""
    counters = product.automaton.counters
    if learner in ("crm", "hrm", "dcrm") and counters:
        instead = "cdqn" if learner == "dcrm" else "cql"
        raise InvalidArgumentError(
            f"{learner} learns on reward machines, but this machine has counters",
            fix=f"use {instead}, or the product with cranium.unroll(automaton, counter_limit=…)",
        )
    if isinstance(config, TabularConfig) and config.shaping == "published" and counters:
        raise InvalidArgumentError(
            "the published shaping is for reward machines, but this machine has counters",
            fix="use shaping=True",
        )


def check_network(
    learner: str, config: NetworkConfig, env: gym.Env[Any, Any], discretise: object, steps: int
) -> None:
    """Check what only concerns learners with networks."""
    require_jax(learner)
    from cranium.learners.deep.agent import check_actions

    check_actions(learner, config, env.action_space)
    if steps > MOST_SAMPLES:
        raise InvalidArgumentError(
            f"networks take at most {MOST_SAMPLES:,} samples, not {steps:,}",
            fix="they count them with single precision",
        )
    if discretise is not None:
        raise InvalidArgumentError(
            f"{learner} learns from observations as they are", fix="leave discretise out"
        )
