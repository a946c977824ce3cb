"""Random machines and words against the naive interpreter."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from support import naive_machine as naive
from support.strategies import ERROR_OF, build, build_or_reject, specs, words

import cranium
from cranium import Configuration
from cranium.errors import (
    CounterUnderflowError,
    NoTransitionError,
    SilentLoopError,
)

SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@pytest.mark.slow
@SLOW
@given(st.data())
def test_a_machine_runs_as_the_naive_interpreter_does(data):
    spec = data.draw(specs())
    machine = build_or_reject(spec)
    word = data.draw(words(spec.propositions))
    passed, rewards, trouble = naive.run(spec, word)
    if trouble is None:
        trace = machine.run(word)
        assert [tuple(c) for c in trace.configurations] == passed
        assert list(trace.rewards) == pytest.approx(rewards)
        assert trace.ended == (passed[-1][0] in spec.terminal)
        assert trace.accepted == (passed[-1][0] == "won" and len(passed) == len(word) + 1)
    else:
        with pytest.raises(ERROR_OF[trouble]):
            machine.run(word)


@pytest.mark.slow
@SLOW
@given(st.data())
def test_delta_and_lambda_agree_with_step(data):
    spec = data.draw(specs(silent=False))
    machine = build_or_reject(spec)
    state = data.draw(st.sampled_from(spec.states))
    counters = tuple(data.draw(st.integers(0, 3)) for _ in spec.counters)
    label = data.draw(st.sampled_from(naive.all_labels(spec.propositions)))
    zeros = cranium.zero_test(counters)
    try:
        step = machine.step(Configuration(state, counters), label)
    except CounterUnderflowError:
        reject()
    except NoTransitionError:
        with pytest.raises(NoTransitionError):
            machine.transition(state, label, zeros)
        return
    target, change = machine.transition(state, label, zeros)
    after = tuple(c + m for c, m in zip(counters, change, strict=True))
    assert step.configuration == Configuration(target, after)
    assert step.reward == machine.reward(state, label, zeros)


@pytest.mark.slow
@SLOW
@given(specs())
def test_files_pickles_and_equality_keep_a_machine(spec):
    machine = build_or_reject(spec)
    for form in ("yaml", "json"):
        text = cranium.dumps(machine, form=form)
        again = cranium.loads(text, form=form)
        assert again == machine
        assert hash(again) == hash(machine)
        assert cranium.dumps(again, form=form) == text
    assert pickle.loads(pickle.dumps(machine)) == machine


@pytest.mark.slow
@SLOW
@given(st.data())
def test_one_label_too_many_in_a_guard_is_found_as_an_overlap(data):
    spec = data.draw(specs(max_counters=1, silent=False))
    spec.otherwise = "stay"
    pairs = [
        (one, other)
        for one in spec.rules
        for other in spec.rules
        if one is not other and one.source == other.source and one.zeros == other.zeros
    ]
    assume(pairs)
    one, other = data.draw(st.sampled_from(pairs))
    shared = data.draw(st.sampled_from(sorted(other.labels, key=sorted)))
    one.labels = one.labels | {shared}
    with pytest.raises(cranium.errors.NondeterminismError, match="both enabled"):
        build(spec)


@pytest.mark.slow
@SLOW
@given(st.data())
def test_check_never_calls_unreachable_what_a_run_reaches(data):
    spec = data.draw(specs())
    machine = build_or_reject(spec)
    try:
        findings = cranium.check(machine, bound=20)
    except SilentLoopError:
        assume(False)
    gone = {f.message for f in findings if f.code == "unreachable-state"}
    passed, _, _ = naive.run(spec, data.draw(words(spec.propositions, max_size=20)))
    for state, _counters in passed:
        assert f"the state {state!r} cannot be reached" not in gone
    if any(f.code == "no-success" for f in findings):
        assert passed[-1][0] != "won"
