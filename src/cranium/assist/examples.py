"""Event sequences that a task must accept or reject; some are held back from the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cranium.errors import InvalidArgumentError, UnknownNameError, shorten

__all__ = ["Example", "as_examples"]


@dataclass(frozen=True, slots=True)
class Example:
    """A sequence of events, and whether the task must accept it.

    Attributes:
        word: The names of the events, in order.
        accepted: Whether it must be accepted.
        held_back: Whether the model may not see it: it only checks the answer.

    Example:
        >>> str(Example(("mail", "person"), accepted=True))
        'mail person'
    """

    word: tuple[str, ...]
    accepted: bool
    held_back: bool = False

    def __str__(self) -> str:
        return " ".join(self.word) or "(nothing)"


def as_examples(given: Any, events: Iterable[str]) -> tuple[Example, ...]:
    """Examples as they are given: sequences that must be accepted, and rejected.

    Without a word about it, every second one of each kind is held back, the first one never: what a
    model is shown it can fit without having understood.

    Example:
        >>> found = as_examples({"accept": ["a b", "a a b b"], "reject": ["b"]}, ["a", "b"])
        >>> [(str(one), one.accepted, one.held_back) for one in found]
        [('a b', True, False), ('a a b b', True, True), ('b', False, False)]
        >>> as_examples({"accept": ["a c"]}, ["a", "b"])
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: an example has no such event: 'c'
          fix: known: a, b
    """
    if given is None:
        return ()
    known = list(events)
    if isinstance(given, Mapping):
        return _checked(tuple(_listed(given, known)))
    if isinstance(given, Iterable) and not isinstance(given, str):
        found = list(given)
        if all(isinstance(one, Example) for one in found):
            for one in found:
                _word(one.word, known)
            return _checked(tuple(found))
    raise InvalidArgumentError(
        f"examples are sequences of events that must be accepted or rejected, not {shorten(given)}",
        fix='examples={"accept": ["mail person"], "reject": ["person"]}',
    )


def _checked(examples: tuple[Example, ...]) -> tuple[Example, ...]:
    wanted: dict[tuple[str, ...], bool] = {}
    for one in examples:
        if wanted.setdefault(one.word, one.accepted) != one.accepted:
            raise InvalidArgumentError(f"the sequence {one} is to be accepted, and to be rejected")
    return examples


KEYS = {"accept": True, "reject": False}


def _listed(given: Mapping[str, Any], known: list[str]) -> Iterable[Example]:
    held = given.get("held_back")
    for name in given:
        if name not in (*KEYS, "held_back"):
            raise InvalidArgumentError(
                f"examples are to accept or to reject, or are held_back, not {shorten(name)}"
            )
    for key, accepted in KEYS.items():
        for index, word in enumerate(_several(given.get(key))):
            apart = held is None and index % 2 == 1
            yield Example(_word(word, known), accepted, held_back=apart)
    if held is not None and not isinstance(held, Mapping):
        raise InvalidArgumentError(
            f"what is held back is to accept or to reject, not {shorten(held)}"
        )
    for key in held or {}:
        if key not in KEYS:
            raise InvalidArgumentError(f"what is held back is to accept or to reject, not {key!r}")
    for key, accepted in KEYS.items():
        for word in _several((held or {}).get(key)):
            yield Example(_word(word, known), accepted, held_back=True)


def _several(given: Any) -> Iterable[Any]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArgumentError(
            f"examples are a list of sequences, not {shorten(given)}", fix='["mail person"]'
        )
    return given


def _word(given: Any, known: list[str]) -> tuple[str, ...]:
    names = tuple(given.split()) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in known:
            unknown = UnknownNameError.of("event", name, known)
            raise InvalidArgumentError(f"an example has {unknown.message}", fix=unknown.fix)
    return names
