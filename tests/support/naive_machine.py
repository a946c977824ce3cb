"""A machine as plain data, and an interpreter that is slow, obvious and shares no code with ours.

A guard is the set of labels that satisfy it, spelled out; a label is a frozenset of names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product


@dataclass
class Rule:
    source: str
    target: str
    labels: frozenset[frozenset[str]] | None  # None: silent
    zeros: tuple[str, ...]
    change: tuple[int, ...]
    reward: float


@dataclass
class Spec:
    propositions: list[str]
    counters: list[str]
    states: list[str]
    terminal: list[str]
    accepting: list[str]
    otherwise: str
    rules: list[Rule] = field(default_factory=list)


class Stuck(Exception):
    """No rule and otherwise is error."""


class Below(Exception):
    """A counter below zero."""


class Endless(Exception):
    """Silent for ever, or for too long."""


def all_labels(propositions: list[str]) -> list[frozenset[str]]:
    return [
        frozenset(name for name, true in zip(propositions, bits, strict=True) if true)
        for bits in product([False, True], repeat=len(propositions))
    ]


def fits(rule: Rule, state: str, counters: list[int]) -> bool:
    if rule.source != state:
        return False
    for wanted, value in zip(rule.zeros, counters, strict=True):
        if wanted == "0" and value != 0:
            return False
        if wanted == "1" and value == 0:
            return False
    return True


def fire(rule: Rule, counters: list[int]) -> list[int]:
    result = [value + step for value, step in zip(counters, rule.change, strict=True)]
    if any(value < 0 for value in result):
        raise Below
    return result


def settle(spec: Spec, state: str, counters: list[int], limit: int):
    paid = 0.0
    seen = set()
    while True:
        silent = [r for r in spec.rules if r.labels is None and fits(r, state, counters)]
        if state in spec.terminal or not silent:
            return state, counters, paid
        if (state, tuple(counters)) in seen or len(seen) >= limit:
            raise Endless
        seen.add((state, tuple(counters)))
        counters = fire(silent[0], counters)
        state = silent[0].target
        paid += silent[0].reward


def run(spec: Spec, word: list[frozenset[str]], limit: int = 1000):
    """The configurations and rewards of a run, as far as it goes, and how it stopped."""
    state, counters, _ = settle(spec, spec.states[0], [0] * len(spec.counters), limit)
    passed = [(state, tuple(counters))]
    rewards: list[float] = []
    for label in word:
        if state in spec.terminal:
            break
        reading = [
            r
            for r in spec.rules
            if r.labels is not None and label in r.labels and fits(r, state, counters)
        ]
        assert len(reading) <= 1, "the specification is not deterministic"
        try:
            if reading:
                counters = fire(reading[0], counters)
                state, counters, more = settle(spec, reading[0].target, counters, limit)
                rewards.append(reading[0].reward + more)
            elif spec.otherwise == "error":
                raise Stuck
            else:
                state = state if spec.otherwise == "stay" else spec.otherwise
                rewards.append(0.0)
        except (Stuck, Below, Endless) as trouble:
            return passed, rewards, type(trouble)
        passed.append((state, tuple(counters)))
    return passed, rewards, None
