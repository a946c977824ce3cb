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


def parse_examples(given: Examples, events: Iterable[str]) -> tuple[Example, ...]:
    """Read examples as a user gives them, and check the names of their events.

    Args:
        given: A mapping with sequences to ``"accept"`` and to ``"reject"``, or objects of the class
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
    if given is None:
        return ()
    known = list(events)
    if isinstance(given, Mapping):
        return _check_consistency(tuple(_parse_mapping(given, known)))
    if isinstance(given, Iterable) and not isinstance(given, str):
        found = tuple(given)
        if all(isinstance(example, Example) for example in found):
            for example in found:
                _parse_word(example.word, known)
            return _check_consistency(found)
    raise InvalidArgumentError(
        f"examples are sequences of events that must be accepted or rejected, not {shorten(given)}",
        fix='examples={"accept": ["mail person"], "reject": ["person"]}',
    )


def _check_consistency(examples: tuple[Example, ...]) -> tuple[Example, ...]:
    verdicts: dict[tuple[str, ...], bool] = {}
    for example in examples:
        if verdicts.setdefault(example.word, example.accepted) != example.accepted:
            raise InvalidArgumentError(f"the sequence {example} is both to accept and to reject")
    return examples


def _parse_mapping(given: Mapping[str, object], known: list[str]) -> Iterator[Example]:
    for name in given:
        if name not in (*KINDS, "held_out"):
            raise InvalidArgumentError(
                f'examples have the keys "accept", "reject" and "held_out", not {shorten(name)}'
            )
    held_out = given.get("held_out")
    for kind, accepted in KINDS.items():
        for index, word in enumerate(_check_list(given.get(kind))):
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


def _check_list(given: object) -> Iterable[object]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArgumentError(
            f"examples are a list of sequences, not {shorten(given)}", fix='["mail person"]'
        )
    return given


def _parse_word(given: object, known: list[str]) -> tuple[str, ...]:
    if not isinstance(given, Iterable):
        raise InvalidArgumentError(
            f"an example is a sequence of events, not {shorten(given)}", fix='"mail person"'
        )
    names = tuple(given.split()) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in known:
            unknown = UnknownNameError.of("event", name, known)
            raise InvalidArgumentError(f"an example has {unknown.message}", fix=unknown.fix)
    return names
