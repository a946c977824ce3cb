"""Findings: each rule with a machine that breaks it, and no finding that is not true."""

from __future__ import annotations

import pytest

import cranium
from cranium import CountingRewardAutomaton, RewardMachine, Transition, check
from cranium.errors import InvalidArgumentError


def T(source="u", **more) -> Transition:
    return Transition(source=source, **more)


def make(*transitions, **more) -> CountingRewardAutomaton:
    parts = {
        "propositions": ["A"],
        "counters": ["n"],
        "initial": "u",
        "terminal": ["end"],
        "accepting": ["end"],
        "transitions": transitions,
    }
    return CountingRewardAutomaton(**{**parts, **more})


COUNT = T(guard="A", change=(1,))
GO = T(guard="!A", zero_pattern="1", target="end")


def codes(machine, **more):
    return {finding.code for finding in check(machine, **more)}


def test_a_good_machine_has_no_findings():
    assert check(make(COUNT, GO)) == ()


def test_states_that_cannot_be_reached_are_proved_so_without_counters():
    machine = RewardMachine(
        propositions=["A"],
        initial="u",
        terminal=["end", "never"],
        accepting=["end"],
        transitions=[T(guard="A", target="end"), T("lost", guard="A", target="end")],
    )
    messages = [f.message for f in check(machine) if f.code == "unreachable-state"]
    assert messages == ["the state 'lost' cannot be reached", "the state 'never' cannot be reached"]


def test_a_state_behind_an_impossible_zero_test_is_proved_unreachable():
    # The search never ends here (n grows), but n is never zero again once v is entered.
    machine = make(
        T(guard="A", change=(1,), target="v"),
        T("v", guard="A", change=(1,)),
        T("v", guard="!A", zero_pattern="0", target="w"),
        T("w", guard="A", target="end"),
    )
    found = {f.code: f for f in reversed(check(machine, bound=30))}
    assert "the state 'w' cannot be reached" in found["unreachable-state"].message
    assert found["no-success"].severity == "error"
    assert "can never fire" in found["never-fires"].message


def test_what_is_not_proved_is_said_to_be_not_found_within_the_bound():
    # n and m grow together, so that n == 0 and m > 0 never holds: true, but beyond the abstraction.
    machine = make(
        T(guard="A", change=(1, 1)),
        T(guard="!A", zero_pattern="11", change=(-1, -1)),
        T(guard="!A", zero_pattern="01", target="v"),
        T("v", guard="A", target="end"),
        counters=["n", "m"],
    )
    found = {f.code: f for f in check(machine, bound=50)}
    assert "no-success" not in found
    assert "unreachable-state" not in found
    assert "not found within 50 configurations" in found["success-not-found"].message
    assert "not found within 50 configurations" in found["state-not-found"].message
    assert "not found within 50 configurations" in found["end-not-found"].message


def test_a_finite_search_is_exact_with_counters_too():
    # The same, but it can only count to one: all configurations are visited.
    machine = make(
        T(guard="A", zero_pattern="00", change=(1, 1)),
        T(guard="!A", zero_pattern="11", change=(-1, -1)),
        T(guard="!A", zero_pattern="01", target="v"),
        T("v", guard="A", target="end"),
        counters=["n", "m"],
    )
    assert {"no-success", "unreachable-state", "dead-end"} <= codes(machine)


def test_counters_that_decide_nothing_do_not_spoil_the_exactness():
    machine = make(T(guard="A", change=(1,)), T("v", guard="A", target="end"), states=["u", "v"])
    assert codes(machine) == {"unreachable-state", "untested-counter", "no-success", "dead-end"}


def test_dead_ends_are_found_and_their_line_is_said():
    machine = cranium.loads(
        """
propositions: [A, B]
initial: u
states: [u, trap]
terminal: [end]
accepting: [end]
transitions:
  - {from: u, when: A, to: end}
  - {from: u, when: B & !A, to: trap}
""",
        file="t.yaml",
    )
    (finding,) = check(machine)
    assert finding.code == "dead-end"
    assert str(finding.place) == "t.yaml:4:13"
    assert "no terminal state can be reached from 'trap'" in str(finding)


def test_labels_that_are_not_covered_are_shown_when_otherwise_is_error():
    machine = make(COUNT, GO, otherwise="error")
    (finding,) = check(machine)
    assert finding.code == "uncovered-label"
    assert "in 'u' with zero pattern [0] no transition is enabled on {}" in finding.message
    assert check(make(COUNT, GO, otherwise="stay")) == ()
    assert check(make(COUNT, GO, T(guard="!A", zero_pattern="0"), otherwise="error")) == ()


def test_a_word_that_ends_in_an_error_is_shown():
    machine = make(COUNT, T(guard="!A", zero_pattern="1", change=(-2,)), T("v", target="end"))
    finding = next(f for f in check(machine) if f.code == "runtime-error")
    assert finding.severity == "error"
    assert "the word A {} ends in an error" in finding.message
    assert "from 1 to -1" in finding.message


