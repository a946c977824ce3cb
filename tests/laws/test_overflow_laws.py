"""A counter limit means one thing: unrolling, the product, the tables and the kernels overflow
where, and only where, the machine comes to rest with a counter above the limit.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from support import naive_machine as naive
from support.strategies import ERROR_OF, build_or_reject, specs

import cranium
from cranium import Configuration, CountingRewardAutomaton, Transition
from cranium.aamdp import TabularProduct
from cranium.errors import ConversionError, InvalidArgumentError, RunError
from cranium.tables import ConfigurationSpace
from cranium.worlds import FiniteEnv, Outcome, TabularWorld

rewards = st.sampled_from([0.0, 0.0, 1.0, -1.0])
SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


class Speaking(FiniteEnv):
    """A world of one state, in which an action says a label."""

    def __init__(self, propositions):
        super().__init__()
        self.labels = naive.all_labels(propositions)
        self.vocabulary = tuple(propositions)
        self.action_space = gym.spaces.Discrete(len(self.labels))
        self.observation_space = gym.spaces.MultiDiscrete([1])

    def initial(self, options):
        return [(1.0, 0)]

    def outcomes(self, state, action):
        return [Outcome(1.0, 0)]

    def label(self, state, action, after):
        return self.labels[int(action)]

    def observe(self, state):
        return np.array([0])


def expected(spec, word, limit):
    """For each label: the reward, whether it ends, success, overflow; or the error at the end."""
    passed, rewards, trouble = naive.run(spec, word)
    seen = []
    for (state, counters), reward in zip(passed[1:], rewards, strict=True):
        over = max(counters, default=0) > limit
        ends = over or state in spec.terminal
        seen.append((reward, ends, state in spec.accepting and not over, over))
        if ends:
            return seen
    return [*seen, ERROR_OF[trouble]] if trouble else seen


def by_unrolling(rm, word):
    here, seen = rm.start, []
    for label in word:
        if rm.is_terminal(here):
            break
        try:
            here, reward, _ = rm.step(here, label)
        except RunError as problem:
            return [*seen, type(problem)]
        over = here.state == rm.terminal[-1] and here.state.startswith("overflow")
        seen.append((reward, rm.is_terminal(here), rm.is_accepting(here), over))
    return seen


def by_the_product(machine, word, limit):
    world = Speaking(machine.propositions)
    env = cranium.product(world, machine, counter_limit=limit, horizon=len(word) + 1)
    env.reset(seed=0)
    seen = []
    for label in word:
        try:
            _, reward, terminated, _, info = env.step(world.labels.index(label))
        except RunError as problem:
            return [*seen, type(problem)]
        seen.append((reward, terminated, info["success"], info["overflow"]))
        if terminated:
            break
    return seen


def by_the_tabular_product(machine, word, limit):
    world = Speaking(machine.propositions)
    table = TabularProduct.of(TabularWorld.of(world), machine, counter_limit=limit)
    pair, seen = table.pair(0, machine.start), []
    for label in word:
        (k,) = range(*table.first[pair * len(world.labels) + world.labels.index(label) :][:2])
        pair = int(table.next_pair[k])
        seen.append((table.reward[k], pair < 0, bool(table.success[k])))
        if pair < 0:
            break
    return seen


def by_a_space(space, word):
    x, seen = space.start, []
    for label in word:
        row = space.label_index(label)
        try:
            after = space.step(row, x)
        except RunError as problem:
            return [*seen, type(problem)]
        reward = space.tables.reward[row, x]
        ends, wins = bool(space.tables.terminal[after]), bool(space.tables.accepting[after])
        seen.append((reward, ends, wins, space.is_overflow(after)))
        if ends:
            break
        x = after
    return seen


def by_arrays(space, word):
    here, seen = np.array([space.start]), []
    for label in word:
        row = np.array([space.label_index(label)])
        try:
            after = space.step_many(row, here)
        except RunError as problem:
            return [*seen, type(problem)]
        tables = space.tables
        ends, wins = bool(tables.terminal[after[0]]), bool(tables.accepting[after[0]])
        seen.append((tables.reward[row[0], here[0]], ends, wins, space.is_overflow(after[0])))
        if ends:
            break
        here = after
    return seen


def check_all(spec, machine, word, limit):
    wanted = expected(spec, word, limit)
    labels = naive.all_labels(spec.propositions)
    assert by_the_product(machine, word, limit) == wanted
    assert by_a_space(ConfigurationSpace(machine, labels, counter_limit=limit), word) == wanted
    assert by_arrays(ConfigurationSpace(machine, labels, counter_limit=limit), word) == wanted
    space = ConfigurationSpace(machine, labels, counter_limit=limit).complete()
    assert by_a_space(space, word) == wanted
    assert by_arrays(space, word) == wanted
    with suppress(RunError):  # where some way leads to an error, there is no table
        found = by_the_tabular_product(machine, word, limit)
        assert found == [step[:3] for step in wanted]
    with suppress(RunError):  # nor is there a reward machine
        assert by_unrolling(cranium.unroll(machine, limit), word) == wanted


@st.composite
def climbing(draw):
    """A machine that climbs when it reads, and walks up and down silently before it rests."""
    counters = ["n", "m"][: draw(st.integers(1, 2))]
    reading, silent, ends = ["r0", "r1"], ["s0", "s1"], ["won", "lost"]
    rules = []
    on, off = frozenset([frozenset("A")]), frozenset([frozenset()])
    for zeros in product("01", repeat=len(counters)):
        for state in reading:
            for labels in (on, off):
                target = draw(st.sampled_from([*silent * 3, *reading, *ends]))
                up = tuple(draw(st.sampled_from([1, 2, 3, 0])) for _ in zeros)
                rules.append(naive.Rule(state, target, labels, zeros, up, draw(rewards)))
        for state, targets in (("s0", ["s1", *reading]), ("s1", [*reading, "won"])):
            down = st.sampled_from([-1, -1, -1, 0, 1])
            steps = tuple(draw(down if z == "1" else st.integers(0, 1)) for z in zeros)
            rules.append(
                naive.Rule(state, draw(st.sampled_from(targets)), None, zeros, steps, draw(rewards))
            )
    states = [*reading, *silent]
    return naive.Spec(["A"], counters, states, ends, ["won"], "stay", rules)


@pytest.mark.slow
@SLOW
@given(st.data())
def test_a_limit_is_about_where_the_machine_comes_to_rest(data):
    spec = data.draw(st.one_of(climbing(), climbing(), specs()))
    assume(spec.counters)
    machine = build_or_reject(spec)
    limit = data.draw(st.sampled_from([2, 1, 3, 0]))
    labels = naive.all_labels(spec.propositions)
    word = data.draw(st.lists(st.sampled_from(labels), min_size=1, max_size=12))
    if max(machine.start.counters) > limit:
        with pytest.raises(ConversionError, match="at reset"):
            cranium.unroll(machine, limit)
        with pytest.raises(InvalidArgumentError, match="above the counter limit"):
            by_the_product(machine, word, limit)
        return
    wanted = expected(spec, word, limit)
    event(f"overflows: {any(step[3] for step in wanted if isinstance(step, tuple))}")
    event(f"passes the limit on the way only: {passes_on_the_way_only(machine, word, limit)}")
    check_all(spec, machine, word, limit)


def passes_on_the_way_only(machine, word, limit):
    rest = machine.start
    with suppress(RunError):
        for step in machine.run(word).steps:
            here, peak = rest, 0
            for transition in step.fired:
                here = machine.apply(transition, here)
                peak = max(peak, *here.counters)
            rest = step.configuration
            if peak > limit >= max(rest.counters):
                return True
    return False


@pytest.mark.parametrize("up", [3, 4])
def test_up_by_three_and_silently_down_by_one_comes_to_rest_at_two(up):
    machine = CountingRewardAutomaton(
        propositions=["A"],
        counters=["n"],
        initial="u",
        terminal=["done"],
        accepting=["done"],
        transitions=[
            Transition(source="u", guard="A", zero_pattern="0", target="v", change=(up,), reward=2),
            Transition(source="v", silent=True, zero_pattern="1", target="w", change=(-1,)),
            Transition(source="w", guard="A", target="done", reward=1),
        ],
    )
    over = up > 3
    rules = [
        naive.Rule("u", "v", frozenset([frozenset("A")]), ("0",), (up,), 2.0),
        naive.Rule("v", "w", None, ("1",), (-1,), 0.0),
        naive.Rule("w", "done", frozenset([frozenset("A")]), ("*",), (0,), 1.0),
    ]
    spec = naive.Spec(["A"], ["n"], ["u", "v", "w"], ["done"], ["done"], "stay", rules)
    word = [frozenset("A")] * 2
    first = (2.0, over, False, over)
    assert expected(spec, word, 2) == ([first] if over else [first, (1.0, True, True, False)])
    check_all(spec, machine, word, 2)
    assert not any(c == Configuration("v", (up,)) for c in machine.run(word).configurations)
