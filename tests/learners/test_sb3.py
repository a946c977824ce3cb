"""Unmodified Stable-Baselines3 with counterfactual replay, against a slow and obvious oracle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.event_sequence import EventSequence, expected_seen_counters, up_down_machine
from support.sb3_worlds import (
    ENDS,
    TASK,
    Clock,
    Line,
    Slope,
    algorithm,
    check,
    climber,
    collect,
    cost,
    early,
    far,
    late,
)
from support.strategies import build_for_tables, specs

import cranium
from cranium import Configuration, RewardFunction
from cranium.aamdp import BoxEncoding, DictEncoding
from cranium.aamdp.catalogue import CATALOGUE
from cranium.counterfactual import configuration_set
from cranium.errors import RewardError

pytestmark = [
    pytest.mark.sb3,
    pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning"),
]
sb3 = pytest.importorskip("stable_baselines3")

import torch  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.vec_env import VecNormalize  # noqa: E402

from cranium.learners.sb3 import counterfactual  # noqa: E402

torch.set_num_threads(1)
RNG = np.random.default_rng(0)
EXAMPLES = Path(__file__).parents[2] / "examples"

REWARDS = (0.0, 1.0, -0.5, RewardFunction("early", early), RewardFunction("late", late))


@settings(max_examples=60)
@given(specs(rewards=REWARDS), st.booleans(), st.booleans(), st.sampled_from(["seen", "reachable"]))
def test_counterfactual_transitions_are_those_of_the_machine(spec, vectors, ground, kind):
    machine = build_for_tables(spec)
    clocks = [Clock(i, spec.propositions) for i in range(2)]
    encoding = BoxEncoding("raw") if vectors else DictEncoding()
    buffer = collect(
        clocks, machine, encoding=encoding, kind=kind, steps=30, add_ground_reward=ground
    )
    assume(buffer.size())
    check(buffer, clocks, machine, ground=ground)


@pytest.fixture
def machine():
    return cranium.library.load("anbcn")


def test_a_counterfactual_ratio_of_zero_is_the_plain_replay_buffer(machine):
    clocks = [Clock()]
    buffer = collect(clocks, machine, imagined=0.0)
    plain = sb3.common.buffers.ReplayBuffer(400, buffer.observation_space, buffer.action_space)
    for name in ("observations", "next_observations", "actions", "rewards", "dones", "timeouts"):
        setattr(plain, name, getattr(buffer, name))
    every = np.arange(buffer.size())
    for ours, theirs in zip(buffer._get_samples(every), plain._get_samples(every), strict=True):
        assert ours is theirs is None or torch.equal(ours, theirs)


def test_counterfactual_configurations_are_sampled_uniformly_over_different_encodings(machine):
    for encoding, alike in ((BoxEncoding("raw"), 1), (BoxEncoding("bits", clip=2), 7)):
        options = {"encoding": encoding, "counter_limit": 8, "imagined": 1.0, "steps": 150}
        buffer = collect([Clock(ends=0.01)], machine, **options)
        stored = buffer.replay.transitions
        draws = [stored.draw(np.zeros(500, np.int64), RNG).source for _ in range(40)]
        found, counts = np.unique(np.concatenate(draws), return_counts=True)
        assert found.tolist() == stored.known.members.tolist()
        groups = {}
        for number, count in zip(found.tolist(), counts, strict=True):
            shown = stored.known.shown[number]
            groups.setdefault(shown, []).append(count)
        assert max(map(len, groups.values())) == alike
        for group in groups.values():
            assert sum(group) == pytest.approx(20_000 / len(groups), rel=0.2)
            assert group == pytest.approx([sum(group) / len(group)] * len(group), rel=0.4)


def test_the_counterfactual_set_is_the_seen_or_the_reachable_configurations():
    machine = cranium.library.load("anbcn")
    clock = Clock(events=frozenset({"A"}), ends=0.0)
    sets = {}
    for kind in ("seen", "reachable"):
        buffer = collect([clock], machine, steps=4, kind=kind, counter_limit=9)
        stored = buffer.replay.transitions
        sets[kind] = {stored.known.space.decode(x) for x in stored.known.members.tolist()}
    assert sets["seen"] == {Configuration("counting", (n,)) for n in range(4)}
    assert sets["reachable"] == {Configuration("counting", (n,)) for n in range(10)}


@pytest.mark.parametrize(("limit", "ends"), [(None, False), (9, True)])
def test_counterfactuals_overflow_only_past_a_chosen_counter_limit(limit, ends):
    counting = cranium.CountingRewardAutomaton(
        propositions=["A"],
        counters=["n"],
        initial="u",
        terminal=[],
        transitions=[cranium.Transition(source="u", guard="A", change=(1,))],
    )
    clock = Clock(events=frozenset({"A"}), ends=0.0)
    buffer = collect([clock], counting, imagined=1.0, horizon=9, counter_limit=limit)
    assert bool(buffer.sample(400).dones.any()) is ends


def test_by_default_all_reachable_configurations_are_counterfactual_unless_there_are_too_many(
    machine,
):
    for options, kind in (
        ({"counter_limit": 9}, "reachable"),
        ({"horizon": 10**6}, "seen"),
        ({}, "seen"),
    ):
        model = algorithm(*counterfactual(Clock(ends=0.01), machine, **options)).learn(40)
        assert model.replay_buffer.replay.transitions.configurations == configuration_set(kind)
        assert len(model.replay_buffer.sample(7).dones) == 7


def test_each_environment_stores_its_own_label(machine):
    labels = [frozenset(), frozenset("A"), frozenset("B"), frozenset("C")]
    clocks = [Clock(i, events=label) for i, label in enumerate(labels)]
    buffer = collect(clocks, machine, steps=40)
    rows = buffer.replay.transitions.label[: buffer.size() * 4].reshape(-1, 4)
    space = buffer.replay.transitions.known.space
    expected = [space.label_index(label) for label in labels]
    assert (rows == expected).all()
    check(buffer, clocks, machine)
    assert set(buffer.sample(100).observations[:, 0].tolist()) == {0, 1, 2, 3}
    slot = buffer.replay.transitions
    assert len(slot.label) == len(slot.real) == len(slot.ground_terminated) == len(slot.paid) == 400


def test_the_stored_done_flag_is_not_used_for_counterfactual_transitions(machine):
    """From a word that is complete, others go on; from a world that ended, none does."""
    clock = Clock(events=frozenset("B"), ends=0.0)
    buffer = collect([clock], machine, imagined=1.0, counter_limit=2, steps=30)
    assert buffer.dones[:10].all()  # B with nothing counted fails
    stored = buffer.replay.transitions
    space, known = stored.known.space, stored.known
    known.meet(known.find(Configuration("counting", (2,))))
    drawn = stored.draw(np.zeros(100, np.int64), RNG)
    ends = {str(space.decode(x)): d for x, d in zip(drawn.source, drawn.terminated, strict=True)}
    assert ends["⟨counting, 0⟩"] == 1
    assert ends["⟨counting, 2⟩"] == 0
    stored.ground_terminated[0] = True
    assert stored.draw(np.zeros(100, np.int64), RNG).terminated.all()


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
    env, replay = counterfactual(env, counterfactual_ratio=1.0)
    model = algorithm(env, replay, kind).learn(80)
    assert all(t - s == pytest.approx(100 * a, rel=1e-4) for s, a, t in asked)
    assert max(a for _, a, _ in asked) > 2
    samples = model.replay_buffer.sample(64, env=env)
    scale = np.sqrt(env.ret_rms.var + env.epsilon)
    raw = model.replay_buffer
    stored = raw.replay.transitions.paid[: raw.size() * 2, 1]
    dues = np.clip(np.append(stored[~np.isnan(stored)], 5.0) / scale, -10, 10)
    for reward in samples.rewards.numpy().ravel():
        assert np.abs(dues - reward).min() < 1e-4
    assert np.abs(samples.observations["ground"].numpy()).max() <= 0.5
    assert set(samples.observations["machine_state"].numpy().ravel()) == {0, 1}


TWO = """
    propositions: [A, B]
    initial: u
    transitions:
      - {from: u, when: "A & !B", reward: early}
      - {from: u, when: B, to: v}
      - {from: v, when: "A & !B", reward: other}
