"""What may not stand around a product, because nobody could imagine what it does."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.errors import WorldError

__all__ = ["check_wrappers"]


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
