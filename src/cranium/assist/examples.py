"""Sequences of events that a task must accept or reject. Some are held out from the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cranium.errors import InvalidArgumentError, UnknownNameError, shorten

__all__ = ["Example", "Examples", "parse_examples"]


@dataclass(frozen=True, slots=True)
class Example:
    """A sequence of events, and whether the task must accept it.

    Attributes:
        word: The names of the events, in order.
        accepted: Whether the sequence must be accepted.
        held_out: Whether it is only used to check answers, and not shown to the model.

    Example:
        >>> str(Example(("mail", "person"), accepted=True))
        'mail person'
    """

    word: tuple[str, ...]
    accepted: bool
    held_out: bool = False

    def __str__(self) -> str:
        return " ".join(self.word) or "(nothing)"


Examples = Mapping[str, object] | Iterable[Example] | None
"""Examples as a user gives them: see :func:`parse_examples`."""
KINDS = {"accept": True, "reject": False}


def parse_examples(data: Examples, events: Iterable[str]) -> tuple[Example, ...]:
    """Read examples as a user gives them, and check the names of their events.

    Args:
        data: A mapping with sequences to ``"accept"`` and to ``"reject"``, or objects of the class
            :class:`Example`. Every second sequence of each kind in a mapping is held out. The key
            ``"held_out"``, with a mapping of the same form, names those to be held out instead.
        events: The names of the events.

    Example:
        >>> found = parse_examples({"accept": ["a b", "a a b b"], "reject": ["b"]}, ["a", "b"])
        >>> [(str(example), example.accepted, example.held_out) for example in found]
        [('a b', True, False), ('a a b b', True, True), ('b', False, False)]
        >>> parse_examples({"accept": ["a c"]}, ["a", "b"])
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: an example has no such event: 'c'
          fix: known: a, b
    """
    if data is None:
        return ()
    known = list(events)
    if isinstance(data, Mapping):
        return _check_consistency(tuple(_parse_mapping(data, known)))
    if isinstance(data, Iterable) and not isinstance(data, str):
        found = tuple(data)
        if all(isinstance(example, Example) for example in found):
            for example in found:
                _parse_word(example.word, known)
            return _check_consistency(found)
    raise InvalidArgumentError(
        f"examples are sequences of events that must be accepted or rejected, not {shorten(data)}",
        fix='examples={"accept": ["mail person"], "reject": ["person"]}',
    )


def _check_consistency(examples: tuple[Example, ...]) -> tuple[Example, ...]:
    verdicts: dict[tuple[str, ...], bool] = {}
    for example in examples:
        if verdicts.setdefault(example.word, example.accepted) != example.accepted:
            raise InvalidArgumentError(f"the sequence {example} is both to accept and to reject")
    return examples


def _parse_mapping(data: Mapping[str, object], known: list[str]) -> Iterator[Example]:
    for name in data:
        if name not in (*KINDS, "held_out"):
            raise InvalidArgumentError(
                f'examples have the keys "accept", "reject" and "held_out", not {shorten(name)}'
            )
    held_out = data.get("held_out")
    for kind, accepted in KINDS.items():
        for index, word in enumerate(_check_list(data.get(kind))):
            # A model can fit what it is shown without understanding the task.
            is_held_out = held_out is None and index % 2 == 1
            yield Example(_parse_word(word, known), accepted, is_held_out)
    if held_out is None:
        return
    if not isinstance(held_out, Mapping) or not set(held_out) <= set(KINDS):
        raise InvalidArgumentError(
            f'held_out has the keys "accept" and "reject", not {shorten(held_out)}'
        )
    for kind, accepted in KINDS.items():
        for word in _check_list(held_out.get(kind)):
            yield Example(_parse_word(word, known), accepted, held_out=True)


def _check_list(data: object) -> Iterable[object]:
    if data is None:
        return ()
    if isinstance(data, str) or not isinstance(data, Iterable):
        raise InvalidArgumentError(
            f"examples are a list of sequences, not {shorten(data)}", fix='["mail person"]'
        )
    return data


def _parse_word(data: object, known: list[str]) -> tuple[str, ...]:
    if not isinstance(data, Iterable):
        raise InvalidArgumentError(
            f"an example is a sequence of events, not {shorten(data)}", fix='"mail person"'
        )
    names = tuple(data.split()) if isinstance(data, str) else tuple(data)
    for name in names:
        if name not in known:
            unknown = UnknownNameError.of("event", name, known)
            raise InvalidArgumentError(f"an example has {unknown.message}", fix=unknown.fix)
    return names
