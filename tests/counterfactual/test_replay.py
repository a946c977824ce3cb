"""CounterfactualReplay, the framework-free replay buffer, against a slow and obvious oracle."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.replay_checks import (
    AddsToRewards,
    check_batch,
    fill_from_one,
    fill_from_vector,
    vector_of,
)
from support.sb3_worlds import Clock, Ending, Hiding, Repeated, Slope, climber, early, far, late
from support.strategies import build_for_tables, specs

import cranium
from cranium import Configuration, RewardFunction
from cranium.aamdp import BoxEncoding, DictEncoding, TabularEncoding
from cranium.counterfactual import (
    CounterfactualReplay,
    Current,
    Reachable,
    Seen,
    record_transitions,
)
from cranium.errors import CraniumError, InvalidArgumentError, RunError, SpaceError, WorldError

pytestmark = pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning")
REWARDS = (0.0, 1.0, -0.5, RewardFunction("early", early), RewardFunction("late", late))
MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


@pytest.fixture
def machine():
    return cranium.library.load("anbcn")


@dataclass(frozen=True)
class Neighbours:
    """A user's set: counter values that differ from the real ones by at most one."""

    sample: int | None = None
    seen_only: bool = False

    def candidates(self, configurations, real):
        counters = configurations.counters
        return (np.abs(counters - counters[real][:, None]) <= 1).all(axis=2)


@dataclass(frozen=True)
class EightAtRandom:
    """A user's set: eight configurations, drawn anew for each transition."""

    sample: int | None = 8
    seen_only: bool = False

    def candidates(self, configurations, real):
        return np.ones((1, len(configurations.machine_state)), np.bool_)


@pytest.mark.slow
@settings(max_examples=50)
@given(
    specs(rewards=REWARDS),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["current", "seen", "reachable", Neighbours(), EightAtRandom(), Reachable(2)]),
    st.sampled_from(MODES),
)
def test_every_sampled_transition_is_a_step_of_the_machine(spec, vectors, ground, chosen, mode):
    machine = build_for_tables(spec)
    clocks = [Clock(i, spec.propositions) for i in range(2)]
    encoding = BoxEncoding("raw") if vectors else DictEncoding()
    options = {"counter_limit": 4, "encoding": encoding, "add_ground_reward": ground}
    envs = vector_of(clocks, machine, mode, **options)
    replay = CounterfactualReplay(70, envs, configurations=chosen, seed=0)  # rows wrap unevenly
    with suppress(RunError):  # the machine refused
        fill_from_vector(replay, envs, 60)
    assume(len(replay))
    check_batch(replay, clocks, machine, ground=ground)


@pytest.mark.parametrize("encoding", [BoxEncoding("raw"), DictEncoding()])
def test_a_single_environment(machine, encoding):
    clock = Clock()
    env = cranium.product(clock, machine, counter_limit=4, horizon=7, encoding=encoding)
    replay = CounterfactualReplay(1000, env, seed=0)
    fill_from_one(replay, env, 150)
    assert len(replay) == 150
    sources = check_batch(replay, [clock], machine, 200)
    assert len(set(sources)) > 4


