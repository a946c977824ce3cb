"""Studies in files: Python, or TOML with names of what is the user's own."""

from __future__ import annotations

import importlib.util
import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from cranium.errors import CraniumError, FileFormatError, InvalidArgumentError, shorten
from cranium.experiments.tuning import Grid, Optuna
from cranium.io import read_text
from cranium.studies.study import Study

__all__ = ["load_study"]

MAX_TOML = 64 * 2**10


def load_study(path: str | os.PathLike[str], name: str | None = None) -> Study:
    r"""Read the study of a file.

    A Python file is run: it has to make one :class:`Study`, or several, one of which is named. A
    TOML file names ids only, and no code of anybody's is run.

    Args:
        path: The file, which ends in ``.py`` or ``.toml``.
        name: The name of the variable, if a Python file makes several studies.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "letters.toml"
        >>> _ = path.write_text('steps = 1000\nlearners = {CQL = "cql"}\n'
        ...                     '[problems]\none = ["Letter", "A B C D"]\n')
        >>> load_study(path).name
        'letters'
    """
    where = Path(path)
    if where.suffix == ".toml":
        return _from_toml(where)
    if where.suffix != ".py":
        raise InvalidArgumentError(
            f"a study is in a .py or .toml file, not {where.name!r}",
            fix="begin one: cranium new study my_study.py",
        )
    found = _find_studies(where)
    if name is not None:
        if name not in found:
            known = ", ".join(found) or "none"
            raise InvalidArgumentError(f"{where} makes no study {name!r}", fix=f"known: {known}")
        return found[name]
    if len(found) != 1:
        raise InvalidArgumentError(
            f"{where} makes {len(found)} studies",
            fix="make one at the top level of the file: study = cranium.Study(…)"
            if not found
            else f"name one with --study: {', '.join(found)}",
        )
    return next(iter(found.values()))


def _find_studies(path: Path) -> dict[str, Study]:
    """Run a Python file, and return the studies that it makes, by variable."""
    if not path.is_file():
        raise FileFormatError(f"there is no file {path}", fix="look at its name and its folder")
    import cloudpickle

    name = f"cranium_study_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FileFormatError(f"{path} cannot be read as Python")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:  # as when Python runs the file: its neighbours can be imported
        sys.path.insert(0, folder)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except CraniumError:
        raise
    except (Exception, SystemExit) as problem:
        raise InvalidArgumentError(
            f"{path} ended with {type(problem).__name__}: {problem}{_line_of(problem, path)}",
            fix="python FILE shows where",
        ) from problem
    # Workers get what the file defines by value: they do not have to find and run it again.
    for each in [module, *_find_neighbours(path)]:
        cloudpickle.register_pickle_by_value(each)
    studies = {key: value for key, value in vars(module).items() if isinstance(value, Study)}
    return {key: study for key, study in studies.items() if not key.startswith("_")}


def _find_neighbours(path: Path) -> list[ModuleType]:
    """The modules in the folder of a file that it has imported."""
    folder = path.resolve().parent
    files = {name: getattr(each, "__file__", None) for name, each in list(sys.modules.items())}
    near = [name for name, file in files.items() if file and Path(file).parent == folder]
    return [sys.modules[name] for name in near if name != "__main__"]


def _line_of(problem: BaseException, path: Path) -> str:
    lines = []
    trace = problem.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == path.resolve() or (
            trace.tb_frame.f_code.co_filename == str(path)
        ):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f" (line {lines[-1]})" if lines else ""


def _from_toml(path: Path) -> Study:
    try:
        told = tomllib.loads(read_text(path, most=MAX_TOML, follow_links=False))
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, CraniumError):
            raise
        raise FileFormatError(f"{path} is not TOML: {problem}", fix="see https://toml.io") from None
    told.setdefault("name", path.stem)
    try:
        settings = {**told, "problems": _problems(told), "learners": _learners(told)}
        if "tune" in settings:
            settings["tune"] = _search(settings["tune"])
        return Study(**settings)
    except TypeError as problem:
        raise FileFormatError(
            f"{path}: {str(problem).replace('Study.__init__() ', '')}",
            fix="it has the arguments of cranium.Study: steps, seeds, measure, …",
        ) from None
    except CraniumError as problem:
        raise type(problem)(f"{path}: {problem.message}", fix=problem.fix) from None


def _table(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = told.get(name)
    if not isinstance(found, dict):
        raise FileFormatError(f"there is no table of {name}", fix=f"begin one: [{name}]")
    return found


def _problems(told: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays are pairs of a world and a task. An id that imports a module is refused."""
    found: dict[str, Any] = {}
    for name, value in _table(told, "problems").items():
        world = value[0] if isinstance(value, list) and value else value
        if isinstance(world, str) and ":" in world:
            raise FileFormatError(
                f"the problem {name!r} would import {world.partition(':')[0]}",
                fix="name code in a .py file: a TOML file runs none",
            )
        found[name] = tuple(value) if isinstance(value, list) else value
    return found


def _learners(told: Mapping[str, Any]) -> dict[str, Any]:
    """A table is a learner with settings: {learner = "cql", shaping = true}."""
    found: dict[str, Any] = {}
    for name, value in _table(told, "learners").items():
        if isinstance(value, dict):
            settings = dict(value)
            learner = settings.pop("learner", None)
            if not isinstance(learner, str):
                raise FileFormatError(
                    f"the learner {name!r} is {shorten(value)}",
                    fix='write {learner = "cql", …} or "cql"',
                )
            found[name] = (learner, settings)
        elif isinstance(value, str):
            found[name] = value
        else:
            raise FileFormatError(f"the learner {name!r} is {shorten(value)}", fix='write "cql"')
    return found


def _search(told: object) -> Grid | Optuna:
    if not isinstance(told, dict):
        raise FileFormatError(f"tune is {shorten(told)}", fix="begin a table: [tune]")
    settings = dict(told)
    kind = settings.pop("search", "grid")
    if kind == "grid":
        return Grid(**settings)
    if kind == "optuna":
        ranges: dict[str, Any] = {
            name: tuple(value["range"]) if isinstance(value, dict) and "range" in value else value
            for name, value in settings.items()
        }
        return Optuna(**ranges)
    raise FileFormatError(f"search is 'grid' or 'optuna', not {shorten(kind)}", fix='write "grid"')
