"""What the door to Stable-Baselines3 has buffers for: what they fit, and buffers in files."""

from __future__ import annotations

import dataclasses
import pickle

import gymnasium as gym
import numpy as np
import pytest
from support.sb3_worlds import Clock, Slope, algorithm, check, climber, collect, elsewhere, far

import cranium
from cranium.aamdp import BoxEncoding, DictEncoding
from cranium.counterfactual import configuration_set
from cranium.errors import (
    CraniumError,
    InvalidArgumentError,
    SpaceError,
    UnknownNameError,
    WorldError,
)
from cranium.worlds import LetterEnv, LetterSpec

pytestmark = [
    pytest.mark.sb3,
    pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning"),
]
sb3 = pytest.importorskip("stable_baselines3")

import torch  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # noqa: E402

from cranium.learners.sb3 import (  # noqa: E402
    CounterfactualDictReplayBuffer,
    CounterfactualReplayBuffer,
    counterfactual,
)

torch.set_num_threads(1)


@pytest.fixture
def machine():
    return cranium.library.load("anbcn")


def test_a_replay_buffer_can_be_saved_and_training_continues(tmp_path):
    env, replay = counterfactual(Slope(), climber(), far, horizon=20)
    model = algorithm(env, replay, sb3.SAC, learning_starts=10).learn(60)
    model.save_replay_buffer(tmp_path / "buffer.pkl")
    model.save(tmp_path / "model.zip")
    other = sb3.SAC.load(tmp_path / "model.zip", env=env, device="cpu")
    other.load_replay_buffer(tmp_path / "buffer.pkl")
    batches = []
    for one in (model, other):
        np.random.seed(5)
        batches.append(one.replay_buffer.sample(50))
    for mine, yours in zip(*batches, strict=True):
        assert mine is yours is None or torch.equal(mine, yours)
    other.learn(30, reset_num_timesteps=False)
    assert other.replay_buffer.size() == 90
    env, replay = counterfactual(Slope(), climber(lambda s, a, t: 0.0), far)
    model = algorithm(env, replay, sb3.SAC).learn(20)
    with pytest.raises(WorldError, match="the task cannot be saved"):
        pickle.dumps(model.replay_buffer)


def test_an_unpickled_replay_buffer_continues_in_the_middle_of_an_episode(machine):
    clock = Clock(ends=0.02)
    env, replay = counterfactual(clock, machine, counter_limit=30, encoding=BoxEncoding("log"))
    model = algorithm(env, replay).learn(30)
    model.replay_buffer = pickle.loads(pickle.dumps(algorithm(env, replay).replay_buffer))
    model.learn(50, reset_num_timesteps=False)
    check(model.replay_buffer, [clock], machine)


def test_replay_buffers_name_the_encoding_that_they_need(machine):
    vector, _ = counterfactual(Clock(), machine, counter_limit=3)
    dictionary, _ = counterfactual(cranium.product(Clock(), machine, counter_limit=3))
    boxes, dictionaries = CounterfactualReplayBuffer, CounterfactualDictReplayBuffer
    wrong = [
        (vector, boxes, {"encoding": BoxEncoding()}, "of a product, not one without a product"),
        (vector, boxes, {}, "takes the BoxEncoding of a product, not None"),
        (vector, boxes, {"encoding": dictionary.encoding}, "takes the BoxEncoding"),
        (dictionary, boxes, {"encoding": vector.encoding}, "of a BoxEncoding are vectors"),
        (
            vector,
            dictionaries,
            {"encoding": dictionary.encoding},
            "of a DictEncoding are dictionaries",
        ),
        (vector, boxes, {"encoding": vector.encoding, "imagine": 1}, "no such option of Count"),
    ]
    for env, kind, settings, message in wrong:
        replay = {"replay_buffer_class": kind, "replay_buffer_kwargs": settings}
        with pytest.raises(CraniumError, match=message) as caught:
            algorithm(env, replay)
        assert caught.value.fix
    with pytest.raises(UnknownNameError, match="no such option of counterfactual: 'imagin'"):
        counterfactual(Clock(), machine, imagin=1.0)


@pytest.mark.parametrize(
    "ground",
    [
        gym.spaces.Dict({"x": gym.spaces.Discrete(2)}),
        gym.spaces.Tuple([gym.spaces.Discrete(2)]),
        gym.spaces.Discrete(3, start=3),
        gym.spaces.MultiDiscrete([3, 3], start=[0, 1]),
        gym.spaces.MultiDiscrete([[3, 3]]),
    ],
)
def test_ground_observations_that_stable_baselines_cannot_read_are_refused(ground, machine):
    class World(Clock):
        def observe(self):
            return self.observation_space.sample()

        def step(self, action):
            self.events = frozenset("A")
            return self.observe(), 0.0, False, False, {}

    world = World()
    world.observation_space = ground
    with pytest.raises(InvalidArgumentError, match="cannot read observations in") as caught:
        counterfactual(world, machine, encoding=DictEncoding(), counter_limit=3)
    assert "BoxEncoding" in caught.value.fix
    algorithm(*counterfactual(world, machine, counter_limit=3), learning_starts=5).learn(12)


