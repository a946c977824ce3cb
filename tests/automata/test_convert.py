"""Conversions: sizes, names, limits, and machines of a hundred thousand configurations."""

from __future__ import annotations

import pytest

import cranium
from cranium import CountingRewardAutomaton, RewardMachine, Transition
from cranium.errors import ConversionError, CounterUnderflowError, InvalidArgumentError


def test_unrolled_sizes_of_the_office_machine_grow_and_the_automaton_does_not():
    office = cranium.library.load("office")
    sizes = [cranium.unroll(office, n).size for n in (1, 2, 3, 10)]
    # fetch mail: n + 1 states; make coffee: one for each pair 1 ≤ left ≤ collected; deliver: n
    assert [s.states for s in sizes] == [(n + 1) + n * (n + 1) // 2 + n for n in (1, 2, 3, 10)]
    assert office.size.states == 3


def test_a_machine_without_counters_unrolls_to_itself():
    mail = cranium.library.load("mail-delivery")
    assert cranium.unroll(mail, 7) == mail


def test_unrolling_folds_silent_transitions_and_their_rewards():
    machine = CountingRewardAutomaton(
        propositions=["A"],
        initial="u",
        terminal=["end"],
        transitions=[
            Transition(source="u", guard="A", target="v", reward=1),
            Transition(source="v", silent=True, target="w", reward=2),
            Transition(source="w", silent=True, target="end", reward=4),
        ],
    )
    unrolled = cranium.unroll(machine, 0)
    assert unrolled.states == ("u",)
    assert unrolled.transitions[0].reward == 7.0


def test_names_that_are_taken_get_a_mark():
    machine = CountingRewardAutomaton(
        propositions=["A", "B"],
        counters=["n"],
        initial="u",
        terminal=["overflow", "u[n=1]"],
        transitions=[
            Transition(source="u", guard="A", change=(1,)),
            Transition(source="u", guard="B & !A", zero_pattern="1", target="u[n=1]"),
        ],
    )
    unrolled = cranium.unroll(machine, 1)
    assert unrolled.states == ("u[n=0]", "u[n=1]'")
    assert unrolled.run("A A").configurations[-1].state == "overflow'"


@pytest.mark.slow
def test_a_hundred_thousand_configurations_unroll():
    unrolled = cranium.unroll(cranium.library.load("office"), 446)
    assert unrolled.size.states > 100_000


def test_unrolling_refuses_what_it_cannot_do():
    office = cranium.library.load("office")
    for limit in (-1, 2.5, True, None):
        with pytest.raises(InvalidArgumentError, match="a counter limit is a whole number"):
            cranium.unroll(office, limit)
    with pytest.raises(ConversionError, match="more than 100 configurations"):
        cranium.unroll(office, 50, max_states=100)
    sinks = CountingRewardAutomaton(
        propositions=["A"],
        counters=["n"],
        initial="u",
        transitions=[
            Transition(source="u", guard="A", change=(1,)),
            Transition(source="u", guard="!A", zero_pattern="1", change=(-2,)),
        ],
    )
    with pytest.raises(CounterUnderflowError):
        cranium.unroll(sinks, 3)
    starts = CountingRewardAutomaton(
        propositions=["A"],
        counters=["n"],
        initial="u",
        transitions=[
            Transition(source="u", silent=True, zero_pattern="0", change=(5,), target="v"),
            Transition(source="v", guard="A"),
        ],
    )
    with pytest.raises(ConversionError, match="at reset"):
        cranium.unroll(starts, 3)
    assert cranium.unroll(starts, 5).states == ("v[n=5]",)


def test_minimise_merges_what_no_word_can_tell_apart():
    def way(source, target, **more):
        return Transition(source=source, target=target, **more)

    machine = RewardMachine(
        propositions=["A", "B"],
        initial="u",
        terminal=["won", "also won", "lost"],
        accepting=["won", "also won"],
        transitions=[
            way("u", "left", guard="A & B"),
            way("u", "right", guard="A & !B"),
            way("left", "won", guard="A", reward=1),
            way("right", "also won", guard="A & B | A & !B", reward=1),
            way("far", "lost", guard="A"),
        ],
    )
    small = cranium.minimise(machine)
    assert small.states == ("u", "left")
    assert small.terminal == ("won",)
    assert small.size.transitions == 2
    assert cranium.equivalent(machine, small).exact


def test_minimise_keeps_what_otherwise_means():
    for otherwise in ("stay", "error", "lost"):
        machine = RewardMachine(
            propositions=["A"],
            initial="u",
            terminal=["won", "lost"],
            accepting=["won"],
            otherwise=otherwise,
            transitions=[Transition(source="u", guard="A", target="won", reward=1)],
        )
        small = cranium.minimise(machine)
        assert small.otherwise == otherwise
        assert cranium.equivalent(small, machine)


def test_minimise_drops_an_otherwise_that_is_never_asked_for():
    machine = RewardMachine(
        propositions=["A"],
        initial="u",
        terminal=["won", "lost"],
        accepting=["won"],
        otherwise="lost",
        transitions=[
            Transition(source="u", guard="A", target="won"),
            Transition(source="u", guard="!A", target="u"),
        ],
    )
    small = cranium.minimise(machine)
    assert small.otherwise == "stay"
    assert cranium.equivalent(machine, small)


@pytest.mark.slow
def test_minimise_takes_a_long_chain():
    unrolled = cranium.unroll(cranium.library.load("anbcn"), 3000)
    assert cranium.minimise(unrolled).size.states == unrolled.size.states


def test_minimise_refuses_counters():
    with pytest.raises(ConversionError, match="unroll it first"):
        cranium.minimise(cranium.library.load("anbcn"))


def test_equivalent_finds_a_shortest_difference_with_counters():
    anbcn = cranium.library.load("anbcn")
    answer = cranium.equivalent(anbcn, cranium.unroll(anbcn, 4))
    assert answer.word == (("A",),) * 5
    assert not answer
    assert answer.exact
    alike = cranium.equivalent(anbcn, cranium.loads(cranium.dumps(anbcn)), bound=100)
    assert alike
    assert not alike.exact
    assert alike.explored == 100
    with pytest.raises(InvalidArgumentError, match="the bound"):
        cranium.equivalent(anbcn, anbcn, bound=0)


def test_equivalent_tells_success_from_failure_and_error_from_going_on():
    def ends(accepting, otherwise="stay"):
        return RewardMachine(
            propositions=["A"],
            initial="u",
            terminal=["end"],
            accepting=accepting,
            otherwise=otherwise,
            transitions=[Transition(source="u", guard="A", target="end")],
        )

    assert (
        "ends with success in 'end', the second ends in 'end'"
        in cranium.equivalent(ends(["end"]), ends([])).reason
    )
    assert "stops with NoTransitionError" in cranium.equivalent(ends([]), ends([], "error")).reason
    assert cranium.equivalent(ends([], "error"), ends([], "error"))
    assert cranium.equivalent(ends([], "end"), ends([])).word == ((),)


def test_equivalent_is_exact_without_counters_whatever_the_bound():
    def chain(last: float) -> RewardMachine:
        return RewardMachine(
            propositions=["A"],
            initial="u0",
            terminal=["end"],
            transitions=[
                Transition(
                    source=f"u{i}",
                    guard="A",
                    target=f"u{i + 1}" if i < 199 else "end",
                    reward=last if i == 199 else 0,
                )
                for i in range(200)
            ],
        )

    assert cranium.equivalent(chain(0), chain(0), bound=10).exact
    difference = cranium.equivalent(chain(0), chain(1), bound=10)
    assert not difference
    assert len(difference.word) == 200


def test_equal_rewards_are_equal_whatever_they_are_called():
    anbcn = cranium.library.load("anbcn")
    assert cranium.equivalent(anbcn, cranium.as_cra(anbcn), bound=50)

    def f(s, a, s2):
        return 1.0

    def pays(first, second):
        return CountingRewardAutomaton(
            propositions=["A"],
            initial="u",
            terminal=["end"],
            transitions=[
                Transition(source="u", guard="A", target="v", reward=first),
                Transition(source="v", silent=True, target="end", reward=second),
            ],
        )

    assert cranium.equivalent(pays(f, 1), pays(1, f)).exact
    assert cranium.minimise(cranium.unroll(pays(f, 1), 0)).size.states == 1
    apart = cranium.equivalent(pays(f, 1), pays(lambda s, a, s2: 1.0, 1))
    assert not apart
    assert not apart.exact, "two functions can return the same and not be the same object"


def test_unrolling_finds_names_for_machines_with_long_names_and_many_counters():
    names = [f"counter_{i}" for i in range(120)]
    machine = CountingRewardAutomaton(
        name="x" * 190,
        propositions=["A"],
        counters=names,
        initial="u" * 400,
        terminal=["end"],
        transitions=[
            Transition(source="u" * 400, guard="A", zero_pattern="0" * 120, change=(1,) * 120),
            Transition(source="u" * 400, guard="A", zero_pattern="1" * 120, target="end"),
        ],
    )
    unrolled = cranium.unroll(machine, 1)
    assert unrolled.size.states == 2
    assert unrolled.run("A A").ended
    named = RewardMachine(
        propositions=["A"],
        initial="overflow",
        transitions=[Transition(source="overflow", guard="A")],
    )
    assert cranium.unroll(named, 1) == named
