"""Labels, words and guards."""

from __future__ import annotations

import contextlib

import pytest

from cranium import Alphabet, parse_formula
from cranium.automata.alphabet import parse_word
from cranium.automata.formula import And, Formula, Not, Or, Proposition
from cranium.automata.satisfiability import are_equivalent, find_label
from cranium.errors import (
    DuplicateNameError,
    FormulaSyntaxError,
    InvalidNameError,
    LabelError,
    UnknownNameError,
    WordSyntaxError,
)


def test_a_label_is_a_bitmask_with_readable_names():
    alphabet = Alphabet(["mail", "coffee"])
    assert alphabet.label("mail") == 1
    assert alphabet.label({"mail", "coffee"}) == 3
    assert alphabet.label(()) == alphabet.label(0) == 0
    assert alphabet.names(2) == ("coffee",)
    assert len(alphabet) == 2
    assert list(alphabet) == ["mail", "coffee"]
    assert "mail" in alphabet
    assert "tea" not in alphabet
    assert eval(repr(alphabet)) == alphabet


@pytest.mark.parametrize("label", ["tea", ["mail", "tea"], 4, -1, None, 1.0, [1]])
def test_what_is_no_label_is_refused(label):
    with pytest.raises(LabelError):
        Alphabet(["mail", "coffee"]).label(label)


@pytest.mark.parametrize("name", ["", "2n", "a b", "a-b", "A\n", "true", "NOT", "x" * 101, 3, None])
def test_what_is_no_proposition_is_refused(name):
    with pytest.raises(InvalidNameError):
        Alphabet([name])


def test_the_same_proposition_twice_is_refused():
    with pytest.raises(DuplicateNameError, match="'A' is declared twice"):
        Alphabet(["A", "B", "A"])


def test_words_are_labels_separated_by_spaces():
    assert parse_word(" A  {B,C}\n{} D") == [("A",), ("B", "C"), (), ("D",)]
    assert parse_word("") == []


@pytest.mark.parametrize("text", ["A }", "{A", "{A,}", "A,B", "1", "{A B}", "{,}", "A & B", "{{}}"])
def test_what_is_no_word_is_refused_with_a_caret(text):
    with pytest.raises(WordSyntaxError, match=r"\^"):
        parse_word(text)


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("A &", 4, "the text ends"),
        ("", 1, "the text ends"),
        ("A B", 3, "not 'B'"),
        ("A & (B | C", 11, r"'\)'"),
        ("A # B", 3, "not '#'"),
        ("& A", 1, "a proposition"),
        ("A\n| | B", 3, "a proposition"),
    ],
)
def test_a_syntax_error_points_at_the_place_and_says_what_was_expected(text, column, expected):
    with pytest.raises(FormulaSyntaxError, match=expected) as caught:
        parse_formula(text)
    assert caught.value.place.column == column
    assert caught.value.excerpt.splitlines()[1] == " " * (column - 1) + "^"


def test_not_binds_tighter_than_and_and_tighter_than_or():
    a, b, c = map(Proposition, "ABC")
    assert parse_formula("!A & B | C") == Or(And(Not(a), b), c)
    assert parse_formula("A | B & C") == Or(a, And(b, c))
    assert parse_formula("!(A | B)") == Not(Or(a, b))
    assert str(And(Or(a, b), Not(And(b, c)))) == "(A | B) & !(B & C)"


def test_names_that_begin_like_keywords_are_names():
    assert parse_formula("not_mail and order or android").propositions == {
        "not_mail",
        "order",
        "android",
    }


def test_a_name_that_only_looks_like_a_keyword_to_unicode_is_a_name():
    assert parse_formula("falſe") == Proposition("falſe")


def test_formulas_join_with_operators_and_print_in_three_notations():
    formula = Proposition("A") & ~Proposition("b_1") | Proposition("C")
    assert formula.format() == "A & !b_1 | C"
    assert formula.format("unicode") == "A ∧ ¬b_1 ∨ C"
    assert formula.format("latex") == r"\mathit{A} \land \lnot \mathit{b\_1} \lor \mathit{C}"
    assert repr(formula) == "parse_formula('A & !b_1 | C')"


@pytest.mark.parametrize("text", ["(" * 5000 + "A" + ")" * 5000, "!" * 5000 + "A", "A & " * 60000])
def test_absurd_formulas_are_refused_or_read_but_never_overflow_the_stack(text):
    with contextlib.suppress(FormulaSyntaxError):
        parse_formula(text)


@pytest.mark.parametrize("text", [None, 3, b"A", ["A"]])
def test_a_formula_is_text(text):
    with pytest.raises(FormulaSyntaxError, match="a formula is text"):
        parse_formula(text)


def test_deciding_does_not_list_all_labels():
    """Sixty propositions in the worst order for a decision diagram, which would need 2^30 nodes: it would never end."""
    a = [Proposition(f"a{i}") for i in range(30)]
    b = [Proposition(f"b{i}") for i in range(30)]
    pairs = Or(*(And(x, y) for x, y in zip(a, b, strict=True)))
    spread = And(Or(*a), Or(*b), pairs)
    assert len(find_label(spread)) == 2
    assert find_label(spread, Not(pairs)) is None
    assert are_equivalent(spread, pairs)


def test_a_witness_holds_no_more_than_it_must():
    assert find_label(parse_formula("(A | B) & (A | C) & (D | !D)")) in ({"A"}, {"B", "C"})


def test_an_unknown_proposition_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'coffee'"):
        Alphabet(["coffee", "mail"]).index("cofee")


def test_a_bare_formula_has_no_meaning():
    with pytest.raises(NotImplementedError):
        Formula((), 1).evaluate(0, Alphabet([]))
    with pytest.raises(NotImplementedError):
        Formula((), 1).format()
