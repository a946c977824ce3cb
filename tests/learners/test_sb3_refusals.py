"""What the door to Stable-Baselines3 refuses, why, and what it says."""

from __future__ import annotations

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from support.lying_wrappers import HONEST, LIARS, Walk
from support.sb3_worlds import (
    Clock,
    Discreet,
    Ending,
    Hiding,
    Longer,
    Paying,
    Repeated,
    Rescaled,
    Slope,
    Softening,
    algorithm,
    check,
    climber,
    elsewhere,
    far,
)

import cranium
from cranium.aamdp import BoxEncoding, DictEncoding, TabularEncoding
from cranium.counterfactual import RecordTransition
from cranium.errors import InvalidArgumentError, WorldError

pytestmark = [
    pytest.mark.sb3,
    pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning"),
]
sb3 = pytest.importorskip("stable_baselines3")

import torch  # noqa: E402
from stable_baselines3.common.callbacks import EvalCallback  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # noqa: E402

from cranium.learners.sb3 import (  # noqa: E402
    CounterfactualReplayBuffer,
    counterfactual,
)

torch.set_num_threads(1)


@pytest.fixture
def machine():
    return cranium.library.load("anbcn")


def test_normalising_the_machine_is_refused(machine):
    vectors = DummyVecEnv([lambda: counterfactual(Clock(), machine, counter_limit=3)[0]])
    dictionaries = DummyVecEnv([lambda: cranium.product(Clock(), machine, counter_limit=3)])
    refused = [
        VecNormalize(vectors),
        VecNormalize(dictionaries, norm_obs_keys=["ground", "counters"]),
    ]
    for env in refused:
        with pytest.raises(InvalidArgumentError, match=r'norm_obs_keys=\["ground"\]'):
            counterfactual(env)
        _, replay = counterfactual(env.venv)
        model = algorithm(env, replay, learning_starts=10)
        with pytest.raises(InvalidArgumentError, match="the machine must be shown as it is"):
            model.learn(20)
    env, replay = counterfactual(VecNormalize(vectors, norm_obs=False))
    algorithm(env, replay, learning_starts=10).learn(30)


def test_unsupported_settings_of_the_replay_buffer_are_refused(machine):
    env, replay = counterfactual(Clock(), machine, counter_limit=3)
    with pytest.raises(InvalidArgumentError, match="the episode may go on there"):
        algorithm(env, replay, optimize_memory_usage=True)
    settings = {**replay["replay_buffer_kwargs"], "n_steps": 3, "gamma": 0.9}
    with pytest.raises(InvalidArgumentError, match="not of n_steps=3"):
        algorithm(env, {**replay, "replay_buffer_kwargs": settings})
    with pytest.warns(UserWarning, match="`n_steps=3` is ignored"):  # by SB3 itself
        algorithm(env, replay, n_steps=3)
    for wrong in (1.5, -0.1, True, "half", float("nan")):
        with pytest.raises(InvalidArgumentError, match="a number from 0 to 1"):
            algorithm(*counterfactual(env, counterfactual_ratio=wrong))
    with pytest.raises(InvalidArgumentError, match="current, seen, reachable or a set of"):
        algorithm(*counterfactual(env, configurations="all"))
    with pytest.raises(InvalidArgumentError, match="endlessly many"):
        algorithm(*counterfactual(Clock(), machine, configurations="reachable"))
    with pytest.raises(InvalidArgumentError, match="takes the BoxEncoding"):
        algorithm(env, {"replay_buffer_class": CounterfactualReplayBuffer,
                        "replay_buffer_kwargs": {"encoding": DictEncoding()}})  # fmt: skip
    lake = gym.make("FrozenLake-v1")
    goal = cranium.labelling_from_cells({15: "goal"})
    task = cranium.compile_language("goal")
    with pytest.raises(InvalidArgumentError, match="not a TabularEncoding"):
        counterfactual(lake, task, goal, encoding=TabularEncoding(), horizon=9)
    with pytest.raises(InvalidArgumentError, match="there is no task"):
        counterfactual(lake)
    with pytest.raises(InvalidArgumentError, match="there is no task"):
        counterfactual(DummyVecEnv([lambda: lake]))
    with pytest.raises(InvalidArgumentError, match="before they are put together"):
        counterfactual(DummyVecEnv([lambda: lake]), task, goal)
    with pytest.raises(InvalidArgumentError, match="has its own settings, not these: horizon"):
        counterfactual(env, horizon=5)
    with pytest.raises(InvalidArgumentError, match=r"a gymnasium\.Env"):
        counterfactual("CartPole-v1")


