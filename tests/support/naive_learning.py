"""Algorithm 1 and Algorithm 2 of the paper with dictionaries, slowly and obviously.

It draws the same random numbers as the compiled loop, in the same order: for each sample two for
the agent (explore? which action?) and one for the world, and one for each start.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from cranium.counterfactual import ConfigurationArrays
from cranium.errors import RunError
from cranium.learners import EpsilonGreedy, Optimism, Schedule, Visits
from cranium.learners.exploration import exploration_rule
from cranium.tables.configurations import OVERFLOW, is_overflow


def pick(rng, options):
    """One of the (probability, thing) pairs."""
    drawn, total = rng.random(), 0.0
    for probability, thing in options[:-1]:
        total += probability
        if total > drawn:
            return thing
    return options[-1][1]


def is_over(machine, x):
    return is_overflow(x) or machine.is_terminal(x)


def step(machine, x, label, limit):
    try:
        found = machine.step(x, label)
    except RunError:
        return None
    high = max(found.configuration.counters, default=0) > limit
    return (OVERFLOW if high else found.configuration), found.reward


def potentials(machine, limit, discount):
    """Value iteration on the machine, over all labels."""
    names = machine.propositions
    labels = [c for size in range(len(names) + 1) for c in combinations(names, size)]
    edges, todo = {}, [machine.start]
    while todo:
        x = todo.pop()
        if x not in edges:
            found = [] if is_over(machine, x) else [step(machine, x, y, limit) for y in labels]
            edges[x] = [edge for edge in found if edge is not None]
            todo += [after for after, _ in edges[x]]
    value = dict.fromkeys(edges, 0.0)
    while True:
        new = {x: max((r + discount * value[y] for y, r in edges[x]), default=0.0) for x in edges}
        if max(abs(new[x] - value[x]) for x in value) <= 1e-12:
            return new
        value = new


def relabelled(config, configurations, machine, x, seen):
    """For which configurations the transition is relabelled; those seen first come first."""
    alive = [y for y in configurations if not is_over(machine, y)]
    if config.configurations == "current":
        return [x]
    if config.configurations == "seen":
        return [y for counters in seen for y in alive if y.counters == counters]
    if config.configurations == "reachable":
        return alive
    chosen, order = config.configurations, list(configurations)
    arrays = ConfigurationArrays.of(order)
    rows = chosen.candidates(arrays, np.array([order.index(x)]))[0]
    found = [y for y, member in zip(order, rows, strict=True) if member and y in alive]
    if chosen.seen_only:
        found = [y for y in found if y.counters in seen]
    return [x, *(y for y in found if y != x)]


def choose(rule, values, rate, explore, which):
    """An action: ε-greedy with two random numbers, any other rule with the second one."""
    if isinstance(rule, EpsilonGreedy | Optimism):
        if explore < rate:
            return int(which * len(values))
        ties = [a for a, value in enumerate(values) if value == max(values)]
        return ties[int(which * len(ties))]
    total = 0.0
    for action, probability in enumerate(rule.probabilities(np.array(values), rate)):
        total += probability
        if total > which:
            return action
    return len(values) - 1


def train(world, machine, config, configurations, limit, horizon, steps, seed):  # noqa: C901
    """After so many samples Q, (observation, configuration, action) to value, and a log.

    The log has a row for each episode that ended: the samples then, its return, its success.
    """
    first, second = np.random.SeedSequence(seed).spawn(2)
    agent = np.random.default_rng(first)
    nature = np.random.default_rng(int(second.generate_state(1)[0]))
    actions = range(world.action_space.n)
    known = frozenset(machine.propositions)
    q, visits, seen = {}, {}, {}
    phi = dict.fromkeys(configurations, 0.0)
    if config.shaping:
        sign = -1 if config.shaping == "published" else 1
        value = potentials(machine, limit, config.shaping_discount)
        phi = {x: sign * value.get(x, 0.0) for x in configurations}

    def see(state):
        return tuple(world.observe(state).tolist())

    def value(o, x, a):
        return q.get((o, x, a), config.first_value)

    def begin():
        state = pick(nature, world.initial({}))
        seen[machine.start.counters] = None
        return state, machine.start, 0

    def now(schedule):
        return schedule.at(len(log) if schedule.unit == "episodes" else sample)

    log, earned = [], 0.0
    state, x, age = begin()
    for sample in range(steps):
        explore, which = agent.random(), agent.random()
        rule, o = exploration_rule(config.exploration), see(state)
        rate = now(rule.rate) if isinstance(rule.rate, Schedule) else rule.rate
        action = choose(rule, [value(o, x, a) for a in actions], rate, explore, which)
        chosen = pick(nature, [(out.probability, out) for out in world.outcomes(state, action)])
        label = world.label(state, action, chosen.state) & known
        o2 = see(chosen.state)
        learned = {}
        for y in relabelled(config, configurations, machine, x, seen):
            found = step(machine, y, label, limit)
            if found is None or found[0] not in phi:
                continue
            after, reward = found
            target = reward - phi[y]
            if not (chosen.terminated or is_over(machine, after)):
                target += config.discount * (max(value(o2, after, a) for a in actions) + phi[after])
            rate = config.learning_rate
            if isinstance(rate, Schedule):
                rate = now(rate)
            if isinstance(rate, Visits):
                visits[o, y, action] = visits.get((o, y, action), 0) + 1
                rate = 1.0 / visits[o, y, action] ** rate.power
            learned[o, y, action] = value(o, y, action) + rate * (target - value(o, y, action))
        q |= learned  # all at once
        x, reward = step(machine, x, label, limit)
        age, earned = age + 1, earned + reward
        if chosen.terminated or is_over(machine, x) or age == horizon:
            log.append((sample + 1, earned, not is_overflow(x) and machine.is_accepting(x)))
            earned = 0.0
            state, x, age = begin()
        else:
            state = chosen.state
            seen[x.counters] = None
    return q, log
