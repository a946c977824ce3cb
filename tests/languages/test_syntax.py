"""The task language: what is read, what is refused and where, and what it says in English."""

from __future__ import annotations

import pytest

from cranium.errors import LanguageSyntaxError
from cranium.languages import (
    compile_language,
    describe,
    is_member,
    near_misses,
    parse_language,
    shortest_words,
    words,
)


@pytest.mark.parametrize(
    "text",
    [
        "A^N B C^N",
        "A^2N B^(N + 1) where N >= 0, N <= 5",
        "(mail coffee?)^N office^N never decoration, wall",
        "A^N B^M C^(2N + M - 1) where N > M",
        "(A && B{2,3}) C+ D* E{2,} F^3",
        "A | B C | (D | E) F",
        "(A | B)* C & (A | B)^3 C",
        "coffee office with coffee = C & !D, office = (O | P) & !Q",
    ],
)
def test_what_is_printed_is_what_was_read(text):
    language = parse_language(text)
    assert str(language) == text
    assert parse_language(str(language)) == language


def test_spellings():
    assert parse_language("A^(2*N)") == parse_language("A^2N")
    assert parse_language("A^(1+N)") == parse_language("A^(N + 1)")
    assert parse_language("shuffle(A, B, C)") == parse_language("A && B && C")
    assert parse_language("A^N where 0 <= N and N ≤ 5") == parse_language(
        "A^N where N >= 0, N <= 5"
    )
    assert parse_language("A B # a comment\n  C") == parse_language("A B C")
    assert parse_language("A finally B") == parse_language("A B")
    assert parse_language("A^2 N").letters == ("A", "N"), "a space ends an exponent"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "a task expects a letter or '(' here, but the text ends"),
        ("A ) B", 3, "not ')'"),
        ("A^", 3, "but the text ends"),
        ("A^N A^(N+", 10, "but the text ends"),
        ("A & & B", 5, "a letter or '('"),
        ("A % B", 3, "not '%'"),
        ("A{5,2}", 3, "the range from 5 to 2 is empty"),
        ("A^99999", 3, "a number is at most 10,000"),
        ("A^(N-M)", 6, "added, but M is subtracted"),
        ("A^N where N != 3", 13, "cannot be compared with !="),
        ("A^N where N = 3", 13, "cannot be compared with ="),
        ("A^N where", 10, "a variable or a number"),
        ("A never A", 9, "'A' must never happen, but the task requires it"),
        ("A^N where M > 1", 11, "no exponent is called 'M'"),
        ("A where 1 > 2", 9, "a comparison needs a variable"),
        ("A^N B^N where N < 0", 15, "no value of N satisfies its bounds"),
        ("A^N N", 5, "'N' is both a letter and an exponent"),
        ("A with B = C", 8, "is no letter of the task"),
        ("A with A = B, A = C", 15, "bound twice"),
        ("A B with A = C &", 17, "but the text ends"),
        ("where^2", 1, "is a keyword"),
        ("true", 1, "is a keyword"),
        ("A && B A", 8, "share no letters"),
        ("A B finally A", 13, "also occurs before the end"),
        ("A\nB )", 3, "not ')'"),
    ],
)
def test_errors_point_at_the_place_and_say_what_was_expected(text, column, message):
    with pytest.raises(LanguageSyntaxError) as caught:
        parse_language(text)
    assert message in caught.value.message
    assert caught.value.place.column == column
    assert "^" in caught.value.excerpt


@pytest.mark.parametrize(
    "text", [None, 3, "x" * 30_000, "(" * 5000 + "A" + ")" * 5000, "((A)+)*" * 3000]
)
def test_absurd_input_is_refused(text):
    with pytest.raises(LanguageSyntaxError):
        parse_language(text)


