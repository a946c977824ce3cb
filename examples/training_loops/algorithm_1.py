"""Algorithm 1 of the paper, counterfactual Q-learning, with nothing but dictionaries.

    python examples/training_loops/algorithm_1.py

It is slow and obvious. Given the same random numbers, the compiled loop of ``cranium.train(env,
"cql", configurations="seen")`` computes the same values; a test compares them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

import cranium
from cranium.worlds import LetterEnv, LetterSpec


# -- algorithm 1 --
def counterfactual_q_learning(
    world, machine, configurations, steps, horizon, alpha, gamma, epsilon, agent, nature
):
    """Return Q(s, ⟨u, c⟩, a) after so many steps; two generators draw for agent and nature."""
    q, actions, cache = defaultdict(float), range(world.action_space.n), {machine.start.counters}
    s, x, age = draw(nature, world.initial({})), machine.start, 0
    for _ in range(steps):
        explore, which = agent.random(2)
        o, best = see(world, s), max(q[see(world, s), x, a] for a in actions)
        greedy = [a for a in actions if q[o, x, a] == best]
        options = actions if explore < epsilon else greedy
        action = options[int(which * len(options))]
        outcome = draw(nature, [(one.probability, one) for one in world.outcomes(s, action)])
        label = world.label(s, action, outcome.state) & set(machine.propositions)
        after, learned = see(world, outcome.state), {}
        for y in [y for y in configurations if y.counters in cache]:  # counterfactual
            step = machine.step(y, label)
            target = step.reward
            if not (outcome.terminated or machine.is_terminal(step.configuration)):
                target += gamma * max(q[after, step.configuration, a] for a in actions)
            learned[o, y, action] = q[o, y, action] + alpha * (target - q[o, y, action])
        q |= learned
        s, x, age = outcome.state, machine.step(x, label).configuration, age + 1
        if outcome.terminated or machine.is_terminal(x) or age == horizon:
            s, x, age = draw(nature, world.initial({})), machine.start, 0
        cache.add(x.counters)
    return q


def see(world, s):
    """The observation of a state of the world, as a key."""
    return tuple(world.observe(s).tolist())


def draw(rng, options):
    """One of several things, given as pairs of a probability and the thing."""
    bounds = np.cumsum([probability for probability, _ in options[:-1]])
    return options[int(np.searchsorted(bounds, rng.random(), side="right"))][1]


def list_configurations(machine, limit):
    """All ⟨u, c⟩ in which the machine can wait for a label, with counters up to a limit."""
    found = cranium.tables.reachable_configurations(machine, limit)
    alive = [x for x in found if not cranium.tables.is_overflow(x)]
    return [x for x in alive if not machine.is_terminal(x)]


# -- end --


def make() -> tuple[Any, Any]:
    """Make a small letter world, and the task A^N B C^N."""
    letters = [LetterSpec("A", (0, 0), times=(1, 2), then="B"), LetterSpec("C", (0, 2))]
    world = LetterEnv(letters, rows=2, columns=3, start=(1, 1))
    return world, cranium.compile_language("A^N B C^N")


def main() -> None:
    """Learn, and tell which configurations were learned about."""
    world, machine = make()
    agent, nature = np.random.default_rng(0), np.random.default_rng(1)
    found = list_configurations(machine, 40)
    q = counterfactual_q_learning(world, machine, found, 3_000, 40, 0.5, 0.9, 0.2, agent, nature)
    start = see(world, world.initial({})[0][1])
    for x in sorted({x for _, x, _ in q}):
        print(f"{x}: {max(q[start, x, a] for a in range(4)):.3f}")


if __name__ == "__main__":
    main()