@pytest.mark.parametrize("whole_dones", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("handled", [False, True])
def test_time_limits_are_no_terminations_however_they_are_reported(
    machine, mode, whole_dones, handled
):
    clocks = [Clock(i, ends=0.0, events=frozenset("A")) for i in range(3)]
    envs = vector_of(clocks, machine, mode, horizon=5, counter_limit=9, encoding=BoxEncoding("raw"))
    replay = CounterfactualReplay(
        500, envs, counterfactual_ratio=0, handle_timeout_termination=handled, seed=0
    )
    if whole_dones == handled:
        fill_from_vector(replay, envs, 60, whole_dones=whole_dones)
        assert not replay.sample(300).dones.any()
        check_batch(replay, clocks, machine)
    elif handled:
        with pytest.raises(WorldError, match="hides the end of an episode"):
            fill_from_vector(replay, envs, 60)
    else:  # known to be a time limit, because it was recorded
        fill_from_vector(replay, envs, 60, whole_dones=True)
        assert not replay.sample(300).dones.any()


def test_steps_that_only_reset_are_left_out(machine):
    clocks = [Clock(i, ends=0.2) for i in range(3)]
    stored = {}
    for mode in MODES:
        envs = vector_of(clocks, machine, mode, counter_limit=4, encoding=BoxEncoding("raw"))
        replay = CounterfactualReplay(1000, envs)
        for clock in clocks:
            clock.log.clear()
        fill_from_vector(replay, envs, 50)
        stored[mode] = len(replay)
        assert len(replay) == sum(len(clock.log) for clock in clocks)
    assert stored[AutoresetMode.NEXT_STEP] < stored[AutoresetMode.SAME_STEP] == 150


def test_the_last_observation_of_an_episode_is_kept(machine):
    """In the same step another episode begins, and its first observation is what is returned."""
    clocks = [Clock(i, ends=0.5) for i in range(2)]
    envs = vector_of(clocks, machine, MODES[1], counter_limit=4)
    replay = CounterfactualReplay(200, envs)
    fill_from_vector(replay, envs, 40)
    log = clocks[0].log | clocks[1].log
    for before, after in zip(
        replay.observations["ground"], replay.next_observations["ground"], strict=True
    ):
        if tuple(before) in log:
            assert after.tolist() == log[tuple(before)][2].tolist()


@pytest.mark.slow
def test_environments_in_other_processes_are_recorded_by_whoever_makes_them(machine):
    def made():
        return cranium.product(Clock(), machine, counter_limit=4, encoding=BoxEncoding("raw"))

    # A process that is forked from one with the threads of JAX might hang.
    envs = AsyncVectorEnv([lambda: record_transitions(made())] * 2, context="spawn")
    try:
        replay = CounterfactualReplay(100, envs, seed=0)
        fill_from_vector(replay, envs, 20)
        assert replay.sample(8).observations.shape == (8, replay.source.encoding.space.shape[0])
    finally:
        envs.close()
    envs = AsyncVectorEnv([made] * 2, context="spawn")
    try:
        with pytest.raises(WorldError, match="resets cannot be told from steps") as caught:
            CounterfactualReplay(100, envs)
        assert "record_transitions" in caught.value.fix
    finally:
        envs.close()


# Sets of configurations


def counters_of(replay, slots, times=300):
    drawn = replay.transitions.draw(np.full(times, slots), replay.rng)
    space = replay.transitions.known.space
    return {space.decode(int(x)).counters[0] for x in drawn.source}


def counting_buffer(machine, chosen, *, counter_limit=30, **options):
    clock = Clock(events=frozenset("A"), ends=0.0)
    shown = {"encoding": BoxEncoding("raw"), "counter_limit": counter_limit}
    env = cranium.product(clock, machine, **shown)
    replay = CounterfactualReplay(100, env, configurations=chosen, seed=0, **options)
    fill_from_one(replay, env, 12)
    return replay, clock


def test_a_set_of_the_users_own_that_depends_on_the_real_configuration(machine):
    replay, clock = counting_buffer(machine, Neighbours(), counterfactual_ratio=1.0)
    assert counters_of(replay, 0) == {0, 1}
    assert counters_of(replay, 7) == {6, 7, 8}
    check_batch(replay, [clock], machine)
    known = replay.transitions.known
    assert {known.space.decode(x) for x in known.members} == {
        Configuration("counting", (n,)) for n in range(13)
    }  # what is far from everything that happened is not even computed


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("current", {7}),
        (Current(), {7}),
        ("seen", set(range(12))),
        (Seen(limit=5), set(range(6))),
        ("reachable", set(range(31))),
        (Reachable(limit=4), set(range(5))),
        (EightAtRandom(), set(range(31))),
    ],
)
def test_which_configurations_a_transition_is_relabelled_with(machine, chosen, expected):
    replay, clock = counting_buffer(machine, chosen, counterfactual_ratio=1.0)
    assert counters_of(replay, 7, 1000) == expected
    check_batch(replay, [clock], machine)


def test_a_set_without_a_limit_of_its_own_needs_one(machine):
    with pytest.raises(InvalidArgumentError, match="endlessly many"):
        counting_buffer(machine, "reachable", counter_limit=None)
    replay, _ = counting_buffer(machine, Reachable(limit=4), counter_limit=None)
    assert counters_of(replay, 2, 1000) == set(range(5))


def test_a_set_whose_answer_has_another_shape_is_refused(machine):
    class Wrong(EightAtRandom):
        def candidates(self, configurations, real):
            return np.ones(3)

    with pytest.raises(InvalidArgumentError, match=r"Wrong\.candidates returned") as caught:
        counting_buffer(machine, Wrong())
    assert "booleans of the shape" in caught.value.fix


def test_half_of_a_batch_is_relabelled(machine):
    replay, _ = counting_buffer(machine, "reachable", counterfactual_ratio=0.5)
    real = replay.transitions.real
    slots = replay.rng.integers(0, 12, 20_000)
    changed = replay.transitions.draw(slots, replay.rng).source != real[slots]
    assert changed.mean() == pytest.approx(0.5 * 30 / 31, abs=0.02)


# Seeds and sampling


