"""Undiscounted values by trying every stationary policy, with exact fractions: slow and obvious.

A model is a list of states; a state is a list of actions; an action is a list of outcomes
(probability, reward, next state or None at the end of an episode), in fractions.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf


def solve_linear(rows, right):
    """Gauss and Jordan, in fractions; None if there is not exactly one solution."""
    size = len(rows)
    table = [[*map(Fraction, row), Fraction(b)] for row, b in zip(rows, right, strict=True)]
    for column in range(size):
        pivot = next((r for r in range(column, size) if table[r][column]), None)
        if pivot is None:
            return None
        table[column], table[pivot] = table[pivot], table[column]
        table[column] = [x / table[column][column] for x in table[column]]
        for r in range(size):
            if r != column and table[r][column]:
                factor = table[r][column]
                table[r] = [x - factor * y for x, y in zip(table[r], table[column], strict=True)]
    return [row[-1] for row in table]


def reach(chain, start):
    """The states that can be reached from one, and whether the end can."""
    seen, waiting, ends = {start}, [start], False
    while waiting:
        for _, _, after in chain[waiting.pop()]:
            if after is None:
                ends = True
            elif after not in seen:
                seen.add(after)
                waiting.append(after)
    return frozenset(seen), ends


def gain_and_bias(chain, states):
    """What a closed class earns in each step, and its bias, the greatest of which is 0."""
    order = sorted(states)
    place = {s: i for i, s in enumerate(order)}
    paid = [sum(p * r for p, r, _ in chain[s]) for s in order]
    # g + h(s) = r(s) + sum of p h(s'), and h of the first state is 0: the unknowns are g and h.
    rows, size = [], len(order)
    for s in order:
        row = [Fraction(0)] * (size + 1)
        row[0] = Fraction(1)
        row[1 + place[s]] += 1
        for p, _, after in chain[s]:
            row[1 + place[after]] -= p
        rows.append(row)
    rows.append([Fraction(0), Fraction(1), *[Fraction(0)] * (size - 1)])
    found = solve_linear(rows, [*paid, Fraction(0)])
    gain, bias = found[0], found[1:]
    return gain, {s: bias[place[s]] - max(bias) for s in order}


def value_of(chain):
    """What a stationary policy keeps, from each state: see docs/semantics.md."""
    closure = {s: reach(chain, s) for s in range(len(chain))}
    value = {}
    for s, (states, ends) in closure.items():
        if s not in value and not ends and all(closure[t][0] == states for t in states):
            gain, bias = gain_and_bias(chain, states)
            for t in states:
                value[t] = bias[t] if gain == 0 else inf if gain > 0 else -inf
    recurrent, passing = dict(value), []
    for s in set(closure) - set(recurrent):
        met = {recurrent[t] for t in closure[s][0] if t in recurrent}
        if inf in met or -inf in met:
            value[s] = inf if inf in met else -inf
        else:
            passing.append(s)
    value |= on_the_way(chain, passing, value)
    return [value[s] for s in range(len(chain))]


def on_the_way(chain, passing, value):
    """The values of states that are left for good, from those of where that leads."""
    place = {s: i for i, s in enumerate(passing)}
    rows, right = [], []
    for s in passing:
        row, paid = [Fraction(0)] * len(passing), Fraction(0)
        row[place[s]] += 1
        for p, r, after in chain[s]:
            paid += p * r
            if after in place:
                row[place[after]] -= p
            elif after is not None:
                paid += p * value[after]
        rows.append(row)
        right.append(paid)
    return dict(zip(passing, solve_linear(rows, right), strict=True))


def best_values(model):
    """The most that any stationary policy keeps, from each state."""
    best = [-inf] * len(model)
    for actions in product(*(range(len(state)) for state in model)):
        found = value_of([state[a] for state, a in zip(model, actions, strict=True)])
        best = [max(one, other) for one, other in zip(best, found, strict=True)]
    return best
