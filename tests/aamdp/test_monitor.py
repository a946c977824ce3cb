"""A monitor says of the same steps what the product says."""

from __future__ import annotations

import pickle
from itertools import pairwise

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.strategies import build, specs

import cranium
from cranium.errors import (
    AutomatonError,
    CraniumError,
    EpisodeEndedError,
    InvalidArgumentError,
    LabelError,
    RunError,
    WorldError,
)


class Told(gym.Env):
    """An environment that shows the numbers it was given, one after the other."""

    observation_space = gym.spaces.Discrete(1000)
    action_space = gym.spaces.Discrete(3)

    def __init__(self, shown, ends=None) -> None:
        self.shown, self.ends = shown, ends

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return self.shown[0], {}

    def step(self, action):
        self.at += 1
        return self.shown[self.at], 0.0, self.at == self.ends, False, {}


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_monitor_agrees_with_the_product_on_random_machines_and_labels(data):
    try:
        machine = build(data.draw(specs()), silent_limit=50)
    except AutomatonError:
        reject()
    labels = [frozenset(), *({p} for p in machine.propositions), frozenset(machine.propositions)]
    shown = data.draw(st.lists(st.integers(0, len(labels) - 1), min_size=2, max_size=12))
    limit = data.draw(st.sampled_from([None, 1, 3]))
    horizon, ends = (data.draw(st.sampled_from([None, None, 1, 2, 5, 11])) for _ in range(2))

    def events(before, action, after):
        return labels[after] if action else labels[before]

    try:
        ground = Told(shown, ends)
        env = cranium.product(ground, machine, events, counter_limit=limit, horizon=horizon or 100)
    except InvalidArgumentError:  # it begins above the limit
        with pytest.raises(InvalidArgumentError, match="above the counter limit"):
            cranium.Monitor(machine, events, counter_limit=limit)
        return
    # Without a limit of its own the product has one that no episode passes.
    monitor = cranium.Monitor(machine, events, counter_limit=limit, horizon=horizon)
    _, info = env.reset(seed=0)
    assert dict(monitor.reset().info) == info
    total = 0.0
    for number, (before, after) in enumerate(pairwise(shown)):
        action = number % 3
        try:
            _, reward, terminated, truncated, info = env.step(action)
        except RunError as problem:
            with pytest.raises(type(problem)):
                monitor.update(before, action, after)
            with pytest.raises(EpisodeEndedError, match="could not be read"):
                monitor.update(before, action, after)
            return
        status = monitor.update(before, action, after, terminated=number + 1 == ends)
        total += reward
        assert dict(status.info) == info
        assert status.reward == reward
        assert status.total_reward == total
        assert (status.terminal, status.truncated) == (terminated, truncated)
        assert status.over == (terminated or truncated)
        assert status.failed == (status.over and not info["success"])
        assert bool(status.why) == status.failed
        if status.over:
            with pytest.raises(EpisodeEndedError, match="the episode is over"):
                monitor.update(before, action, after)
            return


def test_reward_functions_are_paid_as_in_the_product():
    way = cranium.RewardFunction("way", lambda s, a, s2: 10 * s2 - s + a)
    machine = cranium.loads(
        "propositions: [A]\ninitial: u\nterminal: [end]\n"
        "transitions: [{from: u, when: A, reward: way}, {from: u, when: '!A', to: end, reward: 3}]",
        rewards={"way": way},
    )
    events = cranium.labelling_from_cells({5: "A", 6: "A"})
    env = cranium.product(Told([1, 5, 6, 2]), machine, events, horizon=9)
    env.reset()
    monitor = cranium.Monitor(machine, events)
    for action, (before, after) in enumerate([(1, 5), (5, 6), (6, 2)]):
        assert monitor.update(before, action, after).reward == env.step(action)[1]
    assert monitor.status.total_reward == 49 + 56 + 3


def monitor_of(text, **more):
    return cranium.Monitor(cranium.compile_language(text), lambda s, a, s2: s2, **more)


