"""HOA output, read back with a grammar of its own and run on words."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from lark import Lark

import cranium
from cranium import RewardMachine, Transition
from cranium.errors import ConversionError

GRAMMAR = Path(__file__).parents[1] / "golden" / "hoa.lark"
PARSER = Lark(GRAMMAR.read_text(), parser="earley")


def read(text):
    """The parts of a HOA text: initial state, accepting states, and edges with their labels."""
    tree = PARSER.parse(text)
    initial = int(next(tree.find_data("initial")).children[0])
    states = list(tree.find_data("state"))
    assert len(states) == int(next(tree.find_data("states")).children[0])
    names = [token[1:-1] for token in next(tree.find_data("propositions")).children[1:]]
    edges, accepting = [], set()
    for state in states:
        number = int(next(c for c in state.children if getattr(c, "type", "") == "INT"))
        for part in state.children:
            if getattr(part, "data", "") == "edge":
                label, target = part.children
                edges.append((number, label.children[0], int(target)))
            if getattr(part, "data", "") == "marks":
                accepting.add(number)
    return initial, accepting, edges, names


def holds(tree, label, names):
    match tree.data:
        case "number":
            return names[int(tree.children[0])] in label
        case "constant":
            return tree.children[0] == "t"
        case "negation":
            return not holds(tree.children[0], label, names)
        case "either":
            return any(holds(child, label, names) for child in tree.children)
        case "both":
            return all(holds(child, label, names) for child in tree.children)


def words(names, length):
    labels = [
        [n for n, bit in zip(names, bits, strict=True) if bit]
        for bits in product([0, 1], repeat=len(names))
    ]
    return [list(word) for size in range(length + 1) for word in product(labels, repeat=size)]


@pytest.mark.parametrize("otherwise", ["stay", "failed", "error"])
def test_hoa_is_read_back_and_means_the_same(otherwise):
    mail = cranium.library.load("mail-delivery")
    machine = RewardMachine(
        name='with "quotes" and \\',
        propositions=mail.propositions,
        initial=mail.initial,
        terminal=mail.terminal,
        accepting=mail.accepting,
        otherwise=otherwise,
        transitions=mail.transitions,
    )
    text = cranium.dumps(machine, form="hoa")
    initial, accepting, edges, names = read(text)
    states = [*machine.states, *machine.terminal]
    assert names == list(machine.propositions)
    assert {states[number] for number in accepting} == set(machine.accepting)
    for word in words(names, 2):
        state = initial
        for label in word:
            following = [t for s, f, t in edges if s == state and holds(f, label, names)]
            assert len(following) <= 1, "deterministic"
            state = following[0] if following else None
            if state is None:
                break
        if state is None:
            with pytest.raises(cranium.errors.NoTransitionError):
                machine.run(word)
        else:
            assert states[state] == machine.run(word).configurations[-1].state


def test_unrolled_machines_can_be_written_and_counters_cannot():
    text = cranium.dumps(cranium.unroll(cranium.library.load("anbcn"), 3), form="hoa")
    assert len(read(text)[2]) > 10
    assert "/* reward 1.0 */" in text
    with pytest.raises(ConversionError, match="HOA has no counters"):
        cranium.dumps(cranium.library.load("anbcn"), form="hoa")


def test_a_constant_guard_is_t():
    machine = RewardMachine(
        propositions=["A"],
        initial="u",
        terminal=["end"],
        transitions=[Transition(source="u", target="end")],
    )
    assert "[t] 1" in cranium.dumps(machine, form="hoa")
