"""What may not stand around a product, because nobody could imagine what it does."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.errors import WorldError

__all__ = ["check_wrappers", "is_due"]

TOLERANCE = 1e-6
"""How far, of its size, a reward in single precision may be from the machine's."""


def is_due(reward: float, due: float) -> bool:
    """Whether a reward that was paid is the one that the machine pays.

    Example:
        >>> is_due(0.30000001, 0.1 + 0.2), is_due(-1e-5, 0.0)
        (True, False)
    """
    return abs(due - reward) <= TOLERANCE * max(1e-3, abs(due))


def check_wrappers(env: gym.Env[Any, Any]) -> None:
    """Refuse what is known to pay something else than the machine, which pays what is imagined.

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
        if isinstance(env, gym.RewardWrapper):
            raise WorldError(
                f"the wrapper {type(env).__name__} around the product changes its rewards",
                fix="change the machine's rewards",
            )
        env = env.env
