"""Descriptions of languages in plain English."""

from __future__ import annotations

from cranium.languages.parser import as_language
from cranium.languages.syntax import (
    Both,
    Choice,
    Expression,
    Language,
    Letter,
    Power,
    Repeat,
    Sequence,
    Shuffle,
    walk,
)

__all__ = ["describe"]

_TIMES = {1: "once", 2: "twice"}
_MORE = {1: "one or more times", 0: "any number of times"}
_AS_OFTEN = {
    1: "as many times",
    2: "twice as many times",
    3: "three times as many times",
}
_SIGNS = {">": "more than", "<": "less than", ">=": "at least", "<=": "at most", "==": "equal to"}


def describe(language: str | Language) -> str:
    """Describe in English what a language asks for.

    An exponent is described by its first occurrence ("as many times as A") if that is unambiguous,
    and otherwise by its name.

    Example:
        >>> print(describe("A^N B C^N never D"))
        read A one or more times, then B once, then C as many times as A; D must never happen
        >>> print(describe("(mail | parcel)^N office^2N"))
        read (either mail or parcel) N times, then office 2N times; N is 1 or more
    """
    language = as_language(language)
    writer = _Writer(language)
    clauses = [f"read {writer.say(language.expression)}"]
    for name in language.variables:
        if name in writer.named:
            clauses.append(f"{name} is {_number_of(*language.bounds(name))}")
    for constraint in language.constraints:
        if isinstance(constraint.right, str):
            clauses.append(f"{constraint.left} is {_SIGNS[constraint.sign]} {constraint.right}")
    if language.never:
        clauses.append(f"{_list_names(language.never)} must never happen")
    clauses += [f"{name} means {formula}" for name, formula in language.bindings]
    return "; ".join(clauses)


class _Writer:
    """Writes an expression. ``named`` holds the exponents that are described by their names."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.first: dict[int, str] = {}
        compared = {
            name
            for constraint in language.constraints
            if isinstance(constraint.right, str)
            for name in (constraint.left, constraint.right)
        }
        occurrences = _occurrences(language.expression, ())
        self.named = {
            name
            for name in language.variables
            if name in compared or not self._is_clear([o for o in occurrences if o[0] == name])
        }

    def _is_clear(self, occurrences: list[_Occurrence]) -> bool:
        """Whether "as many times as A" describes an exponent: A occurs once, and earlier."""
        letters = [n.name for n in walk(self.language.expression) if isinstance(n, Letter)]
        defined: list[tuple[_Branches, str]] = []
        for index, (name, power, branches) in enumerate(occurrences):
            exponent = power.exponent
            if len(exponent.factors) > 1 or exponent.constant or _REPEATED in branches:
                return False
            before = [other for _, _, other in occurrences[:index] if _compatible(other, branches)]
            known = [letter for other, letter in defined if branches[: len(other)] == other]
            if before and (not known or dict(exponent.factors)[name] not in _AS_OFTEN):
                return False
            if before:
                self.first[id(power)] = known[-1]
                continue
            if dict(exponent.factors)[name] > 1:
                return False
            if isinstance(power.body, Letter) and letters.count(power.body.name) == 1:
                defined.append((branches, power.body.name))
        return True

    def say(self, node: Expression) -> str:
        match node:
            case Letter(name=name):
                return f"{name} once"
            case Sequence(parts=parts):
                return ", then ".join(self._member(part) for part in parts) or "nothing"
            case Choice(parts=parts):
                return f"either {' or '.join(map(self._group, parts))}"
            case Shuffle(parts=parts):
                return "in any order, side by side: " + " and ".join(map(self._group, parts))
            case Both(parts=parts):
                return "what is both " + " and ".join(map(self._group, parts))
            case Repeat(body=body, low=low, high=high):
                return f"{self._group(body)} {_how_often(low, high)}"
            case Power(body=body):
                return f"{self._group(body)} {self._times(node)}"
        raise AssertionError(node)

    def _member(self, node: Expression) -> str:
        apart = isinstance(node, Choice | Shuffle | Both)
        return f"({self.say(node)})" if apart else self.say(node)

    def _group(self, node: Expression) -> str:
        return node.name if isinstance(node, Letter) else f"({self.say(node)})"

    def _times(self, node: Power) -> str:
        names = [name for name, _ in node.exponent.factors]
        if self.named & set(names):
            self.named |= set(names)
            return f"{node.exponent} times"
        if (known := self.first.get(id(node))) is not None:
            return f"{_AS_OFTEN[node.exponent.factors[0][1]]} as {known}"
        return _how_often(*self.language.bounds(names[0]))


_Branches = tuple[tuple[int, int], ...]
"""The index of the alternative at each choice around an occurrence."""
_Occurrence = tuple[str, Power, _Branches]
_REPEATED = (-1, -1)


def _occurrences(node: Expression, branches: _Branches) -> list[_Occurrence]:
    match node:
        case Letter():
            return []
        case Power(body=body, exponent=exponent):
            own = [(name, node, branches) for name, _ in exponent.factors]
            return own + _occurrences(body, (*branches, _REPEATED))
        case Repeat(body=body, low=0, high=1):
            return _occurrences(body, (*branches, (id(node), 0)))
        case Repeat(body=body):
            return _occurrences(body, (*branches, _REPEATED))
        case Choice(parts=parts):
            return [
                found
                for index, part in enumerate(parts)
                for found in _occurrences(part, (*branches, (id(node), index)))
            ]
    return [found for part in node.parts for found in _occurrences(part, branches)]


def _compatible(one: _Branches, other: _Branches) -> bool:
    """Whether both can occur in one word: they are not in different alternatives of a choice."""
    taken = dict(one)
    return all(taken.get(choice, index) == index for choice, index in other)


def _how_often(low: int, high: int | None) -> str:
    if low == high:
        return _TIMES.get(low, f"{low} times")
    if high is None:
        return _MORE.get(low, f"{low} or more times")
    return "at most once" if (low, high) == (0, 1) else f"{low} to {high} times"


def _number_of(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} or more"
    return str(low) if low == high else f"from {low} to {high}"


def _list_names(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
