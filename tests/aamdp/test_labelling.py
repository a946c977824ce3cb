"""Labelling functions, and the checker that looks at what they do."""

from __future__ import annotations

import pickle

import gymnasium as gym
import numpy as np
import pytest
from support.environments import Line, moved

import cranium
from cranium.aamdp import Labelling
from cranium.errors import (
    InvalidArgumentError,
    LabelError,
    PersistentEventWarning,
    UnsoundLabelsWarning,
    WorldError,
)
from cranium.worlds.finite import FiniteEnv, Outcome

pytestmark = pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning")
# What is tested here does not depend on when episodes are cut off.

TASK = cranium.compile_language("A B")


def test_a_declared_labelling_refuses_names_outside_of_its_vocabulary():
    wrong = cranium.labelling("mail")(lambda s, a, s2: "mial")
    with pytest.raises(LabelError, match="no such event of this labelling: 'mial'"):
        wrong(0, 0, 0)
    for events in ((), (3,)):
        with pytest.raises(InvalidArgumentError, match="name the events"):
            cranium.labelling(*events)
    with pytest.raises(InvalidArgumentError, match="a labelling is a function"):
        Labelling(3, ["A"])
    with pytest.raises(InvalidArgumentError, match="a list of names, not 'goal'"):
        Labelling(moved, "goal")
    with pytest.raises(LabelError, match="cells are numbers or rows and columns"):
        cranium.labelling_from_cells({1: "A"})(None, 0, {"x": 1})


def test_cells_may_be_numbers_or_rows_and_columns():
    cells = cranium.labelling_from_cells({(1, 2): "A", 7: ["A", "B"]})
    assert cells(None, 0, np.array([1, 2])) == {"A"}
    assert cells(None, 0, (1, 2)) == {"A"}
    assert cells(None, 0, np.int64(7)) == {"A", "B"}
    assert cells(None, 0, 8) == frozenset()
    assert cells.events == ("A", "B")


@pytest.mark.parametrize("wrong", [None, 3, [3, "x"], [["goal"]], {1: 2}])
def test_a_labelling_that_returns_no_names_is_refused(wrong):
    env = cranium.product(Line(), cranium.compile_language("A"), lambda s, a, s2: wrong)
    env.reset()
    with pytest.raises(LabelError, match="a labelling returns the names of events"):
        env.step(1)


@cranium.labelling("A")
def decorated(before, action, after):
    return "A" if action else ()


def test_a_labelling_that_takes_something_else_is_refused_when_it_is_given():
    lake, task = gym.make("FrozenLake-v1"), cranium.compile_language("goal")
    with pytest.raises(InvalidArgumentError, match="too many positional arguments"):
        cranium.product(lake, task, lambda before, after: "goal")
    with pytest.raises(InvalidArgumentError, match="missing a required argument: 'more'"):
        cranium.labelling("goal")(lambda before, action, after, more: "goal")
    with pytest.raises(InvalidArgumentError, match=r"not \{15: 'goal'\}") as refused:
        cranium.product(lake, task, {15: "goal"})
    assert "labelling_from_cells" in refused.value.fix
    cranium.product(lake, task, lambda *step, name="goal": name)


def test_a_decorated_labelling_can_be_pickled():
    env = cranium.product(Line(), cranium.compile_language("A^3"), decorated)
    assert pickle.loads(pickle.dumps(env)).labelling is decorated
    local = cranium.labelling("A")(moved)
    assert pickle.loads(pickle.dumps(local)).events == ("A",)


def test_the_checker_reports_what_was_seen_what_never_and_what_is_unknown():
    env = gym.wrappers.TimeLimit(Line(), 20)
    report = cranium.check_labelling(env, TASK, lambda s, a, s2: {"A", "C"} if a else (), steps=500)
    assert report.steps == 500 == sum(report.seen.values())
    assert report.never_seen == ("B",)
    assert report.unknown == ("C",)
    assert report.is_sound
    assert "never seen: B" in str(report)
    assert "unknown to the automaton: C" in str(report)


def test_the_checker_finds_labels_that_depend_on_something_hidden():
    count = iter(range(10_000))
    with pytest.warns(UnsoundLabelsWarning, match="had the labels"):
        report = cranium.check_labelling(
            gym.wrappers.TimeLimit(Line(), 20),
            TASK,
            lambda s, a, s2: "AB"[next(count) % 2],
            steps=300,
        )
    assert not report.is_sound
    labels = report.ambiguous[0][3]
    assert set(labels) == {frozenset("A"), frozenset("B")}


def test_the_checker_keeps_observations_that_the_environment_writes_into():
    env = gym.wrappers.TimeLimit(Line(), 20)
    assert cranium.check_labelling(env, TASK, moved, steps=500).is_sound
    assert cranium.check_labelling(env, TASK, moved, steps=500).seen[frozenset("A")] > 0


class Coin(FiniteEnv):
    """What an event is depends on a coin that is tossed at the beginning of an episode."""

    vocabulary = ("A", "B")
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.MultiDiscrete([2])

    def initial(self, options):
        return [(0.5, (0, 0)), (0.5, (0, 1))]

    def outcomes(self, state, action):
        return [Outcome(1.0, (action, state[1]))]

    def label(self, state, action, after):
        return frozenset({"AB"[after[1]]}) if after[0] else frozenset()

    def observe(self, state):
        return np.array([state[0]])


