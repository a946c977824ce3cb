"""Tables against the automaton's own steps, and the product wrapper against the tabular product."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from support.random_tasks import tasks
from support.strategies import build_for_tables, specs, words

import cranium
from cranium.aamdp import TabularProduct
from cranium.errors import CounterUnderflowError, RunError, SpaceError
from cranium.tables import ConfigurationSpace
from cranium.tables.configurations import OVERFLOW, is_overflow, reachable_configurations
from cranium.tables.space import REFUSED
from cranium.worlds import (
    LetterEnv,
    LetterSpec,
    OfficeWorld,
    TabularWorld,
)

pytestmark = pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning")
# What is tested here does not depend on when episodes are cut off.

SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def every_label(machine):
    names = machine.propositions
    return [c for size in range(len(names) + 1) for c in combinations(names, size)]


@pytest.mark.slow
@SLOW
@given(specs(), st.integers(0, 4))
def test_every_entry_is_what_the_automaton_does(spec, limit):
    machine = build_for_tables(spec)
    assume(max(machine.start.counters, default=0) <= limit)  # silent transitions may count at once
    space = ConfigurationSpace(machine, every_label(machine), counter_limit=limit).complete()
    tables = space.tables
    for x, configuration in enumerate(space.configurations):
        over = is_overflow(configuration)
        assert tables.terminal[x] == (over or machine.is_terminal(configuration))
        assert tables.accepting[x] == (not over and machine.is_accepting(configuration))
        for row, label in enumerate(space.labels):
            if tables.terminal[x]:
                assert tables.next_configuration[row, x] == x
                continue
            try:
                step = machine.step(configuration, label)
            except RunError as problem:
                assert tables.next_configuration[row, x] == REFUSED
                with pytest.raises(type(problem)):
                    space.step(row, x)
                continue
            after = space.decode(tables.next_configuration[row, x])
            high = max(step.configuration.counters, default=0) > limit
            assert after == (OVERFLOW if high else step.configuration)
            assert tables.reward[row, x] == step.reward


@pytest.mark.slow
@SLOW
@given(specs(), st.integers(0, 4))
def test_the_closure_is_what_any_labels_lead_to(spec, limit):
    machine = build_for_tables(spec)
    assume(max(machine.start.counters, default=0) <= limit)  # silent transitions may count at once
    space = ConfigurationSpace(machine, every_label(machine), counter_limit=limit).complete()
    assert {*space.configurations} - {OVERFLOW} == {*reachable_configurations(machine, limit)} - {
        OVERFLOW
    }


@pytest.mark.slow
@SLOW
@given(st.data())
def test_growing_and_closed_spaces_agree_on_every_word(data):
    spec = data.draw(specs())
    machine = build_for_tables(spec)
    word = data.draw(words(spec.propositions))
    growing = ConfigurationSpace(machine, every_label(machine), counter_limit=3)
    closed = ConfigurationSpace(machine, every_label(machine), counter_limit=3).complete()
    x, y = growing.start, closed.start
    for label in word:
        row = growing.label_index(label)
        try:
            y = closed.step(row, y)
        except RunError as problem:
            with pytest.raises(type(problem)):
                growing.step(row, x)
            return
        x = growing.step(row, x)
        assert growing.decode(x) == closed.decode(y)
    assert len(growing) <= len(closed)


@pytest.mark.slow
@SLOW
@given(st.data())
def test_many_steps_are_as_many_single_steps(data):
    spec = data.draw(specs())
    machine = build_for_tables(spec)
    many = ConfigurationSpace(machine, every_label(machine), counter_limit=3)
    if data.draw(st.booleans()):
        many.complete()
    for label in data.draw(words(spec.propositions)):
        with suppress(RunError):
            many.step(many.label_index(label), len(many) - 1)
    size = data.draw(st.integers(1, 8))
    here, rows = (
        np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=size, max_size=size)))
        for count in (len(many), len(many.labels))
    )
    one = ConfigurationSpace(machine, every_label(machine), counter_limit=3).complete()
    same = [one.encode(many.decode(x)) for x in here]
    expected, problem = [], None
    for row, x in zip(rows.tolist(), same, strict=True):
        try:
            expected.append(one.decode(one.step(row, x)))
        except RunError as raised:
            problem = problem or raised
    if problem is None:
        assert [many.decode(int(x)) for x in many.step_many(rows, here)] == expected
    else:
        with pytest.raises(RunError):
            many.step_many(rows, here)


@pytest.mark.parametrize(
    ("world", "task", "limit"),
    [
        (LetterEnv.experiment((1, 3)), "anbcdn", 2),
        (LetterEnv.running_example((1, 2)), "anbcn", 50),
        (OfficeWorld(mail=(1, 3)), "office", 2),
        (OfficeWorld(mail=None, layout="toro-icarte"), "toro-coffee-mail", 0),
    ],
)
def test_the_wrapper_and_the_tabular_product_are_one(world, task, limit):
    """Bit for bit: states, configurations, rewards, ends, for random walks with overflow."""
    machine = cranium.library.load(task)
    env = cranium.product(world, machine, counter_limit=limit)
    table = TabularProduct.of(TabularWorld.of(world), machine, counter_limit=limit)
    rng = np.random.default_rng(0)
    pair, overflows = -1, 0
    for step in range(20_000):
        if pair < 0:
            env.reset(seed=step)
            pair = table.pair(world.state, machine.start)
        action = int(rng.integers(4))
        _, reward, terminated, truncated, info = env.step(action)
        row = pair * 4 + action
        (k,) = range(table.first[row], table.first[row + 1])
        assert reward == table.reward[k]
        assert (terminated, truncated) == (table.next_pair[k] < 0, False)
        assert info["success"] == table.success[k]
        overflows += info["overflow"]
        pair = int(table.next_pair[k])
        if pair >= 0:
            assert table.world.states[table.state[pair]] == world.state
            assert table.space.decode(int(table.configuration[pair])) == env.configuration
    assert (overflows > 0) == (task == "anbcdn"), "the walk must have met an overflow"


@pytest.mark.slow
@SLOW
@given(st.data())
def test_on_random_worlds_and_machines_the_wrapper_and_the_tabular_product_are_one(data):
    machine, world = data.draw(tasks(counters=2))
    # Our worlds pay nothing: it only decides which way a step goes.
    slowly = data.draw(st.booleans())
    env = cranium.product(world, machine, counter_limit=3, add_ground_reward=slowly)
    try:
        table = TabularProduct.of(TabularWorld.of(world), machine, counter_limit=3)
    except RunError:
        reject()  # some way leads to an error: then there is no table
    env.reset(seed=0)
    pair = table.pair(0, machine.start)
    for action in data.draw(st.lists(st.integers(0, 1), max_size=30)):
        _, reward, terminated, truncated, info = env.step(action)
        row = pair * 2 + action
        matches = [
            k
            for k in range(table.first[row], table.first[row + 1])
            if table.reward[k] == reward
            and (table.next_pair[k] < 0) == terminated
            and table.success[k] == info["success"]
            and (
                terminated
                or (
                    table.state[table.next_pair[k]] == table.world.states.index(world.state)
                    and table.space.decode(int(table.configuration[table.next_pair[k]]))
                    == env.configuration
                )
            )
        ]
        assert matches
        assert not truncated
        if terminated:
            break
        pair = int(table.next_pair[matches[0]])


def test_a_refused_step_is_refused_by_the_tabular_product_too():
    machine = cranium.CountingRewardAutomaton(
        propositions=["A"],
        counters=["n"],
        initial="u",
        transitions=[
            cranium.Transition(source="u", guard="A", zero_pattern="0", change=(1,)),
            cranium.Transition(source="u", guard="A", zero_pattern="1", change=(-2,)),
        ],
    )
    world = LetterEnv([LetterSpec("A", (0, 0))], rows=1, columns=1, start=(0, 0))
    env = cranium.product(world, machine)
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(CounterUnderflowError):
        env.step(0)
    with pytest.raises(CounterUnderflowError):
        TabularProduct.of(TabularWorld.of(world), machine)


def test_spaces_that_do_not_fit_are_refused_with_an_estimate():
    office = cranium.library.load("office")
    labels = [(), *office.propositions]
    with pytest.raises(SpaceError, match=r"more than 1,000 .* there may be 12,024,012.* MiB"):
        ConfigurationSpace(office, labels, counter_limit=2001, max_configurations=1000).complete()
    with pytest.raises(SpaceError, match="more than 10 configurations with counters up to 9"):
        reachable_configurations(office, 9, max_configurations=10)
    growing = ConfigurationSpace(office, labels, max_configurations=3)
    x = growing.step(1, growing.step(1, growing.start))
    with pytest.raises(SpaceError, match="more than 3 configurations"):
        growing.step(1, x)


@pytest.mark.slow
def test_the_kernels_do_the_same_without_the_compiler():
    """The laws above, and the planner, with Numba switched off."""
    here = Path(__file__).parent
    tests = [
        f"{here}/test_table_laws.py::test_the_wrapper_and_the_tabular_product_are_one",
        f"{here}/../aamdp/test_planning.py::test_without_a_discount_the_optimal_policy_takes_the_fewest_steps",
        f"{here}/../aamdp/test_planning.py::test_the_greedy_policy_earns_the_value_of_the_start",
        f"{here}/../aamdp/test_planning.py::test_a_random_world_through_its_model",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", *tests],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout
