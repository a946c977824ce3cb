"""Digests of what a user wrote: code and values, the same in every process."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

from cranium.learners.code_digest import CodeReader

__all__ = ["digest_of", "is_own_code"]

LIBRARIES = frozenset({"builtins", "cranium", "gymnasium", "numpy", "stable_baselines3", "torch"})
"""Packages whose names stand for their code: their versions are in the records."""
SKIPPED = frozenset(
    {
        *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__slots__"),
        *("__firstlineno__", "__static_attributes__", "__match_args__", "__parameters__"),
        *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"),
        *("__abstractmethods__", "_abc_impl", "__orig_bases__", "__protocol_attrs__"),
        *("__dataclass_fields__", "__dataclass_params__", "__non_callable_proto_members__"),
        *("_is_protocol", "_is_runtime_protocol", "__slotnames__"),  # the last one is pickle's
    }
)
"""Attributes of classes that say nothing of what they do."""


def digest_of(thing: object) -> str:
    """A digest of a function, a class or an object: its code, and the values that it holds.

    Functions and classes of the same file or folder that it uses are part of it. Names of
    functions, comments and docstrings are not.

    Example:
        >>> import functools
        >>> one, two = functools.partial(range, 1), functools.partial(range, 2)
        >>> digest_of(one) == digest_of(two)
        False
    """
    inner = thing
    while isinstance(inner, functools.partial):
        inner = inner.func
    has_code = isinstance(inner, type | FunctionType | MethodType)
    reader = _OwnReader(str((inner if has_code else type(inner)).__module__))
    return hashlib.sha256(reader.text(thing).encode()).hexdigest()[:16]


def is_own_code(thing: object) -> bool:
    """Whether something is neither ours nor of a library that we know.

    Example:
        >>> is_own_code(dict), is_own_code(digest_of)
        (False, False)
    """
    module = getattr(thing, "__module__", None) or type(thing).__module__
    return str(module).partition(".")[0] not in LIBRARIES


class _OwnReader(CodeReader):
    """Reads functions, classes and objects of a user's, which may stand in several files."""

    def __init__(self, module: str) -> None:
        super().__init__({})
        self.top, self.folder = module.partition(".")[0], _folder_of(module)
        self.known: list[object] = []

    def _is_near(self, module: str) -> bool:
        """Whether a module is in the package or in the folder of the one that we began with."""
        top = module.partition(".")[0]
        if top in LIBRARIES:
            return False
        return top == self.top or (self.folder is not None and self.folder == _folder_of(module))

    def text(self, value: object, depth: int = 0) -> str:
        """A value as text."""
        parts = _parts_of(value)
        if parts is not None:
            return self.text(parts, depth)
        if isinstance(value, FunctionType | type):
            if not self._is_near(str(value.__module__)):
                return f"{value.__module__}.{value.__qualname__}"
            if isinstance(value, FunctionType):
                return "\n".join(self.read(value))
            return self._once(value, self._class)
        if isinstance(value, ModuleType):
            return value.__name__ if not self._is_near(value.__name__) else self._module(value)
        kind = type(value)
        if is_dataclass(value) or self._is_near(kind.__module__):
            state = getattr(value, "__dict__", {})
            return self._once(value, lambda _: [self.text(kind), self.text(state, depth + 1)])
        found = super().text(value, depth)
        return f"{kind.__module__}.{found}" if found == kind.__qualname__ else found

    def _once(self, value: Any, read: Any) -> str:
        """What is read already is not read again, so that circles end."""
        for number, each in enumerate(self.known):
            if each is value:
                return f"known {number}"
        self.known.append(value)
        return "\n".join(read(value))

    def _class(self, kind: type) -> Iterator[str]:
        yield kind.__qualname__
        for base in kind.__mro__[:-1]:
            if not self._is_near(base.__module__):
                yield f"{base.__module__}.{base.__qualname__}"
                continue
            for name, member in sorted(vars(base).items()):
                if name not in SKIPPED:
                    yield f"{name}: {self.text(member)}"

    def _module(self, module: ModuleType) -> str:
        def read(_: object) -> Iterator[str]:
            for name, member in sorted(vars(module).items()):
                if getattr(member, "__module__", None) == module.__name__:
                    yield f"{name}: {self.text(member)}"

        return self._once(module, read)


def _parts_of(value: object) -> list[object] | None:
    """What stands behind a descriptor, a bound method or a function with arguments."""
    match value:
        case functools.partial():
            return [value.func, value.args, value.keywords]
        case MethodType():
            return [value.__func__, value.__self__]
        case property():
            return [value.fget, value.fset, value.fdel]
        case staticmethod() | classmethod():
            return [value.__func__]
        case functools.cached_property():
            return [value.func]
    return None


def _folder_of(module: str) -> Path | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return None if file is None else Path(file).resolve().parent
