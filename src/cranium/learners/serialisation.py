"""Convert spaces, encodings, observations and configurations to plain data for files, and back.

A file may be damaged or hostile. Sizes, types and depths are therefore checked before objects are
made. Invalid data raises ``ValueError`` or a similar error, which the reader of the file turns into
a ``CraniumError``.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding, DictEncoding, Encoding, TabularEncoding
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.errors import WorldError, shorten
from cranium.worlds.protocols import Observation

__all__ = [
    "array_from",
    "clip_from",
    "configurations_from",
    "encoding_data",
    "encoding_from",
    "limit_from",
    "observation_data",
    "observation_from",
    "space_data",
    "space_from",
    "whole",
]

DEEPEST = 20
"""The greatest depth of nested spaces and observations."""
GREATEST = 2**62
MOST_NUMBERS = 1 << 20
"""The greatest number of numbers in an observation."""
MOST_CLIP = 100_000
"""The greatest ``clip`` of one-hot counters."""


def whole(value: object, *, least: int = -GREATEST, most: int = GREATEST) -> int:
    """Check that a value is a whole number within bounds, and return it.

    Example:
        >>> whole(3, least=1)
        3
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{shorten(value)} where a whole number is expected")
    return value


def limit_from(value: object) -> int | None:
    """Check a counter limit: a whole number, or None.

    Example:
        >>> limit_from(None), limit_from(5)
        (None, 5)
    """
    return None if value is None else whole(value, least=0)


def clip_from(value: object) -> int:
    """Check the ``clip`` of an encoding.

    Example:
        >>> clip_from(10)
        10
    """
    return whole(value, least=1, most=MOST_CLIP)


def array_from(values: object, kind: object) -> NDArray[Any]:
    """An array of numbers, of a dtype that can hold them.

    Example:
        >>> array_from([1, 2], "uint8")
        array([1, 2], dtype=uint8)
    """
    dtype = np.dtype(kind if isinstance(kind, str) else "object")
    if dtype.kind not in "biuf":
        raise ValueError(f"numbers of the dtype {shorten(kind)}")
    found = np.array(values)
    if found.size == 0:
        found = found.astype(dtype)
    if found.dtype.kind not in "biuf" or found.size > MOST_NUMBERS:
        raise ValueError(f"{shorten(values)} where numbers are expected")
    with np.errstate(all="ignore"):
        cast = found.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(cast, found):
        raise ValueError(f"{shorten(values)} as numbers of the dtype {dtype}")
    return cast


def space_data(space: spaces.Space[Any]) -> dict[str, Any]:
    """A space of observations as plain data.

    Example:
        >>> space_data(spaces.Discrete(4))
        {'discrete': [4, 0]}
    """
    if isinstance(space, spaces.Discrete):
        return {"discrete": [int(space.n), int(space.start)]}
    if isinstance(space, spaces.MultiDiscrete):
        return {"multi": [space.nvec.tolist(), space.start.tolist()], "dtype": str(space.dtype)}
    if isinstance(space, spaces.MultiBinary):
        return {"binary": np.asarray(space.n).tolist()}
    if isinstance(space, spaces.Box):
        bounds = [np.ravel(bound).tolist() for bound in (space.low, space.high)]
        return {"box": bounds, "shape": list(space.shape), "dtype": str(space.dtype)}
    if isinstance(space, spaces.Tuple):
        return {"tuple": [space_data(one) for one in space.spaces]}
    if isinstance(space, spaces.Dict):
        return {"dict": [[name, space_data(one)] for name, one in space.spaces.items()]}
    raise WorldError(f"a policy for observations in {space} cannot be written")


def space_from(data: object, depth: int = 0) -> spaces.Space[Any]:
    """The space that plain data describes.

    Example:
        >>> space_from({"discrete": [4, 0]})
        Discrete(4)
    """
    if not isinstance(data, dict) or depth > DEEPEST:
        raise ValueError(f"{shorten(data)} where a space is expected")
    try:
        return _space_from(data, depth)
    except AssertionError as problem:  # how Gymnasium refuses what is no space
        raise ValueError(f"no space: {shorten(str(problem))}") from None


