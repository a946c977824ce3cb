"""Compiled functions of the model-based learner, and nothing else.

The automaton is known; only the world has to be learned. What was never tried is taken to be as
good as the machine allows, so the greedy policy goes where something may be found. Plans are made
anew only when what is believed has changed, over what can be reached from here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cranium.learners import guess_kernels as guesses
from cranium.learners.kernels import (
    AGE,
    CONFIGURATION,
    GOES_ON,
    NOT_FINITE,
    REFUSED,
    RUNNING,
    SAMPLES,
    STATE,
    Mind,
    World,
    draw,
    go_on,
    paid,
)

__all__ = ["Model", "Plan", "act", "look_ahead", "remember", "run"]

FULL = -4
"""There is no room for what may be met next: the arrays have to grow."""
NOTHING = -1
NEEDED, SLOTS, SPLITS, STALE, CROWDED, GUESSING, EMPTY = range(7)
"""In ``numbers``: trials before a pair is believed, slots and splits in use, whether the plan is
out of date, whether an outcome found no room, whether to guess, the row of the empty label."""

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
    extra: Floats  # [S, B, 1 + F]
    hope: Floats  # [X]; what a configuration may be worth at most
    roots: Ints  # [O]; where episodes have begun
    guess: guesses.Guess
    numbers: Longs  # [7]
    settings: Floats  # [4]; discount, tolerance, the floor of guesses, trials in a random world


class Plan(NamedTuple):
    """Values of the nodes ⟨o, x⟩ that were looked at: O observations, X configurations."""

    value: Floats  # [O, X]
    stamp: Ints  # [O, X]; the plan that looked at a node last
    nodes: Longs  # [O·X]; those of this plan
    guess_stamp: Ints  # [O]
    guess_after: Ints  # [O·A]; where a pair is guessed to lead, or NOTHING
    guess_slot: Ints  # [O·A]; by the outcome of which slot
    counts: Longs  # [2]; which plan this is, how many nodes it has


@njit(cache=True, nogil=True)
def slot_of(model: Model, pair: int, x: int) -> int:
    """The slot of a pair in a configuration, or NOTHING."""
    found: int = model.slot[pair]
    return model.split[-2 - found, x] if found < NOTHING else found


@njit(cache=True, nogil=True)
def _outcome(
    model: Model, mind: Mind, plan: Plan, slot: int, b: int, after: int, x: int
) -> float:
    row = model.row[slot, b]
    then = mind.next_configuration[row, x]
    if then < 0:
        return 0.0  # the machine refuses it, or it leads to what was never met
    gained = paid(mind, row, x, model.extra[slot, b])
    if not model.ended[slot, b] and mind.ending[then] == GOES_ON:
        gained += model.settings[0] * plan.value[after, then]
    return gained


@njit(cache=True, nogil=True)
def action_value(model: Model, mind: Mind, plan: Plan, pair: int, x: int) -> float:
    """Q of a pair in a configuration, by what is known, else guessed, else hoped for."""
    slot = slot_of(model, pair, x)
    if slot >= 0 and model.tried[slot] >= model.numbers[NEEDED]:
        total = 0.0
        for b in range(model.outcomes[slot]):
            share = model.times[slot, b] / model.tried[slot]
            total += share * _outcome(model, mind, plan, slot, b, model.after[slot, b], x)
        return total
    hope: float = model.hope[x]
    after = plan.guess_after[pair]
    if after < 0:
        return hope
    guessed = _outcome(model, mind, plan, plan.guess_slot[pair], 0, after, x)
    return max(guessed, model.settings[2] * hope)


@njit(cache=True, nogil=True)
def _add(plan: Plan, mind: Mind, ended: int, row: int, x: int, after: int) -> None:
    """List the node that an outcome leads to."""
    then = mind.next_configuration[row, x]
    if ended or then < 0 or mind.ending[then] != GOES_ON:
        return
    if plan.stamp[after, then] != plan.counts[0]:
        plan.stamp[after, then] = plan.counts[0]
        plan.value[after, then] = 0.0
        plan.nodes[plan.counts[1]] = after * plan.value.shape[1] + then
        plan.counts[1] += 1


@njit(cache=True, nogil=True)
def _expand(model: Model, mind: Mind, plan: Plan, observation: int, x: int, actions: int) -> None:
    """List what may come after a node."""
    if plan.guess_stamp[observation] != plan.counts[0]:
        plan.guess_stamp[observation] = plan.counts[0]
        for action in range(actions):
            pair = observation * actions + action
            plan.guess_after[pair] = NOTHING
            if model.numbers[GUESSING] and model.slot[pair] == NOTHING:
                slot, after = guesses.guess(model.guess, model.after, model.before, pair, actions)
                plan.guess_after[pair], plan.guess_slot[pair] = after, slot
    for action in range(actions):
        pair = observation * actions + action
        slot = slot_of(model, pair, x)
        if slot >= 0 and model.tried[slot] >= model.numbers[NEEDED]:
            for b in range(model.outcomes[slot]):
                _add(plan, mind, model.ended[slot, b], model.row[slot, b], x, model.after[slot, b])
        elif plan.guess_after[pair] >= 0:
            guess = plan.guess_slot[pair]
            _add(plan, mind, model.ended[guess, 0], model.row[guess, 0], x, plan.guess_after[pair])


@njit(cache=True, nogil=True)
def begin_plan(plan: Plan) -> None:
    """Forget the nodes."""
    plan.counts[0] += 1
    plan.counts[1] = 0


@njit(cache=True, nogil=True)
def add_root(plan: Plan, observation: int, x: int) -> None:
    """List a node to plan from."""
    if plan.stamp[observation, x] != plan.counts[0]:
        plan.stamp[observation, x] = plan.counts[0]
        plan.value[observation, x] = 0.0
        plan.nodes[plan.counts[1]] = observation * plan.value.shape[1] + x
        plan.counts[1] += 1


@njit(cache=True, nogil=True)
def look_ahead(model: Model, mind: Mind, plan: Plan) -> None:
    """List all that can be reached from the roots, then sweep back over it until nothing changes.

    Values begin at zero and rise, so that they come to rest after as many sweeps as there are turns
    in the best way, however slowly they would have fallen around loops.
    """
    actions, width = mind.q.shape[2], plan.value.shape[1]
    i = 0
    while i < plan.counts[1]:
        observation, x = plan.nodes[i] // width, plan.nodes[i] % width
        _expand(model, mind, plan, observation, x, actions)
        i += 1
    change = np.inf
    while change > model.settings[1]:
        change = 0.0
        for i in range(plan.counts[1] - 1, -1, -1):
            observation, x = plan.nodes[i] // width, plan.nodes[i] % width
            best = -np.inf
            for action in range(actions):
                pair = observation * actions + action
                best = max(best, action_value(model, mind, plan, pair, x))
            change = max(change, abs(best - plan.value[observation, x]))
            plan.value[observation, x] = best


@njit(cache=True, nogil=True)
def act(model: Model, mind: Mind, plan: Plan, observation: int, x: int, pick: float) -> int:
    """The best action by what is believed; of several one is drawn."""
    actions = mind.q.shape[2]
    if model.numbers[STALE] or plan.stamp[observation, x] != plan.counts[0]:
        begin_plan(plan)
        add_root(plan, observation, x)
        look_ahead(model, mind, plan)
        model.numbers[STALE] = 0
    best, ties = -np.inf, 0
    for action in range(actions):
        value = action_value(model, mind, plan, observation * actions + action, x)
        if value > best + 1e-12:
            best, ties = value, 1
        elif value >= best - 1e-12:
            ties += 1
    wanted = int(pick * ties)
    for action in range(actions):
        value = action_value(model, mind, plan, observation * actions + action, x)
        if value >= best - 1e-12:
            if wanted == 0:
                return action
            wanted -= 1
    return 0


@njit(cache=True, nogil=True)
def _new_slot(model: Model, observation: int, action: int) -> int:
    slot = model.numbers[SLOTS]
    model.numbers[SLOTS] += 1
    model.before[slot], model.action[slot] = observation, action
    return int(slot)


@njit(cache=True, nogil=True)
def _split(model: Model, pair: int, slot: int) -> None:
    """Keep what a pair leads to apart by configurations: its label depends on something hidden."""
    r = model.numbers[SPLITS]
    model.numbers[SPLITS] += 1
    model.slot[pair] = -2 - r
    for b in range(model.outcomes[slot]):  # what is known goes to where it was first seen
        x = model.origin[slot, b]
        if model.split[r, x] == NOTHING:
            model.split[r, x] = _new_slot(model, model.before[slot], model.action[slot])
        own = model.split[r, x]
        if model.outcomes[own] == 0:
            model.outcomes[own], model.tried[own] = 1, 1
            model.after[own, 0], model.row[own, 0] = model.after[slot, b], model.row[slot, b]
            model.ended[own, 0], model.times[own, 0] = model.ended[slot, b], 1
            model.origin[own, 0] = x
            model.extra[own, 0] = model.extra[slot, b]


@njit(cache=True, nogil=True)
def _record(
    model: Model, slot: int, x: int, after: int, row: int, ended: int, extra: Floats
) -> bool:
    """Count an outcome; whether it is new."""
    for b in range(model.outcomes[slot]):
        same = model.after[slot, b] == after and model.row[slot, b] == row
        if same and model.ended[slot, b] == ended:
            model.tried[slot] += 1
            model.times[slot, b] += 1
            return False
    b = model.outcomes[slot]
    if b == model.after.shape[1]:
        model.numbers[CROWDED] = 1
        return False
    model.tried[slot] += 1
    model.outcomes[slot] = b + 1
    model.after[slot, b], model.row[slot, b] = after, row
    model.ended[slot, b], model.times[slot, b], model.origin[slot, b] = ended, 1, x
    model.extra[slot, b] = extra
    return True


@njit(cache=True, nogil=True)
def _is_hidden(model: Model, slot: int) -> bool:
    """Whether the last outcome differs from another one in its label only."""
    last = model.outcomes[slot] - 1
    for b in range(last):
        if model.after[slot, b] == model.after[slot, last]:
            return bool(model.row[slot, b] != model.row[slot, last])
    return False


@njit(cache=True, nogil=True)
def remember(
    model: Model,
    plan: Plan,
    observation: int,
    action: int,
    x: int,
    after: int,
    row: int,
    ended: int,
    extra: Floats,
    actions: int,
) -> None:
    """Add an experience to the model; the plan is out of date if that changes what is believed."""
    pair = observation * actions + action
    slot = slot_of(model, pair, x)
    first = slot == NOTHING
    if first:
        slot = _new_slot(model, observation, action)
        if model.slot[pair] == NOTHING:
            model.slot[pair] = slot
        else:
            model.split[-2 - model.slot[pair], x] = slot
    fresh = _record(model, slot, x, after, row, ended, extra)
    guessing = model.numbers[GUESSING]
    whole = model.slot[pair] >= 0
    if fresh and model.outcomes[slot] > 1:
        if whole and _is_hidden(model, slot):
            _split(model, pair, slot)
        elif model.numbers[NEEDED] < model.settings[3]:
            model.numbers[NEEDED] = int(model.settings[3])  # the world is random: try more often
            model.numbers[GUESSING] = 0
        model.numbers[STALE] = 1
    elif first and guessing and whole:
        known = plan.guess_after[pair]
        guess = plan.guess_slot[pair]
        right = known == after and model.row[guess, 0] == row and model.ended[guess, 0] == ended
        changed = guesses.add(
            model.guess, model.before, model.action, model.after, model.row, model.ended, slot,
            row == model.numbers[EMPTY], actions,
        )  # fmt: skip
        if changed:
            guesses.regroup(
                model.guess, model.slot, model.outcomes, model.before, model.action,
                model.after, model.row, model.ended, model.numbers[EMPTY], actions,
            )  # fmt: skip
        if changed or not right:
            model.numbers[STALE] = 1
    elif first or model.tried[slot] == model.numbers[NEEDED]:
        model.numbers[STALE] = 1
    elif model.outcomes[slot] > 1 and model.tried[slot] > model.numbers[NEEDED]:
        # Of a random pair the shares change with every trial: they are looked at now and then.
        if model.tried[slot] & (model.tried[slot] - 1) == 0:
            model.numbers[STALE] = 1


@njit(cache=True, nogil=True)
def is_full(model: Model) -> bool:
    """Whether one more experience might find no room."""
    more = model.outcomes.shape[0] - model.numbers[SLOTS] <= model.after.shape[1] + 1
    return more or model.numbers[SPLITS] == model.split.shape[0] or model.numbers[CROWDED] > 0


@njit(cache=True, nogil=True)
def run(
    world: World,
    mind: Mind,
    model: Model,
    plan: Plan,
    codes: Ints,  # [O]; how the model calls the world's observations
    steps: int,
    start: int,
    agent: np.random.Generator,
    nature: np.random.Generator,
    ends: Floats,
) -> int:
    """Interact, learn the world and plan for so many samples; what stopped it, or RUNNING."""
    actions = mind.q.shape[2]
    position = mind.position
    goal = position[SAMPLES] + steps
    while position[SAMPLES] < goal:
        if is_full(model):
            return FULL
        state, x = position[STATE], position[CONFIGURATION]
        seen = codes[world.observation[state]]
        if position[AGE] == 0:
            model.roots[seen] = 1
        action = act(model, mind, plan, seen, x, agent.random())
        k = draw(world, state * actions + action, nature)
        row, after = world.row[k], codes[world.observation[world.next_state[k]]]
        if mind.next_configuration[row, x] < 0:
            return REFUSED
        ended = 1 if world.terminated[k] else 0
        remember(model, plan, seen, action, x, after, row, ended, world.extra[k], actions)
        if not np.isfinite(plan.value[seen, x]):
            return NOT_FINITE
        go_on(world, mind, k, start, nature, ends)
    return RUNNING


@njit(cache=True, nogil=True)
def judge(model: Model, mind: Mind, plan: Plan, codes: Ints, start: int, everything: bool) -> None:
    """Plan from where episodes begin, or from everywhere, and write what was found into Q."""
    begin_plan(plan)
    for seen in codes:
        if everything:
            for x in range(model.hope.shape[0]):
                if mind.ending[x] == GOES_ON:
                    add_root(plan, seen, x)
        elif model.roots[seen]:
            add_root(plan, seen, start)
    look_ahead(model, mind, plan)
    actions = mind.q.shape[2]
    for number in range(codes.shape[0]):
        for x in range(model.hope.shape[0]):
            for action in range(actions):
                pair = codes[number] * actions + action
                mind.q[number, x, action] = action_value(model, mind, plan, pair, x)
