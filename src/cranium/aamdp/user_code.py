"""Import a user's own modules and files, and turn what their code raises into errors of ours.

Only import what a user has named, on the command line or in their own Python code: never what a
file names.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from cranium.errors import CraniumError, InvalidArgumentError, Place, WorldError, shorten

__all__ = [
    "FORMS",
    "MAX_MESSAGE",
    "find_attribute",
    "folder_of",
    "import_module",
    "importable",
    "user_code",
]

MAX_TRACEBACK = 3
"""The number of lines of a user's own code that a message shows."""
MAX_MESSAGE = 500
"""The number of characters of another library's message that a message of ours shows."""
OURS = Path(__file__).resolve().parent.parent
FORMS = "a world of `cranium worlds`, a Gymnasium id, MODULE:NAME or FILE.py:NAME"


def import_module(name: str) -> ModuleType:
    """Import a module by its name, or from a file that ends in ``.py``."""
    if name.endswith(".py") or "/" in name or os.sep in name:
        return _import_file(Path(name))
    with importable(Path.cwd()):
        try:
            with user_code(f"the import of {name}"):
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
        with importable(where.parent), user_code(f"the import of {path}"):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def folder_of(name: str) -> Path:
    """Return the folder that is importable while code of this name runs."""
    file = Path(name.rpartition(":")[0])
    return file.resolve().parent if file.suffix == ".py" else Path.cwd()


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Put a folder first on Python's path while the block runs."""
    entry = str(folder)
    sys.path.insert(0, entry)
    importlib.invalidate_caches()  # a file may be newer than the last import
    try:
        yield
    finally:
        if entry in sys.path:
            sys.path.remove(entry)


def find_attribute(module: ModuleType, dotted: str) -> object | None:
    """Return what a dotted name stands for in a module; None if there is no such name."""
    found: object = module
    for part in dotted.split("."):
        found = getattr(found, part, None)
    return found


@contextmanager
def user_code(what: str) -> Iterator[None]:
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
