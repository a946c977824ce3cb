"""Where networks meet limits: of memory, of single precision, of chance, of what machines begin with."""

from __future__ import annotations

import os
import subprocess
import sys

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

import cranium
from cranium.aamdp import BoxEncoding
from cranium.errors import InvalidArgumentError, SpaceError, UnknownNameError
from cranium.learners import train
from cranium.learners.deep import fused
from cranium.learners.deep.optimiser import huber

pytestmark = pytest.mark.slow

SMALL = {"hidden": (16,), "warmup": 10, "batch": 8, "replay": 200}


class Bet(gym.Env):
    """One step: to bet wins 5 with probability 0.4, and is worth 2; not to bet is worth 1."""

    observation_space = spaces.Discrete(4)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        after = 3 if action else 1 if self.np_random.random() < 0.4 else 2
        return after, 0.0, False, False, {}


GAMBLE = """
propositions: [win, lose, safe]
initial: go
terminal: [over]
accepting: [over]
transitions:
  - {from: go, when: win, to: over, reward: 5}
  - {from: go, when: lose & !win, to: over}
  - {from: go, when: safe & !win & !lose, to: over, reward: 1}
"""


@pytest.mark.parametrize(("most", "chosen"), [(1.0, 1), (10.0, 0)])
def test_a_wide_huber_loss_learns_the_mean_of_random_rewards(most, chosen):
    cells = cranium.labelling_from_cells({1: "win", 2: "lose", 3: "safe"})
    env = cranium.product(Bet(), cranium.loads(GAMBLE), cells, horizon=5)
    settings = {"learning_rate": 3e-3, "exploration": 1.0, "huber": most, **SMALL, "replay": 3000}
    policy = train(env, "dqn", steps=3000, **settings).policy
    assert policy(0, env.automaton.start) == chosen
    found = policy.values([0], [env.automaton.start])[0, 0]
    assert found[1] == pytest.approx(1, abs=0.1)
    assert abs(found[0] - 2) < 0.4 if most > 1 else found[0] < 1


def test_the_threshold_of_the_huber_loss_is_a_setting():
    slopes = jax.vmap(jax.grad(huber), (0, None))(jnp.array([-7.0, -0.5, 2.5, 9.0]), 3.0)
    assert slopes.tolist() == [-3.0, -0.5, 2.5, 3.0]
    values = huber(jnp.array([2.999, 3.001]), 3.0)
    assert values[1] - values[0] == pytest.approx(3 * 0.002, rel=1e-2)


