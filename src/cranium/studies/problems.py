"""Problems of a study: what the user gives, how it is made, and what it is hashed as."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from cranium.aamdp import AutomatonAugmentedMDP, find_product, product
from cranium.aamdp.catalogue import CATALOGUE
from cranium.aamdp.registry import make_env
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import RewardFunction
from cranium.errors import CraniumError, InvalidArgumentError, shorten
from cranium.formats import library
from cranium.formats.files import dumps, load
from cranium.languages import compile_language
from cranium.learners.code_digest import code_digest
from cranium.learners.fingerprint import fingerprint
from cranium.studies.digests import digest_of, is_own_code

__all__ = ["MakeEnv", "ProblemValue", "describe_problem", "read_problem"]

Env = gym.Env[Any, Any]
WORLDS = frozenset(entry.name for entry in CATALOGUE)
"""The names of our own worlds."""
MakeEnv = Callable[[], Env]
ProblemValue = str | tuple[object, object] | MakeEnv
"""A Gymnasium id, a pair of a world and a task, or a function that makes the product."""


@dataclass(frozen=True)
class MakeById:
    """Makes a problem that is registered with Gymnasium."""

    id: str
    spec: EnvSpec | None = None  # workers do not know what the file of the study registers

    def __call__(self) -> Env:
        return gym.make(self.id if self.spec is None else self.spec)


@dataclass(frozen=True)
class MakePair:
    """Makes the product of a world and a task."""

    world: str | MakeEnv
    task: CountingRewardAutomaton

    def __call__(self) -> Env:
        if isinstance(self.world, str) and self.world in WORLDS:
            return make_env(self.world, self.task)
        world = gym.make(self.world) if isinstance(self.world, str) else self.world()
        return product(world, self.task)


def read_problem(name: str, value: object) -> MakeEnv:
    """Return what makes the environment of a problem.

    Example:
        >>> read_problem("small", "cranium/Letter-anbcdn-v0")().spec.id
        'cranium/Letter-anbcdn-v0'
        >>> read_problem("small", ("Office", "mail person")).task.name
        'mail person'
        >>> read_problem("small", 5)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: the problem 'small' is 5
          fix: give a Gymnasium id, a pair of a world and a task, or a function that makes the
          product
    """
    if isinstance(value, str):
        return MakeById(value, gym.registry.get(value))
    if isinstance(value, tuple) and len(value) == 2:
        world, task = value
        if isinstance(world, gym.Env) or not (isinstance(world, str) or callable(world)):
            raise InvalidArgumentError(
                f"the world of the problem {name!r} is {shorten(world)}",
                fix="give its Gymnasium id, or a function that makes it: every trial has its own",
            )
        return MakePair(world, _read_task(name, task))
    if isinstance(value, gym.Env):
        raise InvalidArgumentError(
            f"the problem {name!r} is an environment, which trials cannot share",
            fix="give a function that makes it, such as lambda: make_env()",
        )
    if callable(value):
        made: MakeEnv = value
        return made
    raise InvalidArgumentError(
        f"the problem {name!r} is {shorten(value)}",
        fix="give a Gymnasium id, a pair of a world and a task, or a function that makes the "
        "product",
    )


def _read_task(name: str, task: object) -> CountingRewardAutomaton:
    if isinstance(task, CountingRewardAutomaton):
        return task
    if isinstance(task, str) and task.startswith("library:"):
        return library.load(task.removeprefix("library:"))
    if isinstance(task, str) and task.endswith((".yaml", ".yml", ".json", ".txt")):
        return load(task)
    if isinstance(task, str):
        return compile_language(task)
    raise InvalidArgumentError(
        f"the task of the problem {name!r} is {shorten(task)}",
        fix="give an automaton, a file, library:NAME, or a language such as 'A^N B C^N'",
    )


def describe_problem(name: str, make: MakeEnv) -> dict[str, Any]:
    """Make the environment once, and describe what its trials depend on.

    Example:
        >>> found = describe_problem("small", MakeById("cranium/Letter-anbcdn-v0"))
        >>> sorted(found)
        ['machine', 'rewards', 'world']
    """
    try:
        env = make()
        found = find_product(env)
    except CraniumError as problem:
        raise type(problem)(f"the problem {name!r}: {problem.message}", fix=problem.fix) from None
    except Exception as problem:
        raise InvalidArgumentError(
            f"the problem {name!r} cannot be made: {type(problem).__name__}: {problem}",
            fix="run the function that makes it by itself",
        ) from problem
    machine = found.automaton
    code = [digest_of(each) for each in _own_code(env, make)]
    told = getattr(make, "settings", None)
    return {
        **({"code": code} if code else {}),
        **({"made with": dict(told)} if isinstance(told, Mapping) else {}),
        "world": fingerprint(env),
        "machine": hashlib.sha256(dumps(machine).encode()).hexdigest()[:16],
        "rewards": _describe_rewards(found),
    }


def _own_code(env: Env, make: MakeEnv) -> list[object]:
    """The function that makes the environment and the classes of it that are the user's own."""
    maker: object = make.world if isinstance(make, MakePair) else make
    found: list[object] = [maker] if callable(maker) and not isinstance(maker, MakeById) else []
    inner: Env = env
    while isinstance(inner, gym.Wrapper):
        found.append(type(inner))
        inner = inner.env
    found.append(type(inner))
    return [each for each in found if is_own_code(_innermost(each))]


def _innermost(maker: object) -> object:
    while isinstance(maker, functools.partial):
        maker = maker.func
    return maker


def _describe_rewards(found: AutomatonAugmentedMDP) -> dict[str, str | None]:
    """Digests of the reward functions of a machine."""
    rewards = (transition.reward for transition in found.automaton.transitions)
    functions = {each.name: each for each in rewards if isinstance(each, RewardFunction)}
    return {name: code_digest(functions[name]) for name in sorted(functions)}