"""


def seen_from(buffer, slot, times=200):
    """The states that a stored step is imagined from, and what it pays there."""
    drawn = buffer.replay.transitions.draw(np.full(times, slot), RNG)
    names = [buffer.replay.transitions.known.space.decode(x).state for x in drawn.source]
    return {name: float(reward) for name, reward in zip(names, drawn.reward, strict=True)}


def test_reward_functions_that_are_met_late_are_evaluated_for_all_stored_transitions():
    silent = "      - {from: w, silent: true, to: v, reward: early}"  # two are paid in one step
    task = TWO.replace("reward: other", "reward: other, to: w") + silent
    machine = cranium.loads(task, rewards={"early": early, "other": late})
    clock = Clock(events=lambda t: frozenset("A" if t < 20 else "B"), ends=0, vocabulary="AB")
    env, replay = counterfactual(clock, machine, counterfactual_ratio=1.0)
    model = algorithm(env, replay).learn(12)
    assert set(seen_from(model.replay_buffer, 3)) == {"u"}
    model.learn(20, reset_num_timesteps=False)
    found = seen_from(model.replay_buffer, 3)
    before, action, after = clock.log[tuple(model.replay_buffer.observations[3, 0, :2])][:3]
    assert found["u"] == pytest.approx(early(before, action, after))
    both = early(before, action, after) + late(before, action, after)
    assert found["v"] == pytest.approx(both)
    check(model.replay_buffer, [clock], machine)


@pytest.mark.parametrize("wrong", ["raises", "nan", "text"])
def test_a_configuration_whose_reward_function_fails_is_not_counterfactual_there(wrong):
    def other(s, a, t):
        return 1 // 0 if wrong == "raises" else float("nan") if wrong == "nan" else "much"

    machine = cranium.loads(TWO, rewards={"early": early, "other": other})
    clock = Clock(events=lambda t: frozenset("B" if 12 < t < 25 else "A"), ends=0)
    model = algorithm(*counterfactual(clock, machine, counterfactual_ratio=1.0)).learn(20)
    clock.time = 30
    buffer = model.learn(20).replay_buffer  # now v is known, from which A pays the other
    assert set(seen_from(buffer, 15)) == {"u", "v"}
    for step in (3, 30):
        assert set(seen_from(buffer, step)) == {"u"}
    clock = Clock(events=lambda t: frozenset("B" if t < 12 else "A"), ends=0)
    with pytest.raises(ZeroDivisionError if wrong == "raises" else RewardError):
        algorithm(*counterfactual(clock, machine)).learn(20)  # the one that is really paid


def test_labels_that_satisfy_the_same_guards_are_relabelled_alike(machine):
    names = [f"P{i}" for i in range(9)]
    task = cranium.loads(
        f"""
        propositions: [A, B, {", ".join(names)}]
        initial: u
        transitions: [{{from: u, when: A | B, to: v}}, {{from: v, when: A | B, to: u, reward: 1}}]
        """
    )
    clock = Clock(vocabulary=("A", "B", *names))
    buffer = collect([clock], task)
    assert len({entry[3] for entry in clock.log.values()}) > 50
    assert len(buffer.replay.transitions.known.space.labels) <= 3  # with the empty one
    check(buffer, [clock], task)


def test_a_new_configuration_costs_the_same_however_many_there_are(monkeypatch):
    asked = []
    plain = cranium.CountingRewardAutomaton.is_terminal
    monkeypatch.setattr(
        cranium.CountingRewardAutomaton,
        "is_terminal",
        lambda machine, x: asked.append(x) or plain(machine, x),
    )
    clock = Clock(events=frozenset("A"), ends=0.0)
    env, replay = counterfactual(clock, cranium.library.load("anbcn"), configurations="seen")
    buffer = algorithm(env, replay).learn(300).replay_buffer
    assert len(buffer.replay.transitions.known.members) == 300
    assert len(asked) < 10 * 300


TASKS = [entry.product_id(task) for entry in CATALOGUE for task in entry.tasks]


@pytest.mark.parametrize("name", TASKS)
def test_every_task_of_the_catalogue_can_be_learned(name):
    env, replay = counterfactual(gym.make(name))
    kind = sb3.SAC if isinstance(env.action_space, gym.spaces.Box) else sb3.DQN
    model = algorithm(env, replay, kind, learning_starts=5, train_freq=1, batch_size=8).learn(12)
    shown = model.replay_buffer.sample(4).observations
    counts = bool(cranium.find_product(env).automaton.num_counters)
    assert set(shown) == {"ground", "machine_state"} | ({"counters"} if counts else set())


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
def test_continuous_actions_are_stored_for_the_tasks_of_the_point_world(kind):
    env, replay = counterfactual(
        make_vec_env("cranium/Point-deliver-v0", 3), counterfactual_ratio=0.8
    )
    model = algorithm(env, replay, kind, learning_starts=30, train_freq=10).learn(200)
    samples = model.replay_buffer.sample(32)
    assert samples.actions.shape == (32, 2)
    assert len(model.replay_buffer.replay.transitions.known.members) >= 1


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("sb3*.py")))
def test_the_examples_run(name):
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), "--steps", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "success" in done.stdout


@pytest.mark.parametrize(("tape", "ends"), [("AAB", ()), ("AAC", ()), ("ABAA", (2,)), ("AAAA", ())])
def test_the_seen_counters_are_those_of_the_tabular_and_deep_learners(tape, ends):
    """A step is stored from where it began: the last one leads to what is not stored from yet."""
    for steps in (1, 2, 3, 7, 20):
        env = cranium.product(
            EventSequence(tape, ends), up_down_machine(), horizon=3, encoding=BoxEncoding()
        )
        env, replay = counterfactual(env, configurations="seen")
        model = algorithm(env, replay, train_freq=1).learn(steps)
        assert model.num_timesteps == steps
        known = model.replay_buffer.replay.transitions.known
        wanted = expected_seen_counters(tape, ends, 3, steps - 1)
        found = {known.space.configurations[x].counters for x in known.members}
        assert found == wanted