class Drift(gym.Env):
    """Numbers that single precision cannot tell apart."""

    observation_space = spaces.Box(-1000, 1000, (1,), np.float64)
    action_space = spaces.Box(-1, 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 300.0
        return np.array([self.x]), {}

    def step(self, action):
        self.x += 1e-5 * float(action[0])
        return np.array([self.x]), 0.0, False, False, {}


def test_reward_functions_see_what_the_environment_saw_however_it_is_shown():
    machine = cranium.loads(
        "{propositions: [A], initial: go, transitions: [{from: go, when: '!A', reward: gain}]}",
        rewards={"gain": lambda s, a, t: float(t[0] - s[0])},
    )
    nothing = cranium.labelling("A")(lambda s, a, t: ())
    for encoding in (None, BoxEncoding()):
        env = cranium.product(Drift(), machine, nothing, horizon=50, encoding=encoding)
        result = train(env, "ctd3", steps=60, **SMALL)
        assert result.samples == 60


@pytest.mark.parametrize(("counters", "begins"), [("a", 400), ("a, b", 20), ("a, b, c", 8)])
@pytest.mark.parametrize("learner", ["cql", "cdqn", "planner"])
def test_a_machine_may_begin_with_much_in_its_counters(counters, begins, learner):
    machine = cranium.loads(f"""
        propositions: [moved]
        counters: [{counters}]
        initial: first
        terminal: [done]
        accepting: [done]
        transitions:
          - {{from: first, silent: true, to: go, add: {{a: {begins}}}}}
          - {{from: go, when: moved, if: a > 0, add: {{a: -1}}}}
          - {{from: go, silent: true, if: a == 0, to: done, reward: 1}}
    """)
    moved = cranium.labelling("moved")(lambda s, a, t: "moved" if t != s else ())
    lake = gym.make("FrozenLake-v1", is_slippery=False)
    env = cranium.product(lake, machine, moved, counter_limit=500, horizon=600)
    more = {} if learner == "planner" else {"shaping": True}
    if learner == "cdqn":
        more.update(SMALL)
    assert train(env, learner, steps=30, **more).samples == 30


def test_a_large_world_is_evaluated_part_by_part(monkeypatch):
    env, found, real = gym.make("cranium/Letter-anbcdn-v0", times=2), [], fused._greedy

    def noted(*told, **how):
        found.append(np.asarray(real(*told, **how)))
        return found[-1]

    def actions():
        found.clear()
        train(env, "cdqn", steps=300, evaluate_every=300, **SMALL)
        return list(found)

    monkeypatch.setattr(fused, "_greedy", noted)
    whole = actions()
    assert len(set(whole[-1].tolist())) > 1
    monkeypatch.setattr(fused, "MAX_FLOATS", 500)
    parts = actions()
    assert len(parts) > 3 * len(whole)
    assert np.concatenate(parts).tolist() == np.concatenate(whole).tolist()


class Endless(Drift):
    """The bounds of all numbers are no bounds."""

    action_space = spaces.Box(np.finfo(np.float32).min, np.finfo(np.float32).max, (1,))


class Many(gym.Env):
    """So many cells, and so many actions."""

    def __init__(self, cells, actions):
        self.observation_space, self.action_space = map(spaces.Discrete, (cells, actions))

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {}


def task(env):
    nothing = cranium.labelling("A")(lambda s, a, t: ())
    return cranium.product(env, cranium.compile_language("A"), nothing, horizon=9)


def letter():
    return gym.make("cranium/Letter-anbcdn-v0", times=1)


@pytest.mark.parametrize(
    ("make", "learner", "settings", "error", "said"),
    [
        (lambda: task(Endless()), "ctd3", {}, InvalidArgumentError, "a bounded vector"),
        (
            lambda: task(Many(10**12, 2)),
            "cdqn",
            {},
            SpaceError,
            "1,000,000,000,000 features one-hot",
        ),
        (lambda: task(Many(2, 10**12)), "cql", {}, SpaceError, "more than this machine has"),
        (letter, "cdqn", {"hidden": (100_000,) * 3}, SpaceError, "weights take"),
        (letter, "cdqn", {"learning_rate": 1e-60}, InvalidArgumentError, "from 1e-30 to 1"),
        (letter, "cdqn", {"huber": 0}, InvalidArgumentError, "huber is from 1e-6 to 1e6"),
        (letter, "cdqn", {"counter_limit": "a"}, InvalidArgumentError, "the counter limit is a"),
        (letter, ["cdqn"], {}, UnknownNameError, "no such learner"),
    ],
)
def test_settings_that_exceed_memory_or_number_types_are_refused(
    make, learner, settings, error, said
):
    path = "auto" if make is letter else "python"
    with pytest.raises(error, match=said):
        train(make(), learner, steps=10, path=path, **settings)


def test_an_exploration_schedule_ends_within_what_can_be_counted():
    with pytest.raises(InvalidArgumentError, match="at most 1,000,000,000,000,000 samples"):
        cranium.learners.Schedule(1.0, 0.0, over=10**320)


def test_a_device_that_is_not_there_is_named():
    code = (
        "import cranium, gymnasium\n"
        "env = gymnasium.make('cranium/Letter-anbcdn-v0')\n"
        "try:\n"
        "    cranium.train(env, 'cdqn', steps=10)\n"
        "except cranium.errors.InvalidArgumentError as error:\n"
        "    print(error)\n"
    )
    there = {**os.environ, "JAX_PLATFORMS": "nonsense"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=there, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("JAX cannot use 'nonsense'")
    assert "fix: unset JAX_PLATFORMS" in done.stdout