def test_the_same_seed_samples_the_same_and_global_numbers_play_no_part(machine):
    batches = []
    for number in range(2):
        np.random.seed(number)
        replay, _ = counting_buffer(machine, "reachable")
        batches.append(replay.sample(50))
    for one, other in zip(*batches, strict=True):
        assert np.array_equal(one, other)
    generator = np.random.default_rng(5)
    env = cranium.product(Clock(), machine, counter_limit=4)
    assert CounterfactualReplay(10, env, seed=generator).rng is generator


def test_a_full_buffer_forgets_the_oldest_transitions(machine):
    clock = Clock()
    env = cranium.product(clock, machine, counter_limit=4, encoding=BoxEncoding("raw"))
    replay = CounterfactualReplay(20, env, seed=0)
    fill_from_one(replay, env, 50)
    assert len(replay) == 20
    times = replay.sample(500).observations[:, 1]
    assert len(set(times)) == 20
    assert times.min() >= sorted(key[1] for key in clock.log)[-20]


def test_actions_and_observations_keep_their_dtypes():
    env = cranium.product(Slope(), climber(), far, horizon=20)
    replay = CounterfactualReplay(100, env, seed=0)
    fill_from_one(replay, env, 60)
    batch = replay.sample(16)
    assert batch.observations["ground"].dtype == np.float64
    assert batch.observations["machine_state"].shape == (16,)
    assert (batch.actions.dtype, batch.actions.shape) == (np.float32, (16, 1))
    assert batch.rewards.dtype == batch.dones.dtype == np.float32


# Files


@pytest.mark.parametrize("encoding", [BoxEncoding("bits", clip=2), DictEncoding()])
@pytest.mark.parametrize("chosen", ["seen", "reachable", Reachable(limit=3), Neighbours()])
def test_a_loaded_buffer_goes_on_where_the_saved_one_was(tmp_path, machine, encoding, chosen):
    clocks = [Clock(i) for i in range(2)]
    envs = vector_of(clocks, machine, counter_limit=9, encoding=encoding)
    replay = CounterfactualReplay(90, envs, configurations=chosen, seed=3)
    fill_from_vector(replay, envs, 60)
    replay.sample(10)
    replay.save(tmp_path / "replay.npz")
    own = {"configurations": chosen} if isinstance(chosen, Neighbours) else {}
    again = CounterfactualReplay.load(tmp_path / "replay.npz", envs, **own)
    assert (len(again), again.position) == (len(replay), replay.position)
    for _ in range(3):
        for one, other in zip(replay.sample(70), again.sample(70), strict=True):
            parts = (
                zip(one.values(), other.values(), strict=True)
                if isinstance(one, dict)
                else [(one, other)]
            )
            assert all(np.array_equal(a, b) for a, b in parts)
    fill_from_vector(again, envs, 40, seed=1)
    if not isinstance(encoding, BoxEncoding):  # its bits show counters above 2 alike
        check_batch(again, clocks, machine)


def test_reward_functions_are_found_again_in_a_loaded_buffer(tmp_path):
    env = cranium.product(Slope(), climber(), far, horizon=20, encoding=BoxEncoding())
    replay = CounterfactualReplay(100, env, seed=0)
    fill_from_one(replay, env, 60)
    replay.save(tmp_path / "replay.npz")
    again = CounterfactualReplay.load(tmp_path / "replay.npz", env, seed=1)
    replay.rng = np.random.default_rng(1)
    assert np.array_equal(replay.sample(200).rewards, again.sample(200).rewards)
    assert replay.sample(200).rewards.any()


def test_files_that_do_not_fit_are_refused(tmp_path, machine):
    env = cranium.product(Clock(), machine, counter_limit=4)
    replay = CounterfactualReplay(100, env, configurations=Neighbours())
    fill_from_one(replay, env, 20)
    path = tmp_path / "replay.npz"
    replay.save(path)
    with pytest.raises(InvalidArgumentError, match="a set of configurations that is not ours"):
        CounterfactualReplay.load(path, env)
    other = cranium.product(Clock(), machine, counter_limit=5)
    with pytest.raises(WorldError, match="another task, encoding or counter limit"):
        CounterfactualReplay.load(path, other, configurations=Neighbours())
    with pytest.raises(InvalidArgumentError, match=r"into a \.npz file"):
        replay.save(tmp_path / "replay.pkl")
    with pytest.raises(CraniumError, match="there is no folder"):
        replay.save(tmp_path / "none" / "replay.npz")


