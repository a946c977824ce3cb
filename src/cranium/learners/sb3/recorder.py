"""What happened inside the product, told to the replay buffer along with each step."""

from __future__ import annotations

import hashlib
from typing import Any

import gymnasium as gym

from cranium.aamdp.encoding import Encoding
from cranium.aamdp.product import TRANSPARENT, AutomatonAugmentedMDP
from cranium.worlds.observations import copy_observation

__all__ = ["Witness", "bear_witness", "fingerprint"]


class Witness(gym.Wrapper[Any, Any, Any, Any]):
    """Tells, in ``info``, what a replay buffer cannot know of a step otherwise.

    It stands between the environment and the product: there observations are not yet normalised,
    nor actions scaled, nor is the last observation of an episode replaced by the next first one.

    - ``transition`` is (s, a, s′): reward functions need it, and it is how an episode really ended.
    - ``witnessed`` is the number of the step in its episode: one that is left out shows that
      something outside the product took several at once.
    - ``cut_off`` is whether it is the last of its episode, by a limit of time.
    - ``fingerprint`` stands for the task, if :func:`counterfactual` put the witness there.

    Before the first reset it tells nothing.

    Example:
        >>> env = Witness(gym.make("CartPole-v1"))
        >>> start, _ = env.reset(seed=0)
        >>> info = env.step(1)[-1]
        >>> before, action, after = info["transition"]
        >>> bool((before == start).all()), action, info["witnessed"]
        (True, 1, 1)
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.fingerprint: str | None = None
        self.horizon: int | None = None  # of the product around it
        self._before: Any = None
        self._count = -1  # of the steps since the reset; none was seen yet

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(**options)
        self._before = copy_observation(observation)
        self._count = 0
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Do something, and tell what it was."""
        after, reward, terminated, truncated, info = self.env.step(action)
        if self._count >= 0:
            self._count += 1
            told = (self._before, copy_observation(action), copy_observation(after))
            self._before = told[2]
            cut_off = truncated or self._count == self.horizon
            info = {**info, "transition": told, "witnessed": self._count, "cut_off": cut_off}
            if self.fingerprint is not None:
                info["fingerprint"] = self.fingerprint
        return after, reward, terminated, truncated, info


# It changes nothing: what plans with the world may look through it.
TRANSPARENT.add(Witness)


def bear_witness(product: AutomatonAugmentedMDP) -> None:
    """Put a witness inside the product, unless there is one, and let it tell the task."""
    # One that is further inside does not count: a wrapper around it may take several steps.
    inner = product.env if isinstance(product.env, Witness) else Witness(product.env)
    inner.fingerprint = fingerprint(product.encoding)
    inner.horizon = product.horizon
    product.env = inner


def fingerprint(encoding: Encoding) -> str:
    """A short text for a task and how it is shown: the same in every process, and when loaded.

    Reward functions count by their names only.

    Example:
        >>> import cranium
        >>> def made(horizon):
        ...     world, task = cranium.worlds.LetterEnv(), cranium.library.load("anbcdn")
        ...     return fingerprint(cranium.product(world, task, horizon=horizon).encoding)
        >>> made(10) == made(10), made(10) == made(11)
        (True, False)
    """
    machine = encoding.automaton
    settings = {k: v for k, v in vars(encoding).items() if isinstance(v, str | int | None)}
    parts = (
        (machine.propositions, machine.counters, machine.states, machine.initial),
        (machine.terminal, machine.accepting, machine.otherwise, machine.silent_limit),
        [f"{t}, {t.reward}" for t in machine.transitions],  # all digits of a number, too
        (type(encoding).__name__, sorted(settings.items()), repr(encoding.ground)),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
