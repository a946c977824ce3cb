"""Rewards: a number (CCRA) or a function of (s, a, s′) (CRA), the paper's Δ."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from cranium.errors import RewardError, UnknownNameError, shorten

__all__ = [
    "Reward",
    "RewardFunction",
    "add_rewards",
    "as_reward",
    "as_reward_function",
    "find_reward",
    "format_number",
    "is_zero",
    "reward_key",
    "total",
]

MAX_NAME = 200
_NUMBER_LIKE = re.compile(r"[-+−]?[.\d]|[-+−]?(inf|infinity|nan)\Z", re.IGNORECASE)


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

    def __post_init__(self) -> None:
        name = self.name
        named = isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()
        if not named or _NUMBER_LIKE.match(name):
            raise RewardError(
                f"the name of a reward function is text that is no number, not {shorten(name)}"
            )
        if not callable(self.function):
            raise RewardError(f"the reward {name!r} is not a function: {shorten(self.function)}")

    def __call__(self, state: Any, action: Any, next_state: Any) -> float:
        """The reward for one experience; refused when it is not a finite number."""
        return _finite(
            self.function(state, action, next_state), f"the reward function {self.name!r} returned"
        )

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        # An object that can be called, but not hashed, is as good a function as any.
        function = self.function
        return hash((self.name, function if isinstance(function, Hashable) else type(function)))


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
        return total(
            [
                part(state, action, next_state) if isinstance(part, RewardFunction) else part
                for part in self.parts
            ]
        )


def as_reward(value: object) -> Reward:
    """Convert a finite number, a :class:`RewardFunction` or a function of (s, a, s′) to a reward.

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
        name = getattr(value, "__name__", type(value).__name__)
        return RewardFunction(name, value)
    return _finite(value, "a reward is a finite number or a function of (s, a, s'), not")


def as_reward_function(reward: Reward) -> RewardFunction:
    """Convert a reward to a function: a constant x becomes f_x, as in the proof of Theorem 1.1.

    Example:
        >>> always_one = as_reward_function(1.0)
        >>> always_one.name, always_one("s", "a", "s2")
        ('f_1', 1.0)
    """
    if isinstance(reward, RewardFunction):
        return reward
    return RewardFunction(f"f_{format_number(reward)}", _Always(reward))


def find_reward(name: str, rewards: Mapping[str, Callable[[Any, Any, Any], float]]) -> Reward:
    """Find the reward function that a file names among those of the caller.

    Example:
        >>> find_reward("closer", {"closer": lambda s, a, s2: s - s2})(3, "left", 1)
        2.0
    """
    if _NUMBER_LIKE.match(name):
        raise RewardError(f"a reward is a finite number or the name of a function, not {name!r}")
    if name not in rewards:
        unknown = UnknownNameError.of("reward function", name, rewards)
        unknown.fix = f"give it: load(path, rewards={{{shorten(name)}: function}}); {unknown.fix}"
        raise unknown
    given = rewards[name]
    return RewardFunction(name, given.function if isinstance(given, RewardFunction) else given)


def format_number(number: float) -> str:
    """Format a number with as few digits as identify it.

    Example:
        >>> format_number(1.0), format_number(0.1), format_number(1.0000001)
        ('1', '0.1', '1.0000001')
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def reward_key(reward: Reward) -> tuple[float, frozenset[tuple[object, int]]]:
    """Return a key that is equal for equal rewards: the constant part, and the functions added.

    Names do not matter, and neither does the order of a sum: f_1 of Theorem 1.1 is 1.

    Example:
        >>> reward_key(as_reward_function(1.0)) == reward_key(1.0)
        True
    """
    constants: list[float] = []
    functions: Counter[object] = Counter()
    todo: list[Reward] = [reward]
    while todo:
        part = todo.pop()
        if not isinstance(part, RewardFunction):
            constants.append(part)
        elif isinstance(part.function, _Always):
            constants.append(part.function.value)
        elif isinstance(part.function, _Sum):
            todo.extend(part.function.parts)
        else:
            hashable = isinstance(part.function, Hashable)
            functions[part.function if hashable else id(part.function)] += 1
    return total(constants), frozenset(functions.items())


def is_zero(reward: Reward) -> bool:
    """Whether the reward is 0 whatever happens.

    Example:
        >>> is_zero(0.0), is_zero(as_reward_function(0.0)), is_zero(1.0)
        (True, True, False)
    """
    function = reward.function if isinstance(reward, RewardFunction) else _Always(reward)
    return function == _Always(0.0)


def add_rewards(rewards: Iterable[Reward]) -> Reward:
    """Add rewards: the sum is a number if all are numbers, else a function.

    Example:
        >>> add_rewards([1.0, 0.5])
        1.5
        >>> str(add_rewards([1.0, RewardFunction("distance", lambda s, a, s2: 2.0)]))
        'distance + 1'
    """
    parts = tuple(reward for reward in rewards if reward != 0)
    if not parts:
        return 0.0
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, float) for part in parts):
        return total([part for part in parts if isinstance(part, float)])
    functions = [str(part) for part in parts if isinstance(part, RewardFunction)]
    constants = [format_number(part) for part in parts if not isinstance(part, RewardFunction)]
    return RewardFunction(" + ".join([*functions, *constants])[:MAX_NAME], _Sum(parts))


def total(rewards: Sequence[float]) -> float:
    """Return the exact sum of rewards, which does not depend on their order.

    Example:
        >>> total([0.1] * 10)
        1.0
    """
    try:
        return math.fsum(rewards)
    except OverflowError:
        raise RewardError(
            "the rewards add up to more than a number can hold", fix="pay in smaller units"
        ) from None


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
