"""Policies: what they cover, what they are worth, and files."""

from __future__ import annotations

import json
import pickle

import gymnasium as gym
import numpy as np
import pytest
from support.environments import make_letter_product

import cranium
from cranium.errors import (
    FileAccessError,
    FileFormatError,
    InvalidArgumentError,
    PolicyError,
    UnsoundLabelsWarning,
)
from cranium.learners import TabularConfig, Visits, train
from cranium.learners.evaluation import LiveEvaluator
from cranium.worlds import OfficeWorld

# One policy for all N


def test_trained_on_random_n_it_solves_each():
    result = train(make_letter_product((1, 5)), "cql", steps=100_000, seed=0)
    assert result.evaluation.instances == ("A once", *(f"A {n} times" for n in range(2, 6)))
    assert result.evaluation.success.tolist() == [1] * 5
    assert result.evaluation.gap == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_trained_on_one_n_reachable_solves_more_and_seen_does_not(seed):
    """With the letter in the observation nothing else tells the agent how large N is."""
    small = make_letter_product(1, observation="paper")
    large = make_letter_product((1, 5), observation="paper")
    config = TabularConfig(exploration=0.1, learning_rate=0.01)
    found = {}
    for kind in ("reachable", "seen"):
        result = train(
            small, "cql", steps=400_000, seed=seed, config=config, counter_limit=5,
            configurations=kind,
        )  # fmt: skip
        found[kind] = cranium.evaluate(large, result.policy).success.tolist()
    assert found["reachable"] == [1, 1, 1, 1, 1]
    assert found["seen"][0] == 1
    assert found["seen"][1:] == [0, 0, 0, 0]


def test_counterfactuals_with_labels_that_depend_on_hidden_state_are_warned_of():
    with pytest.warns(UnsoundLabelsWarning, match="not a function of what is observed"):
        train(make_letter_product(1, observation="cell"), "cql", steps=10)
    train(make_letter_product(1, observation="cell"), "ql", steps=10)
    train(make_letter_product(1, observation="paper"), "cql", steps=10)


def test_parallel_seeds_are_independent():
    alone = [train(make_letter_product(2), "cql", steps=3000, seed=s).q for s in (0, 1)]
    again = [train(make_letter_product(2), "cql", steps=3000, seed=s).q for s in (1, 0)]
    assert np.array_equal(alone[0], again[1])
    assert np.array_equal(alone[1], again[0])
    assert not np.array_equal(*alone)


# What it is worth


@pytest.mark.slow
def test_an_evaluation_is_what_episodes_show():
    lake = gym.make("FrozenLake-v1", is_slippery=True)
    goal = cranium.labelling_from_cells({15: "goal"})
    env = cranium.product(lake, cranium.compile_language("goal"), goal)
    result = train(env, "cql", steps=20_000, seed=0, learning_rate=Visits(0.6))
    exact = result.evaluation
    assert exact.exact
    runs = LiveEvaluator(env, None, 2000, 0, 0.99).evaluate_policy(result.policy)
    assert not runs.exact
    assert runs.success[0] == pytest.approx(exact.success[0], abs=0.04)
    assert runs.lengths[0] == pytest.approx(exact.lengths[0], rel=0.1)


@pytest.mark.slow
def test_instances_can_be_chosen():
    result = train(
        make_letter_product((1, 3)), "cql", steps=60_000, instances={"two": {"times": {"A": 2}}}
    )
    assert result.evaluation.instances == ("two",)
    assert result.evaluation.lengths.tolist() == [21]
    office = cranium.product(OfficeWorld((1, 3)), cranium.library.load("office"), horizon=1000)
    policy = train(office, "planner", steps=3000, until="solved").policy
    found = cranium.evaluate(office, policy, instances={"much": {"mail": 3}, "any": {}})
    assert found.success.tolist() == [1, 1]
    assert 41 < found.lengths[1] < found.lengths[0]
    with pytest.raises(InvalidArgumentError, match="at most 3 items"):
        cranium.evaluate(office, policy, instances={"more": {"mail": 4}})


def test_solved_may_mean_near_the_optimum():
    env = make_letter_product(1)
    some = train(env, "planner", steps=2000, seed=3, until="solved", evaluate_every=5)
    best = train(env, "planner", steps=2000, seed=3, until="solved", gap=0.0, evaluate_every=5)
    assert best.evaluation.gap[0] == pytest.approx(0, abs=1e-9)
    assert best.samples_to_solve >= some.samples_to_solve
    result = train(env, steps=5000, until=lambda found: found.success[0] > 0, evaluate_every=100)
    assert result.samples < 5000


