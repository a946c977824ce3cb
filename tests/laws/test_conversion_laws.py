"""The theorems and conversions, each as a law over random machines and words."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from laws.naive import all_labels
from laws.strategies import specs, words
from laws.test_machine_laws import machine_of

import cranium
from cranium.errors import ConversionError, RunError

SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def behaviour(machine, word, experiences=None):
    """What an agent can see of a run: rewards, the end, success; or that it stops with an error."""
    try:
        trace = machine.run(word, experiences)
    except RunError as error:
        return type(error)
    return trace.rewards, trace.ended, trace.succeeded, trace.unread


@SLOW
@given(st.data())
def test_theorem_1_1_a_constant_automaton_as_one_with_reward_functions(data):
    spec = data.draw(specs())
    ccra = machine_of(spec)
    cra = cranium.as_cra(ccra)
    word = data.draw(words(spec.propositions))
    experiences = [(object(), object(), object()) for _ in word]
    assert not cra.transitions or not cra.is_constant
    assert cra.size == ccra.size
    assert behaviour(cra, word, experiences) == behaviour(ccra, word)


@SLOW
@given(st.data())
def test_theorem_1_2_a_reward_machine_as_a_counting_reward_automaton(data):
    spec = data.draw(specs(max_counters=0, silent=False))
    rm = cranium.RewardMachine(
        **{
            key: value
            for key, value in machine_of(spec)._definition().items()
            if key not in ("counters", "silent_limit")
        }
    )
    counters = data.draw(st.sampled_from([[], ["n"], ["n", "m"]]))
    cra = rm.as_cra(counters=counters)
    word = data.draw(words(spec.propositions))
    assert cra.num_counters == len(counters)
    assert cra.size.states == rm.size.states
    assert cra.size.transitions == rm.size.transitions
    assert behaviour(cra, word) == behaviour(rm, word)
    if not counters:
        assert cra == rm


@SLOW
@given(st.data())
def test_rewards_on_states_are_paid_on_every_step_out_of_them(data):
    spec = data.draw(specs(max_counters=0, silent=False, rewards=(0.0,)))
    pays = {state: data.draw(st.sampled_from([0.0, 1.0, -2.0])) for state in spec.states}
    free = machine_of(spec)
    definition = free._definition()
    rm = cranium.RewardMachine(
        **{k: v for k, v in definition.items() if k not in ("counters", "silent_limit")},
        state_rewards=pays,
    )
    word = data.draw(words(spec.propositions))
    try:
        trace = free.run(word)
    except RunError as error:
        with pytest.raises(type(error)):
            rm.run(word)
        return
    assert rm.run(word).configurations == trace.configurations
    assert rm.run(word).rewards == tuple(pays[c.state] for c in trace.configurations[:-1])


def unrolled_or_skip(machine, limit):
    try:
        return cranium.unroll(machine, limit)
    except (RunError, ConversionError):
        assume(False)


@SLOW
@given(st.data())
def test_unrolling_runs_like_the_automaton_until_a_counter_passes_the_limit(data):
    spec = data.draw(specs())
    machine = machine_of(spec)
    limit = data.draw(st.integers(0, 4))
    rm = unrolled_or_skip(machine, limit)
    assert rm.is_reward_machine
    word = data.draw(words(spec.propositions))
    for size in range(len(word) + 1):
        ours = behaviour(rm, word[:size])
        if isinstance(ours, type):
            assert behaviour(machine, word[:size]) == ours
            return
        if ours[1] and rm.run(word[:size]).configurations[-1].state == "overflow":
            assert passes(machine, word[:size], limit)
            assert not ours[2]
            return
        assert behaviour(machine, word[:size]) == ours
        assert not passes(machine, word[:size], limit)


def passes(machine, word, limit) -> bool:
    """Whether a counter is above the limit at any moment, between silent transitions too."""
    configuration = cranium.Configuration(machine.initial, (0,) * machine.num_counters)
    fired = [machine.settle(configuration)[1]]
    fired += [list(step.fired) for step in machine.run(word).steps]
    for transitions in fired:
        for transition in transitions:
            configuration = machine.apply(transition, configuration)
            if any(value > limit for value in configuration.counters):
                return True
        if not transitions and machine.otherwise in machine.terminal:
            continue
    return False


@SLOW
@given(st.data())
def test_minimise_keeps_the_behaviour_and_leaves_no_two_equal_states(data):
    spec = data.draw(specs())
    machine = unrolled_or_skip(machine_of(spec), data.draw(st.integers(0, 2)))
    small = cranium.minimise(machine)
    assert small.size.states <= machine.size.states
    answer = cranium.equivalent(machine, small)
    assert answer
    assert answer.exact
    word = data.draw(words(spec.propositions))
    assert behaviour(small, word) == behaviour(machine, word)
    for i, one in enumerate(small.states):
        for other in small.states[i + 1 :]:
            assert not cranium.equivalent(started(small, one), started(small, other))


def started(machine, state):
    return cranium.CountingRewardAutomaton(**{**machine._definition(), "initial": state})


@SLOW
@given(st.data())
def test_a_distinguishing_word_distinguishes_and_is_shortest(data):
    one = machine_of(data.draw(specs(max_counters=1, silent=False)))
    other = machine_of(data.draw(specs(max_counters=1, silent=False)))
    answer = cranium.equivalent(one, other, bound=200)
    shared = sorted({*one.propositions, *other.propositions})
    if answer.word is not None:
        assert seen_by(one, answer.word) != seen_by(other, answer.word)
        shorter = all_words(shared, min(len(answer.word) - 1, 2))
    else:
        shorter = all_words(shared, 2) if answer.exact else []
    for word in shorter:
        assert seen_by(one, word) == seen_by(other, word)


def seen_by(machine, word):
    return behaviour(machine, [[n for n in label if n in machine.propositions] for label in word])


def all_words(propositions, length):
    words_ = [[]]
    for _ in range(length):
        words_ += [[*w, label] for w in words_ for label in all_labels(propositions)]
    return words_
