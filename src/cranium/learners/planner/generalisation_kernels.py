"""Compiled generalisation of the model to pairs that were never tried.

For observations that are vectors of whole numbers. Components that change in steps without events
are taken for the *place*, the others for what events use up. Until contradicted it is guessed

- that an action does at a place what it did there before, whatever the other components are;
- that, where it was never tried, it moves as it mostly does, or not at all where that would leave
  the space, and that coming to a place causes the events that it caused before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.jit import inner
from cranium.learners.tabular.kernels import long

__all__ = ["Guess", "add", "guess", "regroup"]

NOTHING, CONTRADICTED = -1, -2
MOVING, REST, ALL = 1, 0, -1
"""Which components: those of the place, the others, or all."""
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class Guess(NamedTuple):
    """The basis of guesses: D components, V vectors, A actions; a slot holds an effect."""

    sizes: Longs  # [D]; how many values each component has; the last one counts first
    moving: Ints  # [D]; whether it belongs to the place
    at_place: Ints  # [V·A]; what an action did at a place: a slot, NOTHING or CONTRADICTED
    coming: Ints  # [V]; what coming to a place did
    usual: Ints  # [A]; how an action mostly moves
    votes: Longs  # [A]


@inner
def _place(guess: Guess, code: int) -> int:
    """The code of a vector whose other components are zero."""
    place, stride = 0, 1
    for d in range(guess.sizes.shape[0] - 1, -1, -1):
        digit = code % guess.sizes[d]
        code //= guess.sizes[d]
        if guess.moving[d]:
            place += digit * stride
        stride *= guess.sizes[d]
    return place


@inner
def _same(
    guess: Guess, before: int, after: int, other_before: int, other_after: int, moving: int
) -> bool:
    """Whether two steps change alike: the moving components (1), the rest (0), or all (-1)."""
    for d in range(guess.sizes.shape[0] - 1, -1, -1):
        size = guess.sizes[d]
        if moving < 0 or guess.moving[d] == moving:
            change = after % size - before % size
            if change != other_after % size - other_before % size:
                return False
        before, after = before // size, after // size
        other_before, other_after = other_before // size, other_after // size
    return True


@inner
def _shifted(guess: Guess, code: int, before: int, after: int, moving: int) -> int:
    """A vector after the change of another step, in some components; NOTHING outside the space."""
    found, stride = 0, 1
    for d in range(guess.sizes.shape[0] - 1, -1, -1):
        size = guess.sizes[d]
        digit = code % size
        if moving < 0 or guess.moving[d] == moving:
            digit += after % size - before % size
        if digit < 0 or digit >= size:
            return NOTHING
        found += digit * stride
        stride *= size
        code, before, after = code // size, before // size, after // size
    return found


@inner
def _finds_moving(guess: Guess, old: int, new: int) -> bool:
    """Whether a step without events changes a component that was not taken for the place."""
    found = False
    for d in range(guess.sizes.shape[0] - 1, -1, -1):
        size = guess.sizes[d]
        if old % size != new % size and not guess.moving[d]:
            guess.moving[d] = 1
            found = True
        old, new = old // size, new // size
    return found


@inner
def add(
    guess: Guess,
    before: Ints,
    action: Ints,
    after: Ints,
    row: Ints,
    ended: Ints,
    slot: int,
    eventless: bool,
    actions: int,
) -> bool:
    """Learn from the effect of a slot; whether a component has turned out to be moving."""
    old, new = before[slot], after[slot, 0]
    if eventless and _finds_moving(guess, old, new):
        return True
    place, coming = _place(guess, long(old)), _place(guess, long(new))
    # What the action does here (all that changes), and what coming there does (the rest).
    for table, key, part in (
        (guess.at_place, place * actions + action[slot], ALL),
        (guess.coming, coming, REST),
    ):
        known = table[key]
        if known == NOTHING:
            table[key] = slot
        elif known >= 0:
            alike = row[known, 0] == row[slot, 0] and ended[known, 0] == ended[slot, 0]
            if not (alike and _same(guess, old, new, before[known], after[known, 0], long(part))):
                table[key] = CONTRADICTED
    if place != coming:
        _vote(guess, before, after, slot, action[slot])
    return False


@inner
def _vote(guess: Guess, before: Ints, after: Ints, slot: int, action: int) -> None:
    """Find the move that an action makes most often, by counting for and against one."""
    usual = guess.usual[action]
    if usual == NOTHING:
        guess.usual[action], guess.votes[action] = slot, 1
    elif _same(guess, before[slot], after[slot, 0], before[usual], after[usual, 0], long(MOVING)):
        guess.votes[action] += 1
    elif guess.votes[action] > 0:
        guess.votes[action] -= 1
    else:
        guess.usual[action], guess.votes[action] = slot, 1


@inner
def regroup(
    guess: Guess,
    slots: Ints,
    outcomes: Ints,
    before: Ints,
    action: Ints,
    after: Ints,
    row: Ints,
    ended: Ints,
    empty: int,
    actions: int,
) -> None:
    """Begin anew with other places: all that is known is looked at again, in its order."""
    for array in (guess.at_place, guess.coming, guess.usual):
        array.fill(NOTHING)
    for slot in range(before.shape[0]):
        pair = before[slot] * actions + action[slot]
        if outcomes[slot] == 1 and slots[pair] == slot:
            add(guess, before, action, after, row, ended, slot, row[slot, 0] == empty, actions)


@inner
def guess(guesses: Guess, after: Ints, before: Ints, pair: int, actions: int) -> tuple[int, int]:
    """Whose effect a pair that was never tried is guessed to have, and where it leads."""
    observation, action = pair // actions, pair % actions
    known = guesses.at_place[_place(guesses, observation) * actions + action]
    if known == CONTRADICTED:
        return NOTHING, NOTHING
    if known >= 0:
        return known, _shifted(guesses, observation, before[known], after[known, 0], long(ALL))
    usual = guesses.usual[action]
    if usual == NOTHING:
        return NOTHING, NOTHING
    moved = _shifted(guesses, observation, before[usual], after[usual, 0], long(MOVING))
    if moved == NOTHING:
        moved = observation  # the space ends here
    known = guesses.coming[_place(guesses, moved)]
    if known < 0:
        return NOTHING, NOTHING
    return known, _shifted(guesses, moved, before[known], after[known, 0], long(REST))
