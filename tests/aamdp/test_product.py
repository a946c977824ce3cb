"""The product: the semantics of DESIGN section 2, and what PyCRM gets wrong."""

from __future__ import annotations

import pickle

import gymnasium as gym
import numpy as np
import pytest
from support.environments import Line, moved, odd_or_even

import cranium
from cranium import RewardFunction, Transition
from cranium.aamdp import BoxEncoding, DictEncoding
from cranium.errors import (
    CounterUnderflowError,
    EpisodeEndedError,
    InvalidArgumentError,
    LabelError,
    WorldError,
)
from cranium.tables.configurations import reachable_configurations
from cranium.worlds import LetterEnv, LetterSpec

pytestmark = pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning")
# What is tested here does not depend on when episodes are cut off.


def machine(*transitions, counters=(), propositions=("A", "B"), **more):
    return cranium.CountingRewardAutomaton(
        propositions=propositions,
        counters=counters,
        initial="u",
        terminal=["done", "failed"],
        accepting=["done"],
        transitions=[Transition(**t) for t in transitions],
        **more,
    )


COUNT = machine({"source": "u", "guard": "A", "change": (1,)}, counters=["n"])


def walk(env, actions, seed=0):
    env.reset(seed=seed)
    return [env.step(action) for action in actions]


def test_seed_and_options_reach_the_ground_environment():
    env = cranium.product(Line(), COUNT, moved)
    env.reset(seed=11, options={"x": 1})
    env.reset()
    assert env.unwrapped.given == [(11, {"x": 1}), (None, None)]


def test_the_reward_is_the_automatons_and_the_ground_reward_can_be_added():
    task = machine({"source": "u", "guard": "A", "reward": 2})
    assert [s[1] for s in walk(cranium.product(Line(), task, moved), [1, 0, 1])] == [2.0, 0.0, 2.0]
    both = cranium.product(Line(), task, moved, add_ground_reward=True)
    assert [s[1] for s in walk(both, [1, 0, 1])] == [3.0, 1.0, 4.0]


def test_ground_termination_is_kept_and_is_no_success():
    last = walk(cranium.product(Line(), COUNT, moved), [1] * 9)[-1]
    assert last[2:4] == (True, False)
    assert last[4]["ground_terminated"] is True
    assert last[4]["success"] is False


def test_the_machine_ends_the_episode_and_says_whether_it_was_a_success():
    for target, success in (("done", True), ("failed", False)):
        task = machine({"source": "u", "guard": "A", "target": target})
        last = walk(cranium.product(Line(), task, moved), [1])[-1]
        assert last[2:4] == (True, False)
        assert last[4]["success"] is success
        assert last[4]["ground_terminated"] is False
        assert last[4]["machine_state"] == target


def test_truncation_at_the_horizon_and_from_the_ground():
    cut = [s[3] for s in walk(cranium.product(Line(), COUNT, moved, horizon=3), [0, 0, 0])]
    assert cut == [False, False, True]
    cut = [s[3] for s in walk(cranium.product(Line(truncate_at=2), COUNT, moved), [0, 0])]
    assert cut == [False, True]
    limited = gym.wrappers.TimeLimit(Line(), 5)
    assert cranium.product(gym.make("FrozenLake-v1"), COUNT, lambda *_: ()).horizon == 100
    assert [s[3] for s in walk(cranium.product(limited, COUNT, moved), [0] * 5)][-1] is True


def test_a_step_after_the_end_is_refused():
    env = cranium.product(Line(), COUNT, moved)
    with pytest.raises(EpisodeEndedError, match="call reset"):
        env.step(0)
    walk(env, [1] * 9)
    with pytest.raises(EpisodeEndedError):
        env.step(0)
    env.reset()
    env.step(0)


def test_reward_functions_get_what_was_seen_before_and_after_and_the_action():
    seen = []

    def distance(s, a, s2):
        seen.append((int(s[0]), int(a), int(s2[0])))
        return 10 * int(s2[0])

    task = machine({"source": "u", "guard": "A", "reward": RewardFunction("distance", distance)})
    rewards = [step[1] for step in walk(cranium.product(Line(), task, moved), [1, 0, 1])]
    assert rewards == [10.0, 0.0, 20.0]
    assert seen == [(0, 1, 1), (1, 1, 2)], "the environment writes into its observation"


def test_info_carries_label_state_counters_and_what_the_environment_said():
    env = cranium.product(Line(), COUNT, moved)
    _, info = env.reset(seed=0)
    assert info == {
        "where": "start",
        "label": frozenset(),
        "machine_state": "u",
        "counters": (0,),
        "success": False,
        "overflow": False,
        "ground_terminated": False,
    }
    info = env.step(1)[4]
    assert (info["label"], info["counters"], info["where"]) == (frozenset({"A"}), (1,), "on")


