"""Networks where the world is not finite: the point in its square, and any environment in Python."""

from __future__ import annotations

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.lying_wrappers import Walk

import cranium
from cranium.aamdp.planning import find_product
from cranium.errors import (
    HorizonWarning,
    InvalidArgumentError,
    PolicyError,
    RewardError,
    SpaceError,
    WorldError,
)
from cranium.learners import train
from cranium.learners.config import LearnerConfig
from cranium.learners.deep.config import ActorConfig
from cranium.learners.deep.continuous_worlds import build_continuous_world
from cranium.learners.deep.live import LiveDeepRun
from cranium.learners.tabular.arrays import LearnerTables
from cranium.tables.space import open_space
from cranium.worlds import PointWorld

pytestmark = pytest.mark.slow

SMALL = {"hidden": (16, 16), "batch": 8, "replay": 500, "warmup": 50, "evaluation_episodes": 1}


@pytest.fixture
def runs(monkeypatch):
    """The runs in live environments that are made."""
    found, original = [], LiveDeepRun.__init__

    def noted(self, *args, **kwargs):
        found.append(self)
        original(self, *args, **kwargs)

    monkeypatch.setattr(LiveDeepRun, "__init__", noted)
    return found


def same(one, two):
    leaves = jax.tree.map(np.array_equal, one.policy.network, two.policy.network)
    return all(jax.tree.leaves(leaves))


def cart(horizon=100):
    """The pole on its cart, from Gymnasium: go right, then left, and never let it fall."""

    def labelling(s, a, t):
        return {"right"} if t[0] > 0.1 else {"left"} if t[0] < -0.1 else ()

    labelling.events = ("left", "right")
    machine = cranium.compile_language("right left")
    return cranium.product(gym.make("CartPole-v1"), machine, labelling=labelling, horizon=horizon)


def pendulum():
    """The pendulum, from Gymnasium: its actions are from −2 to 2."""

    def labelling(s, a, t):
        return {"up"} if t[0] > 0.9 else {"down"} if t[0] < -0.9 else ()

    labelling.events = ("down", "up")
    machine = cranium.compile_language("down up")
    return cranium.product(gym.make("Pendulum-v1"), machine, labelling=labelling, horizon=50)


# The point, inside the loop


@pytest.mark.parametrize("actions", ["continuous", "discrete"])
@pytest.mark.parametrize("view", ["offers", "markov"])
def test_the_point_moves_in_the_loop_as_in_the_environment(actions, view):
    machine = cranium.library.load("point-deliver")
    ground = PointWorld(mail=(1, 3), actions=actions, observation=view)
    env = cranium.product(ground, machine, horizon=300)
    tables = LearnerTables(open_space(machine, 5), LearnerConfig(), 4, 300, 1)
    world = build_continuous_world(env, tables)
    rng = np.random.default_rng(0)
    step = jax.jit(world.step)
    for times in (1, 3):
        observation, _ = env.reset(seed=0, options={"times": {"mail": times}})
        state = (jnp.asarray(ground.position), jnp.asarray(ground.left))
        for _ in range(200):
            aim = ground.centres[rng.integers(4)] - ground.position
            action = np.sign(aim).astype(np.float32)
            if actions == "discrete":
                action = int(rng.integers(4))
            observation, _, over, _, info = env.step(action)
            state, row, ended, extra = step(state, jnp.asarray(action), jnp.full(6, 0.5))
            np.testing.assert_allclose(world.observe(state), observation["ground"], atol=1e-6)
            label = tables.space.label_index(info["label"])
            assert int(row) == label
            assert not ended
            assert extra.tolist() == [0.0]
            if over:
                break


def test_starts_and_amounts_are_drawn_as_in_the_environment():
    machine = cranium.library.load("point-deliver")
    env = cranium.product(PointWorld(mail=(2, 4), start=None), machine, horizon=50)
    tables = LearnerTables(open_space(machine, 5), LearnerConfig(), 4, 50, 1)
    world = build_continuous_world(env, tables)
    u = np.random.default_rng(1).random((2000, world.reset_randoms)).astype(np.float32)
    places, left = jax.vmap(world.reset)(u)
    mail = np.asarray(left)[:, 2]
    assert set(mail) == {2, 3, 4}
    assert abs(np.mean(mail == 3) - 1 / 3) < 0.05
    np.testing.assert_allclose(np.mean(places, axis=0), 0.5, atol=0.03)
    assert set(np.asarray(left)[:, 0]) == {-1}, "what never runs out stays so"


