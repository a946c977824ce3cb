"""What nobody would write: texts, documents and arrays in which something is replaced.

Shared by the tests of hostile input (tests/laws) and by benchmarks/fuzz.py.
"""

from __future__ import annotations

import copy
import io
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

SNIPPETS = [
    "{", "}", "[", "]", ":", "- ", "&a ", "*a", "!!", "|", ">", "#", "'", '"', "\\", "\n", "\t", "\x00",
    "\ud800", "é", "0", "-1", "1e999", "true", "null", "~", "from", "to", "if", "add", "n > 0", "n == 0",
    "silent: true", "reward: x", "(", ")", "!", "¬", "∧", "and", "or", "not", "A", "é́", "\u2028", "%", "---", "? ",
    "9" * 5000, "0x" + "f" * 5000,
]  # fmt: skip
"""For texts: machines, formulas, languages, words."""

NESTED = {"@list": ("[", "]"), "@dict": ('{"a":', "}"), "@space": ('{"tuple":[', "]}")}
DEPTHS = (100, 330, 20_000)
NASTY: list[Any] = [
    float("inf"), float("-inf"), float("nan"), -1, 0, 1, -0.5, 1e308, 1e-320, 2**31, 2**63, 10**12, 10**30,
    10**400, -(10**30), True, False, None, "", "x", "1e999", "float64", "object", "V1000000000", "U99999999",
    "\ud800", "é" * 300, [], {}, [[]], [1e999], [10**12], [-1], ["x"], {"array": [1], "dtype": "V99999999"},
    {"array": [1e999], "dtype": "int8"}, {"tuple": []}, {"dict": {}}, {"discrete": [10**12, 0]},
    {"discrete": [-1, 0]}, {"binary": 10**12}, {"binary": [10**6, 10**6]}, {"multi": [[0], [0]], "dtype": "int8"},
    {"box": [[0], [1]], "shape": [10**12], "dtype": "float32"}, {"box": [[5], [1]], "shape": [1], "dtype": "uint8"},
    {"dict": [[1, {"discrete": [2, 0]}]]}, [[1, [2]]], {"box": {"counters": "raw", "clip": 10**12, "cells": "joint"}},
    list(range(300)), "@digits", *(f"{name}{depth}" for name in NESTED for depth in DEPTHS),
]  # fmt: skip
"""For documents; a name of NESTED and a depth stand for that much nesting, "@digits" for a number
of so many digits that Python does not read it."""


def write_document(document: Any) -> str:
    """A document as JSON; what Python could not write is put in as text."""
    text = json.dumps(document).replace('"@digits"', "9" * 5000)
    for name, (left, right) in NESTED.items():
        for depth in DEPTHS:
            text = text.replace(f'"{name}{depth}"', left * depth + "1" + right * depth)
    return text


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document; of long lists only the first ones."""
    if path:
        yield path
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in list(inner)[:40]:
            yield from places(one, (*path, key))


def mutate_document(document: Any, rng: random.Random) -> Any:
    """A document in which some values are replaced, left out, or added."""
    if rng.random() < 0.01:
        return rng.choice(NASTY)
    changed, known = copy.deepcopy(document), list(places(document))
    for path in rng.sample(known, min(rng.choice([1, 1, 1, 2, 3]), len(known))):
        holder = changed
        try:
            for key in path[:-1]:
                holder = holder[key]
            old = holder[path[-1]]
        except (LookupError, TypeError):
            continue  # what was there has been replaced
        if not isinstance(holder, dict | list) or any(holder is one for one in NASTY):
            continue
        match rng.randrange(6):
            case 0:
                del holder[path[-1]]
            case 1 if isinstance(holder, list):
                holder.append(rng.choice([*NASTY, old]))
            case 2 if isinstance(holder, dict):
                holder[rng.choice([*holder, "box", "dict", "limit"])] = old
            case _:
                holder[path[-1]] = rng.choice(NASTY)
    return changed


def mutate_array(array: np.ndarray[Any, Any], rng: random.Random) -> np.ndarray[Any, Any]:
    """An array of another dtype, shape or content."""
    match rng.randrange(6):
        case 0:
            return array.astype(rng.choice([np.float16, np.int8, np.complex64, np.str_, "S3"]))
        case 1:
            return array.ravel()[: rng.randrange(array.size + 1)]
        case 2:
            return np.full_like(
                array, rng.choice([np.nan, np.inf, -1]) if array.dtype.kind == "f" else 0
            )
        case 3:
            return array[None]
        case 4:
            return np.array(rng.choice([0, 1.5, "x"]))
        case _:
            return array.T


def pack_policy(about: Any, arrays: Mapping[str, Any]) -> bytes:
    """A policy file with a description and arrays."""
    stream = io.BytesIO()
    contents: dict[str, Any] = {"about": np.array(write_document(about)), **arrays}
    np.savez(stream, **contents)
    return stream.getvalue()


def mutate_text(
    text: str,
    rng: random.Random,
    snippets: Sequence[str] = SNIPPETS,
    repeats: Sequence[int] = (1, 1, 1, 3),
) -> str:
    """A text in which some pieces are replaced by others, or by pieces of its own."""
    for _ in range(rng.choice([1, 1, 2, 3, 4])):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 0, 1, 2, 5, 20]))
        piece = rng.choice([rng.choice(snippets), text[rng.randrange(len(text) + 1) :][:10], ""])
        text = text[:start] + piece * rng.choice(repeats) + text[end:]
    return text


def mutate_bytes(content: bytes, rng: random.Random) -> bytes:
    """Bytes of which a few are replaced, left out or added."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 5)):
        where = rng.randrange(len(changed) + 1)
        changed[where : where + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    return bytes(changed)
