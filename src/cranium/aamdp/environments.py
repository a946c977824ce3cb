"""Find an environment by the name that a user gave: a world, a Gymnasium id, or code of their own.

==============================  ================================================================
``Office``                      a world of the catalogue
``FrozenLake-v1``               an environment that is registered with Gymnasium
``package.module:Id-v0``        the same, after the import of the module that registers it
``package.module:name``         an ``Env`` class, a function that makes an environment or a
                                product, or an environment itself
``path/to/file.py:name``        the same, in a file
==============================  ================================================================

Finding a name imports the module in it. Only pass names that the user gave, on the command line or
in their own Python code: never one that a file contains.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym

from cranium.aamdp.catalogue import CATALOGUE, WorldEntry
from cranium.aamdp.labelling import check_labelling_function
from cranium.aamdp.user_code import (
    FORMS,
    MAX_MESSAGE,
    find_attribute,
    folder_of,
    import_module,
    importable,
    user_code,
)
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import (
    CraniumError,
    InvalidArgumentError,
    UnknownNameError,
    WorldError,
    shorten,
)
from cranium.worlds.protocols import LabellingFunction

__all__ = ["find_environment", "import_labelling", "import_object", "import_world"]


def find_environment(
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    task: CountingRewardAutomaton | None = None,
    labels: str | LabellingFunction | None = None,
    horizon: int | None = None,
) -> gym.Env[Any, Any]:
    """Make the environment of a name, or its product with a task.

    Args:
        name: A name as in the table above. The module in it is imported.
        options: Keyword arguments of the class or the function that makes the environment.
        task: The task. Left out, the result is the environment itself (which may be a product).
        labels: The labelling function, or its name: ``MODULE:FUNCTION``, ``FILE.py:FUNCTION``.
        horizon: The number of steps after which an episode of the product is truncated.

    Raises:
        UnknownNameError: There is no such world, id, or name in the module.
        InvalidArgumentError: The module cannot be found, or the options do not fit.
        WorldError: It is not an environment, or the user's code has raised an error.

    Example:
        >>> find_environment("FrozenLake-v1", {"is_slippery": False}).spec.id
        'FrozenLake-v1'
        >>> find_environment("gymnasium.envs.toy_text:TaxiEnv").action_space
        Discrete(6)
    """
    entry = import_world(name, labels)
    if task is None and labels is None:
        return entry.make(**{**entry.options, **(options or {})})
    return entry.make_env(task, options, horizon=horizon)


def import_world(name: str, labels: str | LabellingFunction | None = None) -> WorldEntry:
    """Find the world of a name, and import the module that is in the name.

    Example:
        >>> import_world("office").name, import_world("FrozenLake-v1").horizon
        ('Office', 100)
    """
    labelling = import_labelling(labels) if isinstance(labels, str) else labels
    entry = _find_entry(name)
    return entry if labelling is None else replace(entry, labelling=labelling)


def import_labelling(name: str) -> LabellingFunction:
    """Import a labelling function: ``MODULE:FUNCTION`` or ``FILE.py:FUNCTION``.

    Example:
        >>> import_labelling("cranium.aamdp:labelling_from_cell")
        Traceback (most recent call last):
        cranium.errors.UnknownNameError: no such name in cranium.aamdp: 'labelling_from_cell'
          fix: did you mean 'labelling_from_cells'?
    """
    return check_labelling_function(import_object(name, "a labelling", "--labels lake.py:events"))


def import_object(name: str, what: str, example: str = "") -> object:
    """Import an object that the user named: ``MODULE:NAME`` or ``FILE.py:NAME``.

    Args:
        name: The name.
        what: What it is, for messages.
        example: How it is named on the command line.

    Example:
        >>> import_object("math:pi", "a number")
        3.141592653589793
    """
    module_name, colon, attribute = name.rpartition(":")
    if not (colon and module_name and attribute):
        raise InvalidArgumentError(
            f"{what} is named MODULE:NAME or FILE.py:NAME, not {shorten(name)}",
            fix=f"write it as in {example}" if example else None,
        )
    module = import_module(module_name)
    found = find_attribute(module, attribute)
    if found is None:
        raise _unknown_attribute(module, module_name, attribute)
    return found


def _find_entry(name: str) -> WorldEntry:
    for entry in CATALOGUE:
        if entry.name.lower() == name.lower():
            return entry
    module_name, colon, attribute = name.rpartition(":")
    if not colon:
        if name in gym.registry:
            return _from_registry(name)
        raise _unknown_world(name)
    if not (module_name and attribute):
        raise InvalidArgumentError(
            f"an environment is named MODULE:NAME or FILE.py:NAME, not {shorten(name)}"
        )
    before = set(gym.registry)
    module = import_module(module_name)
    found = find_attribute(module, attribute)
    if found is not None:
        return _from_object(name, found)
    if attribute in gym.registry:
        return _from_registry(attribute)
    added = [id_ for id_ in gym.registry if id_ not in before]
    raise _unknown_attribute(module, module_name, attribute, added)


def _from_registry(id_: str) -> WorldEntry:
    horizon = gym.registry[id_].max_episode_steps
    make = _Factory(id_, partial(gym.make, id_))
    return WorldEntry(id_, make, "registered with Gymnasium", horizon, {}, gymnasium_id=id_)


def _from_object(name: str, found: object) -> WorldEntry:
    if isinstance(found, gym.Env):
        make: Callable[..., gym.Env[Any, Any]] = _Instance(name, found)
        described: object = type(found.unwrapped)
    elif callable(found):
        make, described = _Factory(name, found, _signature(found)), found
    else:
        raise WorldError(
            f"{name} is {shorten(found)}, which is not an environment",
            fix="name an Env class, a function that returns an environment, or an environment",
        )
    about = (inspect.getdoc(described) or "no description").strip().partition("\n")[0]
    return WorldEntry(name, make, about, None, {}, gymnasium_id=name)


def _signature(function: Callable[..., object]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None  # a built-in function


class _Instance:
    """Returns an environment that a module has made; it takes no options."""

    def __init__(self, name: str, env: gym.Env[Any, Any]) -> None:
        self.name = name
        self.env = env

    def __call__(self, **options: object) -> gym.Env[Any, Any]:
        if options:
            raise InvalidArgumentError(
                f"{self.name} is an environment that is made already, and takes no options",
                fix="name a function that makes it with its arguments",
            )
        return self.env


class _Factory:
    """Makes an environment with a class or a function; turns its errors into errors of ours."""

    def __init__(
        self,
        name: str,
        function: Callable[..., object],
        signature: inspect.Signature | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.signature = signature

    def __call__(self, **options: object) -> gym.Env[Any, Any]:
        self._check_options(options)
        try:
            with importable(folder_of(self.name)), user_code(self.name):
                made = self.function(**options)
        except WorldError as problem:
            # Gymnasium has called the class, whose arguments could not be checked here.
            if self.signature is not None or not isinstance(problem.__cause__, TypeError):
                raise
            raise InvalidArgumentError(
                f"{self.name} cannot be made with {shorten(dict(options))}: "
                f"{str(problem.__cause__)[:MAX_MESSAGE]}",
                fix="see the arguments of the environment in its documentation",
            ) from None
        if isinstance(made, gym.Env):
            return made
        many = isinstance(made, gym.vector.VectorEnv)
        raise WorldError(
            f"{self.name} returned {shorten(made)}, which is not a gymnasium.Env",
            fix="return a single environment" if many else "return the environment, or a product",
        )

    def _check_options(self, options: Mapping[str, object]) -> None:
        if self.signature is None:
            return
        kinds = {one.kind for one in self.signature.parameters.values()}
        known = list(self.signature.parameters)
        for option in options:
            if option not in known and inspect.Parameter.VAR_KEYWORD not in kinds:
                raise UnknownNameError.of(f"option of {self.name}", option, known)
        try:
            self.signature.bind(**options)
        except TypeError as problem:
            raise InvalidArgumentError(
                f"{self.name} cannot be made with {shorten(dict(options))}: {problem}",
                fix=f"its arguments are {self.signature}; give them: --with NAME=VALUE",
            ) from None


def _unknown_attribute(
    module: ModuleType, module_name: str, attribute: str, ids: list[str] | None = None
) -> UnknownNameError:
    public = [one for one in vars(module) if not one.startswith("_")]
    own = [one for one in public if getattr(vars(module)[one], "__module__", "") == module.__name__]
    error = UnknownNameError.of(f"name in {module_name}", attribute, [*own, *(ids or ())])
    if "did you mean" not in (error.fix or ""):
        near = UnknownNameError.of("name", attribute, public).fix or ""
        if near.startswith("did you mean"):
            error.fix = near.partition(" known:")[0]
    return error


def _unknown_world(name: str) -> CraniumError:
    if name.endswith(".py") and Path(name).is_file():
        return InvalidArgumentError(
            f"{name} is a file: name the environment in it",
            fix=f"{name}:NAME, where NAME is an Env class or a function that makes an environment",
        )
    names = [entry.name for entry in CATALOGUE]
    error = UnknownNameError.of("world", name, [*names, *gym.registry])
    near = (error.fix or "").partition(" known:")[0]
    hint = near if near.startswith("did you mean") else f"known: {', '.join(names)};"
    error.fix = f"{hint} WORLD is {FORMS}"
    return error
