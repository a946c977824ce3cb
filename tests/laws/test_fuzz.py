"""Parsers meet thousands of inputs and never raise anything but our own errors.

Hypothesis looks for inputs cleverly; the mutations are many: together more than 20,000.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.mutations import mutate_text

import cranium
from cranium.automata.alphabet import parse_word
from cranium.errors import CraniumError
from cranium.languages import parse_language

pytestmark = pytest.mark.slow

TORO_ICARTE = """0 # initial state
[2] # terminal state
(0,0,'!f&!n',ConstantRewardFunction(0))
(0,1,'f&!n',ConstantRewardFunction(0))
(1,2,'g&!n',ConstantRewardFunction(1))
"""
SMALL = """propositions: [A, B]
counters: [n]
initial: u
terminal: [end]
otherwise: end
transitions:
  - {from: u, when: A & !B, add: {n: 1}}
  - {from: u, when: B, if: n > 0, to: end, reward: -0.5}
  - {from: u, silent: false, if: [n == 0], when: "!A & !B"}
"""
FORMS = {
    "yaml": (SMALL, cranium.loads),
    "json": (
        cranium.dumps(cranium.loads(SMALL), form="json"),
        lambda text: cranium.loads(text, form="json"),
    ),
    "toro-icarte": (TORO_ICARTE, lambda text: cranium.loads(text, form="toro-icarte")),
    "formula": ("!(A & B) | C and not (D or true)", cranium.parse_formula),
    "word": ("A {B, C} {} D", parse_word),
    "language": ("(A^N B)^2 C^(N+1) | D{2,3}* where N >= 0 never E", parse_language),
}
MUTATIONS = {
    "yaml": 6000,
    "json": 5000,
    "toro-icarte": 3500,
    "formula": 3500,
    "word": 3500,
    "language": 3000,
}


@pytest.mark.parametrize("form", FORMS)
def test_mutated_input_ends_in_a_machine_or_in_our_own_error(form):
    seed, parse = FORMS[form]
    rng = random.Random(form)
    good = bad = 0
    for _ in range(MUTATIONS[form]):
        text = mutate_text(seed, rng)
        try:
            parse(text)
            good += 1
        except CraniumError as error:
            assert str(error)
            bad += 1
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error} on {text!r}")
    assert good > 50, "the mutations are too wild to test anything but refusal"
    assert bad > 500, "the mutations are too tame"


def test_there_are_twenty_thousand_of_them():
    assert sum(MUTATIONS.values()) >= 20_000


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=200)
@given(text=st.text())
def test_any_text_ends_in_a_machine_or_in_our_own_error(form, text):
    try:
        FORMS[form][1](text)
    except CraniumError as error:
        assert str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=300)
@given(st.sampled_from(["name", "propositions", "counters", "states", "initial", "terminal", "accepting",
                        "otherwise", "silent_limit", "transitions"]), JSON)  # fmt: skip
def test_any_value_anywhere_ends_in_a_machine_or_in_our_own_error(key, value):
    import json

    data = {**json.loads(FORMS["json"][0]), key: value}
    for form in ("json", "yaml"):
        try:
            cranium.loads(json.dumps(data), form=form)
        except CraniumError as error:
            assert str(error)


@settings(max_examples=300)
@given(
    st.dictionaries(
        st.sampled_from(["from", "to", "when", "if", "add", "reward", "silent", "x"]), JSON
    )
)
def test_any_transition_ends_in_a_machine_or_in_our_own_error(entry):
    import json

    data = json.loads(FORMS["json"][0])
    data["transitions"].append({"from": "u", **entry})
    try:
        cranium.loads(json.dumps(data), form="json")
    except CraniumError as error:
        assert str(error)
