"""Machines that are hard to draw, shared by the tests of drawings."""

from __future__ import annotations

import random
from itertools import pairwise

import cranium
from cranium import CountingRewardAutomaton, RewardFunction, RewardMachine, Transition, unroll

LIBRARY = cranium.library.names()
HOSTILE = [
    'a"b', "$x$", "<b>", "100%", "a_b", "#", "\\", "&lt;", "{c}", "~^", "--", "[1]", "*", r"\N",
    "a:b;c", "é", "`x`", "<script>alert(1)</script>", 'state "q" as s0', "%% note", "[*]", "#quot;",
    "1. list", "a -> b", "x" * 100,
]  # fmt: skip


def chain(length: int, *, resets: bool = False) -> RewardMachine:
    """A B A B …: a state for each letter, one way to fail, perhaps a way back to the start."""
    transitions = []
    for number in range(length):
        wanted, wrong = ("A", "B") if number % 2 == 0 else ("B", "A")
        after = f"after {number + 1}" if number + 1 < length else "done"
        source = f"after {number}"
        transitions += [
            Transition(source=source, guard=f"{wanted} & !{wrong}", target=after),
            Transition(source=source, guard=f"{wrong} & {wanted}", target="failed"),
        ]
        if resets and number:
            transitions.append(
                Transition(source=source, guard=f"{wrong} & !{wanted}", target="after 0")
            )
    return RewardMachine(
        propositions=["A", "B"],
        initial="after 0",
        terminal=["failed", "done"],
        accepting=["done"],
        transitions=transitions,
    )


def tangle(states: int, degree: int, seed: int) -> RewardMachine:
    """Arrows to anywhere, loops and arrows within a layer among them."""
    chosen = random.Random(seed)
    guards = [" & ".join([f"p{i}", *(f"!p{j}" for j in range(i))]) for i in range(degree)]
    return RewardMachine(
        propositions=[f"p{i}" for i in range(degree)],
        initial="u0",
        states=[f"u{number}" for number in range(states)],
        terminal=["end"],
        transitions=[
            Transition(source=f"u{number}", guard=guard, target=f"u{chosen.randrange(states)}")
            for number in range(states)
            for guard in guards
        ],
    )


def hostile_machine() -> CountingRewardAutomaton:
    reward = RewardFunction('<lambda> $x_1$ & "q"', lambda s, a, t: 0.0)
    names = [*HOSTILE]
    return CountingRewardAutomaton(
        name='%$#"\\ --- {',
        propositions=["a_b", "é"],
        counters=["n_1"],
        initial=names[0],
        states=names,
        terminal=["fail $#%", 'ok "&" <i>'],
        accepting=['ok "&" <i>'],
        otherwise="fail $#%",
        transitions=[
            *(
                Transition(source=one, target=other, guard="a_b & !é", reward=reward)
                for one, other in pairwise(names)
            ),
            *(Transition(source=name, guard="é & !a_b", target="fail $#%") for name in names),
            Transition(source=names[3], guard="é & a_b"),
            Transition(source=names[-1], guard="é & a_b", target='ok "&" <i>'),
        ],
    )


PICTURES = {
    **{name: lambda name=name: cranium.library.load(name) for name in LIBRARY},
    "unrolled anbcn": lambda: unroll(cranium.library.load("anbcn"), 4),
    "unrolled anbcdn": lambda: unroll(cranium.library.load("anbcdn"), 6),
    "unrolled office": lambda: unroll(cranium.library.load("office"), 2),
    "unrolled square": lambda: unroll(cranium.library.load("square"), 3),
    "chain of 30": lambda: chain(30),
    "chain with resets": lambda: chain(12, resets=True),
    "tangle 1": lambda: tangle(8, 3, seed=1),
    "tangle 2": lambda: tangle(15, 2, seed=2),
    "tangle 3": lambda: tangle(20, 4, seed=3),
    "hostile": hostile_machine,
}
