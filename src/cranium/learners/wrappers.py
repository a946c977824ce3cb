"""The guard against wrappers around a product that change what it does.

What is imagined follows the machine: its rewards, its ends, one label for each step. So must what
is real, or a learner would mix the two. Everything that steps an environment in Python is guarded
by the functions of this module: tables, networks, evaluations, and the replay buffers for
Stable-Baselines3, whose products may run in other processes and tell in ``info`` what they did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsFloat

import gymnasium as gym

from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.automata.transition import Configuration
from cranium.errors import WorldError

__all__ = [
    "Guard",
    "check_end",
    "check_reward",
    "check_steps",
    "check_told",
    "check_wrappers",
    "is_due",
]

TOLERANCE = 1e-6
"""How far, of its size, a reward in single precision may be from the machine's."""
TOLD = ("label", "ground_terminated", "machine_state", "counters", "success", "overflow")
"""What every step of a product tells."""
INSIDE = "put wrappers around the environment, inside the product: cranium.product(wrapped, …)"


def is_due(reward: float, due: float) -> bool:
    """Whether a reward that was paid is the one that the machine pays.

    Example:
        >>> is_due(0.30000001, 0.1 + 0.2), is_due(-1e-5, 0.0)
        (True, False)
    """
    return abs(due - reward) <= TOLERANCE * max(1e-3, abs(due))


def check_reward(reward: float, due: float) -> None:
    """Refuse a reward that is not the one that the machine pays.

    Example:
        >>> check_reward(1.0, 1.0)
        >>> check_reward(0.5, 1.0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.WorldError: something around the product changes the reward: 0.5 was paid...
    """
    if not is_due(reward, due):
        raise WorldError(
            f"something around the product changes the reward: {reward:.9g} was paid, {due:.9g} by "
            "the machine; or a reward function is another one than the environment's, or pays "
            "something else when it is asked again",
            fix="change the machine's rewards (in Stable-Baselines3, VecNormalize may stay); let "
            "reward functions depend on nothing but (s, a, s′)",
        )


def check_steps(taken: int) -> None:
    """Refuse anything but one step of the product for one of the environment: labels would be lost.

    Example:
        >>> check_steps(1)
        >>> check_steps(4)
        Traceback (most recent call last):
        cranium.errors.WorldError: something around the product takes several of its steps at once
          (4), and only the label of the last is told
          fix: put wrappers around the environment, inside the product: cranium.product(wrapped, …)
    """
    if taken > 1:
        told = (
            f"takes several of its steps at once ({taken}), and only the label of the last is told"
        )
    elif taken < 1:
        told = "takes no step, or begins the next episode by itself"
    else:
        return
    raise _refusal(told)


def check_end(*, ended: bool, cut_off: bool, terminated: bool, truncated: bool) -> None:
    """Refuse an end that is not the product's, and one of the product's that is hidden.

    Only cutting episodes off is up to the environment, as a time limit does.

    Args:
        ended: Whether the product terminated.
        cut_off: Whether it truncated.
        terminated: Whether the environment says so.
        truncated: The same.

    Example:
        >>> check_end(ended=False, cut_off=False, terminated=False, truncated=True)
        >>> check_end(ended=True, cut_off=False, terminated=False, truncated=False)
        Traceback (most recent call last):
        cranium.errors.WorldError: something around the product hides the end of an episode
          fix: put wrappers around the environment, inside the product: cranium.product(wrapped, …)
    """
    if terminated and not ended:
        told = (
            "ends episodes: whether they would have ended from other configurations, nobody knows"
        )
    elif ended and truncated and not terminated:
        told = "says of an episode that ended that it was only cut off"
    elif (ended or cut_off) and not (terminated or truncated):
        told = "hides the end of an episode"
    else:
        return
    raise _refusal(told)


def check_told(info: Mapping[str, Any]) -> None:
    """Refuse what does not tell what a product tells.

    Example:
        >>> check_told({})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.WorldError: the environment does not tell its 'label': it is no product...
    """
    for key in TOLD:
        if key not in info:
            raise WorldError(
                f"the environment does not tell its {key!r}: it is no product, or a wrapper around "
                "it keeps that back",
                fix="make one: cranium.product(env, automaton)",
            )


def check_wrappers(env: gym.Env[Any, Any]) -> None:
    """Refuse what is known to pay something else than the machine, before anything is learned.

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

    Call :meth:`begin` after every reset and :meth:`step` after every step. A loop in which that
    counts may count down ``left`` itself and call :meth:`check` only when the episode is over, when
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
        something around the product takes several of its steps at
    """

    def __init__(self, env: gym.Env[Any, Any], product: AutomatonAugmentedMDP) -> None:
        check_wrappers(env)
        self.product = product
        self.left = 0  # what the product's ``steps_left`` must be

    def begin(self) -> None:
        """Check that an episode of the product has begun, and nothing else."""
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

    def check_configuration(self, reached: Configuration) -> None:
        """Check that the product is where the labels that were told led the learner."""
        if self.product.configuration != reached:
            raise _refusal(
                f"changes what the product tells: it is in {self.product.configuration}, but the "
                f"labels led to {reached}"
            )


def _refusal(told: str) -> WorldError:
    return WorldError(f"something around the product {told}", fix=INSIDE)
