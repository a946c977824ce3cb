"""One small training for every learner, setting and path, and how two of their results compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import gymnasium as gym
import numpy as np

import cranium
from cranium.learners import (
    Boltzmann,
    Optimism,
    PlannerConfig,
    Schedule,
    Streak,
    TrainingResult,
    Visits,
)
from cranium.learners.deep.policy import ActorPolicy, NetworkPolicy
from cranium.worlds import PointWorld

NETWORK = {"hidden": (8,), "batch": 4, "warmup": 20, "replay": 150, "evaluation_episodes": 2}
EPISODES = {"unit": "episodes"}


def letters(times: int | tuple[int, int] = (1, 2), **options: Any) -> gym.Env:
    return gym.make("cranium/Letter-anbcdn-v0", times=times, **options)


def coffee() -> gym.Env:
    return gym.make("cranium/ToroOffice-coffee-and-mail-v0")


def slippery() -> gym.Env:
    return cranium.product(
        gym.make("FrozenLake-v1", is_slippery=True),
        cranium.compile_language("goal"),
        cranium.labelling_from_cells({15: "goal"}),
        horizon=40,
    )


def point(actions: str = "continuous") -> gym.Env:
    task = cranium.library.load("point-visit")
    return cranium.product(PointWorld(actions=actions), task, horizon=30)


def lit_point() -> gym.Env:
    """A point that steps in Python, and random numbers of its own in every step."""
    task = cranium.library.load("point-visit")
    return cranium.product(PointWorld(noise=0.05, actions="discrete"), task, horizon=30)


@dataclass(frozen=True)
class Training:
    """One training: the environment, the learner and its settings."""

    name: str
    make: Callable[[], gym.Env]
    learner: str
    steps: int
    told: Mapping[str, Any] = field(default_factory=dict)

    def train(self, **more: Any) -> TrainingResult:
        given = {"seed": 3, "log": True, "steps": self.steps, **self.told, **more}
        return cranium.train(self.make(), self.learner, **given)


def _tables() -> list[Training]:
    told: dict[str, tuple[Callable[[], gym.Env], str, dict[str, Any]]] = {
        "ql": (letters, "ql", {}),
        "ql-visits": (letters, "ql", {"learning_rate": Visits(0.7), "exploration": 0.2}),
        "cql": (letters, "cql", {"exploration": Schedule(1.0, 0.1, 1_000)}),
        "cql-seen": (letters, "cql", {"configurations": "seen", "shaping": True}),
        "cql-sample": (
            letters,
            "cql",
            {
                "configurations": cranium.counterfactual.Reachable(limit=3, sample=2),
                "exploration": Boltzmann(0.3),
                "learning_rate": Schedule(1.0, 0.3, 40, **EPISODES),
            },
        ),
        "cql-optimism": (letters, "cql", {"exploration": Optimism(1.0), "until": Streak(10**6)}),
        "crm": (coffee, "crm", {"shaping": "published"}),
        "hrm": (coffee, "hrm", {"exploration": 0.3}),
        "planner": (letters, "planner", {}),
        "planner-plain": (letters, "planner", {"config": PlannerConfig(generalise=False)}),
        "planner-random": (slippery, "planner", {"trials": 3}),
    }
    return [
        Training(f"{name}-{path}", make, learner, 2_500, {**more, "path": path})
        for name, (make, learner, more) in told.items()
        for path in ("compiled", "python")
    ]


def _networks() -> list[Training]:
    rule = {"exploration": Boltzmann(0.5), "double": True}
    told: dict[str, tuple[Callable[[], gym.Env], str, str, dict[str, Any]]] = {
        "dqn-jax": (letters, "dqn", "auto", {"target_every": 100}),
        "cdqn-jax": (letters, "cdqn", "auto", {"configurations": "seen", **rule}),
        "cdqn-heads": (letters, "cdqn", "auto", {"heads": True, "counter_limit": 3}),
        "dcrm-jax": (coffee, "dcrm", "auto", {"train_every": 2}),
        "cdqn-python": (letters, "cdqn", "python", {"train_every": 2}),
        "dqn-python": (lambda: point("discrete"), "dqn", "python", {}),
        "td3-jax": (point, "td3", "auto", {"delay": 2}),
        "ctd3-jax": (point, "ctd3", "auto", {}),
        "ctd3-python": (point, "ctd3", "python", {"train_every": 2}),
    }
    return [
        Training(name, make, learner, 400, {**NETWORK, **more, "path": path})
        for name, (make, learner, path, more) in told.items()
    ]


TABLES, NETWORKS = _tables(), _networks()


def assert_same(one: TrainingResult, other: TrainingResult) -> None:
    """Compare two results bit for bit: numbers, curve, log and policy."""
    for each in fields(TrainingResult):
        if each.name not in ("config", "learned", "evaluation"):
            a, b = getattr(one, each.name), getattr(other, each.name)
            assert np.array_equal(a, b), each.name
    for each in fields(one.evaluation):
        a, b = getattr(one.evaluation, each.name), getattr(other.evaluation, each.name)
        assert np.array_equal(a, b), each.name
    assert_same_policy(one.policy, other.policy)


def assert_same_policy(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    assert one.about == other.about
    if isinstance(one, NetworkPolicy | ActorPolicy):
        import jax

        leaves = (jax.tree.leaves(each.network) for each in (one, other))
        for a, b in zip(*leaves, strict=True):
            assert np.array_equal(a, b)
        return
    assert np.array_equal(one.q, other.q)
    assert one.configurations == other.configurations
    assert len(one.observations) == len(other.observations)
    assert all(map(np.array_equal, one.observations, other.observations))
