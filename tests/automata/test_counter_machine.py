"""The acceptor of Appendix A."""

from __future__ import annotations

import pickle

import pytest

from cranium import CounterMachine, Transition
from cranium.errors import AutomatonError, NondeterminismError, UnknownNameError, WordSyntaxError


def anbn() -> CounterMachine:
    return CounterMachine(
        symbols=["A", "B"],
        counters=["n"],
        initial="u0",
        accepting=["u1"],
        transitions=[
            Transition(source="u0", guard="A", change=(1,)),
            Transition(source="u0", guard="B", zero_pattern="1", target="u1", change=(-1,)),
            Transition(source="u1", guard="B", zero_pattern="1", change=(-1,)),
        ],
    )


def test_it_accepts_a_n_b_n_and_nothing_else():
    machine = anbn()
    for length in range(9):
        for bits in range(2**length):
            word = [("A", "B")[bits >> i & 1] for i in range(length)]
            half = length // 2
            wanted = length > 0 and word == ["A"] * half + ["B"] * half
            assert machine.accepts(word) == wanted, word


def test_a_rejected_word_says_how_far_it_was_read():
    run = anbn().run("ABAB")
    assert (run.accepted, run.read, len(run.configurations)) == (False, 2, 3)


def test_acceptance_looks_along_the_silent_transitions_at_the_end():
    # A^N with the counter emptied silently: accepting is passed on the way, not at the end.
    machine = CounterMachine(
        symbols=["A", "B"],
        counters=["n"],
        initial="u",
        accepting=["empty"],
        transitions=[
            Transition(source="u", guard="A", change=(1,)),
            Transition(source="u", guard="B", target="down"),
            Transition(source="down", silent=True, zero_pattern="1", change=(-1,)),
            Transition(source="down", silent=True, zero_pattern="0", target="empty"),
            Transition(source="empty", silent=True, zero_pattern="0", target="after"),
        ],
    )
    assert machine.accepts("AAB")
    assert not machine.accepts("AA")
    assert not machine.accepts("AABB")


def test_symbols_are_exclusive_so_different_ones_never_overlap():
    with pytest.raises(NondeterminismError, match="both enabled on symbol A"):
        CounterMachine(
            symbols=["A", "B"],
            initial="u",
            accepting=["u"],
            transitions=[Transition(source="u", guard="A"), Transition(source="u", guard="A")],
        )


@pytest.mark.parametrize(
    ("error", "transition", "accepting"),
    [
        (AutomatonError, Transition(source="u", guard="A & B"), ["u"]),
        (AutomatonError, Transition(source="u", guard="A", reward=1), ["u"]),
        (UnknownNameError, Transition(source="u", guard="C"), ["u"]),
        (UnknownNameError, Transition(source="u", guard="A"), ["v"]),
    ],
)
def test_it_refuses(error, transition, accepting):
    with pytest.raises(error):
        CounterMachine(
            symbols=["A", "B"], initial="u", accepting=accepting, transitions=[transition]
        )


def test_it_refuses_words_with_other_symbols_and_can_be_pickled():
    with pytest.raises(WordSyntaxError, match="no such symbol: 'C'"):
        anbn().accepts("ABC")
    assert pickle.loads(pickle.dumps(anbn())) == anbn()
    assert anbn() != "anbn"
