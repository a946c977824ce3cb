"""A policy in production: observations of any dtype, and ``act``."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from support.environments import make_letter_product

import cranium
from cranium.aamdp import BoxEncoding, DictEncoding, TabularEncoding
from cranium.errors import EpisodeEndedError, InvalidArgumentError, PolicyError
from cranium.learners import train
from cranium.worlds import LetterEnv, PointWorld


@pytest.fixture(scope="module")
def solved():
    return train(make_letter_product(1), "planner", steps=2000, until="solved").policy


KINDS = {
    "list": list,
    "tuple": tuple,
    "int32": lambda seen: np.array(seen, np.int32),
    "uint8": lambda seen: np.array(seen, np.uint8),
    "float64": lambda seen: np.array(seen, np.float64),
    "numbers of NumPy": lambda seen: [np.int16(part) for part in seen],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("saved", [False, True])
def test_a_policy_knows_an_observation_whatever_its_dtype(solved, kind, saved, tmp_path):
    if saved:
        solved.save(tmp_path / "agent.npz")
        solved = cranium.Policy.load(tmp_path / "agent.npz")
    start = solved.automaton.start
    for seen in solved.observations[:20]:
        assert solved(KINDS[kind](seen), start) == solved(seen, start)


def succeeds(env, act):
    observation, info = env.reset(seed=0)
    for _ in range(100):
        observation, _, terminated, truncated, info = env.step(act(observation, info))
        if terminated or truncated:
            break
    return info["success"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_dtype_makes_a_policy_act_at_random(solved, kind):
    """The cure that was suggested, with_unknown("random"), took the success from 1 to 0."""
    env = make_letter_product(1)
    policy = solved.with_unknown("random")

    def act(observation, info):
        return policy.act(KINDS[kind](observation["ground"]), info)

    assert succeeds(env, act)


def test_a_wrong_shape_says_so_and_is_not_answered_at_random(solved):
    for policy in (solved, solved.with_unknown("random")):
        with pytest.raises(PolicyError, match=r"has the shape \(2,\), not \(3,\)"):
            policy([4, 4], policy.automaton.start)
        with pytest.raises(PolicyError, match="not made of numbers"):
            policy("here", policy.automaton.start)
    with pytest.raises(PolicyError, match="was never met in training") as caught:
        solved([9, 0, 0], solved.automaton.start)
    assert caught.value.fix.index("train for longer") < caught.value.fix.index("random")


def test_single_precision_is_found_from_plain_numbers():
    class Float(LetterEnv):
        def observe(self, state):
            return super().observe(state).astype(np.float32) / 10

    world = Float.experiment(1)
    world.observation_space = gym.spaces.Box(0, 1, (3,), np.float32)
    env = cranium.product(world, cranium.library.load("anbcdn"), horizon=100)
    policy = train(env, "planner", steps=2000, until="solved").policy
    seen = env.reset(seed=0)[0]["ground"]
    assert seen.dtype == np.float32
    start = policy.automaton.start
    for given in (
        [0.4, 0.4, 0.1],
        np.array([0.4, 0.4, 0.1]),
        np.array([0.4, 0.4, 0.1], np.longdouble),
    ):
        assert policy(given, start) == policy(seen, start)
    with pytest.raises(PolicyError, match="was never met"):
        policy(np.array([0.4, 0.4, 0.11]), start)


def test_an_environment_that_is_more_precise_than_its_space_is_known_as_exactly():
    class Double(LetterEnv):
        def observe(self, state):
            return super().observe(state) / 10

    world = Double.experiment(1)
    world.observation_space = gym.spaces.Box(0, 1, (3,), np.float32)
    env = cranium.product(world, cranium.library.load("anbcdn"), horizon=100)
    policy = train(env, "planner", steps=2000, until="solved").policy
    assert succeeds(env, policy.act)
    near = np.array([0.4 + 1e-12, 0.4, 0.1])  # the same in single precision
    with pytest.raises(PolicyError, match="was never met"):
        policy(near, policy.automaton.start)


# act


@pytest.mark.parametrize(
    "encoding", [DictEncoding(), BoxEncoding("raw"), BoxEncoding("bits"), TabularEncoding()]
)
@pytest.mark.parametrize("saved", [False, True])
def test_act_takes_what_the_environment_and_what_the_product_shows(encoding, saved, tmp_path):
    machine = cranium.library.load("anbcdn")
    world = LetterEnv.experiment(1)
    env = cranium.product(world, machine, horizon=100, counter_limit=3, encoding=encoding)
    policy = train(env, "planner", steps=2000, until="solved").policy
    if saved:
        policy.save(tmp_path / "agent.npz")
        policy = cranium.Policy.load(tmp_path / "agent.npz", env)
    assert succeeds(env, policy.act)
    assert succeeds(env, lambda _, info: policy.act(env.ground.tolist(), info))


def test_an_observation_that_could_be_ground_or_encoded_is_not_guessed_at():
    lake = gym.make("FrozenLake-v1", is_slippery=False)
    goal = cranium.labelling_from_cells({15: "goal"})
    task = cranium.compile_language("goal")
    env = cranium.product(lake, task, goal, encoding=TabularEncoding())
    policy = train(env, "planner", steps=2000, until="solved").policy
    observation, info = env.reset(seed=0)
    with pytest.raises(PolicyError, match="of the environment or of the product"):
        policy.act(observation, info)
    plain = cranium.product(gym.make("FrozenLake-v1", is_slippery=False), task, goal)
    policy = train(plain, "planner", steps=2000, until="solved").policy
    assert succeeds(plain, policy.act)
    assert succeeds(plain, lambda seen, info: policy.act(int(seen["ground"]), info))


def test_act_knows_info_by_what_is_in_it(solved):
    assert solved.act([4, 4, 1], {"machine_state": "counting", "counters": np.array([0])}) in range(
        4
    )
    for wrong in ({}, None, {"machine_state": "counting"}, 7):
        with pytest.raises(InvalidArgumentError, match="info has machine_state and counters"):
            solved.act([4, 4, 1], wrong)
    for state, counters in (
        ("nowhere", (0,)),
        ("counting", (0, 1)),
        ("counting", (-1,)),
        (3, (0,)),
    ):
        with pytest.raises(InvalidArgumentError, match="no configuration of this task"):
            solved.act([4, 4, 1], {"machine_state": state, "counters": counters})
    with pytest.raises(EpisodeEndedError, match="terminal state 'failed'"):
        solved.act([4, 4, 1], {"machine_state": "failed", "counters": (0,)})
    with pytest.raises(EpisodeEndedError, match="passed its limit"):
        solved.act([4, 4, 1], {"machine_state": "overflow", "counters": (), "overflow": True})


def test_a_policy_acts_beside_a_monitor_without_gymnasium(solved):
    world = LetterEnv.experiment(1)  # stands for anything that can be observed and moved

    def events(before, action, after):
        return world.events

    monitor = cranium.Monitor(solved.automaton, events)
    before, status = world.reset(seed=0)[0].tolist(), monitor.reset()
    while not status.terminal:
        action = solved.act(before, status.info)
        after = world.step(action)[0].tolist()
        status = monitor.update(before, action, after)
        before = after
    assert status.success
    assert status.steps == 17


# Networks


@pytest.mark.slow
def test_a_network_knows_an_observation_whatever_its_dtype(tmp_path):
    policy = train(make_letter_product(1), "cdqn", steps=200, hidden=(8, 8)).policy
    policy.save(tmp_path / "agent.npz")
    info = {"machine_state": "counting", "counters": (0,)}
    for agent in (policy, cranium.Policy.load(tmp_path / "agent.npz")):
        wanted = agent(np.array([4, 4, 1]), agent.automaton.start)
        for kind in KINDS.values():
            assert agent.act(kind([4, 4, 1]), info) == wanted
        observation, start = make_letter_product(1).reset(seed=0)
        assert agent.act(observation, start) == wanted
        with pytest.raises(PolicyError, match=r"has the shape \(2,\), not \(3,\)"):
            agent.act([4, 4], info)


@pytest.mark.slow
def test_an_actor_acts_on_plain_numbers():
    env = cranium.product(PointWorld(mail=1), cranium.library.load("point-visit"), horizon=50)
    policy = train(env, "ctd3", steps=100, hidden=(8, 8), evaluation_episodes=1).policy
    observation, info = env.reset(seed=0)
    wanted = policy(observation["ground"], policy.automaton.start)
    for seen in (observation, observation["ground"], observation["ground"].tolist(), (0.5, 0.5, 1)):
        assert np.array_equal(policy.act(seen, info), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("cells", ["one-hot", "joint", "scaled"])
def test_a_network_refuses_an_observation_of_another_shape_with_every_encoding(cells):
    policy = train(make_letter_product(1), "cdqn", steps=100, hidden=(8, 8), cells=cells).policy
    info = {"machine_state": "counting", "counters": (0,)}
    for wrong in (np.array([[4, 4, 1]]), np.array([[4], [4], [1]]), [[4, 4, 1]]):
        with pytest.raises(PolicyError, match=r"has the shape .*, not \(3,\)"):
            policy.act(wrong, info)


@pytest.mark.parametrize("nothing", [np.nan, np.inf, 1e300])
def test_a_network_that_is_shown_no_number_says_so_and_does_not_act(nothing):
    env = cranium.product(PointWorld(mail=1), cranium.library.load("point-visit"), horizon=50)
    policy = train(env, "ctd3", steps=100, hidden=(8, 8), evaluation_episodes=1).policy
    _, info = env.reset(seed=0)
    for seen in ([nothing, 0.5, 1], np.array([nothing, 0.5, 1])):
        with pytest.raises(PolicyError, match="not finite"):
            policy.act(seen, info)


# What discretise makes of an observation


def test_observations_of_plus_and_minus_zero_are_the_same():
    class Swing(gym.Env):
        """Swings from just below to just above zero, and on to one."""

        observation_space = gym.spaces.Box(-1, 2, (1,), np.float64)
        action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.at, self.sign = 0, 1
            return self._seen(), {}

        def _seen(self):
            return np.array([0.2 * self.sign if not self.at else 1.0])

        def step(self, action):
            self.sign = -self.sign
            self.at = max(self.at, action)
            return self._seen(), 0.0, False, False, {}

    one = cranium.labelling("one")(lambda s, a, s2: "one" if s2[0] == 1 else ())
    env = cranium.product(Swing(), cranium.compile_language("one"), one, horizon=10)
    policy = train(env, "ql", steps=200, discretise=np.round, seed=0).policy
    assert sorted(seen.tolist() for seen in policy.observations) == [[0.0], [1.0]]
    start = policy.automaton.start
    assert (
        policy([-0.2], start) == policy([0.2], start) == policy(np.array([0.3], np.float32), start)
    )


def test_an_environment_that_changes_its_dtype_shows_the_same_observation():
    class Fickle(LetterEnv):
        count = 0

        def step(self, action):
            seen, *more = super().step(action)
            Fickle.count += 1
            return (seen.astype([np.int64, np.int32, np.float64][Fickle.count % 3]), *more)

    world = Fickle.experiment(1)
    env = cranium.product(world, cranium.library.load("anbcdn"), horizon=100)
    result = train(env, "cql", steps=30_000, seed=0, path="python", evaluate_every=30_000)
    seen = {tuple(map(int, one)) for one in result.policy.observations}
    assert len(seen) == len(result.policy.observations)
    assert result.evaluation.solved