def test_a_point_behind_a_wrapper_or_with_other_labels_steps_in_python():
    machine = cranium.library.load("point-visit")

    def memory():
        return LearnerTables(open_space(machine, 0), LearnerConfig(), 1, 50, 1)

    env = cranium.product(PointWorld(), machine, horizon=50)
    assert build_continuous_world(env, memory()) is not None
    wrapped = gym.wrappers.RescaleAction(PointWorld(), -1, 1)
    assert build_continuous_world(cranium.product(wrapped, machine, horizon=50), memory()) is None
    blind = cranium.product(PointWorld(), machine, labelling=lambda s, a, t: (), horizon=50)
    assert build_continuous_world(blind, memory()) is None


def test_counterfactual_td3_learns_to_visit_two_places():
    env = gym.make("cranium/Point-visit-v0")
    more = {"hidden": (64, 64), "evaluation_episodes": 2, "evaluate_every": 1000}
    result = train(env, "ctd3", steps=15_000, seed=0, until="solved", **more)
    assert result.path == "jax"
    assert result.samples_to_solve is not None
    again, other = (train(env, "ctd3", steps=1000, seed=seed, **more) for seed in (0, 1))
    assert same(again, train(env, "ctd3", steps=1000, seed=0, **more))
    assert not same(again, other)


def test_an_actor_that_met_no_reward_can_still_learn():
    machine = cranium.library.load("point-visit")
    env = cranium.product(PointWorld(), machine, horizon=3)  # too short to get anywhere
    seen = np.array([0.5, 0.5, 1.0], np.float32)
    actions = []
    for restraint in (0.0, ActorConfig().restraint):
        more = {"hidden": (64, 64), "warmup": 100, "restraint": restraint}
        result = train(env, "ctd3", steps=1500, seed=0, evaluate_every=1500, **more)
        actions.append(np.abs(result.policy(seen, machine.start)).max())
    assert actions[0] > 0.95  # where tanh is flat
    assert actions[1] < 0.6


def test_dqn_runs_on_the_point_with_discrete_actions():
    machine = cranium.library.load("point-deliver")
    env = cranium.product(PointWorld(actions="discrete", mail=(1, 2)), machine, horizon=60)
    one, two = (train(env, "cdqn", steps=400, evaluate_every=every, **SMALL) for every in (100, 73))
    assert one.path == "jax"
    assert same(one, two)
    assert one.evaluation.instances == ("mail once", "mail 2 times")


# Any environment, in Python


@pytest.mark.parametrize(
    ("make", "learner"),
    [(cart, "cdqn"), (cart, "dqn"), (pendulum, "ctd3"), (pendulum, "td3")],
)
def test_environments_of_others_learn_in_python_and_seeds_repeat(make, learner):
    one, two = (
        train(make(), learner, steps=200, evaluate_every=every, **SMALL) for every in (100, 70)
    )
    assert one.path == "python"
    assert one.samples == 200
    assert same(one, two)
    assert not same(one, train(make(), learner, steps=200, seed=5, evaluate_every=100, **SMALL))


def test_a_finite_world_may_step_in_python_too():
    env = gym.make("cranium/Letter-anbcdn-v0", times=1)
    result = train(env, "cdqn", steps=150, path="python", log=True, **SMALL)
    assert result.path == "python"
    assert len(result.log) == result.episodes
    assert result.policy(np.array([0, 0, 0]), result.policy.automaton.start) in range(4)


def test_only_ground_termination_is_stored_in_the_replay_buffer(monkeypatch):
    seen = []
    original = LiveDeepRun._sample

    def step(self):
        original(self)
        slot = int(self.agent.tables.position[3]) - 1
        seen.append((bool(self.replay.ground_terminated[slot]), not self.running))

    monkeypatch.setattr(LiveDeepRun, "_sample", step)
    result = train(cart(horizon=20), "dqn", steps=300, evaluate_every=300, **SMALL)
    assert sum(over for _, over in seen) == result.episodes
    ended = sum(end for end, _ in seen)
    assert 0 < ended < result.episodes, "poles fall, and other episodes are cut off after 20 steps"
    assert all(over for end, over in seen if end)


def counting():
    """A pole on a cart without a time limit: nothing bounds the counter."""

    def labelling(s, a, t):
        return {"right"} if t[0] > 0 else {"left"} if t[0] < -0.02 else ()

    labelling.events = ("right", "left")
    machine = cranium.loads(
        """
        propositions: [right, left]
        counters: [n]
        initial: u
        terminal: [done]
        accepting: [done]
        transitions:
          - {from: u, when: right, add: {n: 1}}
          - {from: u, when: "left & !right", if: "n > 0", to: done, reward: 1}
        """
    )
    ground = gym.make("CartPole-v1").unwrapped
    return cranium.product(ground, machine, labelling=labelling)


@pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning")
def test_the_tables_grow_with_labels_and_counters_that_are_met_late(monkeypatch):
    original, sizes = LiveDeepRun._update, set()

    def learn(self):
        space, machine = self.agent.tables.space, self.machine
        sizes.add((len(space), len(space.labels)))
        tables = space.tables
        count = len(space)
        for row in range(len(space.labels)):
            mine = np.asarray(machine.next_configuration)[row, :count]
            assert np.array_equal(mine, tables.next_configuration[row])
        assert np.array_equal(np.asarray(machine.ending)[:count] == 0, ~tables.terminal)
        for x, configuration in enumerate(space.configurations):
            wanted = self.agent.encoding.encode_configuration(configuration)
            assert np.array_equal(machine.features[x], wanted)
        assert self.agent.method.sampling.kind == "sampled"
        original(self)

    monkeypatch.setattr(LiveDeepRun, "_update", learn)
    result = train(counting(), "cdqn", steps=300, evaluate_every=300, **SMALL)
    assert result.samples == 300
    assert len(sizes) > 5, "much turned up"
    with pytest.raises(InvalidArgumentError, match="needs all configurations to be known"):
        train(counting(), "cdqn", steps=300, heads=True, **SMALL)


def late(place):
    """A machine whose reward function is met with the second event only."""
    return cranium.loads(
        """
        propositions: [right]
        counters: [n]
        initial: u
        terminal: [done]
        transitions:
          - {from: u, when: right, if: "n = 0", add: {n: 1}}
          - {from: u, when: right, if: "n > 0", add: {n: 1}, reward: place}
        """,
        rewards={"place": place},
    )


@pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning")
def test_a_reward_function_that_turns_up_late_is_paid_for_what_was_before(runs):
    machine = late(lambda s, a, t: float(t[0] - s[0]) + a)

    def labelling(s, a, t):
        return {"right"} if t[0] > 0 else ()

    labelling.events = ("right",)
    env = cranium.product(gym.make("CartPole-v1").unwrapped, machine, labelling=labelling)
    train(env, "cdqn", steps=200, evaluate_every=200, **SMALL)
    replay = runs[-1].replay
    wanted = replay.next_observation[:200, 0] - replay.observation[:200, 0] + replay.action[:200]
    np.testing.assert_allclose(replay.extra[:200, 1], wanted, atol=1e-6)


def test_a_point_whose_counters_are_not_bounded_steps_in_python():
    machine = cranium.library.load("point-deliver")
    ground = PointWorld(mail=(1, 2), actions="discrete", start=None)
    with pytest.warns(HorizonWarning):
        env = cranium.product(ground, machine, horizon=None)
    evaluation = cranium.product(ground, machine, horizon=20)
    result = train(env, "cdqn", steps=120, evaluation_env=evaluation, **SMALL)
    assert result.path == "python"
    with pytest.raises(WorldError, match="with a limit for the counters"):
        train(env, "cdqn", steps=120, path="compiled", evaluation_env=evaluation, **SMALL)


def test_the_ground_reward_counts_only_if_it_is_added(runs):
    class Loud(gym.Wrapper):
        def step(self, action):
            *found, info = self.env.step(action)
            return (*found, {**info, "ground_reward": 100.0})

    def labelling(s, a, t):
        return ()

    labelling.events = ("right",)
    machine = cranium.compile_language("right")
    env = cranium.product(Loud(gym.make("CartPole-v1")), machine, labelling=labelling)
    train(env, "dqn", steps=60, evaluate_every=60, **SMALL)
    assert not runs[-1].replay.extra.any()


def test_actions_are_those_of_the_environment(tmp_path):
    env = pendulum()
    policy = train(env, "ctd3", steps=100, evaluate_every=100, **SMALL).policy
    observation, _ = env.reset(seed=0)
    action = policy(observation["ground"], find_product(env).configuration)
    assert env.action_space.contains(action)
    policy.save(tmp_path / "agent.npz")
    again = cranium.Policy.load(tmp_path / "agent.npz", env)
    assert np.array_equal(again(observation["ground"], policy.automaton.start), action)
    with pytest.raises(PolicyError, match="made for the task"):
        cranium.Policy.load(tmp_path / "agent.npz", gym.make("cranium/Point-visit-v0"))