def test_a_function_that_decides_when_to_stop_may_ask_for_the_optimum():
    ice = gym.make("FrozenLake-v1")  # slippery: no policy always succeeds
    goal = cranium.labelling_from_cells({15: "goal"})
    env = cranium.product(ice, cranium.compile_language("goal"), goal)
    told = {"steps": 20_000, "evaluate_every": 500, "until": lambda found: found.gap[0] < 0.01}
    result = train(env, "planner", **told)
    assert result.samples < 20_000
    assert result.samples_to_solve is None
    assert cranium.solve(env).start_value - result.evaluation.values[0] < 0.01
    live = train(env, "planner", path="python", steps=50, until=lambda found: found.gap is None)
    assert live.samples == 1


def test_many_instances_are_shown_in_one_line():
    many = np.linspace(0, 1, 300)
    found = cranium.learners.Evaluation(tuple(map(str, range(300))), *[many] * 4, True, many)
    assert str(found) == (
        "300 instances: 0.5000 success on average, 0.0000 at worst, 0.50 steps, "
        "value 0.5000 of at most 0.5000"
    )


def test_a_policy_is_asked_only_where_it_leads():
    env = make_letter_product((1, 2))
    policy = train(make_letter_product((1, 2)), "cql", steps=60_000, counter_limit=2).policy
    few = cranium.Policy(
        policy.q[:, :1], policy.observations, policy.configurations[:1], policy.automaton
    )
    with pytest.raises(PolicyError, match="beyond what was learned"):
        cranium.evaluate(env, few)
    found = cranium.evaluate(env, few.with_unknown("random"))
    assert 0 <= found.success.max() < 1


# Files


def same(one, other):
    assert np.array_equal(one.q, other.q)
    assert one.configurations == other.configurations
    assert one.automaton == other.automaton
    assert all(
        np.array_equal(*pair) for pair in zip(one.observations, other.observations, strict=True)
    )
    assert (one.about, one.world) == (other.about, other.world)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["ql", "cql", "planner"])
def test_a_policy_is_read_as_it_was_written(tmp_path, learner):
    env = make_letter_product((1, 2))
    result = train(env, learner, steps=2000, seed=7)
    result.policy.save(tmp_path / "agent.npz")
    same(cranium.Policy.load(tmp_path / "agent.npz", env), result.policy)
    same(pickle.loads(pickle.dumps(result)).policy, result.policy)
    assert result.policy.about["learner"] == learner
    assert result.policy.about["samples"] == 2000


def test_observations_of_any_kind_are_written(tmp_path):
    machine = cranium.library.load("anbcn")
    seen = (3, "here", (1, (2.5, None)), {"x": np.array([1, 2], np.int16), "y": True})
    policy = cranium.Policy(np.ones((4, 1, 2)), seen, (machine.start,), machine, first_action=3)
    policy.save(tmp_path / "p.npz")
    again = cranium.Policy.load(tmp_path / "p.npz")
    assert again.observations[:3] == seen[:3]
    assert again.observations[3]["x"].dtype == np.int16
    assert again({"x": np.array([1, 2], np.int16), "y": True}, machine.start) == 3
    odd = cranium.Policy(np.ones((1, 1, 2)), (frozenset({1}),), (machine.start,), machine)
    with pytest.raises(InvalidArgumentError, match="cannot be written"):
        odd.save(tmp_path / "odd.npz")


def test_a_policy_for_another_task_or_world_is_refused(tmp_path):
    path = tmp_path / "agent.npz"
    train(make_letter_product(1), "cql", steps=100).policy.save(path)
    with pytest.raises(
        PolicyError, match=r"made for the task A\^N B C D\^N .* not for A\^N B C\^N"
    ):
        cranium.Policy.load(path, gym.make("cranium/Letter-anbcn-v0", times=1))
    with pytest.raises(PolicyError, match="another world"):
        cranium.Policy.load(path, make_letter_product(2))
    with pytest.raises(PolicyError, match="another world"):
        cranium.Policy.load(path, make_letter_product(1, start=(5, 5)))
    cranium.Policy.load(path)


