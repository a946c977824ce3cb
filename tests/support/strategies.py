"""Random formulas, machines and words for Hypothesis."""

from __future__ import annotations

from itertools import product

from hypothesis import reject
from hypothesis import strategies as st
from support.naive_machine import Below, Endless, Rule, Spec, Stuck, all_labels

from cranium import CountingRewardAutomaton, Transition
from cranium.automata.formula import FALSE, TRUE, And, Formula, Not, Or, Proposition
from cranium.errors import (
    AutomatonError,
    CounterUnderflowError,
    NoTransitionError,
    RewardError,
    RunError,
    SilentLoopError,
    StaticSilentLoopError,
    TerminalStateError,
)

REWARDS = [0.0, 0.0, 1.0, -1.0, 0.5]
ERROR_OF = {Below: CounterUnderflowError, Endless: SilentLoopError, Stuck: NoTransitionError}
"""What a machine raises where the naive interpreter raises this."""


def guard_for(labels: frozenset[frozenset[str]], propositions: list[str]) -> Formula:
    """A formula that holds for exactly these labels: one conjunction for each."""
    minterms = []
    for label in sorted(labels, key=sorted):
        literals = [
            Proposition(name) if name in label else Not(Proposition(name)) for name in propositions
        ]
        minterms.append(And(*literals) if len(literals) > 1 else literals[0] if literals else TRUE)
    if not minterms:
        return FALSE
    return Or(*minterms) if len(minterms) > 1 else minterms[0]


@st.composite
def specs(draw, max_counters: int = 2, silent: bool = True, rewards=tuple(REWARDS)) -> Spec:
    """A deterministic machine as plain data: for each state and zero test, what each label does."""
    propositions = ["A", "B", "C"][: draw(st.integers(1, 3))]
    counters = ["n", "m"][: draw(st.integers(0, max_counters))]
    states = [f"u{i}" for i in range(draw(st.integers(1, 4)))]
    terminal = ["won", "lost"]
    spec = Spec(
        propositions,
        counters,
        states,
        terminal,
        ["won"],
        draw(st.sampled_from(["stay", "stay", "error", "lost"])),
    )
    targets = st.sampled_from([*states, *states, *terminal])
    labels = all_labels(propositions)
    for state in states:
        for zeros in product("01", repeat=len(counters)):
            steps = st.tuples(
                *[st.integers(0, 2) if z == "0" else st.integers(-2, 2) for z in zeros]
            )
            if silent and draw(st.integers(0, 5)) == 0:
                spec.rules.append(
                    Rule(
                        state,
                        draw(targets),
                        None,
                        zeros,
                        draw(steps),
                        draw(st.sampled_from(rewards)),
                    )
                )
                continue
            which = draw(st.lists(st.integers(0, 3), min_size=len(labels), max_size=len(labels)))
            for number in (1, 2, 3):
                chosen = frozenset(
                    label for label, w in zip(labels, which, strict=True) if w == number
                )
                if chosen:
                    reward = draw(st.sampled_from(rewards))
                    rule = Rule(state, draw(targets), chosen, zeros, draw(steps), reward)
                    spec.rules.append(rule)
    return spec


def build(
    spec: Spec, silent_limit: int = 1000, cls=CountingRewardAutomaton
) -> CountingRewardAutomaton:
    return CountingRewardAutomaton(
        propositions=spec.propositions,
        counters=spec.counters,
        states=spec.states,
        initial=spec.states[0],
        terminal=spec.terminal,
        accepting=spec.accepting,
        otherwise=spec.otherwise,
        silent_limit=silent_limit,
        transitions=[
            Transition(
                source=r.source,
                target=r.target,
                guard=TRUE if r.labels is None else guard_for(r.labels, spec.propositions),
                silent=r.labels is None,
                zero_pattern="".join(r.zeros),
                change=r.change,
                reward=r.reward,
            )
            for r in spec.rules
        ],
    )


def build_or_reject(spec: Spec) -> CountingRewardAutomaton:
    """Build the machine of a specification.

    The example is rejected if its silent transitions are refused, as they may be: they loop, take
    a counter below zero, earn a reward at the start or leave a terminal state. Any other refusal
    fails the test.
    """
    try:
        return build(spec)
    except (StaticSilentLoopError, CounterUnderflowError, RewardError, TerminalStateError):
        reject()


def build_for_tables(spec: Spec) -> CountingRewardAutomaton:
    """Build a machine whose silent runs are short; reject the example if it cannot be built.

    Tables are made by taking every silent run to its end.
    """
    try:
        return build(spec, silent_limit=200)
    except (AutomatonError, RunError):
        reject()


def words(propositions: list[str], max_size: int = 12):
    return st.lists(st.sampled_from(all_labels(propositions)), max_size=max_size)


# Formulas as nested tuples, evaluated and written down by the tests' own code


NAMES = ["A", "B", "C", "mail", "x_1"]

trees = st.recursive(
    st.one_of(st.sampled_from(NAMES), st.booleans()),
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.just("and"), inner, inner),
        st.tuples(st.just("or"), inner, inner),
    ),
    max_leaves=12,
)

STYLES = [
    {"not": "!", "and": " & ", "or": " | ", True: "true", False: "false"},
    {"not": "not ", "and": " and ", "or": " or ", True: "True", False: "FALSE"},
    {"not": "¬", "and": "∧", "or": "∨", True: "⊤", False: "⊥"},
    {"not": "~", "and": "&&", "or": "||", True: "true", False: "false"},
]


def truth(tree, label) -> bool:
    if isinstance(tree, bool):
        return tree
    if isinstance(tree, str):
        return tree in label
    if tree[0] == "not":
        return not truth(tree[1], label)
    one, other = truth(tree[1], label), truth(tree[2], label)
    return (one and other) if tree[0] == "and" else (one or other)


def written(tree, style) -> str:
    if isinstance(tree, str):
        return tree
    if isinstance(tree, bool):
        return style[tree]
    if tree[0] == "not":
        return f"{style['not']}({written(tree[1], style)})"
    return f"({written(tree[1], style)}){style[tree[0]]}({written(tree[2], style)})"
