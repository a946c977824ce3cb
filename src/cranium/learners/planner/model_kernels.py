"""Compiled functions of the learned model of an environment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.jit import compiled, inner
from cranium.learners.planner import generalisation_kernels as guesses
from cranium.learners.tabular.kernels import long

__all__ = ["Model", "doubt", "generalise", "is_full", "is_known", "record", "slot_of", "split"]

NOTHING = -1
NEEDED, SLOTS, SPLITS, STALE, CROWDED, GUESSING, EMPTY, RANDOM, TWICE, DOUBTING, MET = range(11)
FIRST, WHERE, UNSURE, NUMBERS = 11, 12, 13, 14
"""In ``numbers``: trials before a pair is believed that had one outcome so far, slots and splits in
use, whether the plan is out of date, whether an outcome found no room, whether to guess, the row of
the empty label, how many slots had several outcomes, how many were tried more than once, whether
labels are taken to depend on the configuration everywhere, how many observations were met; the slot
that was just tried for the first time (plus one), in which configuration; whether rewards may be
random although their outcome is certain; how many these are."""
BEGINS = 2
"""In ``roots``: episodes have begun there; 1 if it was met otherwise."""

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


class Model(NamedTuple):
    """What was learned of the world: O observations, A actions, S slots of B outcomes each.

    A pair of an observation and an action has a slot once it was tried; one whose label depends on
    something hidden has a slot for each configuration.
    """

    slot: Ints  # [O·A]; NOTHING, a slot, or -2 - r for the split r
    split: Ints  # [R, X]; the slot of a pair in a configuration, or NOTHING
    tried: Ints  # [S]
    outcomes: Ints  # [S]; how many different ones there were
    before: Ints  # [S]; the observation
    action: Ints  # [S]
    after: Ints  # [S, B]
    row: Ints  # [S, B]
    ended: Ints  # [S, B]
    times: Ints  # [S, B]
    origin: Ints  # [S, B]; the configuration in which it was first seen
    extra: Floats  # [S, B, 1 + F]; the means of what the world and each function paid; a function
    # that was met later than the outcome is NaN until that occurs again
    hope: Floats  # [X]; what a configuration may be worth at most
    roots: Ints  # [O]; which observations were met, and where episodes began
    numbers: Longs  # [NUMBERS]
    settings: Floats  # [4]; discount, tolerance, the floor of guesses, trials in a random world


@inner
def slot_of(slots: Ints, split: Ints, pair: int, x: int) -> int:
    """Return the slot of a pair in a configuration, or NOTHING."""
    found: int = slots[pair]
    return split[-2 - found, x] if found < NOTHING else found


@inner
def is_known(tried: Ints, outcomes: Ints, slot: int, needed: int, trials: float) -> bool:
    """Whether the outcomes of a slot are believed (R-max); random ones need more trials."""
    if slot < 0:
        return False
    return bool(tried[slot] >= (needed if outcomes[slot] == 1 else trials))


@inner
def new_slot(numbers: Longs, before: Ints, actions: Ints, observation: int, action: int) -> int:
    slot = numbers[SLOTS]
    numbers[SLOTS] += 1
    before[slot], actions[slot] = observation, action
    return int(slot)


@inner
def split(model: Model, pair: int, slot: int) -> None:
    """Keep a slot for each configuration of a pair whose label depends on something hidden."""
    r = model.numbers[SPLITS]
    model.numbers[SPLITS] += 1
    model.slot[pair] = -2 - r
    for b in range(model.outcomes[slot]):  # what is known goes to where it was first seen
        x = model.origin[slot, b]
        if model.split[r, x] == NOTHING:
            place = (model.before[slot], long(model.action[slot]))
            model.split[r, x] = new_slot(model.numbers, model.before, model.action, *place)
        own = model.split[r, x]
        if model.outcomes[own] == 0:
            model.outcomes[own], model.tried[own] = 1, 1
            model.after[own, 0], model.row[own, 0] = model.after[slot, b], model.row[slot, b]
            model.ended[own, 0], model.times[own, 0] = model.ended[slot, b], 1
            model.origin[own, 0] = x
            for f in range(model.extra.shape[2]):
                model.extra[own, 0, f] = model.extra[slot, b, f]


@compiled
def is_full(numbers: Longs, after: Ints, split: Ints) -> bool:
    """Whether one more experience might find no room."""
    if after.shape[0] - numbers[SLOTS] <= after.shape[1] + 1:
        return True
    return bool(numbers[SPLITS] == split.shape[0] or numbers[CROWDED] > 0)


@compiled
def doubt(model: Model) -> bool:
    """Nothing that is believed leads to a reward: perhaps labels depend on something hidden.

    What events were seen in one configuration is no longer believed of others. False without room.
    """
    model.numbers[STALE] = 1
    for slot in range(model.numbers[SLOTS]):
        pair = model.before[slot] * (model.slot.shape[0] // model.roots.shape[0])
        pair += model.action[slot]
        if model.slot[pair] == slot and model.row[slot, 0] != model.numbers[EMPTY]:
            if is_full(model.numbers, model.after, model.split):
                return False
            split(model, pair, slot)
    model.numbers[DOUBTING] = 1
    return True


@inner
def _average(mean: Floats, slot: int, b: int, times: int, extra: Floats) -> None:
    """Update the mean rewards. A reward that never changes keeps its value bit for bit."""
    for f in range(extra.shape[0]):
        if np.isnan(mean[slot, b, f]):
            mean[slot, b, f] = extra[f]
        else:
            mean[slot, b, f] += (extra[f] - mean[slot, b, f]) / times


@inner
def record(
    model: Model, slot: int, x: int, after: int, row: int, ended: int, extra: Floats
) -> bool:
    """Count an outcome and return whether it is new. The model keeps the mean of its rewards."""
    for b in range(model.outcomes[slot]):
        same = model.after[slot, b] == after and model.row[slot, b] == row
        if same and model.ended[slot, b] == ended:
            model.tried[slot] += 1
            model.times[slot, b] += 1
            _average(model.extra, slot, b, model.times[slot, b], extra)
            return False
    b = model.outcomes[slot]
    if b == model.after.shape[1]:
        model.numbers[CROWDED] = 1
        return False
    model.tried[slot] += 1
    model.outcomes[slot] = b + 1
    model.after[slot, b], model.row[slot, b] = after, row
    model.ended[slot, b], model.times[slot, b], model.origin[slot, b] = ended, 1, x
    for f in range(extra.shape[0]):
        model.extra[slot, b, f] = extra[f]
    return True


@inner
def is_hidden(after: Ints, row: Ints, slot: int, last: int) -> bool:
    """Whether the last outcome differs from another one in its label only."""
    for b in range(last):
        if after[slot, b] == after[slot, last]:
            return bool(row[slot, b] != row[slot, last])
    return False


@inner
def generalise(model: Model, guess: guesses.Guess, slot: int, actions: int) -> bool:
    """Let guesses follow from a slot; whether places have become others."""
    arrays = (model.before, model.action, model.after, model.row, model.ended)
    empty = model.numbers[EMPTY]
    eventless = model.row[slot, 0] == empty
    if not guesses.add(guess, *arrays, slot, eventless, actions):
        return False
    guesses.regroup(guess, model.slot, model.outcomes, *arrays, empty, actions)
    return True


@inner
def count(numbers: Longs, tried: int, outcomes: int, fresh: bool, trials: float) -> None:
    """Find out whether the world is random: one pair in ten of those tried more than once.

    If the environment's reward is added, a pair may be random although its outcome is not. Then
    every pair is taken to be random.
    """
    if tried == 2:
        numbers[TWICE] += 1
    if fresh and outcomes == 2:
        numbers[RANDOM] += 1
    random = numbers[UNSURE] or 10 * numbers[RANDOM] > numbers[TWICE]
    needed = int(trials) if random else 1
    if needed != numbers[NEEDED]:
        numbers[NEEDED] = needed
        numbers[STALE] = 1