@pytest.mark.slow
def test_a_discretised_policy_needs_its_function(tmp_path):
    env = make_letter_product(1)
    result = train(env, "ql", steps=300, path="python", discretise=lambda seen: tuple(seen[:2]))
    result.policy.save(tmp_path / "d.npz")
    with pytest.raises(InvalidArgumentError, match="discretised observations"):
        cranium.Policy.load(tmp_path / "d.npz")
    again = cranium.Policy.load(tmp_path / "d.npz", discretise=lambda seen: tuple(seen[:2]))
    assert again(np.array([4, 4, 1]), env.unwrapped and again.automaton.start) in range(4)


def test_what_is_no_policy_is_refused(tmp_path):
    path = tmp_path / "agent.npz"
    train(make_letter_product(1), "cql", steps=100).policy.save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    about = json.loads(str(arrays["about"]))

    def damaged(**changes):
        told = {**about, **changes.pop("about", {})}
        np.savez(tmp_path / "bad.npz", **{**arrays, "about": np.array(json.dumps(told)), **changes})
        return cranium.Policy.load(tmp_path / "bad.npz")

    with pytest.raises(FileFormatError, match="version 99 of the format"):
        damaged(about={"version": 99})
    for change in (
        {"q": np.zeros((1, 1, 1))},
        {"q": arrays["q"].astype(np.float32)},
        {"about": {"configurations": 3}},
        {"about": {"automaton": "nonsense"}},
        {"about": {"observations": "arrays"}, "observations": np.zeros((0, 3))},
    ):
        with pytest.raises(FileFormatError, match="damaged"):
            damaged(**change)
    np.savez(tmp_path / "bad.npz", about=np.array([{}], dtype=object))
    for name, content in (("text.npz", b"hello"), ("empty.npz", b""), ("bad.npz", None)):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(FileFormatError, match="not a policy of ours"):
            cranium.Policy.load(tmp_path / name)
    with pytest.raises(FileAccessError, match="cannot read"):
        cranium.Policy.load(tmp_path / "missing.npz")
    with pytest.raises(InvalidArgumentError, match=r"into a \.npz file"):
        cranium.Policy.load(path).save(tmp_path / "agent.txt")


def test_a_policy_with_other_actions_is_refused(tmp_path):
    env = make_letter_product(1)
    policy = train(env, "ql", steps=100).policy
    wide = cranium.Policy(
        np.concatenate([policy.q, policy.q + 9], axis=2),
        policy.observations,
        policy.configurations,
        policy.automaton,
    )
    with pytest.raises(PolicyError, match="the policy has 8 actions, but the world 4"):
        cranium.evaluate(env, wide)
    wide.save(tmp_path / "wide.npz")
    with pytest.raises(PolicyError, match="made for actions in Discrete\\(8\\)"):
        cranium.Policy.load(tmp_path / "wide.npz", env)


def test_a_damaged_file_is_refused_wherever_it_is_damaged(tmp_path):
    path = tmp_path / "agent.npz"
    train(make_letter_product(1), "ql", steps=100).policy.save(path)
    content = path.read_bytes()
    refused = 0
    for at in range(0, len(content), max(len(content) // 60, 1)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        try:
            cranium.Policy.load(path)
        except (FileFormatError, FileAccessError):
            refused += 1
    assert refused > 20
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    with pytest.raises(FileFormatError, match="not a policy of ours"):
        cranium.Policy.load(tmp_path / "array.npz")
    with pytest.raises(FileAccessError, match="there is no folder"):
        train(make_letter_product(1), "ql", steps=10).policy.save(
            tmp_path / "nowhere" / "agent.npz"
        )


def test_saving_what_was_learned_in_python_does_not_list_the_world(tmp_path):
    class Wide(gym.Env):
        observation_space = gym.spaces.MultiDiscrete([40] * 4)
        action_space = gym.spaces.Discrete(8)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.at = np.zeros(4, np.int64)
            return self.at.copy(), {}

        def step(self, action):
            at = self.at
            at[action % 4] = np.clip(at[action % 4] + (1 if action < 4 else -1), 0, 39)
            return at.copy(), 0.0, False, False, {}

    far = cranium.labelling_from_cells({(39, 39, 39, 39): "far"})
    env = cranium.product(Wide(), cranium.compile_language("far"), far, horizon=100)
    result = train(env, "ql", steps=200, path="python", evaluation_episodes=1, evaluate_every=200)
    result.policy.save(tmp_path / "wide.npz")
    cranium.Policy.load(tmp_path / "wide.npz", env)
