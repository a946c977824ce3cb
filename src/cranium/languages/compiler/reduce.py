"""Reduction of the deterministic machine: merge equal states, prune impossible tests."""

from __future__ import annotations

from collections import deque

from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.determinise import Machine, Move, Zeros
from cranium.languages.compiler.ir import Counter
from cranium.languages.compiler.nfa import propagate_live
from cranium.languages.compiler.subsets import above_after

__all__ = ["merge_equal_states", "prune_impossible"]


def merge_equal_states(machine: Machine, budget: Budget) -> Machine:
    """Merge states with the same transitions, zero tests and acceptance, and renumber them.

    Without counters the result is the minimal machine. With counters, states that differ only for
    counter values that never occur are not merged.
    """
    tables = [_table(machine, state) for state in range(len(machine.moves))]
    block = _acyclic_classes(tables)
    count = len(set(block))
    size = 5 * (len(tables) + sum(len(moves) for moves, _ in tables))
    while True:
        budget.spend(size)
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


def _acyclic_classes(tables: list[Table]) -> list[int]:
    """Return the equivalence classes of the states that reach no cycle, and 0 for all others.

    Partition refinement alone would need a thousand rounds for a chain of a thousand states.
    """
    before: list[list[int]] = [[] for _ in tables]
    waiting = [0] * len(tables)
    for state, (moves, _) in enumerate(tables):
        targets = {target for _, target in moves.values()}
        waiting[state] = len(targets)
        for target in targets:
            before[target].append(state)
    block = [0] * len(tables)
    numbers: dict[object, int] = {}
    queue = deque(state for state, count in enumerate(waiting) if not count)
    while queue:
        state = queue.popleft()
        moves, ends = tables[state]
        signature = (frozenset((*k, change, block[t]) for k, (change, t) in moves.items()), ends)
        block[state] = numbers.setdefault(signature, len(numbers) + 1)
        for source in before[state]:
            waiting[source] -= 1
            if not waiting[source]:
                queue.append(source)
    return block


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


def prune_impossible(machine: Machine, budget: Budget) -> Machine:
    """Keep only the outcomes of zero tests with which a state can be reached.

    The search abstracts each counter to whether it is zero, so it keeps every outcome that can
    occur.
    """
    live = _live(machine)
    start = (0, frozenset[Counter]())
    seen = {start}
    queue = deque([start])
    while queue:
        state, above = queue.popleft()
        outcome = _outcome(machine, state, above)
        if outcome in machine.accepts[state]:
            continue
        for move in machine.moves[state]:
            if move.zeros == outcome:
                for signs in above_after(above, live[move.target], dict(move.changes), budget):
                    after = (move.target, signs)
                    if after not in seen:
                        seen.add(after)
                        queue.append(after)
    possible: list[set[Zeros]] = [set() for _ in machine.moves]
    for state, above in seen:
        possible[state].add(_outcome(machine, state, above))
    return Machine(
        [[m for m in moves if m.zeros in possible[s]] for s, moves in enumerate(machine.moves)],
        [ends & possible[s] for s, ends in enumerate(machine.accepts)],
        machine.tested,
        possible,
    )


def _live(machine: Machine) -> dict[int, set[Counter]]:
    """Return the live counters of each state: those that are tested there or later."""
    live = {state: set(tested) for state, tested in enumerate(machine.tested)}
    before: dict[int, list[int]] = {state: [] for state in live}
    for state, moves in enumerate(machine.moves):
        for move in moves:
            before[move.target].append(state)
    propagate_live(live, before)
    return live


def _outcome(machine: Machine, state: int, above: frozenset[Counter]) -> Zeros:
    return tuple((counter, counter in above) for counter in machine.tested[state])
