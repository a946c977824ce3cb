"""What machines are, and what construction refuses."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import cranium
from cranium import Configuration, CountingRewardAutomaton, RewardMachine, Transition
from cranium.automata.alphabet import Alphabet
from cranium.errors import (
    AutomatonError,
    CounterRuleError,
    CounterUnderflowError,
    DuplicateNameError,
    EpisodeEndedError,
    FormulaSyntaxError,
    InvalidArgumentError,
    InvalidNameError,
    LabelError,
    NondeterminismError,
    NoTransitionError,
    RewardError,
    SilentLoopError,
    StaticSilentLoopError,
    TerminalStateError,
    UnknownNameError,
    UnsettledError,
)


def T(source="u", **more) -> Transition:
    return Transition(source=source, **more)


def make(*transitions, **more) -> CountingRewardAutomaton:
    parts = {
        "propositions": ["A", "B"],
        "counters": ["n"],
        "initial": "u",
        "terminal": ["end"],
        "transitions": transitions,
    }
    return CountingRewardAutomaton(**{**parts, **more})


# Construction refuses


@pytest.mark.parametrize(
    ("error", "message", "transitions", "more"),
    [
        (
            NondeterminismError,
            r"transition 1 .* and transition 2 .* are both enabled on label \{A, B\} with zero pattern \[1\] \(n > 0\)",
            [T(guard="A", zero_pattern="1"), T(guard="B", target="end")],
            {},
        ),
        (
            NondeterminismError,
            "a silent transition leaves no choice",
            [T(silent=True, zero_pattern="0", target="end", change=(1,)), T(guard="A")],
            {},
        ),
        (
            NondeterminismError,
            "both enabled on no label",
            [T(silent=True, zero_pattern="0", target="v"), T(silent=True, target="v")],
            {"states": ["u", "v"]},
        ),
        (
            CounterRuleError,
            "takes 1 from the counter 'n', which may be zero",
            [T(guard="A", change=(-1,))],
            {},
        ),
        (CounterRuleError, "which is zero", [T(guard="A", zero_pattern="0", change=(-2,))], {}),
        (
            CounterRuleError,
            "'11' has 2 entries for 1 counters",
            [T(guard="A", zero_pattern="11")],
            {},
        ),
        (
            CounterRuleError,
            r"\(1, 2\) has 2 entries for 1 counters",
            [T(guard="A", change=(1, 2))],
            {},
        ),
        (TerminalStateError, "leaves a terminal state", [T(), T("end", guard="A")], {}),
        (TerminalStateError, "before it begins", [T(silent=True, target="end")], {}),
        (
            UnknownNameError,
            "no such state: 'edn'\n  fix: did you mean 'end'",
            [T(guard="A", target="edn")],
            {},
        ),
        (UnknownNameError, "no such proposition: 'C'", [T(guard="C")], {}),
        (
            UnknownNameError,
            "no such terminal state for 'accepting': 'u'",
            [T()],
            {"accepting": ["u"]},
        ),
        (
            UnknownNameError,
            "no such choice for 'otherwise': 'sty'\n.*'stay'",
            [T()],
            {"otherwise": "sty"},
        ),
        (
            UnknownNameError,
            "no such state for 'initial': 'v'",
            [T()],
            {"initial": "v", "states": ["u"]},
        ),
        (RewardError, "would pay 1.0 at reset", [T(silent=True, target="v", reward=1), T("v")], {}),
        (DuplicateNameError, "the state 'u' is declared twice", [T()], {"states": ["u", "u"]}),
        (
            DuplicateNameError,
            "the state 'end' is declared twice: it is terminal and it is not",
            [T()],
            {"states": ["u", "end"]},
        ),
        (DuplicateNameError, "the counter 'n' is declared twice", [], {"counters": ["n", "n"]}),
        (DuplicateNameError, "proposition 'A'", [], {"propositions": ["A", "A"]}),
        (DuplicateNameError, "accepting state 'end'", [], {"accepting": ["end", "end"]}),
        (InvalidNameError, "a counter is a letter", [], {"counters": ["n+1"]}),
        (InvalidNameError, "a state cannot be called 'stay'", [], {"terminal": ["stay"]}),
        (InvalidNameError, "a state's name", [], {"states": ["u", ""]}),
        (InvalidNameError, "a state's name", [], {"states": ["u", "a\nb"]}),
        (InvalidNameError, "a machine's name", [], {"name": "a\nb"}),
        (
            InvalidArgumentError,
            "silent_limit is a whole number of at least 1, not 0",
            [],
            {"silent_limit": 0},
        ),
        (InvalidNameError, "cannot be called 'error'", [T("error"), T()], {}),
        (TerminalStateError, "the initial state 'end' is terminal", [T()], {"initial": "end"}),
        (
            CounterRuleError,
            "at reset, .* from 1 to -1",
            [
                T(silent=True, zero_pattern="0", change=(1,), target="v"),
                T("v", silent=True, zero_pattern="1", change=(-2,)),
            ],
            {},
        ),
        (InvalidNameError, "names are given as a list or a tuple", [], {"propositions": "AB"}),
        # silent loops that can be seen
        (StaticSilentLoopError, "repeat for ever", [T(silent=True)], {}),
        (
            StaticSilentLoopError,
            "repeat for ever",
            [T(silent=True, zero_pattern="1", change=(1,)), T(zero_pattern="0")],
            {},
        ),
        (
            StaticSilentLoopError,
            r"the silent transitions 2, 3 repeat for ever from ⟨v, 1⟩",
            [
                T(guard="A", target="v", change=(1,)),
                T("v", silent=True, zero_pattern="1", target="w"),
                T("w", silent=True, zero_pattern="1", target="v"),
            ],
            {},
        ),
        (
            StaticSilentLoopError,
            "at reset, more than 50 silent transitions",
            [
                T(silent=True, zero_pattern="0", change=(1,), target="v"),
                T("v", silent=True, zero_pattern="1", change=(1,), target="w"),
                T("w", silent=True, zero_pattern="1", change=(-1,), target="x"),
                T("x", silent=True, zero_pattern="1", change=(2,), target="y"),
                T("y", silent=True, zero_pattern="1", change=(-1,), target="v"),
            ],
            {"silent_limit": 50},
        ),
    ],
)
def test_construction_refuses(error, message, transitions, more, monkeypatch):
    if "at reset" in message:  # the static check would see this one; the run must see it too
        monkeypatch.setattr("cranium.automata.automaton.check_silent_loops", lambda _: None)
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        make(*transitions, **more)


@pytest.mark.parametrize(
    ("error", "more"),
    [
        (FormulaSyntaxError, {"guard": "A &"}),
        (AutomatonError, {"silent": True, "guard": "A"}),
        (InvalidNameError, {"target": ["u"]}),
        (CounterRuleError, {"zero_pattern": "2"}),
        (CounterRuleError, {"zero_pattern": None}),
        (CounterRuleError, {"change": (0.5,)}),
        (CounterRuleError, {"change": (True,)}),
        (CounterRuleError, {"change": 1}),
        (CounterRuleError, {"change": "1"}),
        (RewardError, {"reward": float("nan")}),
        (RewardError, {"reward": float("-inf")}),
        (RewardError, {"reward": True}),
        (RewardError, {"reward": "1"}),
        (RewardError, {"reward": 10**400}),
    ],
)
def test_a_transition_refuses(error, more):
    with pytest.raises(error):
        T(**more)


@pytest.mark.parametrize(
    "loop",
    [
        [T(silent=True, zero_pattern="1", change=(-1,))],  # ends when n is zero
        [
            T(silent=True, zero_pattern="0", change=(1,), target="v"),
            T("v", silent=True, zero_pattern="0", target="u"),
        ],
    ],
)
def test_silent_cycles_that_end_are_allowed(loop):
    make(
        *loop,
        T("u", guard="A", zero_pattern="0", change=(1,))
        if len(loop) == 1
        else T("v", zero_pattern="1"),
    )


def test_disjoint_guards_and_disjoint_tests_do_not_overlap():
    make(
        T(guard="A"),
        T(guard="B & !A"),
        T(guard="!A & !B", zero_pattern="1"),
        T(guard="!(A | B)", zero_pattern="0"),
    )


# What a machine is


def test_states_can_be_left_out_and_a_target_nobody_leaves_is_a_misspelling():
    machine = make(T(guard="A", target="v"), T("v", guard="A", target="end"))
    assert machine.states == ("u", "v")
    with pytest.raises(UnknownNameError, match=r"'vv'.*\n.*'v'"):
        make(T(guard="A", target="vv"), T("v", guard="A"))


def test_names_from_a_set_come_in_a_fixed_order():
    machine = make(T(), states={"w", "u", "v"}, terminal={"z", "end"})
    assert machine.states == ("u", "v", "w")
    assert machine.terminal == ("end", "z")


def test_sixty_propositions_cost_what_six_do():
    names = [f"p{i}" for i in range(60)]
    others = " & ".join(f"!{n}" for n in names[1:])
    machine = CountingRewardAutomaton(
        propositions=names,
        initial="u",
        terminal=["end"],
        accepting=["end"],
        otherwise="end",
        transitions=[T(guard=f"p0 & {others}"), T(guard=" | ".join(names[1:]), target="end")],
    )
    assert machine.run([names[0], ["p3", "p59"]]).accepted
    assert not cranium.check(machine)
    assert cranium.minimise(cranium.unroll(machine, 3)).size.states == 1
    assert cranium.equivalent(machine, machine).exact


def test_kinds_and_sizes():
    anbcn, mail = cranium.library.load("anbcn"), cranium.library.load("mail-delivery")
    assert anbcn.is_constant
    assert not anbcn.is_reward_machine
    assert mail.is_reward_machine
    assert isinstance(mail, RewardMachine)
    assert anbcn.size == (2, 2, 7, 1)
    assert anbcn.num_counters == 1
    assert not make(T(reward=lambda s, a, s2: 1.0)).is_constant
    assert "2 states, 2 terminal, 7 transitions, 1 counters" in repr(anbcn)


def test_a_machine_is_immutable_hashable_and_can_be_pickled():
    machine = cranium.library.load("office")
    with pytest.raises(AttributeError, match="immutable"):
        machine.initial = "deliver"
    with pytest.raises(AttributeError, match="immutable"):
        del machine.initial
    assert copy.copy(machine) is copy.deepcopy(machine) is machine
    assert pickle.loads(pickle.dumps(machine)) == machine
    assert machine != cranium.library.load("anbcn")
    assert machine != "office"
    rm = cranium.library.load("mail-delivery")
    assert pickle.loads(pickle.dumps(rm)) == rm
    assert isinstance(pickle.loads(pickle.dumps(rm)), RewardMachine)


def test_replace_makes_a_checked_copy_and_leaves_the_machine_alone():
    machine = cranium.library.load("anbcn")
    other = machine.replace(otherwise="failed", transitions=machine.transitions[:2])
    assert (machine.otherwise, len(machine.transitions)) == ("stay", 7)
    assert (other.otherwise, other.transitions) == ("failed", machine.transitions[:2])
    assert machine.replace() == machine
    assert machine.replace(name="other") != machine
    with pytest.raises(UnknownNameError, match="no such state for 'initial': 'macthing'"):
        machine.replace(initial="macthing")
    with pytest.raises(TypeError, match="stats"):
        machine.replace(stats=["u"])


def test_replace_keeps_the_places_of_what_does_not_change():
    machine = cranium.library.load("anbcn")
    assert str(machine.place_of("counters", 0)) == "library:anbcn:14:12"
    other = machine.replace(name="other", accepting=["failed"])
    assert other.place_of("counters", 0) == machine.place_of("counters", 0)
    assert other.place_of("name") is None
    assert other.place_of("accepting") is None is not machine.place_of("accepting")
    assert pickle.loads(pickle.dumps(machine)).place_of("name") == machine.place_of("name")


def test_a_reward_machine_stays_one_when_it_is_replaced_and_converts_to_take_counters():
    rm = cranium.library.load("mail-delivery")
    assert type(rm.replace(name="other")) is RewardMachine
    with pytest.raises(TypeError, match="counters"):
        rm.replace(counters=["n"])
    assert rm.as_cra().replace(counters=["n"], transitions=[]).counters == ("n",)


# How it runs


def test_labels_can_be_given_in_every_form_and_a_step_says_what_fired():
    machine = cranium.library.load("anbcn")
    steps = [
        machine.step(machine.start, label)
        for label in ("A", ["A"], {"A"}, frozenset("A"), ("A",), 1)
    ]
    assert {step.configuration for step in steps} == {Configuration("counting", (1,))}
    assert steps[0].fired == (machine.transitions[0],)
    last = machine.step(Configuration("matching", (1,)), "C")
    assert [t.number for t in last.fired] == [5, 7]
    assert machine.step(machine.start, ()).fired == ()


def test_a_run_stops_where_the_machine_does():
    trace = cranium.library.load("anbcn").run(["A", "C", "B", "C"])
    assert (trace.ended, trace.succeeded, trace.unread) == (True, False, 2)
    assert not cranium.library.load("anbcn").run("A B C A").accepted
    assert cranium.library.load("anbcn").run("A B C A").succeeded


def test_otherwise_stay_error_and_a_terminal_state():
    stay, error, end = (
        make(T(guard="A", change=(1,)), otherwise=o) for o in ("stay", "error", "end")
    )
    assert stay.run("A {}").configurations[-1] == ("u", (1,))
    assert end.run("A {}").configurations[-1] == ("end", (1,))
    assert stay.transition("u", "B", "1") == ("u", (0,))
    assert end.transition("u", "B", "1") == ("end", (0,))
    with pytest.raises(
        NoTransitionError, match=r"no transition of 'u' is enabled on B with zero pattern \[1\]"
    ):
        error.run("A B")
    with pytest.raises(NoTransitionError):
        error.transition("u", "B", "0")


def test_delta_of_epsilon_is_the_silent_transition():
    machine = cranium.library.load("anbcn")
    assert machine.transition("matching", None, "0") == ("done", (0,))
    assert machine.transition("matching", None, "1") is None
    assert machine.reward("matching", None, "0") == 1.0
    assert machine.reward("matching", None, "1") == 0.0
    with pytest.raises(UnknownNameError):
        machine.transition("matchign", "A", "0")
    with pytest.raises(InvalidNameError, match=r"Z\(c\)"):
        machine.transition("matching", "A", "*")


def test_delta_and_lambda_refuse_what_a_step_refuses():
    machine = cranium.library.load("anbcn")
    for state, label, zeros, counters, error in (
        ("done", "A", "0", (0,), EpisodeEndedError),
        ("failed", "A", "1", (1,), EpisodeEndedError),
        ("matching", "A", "0", (0,), UnsettledError),
    ):
        for ask in (machine.transition, machine.reward):
            with pytest.raises(error):
                ask(state, label, zeros)
        with pytest.raises(error):
            machine.step(Configuration(state, counters), label)
    assert machine.transition("done", None, "0") is None
    for state in (None, 1, ["done"]):
        with pytest.raises(UnknownNameError):
            machine.transition(state, "A", "0")
    for zeros in (None, 0, ["0"], "00"):
        with pytest.raises(InvalidNameError, match=r"Z\(c\)"):
            machine.transition("counting", "A", zeros)


@pytest.mark.parametrize("method", ["is_terminal", "is_accepting"])
def test_the_end_is_asked_of_a_configuration_or_of_a_name(method):
    machine = cranium.library.load("anbcn")
    ask = getattr(machine, method)
    assert ask("done")
    assert ask(Configuration("done", (0,)))
    assert ask(("done", (0,)))
    assert ask("failed") == ask(Configuration("failed", (3,))) == (method == "is_terminal")
    assert not ask("counting")
    for unknown in ("dnoe", Configuration("dnoe", (0,)), (1, (0,)), (["done"], (0,))):
        with pytest.raises(UnknownNameError, match="no such state"):
            ask(unknown)
    for nothing in (None, 1, 1.0, ("done",), ("done", (0,), 1), ["done"]):
        with pytest.raises(InvalidArgumentError, match="a configuration or the name of a state"):
            ask(nothing)


@pytest.mark.parametrize("asked_before", [False, True])
def test_what_is_a_label_does_not_depend_on_what_was_asked_before(asked_before):
    machine = cranium.library.load("anbcn")
    start = machine.start
    if asked_before:
        for label in (1, True, "A", ("A",), frozenset("A"), ["A"], np.int64(1)):
            machine.step(start, label)
    for label in (1.0, Fraction(1), Decimal(1), 1 + 0j, np.float64(1), None, b"A", np.array(1.0),
                  np.array("A"), np.array([1]), np.array([True]), {"A": False}, {"A": 1}):  # fmt: skip
        with pytest.raises(LabelError):
            machine.step(start, label)
    for label in (1, True, np.int64(1), np.uint8(1), np.array(1), "A", ("A",), {"A"}, ["A"],
                  np.array(["A"])):  # fmt: skip
        assert machine.step(start, label).configuration == ("counting", (1,))


@pytest.mark.parametrize("word", [{"A", "B"}, frozenset("A"), {"A": 1, "B": 2}, b"A", 7, None])
def test_what_has_no_order_is_no_word(word):
    with pytest.raises(LabelError, match="a word is text or a sequence of labels"):
        cranium.library.load("anbcn").run(word)


@pytest.mark.parametrize("asked_before", [False, True])
def test_what_is_a_configuration_does_not_depend_on_what_was_asked_before(asked_before):
    machine = cranium.library.load("anbcn")
    if asked_before:
        machine.step(Configuration("counting", (1,)), "A")
    for counters in ((1.0,), [1], np.array([1]), np.array([1.0]), (True,), (Fraction(1),)):
        step = machine.step(Configuration("counting", counters), "A")
        assert step.configuration == ("counting", (2,))
        assert [type(value) for value in step.configuration.counters] == [int]
    for counters in ((1.5,), (math.nan,), (math.inf,), ("1",), (None,), 1, (1, 1), (-1.0,)):
        with pytest.raises(CounterRuleError):
            machine.step(Configuration("counting", counters), "A")


def test_true_reads_a_label_and_silent_does_not():
    reads = make(
        T(guard="true", target="end", zero_pattern="1"), T(guard="A", zero_pattern="0", change=(1,))
    )
    silent = make(
        T(silent=True, target="end", zero_pattern="1"), T(guard="A", zero_pattern="0", change=(1,))
    )
    assert not reads.run("A").ended
    assert reads.run("A {}").ended
    assert silent.run("A").ended


@pytest.mark.parametrize(
    ("configuration", "label", "error"),
    [
        (("u", (0,)), "C", LabelError),
        (("u", (0,)), 4, LabelError),
        (("v", (0,)), "A", UnknownNameError),
        (("u", ()), "A", CounterRuleError),
        (("u", (-1,)), "A", CounterRuleError),
        (("u", (0.5,)), "A", CounterRuleError),
        ("u", "A", CounterRuleError),
        (("end", (0,)), "A", EpisodeEndedError),
        (([], ()), "A", UnknownNameError),
    ],
)
def test_a_step_refuses(configuration, label, error):
    with pytest.raises(error):
        make(T(guard="A")).step(configuration, label)


def test_a_step_from_where_the_machine_never_rests_is_refused():
    with pytest.raises(UnsettledError, match="can be read in ⟨matching, 0⟩"):
        cranium.library.load("anbcn").step(("matching", (0,)), "C")


def test_labels_and_counters_may_be_numpy_integers_and_answers_do_not_depend_on_history():
    numpy = pytest.importorskip("numpy")
    for machine in (make(T(guard="A", change=(1,))), make(T(guard="A", change=(1,)))):
        for label in (numpy.int64(1), 1, True):
            step = machine.step(("u", (numpy.int64(2),)), label)
            assert step.configuration == ("u", (3,))
            assert type(step.configuration.counters[0]) is int


@pytest.mark.parametrize("word", [3, None, b"A"])
def test_what_is_no_word_at_all_is_refused(word):
    with pytest.raises(LabelError, match="a word is text or a sequence of labels"):
        make(T()).run(word)


def test_a_run_that_stops_with_an_error_says_how_far_it_got():
    with pytest.raises(NoTransitionError) as caught:
        make(T(guard="A", change=(1,)), otherwise="error").run("A A B")
    assert len(caught.value.trace.steps) == 2


def test_rewards_that_add_up_to_too_much_are_refused():
    machine = make(T(guard="A", reward=1e308))
    with pytest.raises(RewardError, match="more than a number can hold"):
        _ = machine.run("A A").total_reward


def test_alphabets_and_formulas_are_immutable_too():
    machine = make(T(guard="A"))
    with pytest.raises(AttributeError, match="immutable"):
        machine.alphabet.propositions = ("X",)
    with pytest.raises(AttributeError, match="immutable"):
        machine.transitions[0].guard.depth = 7


def test_a_decrement_by_two_is_judged_when_it_happens():
    machine = make(T(guard="A", change=(1,)), T(guard="B & !A", zero_pattern="1", change=(-2,)))
    assert machine.run("A A B").configurations[-1].counters == (0,)
    with pytest.raises(CounterUnderflowError, match="would take the counter 'n' from 1 to -1"):
        machine.run("A B")


def test_a_silent_loop_that_only_a_run_can_see_is_found():
    # v gives n to m one at a time, w gives it back two at a time: no simple cycle comes round.
    machine = make(
        T(guard="A", change=(2, 0), target="v"),
        T("v", silent=True, zero_pattern="1*", change=(-1, 1)),
        T("v", silent=True, zero_pattern="01", target="w"),
        T("w", silent=True, zero_pattern="*1", change=(1, -1), target="w2"),
        T("w2", silent=True, zero_pattern="*1", change=(1, -1), target="w"),
        T("w", silent=True, zero_pattern="10", target="v"),
        counters=["n", "m"],
        silent_limit=1000,
    )
    with pytest.raises(SilentLoopError, match="repeat the configuration"):
        machine.run("A")


def test_a_silent_run_may_be_as_long_as_its_limit_says():
    counting = [T(guard="A", change=(1,)), T(guard="B & !A", zero_pattern="1", target="v")]
    down = [
        T("v", silent=True, zero_pattern="1", change=(-1,)),
        T("v", silent=True, zero_pattern="0", target="end"),
    ]
    word = ["A"] * 20 + ["B"]
    assert make(*counting, *down, silent_limit=21).run(word).ended
    with pytest.raises(SilentLoopError, match="more than 20 silent transitions"):
        make(*counting, *down, silent_limit=20).run(word)
    with pytest.raises(SilentLoopError, match="more than 15 silent transitions"):
        make(*counting, *down, silent_limit=15).run(word)


def test_the_memory_of_steps_is_bounded(monkeypatch):
    monkeypatch.setattr("cranium.automata.labelled_program.MAX_CACHED_STEPS", 10)
    machine = make(T(guard="A", change=(1,)))
    machine.run(["A"] * 100)
    assert sum(map(len, machine._steps.values())) <= 10


def test_every_letter_of_a_word_is_checked_once_and_no_configuration_is(monkeypatch):
    """So that the time for a word of a million letters is linear, and short."""
    counts = Counter()
    for owner, name in ((Alphabet, "label"), (CountingRewardAutomaton, "check_configuration")):
        real = getattr(owner, name)

        def counted(self, given, real=real, name=name):
            counts[name] += 1
            return real(self, given)

        monkeypatch.setattr(owner, name, counted)
    assert make(T(guard="A", change=(1,))).run(["A"] * 1000).configurations[-1].counters == (1000,)
    assert counts == {"label": 1000}


# Rewards


def distance(s, a, s2):
    return s2 - s


def test_reward_functions_see_what_happened_and_add_up_with_silent_ones():
    machine = make(
        T(guard="A", target="v", reward=distance),
        T("v", silent=True, target="w", reward=10),
        T("w"),
    )
    trace = machine.run("A", experiences=[(1, "go", 4)])
    assert trace.steps[0].reward.name == "distance + 10"
    assert trace.rewards == (13.0,)
    with pytest.raises(RewardError, match="give run"):
        _ = machine.run("A").total_reward
    with pytest.raises(RewardError, match="1 labels were read, but 0 experiences"):
        machine.run("A", experiences=[])


def test_a_reward_function_must_return_a_finite_number():
    machine = make(T(guard="A", reward=lambda s, a, s2: float("nan")))
    with pytest.raises(RewardError, match="returned nan"):
        _ = machine.run("A", experiences=[(0, 0, 0)]).rewards


# Reward machines


def test_a_reward_machine_has_no_counters_and_nothing_silent():
    with pytest.raises(CounterRuleError, match="use CountingRewardAutomaton"):
        RewardMachine(propositions=["A"], initial="u", transitions=[T(silent=True)])
    with pytest.raises(CounterRuleError, match="transition 2"):
        RewardMachine(propositions=["A"], initial="u", transitions=[T(), T(change=(1,))])


def test_rewards_stand_on_states_or_on_transitions_but_not_both():
    parts = {"propositions": ["A"], "initial": "u", "terminal": ["end"]}
    with pytest.raises(RewardError, match="rewards stand on the states"):
        RewardMachine(**parts, transitions=[T(reward=1)], state_rewards={"u": 1})
    with pytest.raises(UnknownNameError, match="state for a reward: 'v'"):
        RewardMachine(**parts, transitions=[T()], state_rewards={"v": 1})
    falls = RewardMachine(
        **parts, transitions=[T(guard="A")], state_rewards={"u": 3}, otherwise="end"
    )
    assert falls.run("A {}").rewards == (3.0, 3.0)
    assert falls.run("A {}").ended
    strict = RewardMachine(
        **parts, transitions=[T(guard="A")], state_rewards={"u": 3}, otherwise="error"
    )
    with pytest.raises(NoTransitionError):
        strict.run("{}")


def test_every_construction_error_is_an_automaton_error():
    with pytest.raises(AutomatonError):
        make(T(guard="A"), T(guard="A"))
