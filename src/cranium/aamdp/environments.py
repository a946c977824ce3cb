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

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym

from cranium.aamdp.labelling import check_labelling_function
from cranium.aamdp.registry import CATALOGUE, WorldEntry
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import (
    CraniumError,
    InvalidArgumentError,
    Place,
    UnknownNameError,
    WorldError,
    shorten,
)
from cranium.worlds.protocols import LabellingFunction

__all__ = ["find_environment", "import_labelling", "import_object", "import_world"]

MAX_TRACEBACK = 3
"""The number of lines of a user's own code that a message shows."""
MAX_MESSAGE = 500
"""The number of characters of another library's message that a message of ours shows."""
OURS = Path(__file__).resolve().parent.parent
FORMS = "a world of `cranium worlds`, a Gymnasium id, MODULE:NAME or FILE.py:NAME"


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
    module = _import_module(module_name)
    found = _find_attribute(module, attribute)
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
            return _registered(name)
        raise _unknown_world(name)
    if not (module_name and attribute):
        raise InvalidArgumentError(
            f"an environment is named MODULE:NAME or FILE.py:NAME, not {shorten(name)}"
        )
    before = set(gym.registry)
    module = _import_module(module_name)
    found = _find_attribute(module, attribute)
    if found is not None:
        return _from_object(name, found)
    if attribute in gym.registry:
        return _registered(attribute)
    added = [id_ for id_ in gym.registry if id_ not in before]
    raise _unknown_attribute(module, module_name, attribute, added)


def _registered(id_: str) -> WorldEntry:
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
            with _importable(_folder(self.name)), _user_code(self.name):
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


# Modules and files


def _import_module(name: str) -> ModuleType:
    """Import a module by its name, or from a file that ends in ``.py``."""
    if name.endswith(".py") or "/" in name or os.sep in name:
        return _import_file(Path(name))
    with _importable(Path.cwd()):
        try:
            with _user_code(f"the import of {name}"):
                return importlib.import_module(name)
        except WorldError as problem:
            cause = problem.__cause__
            missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
            if missing is None or not f"{name}.".startswith(f"{missing}."):
                raise  # the module exists, but its own code fails
    near = sorted(path.name for path in Path.cwd().glob("*.py"))[:5]
    also = f"; files here: {', '.join(near)}" if near else ""
    raise InvalidArgumentError(
        f"there is no module {shorten(name)} in this folder or on Python's path",
        fix=f"{FORMS}{also}",
    )


def _import_file(path: Path) -> ModuleType:
    """Import a file. Its folder is importable meanwhile, as for ``python FILE``."""
    if path.suffix != ".py" or not path.is_file():
        raise InvalidArgumentError(
            f"there is no Python file {shorten(str(path))}", fix="FILE.py:NAME names one"
        )
    where = path.resolve()
    # The same file is imported once, and two files with the same name are two modules.
    digest = hashlib.sha256(str(where).encode()).hexdigest()[:8]
    name = f"{where.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, where)
    if spec is None or spec.loader is None:
        raise InvalidArgumentError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _importable(where.parent), _user_code(f"the import of {path}"):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _folder(name: str) -> Path:
    """Return the folder that is importable while code of this name runs."""
    file = Path(name.rpartition(":")[0])
    return file.resolve().parent if file.suffix == ".py" else Path.cwd()


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Put a folder first on Python's path while the block runs."""
    entry = str(folder)
    sys.path.insert(0, entry)
    importlib.invalidate_caches()  # a file may be newer than the last import
    try:
        yield
    finally:
        if entry in sys.path:
            sys.path.remove(entry)


def _find_attribute(module: ModuleType, dotted: str) -> object | None:
    found: object = module
    for part in dotted.split("."):
        found = getattr(found, part, None)
    return found


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


# Errors in a user's code


@contextmanager
def _user_code(what: str) -> Iterator[None]:
    """Turn what a user's code raises into one error that shows its last lines."""
    try:
        yield
    except CraniumError:
        raise
    except (Exception, SystemExit) as problem:
        lines = [
            line
            for line in traceback.extract_tb(problem.__traceback__)
            if not line.filename.startswith("<") and OURS not in Path(line.filename).parents
        ]
        own = [line for line in lines if not _is_library(line.filename)]
        shown = [
            f"{_relative(line.filename)}:{line.lineno} in {line.name}: {line.line}"
            for line in own[-MAX_TRACEBACK:]
        ]
        place = None
        if own:
            last = own[-1]
            column = (last.colno or 0) + 1
            place = Place(last.lineno or 1, column, _relative(last.filename))
        elif isinstance(problem, SyntaxError) and problem.filename:
            place = Place(problem.lineno or 1, problem.offset or 1, _relative(problem.filename))
        text = str(problem)[:MAX_MESSAGE]
        raise WorldError(
            f"{what} raised {type(problem).__name__}{f': {text}' if text else ''}",
            place=place,
            excerpt="\n".join(shown) or None,
        ) from problem


def _is_library(filename: str) -> bool:
    path = Path(filename)
    return "site-packages" in path.parts or Path(os.__file__).parent in path.parents


def _relative(filename: str) -> str:
    """Return a path as seen from the current folder, if it is inside it."""
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else filename