def test_counters_that_pass_the_limit_end_the_episode_without_success():
    env = cranium.product(Line(), COUNT, moved, counter_limit=2)
    steps = walk(env, [1, 1, 1])
    assert [s[2] for s in steps] == [False, False, True]
    assert steps[-1][4]["overflow"] is True
    assert steps[-1][4]["success"] is False
    assert env.observation_space.contains(steps[-1][0])


def test_the_limit_is_what_no_episode_can_pass():
    two = machine({"source": "u", "guard": "A", "change": (2,)}, counters=["n"])
    env = cranium.product(Line(), two, moved, horizon=7)
    assert env.counter_limit == 14
    assert env.observation_space["counters"].high.tolist() == [14]
    assert cranium.product(Line(), two, moved).counter_limit is None


def test_a_counter_below_zero_raises():
    down = machine(
        {"source": "u", "guard": "A", "zero_pattern": "1", "change": (-2,)},
        {"source": "u", "guard": "B & !A", "zero_pattern": "*", "change": (1,)},
        counters=["n"],
    )
    env = cranium.product(Line(), down, odd_or_even)
    with pytest.raises(CounterUnderflowError):
        walk(env, [0, 1])


def test_events_that_nobody_declared_are_refused():
    env = cranium.product(Line(), COUNT, lambda s, a, s2: ["AA"])
    env.reset()
    with pytest.raises(LabelError, match="no such event of this task: 'AA'"):
        env.step(1)
    declared = cranium.labelling("A", "other")(lambda s, a, s2: {"A", "other"})
    last = walk(cranium.product(Line(), COUNT, declared), [1])[-1]
    assert last[4]["label"] == {"A"}, "what the task does not read is left out"


