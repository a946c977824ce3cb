"""Tables that grow with what is met: what they hold, and how much is copied for it."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.random_tasks import LABELS, lively_machine

import cranium
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import RunError
from cranium.learners import TabularConfig, train
from cranium.learners.planner import agent as planners
from cranium.learners.tabular import arrays as memories
from cranium.learners.tabular import kernels
from cranium.learners.tabular.arrays import LearnerTables
from cranium.tables import space as tables
from cranium.tables.configurations import apply_limit, is_overflow
from cranium.tables.space import ConfigurationSpace

SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
KINDS = {"current": kernels.CURRENT, "seen": kernels.SEEN, "reachable": kernels.REACHABLE}


def expected(machine, space, row, x):
    """The next configuration and the reward, asked of the machine; UNKNOWN if it was never met."""
    configuration = space.configurations[x]
    if is_overflow(configuration) or machine.is_terminal(configuration):
        return x, 0.0
    try:
        step = machine.step(configuration, space.labels[row])
    except RunError:
        return kernels.REFUSED, 0.0
    after = apply_limit(step.configuration, space.counter_limit)
    known = after in space.configurations
    return (space.configurations.index(after), step.reward) if known else (kernels.UNKNOWN, 0.0)


def assert_tables(held, machine, seen):
    """The tables say what the machine says, and the members are those of the set."""
    arrays, space = held.arrays, held.space
    count = len(space)
    for x in range(count):
        for row in range(len(space.labels)):
            found = (arrays.next_configuration[row, x], arrays.reward[row, x])
            assert found == expected(machine, space, row, x)
    assert (arrays.next_configuration[:, count:] == kernels.UNKNOWN).all()
    assert (arrays.ending[count:] == kernels.FAILED).all()
    same = [[a.counters == b.counters for a in space.configurations] for b in space.configurations]
    numbers = arrays.counters[:count]
    assert np.array_equal(numbers[:, None] == numbers, same)
    alive = {
        x
        for x, configuration in enumerate(space.configurations)
        if not is_overflow(configuration) and not machine.is_terminal(configuration)
    }
    members = arrays.members[: held.position[kernels.MEMBERS]].tolist()
    assert len(set(members)) == len(members)
    if held.config.configurations == "reachable":
        assert set(members) == alive
    if held.config.configurations == "seen":
        assert set(members) == {x for x in alive if space.configurations[x].counters in seen}


@pytest.mark.slow
@SLOW
@given(st.data())
def test_what_grew_is_what_would_have_been_made_at_once(data):
    """A walk that meets labels and configurations one by one, as in a live environment."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    machine = lively_machine(rng, data.draw(st.integers(0, 2)))
    limit = data.draw(st.sampled_from([None, 2]))
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    space = ConfigurationSpace(machine, [()], counter_limit=limit)
    held = LearnerTables(space, TabularConfig(configurations=kind, initial_value=0.5), 3, None, 2)
    x, seen, marks = space.start, set(), {}
    for turn in range(data.draw(st.integers(1, 40))):
        held.position[kernels.CONFIGURATION] = x
        held.follow(x)
        seen.add(space.configurations[x].counters)
        held.arrays.q[turn % 2, x, turn % 3] = marks[turn % 2, x, turn % 3] = float(turn)
        row = space.add_label(LABELS[int(rng.integers(len(LABELS)))])
        held.grow(held.room + int(rng.integers(3)) if rng.random() < 0.1 else None)
        try:
            after = space.step(row, x)
        except RunError:
            after = space.start
        held.grow()
        assert_tables(held, machine, seen)
        assert held.arrays.q.sum() == 0.5 * (held.arrays.q.size - len(marks)) + sum(marks.values())
        assert all(held.arrays.q[place] == mark for place, mark in marks.items())
        over = space.is_overflow(after)
        ended = over or machine.is_terminal(space.configurations[after])
        x = space.start if ended else after


class Clock(gym.Env):
    """Ten hours, whatever is done."""

    observation_space = gym.spaces.Discrete(10)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return 0, {}

    def step(self, action):
        self.time += 1
        return self.time % 10, 0.0, False, False, {}


def counting(horizon):
    """Every step is counted: each meets a configuration that is new."""
    steps = [
        {"source": "u", "guard": "A & !B", "change": (1, 0)},
        {"source": "u", "guard": "B & !A", "change": (0, 1), "reward": 0.01},
    ]
    machine = CountingRewardAutomaton(
        propositions=["A", "B"],
        counters=["n", "m"],
        initial="u",
        transitions=[cranium.Transition(**one) for one in steps],
    )
    label = cranium.labelling("A", "B")(lambda s, a, t: "AB"[int(a)])
    return cranium.product(Clock(), machine, label, horizon=horizon)


def costs(monkeypatch, learner, count, **told):
    """How many bytes are copied, how often arrays are made, how often the machine is asked."""
    found = {"bytes": 0, "arrays": 0, "steps": 0}
    copy_into, step = tables.copy_into, CountingRewardAutomaton.step
    allocate = LearnerTables._allocate

    def counted_copy(old, new):
        found["bytes"] += old.nbytes
        copy_into(old, new)

    def counted_step(self, *given):
        found["steps"] += 1
        return step(self, *given)

    def counted_allocate(self, *given):
        found["arrays"] += 1
        allocate(self, *given)

    with monkeypatch.context() as patched:
        for module in (tables, memories, planners):
            patched.setattr(module, "copy_into", counted_copy)
        patched.setattr(CountingRewardAutomaton, "step", counted_step)
        patched.setattr(LearnerTables, "_allocate", counted_allocate)
        more = {"evaluation_env": counting(5), "evaluation_episodes": 1, "evaluate_every": count}
        result = train(counting(count), learner, steps=count, path="python", **more, **told)
    assert len(result.policy.configurations) == count + 1
    return found, result.q.nbytes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "told"),
    [
        ("ql", {}),
        ("cql", {}),
        ("cql", {"configurations": "seen", "shaping": True}),
        ("planner", {}),
    ],
)
def test_what_is_copied_grows_no_faster_than_what_is_held(monkeypatch, learner, told):
    small, held = costs(monkeypatch, learner, 300, **told)
    large, more = costs(monkeypatch, learner, 1200, **told)
    assert large["bytes"] < 8 * small["bytes"], "sixteen times would be quadratic"
    assert large["bytes"] < 40 * more
    assert large["arrays"] <= small["arrays"] + 3, "by doubling"
    assert large["steps"] < 10 * 1200, "each label is worked out once in each configuration"
    assert more > 3 * held