def test_wrappers_that_change_rewards_ends_or_info_of_the_product_are_refused(machine):
    inner = counterfactual(Clock(events=frozenset("A"), ends=0), machine, counter_limit=3)[0]
    wrapped = {
        "around the product ends episodes": Ending(inner),
        "TransformReward around the product": gym.wrappers.TransformReward(inner, abs),
        "changes the reward: 3 was paid, 0 by the machine": Paying(inner, 3),
        r"changes the reward: -2\.\d+e-06 was paid, 0 by the machine": Paying(inner, -2.5e-6),
        "info has no 'machine_state'": Discreet(inner, "machine_state"),
        "info has no 'counters'": Discreet(inner, "counters"),
        "do not show the machine as the product reports it": Rescaled(inner),
        r"the shape \(99,\)": Longer(inner),
    }
    for message, env in wrapped.items():
        with pytest.raises(WorldError, match=message):
            algorithm(*counterfactual(env)).learn(20)
    _, replay = counterfactual(Slope(), climber(), far)
    bare = cranium.product(Slope(), climber(), far, encoding=BoxEncoding())
    with pytest.raises(WorldError, match=r"which is not (in info|recorded)"):
        algorithm(bare, replay, sb3.SAC).learn(5)
    vector = DummyVecEnv([lambda: cranium.product(Slope(), climber(), far)])
    with pytest.raises(WorldError, match=r"which is not (in info|recorded)"):
        counterfactual(elsewhere(vector))
    counterfactual(vector)
    for product in (vector.envs[0], cranium.product(RecordTransition(Slope()), climber(), far)):
        counterfactual(product)
        assert isinstance(product.env, RecordTransition)
        assert not isinstance(product.env.env, RecordTransition)  # one is enough


@pytest.mark.parametrize(
    "world",
    [
        lambda task: cranium.product(Clock(ends=0.3), task, encoding=BoxEncoding()),
        lambda task: cranium.product(Clock(ends=0), task, encoding=BoxEncoding(), horizon=5),
        lambda task: cranium.product(
            Clock(events=frozenset("B"), ends=0), cranium.compile_language("B B"),
            encoding=BoxEncoding(),
        ),
    ],
    ids=["the ground ends", "the horizon", "the machine ends"],
)  # fmt: skip
def test_wrappers_that_hide_termination_or_truncation_are_refused(machine, world):
    with pytest.raises(WorldError, match="around the product hides the end of an episode"):
        algorithm(*counterfactual(Hiding(world(machine)))).learn(60)


@pytest.mark.parametrize("kind", LIARS)
def test_the_wrappers_that_tabular_and_deep_learners_refuse_are_refused_here_too(kind):
    cells = cranium.labelling_from_cells({1: "A", 2: "B"})
    task = cranium.compile_language("A B")
    env = cranium.product(Walk(), task, cells, horizon=4, encoding=BoxEncoding())
    told = "a wrapper around the product|do not show the machine as the product reports it"
    with pytest.raises(WorldError, match=told):
        algorithm(*counterfactual(LIARS[kind][0](env))).learn(300)


@pytest.mark.parametrize("kind", HONEST)
def test_harmless_wrappers_are_accepted_by_the_replay_buffer_too(kind):
    cells = cranium.labelling_from_cells({1: "A", 2: "B"})
    task = cranium.compile_language("A B")
    env = cranium.product(Walk(), task, cells, horizon=4, encoding=BoxEncoding())
    assert algorithm(*counterfactual(HONEST[kind](env))).learn(60).num_timesteps >= 60


def test_a_termination_reported_as_a_truncation_is_refused(machine):
    env = cranium.product(Clock(ends=0.3), machine, encoding=BoxEncoding())
    with pytest.raises(WorldError, match="that was terminated as truncated"):
        algorithm(*counterfactual(Softening(env))).learn(60)