def test_counters_never_tested_or_changed():
    assert codes(make(T(guard="A", change=(1,)), T(guard="!A", target="end"))) == {
        "untested-counter"
    }
    assert codes(make(T(guard="A", zero_pattern="0", target="end"))) == {"unchanged-counter"}


def test_guards_that_nothing_satisfies():
    finding = next(f for f in check(make(COUNT, GO, T(guard="A & !A"))) if f.code == "never-fires")
    assert "no label satisfies its guard A & !A" in finding.message


def test_no_accepting_state_is_a_warning_unless_the_task_never_ends():
    assert [f.severity for f in check(make(COUNT, GO, accepting=[]))] == ["warning"]
    endless = RewardMachine(propositions=["A"], initial="u", transitions=[T(guard="A", reward=1)])
    assert [f.severity for f in check(endless)] == ["info"]


def test_otherwise_can_be_the_way_to_the_end():
    assert (
        check(
            RewardMachine(
                propositions=["A"],
                initial="u",
                terminal=["won", "lost"],
                accepting=["won"],
                otherwise="lost",
                transitions=[T(guard="A", target="won")],
            )
        )
        == ()
    )


def test_states_passed_silently_are_reached():
    machine = make(
        COUNT,
        T(guard="!A", zero_pattern="1", target="v"),
        T("v", silent=True, zero_pattern="1", target="w"),
        T("w", silent=True, zero_pattern="1", change=(-1,), target="end"),
    )
    assert check(machine) == ()


@pytest.mark.parametrize("bound", [0, -1, True, 1.5])
def test_the_bound_is_a_positive_number(bound):
    with pytest.raises(InvalidArgumentError, match="the bound"):
        check(make(COUNT, GO), bound=bound)


def test_many_counters_do_not_make_the_abstraction_explode():
    names = [f"c{i}" for i in range(20)]
    transitions = [
        T(
            guard="A",
            zero_pattern="".join("0" if j == i else "1" if j < i else "*" for j in range(20)),
            change=tuple(int(j == i) for j in range(20)),
        )
        for i in range(20)
    ] + [T(guard="A", zero_pattern="1" * 20, target="end")]
    assert check(make(*transitions, counters=names), bound=100) == ()


def chain(length: int, **more) -> RewardMachine:
    """A A A …: as many states as letters."""
    steps = [
        T(f"u{i}", guard="A", target=f"u{i + 1}" if i + 1 < length else "end")
        for i in range(length)
    ]
    parts = {"propositions": ["A"], "initial": "u0", "terminal": ["end"], "accepting": ["end"]}
    return RewardMachine(**{**parts, "transitions": steps, **more})


def test_without_counters_no_bound_applies():
    assert check(chain(3000), bound=10) == ()
    assert check(cranium.unroll(cranium.library.load("office"), 60)) == ()


def test_a_long_word_in_a_finding_is_cut_short():
    findings = check(chain(200, otherwise="error"))
    assert max(len(finding.message) for finding in findings) < 300


def test_what_fires_before_an_error_is_not_called_unreachable():
    machine = make(
        T(guard="A", zero_pattern="0", change=(1,), target="s"),
        T("s", silent=True, zero_pattern="1", change=(-2,), target="end"),
    )
    findings = check(machine)
    assert "runtime-error" in {finding.code for finding in findings}
    for finding in findings:
        assert "'s' cannot be reached" not in finding.message
        assert "transition 1" not in finding.message or finding.code == "runtime-error"
    assert "never-fires" not in {finding.code for finding in findings}


def test_a_transition_that_takes_from_many_counters_does_not_explode():
    names = [f"c{i}" for i in range(40)]
    machine = make(
        T(guard="A", change=(1,) * 40),
        T(guard="!A", zero_pattern="1" * 40, change=(-1,) * 40, target="end"),
        counters=names,
    )
    assert check(machine, bound=20) == ()


def test_every_finding_from_a_file_says_where():
    machine = cranium.loads(
        """
propositions: [A, B]
counters: [n, m]
initial: u
states: [u, v]
terminal: [end]
accepting: [end]
otherwise: error
transitions:
  - {from: u, when: A, add: {n: 1}}
""",
        file="t.yaml",
    )
    findings = check(machine)
    assert {"no-success", "unreachable-state", "untested-counter", "unchanged-counter",
            "unused-proposition", "uncovered-label", "dead-end"} <= {f.code for f in findings}  # fmt: skip
    assert all(finding.place and finding.place.file == "t.yaml" for finding in findings)
    places = {(f.code, str(f.place)) for f in findings}
    assert ("untested-counter", "t.yaml:3:12") in places
    assert ("unchanged-counter", "t.yaml:3:15") in places
    assert ("unused-proposition", "t.yaml:2:19") in places