def test_vector_environments_with_different_tasks_are_refused(machine):
    def vec(*settings):
        make = [
            lambda s=s: counterfactual(Clock(), **{"counter_limit": 3, **s})[0] for s in settings
        ]
        return DummyVecEnv(make)

    other = cranium.loads(cranium.dumps(machine).replace("reward: 1", "reward: 2"))
    counterfactual(vec({"automaton": machine}, {"automaton": machine}))
    for wrong in ({"automaton": other}, {"automaton": machine, "counter_limit": 4}):
        env = vec({"automaton": machine}, wrong)
        for seen in (env, elsewhere(env)):
            with pytest.raises(InvalidArgumentError, match="different tasks"):
                counterfactual(seen)
    strange = gym.make("CartPole-v1")
    strange.unwrapped.encoding = "utf-8"
    vector = DummyVecEnv([lambda: strange])
    for env in (vector, elsewhere(vector)):
        with pytest.raises(InvalidArgumentError, match="there is no task"):
            counterfactual(env)


@pytest.mark.parametrize(
    ("told", "which"),
    [
        ({"horizon": 50}, "seen"),  # no counter gets as far as that
        ({"counter_limit": 5}, "reachable"),
        ({"counter_limit": 5_000}, "seen"),
        ({"horizon": 50, "configurations": "reachable"}, "reachable"),
    ],
)
def test_reachable_configurations_are_counterfactual_within_the_given_counter_limit(told, which):
    env, replay = counterfactual(Clock(), cranium.library.load("anbcn"), **told)
    buffer = algorithm(env, replay).learn(20).replay_buffer
    assert buffer.replay.transitions.configurations == configuration_set(which)


@pytest.mark.parametrize("cells", ["one-hot", "joint", "scaled"])
def test_vector_environments_with_different_observation_features_are_refused(cells):
    def made(rows, columns):
        letters = [LetterSpec("A", (0, 0))]
        world = LetterEnv(letters, rows=rows, columns=columns, start=(1, 1))
        shown = BoxEncoding(cells=cells)
        return counterfactual(world, cranium.compile_language("A"), horizon=9, encoding=shown)[0]

    # As many features each, but not of the same cells.
    several = DummyVecEnv([lambda: made(3, 5), lambda: made(5, 3)])
    with pytest.raises(InvalidArgumentError, match="different tasks, observations"):
        counterfactual(several)


def test_a_loaded_buffer_must_fit(tmp_path, machine):
    def run(automaton=machine, count=1, **settings):
        settings = {"counter_limit": 3, **settings}
        env = DummyVecEnv([lambda: counterfactual(Clock(), automaton, **settings)[0]] * count)
        return algorithm(*counterfactual(env, counterfactual_ratio=0.25)).learn(20)

    saved = run()
    saved.save_replay_buffer(tmp_path / "buffer.pkl")
    other = cranium.loads(cranium.dumps(machine).replace("reward: 1", "reward: 2"))
    wrong = [
        (run(other), "another task"),
        (run(count=2), "for 1 environments side by side, not 2"),
        (run(counter_limit=2), "another task"),
        (run(encoding=BoxEncoding("log")), "keeps observations in"),
        (run(encoding=DictEncoding()), "keeps observations in"),
    ]
    for model, message in wrong:
        model.load_replay_buffer(tmp_path / "buffer.pkl")
        with pytest.raises(WorldError, match=message):
            model.learn(20)
    same = run()
    same.load_replay_buffer(tmp_path / "buffer.pkl")
    same.learn(20, reset_num_timesteps=False)  # goes on in the middle of an episode
    assert same.replay_buffer.size() == 40
    assert same.replay_buffer.replay.transitions.counterfactual_ratio == 0.25


class Scaled(gym.ObservationWrapper):
    """Shows the ground in another scale."""

    def __init__(self, env):
        super().__init__(env)
        shown = {**env.observation_space.spaces, "ground": gym.spaces.Box(-1, 1, (2,), np.float32)}
        self.observation_space = gym.spaces.Dict(shown)

    def observation(self, observation):
        return {**observation, "ground": (observation["ground"] / 1e6).astype(np.float32)}


