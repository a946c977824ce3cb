"""A digest of what a Python function does, to tell it from another one of the same name."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from cranium.worlds.observations import observation_key

__all__ = ["VERSION", "CodeReader", "code_digest"]

VERSION = f"{sys.implementation.cache_tag}{'-O' if sys.flags.optimize else ''}"
"""Which Python compiled a function: others make other code of the same text."""
DEEPEST = 20
"""How deep values that hold others are looked into."""


def code_digest(function: Callable[..., object]) -> str | None:
    """A digest of a function: its code, what it has closed over, and what it uses of its module.

    Names, comments and docstrings of functions do not matter. None if it has no Python code.

    Example:
        >>> one, same, other = (lambda x: x > 1), (lambda x: x > 1), (lambda x: x > 2)
        >>> code_digest(one) == code_digest(same), code_digest(one) == code_digest(other)
        (True, False)
        >>> code_digest(print) is None
        True
    """
    given = []
    while isinstance(function, functools.partial):
        given.append((function.args, function.keywords))
        function = function.func
    plain = _function(function)
    if plain is None:
        return None
    parts = "\n".join(CodeReader(plain.__globals__).read(plain, given))
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _function(thing: Any) -> FunctionType | None:
    """The Python function that is run when something is called."""
    for _ in range(DEEPEST):
        if isinstance(thing, FunctionType):
            return thing
        if isinstance(thing, MethodType):
            thing = thing.__func__
        elif hasattr(thing, "__wrapped__"):  # functools.cache
            thing = thing.__wrapped__
        else:
            kinds = (vars(kind) for kind in type(thing).__mro__)
            thing = next((kind["__call__"] for kind in kinds if "__call__" in kind), None)
    return None


class CodeReader:
    """Reads a function, and those of its module that it uses, each once."""

    def __init__(self, module: dict[str, Any]) -> None:
        self.module = module
        self.seen: list[CodeType] = []

    def read(self, function: FunctionType, given: object = ()) -> Iterator[str]:
        """The parts of a function, and of arguments that are given already."""
        code = function.__code__
        if code in self.seen:
            yield f"again {self.seen.index(code)}"
            return
        self.seen.append(code)
        yield from self._code(code, function.__doc__)
        yield self.text(function.__defaults__)
        yield self.text(function.__kwdefaults__)
        yield self.text(given)
        for cell in function.__closure__ or ():
            try:
                yield self.text(cell.cell_contents)
            except ValueError:  # not filled yet
                yield "empty"
        for name in sorted(_names(code)):
            yield f"{name}: {self.text(function.__globals__.get(name))}"

    def _code(self, code: CodeType, doc: str | None) -> Iterator[str]:
        yield code.co_code.hex()
        yield repr((code.co_names, code.co_argcount, code.co_kwonlyargcount, code.co_flags))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from self._code(constant, None)
            elif constant is None or constant is not doc:
                yield self.text(constant)

    def text(self, value: object, depth: int = 0) -> str:
        """A value as text that is the same in every process; of strange things only the kind."""
        if depth > DEEPEST:
            return "…"
        if isinstance(value, FunctionType) and value.__globals__ is self.module:
            return "\n".join(self.read(value))
        if isinstance(value, Mapping):
            return "{" + ", ".join(sorted(self._texts(value.items(), depth))) + "}"
        if isinstance(value, set | frozenset):
            return "{" + ", ".join(sorted(self._texts(value, depth))) + "}"
        if isinstance(value, tuple | list):
            return "(" + ", ".join(self._texts(value, depth)) + ")"
        if isinstance(value, np.ndarray | np.generic):
            return repr(observation_key(value))
        if isinstance(value, str | bytes | int | float | complex) or value is None:
            return repr(value)
        return type(value).__qualname__

    def _texts(self, values: Any, depth: int) -> Iterator[str]:
        return (self.text(value, depth + 1) for value in values)


def _names(code: CodeType) -> set[str]:
    """The names that a function may use of its module, those of functions inside it included."""
    inside = (one for one in code.co_consts if isinstance(one, CodeType))
    return set(code.co_names).union(*map(_names, inside))