def test_observation_and_action_wrappers_belong_inside_the_product():
    env = gym.wrappers.RescaleAction(pendulum(), -1, 1)
    with pytest.raises(WorldError, match="inside the product"):
        train(env, "ctd3", steps=10)


@pytest.mark.parametrize("cells", ["one-hot", "joint", "scaled"])
def test_however_cells_are_shown_a_late_reward_function_gets_what_was_seen(runs, cells):
    machine = late(lambda s, a, t: 10.0 * s + t)
    labelling = cranium.labelling_from_cells({4: "right"})
    env = cranium.product(Walk(), machine, labelling, horizon=30)
    train(env, "cdqn", steps=300, evaluate_every=300, path="python", cells=cells, **SMALL)
    replay, features = runs[-1].replay, runs[-1].agent.encoding.features
    assert replay.observation.shape[1] == {"one-hot": 6, "joint": 6, "scaled": 1}[cells]
    before, after = ([int(features.decode(one)) for one in part[:300]] for part in replay[:3:2])
    assert len({*before}) == 6
    wanted = 10.0 * np.array(before) + np.array(after)
    assert np.array_equal(replay.extra[:300, 1], wanted)


def test_cells_that_are_not_whole_numbers_are_not_scaled():
    with pytest.raises(WorldError, match='cells="scaled" is for vectors of bounded integers'):
        train(cart(), "cdqn", steps=10, cells="scaled", **SMALL)


def test_a_replay_buffer_that_exceeds_memory_is_refused():
    image = gym.spaces.Box(0, 255, (210, 160, 3), np.uint8)

    film = gym.wrappers.TransformObservation(
        Walk(), lambda _: np.zeros(image.shape, np.uint8), image
    )
    machine, labelling = cranium.compile_language("A"), lambda s, a, t: ()
    labelling.events = ("A",)
    env = cranium.product(film, machine, labelling, horizon=30)
    with pytest.raises(SpaceError, match="10,000,000 transitions with 100,800 features each take"):
        train(env, "cdqn", steps=10, path="python", **{**SMALL, "replay": 10_000_000})


@pytest.mark.parametrize("path", ["compiled", "python"])
def test_a_reward_function_that_fails_on_a_counterfactual_transition_is_named(path):
    pays = cranium.RewardFunction("odd", lambda s, a, t: {5: 1.0}[int(t)])
    machine = cranium.CountingRewardAutomaton(
        propositions=["A"],
        initial="u",
        terminal=["done"],
        transitions=[cranium.Transition(source="u", guard="A", target="done", reward=pays)],
    )
    env = cranium.product(Walk(), machine, cranium.labelling_from_cells({5: "A"}), horizon=20)
    more = {} if path == "compiled" else SMALL
    with pytest.raises(RewardError, match="KeyError"):
        train(env, "cql" if path == "compiled" else "dqn", steps=500, path=path, **more)


class Still(gym.Env):
    """Nothing happens but events: A for action 1, B for 0."""

    observation_space = gym.spaces.Discrete(1)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {}


def test_counterfactuals_do_not_overflow_where_no_episode_can():
    machine = cranium.CountingRewardAutomaton(
        propositions=["A", "B"],
        counters=["n"],
        initial="u",
        terminal=[],
        transitions=[
            cranium.Transition(source="u", guard="A", change=(1,), reward=1),
            cranium.Transition(source="u", guard="B & !A", reward=0.8),
        ],
    )
    events = cranium.labelling("A", "B")(lambda s, a, t: "A" if a else "B")
    more = {"learning_rate": 3e-3, "target_every": 100, "discount": 0.9, "seed": 0}
    found = {}
    for limit in (None, 5):  # the same limit, but one that is meant
        env = cranium.product(Still(), machine, events, horizon=5, counter_limit=limit)
        policy = train(env, "cdqn", steps=4000, hidden=(32,), batch=32, **more).policy
        found[limit] = policy.values([0], [cranium.Configuration("u", (2,))])[0, 0]
    assert found[None] == pytest.approx([9.8, 10], abs=0.4)
    assert found[None].argmax() == 1
    assert found[5].max() < 9


def test_counting_is_learned_with_continuous_actions():
    task = cranium.library.load("point-deliver")
    env = cranium.product(PointWorld(mail=(1, 2)), task, horizon=200, counter_limit=2)
    more = {"discount": 0.95, "noise": 0.3, "hidden": (64, 64), "batch": 32}
    result = train(env, "ctd3", steps=40_000, seed=102, evaluate_every=1000, until="solved", **more)
    assert result.evaluation.solved
    assert len(result.evaluation.instances) == 2
