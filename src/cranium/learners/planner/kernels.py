"""Compiled functions of the model-based learner.

The automaton is known; only the world has to be learned. What was never tried is taken to be as
good as the machine allows, so the greedy policy goes where something may be found. Plans are made
anew only when what is believed has changed, over what can be reached from here.

A compiled function contains all that it calls: what is rarely done is called from Python, or the
loop would take long to compile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.jit import compiled, inner
from cranium.learners.planner import generalisation_kernels as guesses
from cranium.learners.planner.generalisation_kernels import Guess
from cranium.learners.planner.model_kernels import (
    BEGINS,
    DOUBTING,
    EMPTY,
    FIRST,
    GUESSING,
    MET,
    NEEDED,
    NOTHING,
    STALE,
    UNSURE,
    WHERE,
    Model,
    count,
    generalise,
    is_full,
    is_hidden,
    is_known,
    new_slot,
    record,
    slot_of,
    split,
)
from cranium.learners.tabular.kernels import (
    AGE,
    CONFIGURATION,
    GOES_ON,
    NOT_FINITE,
    REFUSED,
    RUNNING,
    SAMPLES,
    STATE,
    UNKNOWN,
    MachineArrays,
    WorldArrays,
    advance,
    draw,
    long,
)

__all__ = ["Model", "Plan", "act", "look_ahead", "remember", "run"]

FULL = -4
"""There is no room for what may be met next: the arrays have to grow."""
PLAN = -5
"""There is no plan for where the learner is: one has to be made."""
NEWS = -6
"""A pair was tried for the first time: conclusions have to be drawn."""

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


class Plan(NamedTuple):
    """The nodes ⟨o, x⟩ that can be reached from here, and what is believed of them: N nodes.

    The value of an action is what it gains at once and the discounted values of the nodes that it
    leads to, but at least its floor.
    """

    number: Ints  # [O, X]; the number of a node, if its stamp is that of this plan
    stamp: Ints  # [O, X]
    nodes: Longs  # [N]; which node it is: o·X + x
    value: Floats  # [N]
    gain: Floats  # [N, A]
    floor: Floats  # [N, A]
    first: Longs  # [N·A + 1]; where the edges of a node and an action begin
    target: Ints  # [E]
    share: Floats  # [E]
    guess_after: Ints  # [O·A]; where a pair is guessed to lead, or NOTHING
    guess_slot: Ints  # [O·A]; by the outcome of which slot
    guess_stamp: Ints  # [O]
    counts: Longs  # [3]; which plan this is, how many nodes and edges it has


@inner
def node(number: Ints, stamp: Ints, nodes: Longs, counts: Longs, observation: int, x: int) -> int:
    """Return the number of a node; a new one is added."""
    if stamp[observation, x] != counts[0]:
        stamp[observation, x] = counts[0]
        number[observation, x] = counts[1]
        nodes[counts[1]] = observation * stamp.shape[1] + x
        counts[1] += 1
    return int(number[observation, x])


@inner
def _guess_all(model: Model, guess: Guess, plan: Plan, observation: int, actions: int) -> None:
    """Guess the effects of the actions that were never tried with an observation."""
    plan.guess_stamp[observation] = plan.counts[0]
    for action in range(actions):
        pair = observation * actions + action
        plan.guess_after[pair] = NOTHING
        certain = model.numbers[NEEDED] == 1  # in a random world one outcome says little
        if model.numbers[GUESSING] and certain and model.slot[pair] == NOTHING:
            slot, after = guesses.guess(guess, model.after, model.before, pair, actions)
            plan.guess_after[pair], plan.guess_slot[pair] = after, slot


@inner
def _expand(
    model: Model, guess: Guess, machine: MachineArrays, plan: Plan, i: int, actions: int
) -> None:
    """List the outcomes of the actions of a node: known, else guessed, else optimistic."""
    width = plan.stamp.shape[1]
    observation, x = plan.nodes[i] // width, plan.nodes[i] % width
    if plan.guess_stamp[observation] != plan.counts[0]:
        _guess_all(model, guess, plan, observation, actions)
    edge, needed = plan.counts[2], model.numbers[NEEDED]
    for action in range(actions):
        pair = observation * actions + action
        plan.first[i * actions + action] = edge
        plan.gain[i, action], plan.floor[i, action] = 0.0, -np.inf
        slot = slot_of(model.slot, model.split, pair, x)
        known = is_known(model.tried, model.outcomes, slot, needed, model.settings[3])
        outcomes, tried = 1, 1
        if known:
            outcomes, tried = model.outcomes[slot], model.tried[slot]
        elif plan.guess_after[pair] >= 0:
            slot = plan.guess_slot[pair]
            plan.floor[i, action] = model.settings[2] * model.hope[x]
        else:
            plan.gain[i, action] = model.hope[x]
            continue
        for b in range(outcomes):
            share = model.times[slot, b] / tried if known else 1.0
            row = model.row[slot, b]
            then = machine.next_configuration[row, x]
            which = machine.function[row, x]
            unpaid = which >= 0 and np.isnan(model.extra[slot, b, 1 + which])
            if then == UNKNOWN or (then >= 0 and unpaid):
                # The next configuration was never met, or its reward function was never seen.
                plan.gain[i, action] += share * model.hope[x]
                continue
            if then < 0:
                continue
            gained = machine.reward[row, x] + model.extra[slot, b, 0]
            if which >= 0:
                gained += model.extra[slot, b, 1 + which]
            plan.gain[i, action] += share * gained
            if not model.ended[slot, b] and machine.ending[then] == GOES_ON:
                after = model.after[slot, b] if known else plan.guess_after[pair]
                where = (long(after), long(then))
                plan.target[edge] = node(plan.number, plan.stamp, plan.nodes, plan.counts, *where)
                plan.share[edge] = share
                edge += 1
    plan.counts[2] = edge
    plan.first[(i + 1) * actions] = edge


@inner
def _sweep(
    nodes: int,
    value: Floats,
    gain: Floats,
    floor: Floats,
    first: Longs,
    target: Ints,
    share: Floats,
    discount: float,
    tolerance: float,
) -> None:
    """Work out the values, from the last node to the first and back, until nothing changes.

    They begin at zero and rise, so that they come to rest after as many sweeps as there are turns
    in the best way, however slowly they would have fallen around loops.
    """
    actions = gain.shape[1]
    for i in range(nodes):
        value[i] = 0.0
    change, back = np.inf, True
    while change > tolerance:
        change = 0.0
        for j in range(nodes):
            i = nodes - 1 - j if back else j
            best = -np.inf
            for action in range(actions):
                total = 0.0
                for e in range(first[i * actions + action], first[i * actions + action + 1]):
                    total += share[e] * value[target[e]]
                best = max(best, gain[i, action] + discount * total, floor[i, action])
            change = max(change, abs(best - value[i]))
            value[i] = best
        back = not back


@compiled
def look_ahead(model: Model, guess: Guess, machine: MachineArrays, plan: Plan) -> bool:
    """Add all reachable nodes and compute their values; returns False without room."""
    actions = plan.gain.shape[1]
    most = actions * model.after.shape[1]
    i = long(0)
    while i < plan.counts[1]:
        if plan.counts[2] + most > plan.target.shape[0]:
            return False
        _expand(model, guess, machine, plan, i, actions)
        i += 1
    discount, tolerance = model.settings[0], model.settings[1]
    arrays = (plan.value, plan.gain, plan.floor, plan.first, plan.target, plan.share)
    _sweep(plan.counts[1], *arrays, discount, tolerance)
    return True


@inner
def action_value(plan: Plan, i: int, action: int, discount: float) -> float:
    """Return Q of a node and an action."""
    row = i * plan.gain.shape[1] + action
    total = 0.0
    for e in range(plan.first[row], plan.first[row + 1]):
        total += plan.share[e] * plan.value[plan.target[e]]
    return float(max(plan.gain[i, action] + discount * total, plan.floor[i, action]))


@compiled
def needs_plan(numbers: Longs, stamp: Ints, counts: Longs, observation: int, x: int) -> bool:
    """Whether the model has changed since the last plan, or the plan lacks this node."""
    return bool(numbers[STALE] or stamp[observation, x] != counts[0])


@compiled
def act(plan: Plan, discount: float, observation: int, x: int, pick: float) -> int:
    """Return the greedy action under the model; ties are broken at random."""
    actions = plan.gain.shape[1]
    i = plan.number[observation, x]
    best, ties = -np.inf, 0
    for action in range(actions):
        value = action_value(plan, i, action, discount)
        if value > best + 1e-12:
            best, ties = value, 1
        elif value >= best - 1e-12:
            ties += 1
    wanted = int(pick * ties)
    for action in range(actions):
        if action_value(plan, i, action, discount) >= best - 1e-12:
            if wanted == 0:
                return action
            wanted -= 1
    return 0


@compiled
def remember(
    model: Model,
    observation: int,
    action: int,
    x: int,
    after: int,
    row: int,
    ended: int,
    extra: Floats,
    actions: int,
) -> None:
    """Add a transition to the model; if that changes it, the plan is out of date."""
    pair = observation * actions + action
    slot = slot_of(model.slot, model.split, pair, x)
    model.roots[after] = max(model.roots[after], 1)
    first = slot == NOTHING
    if first:
        slot = new_slot(model.numbers, model.before, model.action, observation, action)
        if model.slot[pair] == NOTHING:
            model.slot[pair] = slot
        else:
            model.split[-2 - model.slot[pair], x] = slot
    needed, trials = model.numbers[NEEDED], model.settings[3]
    before = is_known(model.tried, model.outcomes, slot, needed, trials)
    fresh = record(model, slot, x, after, row, ended, extra)
    whole = model.slot[pair] >= 0
    if fresh and model.outcomes[slot] > 1:
        if whole and is_hidden(model.after, model.row, slot, model.outcomes[slot] - 1):
            split(model, pair, slot)
        model.numbers[STALE] = 1
    elif first and whole and model.numbers[GUESSING]:
        pass  # what follows from it is found out by conclude
    elif before != is_known(model.tried, model.outcomes, slot, needed, trials):
        model.numbers[STALE] = 1
    elif model.tried[slot] & (model.tried[slot] - 1) == 0 and (
        model.outcomes[slot] > 1 or model.numbers[UNSURE]
    ):
        # The frequencies and means of a random pair change with every trial: plan again at times.
        model.numbers[STALE] = 1
    count(model.numbers, model.tried[slot], model.outcomes[slot], fresh, trials)
    if first and whole and (model.numbers[GUESSING] or model.numbers[DOUBTING]):
        model.numbers[FIRST], model.numbers[WHERE] = slot + 1, x


@compiled
def conclude(model: Model, guess: Guess, plan: Plan, actions: int) -> None:
    """Generalise from a pair that was tried for the first time."""
    slot, x = model.numbers[FIRST] - 1, model.numbers[WHERE]
    model.numbers[FIRST] = 0
    if model.numbers[GUESSING] and model.outcomes[slot] == 1:
        other = generalise(model, guess, slot, actions)
        if other or not _expected(model, plan, slot, x):
            model.numbers[STALE] = 1
    if model.numbers[DOUBTING] and model.row[slot, 0] != model.numbers[EMPTY]:
        split(model, model.before[slot] * actions + model.action[slot], slot)
        model.numbers[STALE] = 1


@inner
def _expected(model: Model, plan: Plan, slot: int, x: int) -> bool:
    """Whether the first outcome of a pair is what was guessed, and the guess was not doubted."""
    observation, action = model.before[slot], model.action[slot]
    pair = observation * plan.gain.shape[1] + action
    guess = plan.guess_slot[pair]
    if plan.guess_after[pair] != model.after[slot, 0]:
        return False
    if model.row[guess, 0] != model.row[slot, 0] or model.ended[guess, 0] != model.ended[slot, 0]:
        return False
    i = plan.number[observation, x]
    value = action_value(plan, i, long(action), model.settings[0])
    return bool(value > plan.floor[i, action])


@compiled
def code_of(codes: Ints, numbers: Longs, observation: int) -> int:
    """Return the model's number of an observation: of its vector, or in the order of meeting."""
    if codes[observation] < 0:
        codes[observation] = numbers[MET]
        numbers[MET] += 1
    return int(codes[observation])


