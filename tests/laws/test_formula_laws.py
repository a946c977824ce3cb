"""Random formulas against truth tables that are written out."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st
from support.naive_machine import all_labels
from support.strategies import NAMES, STYLES, trees, truth, written

from cranium import Alphabet, parse_formula
from cranium.automata.formula_classes import FormulaClasses
from cranium.automata.satisfiability import are_equivalent, find_label, is_satisfiable

ALPHABET = Alphabet(NAMES)
LABELS = all_labels(NAMES)


def table(tree) -> list[bool]:
    return [truth(tree, label) for label in LABELS]


@given(trees, st.sampled_from(STYLES))
def test_a_parsed_formula_has_the_truth_table_of_its_text(tree, style):
    formula = parse_formula(written(tree, style))
    assert [formula.evaluate(ALPHABET.label(label), ALPHABET) for label in LABELS] == table(tree)


@given(trees, st.sampled_from(["ascii", "unicode"]))
def test_what_is_printed_is_parsed_back_to_the_same_formula(tree, notation):
    formula = parse_formula(written(tree, STYLES[0]))
    again = parse_formula(formula.format(notation))
    assert again == formula
    assert hash(again) == hash(formula)
    assert pickle.loads(pickle.dumps(formula)) == formula


@given(trees)
def test_satisfiability_is_that_of_the_truth_table(tree):
    assert is_satisfiable(parse_formula(written(tree, STYLES[0]))) == any(table(tree))


@given(trees, trees)
def test_overlap_is_exact_and_its_witness_satisfies_both(one, other):
    witness = find_label(
        parse_formula(written(one, STYLES[0])), parse_formula(written(other, STYLES[0]))
    )
    both = [a and b for a, b in zip(table(one), table(other), strict=True)]
    assert (witness is not None) == any(both)
    if witness is not None:
        assert truth(one, witness)
        assert truth(other, witness)


@given(trees, trees)
def test_equivalence_is_equality_of_truth_tables(one, other):
    first, second = (parse_formula(written(t, STYLES[0])) for t in (one, other))
    same = table(one) == table(other)
    assert are_equivalent(first, second) == same
    classes = FormulaClasses()
    assert (classes.of(first) == classes.of(second)) == same
