"""States that do the same become one, and what cannot happen is left out."""

from __future__ import annotations

from collections import deque
from itertools import product

from cranium.languages.determinise import Machine, Move, Zeros
from cranium.languages.syntax import Counter

__all__ = ["leave_out_the_impossible", "merge_equal_states"]


def merge_equal_states(machine: Machine) -> Machine:
    """Merge the states that read, test, change and accept alike, and number them anew.

    Without counters the result is the smallest machine there is. With counters states that differ
    only for values that never occur stay apart.
    """
    tables = [_table(machine, state) for state in range(len(machine.moves))]
    block = [0] * len(tables)
    count = 0
    while True:
        signatures = [
            (
                block[state],
                frozenset((*key, change, block[t]) for key, (change, t) in moves.items()),
                ends,
            )
            for state, (moves, ends) in enumerate(tables)
        ]
        numbers: dict[object, int] = {}
        block = [numbers.setdefault(signature, len(numbers)) for signature in signatures]
        if len(numbers) == count:
            return _quotient(machine, block)
        count = len(numbers)


Key = tuple[str, Zeros]
Table = tuple[dict[Key, tuple[tuple[tuple[Counter, int], ...], int]], frozenset[Zeros]]


def _table(machine: Machine, state: int) -> Table:
    moves = {
        (m.letter, m.zeros): (tuple(sorted(m.changes)), m.target) for m in machine.moves[state]
    }
    return moves, frozenset(machine.accepts[state])


def _quotient(machine: Machine, block: list[int]) -> Machine:
    first: dict[int, int] = {}
    for state, number in enumerate(block):
        first.setdefault(number, state)
    numbers = {number: index for index, number in enumerate(first)}
    new = [numbers[number] for number in block]
    chosen = list(first.values())
    return Machine(
        [
            [Move(m.letter, m.zeros, m.changes, new[m.target]) for m in machine.moves[s]]
            for s in chosen
        ],
        [machine.accepts[s] for s in chosen],
        [machine.tested[s] for s in chosen],
    )


def leave_out_the_impossible(machine: Machine) -> Machine:
    """Keep only the outcomes of zero tests with which a state can be reached.

    A counter is followed only as far as whether it is zero, so nothing that can happen is lost.
    """
    counters = sorted({c for tested in machine.tested for c in tested})
    start = (0, (False,) * len(counters))
    seen = {start}
    queue = deque([start])
    while queue:
        state, signs = queue.popleft()
        values = dict(zip(counters, signs, strict=True))
        if _outcome(machine, state, values) in machine.accepts[state]:
            continue
        for move in machine.moves[state]:
            if move.zeros == _outcome(machine, state, values):
                changes = dict(move.changes)
                options = [_signs_after(values[c], changes.get(c, 0)) for c in counters]
                found = {(move.target, after) for after in product(*options)} - seen
                seen |= found
                queue.extend(found)
    possible: list[set[Zeros]] = [set() for _ in machine.moves]
    for state, signs in seen:
        values = dict(zip(counters, signs, strict=True))
        possible[state].add(_outcome(machine, state, values))
    return Machine(
        [[m for m in moves if m.zeros in possible[s]] for s, moves in enumerate(machine.moves)],
        [ends & possible[s] for s, ends in enumerate(machine.accepts)],
        machine.tested,
        possible,
    )


def _outcome(machine: Machine, state: int, values: dict[Counter, bool]) -> Zeros:
    return tuple((counter, values[counter]) for counter in machine.tested[state])


def _signs_after(up: bool, change: int) -> list[bool]:
    return [True] if change > 0 else [False, True] if change < 0 else [up]
