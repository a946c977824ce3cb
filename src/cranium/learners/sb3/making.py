"""One line from an environment and a task to the arguments of an SB3 algorithm."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, Literal

import gymnasium as gym

from cranium.aamdp.encoding import BoxEncoding, DictEncoding
from cranium.aamdp.planning import find_product
from cranium.aamdp.product import product
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import InvalidArgumentError, WorldError, shorten
from cranium.learners.sb3.buffers import (
    CounterfactualDictReplayBuffer,
    CounterfactualReplayBuffer,
    check_normalisation,
    require_sb3,
)
from cranium.worlds.observations import kept

__all__ = ["Witness", "counterfactual"]


class Witness(gym.Wrapper[Any, Any, Any, Any]):
    """Tells the (s, a, s′) of each step, in ``info["transition"]``, for reward functions.

    It stands between the environment and the product: there observations are not yet normalised,
    nor actions scaled, nor is the last observation of an episode replaced by the next first one.
    Tasks with constant rewards do not need it.

    Example:
        >>> env = Witness(gym.make("CartPole-v1"))
        >>> start, _ = env.reset(seed=0)
        >>> info = env.step(1)[-1]
        >>> before, action, after = info["transition"]
        >>> bool((before == start).all()), action
        (True, 1)
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._before: Any = None

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(**options)
        self._before = kept(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Do something, and tell what it was."""
        after, reward, terminated, truncated, info = self.env.step(action)
        told = {**info, "transition": (self._before, kept(action), kept(after))}
        self._before = told["transition"][2]
        return after, reward, terminated, truncated, told


def counterfactual(
    env: Any,
    automaton: CountingRewardAutomaton | None = None,
    labelling: Callable[[Any, Any, Any], Iterable[str] | str] | None = None,
    *,
    imagined: float = 0.5,
    configurations: Literal["seen", "reachable"] | None = None,
    **options: Any,
) -> tuple[Any, dict[str, Any]]:
    """An environment with a task, and the replay arguments of DQN, SAC, TD3 and DDPG.

    Args:
        env: An environment; or, without an automaton, one that is a product already, or several of
            them in a ``VecEnv`` of SB3.
        automaton: The task.
        labelling: The events; left out, the world's own.
        imagined: How likely a step of a batch is seen from another configuration than the real one.
        configurations: Which: ``"seen"`` or ``"reachable"``; left out, the second if they are few.
        options: Of the product. Its encoding is by default ``BoxEncoding()``, for ``"MlpPolicy"``.

    Returns:
        The environment, and a dictionary with ``replay_buffer_class`` and ``replay_buffer_kwargs``.

    Example:
        >>> import cranium
        >>> from stable_baselines3 import DQN
        >>> office, task = cranium.worlds.OfficeWorld(mail=1), cranium.library.load("mail-delivery")
        >>> env, replay = counterfactual(office, task, horizon=100)
        >>> model = DQN("MlpPolicy", env, **replay).learn(20)

    Several environments:

        >>> from stable_baselines3.common.env_util import make_vec_env
        >>> env, replay = counterfactual(make_vec_env("cranium/Letter-anbcdn-v0", n_envs=4))
        >>> model = DQN("MultiInputPolicy", env, **replay).learn(20)
    """
    require_sb3()
    if automaton is not None:
        env = _make(env, automaton, labelling, options)
    elif labelling is not None or options:
        given = ", ".join([*(["labelling"] if labelling is not None else []), *options])
        raise InvalidArgumentError(
            f"a product that is there already has its own settings, not these: {given}",
            fix="give the environment and the automaton, or make the product with them",
        )
    encoding = _encoding_of_many(env) if _is_vector(env) else _encoding_of_one(env)
    kinds: dict[type, type] = {
        BoxEncoding: CounterfactualReplayBuffer,
        DictEncoding: CounterfactualDictReplayBuffer,
    }
    for kind, buffer in kinds.items():
        if isinstance(encoding, kind):
            settings = {"encoding": encoding, "imagined": imagined}
            settings["configurations"] = configurations
            return env, {"replay_buffer_class": buffer, "replay_buffer_kwargs": settings}
    raise InvalidArgumentError(
        f"networks read a BoxEncoding or a DictEncoding, not a {type(encoding).__name__}",
        fix="cranium.product(env, automaton, encoding=BoxEncoding())",
    )


def _make(env: Any, automaton: Any, labelling: Any, options: dict[str, Any]) -> Any:
    if _is_vector(env):
        raise InvalidArgumentError(
            "the environments of a VecEnv get their task before they are put together",
            fix="make_vec_env(lambda: counterfactual(make(), automaton)[0], n_envs=4), and then "
            "counterfactual(vec_env)",
        )
    if isinstance(env, gym.Env) and not getattr(automaton, "is_constant", True):
        env = Witness(env)
    return product(env, automaton, labelling, **{"encoding": BoxEncoding(), **options})


def _is_vector(env: Any) -> bool:
    return isinstance(env, _vectors().VecEnv)


def _vectors() -> Any:
    return importlib.import_module("stable_baselines3.common.vec_env")


def _encoding_of_one(env: Any) -> Any:
    if not isinstance(env, gym.Env):
        raise InvalidArgumentError(f"an environment is a gymnasium.Env, not {shorten(env)}")
    found = find_product(env)
    if not found.automaton.is_constant and not _is_witnessed(found.env):
        found.env = Witness(found.env)
    return found.encoding


def _encoding_of_many(env: Any) -> Any:
    if (normaliser := _vectors().unwrap_vec_normalize(env)) is not None:
        check_normalisation(normaliser)
    try:
        encoding = env.get_attr("encoding")[0]
    except AttributeError:
        raise InvalidArgumentError(
            f"there is no task in {shorten(env)}",
            fix="make_vec_env(lambda: cranium.product(make(), automaton), n_envs=4)",
        ) from None
    if not encoding.automaton.is_constant and not all(env.env_is_wrapped(Witness)):
        raise WorldError(
            "the reward functions of this task need (s, a, s′), which nobody tells",
            fix="make_vec_env(lambda: counterfactual(make(), automaton)[0], n_envs=4)",
        )
    return encoding


def _is_witnessed(env: Any) -> bool:
    while isinstance(env, gym.Wrapper):
        if isinstance(env, Witness):
            return True
        env = env.env
    return False