@pytest.mark.parametrize("damage", ["cut", "text", "rows", "labels", "numbers", "terminal"])
def test_damaged_files_are_refused(tmp_path, machine, damage):
    env = cranium.product(Clock(), machine, counter_limit=4)
    replay = CounterfactualReplay(100, env, configurations="seen")
    fill_from_one(replay, env, 30)
    path = tmp_path / "replay.npz"
    replay.save(path)
    content = dict(np.load(path))
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-200])
    elif damage == "text":
        path.write_text("a replay buffer")
    else:
        if damage == "rows":
            content["actions"] = content["actions"][:-1]
        elif damage == "labels":
            content["label"] = content["label"] + 50
        elif damage == "numbers":
            content["configuration_states"] = content["configuration_states"][::-1]
        else:
            content["members"] = np.arange(len(content["configuration_states"]))
        np.savez_compressed(path, **content)
    with pytest.raises(CraniumError, match=r"is damaged|is not a replay buffer of ours"):
        CounterfactualReplay.load(path, env)


# Wrong input


def test_wrong_settings_are_refused(machine):
    env = cranium.product(Clock(), machine, counter_limit=3)
    wrong = [
        ((10, env), {"counterfactual_ratio": 1.5}, "a number from 0 to 1"),
        ((0, env), {}, "buffer_size is a whole number of at least 1"),
        ((10, env), {"configurations": "all"}, "current, seen, reachable or a set of"),
        ((10, "CartPole-v1"), {}, r"a gymnasium\.Env"),
        ((10, gym.make("CartPole-v1")), {}, "there is no task"),
        ((10, SyncVectorEnv([lambda: gym.make("CartPole-v1")])), {}, "there is no task"),
        ((1, vector_of([Clock(0), Clock(1)], machine, counter_limit=3)), {}, "at least as many"),
    ]
    for given_, options, message in wrong:
        with pytest.raises(CraniumError, match=message):
            CounterfactualReplay(*given_, **options)
    with pytest.raises(InvalidArgumentError, match="the buffer is empty"):
        CounterfactualReplay(10, env).sample(3)
    lake, goal = gym.make("FrozenLake-v1"), cranium.labelling_from_cells({15: "goal"})
    task = cranium.compile_language("goal")
    with pytest.raises(InvalidArgumentError, match="not a TabularEncoding"):
        CounterfactualReplay(9, cranium.product(lake, task, goal, encoding=TabularEncoding()))


def test_environments_with_different_tasks_are_refused(machine):
    other = cranium.loads(cranium.dumps(machine).replace("reward: 1", "reward: 2"))
    makers = [lambda m=m: cranium.product(Clock(), m, counter_limit=3) for m in (machine, other)]
    with pytest.raises(InvalidArgumentError, match="different tasks"):
        CounterfactualReplay(10, SyncVectorEnv(makers))


def test_observations_that_are_no_arrays_are_refused(machine):
    clock = Clock()
    clock.observation_space = gym.spaces.Dict({"x": gym.spaces.Discrete(2)})
    env = cranium.product(clock, machine, counter_limit=3)
    with pytest.raises(InvalidArgumentError, match="a replay buffer keeps arrays"):
        CounterfactualReplay(10, env)


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        (AddsToRewards, "changes the reward: 3 was paid, 0 by the machine"),
        (Ending, "ends episodes"),
        (Repeated, "takes several of its steps at once"),
        (Hiding, "hides the end of an episode"),
    ],
)
def test_wrappers_that_change_what_the_product_does_are_refused(machine, wrapper, message):
    events = {Hiding: "B", Repeated: ""}.get(wrapper, "A")
    clock = Clock(events=frozenset(events), ends=0.0)
    env = wrapper(cranium.product(clock, machine, counter_limit=30, encoding=BoxEncoding()))
    replay = CounterfactualReplay(100, env)
    with pytest.raises(WorldError, match=message):
        fill_from_one(replay, env, 40)


def test_observations_of_another_shape_or_of_other_steps_are_refused(machine):
    env = cranium.product(Clock(events=frozenset("A"), ends=0.0), machine, counter_limit=30)
    replay = CounterfactualReplay(100, env)
    start, _ = env.reset()
    after, reward, terminated, _, info = env.step(0)
    with pytest.raises(WorldError, match="keeps observations in"):
        replay.add(np.zeros(3), after, 0, reward, terminated, info)
    replay.add(start, after, 0, reward, terminated, info)
    third, reward, terminated, _, info = env.step(0)
    with pytest.raises(WorldError, match="do not show the machine as the product reports it"):
        replay.add(start, third, 0, reward, terminated, info)
    with pytest.raises(WorldError, match="info has no 'label'"):
        replay.add(after, third, 0, reward, terminated, {})


def test_too_many_reachable_configurations_are_an_error(machine, monkeypatch):
    monkeypatch.setattr("cranium.counterfactual.known.MAX_CONFIGURATIONS", 8)
    with pytest.raises(SpaceError, match="more than 8 configurations are reachable"):
        counting_buffer(machine, "reachable")
    replay, clock = counting_buffer(machine, "seen")
    check_batch(replay, [clock], machine)