def test_the_checker_begins_anew_in_worlds_that_never_end():
    assert not cranium.check_labelling(Coin(), TASK, steps=2000, warn=False).is_sound
    only = cranium.compile_language("C")  # reads neither of the two
    assert cranium.check_labelling(Coin(), only, steps=2000).is_sound


def test_a_dictionary_is_no_collection_of_events():
    env = cranium.product(Line(), TASK, lambda s, a, s2: {"A": False}, horizon=5)
    env.reset()
    with pytest.raises(LabelError, match="returns the names of events"):
        env.step(0)


def test_a_world_with_events_but_no_vocabulary_is_refused():
    line = Line()
    line.events = frozenset()
    with pytest.raises(WorldError, match="has no vocabulary"):
        cranium.product(line, TASK)


class Drift(gym.Env):
    """A point on a line of 60 that mostly goes on in one direction; regions are wide."""

    observation_space = gym.spaces.Discrete(60)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.where = 0
        return self.where, {}

    def step(self, action):
        self.where += 1 if action or self.where < 2 else 0
        return self.where, 0.0, self.where >= 59, False, {}


def regions(before, action, after):
    return "A" if 10 <= after < 20 else "B" if 30 <= after < 40 else ()


def test_the_checker_runs_the_machine_and_finds_events_that_stay_true():
    said = r"the event 'A' was true for up to \d+ steps in a row.*(\d+) of the \1 runs in which"
    with pytest.warns(PersistentEventWarning, match=said):
        report = cranium.check_labelling(Drift(), TASK, regions, steps=3000)
    (persistent,) = report.persistent
    assert persistent.event == "A"
    assert persistent.longest >= 10
    assert persistent.failed == persistent.runs >= 3
    assert str(persistent) in str(report)
    assert "cranium.rising_edges(labelling)" in str(report)
    assert report.is_sound


def test_a_trap_that_does_not_end_the_episode_is_a_failure_too():
    task = """
    propositions: [A, B]
    initial: u
    terminal: [done]
    accepting: [done]
    transitions:
      - {from: u, when: A, to: v}
      - {from: v, when: A, to: trap}
      - {from: v, when: B & !A, to: done, reward: 1}
      - {from: trap, when: A}
    """
    with pytest.warns(PersistentEventWarning, match="the event 'A'"):
        cranium.check_labelling(Drift(), cranium.loads(task), regions, steps=3000)
    # Without any success there is nothing that could be missed.
    endless = cranium.loads(task.replace("accepting: [done]", ""))
    assert cranium.check_labelling(Drift(), endless, regions, steps=3000).persistent == ()


def test_the_cure_that_the_checker_names_is_one():
    edges = cranium.rising_edges(regions)
    assert cranium.check_labelling(Drift(), TASK, edges, steps=3000).persistent == ()
    env = cranium.product(Drift(), TASK, edges, horizon=500)
    env.reset(seed=0)
    ended, seen = False, []
    while not ended:
        _, reward, ended, _, info = env.step(1)
        seen += [set(info["label"])] * bool(info["label"])
    assert seen == [{"A"}, {"B"}]
    assert (reward, info["success"]) == (1.0, True)


@pytest.mark.parametrize(("task", "blamed"), [("(A)+ B", []), ("A^N B^N", []), ("B A", ["B"])])
def test_events_that_stay_true_are_blamed_only_for_what_they_do(task, blamed):
    report = cranium.check_labelling(
        Drift(), cranium.compile_language(task, first=True), regions, steps=3000, warn=False
    )
    # In the first two both may be read often. In the third A fails at once, where it comes first.
    assert [one.event for one in report.persistent] == blamed


def test_a_cell_that_an_agent_can_leave_is_not_blamed():
    lake = gym.make("FrozenLake-v1", is_slippery=False)
    corner = cranium.labelling_from_cells({3: "A", 15: "B"})
    assert cranium.check_labelling(lake, TASK, corner, steps=5000).persistent == ()


def test_rising_edges_are_what_a_step_makes_true():
    near = cranium.labelling("near", "moved")(
        lambda s, a, s2: [*["near"] * (s2 < 5), *["moved"] * (s != s2)]
    )
    edges = cranium.rising_edges(near)
    assert edges.events == ("near", "moved")
    assert edges(7, 0, 4) == {"near", "moved"}
    assert edges(4, 0, 3) == {"moved"}
    assert edges(4, 0, 4) == edges(7, 0, 7) == frozenset()
    plain = pickle.loads(pickle.dumps(cranium.rising_edges(regions)))
    assert plain(9, 1, 10) == {"A"}
    assert plain(10, 1, 11) == frozenset()
    with pytest.raises(InvalidArgumentError, match="a labelling is a function"):
        cranium.rising_edges("A")
    with pytest.raises(InvalidArgumentError, match="a world names itself"):
        cranium.rising_edges(cranium.product(Coin(), TASK, horizon=9).labelling)
