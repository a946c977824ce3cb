"""The compiled training loop of Q-learning, CQL and CRM in a finite world."""

from __future__ import annotations

import numpy as np

from cranium._runtime.jit import compiled
from cranium.learners.tabular.kernels import (
    ACCEPTED,
    AGE,
    CHOSEN,
    CONFIGURATION,
    CURRENT,
    EPSILON_GREEDY,
    GOES_ON,
    MEMBERS,
    NOT_FINITE,
    OVERFLOWED,
    REFUSED,
    RUNNING,
    SAMPLES,
    SEEN,
    STATE,
    Floats,
    LearnerArrays,
    WorldArrays,
    choose,
    draw,
    learn,
    log_episode,
    long,
    rates_at,
    update_arguments,
)
from cranium.learners.tabular.rule_kernels import choose_otherwise
from cranium.learners.tabular.set_kernels import admit, gather

__all__ = ["run"]


@compiled
def run(  # noqa: C901, PLR0915 - in one piece, because calls with tuples of arrays cost
    world: WorldArrays,
    arrays: LearnerArrays,
    steps: int,
    start: int,
    rng: np.random.Generator,
    nature: np.random.Generator,
    ends: Floats,
    log: Floats,
) -> int:
    """Interact and learn for so many samples; returns RUNNING or an error code.

    Here :func:`~cranium.learners.tabular.kernels.advance` is written out: called with tuples of
    arrays, it would take most of the time.
    """
    arguments = update_arguments(arrays)
    q, _, next_configuration, function, ending, members, reward, _, _ = arguments
    counters, known, candidates = arrays.counters, arrays.known, arrays.candidates
    settings = arrays.settings
    rates, position, rule = arrays.rates, arrays.position, int(arrays.rates[9])
    first, next_state, cumulative, rows = world.first, world.next_state, world.cumulative, world.row
    terminated, extra, starts = world.terminated, world.extra, world.starts
    start_cumulative, observation = world.start_cumulative, world.observation
    kind, discount, horizon = int(arrays.settings[0]), arrays.settings[1], int(arrays.settings[2])
    actions = q.shape[2]
    state, x, age = position[STATE], position[CONFIGURATION], position[AGE]
    sample, count, status = position[SAMPLES], position[MEMBERS], RUNNING
    episodes, earned = int(ends[0]), ends[3]
    for _ in range(steps):
        seen = observation[state]
        rate, power, epsilon = rates_at(rates, sample, episodes)
        explore, pick = rng.random(), rng.random()
        if rule == EPSILON_GREEDY:
            action = choose(q, seen, x, epsilon, explore, pick)
        else:
            action = choose_otherwise(q, seen, x, rule, epsilon, pick, position)
            if action < 0:
                status = action
                break
        pair = state * actions + action
        k = draw(cumulative, long(first[pair]), long(first[pair + 1]), nature)
        row, after = rows[k], observation[next_state[k]]
        then = next_configuration[row, x]
        if then < 0:
            status = REFUSED
            break
        ahead = 0.0 if terminated[k] else discount
        learn(*arguments, extra, count, seen, action, after, row, k, ahead, rate, power)
        if not np.isfinite(q[seen, x, action]):
            status = NOT_FINITE
            break
        age += 1
        sample += 1
        pay = reward[row, x] + extra[k, 0]
        if function[row, x] >= 0:
            pay += extra[k, 1 + function[row, x]]
        earned += pay
        if terminated[k] or ending[then] != GOES_ON or age == horizon:
            log_episode(log, episodes, sample, earned, ending[then] == ACCEPTED)
            episodes, earned = episodes + 1, 0.0
            ends[1] += ending[then] == ACCEPTED
            ends[2] += ending[then] == OVERFLOWED
            index = draw(start_cumulative, long(0), starts.shape[0], nature)
            state, x, age = np.int64(starts[index]), start, 0
        else:
            state, x = np.int64(next_state[k]), np.int64(then)
        if kind == CURRENT:
            members[0], count = x, 1
        elif kind == SEEN and not known[counters[x]]:
            count = admit(x, counters, known, ending, members, count)
        elif kind == CHOSEN:
            count = gather(x, candidates, ending, counters, known, members, settings, position)
    position[STATE], position[CONFIGURATION], position[AGE] = state, x, age
    position[SAMPLES], position[MEMBERS] = sample, count
    ends[0], ends[3] = episodes, earned
    return status
