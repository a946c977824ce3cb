"""Checks that wrappers around a product do not change its steps, rewards and ends.

Relabelled transitions follow the machine: its rewards, its ends, one label for each step. Real
transitions must follow it, too, or a learner would mix both. Everything that steps an environment
in Python uses these checks: learners with tables and networks, evaluations, and the replay buffers
for Stable-Baselines3, whose products may run in other processes and report their steps in ``info``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsFloat

import gymnasium as gym

from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.automata.transition import Configuration
from cranium.errors import WorldError
from cranium.tables.configurations import is_overflow

__all__ = [
    "Guard",
    "check_end",
    "check_info",
    "check_reward",
    "check_steps",
    "check_wrappers",
    "is_due",
]

TOLERANCE = 1e-6
"""The greatest relative difference of a reward in single precision from the machine's."""
INFO_KEYS = ("label", "ground_terminated", "machine_state", "counters", "success", "overflow")
"""The keys in the ``info`` of every step of a product."""
INSIDE = "put wrappers around the environment, inside the product: cranium.product(wrapped, …)"


def is_due(reward: float, due: float) -> bool:
    """Whether a reward that was paid is the one that the machine pays.

    Example:
        >>> is_due(0.30000001, 0.1 + 0.2), is_due(-1e-5, 0.0)
        (True, False)
    """
    return abs(due - reward) <= TOLERANCE * max(1e-3, abs(due))


def check_reward(reward: float, due: float) -> None:
    """Refuse a reward that is not the machine's.

    Example:
        >>> check_reward(1.0, 1.0)
        >>> check_reward(0.5, 1.0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.WorldError: a wrapper around the product changes the reward: 0.5 was paid...
    """
    if not is_due(reward, due):
        raise WorldError(
            f"a wrapper around the product changes the reward: {reward:.9g} was paid, {due:.9g} by "
            "the machine; or a reward function differs from the environment's, or does not always "
            "return the same for the same (s, a, s′)",
            fix="change the rewards of the machine instead (in Stable-Baselines3, VecNormalize is "
            "allowed); let reward functions depend on nothing but (s, a, s′)",
        )


def check_steps(taken: int) -> None:
    """Refuse anything but one step of the product for one of the environment.

    Example:
        >>> check_steps(1)
        >>> check_steps(4)
        Traceback (most recent call last):
        cranium.errors.WorldError: a wrapper around the product takes several of its steps at once
          (4), and info has only the label of the last
          fix: put wrappers around the environment, inside the product: cranium.product(wrapped, …)
    """
    if taken > 1:
        problem = (
            f"takes several of its steps at once ({taken}), and info has only the label of the last"
        )
    elif taken < 1:
        problem = "takes no step of the product, or begins the next episode by itself"
    else:
        return
    raise _refusal(problem)


def check_end(*, ended: bool, cut_off: bool, terminated: bool, truncated: bool) -> None:
    """Refuse a termination that is not the product's, and an end of the product that is hidden.

    A wrapper may truncate episodes, as a time limit does.

    Args:
        ended: Whether the product terminated.
        cut_off: Whether it truncated.
        terminated: Whether the environment returned ``terminated``.
        truncated: Whether the environment returned ``truncated``.

    Example:
        >>> check_end(ended=False, cut_off=False, terminated=False, truncated=True)
        >>> check_end(ended=True, cut_off=False, terminated=False, truncated=False)
        Traceback (most recent call last):
        cranium.errors.WorldError: a wrapper around the product hides the end of an episode
          fix: put wrappers around the environment, inside the product: cranium.product(wrapped, …)
    """
    if terminated and not ended:
        problem = "ends episodes, and nothing says whether they would end in other configurations"
    elif ended and truncated and not terminated:
        problem = "reports an episode that was terminated as truncated"
    elif (ended or cut_off) and not (terminated or truncated):
        problem = "hides the end of an episode"
    else:
        return
    raise _refusal(problem)


