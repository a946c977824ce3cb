"""The theorems and conversions, each as a law over random machines and words."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.naive_machine import Rule, Spec, all_labels
from support.naive_machine import run as naive_run
from support.strategies import ERROR_OF, build_or_reject, specs, words

import cranium
from cranium.automata.step_cost import add_step_cost
from cranium.errors import ConversionError, RunError

SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def build_reward_machine(spec):
    """The reward machine of a spec without counters and silent transitions."""
    machine = build_or_reject(spec)
    return cranium.RewardMachine(
        propositions=machine.propositions,
        initial=machine.initial,
        states=machine.states,
        terminal=machine.terminal,
        accepting=machine.accepting,
        otherwise=machine.otherwise,
        transitions=machine.transitions,
    )


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
    ccra = build_or_reject(spec)
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
    rm = build_reward_machine(spec)
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
    free = build_or_reject(spec)
    rm = build_reward_machine(spec).replace(state_rewards=pays)
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


@pytest.mark.slow
@SLOW
@given(st.data())
def test_unrolling_runs_like_the_automaton_until_a_counter_passes_the_limit(data):
    spec = data.draw(specs())
    machine = build_or_reject(spec)
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
    """Whether a counter is above the limit where the machine comes to rest."""
    return any(max(c.counters, default=0) > limit for c in machine.run(word).configurations)


@st.composite
def sparse(draw):
    """A machine with four counters whose transitions test only some of them."""
    states, counters = ["u", "v"], ["n", "m", "k", "l"]
    rules = []
    for state in states:
        silent = draw(st.booleans())
        for label in all_labels(["A", "B"]):
            tests = ["1" if silent else draw(st.sampled_from("01*"))]
            tests += draw(st.lists(st.sampled_from("01***"), min_size=3, max_size=3))
            for place in draw(st.lists(st.sampled_from([None, 0, 1, 2, 3]), max_size=2)):
                pattern = list(tests)
                if place is not None and not (silent and place == 0):
                    pattern[place] = "1" if tests[place] == "0" else "0"
                if any(rule_of(r, state, label) and overlap(r.zeros, pattern) for r in rules):
                    continue
                change = tuple(draw(st.integers(-(test == "1"), 1)) for test in pattern)
                target, pays = draw(st.sampled_from(["u", "v", "v", "won"])), draw(rewards)
                rules.append(Rule(state, target, frozenset([label]), tuple(pattern), change, pays))
        if silent:
            rules.append(Rule(state, "won", None, ("0", "*", "*", "*"), (1, 0, 0, 0), 1.0))
    otherwise = draw(st.sampled_from(["stay", "lost", "error"]))
    return Spec(["A", "B"], counters, states, ["won", "lost"], ["won"], otherwise, rules)


rewards = st.sampled_from([0.0, 1.0, -2.0])


def rule_of(rule, state, label):
    return rule.source == state and rule.labels is not None and label in rule.labels


def overlap(one, other):
    return all(a == b or "*" in (a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.slow
@SLOW
@given(st.data())
def test_a_price_for_every_step_is_paid_for_every_label_and_changes_nothing_else(data):
    spec = data.draw(st.one_of(specs(), sparse()))
    machine = build_or_reject(spec)
    costly = add_step_cost(machine, 0.25)
    word = data.draw(words(spec.propositions))
    passed, rewards, trouble = naive_run(spec, word)
    if trouble:
        with pytest.raises(ERROR_OF[trouble]):
            costly.run(word)
        word = word[: len(passed) - 1]
    trace = costly.run(word)
    assert list(trace.configurations) == passed
    assert list(trace.rewards) == [reward - 0.25 for reward in rewards]
    assert costly.otherwise == machine.otherwise


def test_a_price_in_a_machine_that_tests_many_counters_takes_few_transitions():
    counters = [f"n{i}" for i in range(30)]
    ones = ["".join("1" if i == j else "*" for j in range(30)) for i in range(30)]
    events = [f"e{i}" for i in range(30)]
    alone = [" & ".join(one if one == event else f"!{one}" for one in events) for event in events]
    machine = cranium.CountingRewardAutomaton(
        propositions=events,
        counters=counters,
        initial="u",
        terminal=["end"],
        transitions=[
            cranium.Transition(
                source="u", guard=guard, zero_pattern=ones[i], change=[-(i == j) for j in range(30)]
            )
            for i, guard in enumerate(alone)
        ],
    )
    costly = add_step_cost(machine, 1)
    assert costly.size.transitions == 30 + 30 + 1
    assert costly.run(["e3", (), "e4", ("e1", "e2")]).total_reward == -4


def test_a_price_that_needs_too_many_transitions_is_refused():
    counters = [f"n{i}" for i in range(24)]
    pairs = [f"{'*' * i}1{'*' * 11}{'1'}{'*' * (11 - i)}" for i in range(12)]
    labels = [f"{'A' if i % 2 else '!A'}" for i in range(12)]
    # A label may enable one of six transitions, each by two counters of its own: they must be kept
    # apart, so each tests a counter of the next to be zero, too.
    transitions = []
    for i, (pattern, label) in enumerate(zip(pairs, labels, strict=True)):
        tests = list(pattern)
        for later in range(i + 2, 12, 2):
            tests[later] = "0"
        transitions.append(
            cranium.Transition(
                source="u", guard=label, zero_pattern="".join(tests), change=[0] * 24
            )
        )
    machine = cranium.CountingRewardAutomaton(
        propositions=["A"], counters=counters, initial="u", transitions=transitions
    )
    costly = add_step_cost(machine, 1)
    assert costly.size.transitions < 500
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cranium.automata.step_cost.MAX_CASES", 20)
        with pytest.raises(ConversionError, match="'u' does not react to falls into more than 20"):
            add_step_cost(machine, 1)


@pytest.mark.slow
def test_a_price_does_not_make_a_state_larger_than_states_may_be():
    odd = [zeros for zeros in map("".join, product("01", repeat=9)) if zeros.count("1") % 2]
    tests = [cranium.Transition(source="u", guard="A", zero_pattern=zeros) for zeros in odd]
    never = [cranium.Transition(source="u", guard="false") for _ in range(1000 - len(odd))]
    machine = cranium.CountingRewardAutomaton(
        propositions=["A"],
        counters=[f"n{i}" for i in range(9)],
        initial="u",
        transitions=tests + never,
    )
    told = r"1,000 transitions leave 'u', and a price .* takes 257 more: 1,000 are allowed"
    with pytest.raises(ConversionError, match=told):
        add_step_cost(machine, 1)


@pytest.mark.slow
@SLOW
@given(st.data())
def test_minimise_keeps_the_behaviour_and_leaves_no_two_equal_states(data):
    spec = data.draw(specs())
    machine = unrolled_or_skip(build_or_reject(spec), data.draw(st.integers(0, 2)))
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
    return machine.replace(initial=state)


@pytest.mark.slow
@SLOW
@given(st.data())
def test_a_distinguishing_word_distinguishes_and_is_shortest(data):
    one = build_or_reject(data.draw(specs(max_counters=1, silent=False)))
    other = build_or_reject(data.draw(specs(max_counters=1, silent=False)))
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
