"""Record in ``info`` what happened inside a product, for replay buffers."""

from __future__ import annotations

import hashlib
from typing import Any, SupportsFloat

import gymnasium as gym
from gymnasium.core import ActType, ObsType

from cranium.aamdp.encoding import Encoding
from cranium.aamdp.planning import find_product
from cranium.aamdp.wrappers import TRANSPARENT
from cranium.worlds.observations import copy_observation

__all__ = ["RecordTransition", "fingerprint", "record_transitions"]


class RecordTransition(gym.Wrapper[ObsType, ActType, ObsType, ActType]):
    """Add to ``info`` what a replay buffer cannot know of a step otherwise.

    It stands between the environment and the product. There observations are not yet normalised,
    actions are not scaled, and the last observation of an episode is not yet replaced by the first
    one of the next. :func:`record_transitions` puts it there.

    - ``transition`` is (s, a, s′), which reward functions need.
    - ``episode_step`` is the number of the step in its episode, 0 after a reset. A gap shows that
      a wrapper around the product took several steps at once.
    - ``product_truncated`` is whether the step is the last of its episode because of a time limit.
    - ``fingerprint`` identifies the task, if :func:`record_transitions` set it.

    Before the first reset nothing is added.

    Example:
        >>> env = RecordTransition(gym.make("CartPole-v1"))
        >>> start, _ = env.reset(seed=0)
        >>> info = env.step(1)[-1]
        >>> before, action, after = info["transition"]
        >>> bool((before == start).all()), action, info["episode_step"]
        (True, 1, 1)
    """

    records_transitions = True  # found through vector environments in other processes, too

    def __init__(self, env: gym.Env[ObsType, ActType]) -> None:
        super().__init__(env)
        self.fingerprint: str | None = None
        self.horizon: int | None = None  # of the product around it
        self._before: ObsType | None = None
        self._steps = -1  # since the reset; -1 before the first one

    def reset(self, **options: Any) -> tuple[ObsType, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(**options)
        self._before = copy_observation(observation)
        self._steps = 0
        return observation, {**info, "episode_step": 0}

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step, and record it."""
        after, reward, terminated, truncated, info = self.env.step(action)
        if self._steps >= 0:
            self._steps += 1
            transition = (self._before, copy_observation(action), copy_observation(after))
            self._before = transition[2]
            info = {
                **info,
                "transition": transition,
                "episode_step": self._steps,
                "product_truncated": truncated or self._steps == self.horizon,
            }
            if self.fingerprint is not None:
                info["fingerprint"] = self.fingerprint
        return after, reward, terminated, truncated, info


# It changes nothing, so planners may look through it.
TRANSPARENT.add(RecordTransition)


def record_transitions(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Put a :class:`RecordTransition` inside the product of an environment, unless there is one.

    Replay buffers do this by themselves, where they can reach the product. Only the environments of
    an ``AsyncVectorEnv``, which run in other processes, have to be made with it.

    Returns:
        The same environment.

    Example:
        >>> import cranium
        >>> env = record_transitions(gym.make("cranium/Letter-anbcdn-v0"))
        >>> type(cranium.find_product(env).env).__name__
        'RecordTransition'
    """
    product = find_product(env)
    # One that is further inside does not count: a wrapper around it may take several steps.
    inner = product.env
    if not isinstance(inner, RecordTransition):
        inner = RecordTransition(inner)
    inner.fingerprint = fingerprint(product.encoding)
    inner.horizon = product.horizon
    product.env = inner
    return env


def fingerprint(encoding: Encoding) -> str:
    """A short text for a task and its encoding: the same in every process, and when loaded.

    Of reward functions only the names count.

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