def check_info(info: Mapping[str, Any]) -> None:
    """Refuse an ``info`` without the keys of a product.

    Example:
        >>> check_info({})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.WorldError: info has no 'label': the environment is not a product, or...
    """
    for key in INFO_KEYS:
        if key not in info:
            raise WorldError(
                f"info has no {key!r}: the environment is not a product, or a wrapper around the "
                "product removes it",
                fix="make a product: cranium.product(env, automaton)",
            )


def check_wrappers(env: gym.Env[Any, Any]) -> None:
    """Refuse wrappers that are known to change rewards, before the training begins.

    Example:
        >>> import cranium
        >>> env = gym.wrappers.ClipReward(gym.make("cranium/Letter-anbcdn-v0"), -1, 1)
        >>> try:
        ...     check_wrappers(env)
        ... except cranium.CraniumError as error:
        ...     print(error.fix)
        change the machine's rewards
    """
    while isinstance(env, gym.Wrapper) and not isinstance(env, AutomatonAugmentedMDP):
        if isinstance(env, gym.RewardWrapper | gym.wrappers.NormalizeReward):
            raise WorldError(
                f"the wrapper {type(env).__name__} around the product changes its rewards",
                fix="change the machine's rewards",
            )
        env = env.env


class Guard:
    """Compares each step of an environment with what the product inside it did.

    Call :meth:`begin` after every reset and :meth:`step` after every step. A loop that must be fast
    may count down ``left`` itself, and call :meth:`check` only when the episode is over, when
    ``product.steps_left`` is not ``left``, or when the reward is not ``product.last_reward``.

    Example:
        >>> import cranium
        >>> class Lazy(gym.Wrapper):
        ...     def step(self, action):
        ...         self.env.step(action)
        ...         return self.env.step(action)
        >>> env = Lazy(gym.make("cranium/Letter-anbcdn-v0"))
        >>> guard = Guard(env, cranium.find_product(env))
        >>> observation, info = env.reset(seed=0)
        >>> guard.begin()
        >>> observation, reward, terminated, truncated, info = env.step(0)
        >>> try:
        ...     guard.step(reward, terminated, truncated)
        ... except cranium.CraniumError as error:
        ...     print(str(error)[:58])
        a wrapper around the product takes several of its steps at
    """

    def __init__(self, env: gym.Env[Any, Any], product: AutomatonAugmentedMDP) -> None:
        check_wrappers(env)
        self.product = product
        self.left = 0  # what the product's ``steps_left`` must be

    def begin(self) -> None:
        """Check that an episode of the product has begun, and that no step was taken."""
        self.left = self.product.horizon or -1
        if self.product.steps_left != self.left:
            raise _refusal("takes steps of its own in reset, or does not reset the product")

    def step(self, reward: SupportsFloat, terminated: bool, truncated: bool) -> None:
        """Check one step."""
        self.left -= 1
        self.check(reward, terminated, truncated)

    def check(self, reward: SupportsFloat, terminated: bool, truncated: bool) -> None:
        """Check a step after which ``left`` steps are left."""
        product = self.product
        ended, cut_off, left = False, False, product.steps_left
        if not left:
            ended, cut_off, left = product.last_end
        check_steps(1 + self.left - left)
        check_end(ended=ended, cut_off=cut_off, terminated=terminated, truncated=truncated)
        check_reward(float(reward), float(product.last_reward))

    @property
    def success(self) -> bool:
        """Whether the product succeeded, whatever a wrapper says of it in ``info``."""
        reached = self.product.configuration
        return not is_overflow(reached) and self.product.automaton.is_accepting(reached)

    def check_configuration(self, reached: Configuration) -> None:
        """Check that the labels in ``info`` lead to the configuration of the product."""
        if self.product.configuration != reached:
            raise _refusal(
                f"changes the labels in info: the product is in {self.product.configuration}, but "
                f"the labels lead to {reached}"
            )


def _refusal(problem: str) -> WorldError:
    return WorldError(f"a wrapper around the product {problem}", fix=INSIDE)
