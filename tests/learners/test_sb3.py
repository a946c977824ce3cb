"""Unmodified Stable-Baselines3 with counterfactual replay, against a slow and obvious oracle."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.strategies import specs
from laws.test_table_laws import machine_of
from learners.sb3_worlds import (
    ENDS,
    TASK,
    Clock,
    Ending,
    Line,
    Longer,
    Rescaled,
    Slope,
    climber,
    cost,
    early,
    far,
    late,
)

import cranium
from cranium import Configuration, RewardFunction
from cranium.aamdp import BoxEncoding, DictEncoding, TabularEncoding
from cranium.compiled.tables import OVERFLOW, limited
from cranium.errors import InvalidArgumentError, RunError, WorldError

pytestmark = pytest.mark.sb3
sb3 = pytest.importorskip("stable_baselines3")

import torch  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # noqa: E402

from cranium.learners.sb3 import CounterfactualReplayBuffer, Witness, counterfactual  # noqa: E402

torch.set_num_threads(1)
EXAMPLES = Path(__file__).parents[2] / "examples"
NEVER = 10**9


REWARDS = (0.0, 1.0, -0.5, RewardFunction("early", early), RewardFunction("late", late))


def algorithm(env, replay, kind=sb3.DQN, **options):
    """An algorithm that only collects: at random, and never learns."""
    policy = (
        "MultiInputPolicy" if isinstance(env.observation_space, gym.spaces.Dict) else "MlpPolicy"
    )
    settings = {"buffer_size": 400, "learning_starts": NEVER, "policy_kwargs": {"net_arch": [4]}}
    return kind(policy, env, **{**settings, "device": "cpu", "seed": 0, **replay, **options})


def collect(clocks, machine, *, steps=60, encoding=None, imagined=0.5, kind="reachable", **options):
    """Several clocks with one task; what was stored, by an unmodified algorithm."""
    encoding = encoding or BoxEncoding("raw")
    settings = {"counter_limit": 4, **options, "encoding": encoding}
    make = [lambda c=c: counterfactual(c, machine, **settings)[0] for c in clocks]
    env, replay = counterfactual(DummyVecEnv(make), imagined=imagined, configurations=kind)
    model = algorithm(env, replay)
    try:
        model.learn(steps)
        model.learn(steps)  # resets in the middle of an episode
    except RunError:
        pass  # the machine refused
    return model.replay_buffer


def numpy_of(samples, i):
    def pick(value):
        return (
            {k: pick(v) for k, v in value.items()} if isinstance(value, dict) else value[i].numpy()
        )

    found = [pick(part) for part in samples[:5]]
    for part in found:
        if isinstance(part, dict):
            part["machine_state"] = part["machine_state"].item()
    return found


def check(buffer, clocks, machine, size=64, *, ground=False):
    """Step the machine by hand for every sample; returns the configurations they begin in."""
    encoding, sources = buffer.imagination.encoding, []
    log = {key: entry for clock in clocks for key, entry in clock.log.items()}
    samples = buffer.sample(size)
    assert len(samples.actions) == size
    for i in range(size):
        observation, action, after, done, reward = numpy_of(samples, i)
        seen, source = encoding.decode(observation)
        before, taken, then, events, ended, own = log[tuple(np.ravel(seen))]
        assert not machine.is_terminal(source)
        assert source != OVERFLOW
        step = machine.step(source, events & set(machine.propositions))
        target = limited(step.configuration, encoding.counter_limit)
        due = step.reward
        if isinstance(due, RewardFunction):
            due = due(before, taken, then)
        shown, reached = encoding.decode(after)
        if target == OVERFLOW:
            assert reached == OVERFLOW
        else:
            assert reached == target
        assert tuple(np.ravel(shown)) == tuple(then)
        assert reward.item() == pytest.approx(due + own * ground, rel=1e-5, abs=1e-5)
        over = target == OVERFLOW or machine.is_terminal(target)
        assert done.item() == float(over or ended)
        assert np.all(action == taken)
        sources.append(source)
    return sources


@settings(max_examples=60)
@given(specs(rewards=REWARDS), st.booleans(), st.booleans(), st.sampled_from(["seen", "reachable"]))
def test_what_is_imagined_is_what_the_machine_does(spec, vectors, ground, kind):
    machine = machine_of(spec)
    if machine is None:
        return
    clocks = [Clock(i, spec.propositions) for i in range(2)]
    encoding = BoxEncoding("raw") if vectors else DictEncoding()
    buffer = collect(
        clocks, machine, encoding=encoding, kind=kind, steps=30, add_ground_reward=ground
    )
    if buffer.size():
        check(buffer, clocks, machine, ground=ground)


@pytest.fixture
def machine():
    return cranium.library.load("anbcn")


def test_nothing_imagined_is_plain_replay(machine):
    clocks = [Clock()]
    buffer = collect(clocks, machine, imagined=0.0)
    plain = sb3.common.buffers.ReplayBuffer(400, buffer.observation_space, buffer.action_space)
    for name in ("observations", "next_observations", "actions", "rewards", "dones", "timeouts"):
        setattr(plain, name, getattr(buffer, name))
    every = np.arange(buffer.size())
    for ours, theirs in zip(buffer._get_samples(every), plain._get_samples(every), strict=True):
        assert ours is theirs is None or torch.equal(ours, theirs)


def test_everything_imagined_is_uniform_over_the_set(machine):
    clocks = [Clock(ends=0.01)]
    buffer = collect(clocks, machine, imagined=1.0, steps=150)
    numbers = [buffer.imagination.draw(np.zeros(500, np.int64)).source for _ in range(20)]
    found, counts = np.unique(np.concatenate(numbers), return_counts=True)
    assert found.tolist() == buffer.imagination.members.tolist()
    assert counts.min() > 0.8 * 10_000 / len(found)


def test_the_set_is_what_was_seen_or_what_can_be_reached():
    machine = cranium.library.load("anbcn")
    clock = Clock(events=frozenset({"A"}), ends=0.0)
    sets = {}
    for kind in ("seen", "reachable"):
        buffer = collect([clock], machine, steps=4, kind=kind, counter_limit=9)
        imagination = buffer.imagination
        sets[kind] = {imagination.space.decode(x) for x in imagination.members.tolist()}
    assert sets["seen"] == {Configuration("counting", (n,)) for n in range(4)}
    assert sets["reachable"] == {Configuration("counting", (n,)) for n in range(10)}


def test_if_nobody_says_which_all_are_imagined_unless_there_are_too_many(machine):
    for options, kind in (
        ({"counter_limit": 9}, "reachable"),
        ({"horizon": 10**6}, "seen"),
        ({}, "seen"),
    ):
        model = algorithm(*counterfactual(Clock(ends=0.01), machine, **options)).learn(40)
        assert model.replay_buffer.imagination.configurations == kind
        assert len(model.replay_buffer.sample(7).dones) == 7


def test_each_environment_stores_its_own_label(machine):
    labels = [frozenset(), frozenset("A"), frozenset("B"), frozenset("C")]
    clocks = [Clock(i, events=label) for i, label in enumerate(labels)]
    buffer = collect(clocks, machine, steps=40)
    rows = buffer.imagination.label[: buffer.size() * 4].reshape(-1, 4)
    space = buffer.imagination.space
    expected = [space.label_index(label) for label in labels]
    assert (rows == expected).all()
    check(buffer, clocks, machine)
    assert set(buffer.sample(100).observations[:, 0].tolist()) == {0, 1, 2, 3}
    slot = buffer.imagination
    assert len(slot.label) == len(slot.real) == len(slot.ended) == len(slot.paid) == 400


def test_the_stored_end_is_never_used(machine):
    """From a word that is complete, others go on; from a world that ended, none does."""
    clock = Clock(events=frozenset("B"), ends=0.0)
    buffer = collect([clock], machine, imagined=1.0, counter_limit=2, steps=30)
    assert buffer.dones[:10].all()  # B with nothing counted fails
    space = buffer.imagination.space
    buffer.imagination._meet(space.encode(Configuration("counting", (2,))))
    drawn = buffer.imagination.draw(np.zeros(100, np.int64))
    ends = {str(space.decode(x)): d for x, d in zip(drawn.source, drawn.done, strict=True)}
    assert ends["⟨counting, 0⟩"] == 1
    assert ends["⟨counting, 2⟩"] == 0
    buffer.imagination.ended[0] = 1.0
    assert buffer.imagination.draw(np.zeros(100, np.int64)).done.all()


@pytest.mark.parametrize("kind", [sb3.SAC, sb3.TD3, sb3.DDPG])
def test_reward_functions_get_raw_observations_and_unscaled_actions(kind):
    asked = []

    def spy(s, a, t):
        asked.append((float(s[0]), float(a[0]), float(t[0])))
        return cost(s, a, t)

    machine = climber(spy)
    env = make_vec_env(lambda: counterfactual(Slope(), machine, far, encoding=DictEncoding())[0], 2)
    env = VecNormalize(
        env, norm_obs_keys=["ground"], clip_obs=0.5
    )  # clips: what is left is useless
    env, replay = counterfactual(env, imagined=1.0)
    model = algorithm(env, replay, kind).learn(80)
    assert all(t - s == pytest.approx(100 * a, rel=1e-4) for s, a, t in asked)
    assert max(a for _, a, _ in asked) > 2
    samples = model.replay_buffer.sample(64, env=env)
    scale = np.sqrt(env.ret_rms.var + env.epsilon)
    raw = model.replay_buffer
    stored = raw.imagination.paid[: raw.size() * 2, 1]
    dues = np.clip(np.append(stored[~np.isnan(stored)], 5.0) / scale, -10, 10)
    for reward in samples.rewards.numpy().ravel():
        assert np.abs(dues - reward).min() < 1e-4
    assert np.abs(samples.observations["ground"].numpy()).max() <= 0.5
    assert set(samples.observations["machine_state"].numpy().ravel()) == {0, 1}


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


def test_what_would_be_wrong_is_refused(machine):
    env, replay = counterfactual(Clock(), machine, counter_limit=3)
    with pytest.raises(InvalidArgumentError, match="from other configurations it may go on"):
        algorithm(env, replay, optimize_memory_usage=True)
    settings = {**replay["replay_buffer_kwargs"], "n_steps": 3, "gamma": 0.9}
    with pytest.raises(InvalidArgumentError, match="not for n_steps=3"):
        algorithm(env, {**replay, "replay_buffer_kwargs": settings})
    with pytest.warns(UserWarning, match="`n_steps=3` is ignored"):  # by SB3 itself
        algorithm(env, replay, n_steps=3)
    for wrong in (1.5, -0.1, True, "half", float("nan")):
        with pytest.raises(InvalidArgumentError, match="a number from 0 to 1"):
            algorithm(*counterfactual(env, imagined=wrong))
    with pytest.raises(InvalidArgumentError, match="'seen' or 'reachable', not 'current'"):
        algorithm(*counterfactual(env, configurations="current"))
    with pytest.raises(InvalidArgumentError, match="endlessly many"):
        algorithm(*counterfactual(Clock(), machine, configurations="reachable"))
    with pytest.raises(InvalidArgumentError, match="takes a BoxEncoding"):
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


def test_wrappers_that_change_what_the_product_says_are_found_out(machine):
    inner = counterfactual(Clock(events=frozenset("A"), ends=0), machine, counter_limit=3)[0]
    wrapped = {
        "ended by something outside": Ending(inner),
        "paid 3, but by the machine it pays 0": gym.wrappers.TransformReward(
            inner, lambda r: r + 3
        ),
        "do not show the machine as the product told it": Rescaled(inner),
        r"the shape \(99,\)": Longer(inner),
    }
    for message, env in wrapped.items():
        with pytest.raises(WorldError, match=message):
            algorithm(*counterfactual(env)).learn(20)
    _, replay = counterfactual(cranium.product(Slope(), climber(), far, encoding=BoxEncoding()))
    bare = cranium.product(Slope(), climber(), far, encoding=BoxEncoding())
    with pytest.raises(WorldError, match="which nobody tells"):
        algorithm(bare, replay, sb3.SAC).learn(5)
    vector = DummyVecEnv([lambda: cranium.product(Slope(), climber(), far)])
    with pytest.raises(WorldError, match="which nobody tells"):
        counterfactual(vector)
    told = counterfactual(cranium.product(Witness(Slope()), climber(), far))[0]
    assert not isinstance(told.env.env, Witness)  # one is enough


def test_a_buffer_can_be_saved_and_training_goes_on(tmp_path):
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


def test_a_buffer_that_is_given_to_another_run_finds_out_where_the_machine_is(machine):
    clock = Clock(ends=0.02)
    env, replay = counterfactual(clock, machine, counter_limit=30, encoding=BoxEncoding("log"))
    model = algorithm(env, replay).learn(30)
    model.replay_buffer = pickle.loads(pickle.dumps(algorithm(env, replay).replay_buffer))
    model.learn(50, reset_num_timesteps=False)
    check(model.replay_buffer, [clock], machine)


def test_dqn_learns_and_the_same_seed_gives_the_same_result():
    results = []
    for _ in range(2):
        env, replay = counterfactual(Line(), TASK, ENDS, horizon=20)
        model = sb3.DQN(
            "MlpPolicy", env, seed=1, device="cpu", learning_rate=2e-3, learning_starts=200,
            target_update_interval=100, exploration_fraction=0.6, train_freq=2, gamma=0.9,
            policy_kwargs={"net_arch": [32]}, **replay,
        ).learn(2500)  # fmt: skip
        reward, _ = evaluate_policy(model, model.get_env(), n_eval_episodes=2)
        results.append((reward, [p.detach().numpy().copy() for p in model.policy.parameters()]))
    assert results[0][0] == 1.0
    assert all(np.array_equal(a, b) for a, b in zip(results[0][1], results[1][1], strict=True))


@pytest.mark.parametrize("kind", [sb3.SAC, sb3.TD3])
def test_the_point_world_with_its_own_tasks(kind):
    env, replay = counterfactual(make_vec_env("cranium/Point-deliver-v0", 3), imagined=0.8)
    model = algorithm(env, replay, kind, learning_starts=30, train_freq=10).learn(200)
    samples = model.replay_buffer.sample(32)
    assert samples.actions.shape == (32, 2)
    assert len(model.replay_buffer.imagination.members) >= 1


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
    assert "pip install 'cranium[sb3]'" in done.stdout
    assert done.stdout.endswith("False\n")
    code = (
        "import sys, cranium; print('torch' in sys.modules or 'stable_baselines3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", ["sb3_dqn", "sb3_continuous"])
def test_the_examples_run(name):
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), "--steps", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "success" in done.stdout
