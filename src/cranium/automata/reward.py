"""Rewards: a number (CCRA) or a function of (s, a, s′) (CRA), the paper's Δ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from cranium.errors import RewardError, shorten

__all__ = ["Reward", "RewardFunction", "add_rewards", "as_reward", "as_reward_function", "is_zero"]


@dataclass(frozen=True, slots=True)
class RewardFunction:
    """A named function of (s, a, s′).

    The name is what a file says and a drawing shows; the function is the caller's.

    Example:
        >>> closer = RewardFunction("closer", lambda s, a, s2: s - s2)
        >>> closer(5, "left", 3)
        2.0
    """

    name: str
    function: Callable[[Any, Any, Any], float]

    def __call__(self, state: Any, action: Any, next_state: Any) -> float:
        """The reward for one experience; refused when it is not a finite number."""
        return _finite(
            self.function(state, action, next_state), f"the reward function {self.name!r} returned"
        )

    def __str__(self) -> str:
        return self.name


Reward = float | RewardFunction
"""A constant, or a function of (s, a, s′)."""


@dataclass(frozen=True, slots=True)
class _Always:
    """f_x of Theorem 1.1: x whatever happens. A class, so that machines pickle and compare."""

    value: float

    def __call__(self, state: Any, action: Any, next_state: Any) -> float:  # noqa: ARG002
        return self.value


@dataclass(frozen=True, slots=True)
class _Sum:
    parts: tuple[Reward, ...]

    def __call__(self, state: Any, action: Any, next_state: Any) -> float:
        return math.fsum(
            part(state, action, next_state) if isinstance(part, RewardFunction) else part
            for part in self.parts
        )


def as_reward(value: object) -> Reward:
    """Accept a finite number, a :class:`RewardFunction` or any function of (s, a, s′).

    Example:
        >>> as_reward(1)
        1.0
        >>> as_reward(float("nan"))
        Traceback (most recent call last):
        cranium.errors.RewardError: a reward is a finite number or a function of (s, a, s'), not nan
    """
    if isinstance(value, RewardFunction):
        return value
    if callable(value):
        return RewardFunction(getattr(value, "__name__", type(value).__name__), value)
    return _finite(value, "a reward is a finite number or a function of (s, a, s'), not")


def as_reward_function(reward: Reward) -> RewardFunction:
    """The reward as a function: a constant x becomes f_x, as in the proof of Theorem 1.1.

    Example:
        >>> always_one = as_reward_function(1.0)
        >>> always_one.name, always_one("s", "a", "s2")
        ('f_1', 1.0)
    """
    if isinstance(reward, RewardFunction):
        return reward
    return RewardFunction(f"f_{reward:g}", _Always(reward))


def is_zero(reward: Reward) -> bool:
    """Whether the reward is 0 whatever happens.

    Example:
        >>> is_zero(0.0), is_zero(as_reward_function(0.0)), is_zero(1.0)
        (True, True, False)
    """
    function = reward.function if isinstance(reward, RewardFunction) else _Always(reward)
    return function == _Always(0.0)


def add_rewards(rewards: Iterable[Reward]) -> Reward:
    """The sum: a number if all are numbers, else a function.

    Example:
        >>> add_rewards([1.0, 0.5])
        1.5
        >>> str(add_rewards([1.0, RewardFunction("distance", lambda s, a, s2: 2.0)]))
        '1 + distance'
    """
    parts = tuple(reward for reward in rewards if reward != 0)
    if not parts:
        return 0.0
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, float) for part in parts):
        return math.fsum(part for part in parts if isinstance(part, float))
    name = " + ".join(str(p) if isinstance(p, RewardFunction) else f"{p:g}" for p in parts)
    return RewardFunction(name, _Sum(parts))


def _finite(value: object, complaint: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise RewardError(f"{complaint} {shorten(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RewardError(f"{complaint} {shorten(value)}")
    return number
