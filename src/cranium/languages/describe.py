"""A language in plain English, so that people see what they asked for."""

from __future__ import annotations

from cranium.languages.syntax import (
    Both,
    Choice,
    Expression,
    Language,
    Letter,
    Linear,
    Power,
    Repeat,
    Sequence,
    Shuffle,
    variables_of,
)

__all__ = ["describe"]

_TIMES = {1: "once", 2: "twice"}
_MORE = {1: "one or more times", 0: "any number of times"}
_AS_OFTEN = {2: "twice as many times", 3: "three times as many times"}
_SIGNS = {">": "more than", "<": "less than", ">=": "at least", "<=": "at most", "==": "equal to"}


def describe(language: Language) -> str:
    """Say in English what a language asks for.

    Example:
        >>> from cranium.languages import parse_language
        >>> print(describe(parse_language("A^N B C^N never D")))
        read A one or more times, then B once, then C as many times as A; D must never happen
        >>> print(describe(parse_language("(mail | parcel)^N office^2N")))
        read (either mail or parcel) one or more times, then office twice as many times as that
    """
    writer = _Writer(language)
    clauses = [f"read {writer.say(language.expression)}"]
    for constraint in language.constraints:
        if isinstance(constraint.right, str):
            clauses.append(_compared(constraint.left, constraint.sign, constraint.right))
    if language.never:
        clauses.append(f"{_listed(language.never, 'and')} must never happen")
    clauses += [f"{name} means {formula}" for name, formula in language.bindings]
    return "; ".join(clauses)


def _compared(one: str, sign: str, other: str) -> str:
    return f"{one} is {_SIGNS[sign]} {other}"


class _Writer:
    def __init__(self, language: Language) -> None:
        self.language = language
        self.what: dict[str, str] = {}

    def say(self, node: Expression) -> str:
        match node:
            case Letter(name=name):
                return f"{name} once"
            case Sequence(parts=parts):
                return ", then ".join(self.say(part) for part in parts) or "nothing"
            case Choice(parts=parts):
                return f"either {' or '.join(self._inside(part) for part in parts)}"
            case Shuffle(parts=parts):
                return "in any order, side by side: " + " and ".join(
                    self._group(part) for part in parts
                )
            case Both(parts=parts):
                return "what is both " + " and ".join(self._group(part) for part in parts)
            case Repeat(body=body, low=low, high=high):
                return f"{self._group(body)} {_how_often(low, high)}"
            case Power(body=body, exponent=exponent):
                return f"{self._group(body)} {self._power(body, exponent)}"
        raise AssertionError(node)

    def _inside(self, node: Expression) -> str:
        return node.name if isinstance(node, Letter) else self.say(node)

    def _group(self, node: Expression) -> str:
        return node.name if isinstance(node, Letter) else f"({self._inside(node)})"

    def _power(self, body: Expression, exponent: Linear) -> str:
        simple = len(exponent.factors) == 1 and not exponent.constant
        (name, factor), *_ = exponent.factors
        if simple and name not in self.what:
            self.what[name] = body.name if isinstance(body, Letter) else "that"
            low, high = self.language.bounds(name)
            often = _how_often(low, high)
            if factor == 1:
                return (
                    often
                    if len(variables_of(self.language.expression)) == 1
                    else (f"{often} (that is {name})")
                )
            return f"{factor}{name} times, where {name} is {_number_of(low, high)}"
        for other, _ in exponent.factors:
            self.what.setdefault(other, other)
        known = self.what[name]
        if simple and factor == 1:
            return f"as many times as {known}"
        if simple and factor in _AS_OFTEN:
            return f"{_AS_OFTEN[factor]} as {known}"
        return f"{exponent} times"


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


def _listed(names: tuple[str, ...], word: str) -> str:
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
