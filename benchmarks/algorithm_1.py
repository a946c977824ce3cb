"""What do our two deviations from Algorithm 1 of the paper change?

As published, Q begins with 0, and the configurations are updated one after the other: a later one
uses the new values of the earlier ones. Ours begin with 0.5, and all targets are computed before
the first update. Both are run in both ways, equally tuned on seeds of their own:

    initial   the compiled learners with an initial value of 0 and of 0.5, which is a setting
    order     an agent of our own with both orders of updates, of which the kernels have one
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from running import parse, write
from studying import parser_of_studies, results_of, summary_of, tell_samples

import cranium
from cranium.aamdp import find_product
from cranium.aamdp.planning import tabulate_product
from cranium.counterfactual import Relabelled, relabel
from cranium.experiments.comparison import paired_test
from cranium.learners import Policy, Problem, Sample

PROBLEMS = {
    "Letter, N = 1": "cranium/Letter-anbcdn-v0",
    "Letter, N = 1 to 5": "cranium/Letter-anbcdn-v0",
    "Office, mail and coffee": "cranium/Office-mail-and-coffee-v0",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "Letter, N = 1": {"times": 1},
    "Letter, N = 1 to 5": {"times": (1, 5)},
    "Office, mail and coffee": {},
}
INITIAL, ORDERS = (0.0, 0.5), ("sequential", "synchronous")
GRID = {"learning_rate": [0.5, 1.0], "exploration": [0.05, 0.1, 0.3]}


class AlgorithmOne:
    """Algorithm 1, with its cache of observed counter values, in Python.

    ``"sequential"`` updates one configuration after the other, by machine state and then by
    counters, as in lines 9 to 18. ``"synchronous"`` computes all targets first.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        discount: float = 0.99,
        order: str = "sequential",
        initial_value: float = 0.0,
        learning_rate: float = 0.5,
        exploration: float = 0.05,
    ) -> None:
        self.problem, self.discount, self.order = problem, discount, order
        self.initial_value, self.learning_rate = initial_value, learning_rate
        self.exploration = exploration
        states = problem.product.automaton.states
        self.ranks = {state: number for number, state in enumerate(states)}
        self.tables: dict[bytes, NDArray[np.float64]] = {}  # of an observation: [X, A]
        self.observations: list[Any] = []
        self.cache: set[tuple[int, ...]] = set()  # the counter values that were observed
        self.sources = np.zeros(0, np.int64)  # the configurations with them, in the paper's order
        self.size = 0

    def values(self, observation: Any) -> NDArray[np.float64]:
        """Q of an observation, with a row for each configuration."""
        key, size = observation.tobytes(), len(self.problem.space)
        found = self.tables.get(key)
        if found is None or len(found) < size:
            if found is None:
                self.observations.append(observation)
            actions = int(self.problem.action_space.n)  # type: ignore[attr-defined]
            grown = np.full((size, actions), self.initial_value)
            if found is not None:
                grown[: len(found)] = found
            self.tables[key] = found = grown
        return found

    def act(self, observation: Any, configuration: int) -> int:
        """Choose an action, ε-greedily (line 7)."""
        self.note(configuration)
        rng, values = self.problem.rng, self.values(observation)[configuration]
        explore, which = rng.random(2)
        options = np.flatnonzero(values == values.max())
        if explore < self.exploration:
            options = np.arange(len(values))
        return int(options[int(which * len(options))])

    def note(self, configuration: int) -> None:
        """Add counter values to the cache, and list the configurations with those in it."""
        space = self.problem.space
        counters = space.decode(configuration).counters
        if counters in self.cache and self.size == len(space):
            return
        self.cache.add(counters)
        self.problem.note(configuration)
        members = self.problem.members(configuration, "seen").tolist()
        seen = {x: space.decode(x) for x in members}
        ordered = sorted(members, key=lambda x: (self.ranks[seen[x].state], seen[x].counters))
        self.sources, self.size = np.array(ordered), len(space)

    def observe(self, sample: Sample[Any, int]) -> None:
        """Learn from a sample in every configuration of the cache (lines 9 to 18)."""
        space, ended = self.problem.space, np.array([sample.ground_terminated])
        for x in self.sources[space.tables.next_configuration[sample.label, self.sources] < 0]:
            space.look(sample.label, int(x))  # fills the table
        batch = relabel(
            space.tables, self.sources[None], np.array([sample.label]), ended, sample.extra[None]
        )
        found = Relabelled(*(column[0] for column in batch))
        before, after = self.values(sample.observation), self.values(sample.next_observation)
        rows: Any = [slice(None)]
        # Only if the observation stays the same can an update change the target of another one.
        if before is after and self.order == "sequential":
            rows = [[row] for row in range(len(self.sources))]
        for row in rows:
            ahead = np.where(found.terminated[row], 0.0, after[found.target[row]].max(axis=1))
            error = found.reward[row] + self.discount * ahead
            error -= before[found.source[row], sample.action]
            step = self.learning_rate * found.weight[row] * error
            before[found.source[row], sample.action] += step

    def policy(self) -> Policy:
        """The greedy policy."""
        q = np.array([self.values(observation) for observation in self.observations])
        space = self.problem.space
        return Policy(
            q,
            tuple(self.observations),
            tuple(space.configurations),
            self.problem.product.automaton,
            observation_space=self.problem.observation_space,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy."""
        self.policy().save(path)


def make(name: str) -> gym.Env[Any, Any]:
    """A problem."""
    return gym.make(PROBLEMS[name], **OPTIONS[name])


def count_orders(name: str) -> tuple[int, int]:
    """In how many outcomes the order matters, and how many there are.

    In these the observation stays the same, and the label moves the machine from a configuration to
    another one that does not end the episode.
    """
    model = tabulate_product(find_product(make(name)))
    world, space = model.world, model.space
    names = set(space.automaton.propositions)
    rows = np.array([space.label_index(label & names) for label in world.labels])
    following, terminal = np.asarray(space.tables.next_configuration), space.tables.terminal
    moved = (following >= 0) & (following != np.arange(following.shape[1]))
    moves = (moved & ~terminal[following] & ~terminal).any(axis=1)
    pairs = np.repeat(np.arange(len(world.first) - 1), np.diff(world.first))
    states = pairs // world.num_actions
    stays = world.observation[states] == world.observation[world.next_state]
    return int((stays & moves[rows[world.label]]).sum()), len(states)


def compare(what: str, name: str, learners: dict[str, Any], given: Any, search: Any) -> Any:
    """Run a study of learners on a problem, and print its figures."""
    study = cranium.Study(
        f"algorithm 1, {what}, {name}",
        {name: partial(make, name)},
        learners,
        seeds=given.seeds,
        steps=min(1_000_000, given.most),
        evaluate_every=min(500 if "Office" in name else 50, given.most),
        tune=search,
    )
    found = results_of(study, given)
    for group in found.groups:
        print(f"{group.case:<25}{group.method:<22}{tell_samples(group)}", flush=True)
    return found


def compare_initial(given: argparse.Namespace) -> dict[str, Any]:
    """Q-learning and CQL with both initial values."""
    search = cranium.Grid(seeds=given.tuning_seeds, **GRID)
    learners = {
        f"{learner}, initial {value:g}": (learner, {"initial_value": value, **more})
        for learner, more in (("cql", {"configurations": "seen"}), ("ql", {}))
        for value in INITIAL
    }
    results = {}
    for name in PROBLEMS:
        found = compare("initial value", name, learners, given, search)
        results[name] = [summary_of(group) for group in found.groups]
    return results


CHOSEN = {
    ("Letter, N = 1 to 5", 0.5): {"learning_rate": 1.0, "exploration": 0.05},
    ("Office, mail and coffee", 0.5): {"learning_rate": 1.0, "exploration": 0.1},
    ("Letter, N = 1 to 5", 0.0): {"learning_rate": 0.5, "exploration": 0.05},
}
"""What tuning has chosen for ``cql`` in :func:`compare_initial`. With an initial value of 0 the
office is not solved."""


def compare_order(given: argparse.Namespace) -> dict[str, Any]:
    """Both orders, in Python, with the same settings and random numbers."""
    results: dict[str, Any] = {}
    for (name, value), settings in CHOSEN.items():
        some, every = count_orders(name)
        print(f"{name}, initial {value:g}: the order matters in {some} of {every} outcomes")
        shared = {**settings, "initial_value": value}
        learners = {order: (AlgorithmOne, {**shared, "order": order}) for order in ORDERS}
        found = compare(f"order, initial {value:g}", name, learners, given, None)
        one, other = (list(group.values) for group in found.groups)
        same = sum(a == b for a, b in zip(one, other, strict=True))
        p = 1.0 if same == len(one) else paired_test(one, other).p_value
        print(f"  {same} of {len(one)} seeds are the same, p = {p:.2f}")
        results[f"{name}, initial {value:g}"] = {
            "outcomes": every,
            "outcomes in which the order matters": some,
            "p": p,
            "groups": [summary_of(group) for group in found.groups],
        }
    return results


KINDS = {"initial": compare_initial, "order": compare_order}


def main() -> None:
    """Run both, or one of them."""
    parser = parser_of_studies(__doc__, seeds=20)
    parser.add_argument("what", choices=KINDS, nargs="?", help="left out, both")
    parser.add_argument("--tuning-seeds", type=int, default=3)
    given = parse(parser, seeds=1, most=200, tuning_seeds=1, workers=1)
    for what in [given.what] if given.what else KINDS:
        write(f"algorithm-1-{what}", KINDS[what](given), smoke=given.smoke)


if __name__ == "__main__":
    main()