def test_without_stable_baselines_one_line_says_what_to_install():
    code = """
import sys
sys.modules["stable_baselines3"] = None
import cranium
import cranium.learners.sb3 as door
try:
    door.counterfactual(None)
except cranium.errors.MissingExtraError as error:
    print(error)
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install '.[sb3]'" in done.stdout
    assert done.stdout.endswith("False\n")
    code = (
        "import sys, cranium; print('torch' in sys.modules or 'stable_baselines3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_action_repeat_around_the_product_is_noticed(machine):
    def make():
        return counterfactual(Clock(ends=0.0), machine, counter_limit=3)[0]

    made = cranium.product(Clock(ends=0.0), machine, counter_limit=3, encoding=BoxEncoding())
    for env in (Repeated(make()), make_vec_env(lambda: Repeated(make()), 2), Repeated(made)):
        with pytest.raises(WorldError, match="takes several of its steps at once") as caught:
            algorithm(*counterfactual(env)).learn(40)
        assert "inside the product" in caught.value.fix
    clock = Clock(ends=0.0)
    inside = counterfactual(Repeated(RecordTransition(clock)), machine, counter_limit=3)
    algorithm(*inside).learn(40)
    assert clock.time > 100


def test_nothing_is_recorded_before_the_first_reset():
    env = Clock()
    env.reset()
    recorder = RecordTransition(env)
    assert recorder.step(0)[-1] == {}
    recorder.reset()
    assert recorder.step(0)[-1]["episode_step"] == 1
    assert cranium.solve(counterfactual(gym.make("cranium/Letter-anbcn-v0", times=1))[0])


@pytest.mark.parametrize("kind", ["f4", "i8"])
def test_terminal_observations_are_stored_without_normalisation(machine, kind):
    clocks = [Clock(i, kind=kind) for i in range(2)]
    settings = {"counter_limit": 4, "encoding": DictEncoding()}
    make = [lambda c=c: counterfactual(c, machine, **settings)[0] for c in clocks]
    env = VecNormalize(DummyVecEnv(make), norm_obs_keys=["ground"], clip_obs=0.5)
    buffer = algorithm(*counterfactual(env)).learn(100).replay_buffer
    assert buffer.dones.sum() > 5
    log = {key: entry for clock in clocks for key, entry in clock.log.items()}
    for step in range(buffer.size()):
        for i in range(2):
            before = buffer.observations["ground"][step, i]
            after = buffer.next_observations["ground"][step, i]
            assert after.tolist() == log[tuple(before)][2].tolist()
    check(buffer, clocks, machine)


@pytest.mark.parametrize("encoding", [BoxEncoding(), DictEncoding()])
def test_add_does_not_write_into_its_arguments(machine, encoding):
    env, replay = counterfactual(Clock(ends=0.9), machine, counter_limit=4, encoding=encoding)
    buffer = algorithm(env, replay).replay_buffer
    shown, _ = env.reset()
    after, reward, terminated, truncated, info = env.step(0)
    assert terminated or truncated
    info["TimeLimit.truncated"] = truncated

    def several(observation):
        if isinstance(observation, dict):
            return {key: np.array([part]) for key, part in observation.items()}
        return observation[None]

    wrong = several(after)
    ground = wrong["ground"] if isinstance(wrong, dict) else wrong
    ground[:, 0] = 77
    buffer.add(several(shown), wrong, np.array([0]), [reward], [True], [info])
    kept = buffer.next_observations
    kept = kept["ground"] if isinstance(kept, dict) else kept
    assert kept[0, 0, 0] == 0
    assert ground[0, 0] == 77


def test_normalised_terminal_observations_without_the_originals_are_refused(machine):
    def made():
        return cranium.product(Clock(), machine, counter_limit=3)

    bare = VecNormalize(DummyVecEnv([made]), norm_obs_keys=["ground"])
    with pytest.raises(WorldError, match="clips and rounds") as caught:
        counterfactual(elsewhere(bare))
    assert "make_vec_env(lambda: counterfactual(make(), automaton" in caught.value.fix
    _, replay = counterfactual(made())
    with pytest.raises(WorldError, match="clips and rounds"):
        algorithm(bare, replay, learning_starts=40).learn(100)
    env, replay = counterfactual(VecNormalize(DummyVecEnv([made]), norm_obs_keys=["ground"]))
    algorithm(env, replay, learning_starts=40).learn(100)


def test_an_evaluation_in_the_training_environment_is_an_error(machine):
    env, replay = counterfactual(
        Clock(ends=0.0), machine, counter_limit=30, horizon=9, encoding=BoxEncoding("raw")
    )
    model = algorithm(env, replay)
    watching = EvalCallback(model.get_env(), eval_freq=8, n_eval_episodes=1, warn=False, verbose=0)
    with pytest.raises(WorldError, match="reset or stepped in between, by an evaluation"):
        model.learn(200, callback=watching)


def test_rewards_that_change_are_an_error_and_large_ones_keep_their_precision():
    clock = Clock(events=frozenset("A"), ends=0.0)
    great = cranium.loads(
        "{propositions: [A], initial: u, transitions: [{from: u, when: A, reward: great}]}",
        rewards={"great": lambda s, a, t: 1.0 - 1e9 - clock.log[tuple(s)][-1]},
    )
    rich = gym.wrappers.TransformReward(clock, lambda reward: reward + 1e9)
    algorithm(*counterfactual(rich, great, add_ground_reward=True)).learn(40)
    noisy = climber(lambda s, a, t: float(np.random.random()))
    with pytest.raises(WorldError, match="does not always return the same"):
        algorithm(*counterfactual(Slope(), noisy, far), sb3.SAC).learn(20)
