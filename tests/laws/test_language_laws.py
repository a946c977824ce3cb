"""Random languages: the machine accepts exactly what the oracle accepts, word by word."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cranium.errors import LanguageError
from cranium.languages import compile_language, parse_language
from cranium.languages.membership import accepts_labels, is_member, near_misses, words
from cranium.languages.syntax import (
    Both,
    Choice,
    Constraint,
    Language,
    Letter,
    Linear,
    Power,
    Repeat,
    Sequence,
    Shuffle,
    letters_of,
    variables_of,
)

SLOW = settings(
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
    ]
)
LETTERS = st.sampled_from("ABC").map(Letter)
EXPONENTS = st.builds(
    lambda name, factor, constant: Linear(((name, factor),), constant),
    st.sampled_from("NM"),
    st.sampled_from([1, 1, 1, 2]),
    st.sampled_from([0, 0, 0, 1, -1]),
)


def sequences(parts):
    return st.lists(parts, min_size=2, max_size=4).map(lambda found: Sequence(tuple(found)))


REGULAR = st.recursive(
    LETTERS,
    lambda inner: st.one_of(
        sequences(inner),
        st.tuples(inner, inner).map(Choice),
        st.builds(Repeat, inner, st.just(0), st.sampled_from([None, 1])),
        st.builds(Repeat, inner, st.just(2), st.sampled_from([2, 3])),
    ),
    max_leaves=4,
)
BLOCKS = st.one_of(
    LETTERS, REGULAR, st.builds(Power, st.one_of(LETTERS, LETTERS, REGULAR), EXPONENTS)
)
COUNTED = st.one_of(
    sequences(BLOCKS),
    sequences(BLOCKS),
    st.tuples(sequences(BLOCKS), sequences(BLOCKS)).map(Choice),
    st.tuples(sequences(BLOCKS), sequences(REGULAR)).map(Both),
)


def renamed(node, letters):
    """The same expression over other letters."""
    match node:
        case Letter(name=name):
            return Letter(letters["ABC".index(name)])
        case Repeat(body=body, low=low, high=high):
            return Repeat(renamed(body, letters), low, high)
        case Power(body=body, exponent=exponent):
            return Power(renamed(body, letters), exponent)
    return type(node)(tuple(renamed(part, letters) for part in node.parts))


@st.composite
def languages(draw):
    expression = draw(COUNTED)
    if draw(st.integers(0, 4)) == 0:
        other = renamed(draw(REGULAR), "DDD")
        expression = Sequence((Shuffle((expression, other)), Letter("E")))
    elif draw(st.booleans()):
        expression = Sequence((expression, Letter("E")))
    names = variables_of(expression)
    constraints = []
    if names and draw(st.integers(0, 2)) == 0:
        sign = draw(st.sampled_from([">=", "<=", ">", "=="]))
        constraints.append(Constraint(names[0], sign, draw(st.integers(0, 2))))
    if len(names) == 2 and draw(st.integers(0, 2)) == 0:
        sign = draw(st.sampled_from([">", "<", ">=", "<=", "=="]))
        constraints.append(Constraint(names[0], sign, names[1]))
    language = Language(expression, tuple(constraints))
    for name in names:
        low, high = language.bounds(name)
        assume(high is None or low <= high)
    return language


def all_words(letters, budget=1500):
    """All words over the letters, as long as there are not too many."""
    length = 0
    while sum(len(letters) ** i for i in range(length + 2)) <= budget:
        length += 1
    for size in range(length + 1):
        yield from product(letters, repeat=size)


@SLOW
@given(languages())
def test_the_machine_accepts_what_the_oracle_accepts(language):
    try:
        machine = compile_language(language)
    except LanguageError as problem:
        assert str(problem)
        for word in problem.words:
            assert is_member(language, word), "the words that clash are in the language"
        assert len({*problem.words}) == len(problem.words)
        return
    for word in all_words(language.letters):
        assert machine.run(list(word)).accepted == is_member(language, word), word


@SLOW
@given(languages())
def test_rewarding_the_first_completion_accepts_the_words_without_a_shorter_one_inside(language):
    try:
        machine = compile_language(language, first=True)
    except LanguageError:
        return
    for word in all_words(language.letters, budget=400):
        shorter = any(is_member(language, word[:size]) for size in range(len(word)))
        assert machine.run(list(word)).accepted == (is_member(language, word) and not shorter), word


@SLOW
@given(st.data())
def test_blanks_and_several_events_at_once(data):
    language = data.draw(languages())
    try:
        machine = compile_language(language)
    except LanguageError:
        assume(False)
    labels = st.sampled_from([(), *((x,) for x in language.letters), language.letters[:2]])
    for _ in range(20):
        word = data.draw(st.lists(labels, max_size=8))
        assert machine.run(word).accepted == accepts_labels(language, word)


@SLOW
@given(languages())
def test_what_is_printed_is_parsed_back(language):
    assert parse_language(str(language)) == parse_language(str(parse_language(str(language))))
    again = parse_language(str(language))
    for word in list(all_words(language.letters, budget=60)):
        assert is_member(again, word) == is_member(language, word)


@SLOW
@given(languages())
def test_enumerated_words_are_members_and_near_misses_are_not(language):
    found = list(words(language, 4))
    assert found == sorted(set(found), key=lambda word: (len(word), word))
    everything = [
        w for size in range(4) for w in product(letters_of(language.expression), repeat=size)
    ]
    assert [w for w in found if len(w) < 4] == sorted(
        (w for w in everything if is_member(language, w)), key=lambda word: (len(word), word)
    )
    for word in near_misses(language, 4):
        assert not is_member(language, word)


@pytest.mark.parametrize("text", ["A^N B C^N", "A^N B^N", "A^N B C D^N"])
def test_a_letter_that_no_word_allows_fails_at_once(text):
    language = parse_language(text)
    machine = compile_language(language)
    members = set(words(language, 12))
    alive = {member[:size] for member in members for size in range(len(member) + 1)}
    for word in all_words(language.letters, budget=400):
        if len(word) > 5:
            break
        trace = machine.run(list(word))
        failed = trace.configurations[-1].state == "failed"
        if word in alive:
            assert not failed
        elif not any(word[:size] in members for size in range(len(word))):
            assert failed, word
