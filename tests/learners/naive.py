"""Algorithm 1 and Algorithm 2 of the paper with dictionaries, slowly and obviously.

It draws the same random numbers as the compiled loop, in the same order: for each sample two for
the agent (explore? which action?), one for the world where it has a choice.
"""

from __future__ import annotations

import numpy as np

from cranium.compiled.tables import OVERFLOW
from cranium.errors import RunError
from cranium.learners import Schedule, Visits


def pick(rng, options):
    """One of the (probability, thing) pairs."""
    if len(options) == 1:
        return options[0][1]
    drawn, total = rng.random(), 0.0
    for probability, thing in options[:-1]:
        total += probability
        if total > drawn:
            return thing
    return options[-1][1]


def is_over(machine, x):
    return x == OVERFLOW or machine.is_terminal(x)


def step(machine, x, label, limit):
    try:
        found = machine.step(x, label)
    except RunError:
        return None
    high = max(found.configuration.counters, default=0) > limit
    return (OVERFLOW if high else found.configuration), found.reward


def potentials(machine, labels, configurations, limit, discount):
    value = dict.fromkeys(configurations, 0.0)
    while True:
        new = {}
        for x in configurations:
            gains = [] if not is_over(machine, x) else [0.0]
            for label in labels if not is_over(machine, x) else ():
                found = step(machine, x, label, limit)
                if found is not None and found[0] in value:
                    after, reward = found
                    ahead = 0.0 if is_over(machine, after) else value[after]
                    gains.append(reward + discount * ahead)
            new[x] = max(gains)
        if max(abs(new[x] - value[x]) for x in value) <= 1e-12:
            return new
        value = new


def all_labels(world, known):
    states, found = [s for _, s in world.initial({})], set()
    met = set(states)
    while states:
        state = states.pop()
        for action in range(world.action_space.n):
            for outcome in world.outcomes(state, action):
                found.add(world.label(state, action, outcome.state) & known)
                if outcome.state not in met:
                    met.add(outcome.state)
                    states.append(outcome.state)
    return found


def imagined(config, configurations, machine, x, seen):
    """From which configurations the experience is imagined; those seen first come first."""
    alive = [y for y in configurations if not is_over(machine, y)]
    if config.configurations == "current":
        return [x]
    if config.configurations == "seen":
        return [y for counters in seen for y in alive if y.counters == counters]
    return alive


def train(world, machine, config, configurations, limit, horizon, steps, seed):  # noqa: C901
    """Q after so many samples: (observation, configuration, action) to value."""
    agent, nature = (np.random.default_rng(np.random.SeedSequence([seed, i])) for i in (0, 1))
    actions = range(world.action_space.n)
    known = frozenset(machine.propositions)
    q, visits, seen = {}, {}, {}
    phi = dict.fromkeys(configurations, 0.0)
    if config.shaping:
        labels = all_labels(world, known)
        phi = potentials(machine, labels, configurations, limit, config.shaping_discount)

    def see(state):
        return tuple(world.observe(state).tolist())

    def value(o, x, a):
        return q.get((o, x, a), config.initial_value)

    def begin():
        state = pick(nature, world.initial({}))
        seen[machine.start.counters] = None
        return state, machine.start, 0

    state, x, age = begin()
    for sample in range(steps):
        explore, which = agent.random(), agent.random()
        epsilon, o = config.exploration, see(state)
        if isinstance(epsilon, Schedule):
            epsilon = epsilon.at(sample)
        if explore < epsilon:
            action = int(which * len(actions))
        else:
            best = max(value(o, x, a) for a in actions)
            ties = [a for a in actions if value(o, x, a) == best]
            action = ties[int(which * len(ties))]
        chosen = pick(nature, [(out.probability, out) for out in world.outcomes(state, action)])
        label = world.label(state, action, chosen.state) & known
        o2 = see(chosen.state)
        for y in imagined(config, configurations, machine, x, seen):
            found = step(machine, y, label, limit)
            if found is None or found[0] not in phi:
                continue
            after, reward = found
            target = reward - phi[y]
            if not (chosen.terminated or is_over(machine, after)):
                target += config.discount * (max(value(o2, after, a) for a in actions) + phi[after])
            rate = config.learning_rate
            if isinstance(rate, Schedule):
                rate = rate.at(sample)
            if isinstance(rate, Visits):
                visits[o, y, action] = visits.get((o, y, action), 0) + 1
                rate = 1.0 / visits[o, y, action] ** rate.power
            q[o, y, action] = value(o, y, action) + rate * (target - value(o, y, action))
        x = step(machine, x, label, limit)[0]
        age += 1
        if chosen.terminated or is_over(machine, x) or age == horizon:
            state, x, age = begin()
        else:
            state = chosen.state
            seen[x.counters] = None
    return q
