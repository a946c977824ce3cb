"""One line from an environment and a task to the arguments of an SB3 algorithm."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import gymnasium as gym

from cranium.aamdp.encoding import BoxEncoding, DictEncoding, Encoding
from cranium.aamdp.product import AutomatonAugmentedMDP, product
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.counterfactual import AnyConfigurationSet, RecordTransition
from cranium.counterfactual.environments import check_same_task, encoding_of
from cranium.errors import InvalidArgumentError, UnknownNameError, WorldError, shorten
from cranium.learners.sb3.buffers import (
    CounterfactualDictReplayBuffer,
    CounterfactualReplayBuffer,
    require_sb3,
)
from cranium.learners.sb3.checks import (
    VecEnv,
    check_actions,
    check_ground,
    check_normalisation,
)

__all__ = ["counterfactual"]

EACH = "make_vec_env(lambda: counterfactual(make(), automaton)[0], n_envs=4)"


def counterfactual(
    env: gym.Env[Any, Any] | VecEnv,
    automaton: CountingRewardAutomaton | None = None,
    labelling: Callable[[Any, Any, Any], Iterable[str] | str] | None = None,
    *,
    counterfactual_ratio: float = 0.5,
    configurations: AnyConfigurationSet | None = None,
    **options: Any,
) -> tuple[Any, dict[str, Any]]:
    """An environment with a task, and the replay arguments of DQN, SAC, TD3 and DDPG.

    Args:
        env: An environment; or, without an automaton, one that is a product already, or several of
            them in a ``VecEnv`` of SB3.
        automaton: The task.
        labelling: The events; left out, the world's own.
        counterfactual_ratio: The probability that a transition of a batch is relabelled with a
            configuration that is drawn from a set; it may be the real one.
        configurations: The set: ``"seen"``, ``"reachable"`` or a
            :class:`~cranium.counterfactual.ConfigurationSet`. The default is ``"reachable"`` if
            there is a ``counter_limit`` and at most 2,000 are reachable, and ``"seen"`` otherwise.
        options: Of the product. Its encoding is by default ``BoxEncoding()``, for ``"MlpPolicy"``.

    Transitions are recorded inside the product (:class:`~cranium.counterfactual.RecordTransition`),
    if it can be reached from here. In a ``SubprocVecEnv`` they are recorded only if each
    environment was made by this function.

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
    made: Any = env
    if automaton is not None:
        made = _make(env, automaton, labelling, options)
    elif labelling is not None or options:
        given = ", ".join([*(["labelling"] if labelling is not None else []), *options])
        raise InvalidArgumentError(
            f"a product that is there already has its own settings, not these: {given}",
            fix="give the environment and the automaton, or make the product with them",
        )
    encoding = _encoding_of_many(made) if _is_vector(made) else encoding_of(made)
    check_actions(made.action_space)
    kinds: dict[type, type] = {
        BoxEncoding: CounterfactualReplayBuffer,
        DictEncoding: CounterfactualDictReplayBuffer,
    }
    if isinstance(encoding, DictEncoding):
        check_ground(encoding.ground)
    for kind, buffer in kinds.items():
        if isinstance(encoding, kind):
            settings = {"encoding": encoding, "counterfactual_ratio": counterfactual_ratio}
            settings["configurations"] = configurations
            return made, {"replay_buffer_class": buffer, "replay_buffer_kwargs": settings}
    raise InvalidArgumentError(
        f"networks read a BoxEncoding or a DictEncoding, not a {type(encoding).__name__}",
        fix="cranium.product(env, automaton, encoding=BoxEncoding())",
    )


def _make(env: Any, automaton: Any, labelling: Any, options: dict[str, Any]) -> Any:
    if _is_vector(env):
        raise InvalidArgumentError(
            "the environments of a VecEnv get their task before they are put together",
            fix=f"{EACH}, and then counterfactual(vec_env)",
        )
    parameters = inspect.signature(AutomatonAugmentedMDP).parameters.values()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            known += ["counterfactual_ratio", "configurations"]
            raise UnknownNameError.of("option of counterfactual", name, known)
    return product(env, automaton, labelling, **{"encoding": BoxEncoding(), **options})


def _is_vector(env: object) -> bool:
    return isinstance(env, _vectors().VecEnv)


def _vectors() -> Any:
    return importlib.import_module("stable_baselines3.common.vec_env")


def _encoding_of_many(env: VecEnv) -> Encoding:
    inside = getattr(env.unwrapped, "envs", None)  # none if they run in other processes
    if inside is not None:
        encodings = [encoding_of(one) for one in inside]
        recorded = True
    else:
        encodings = _ask_encodings(env)
        recorded = all(env.env_is_wrapped(RecordTransition))
    first = check_same_task(encodings)
    if (normaliser := _vectors().unwrap_vec_normalize(env)) is not None:
        check_normalisation(normaliser, ends_known=recorded)
    if not first.automaton.is_constant and not recorded:
        raise WorldError(
            "the reward functions of this task need (s, a, s′), which is not recorded", fix=EACH
        )
    return first


def _ask_encodings(env: VecEnv) -> list[Encoding]:
    """The encodings of products in other processes."""
    try:
        found: list[Any] = env.get_attr("encoding") if env.has_attr("encoding") else []
    except (EOFError, OSError):
        raise WorldError(
            "the task cannot be sent from one process to another",
            fix="give its reward functions names: def, at the top of a module, not lambda; "
            "or use a DummyVecEnv",
        ) from None
    if not found or not all(isinstance(one, Encoding) for one in found):
        raise InvalidArgumentError(
            f"there is no task in {shorten(env)}",
            fix="make_vec_env(lambda: cranium.product(make(), automaton), n_envs=4)",
        )
    return found