def test_it_says_in_words_why_a_task_failed():
    monitor = monitor_of("A^N B^N never D")
    monitor.update(0, 0, "A")
    status = monitor.update(0, 0, "D")
    assert status.failed
    assert "the label {D}, read in ⟨await A or B, 1⟩, led to the terminal state" in status.why
    assert monitor.reset().why == ""

    tight = monitor_of("A^N B^N", counter_limit=1)
    assert not tight.update(0, 0, "A").terminal
    status = tight.update(0, 0, "A")
    assert status.overflow
    assert status.counters == ()
    assert status.why.endswith("led to a counter above the counter limit 1")

    strict = cranium.loads(
        "propositions: [A]\ninitial: u\nterminal: [lost]\notherwise: lost\n"
        "transitions: [{from: u, when: A}]"
    )
    status = cranium.Monitor(strict, lambda s, a, s2: s2).update(0, 0, ())
    assert status.why == (
        "the label {}, read in ⟨u⟩, enables no transition, and otherwise leads to the terminal "
        "state 'lost'"
    )


def test_it_says_why_when_the_horizon_or_the_environment_ended_it():
    monitor = monitor_of("A^N B^N", horizon=2)
    assert not monitor.update(0, 0, "A").over
    status = monitor.update(0, 0, ())
    assert (status.failed, status.terminal, status.truncated) == (True, False, True)
    assert status.why == (
        "the horizon of 2 steps was reached in ⟨await A or B, 1⟩, before the task was complete"
    )
    with pytest.raises(EpisodeEndedError, match="the episode is over"):
        monitor.update(0, 0, "B")
    monitor.reset()
    assert not monitor.update(0, 0, "A").over
    status = monitor.update(0, 0, "B")  # in time, with the last step
    assert (status.success, status.truncated, status.failed, status.why) == (True, True, False, "")

    fallen = monitor_of("A^N B^N").update(0, 0, "A", terminated=np.True_)
    assert fallen.failed
    assert fallen.info["ground_terminated"] is True
    assert fallen.why == (
        "the environment ended the episode in ⟨await A or B, 1⟩, before the task was complete"
    )
    with pytest.raises(InvalidArgumentError, match="the horizon is a whole number"):
        monitor_of("A B", horizon=0)


def test_a_status_cannot_be_changed_and_can_be_kept():
    monitor = monitor_of("A^N B^N")
    first = monitor.update(0, 0, "A")
    monitor.update(0, 0, "A")
    assert first.counters == (1,)
    with pytest.raises(AttributeError):
        first.reward = 5.0
    with pytest.raises(TypeError):
        first.info["counters"] = (7,)
    assert pickle.loads(pickle.dumps(first)) == first


def test_what_cannot_be_read_is_refused_with_an_error_of_ours():
    monitor = monitor_of("A^N B^N")
    with pytest.raises(LabelError, match="no such event of this task: 'X'"):
        monitor.update(0, 0, "X")
    with pytest.raises(EpisodeEndedError, match="could not be read"):
        monitor.update(0, 0, "A")
    assert monitor.reset().steps == 0
    assert monitor.update(0, 0, "A").counters == (1,)
    with pytest.raises(LabelError, match="names of events"):
        monitor.update(0, 0, 7)
    machine = cranium.compile_language("A^N B^N")
    with pytest.raises(WorldError, match="the task reads 'B'"):
        cranium.Monitor(machine, cranium.labelling("A")(lambda s, a, s2: "A"))
    for wrong in (lambda: cranium.Monitor(machine, None), lambda: cranium.Monitor("A B", len)):
        with pytest.raises(CraniumError):
            wrong()


def test_it_follows_a_world_of_ours_beside_the_product():
    env = cranium.find_product(gym.make("cranium/Office-mail-delivery-v0"))
    monitor = cranium.Monitor(env.automaton, env.labelling)
    env.reset(seed=0)
    rng = iter(range(10_000))
    for _ in range(60):
        action = next(rng) * 7 % 4
        before = env.ground
        _, reward, terminated, _, info = env.step(action)
        status = monitor.update(before, action, env.ground)
        assert (dict(status.info), status.reward) == (info, reward)
        if terminated:
            break
