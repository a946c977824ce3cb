"""What a training is made of, part by part: a checkpoint goes on only with the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import RewardFunction
from cranium.errors import InvalidArgumentError
from cranium.formats.files import dumps
from cranium.learners.code_digest import code_digest
from cranium.learners.config import AgentConfig, LearnerConfig
from cranium.worlds.observations import observation_key

__all__ = ["check_identity", "describe_value", "training_identity"]

LONGEST = 80
"""The number of characters of a part that a message shows."""
DEEPEST = 8
"""How deep values that hold others are looked into."""
TASK = "task"


def training_identity(
    config: LearnerConfig,
    automaton: CountingRewardAutomaton,
    world: Mapping[str, object],
    arguments: Mapping[str, object],
) -> dict[str, str]:
    """Describe everything that the numbers of a training depend on, as texts that can be compared.

    Args:
        config: The settings of the learner.
        automaton: The task.
        world: The fingerprint of the world.
        arguments: The arguments of the training.

    Example:
        >>> import cranium
        >>> from cranium.learners import TabularConfig
        >>> task = cranium.library.load("anbcn")
        >>> found = training_identity(TabularConfig(), task, {}, {"seed": 3})
        >>> found["seed"], found["learning_rate"]
        ('3', '0.5')
    """
    parts = {name: describe_value(value) for name, value in arguments.items()}
    parts |= {f"world: {name}": str(value) for name, value in world.items()}
    parts[TASK] = f"{automaton.name or 'without a name'}, {_task_digest(automaton)}"
    if isinstance(config, AgentConfig):
        settings: dict[str, Any] = {**config.defaults, **config.settings}
    else:
        settings = {each.name: getattr(config, each.name) for each in fields(config)}
    return parts | {name: describe_value(value) for name, value in settings.items()}


def _task_digest(automaton: CountingRewardAutomaton) -> str:
    """A digest of the automaton, and of the code of its reward functions where there is some."""
    text = dumps(automaton, form="json")
    for transition in automaton.transitions:
        if isinstance(transition.reward, RewardFunction):
            text += f"\n{transition.reward.name}: {code_digest(transition.reward.function)}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def describe_value(value: object, depth: int = 0) -> str:
    """Describe a value by a text that is the same in every process.

    Functions are described by their code, objects by their class and attributes.

    Example:
        >>> describe_value({"b": (1, 2.5), "a": None})
        '{a: None, b: (1, 2.5)}'
        >>> from cranium.learners import Schedule
        >>> describe_value(Schedule(1.0, 0.1, 500))
        "Schedule(first: 1.0, last: 0.1, over: 500, unit: 'samples')"
    """
    if depth > DEEPEST:
        return "…"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, np.ndarray | np.generic):
        return str(observation_key(value))
    if isinstance(value, Mapping):
        return _braced(value, depth, "{", "}")
    if is_dataclass(value) and not isinstance(value, type):
        told = {each.name: getattr(value, each.name) for each in fields(value)}
        return type(value).__qualname__ + _braced(told, depth, "(", ")")
    if isinstance(value, tuple | list | set | frozenset):
        inner = [describe_value(one, depth + 1) for one in value]
        inner = sorted(inner) if isinstance(value, set | frozenset) else inner
        name = type(value).__qualname__ if hasattr(value, "_fields") else ""
        return f"{name}({', '.join(inner)})"
    if isinstance(value, type):
        return value.__qualname__
    return _object(value, depth)


def _object(value: Any, depth: int) -> str:
    """A function by its code, and another object by its attributes."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    if hasattr(value, "__code__") or hasattr(value, "__wrapped__"):
        return f"{name} {code_digest(value)}"
    attributes = getattr(value, "__dict__", None)
    return name if attributes is None else name + _braced(attributes, depth, "(", ")")


def _braced(values: Mapping[Any, object], depth: int, first: str, last: str) -> str:
    inner = (f"{name}: {describe_value(one, depth + 1)}" for name, one in values.items())
    return first + ", ".join(sorted(inner) if first == "{" else inner) + last


def check_identity(name: str, known: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse a checkpoint of another training, and say in what it differs.

    Example:
        >>> check_identity("agent.ckpt", {"seed": "0"}, {"seed": "1"})
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: agent.ckpt is of another training: seed: 0 in the
        checkpoint, 1 here
          fix: train with the same arguments; only steps, until, callbacks, every and progress may
          differ
    """
    parts = dict.fromkeys([*known, *now])
    found = [
        _difference(part, known.get(part), now.get(part))
        for part in parts
        if known.get(part) != now.get(part)
    ]
    if found:
        raise InvalidArgumentError(
            f"{name} is of another training: {'; '.join(found)}",
            fix="train with the same arguments; only steps, until, callbacks, every and progress "
            "may differ",
        )


def _difference(part: str, then: str | None, now: str | None) -> str:
    texts = (
        "nothing" if text is None else text if len(text) <= LONGEST else text[:LONGEST] + "…"
        for text in (then, now)
    )
    return "{}: {} in the checkpoint, {} here".format(part, *texts)