def _space_from(data: dict[str, Any], depth: int) -> spaces.Space[Any]:
    if "discrete" in data:
        size, first = data["discrete"]
        return spaces.Discrete(whole(size, least=1), start=whole(first))
    if "multi" in data:
        sizes, start = (array_from(one, data["dtype"]) for one in data["multi"])
        if sizes.dtype.kind not in "iu" or (sizes < 1).any():
            raise ValueError(f"sizes {shorten(data['multi'])}")
        return spaces.MultiDiscrete(sizes, dtype=sizes.dtype.type, start=start)
    if "binary" in data:
        return spaces.MultiBinary(_sizes(data["binary"]))
    if "box" in data:
        shape = [whole(size, least=0) for size in data["shape"]]
        low, high = (array_from(one, data["dtype"]).reshape(shape) for one in data["box"])
        return spaces.Box(low, high, dtype=low.dtype.type)
    if "tuple" in data:
        return spaces.Tuple([space_from(one, depth + 1) for one in data["tuple"]])
    # The keys of a plain dictionary would be sorted, and the features would change their order.
    parts = OrderedDict((name, space_from(one, depth + 1)) for name, one in data["dict"])
    if not all(isinstance(name, str) for name in parts):
        raise ValueError("keys that are not names")
    return spaces.Dict(parts)


def _sizes(data: Any) -> Any:
    sizes = [whole(size, least=1) for size in (data if isinstance(data, list) else [data])]
    if math.prod(sizes) > MOST_NUMBERS:
        raise ValueError(f"{shorten(data)} numbers")
    return sizes if isinstance(data, list) else sizes[0]


def observation_data(seen: Observation) -> object:
    """An observation as plain data.

    Example:
        >>> observation_data((np.int64(3), np.array([1, 2])))
        {'tuple': [3, {'array': [1, 2], 'dtype': 'int64'}]}
    """
    if isinstance(seen, np.ndarray):
        return {"array": seen.tolist(), "dtype": str(seen.dtype)}
    if isinstance(seen, tuple | list):
        return {"tuple": [observation_data(part) for part in seen]}
    if isinstance(seen, Mapping):
        return {"dict": {str(name): observation_data(part) for name, part in seen.items()}}
    return seen.item() if isinstance(seen, np.generic) else seen


def observation_from(data: object, depth: int = 0) -> Observation:
    """The observation that plain data describes.

    Example:
        >>> observation_from({"tuple": [3, {"array": [1, 2], "dtype": "int8"}]})
        (3, array([1, 2], dtype=int8))
    """
    if isinstance(data, str | int | float) or data is None:
        return data
    if not isinstance(data, dict) or depth > DEEPEST:
        raise ValueError(f"{shorten(data)} where an observation is expected")
    if "array" in data:
        return _array_of(data["array"], data["dtype"])
    if "tuple" in data:
        return tuple(observation_from(part, depth + 1) for part in data["tuple"])
    return {name: observation_from(part, depth + 1) for name, part in data["dict"].items()}


def _array_of(values: object, kind: object) -> NDArray[Any]:
    if isinstance(kind, str) and kind.startswith(("<U", ">U")):  # names: as long as they are
        names = np.array(values)
        if names.dtype.kind == "U":
            return names
    return array_from(values, kind)


def configurations_from(data: object) -> tuple[Configuration, ...]:
    """Configurations from pairs of a state and its counters.

    Example:
        >>> configurations_from([["counting", [2]]])
        (Configuration(state='counting', counters=(2,)),)
    """
    if not isinstance(data, list):
        raise TypeError(f"{shorten(data)} where configurations are expected")
    found = tuple(
        Configuration(state, tuple(whole(c, least=-1) for c in counters))
        for state, counters in data
    )
    if not all(isinstance(x.state, str) for x in found):
        raise ValueError("states that are not names")
    return found


def encoding_data(encoding: Encoding | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The encoding of a product as plain data; None for a ``DictEncoding``, or one of your own.

    Example:
        >>> encoding_data(DictEncoding()) is None
        True
    """
    if type(encoding) is BoxEncoding:
        shown = {"counters": encoding.counters, "clip": encoding.clip, "cells": encoding.cells}
        return {"box": shown, "limit": encoding.counter_limit}
    if type(encoding) is TabularEncoding:
        return {"table": {}, "limit": encoding.counter_limit}
    return dict(encoding) if isinstance(encoding, Mapping) else None


def encoding_from(
    data: Mapping[str, Any], space: spaces.Space[Any], automaton: CountingRewardAutomaton
) -> Encoding:
    """The encoding that plain data describes, for a space and a machine.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> encoding_from({"table": {}, "limit": 2}, spaces.Discrete(4), machine).space
        Discrete(40)
    """
    encoding: Encoding
    if "box" in data:
        told = data["box"]
        if spaces.flatdim(space) > MOST_NUMBERS:
            raise ValueError(f"{spaces.flatdim(space):,} features")
        clip = clip_from(told["clip"])
        encoding = BoxEncoding(told["counters"], clip=clip, cells=told["cells"])
    elif "table" in data:
        encoding = TabularEncoding()
    else:
        encoding = DictEncoding()
    encoding.bind(space, automaton, limit_from(data["limit"]))
    return encoding