@pytest.mark.parametrize(
    ("text", "english"),
    [
        (
            "A^N B C^N never D",
            "read A one or more times, then B once, then C as many times as A; D must never happen",
        ),
        ("(M P)^1 never D", "read (M once, then P once) once; D must never happen"),
        (
            "A^N B^N where N >= 0 finally C",
            "read A any number of times, then B as many times as A, then C once",
        ),
        ("A^N B^2N where N <= 5", "read A 1 to 5 times, then B twice as many times as A"),
        (
            "A^N B^M C where N > M",
            "read A N times, then B M times, then C once; N is 1 or more; M is 1 or more; N is more than M",
        ),
        (
            "A? (B | C)* D{2,3} E{2,}",
            "read A at most once, then (either B or C) any number of times, then D 2 to 3 times, then E 2 or more times",
        ),
        ("A && B", "read in any order, side by side: A and B"),
        ("A & A", "read what is both A and A"),
        ("A^2N B^(N+1)", "read A 2N times, then B N + 1 times; N is 1 or more"),
        ("A^3N B^2N", "read A 3N times, then B 2N times; N is 1 or more"),
        ("A^(N+1) B where N <= 4", "read A N + 1 times, then B once; N is from 1 to 4"),
        (
            "A B | C D",
            "read either (A once, then B once) or (C once, then D once)",
        ),
        (
            "A^N C | B^N D^2N",
            "read either (A one or more times, then C once) or (B one or more times, then D twice as many times as B)",
        ),
        (
            "(A^N | B^N) C^N",
            "read (either (A N times) or (B N times)), then C N times; N is 1 or more",
        ),
        ("A^N B^N A", "read A N times, then B N times, then A once; N is 1 or more"),  # which A?
        ("(A^N B)^2 C", "read (A N times, then B once) twice, then C once; N is 1 or more"),
        ("A never D, E with A = x & !y", "read A once; D and E must never happen; A means x & !y"),
    ],
)
def test_a_language_in_english(text, english):
    assert describe(parse_language(text)) == english


def test_words_come_in_order_of_length():
    language = parse_language("A^N (B | C) where N >= 0")
    assert [" ".join(w) for w in words(language, 2)] == ["B", "C", "A B", "A C"]
    assert [" ".join(w) for w in shortest_words(language, 3)] == ["B", "C", "A B"]
    assert shortest_words(parse_language("A B")) == [("A", "B")]
    assert ("A",) in near_misses(language, 2)


def test_the_shortest_words_of_a_long_language_do_not_take_for_ever():
    letters = " | ".join(f"x{i}" for i in range(10))
    language = parse_language(f"({letters})* A B C D E F G H I J K L")
    assert len(shortest_words(language, 3)) == 3


def test_the_words_of_languages_with_many_words_come_one_by_one():
    assert len(shortest_words(parse_language("(A|B|C|D|E|F)^8 G"), 4)) == 4
    language = parse_language("A^N B^M C^K D^J E^N F^M G^K H^J")
    assert len(shortest_words(language, 3)) == len(near_misses(language, 8, most=3)) == 3
    assert shortest_words("A^1000 B") == [("A",) * 1000 + ("B",)]
    optional = " ".join(f"(x{i}^N{i})?" for i in range(7))
    assert shortest_words(f"{optional} E", 2) == [("E",), ("x6", "E")]
    falling = " ".join(f"x{i}^N{i}" for i in range(6))
    chain = ", ".join(f"N{i} > N{i + 1}" for i in range(5))
    assert len(shortest_words(f"{falling} E where {chain}", 1)[0]) == 22


def test_languages_may_be_given_as_text():
    assert is_member("A^N B^N", "A A B B")
    assert not is_member("A^N B^N", ["A", "B", "B"])
    assert list(words("A B", 2)) == [("A", "B")]
    for wrong in (None, 3, ["A"]):
        for function in (describe, compile_language, shortest_words):
            with pytest.raises(LanguageSyntaxError, match="a language is text"):
                function(wrong)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("A^N B^N never A # A is what we want", 14),
        ("A^N (B^N # no end, and (", 8),
        ("A^N B^N # N\nwhere N >= 0, M < 3 # what is M?", 26),
        ("A B | # or\n# what", 5),
        ("A^N B^N where N < 0 # N is nothing", 14),
        ("A^N N # N", 4),
        ("A B with C = x # C is x", 9),
        ("A B with A = x & # and \n # what", 16),
        ("# A\nA B never A, C # A", 14),
        ("A where # where", 7),
        ("# only\n# comments", 0),
    ],
)
def test_no_caret_points_into_a_comment(text, at):
    with pytest.raises(LanguageSyntaxError) as refused:
        compile_language(text)
    place = refused.value.place
    assert (place.line, place.column) == (text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def test_a_comment_may_stand_within_a_formula():
    assert compile_language("A B with A = x & # both\n y").propositions == ("B", "x", "y")


@pytest.mark.parametrize("name", ["_1", "_", "not_", "_not", "And_", "İ", "N" * 100, "_" * 100])
def test_any_exponent_has_a_counter(name):
    machine = compile_language(f"A^{name} n^{name} C^{name}")
    assert machine.num_counters == 2
    assert machine.run("A A n n C C").accepted
    assert not machine.run("A A n n C").accepted


@pytest.mark.parametrize("mark", ["*", "+", "^2", "{0,3}"])
@pytest.mark.parametrize("times", [200, 450, 900])
def test_endless_nesting_by_repetitions_is_refused(mark, times):
    with pytest.raises(LanguageSyntaxError, match="nested more than 60 deep"):
        parse_language("A" + mark * times)