def test_a_task_that_waits_for_what_never_happens_is_refused():
    with pytest.raises(WorldError, match="the task reads 'mial'") as caught:
        cranium.product(gym.make("cranium/Office-v0"), cranium.compile_language("mial"))
    assert "did you mean 'mail'?" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cranium.product(None, COUNT, moved), "gymnasium.Env, not None"),
        (lambda: cranium.product(gym.vector.SyncVectorEnv([Line]), COUNT, moved), "make_vec"),
        (lambda: cranium.product(Line(), "A B", moved), "a task is an automaton, not 'A B'"),
        (lambda: cranium.product(Line(), COUNT, 3), "a labelling is a function"),
        (lambda: cranium.product(Line(), COUNT, moved, horizon=0), "the horizon is a whole number"),
        (lambda: cranium.product(Line(), COUNT, moved, counter_limit=-1), "the counter limit"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make()


def test_an_environment_without_events_needs_a_labelling():
    with pytest.raises(WorldError, match="FrozenLakeEnv names no events of its own"):
        cranium.product(gym.make("FrozenLake-v1"), COUNT)


def test_it_can_be_pickled_in_the_middle():
    env = cranium.product(Line(), COUNT, moved, encoding=BoxEncoding("log"), horizon=20)
    walk(env, [1, 1])
    other = pickle.loads(pickle.dumps(env))
    assert np.array_equal(env.step(1)[0], other.step(1)[0])
    assert other.configuration.counters == (3,)


def test_the_steps_that_are_left_are_pickled():
    env = cranium.product(Line(), COUNT, moved, horizon=3)
    walk(env, [0, 0])
    other = pickle.loads(pickle.dumps(env))
    assert other.step(0)[3] is True
    with pytest.raises(EpisodeEndedError):
        pickle.loads(pickle.dumps(other)).step(0)


def test_what_was_given_out_stays_as_it_was():
    class Reusing(Line):
        def step(self, action):
            result = super().step(action)
            self.told = getattr(self, "told", {})
            self.told["step"] = self.steps
            return (*result[:4], self.told)

    env = cranium.product(Reusing(), COUNT, moved)
    steps = walk(env, [1, 1])
    assert steps[0][0]["ground"].tolist() == [1]
    assert [s[4]["step"] for s in steps] == [1, 2]
    assert [s[4]["counters"] for s in steps] == [(1,), (2,)]


def test_two_products_may_be_given_one_encoding():
    encoding = BoxEncoding("raw")
    one = cranium.product(Line(), COUNT, moved, encoding=encoding, horizon=5)
    cranium.product(
        gym.make("cranium/Letter-v0"),
        cranium.library.load("office").__class__(propositions=["A"], initial="u", transitions=[]),
        encoding=encoding,
    )
    assert one.observation_space.contains(one.reset(seed=0)[0])
    with pytest.raises(InvalidArgumentError, match="an encoding is an object such as BoxEncoding"):
        cranium.product(Line(), COUNT, moved, encoding="box")


def test_observations_are_not_shared_between_steps():
    env = cranium.product(gym.make("cranium/Letter-v0"), cranium.library.load("anbcdn"))
    one, _ = env.reset(seed=0)
    other, _, _, _, info = env.step(0)
    other["ground"][:] = 99
    other["counters"][:] = 99
    other.clear()
    info.clear()
    again, _, _, _, told = env.step(0)
    assert list(again) == ["ground", "machine_state", "counters"]
    assert again["counters"].tolist() == [0]
    assert told["counters"] == (0,)
    assert one["ground"].tolist()[:2] == [4, 4]


def test_counters_never_share_memory():
    env = cranium.product(Line(), COUNT, moved)
    arrays = [step[0]["counters"] for step in walk(env, [0] * 200)]  # more than are made at once
    for number, array in enumerate(arrays):
        array[:] = number
    assert [int(array[0]) for array in arrays] == list(range(200))
    assert env.step(1)[0]["counters"].tolist() == [1]


def test_a_step_that_is_refused_ends_the_episode_because_the_world_has_moved_on():
    seen = []

    def picky(s, a, s2):
        seen.append((int(s[0]), int(s2[0])))
        return ["AA"] if a else []

    env = cranium.product(Line(), COUNT, picky, horizon=2)
    env.reset()
    with pytest.raises(LabelError):
        env.step(1)
    with pytest.raises(EpisodeEndedError, match="the episode is over"):
        env.step(0)
    env.reset()
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
    assert seen == [(0, 1), (0, 0), (0, 0)]


def test_an_action_that_the_world_refuses_is_not_counted():
    env = cranium.product(LetterEnv(), cranium.library.load("anbcdn"), horizon=2)
    env.reset(seed=0)
    with pytest.raises(InvalidArgumentError, match="an action of this world"):
        env.step(9)
    assert [env.step(0)[3] for _ in range(2)] == [False, True]


def test_what_the_machine_refuses_ends_the_episode_in_our_worlds_too():
    task = machine(
        {"source": "u", "guard": "A", "change": (-2,), "zero_pattern": "1"},
        {"source": "u", "guard": "B & !A", "change": (1,)},
        counters=["n"],
    )
    letters = [LetterSpec("A", (0, 0)), LetterSpec("B", (0, 1))]
    env = cranium.product(LetterEnv(letters, rows=1, columns=3, start=(0, 2)), task, horizon=9)
    env.reset(seed=0)
    env.step(1)
    with pytest.raises(CounterUnderflowError):
        env.step(1)
    with pytest.raises(EpisodeEndedError):
        env.step(0)


def test_a_limit_below_the_first_configuration_is_refused():
    task = machine(
        {"source": "u", "silent": True, "target": "v", "change": (5,)},
        {"source": "v", "guard": "A", "target": "done"},
        counters=["n"],
    )
    with pytest.raises(InvalidArgumentError, match="above the counter limit of 2"):
        cranium.product(Line(), task, moved, counter_limit=2)
    with pytest.raises(InvalidArgumentError, match="at least 5"):
        reachable_configurations(task, 4)
    assert cranium.product(Line(), task, moved, counter_limit=5).reset()[0]["counters"] == [5]


class Reused(gym.Wrapper):
    """Gives out the same array again and again."""

    def reset(self, **options):
        self.array, info = self.env.reset(**options)
        return self.array, info

    def step(self, action):
        self.array[:], *rest = self.env.step(action)
        return self.array, *rest


class Reusing(LetterEnv):
    """The same, as a world."""

    array = None

    def step(self, action):
        seen, *rest = super().step(action)
        self.array = seen if self.array is None else self.array
        self.array[:] = seen
        return self.array, *rest


@pytest.mark.parametrize("world", [lambda: Reused(LetterEnv()), Reusing])
def test_observations_are_kept_whatever_is_written_into_below(world):
    env = cranium.product(world(), cranium.library.load("anbcdn"), horizon=50)
    env.reset(seed=0)
    one = env.step(2)[0]
    first = one["ground"].copy()
    env.step(2)
    assert one["ground"].tolist() == first.tolist()


def test_an_encoding_of_ones_own_is_what_the_product_shows():
    class Tenfold(DictEncoding):
        def make_encoder(self, configuration):
            encode = super().make_encoder(configuration)
            return lambda ground: encode(ground * 10)

    env = cranium.product(
        LetterEnv(), cranium.library.load("anbcdn"), horizon=50, encoding=Tenfold()
    )
    assert env.reset(seed=0)[0]["ground"].tolist()[:2] == [40, 40]
    assert env.step(2)[0]["ground"].tolist()[:2] == [30, 40]


def test_numbers_of_numpy_are_numbers():
    env = cranium.product(Line(), COUNT, moved, horizon=np.int64(5), counter_limit=np.int32(3))
    assert (env.horizon, env.counter_limit) == (5, 3)
