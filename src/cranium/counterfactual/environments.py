"""Find the product, or the products, that a replay buffer is for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import gymnasium as gym
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from cranium.aamdp.encoding import Encoding
from cranium.aamdp.planning import find_product
from cranium.counterfactual.recorder import fingerprint, record_transitions
from cranium.counterfactual.wrapper_checks import check_wrappers
from cranium.errors import InvalidArgumentError, WorldError, shorten

__all__ = ["ReplaySource", "check_same_task", "encoding_of", "replay_source"]

RECORD = "AsyncVectorEnv([lambda: cranium.counterfactual.record_transitions(make())] * n)"


class ReplaySource(NamedTuple):
    """What a replay buffer has to know of the environments that it is for."""

    encoding: Encoding
    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    num_envs: int
    is_vector: bool  # whether observations, rewards and infos come for all environments at once


def replay_source(env: gym.Env[Any, Any] | VectorEnv[Any, Any, Any]) -> ReplaySource:
    """Read off an environment, or a vector of them, what a replay buffer has to know.

    Transitions are recorded from now on: see :func:`record_transitions`.

    Example:
        >>> import cranium
        >>> source = replay_source(gym.make("cranium/Letter-anbcdn-v0"))
        >>> source.num_envs, source.action_space
        (1, Discrete(4))
    """
    if isinstance(env, VectorEnv):
        encoding = _encoding_of_vector(env)
        observed, acted = env.single_observation_space, env.single_action_space
        return ReplaySource(encoding, observed, acted, env.num_envs, True)
    return ReplaySource(encoding_of(env), env.observation_space, env.action_space, 1, False)


def encoding_of(env: object) -> Encoding:
    """The encoding of the product in an environment; its transitions are recorded from now on.

    Example:
        >>> type(encoding_of(gym.make("cranium/Letter-anbcdn-v0"))).__name__
        'DictEncoding'
    """
    if not isinstance(env, gym.Env):
        raise InvalidArgumentError(f"an environment is a gymnasium.Env, not {shorten(env)}")
    found = find_product(env)
    check_wrappers(env)
    record_transitions(env)
    return found.encoding


def check_same_task(encodings: Iterable[Encoding]) -> Encoding:
    """Refuse environments side by side with different tasks; return the first encoding."""
    encodings = list(encodings)
    if len({fingerprint(encoding) for encoding in encodings}) > 1:
        raise InvalidArgumentError(
            "the environments of a vector have different tasks, observations, encodings or limits "
            "of counters",
            fix="give all of them the same",
        )
    return encodings[0]


def _encoding_of_vector(env: VectorEnv[Any, Any, Any]) -> Encoding:
    base: Any = env.unwrapped
    if hasattr(base, "envs"):
        return check_same_task(encoding_of(one) for one in base.envs)
    if not hasattr(base, "get_attr"):
        raise InvalidArgumentError(
            f"there are no products in {shorten(env)}",
            fix="SyncVectorEnv([lambda: cranium.product(make(), automaton)] * n)",
        )
    encodings = _ask(base, "encoding")
    if not encodings or not all(isinstance(one, Encoding) for one in encodings):
        raise InvalidArgumentError(f"there is no task in {shorten(env)}", fix=RECORD)
    encoding = check_same_task(encodings)
    if not all(_ask(base, "records_transitions") or [False]):
        if env.metadata.get("autoreset_mode") == AutoresetMode.NEXT_STEP:
            raise WorldError(
                "resets cannot be told from steps in environments that run in other processes and "
                "reset in the next step",
                fix=RECORD,
            )
        if not encoding.automaton.is_constant:
            raise WorldError(
                "the reward functions of this task need (s, a, s′), which environments in other "
                "processes do not report",
                fix=RECORD,
            )
    return encoding


def _ask(base: Any, name: str) -> tuple[Any, ...]:
    """An attribute of environments in other processes; nothing if they have none."""
    # To ask for an attribute that is not there would end the processes.
    return tuple(base.get_attr(name)) if all(base.call("has_wrapper_attr", name)) else ()