def test_observation_wrappers_apply_to_the_terminal_observation_in_the_replay_buffer_too(machine):
    env = Scaled(cranium.product(Clock(), machine, counter_limit=4))
    buffer = algorithm(*counterfactual(env)).learn(100).replay_buffer
    assert buffer.dones.sum() > 5
    assert buffer.next_observations["ground"].max() <= 1e-3
    vector = DummyVecEnv([lambda: Scaled(cranium.product(Clock(), machine, counter_limit=4))])
    env, replay = counterfactual(VecNormalize(vector, norm_obs_keys=["ground"]))
    with pytest.raises(WorldError, match="clips and rounds the last observation"):
        algorithm(env, replay, learning_starts=40).learn(100)


def test_a_run_goes_on_when_the_set_of_configurations_is_full(machine, monkeypatch):
    monkeypatch.setattr("cranium.counterfactual.known.MAX_CONFIGURATIONS", 8)
    clocks = [Clock(events=frozenset("A"), ends=0.0)]
    buffer = collect(clocks, machine, kind="seen", counter_limit=50)
    members = buffer.replay.transitions.known.members
    assert len(members) <= 8
    assert len(buffer.replay.transitions.known.space) > 30
    check(buffer, clocks, machine)
    with pytest.raises(SpaceError, match="more than 8 configurations are reachable") as caught:
        collect(clocks, machine, kind="reachable", counter_limit=50)
    assert "configurations='seen'" in caught.value.fix


def test_configurations_that_join_a_large_set_late_are_sampled_soon():
    task = cranium.loads("""
        propositions: [A, B]
        counters: [c]
        initial: u
        transitions:
          - {from: u, when: A & !B, add: {c: 1}}
          - {from: u, when: B, if: c > 0, to: armed}
          - {from: armed, when: A, reward: 1}
    """)
    clocks = [Clock(events=lambda time: frozenset("B" if time == 150 else "A"), ends=0.0)]
    buffer = collect(clocks, task, kind="seen", steps=140, counter_limit=400)
    assert len(buffer.replay.transitions.known.members) > 128
    drawn, rng = set(), np.random.default_rng(0)
    for _ in range(200):
        drawn.update(buffer.replay.transitions.draw(np.arange(100), rng).source.tolist())
    assert set(buffer.replay.transitions.known.members.tolist()) <= drawn


class Careless(Clock):
    """Shows more digits than it says; and sometimes nothing."""

    def observe(self):
        return np.array([self.name, self.time / 7 if self.time % 11 else np.nan])


def test_observations_in_another_precision_than_their_space_are_kept(machine):
    def made():
        return counterfactual(Careless(), machine, counter_limit=3, encoding=DictEncoding())[0]

    env, replay = counterfactual(VecNormalize(DummyVecEnv([made]), norm_obs_keys=["ground"]))
    buffer = algorithm(env, replay, learning_starts=40).learn(100).replay_buffer
    assert buffer._ends_known


def test_a_plain_replay_buffer_computes_no_counterfactuals(machine):
    clocks = [Clock(ends=0.0)]
    buffer = collect(clocks, machine, imagined=0, kind="seen", counter_limit=50)
    assert not len(buffer.replay.transitions.known.members)
    tables = buffer.replay.transitions.known.space.tables
    assert (tables.next_configuration >= 0).sum() < 2 * buffer.size() + 10
    check(buffer, clocks, machine)


@dataclasses.dataclass
class Price:
    """A function that cannot be hashed."""

    amount: float

    def __call__(self, state, action, then):
        return self.amount


def test_objects_that_cannot_be_hashed_are_reward_functions_too():
    task = cranium.loads(
        "{propositions: [A], initial: u, transitions: ["
        "{from: u, when: A, reward: price}, {from: u, when: '!A', reward: other}]}",
        rewards={"price": Price(5.0), "other": Price(7.0)},
    )
    clocks = [Clock()]
    check(collect(clocks, task), clocks, task)
    env = cranium.product(Clock(), task, horizon=9)
    assert cranium.train(env, "cql", steps=50, discretise=lambda _: 0).evaluation.returns.max() > 0


def test_a_product_inside_a_product_keeps_its_ground_reward_to_itself(machine):
    clock, told = Clock(), {"add_ground_reward": True, "encoding": BoxEncoding("raw")}
    inner = cranium.product(clock, machine, **told)
    task = cranium.compile_language("B A")
    outer = cranium.product(inner, task, lambda s, a, t: clock.events & {"A", "B"})
    assert "ground_reward" in (inner.reset(), inner.step(0)[-1])[1]
    outer.reset()
    assert "ground_reward" not in outer.step(0)[-1]
    algorithm(*counterfactual(outer)).learn(60)