@compiled
def run(
    world: WorldArrays,
    machine: MachineArrays,
    model: Model,
    plan: Plan,
    codes: Ints,  # [O]; how the model calls the world's observations
    steps: int,
    start: int,
    rng: np.random.Generator,
    nature: np.random.Generator,
    ends: Floats,
    log: Floats,
) -> int:
    """Interact, learn the world and plan for so many samples; what stopped it, or RUNNING."""
    actions = plan.gain.shape[1]
    position = machine.position
    goal = position[SAMPLES] + steps
    while position[SAMPLES] < goal:
        state, x = position[STATE], position[CONFIGURATION]
        seen = code_of(codes, model.numbers, world.observation[state])
        if position[AGE] == 0:
            model.roots[seen] = BEGINS
        if is_full(model.numbers, model.after, model.split):
            return FULL
        if needs_plan(model.numbers, plan.stamp, plan.counts, seen, x):
            return PLAN
        action = act(plan, model.settings[0], seen, x, rng.random())
        pair = state * actions + action
        first, last = long(world.first[pair]), long(world.first[pair + 1])
        k = draw(world.cumulative, first, last, nature)
        row = world.row[k]
        after = code_of(codes, model.numbers, world.observation[world.next_state[k]])
        if machine.next_configuration[row, x] < 0:
            return REFUSED
        ended = 1 if world.terminated[k] else 0
        remember(model, seen, action, x, after, row, ended, world.extra[k], actions)
        if not np.isfinite(plan.value[plan.number[seen, x]]):
            return NOT_FINITE
        advance(world, machine, k, start, nature, ends, log)
        if model.numbers[FIRST]:
            return NEWS
    return RUNNING
