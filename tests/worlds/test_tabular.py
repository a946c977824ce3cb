"""TabularWorld: three ways to make it agree, and it agrees with the live environment."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from cranium.errors import InvalidArgumentError, SpaceError, WorldError
from cranium.worlds import (
    LetterEnv,
    LetterSpec,
    OfficeWorld,
    TabularWorld,
    enumerate_env,
    table_builder,
)


def transitions(world):
    """All outcomes by the names of things, so that numbering does not matter."""
    found = {}
    for s, state in enumerate(world.states):
        for a in range(world.num_actions):
            row = s * world.num_actions + a
            found[state, a] = {
                (
                    world.states[world.next_state[o]],
                    world.labels[world.label[o]],
                    bool(world.terminated[o]),
                    round(float(world.probability[o]), 12),
                    float(world.reward[o]),
                )
                for o in range(world.first[row], world.first[row + 1])
            }
    return found


@pytest.mark.parametrize(
    "env",
    [LetterEnv.experiment((1, 3)), LetterEnv.experiment(2, observation="cell"), OfficeWorld(2)],
)
def test_listing_the_model_and_trying_everything_give_the_same_world(env):
    listed, tried = TabularWorld.of(env), enumerate_env(env)
    assert transitions(listed) == transitions(tried)
    assert dict(zip(listed.states, listed.observation, strict=True)).keys() == set(tried.states)
    assert listed.is_deterministic
    assert listed.verify(env, steps=3000) == 3000


def test_starts_are_a_distribution():
    world = TabularWorld.of(LetterEnv.experiment((1, 4)))
    assert sorted(world.initial[world.initial > 0]) == [0.25] * 4
    tried = enumerate_env(LetterEnv.experiment((1, 4)), starts=400)
    assert np.allclose(sorted(tried.initial[tried.initial > 0]), 0.25, atol=0.1)


def test_what_is_seen_is_numbered_apart_from_what_is():
    world = TabularWorld.of(LetterEnv.experiment(2, observation="cell"))
    assert len(world.observations) == 36
    assert world.num_states > 36
    for state, seen in zip(world.states, world.observation, strict=True):
        assert tuple(world.observations[seen]) == state[0]


def goal(s, a, s2):
    return {"goal"} if s2 == 15 else set()


@pytest.mark.parametrize("slippery", [True, False])
def test_toy_text_environments_are_read_from_their_model(slippery):
    env = gym.make("FrozenLake-v1", is_slippery=slippery)
    world = TabularWorld.from_model(env, goal)
    assert world.num_states == 16
    assert world.is_deterministic != slippery
    sums = np.add.reduceat(world.probability, world.first[:-1])
    assert np.allclose(sums, 1)
    key = lambda _, observation: int(observation)  # noqa: E731
    assert world.verify(env, goal, state_key=key, steps=3000) == 3000


@pytest.mark.parametrize("name", ["CliffWalking", "Taxi"])
def test_other_toy_text_environments(name):
    newest = max(found for found in gym.registry if found.startswith(f"{name}-v"))
    env = gym.make(newest)
    world = TabularWorld.from_model(env, lambda s, a, s2: ())
    assert world.verify(env, lambda *_: (), state_key=lambda _, o: int(o), steps=2000) == 2000


def test_a_random_environment_cannot_be_tried_out():
    env = gym.make("FrozenLake-v1", is_slippery=True)
    with pytest.raises(WorldError, match="not deterministic"):
        enumerate_env(env, goal, repeats=10)


def test_a_deterministic_environment_that_is_not_ours_can():
    env = gym.make("FrozenLake-v1", is_slippery=False)
    tried = enumerate_env(env, goal)
    known = TabularWorld.from_model(env, goal)
    reached = transitions(known)
    ends = {5, 7, 11, 12, 15}  # holes and the goal are not left again
    for pair, outcomes in transitions(tried).items():
        assert outcomes == (set() if pair[0] in ends else reached[pair])


class Hidden(gym.Env):
    """Shows nothing; ends after three steps that it counts, or at random with a generator."""

    observation_space = gym.spaces.Discrete(1)
    action_space = gym.spaces.Discrete(1)

    def __init__(self, chance=0.0):
        self.count, self.chance, self.rng = 0, chance, np.random.default_rng(5)

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return 0, {}

    def step(self, action):
        self.count += 1
        ends = self.count == 3 if not self.chance else bool(self.rng.random() < self.chance)
        return 0, 0.0, ends, False, {}


def test_state_that_is_hidden_is_found_out():
    with pytest.raises(WorldError, match="but the table knows"):
        enumerate_env(Hidden(), lambda *_: ())


def test_a_generator_of_its_own_is_found_out():
    with pytest.raises(WorldError, match="not deterministic"):
        enumerate_env(Hidden(chance=0.3), lambda *_: ())


class Locked(LetterEnv):
    """Cannot be copied."""

    def __deepcopy__(self, memo):
        raise TypeError("cannot pickle a lock")


def test_an_environment_that_cannot_be_copied_is_reset_and_led_there_again():
    tried = enumerate_env(
        Locked(rows=3, columns=3, letters=[LetterSpec("A", (1, 1))], start=(0, 0))
    )
    plain = LetterEnv(rows=3, columns=3, letters=[LetterSpec("A", (1, 1))], start=(0, 0))
    assert transitions(tried) == transitions(TabularWorld.of(plain))


def test_the_environment_that_is_listed_stays_where_it_is():
    env = LetterEnv.experiment(1)
    env.reset(seed=0)
    env.step(2)
    enumerate_env(env)
    assert env.state == ((3, 4), (1,))


def test_frequencies_are_compared_too():
    lake = gym.make("FrozenLake-v1", is_slippery=True)
    world = TabularWorld.from_model(lake, goal)
    key = lambda _, observation: int(observation)  # noqa: E731
    shares = world.probability.copy()
    for begin, end in zip(world.first[:-1], world.first[1:], strict=True):
        if end - begin == 3:
            shares[begin:end] = [0.9, 0.05, 0.05]
    with pytest.raises(WorldError, match=r"but the table says (90|5)%"):
        replace(world, probability=shares).verify(lake, goal, state_key=key, steps=8000)
    with pytest.raises(WorldError, match="probabilities that sum to 2"):
        replace(world, probability=world.probability * 2).verify(lake, goal, state_key=key)
    often = TabularWorld.of(LetterEnv.experiment((1, 5)))
    with pytest.raises(WorldError, match="an episode began in"):
        often.verify(LetterEnv(often_once()))


def often_once():
    return [replace(spec, times=1) if spec.times else spec for spec in LetterEnv().letters]


def test_starts_and_observations_are_compared_too():
    env = LetterEnv.experiment(1)
    world = TabularWorld.of(env)
    with pytest.raises(WorldError, match="does not begin in"):
        replace(world, initial=np.roll(world.initial, 1)).verify(env)
    with pytest.raises(WorldError, match="the environment shows"):
        replace(world, observation=world.observation[::-1].copy()).verify(env)
    with pytest.raises(InvalidArgumentError, match="steps is a whole number"):
        world.verify(env, steps=-1)


@pytest.mark.parametrize("field", ["next_state", "label", "terminated", "reward"])
def test_a_wrong_table_is_found_out(field):
    env = LetterEnv.experiment(1)
    world = TabularWorld.of(env)
    wrong = getattr(world, field).copy()
    if field == "terminated":
        wrong = ~wrong
    else:
        wrong[:] = (wrong + 1) % (len(world.labels) if field == "label" else world.num_states)
    with pytest.raises(WorldError, match="but the table knows"):
        replace(world, **{field: wrong}).verify(env)


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(table_builder, "MAX_STATES", 50)
    with pytest.raises(SpaceError, match="more than 50 states"):
        TabularWorld.of(LetterEnv.experiment(1))
    with pytest.raises(WorldError, match="only discrete actions"):
        enumerate_env(gym.make("Pendulum-v1"), goal)
    with pytest.raises(WorldError, match="are not finitely many"):
        enumerate_env(gym.make("CartPole-v1"), goal)
    with pytest.raises(WorldError, match="has no model P"):
        TabularWorld.from_model(LetterEnv(), goal)


class Gate(gym.Env):
    """A line of six: action 0 goes on and ends, action 1 goes on."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Discrete(6)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.over = 0, False
        return 0, {}

    def step(self, action):
        assert not self.over, "it is over"
        self.state = min(self.state + 1, 5)
        self.over = action == 0
        return self.state, 0.0, self.over, False, {}


def test_a_state_that_was_first_met_at_an_end_is_left_from_where_it_goes_on():
    table = enumerate_env(Gate(), lambda s, a, s2: ())
    assert table.num_states == 6
    assert table.verify(Gate(), lambda s, a, s2: (), steps=300) == 300


def test_a_start_that_never_happens_is_found():
    world = LetterEnv.experiment(1)
    table = TabularWorld.of(world)
    initial = table.initial.copy()
    initial[0], initial[5] = 0.8, 0.2
    with pytest.raises(WorldError, match="an episode began in"):
        replace(table, initial=initial).verify(world, steps=3000)
