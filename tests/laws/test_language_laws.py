"""Random languages: the machine accepts exactly what the oracle accepts, word by word."""

from __future__ import annotations

from itertools import islice, product

import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from cranium.errors import LanguageError
from cranium.languages import (
    accepts_labels,
    compile_language,
    is_member,
    near_misses,
    parse_language,
    words,
)
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
    walk,
)

SLOW = settings(
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
    ]
)
# A quarter to a half of these languages have a machine: in most others words begin other words. Those
# with one are all real cases, so fewer have to be drawn.
compiled = pytest.mark.real(0.15)
FEWER = settings(SLOW, max_examples=settings.default.max_examples // 2)
LETTERS = st.sampled_from("ABC").map(Letter)
VARIABLES = st.sampled_from("NNNMMK")
TERMS = st.lists(st.tuples(VARIABLES, st.sampled_from([1, 1, 1, 2])), min_size=1, max_size=2)
EXPONENTS = st.builds(
    lambda terms, constant: Linear(tuple(dict(terms).items()), constant),
    st.one_of(TERMS.map(lambda terms: terms[:1]), TERMS),
    st.sampled_from([0, 0, 0, 0, 1, -1, -2]),
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
UNITS = REGULAR.filter(lambda unit: not is_member(Language(unit), ()))
POWERS = st.builds(Power, st.one_of(LETTERS, LETTERS, LETTERS, UNITS), EXPONENTS)
SIMPLE = st.one_of(LETTERS, POWERS, POWERS)
BLOCKS = st.one_of(
    SIMPLE,
    SIMPLE,
    REGULAR,
    st.tuples(SIMPLE, SIMPLE).map(Choice),
    st.tuples(sequences(SIMPLE), SIMPLE).map(Choice),
    st.builds(Repeat, SIMPLE, st.just(0), st.just(1)),
    st.builds(Repeat, SIMPLE, st.just(1), st.just(2)),
)
NESTED = st.one_of(
    st.builds(Power, sequences(SIMPLE), EXPONENTS),
    st.builds(Repeat, sequences(SIMPLE), st.just(1), st.just(None)),
)
COUNTED = st.one_of(
    sequences(BLOCKS),
    sequences(BLOCKS),
    sequences(POWERS),
    sequences(POWERS),
    st.tuples(SIMPLE, NESTED).map(Sequence),
    st.tuples(sequences(BLOCKS), sequences(BLOCKS)).map(Choice),
    st.tuples(sequences(BLOCKS), sequences(REGULAR)).map(Both),
    st.tuples(sequences(SIMPLE), sequences(SIMPLE)).map(Both),
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
        other = renamed(draw(st.one_of(REGULAR, sequences(SIMPLE))), "DDD")
        expression = Sequence((Shuffle((expression, other)), Letter("E")))
    elif draw(st.integers(0, 3)):
        expression = Sequence((expression, Letter("E")))
    names = variables_of(expression)
    constraints = []
    signs = st.sampled_from([">", "<", ">=", "<=", ">=", "<=", "=="])
    if names:
        name = st.sampled_from(names)
        sides = st.one_of(st.integers(0, 3), name)
        constraints = draw(st.lists(st.builds(Constraint, name, signs, sides), max_size=3))
    language = Language(expression, tuple(constraints))
    for name in names:
        low, high = language.bounds(name)
        assume(high is None or low <= high)
    return language


def all_words(letters, budget=1500):
    """All words over the letters, as long as there are not too many."""
    length = 0
    while length < 10 and sum(len(letters) ** i for i in range(length + 2)) <= budget:
        length += 1
    for size in range(length + 1):
        yield from product(letters, repeat=size)


@pytest.mark.slow
@compiled
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
        reject()
    everything = list(all_words(language.letters))
    members = set(words(language, len(everything[-1])))
    for word in everything:
        assert machine.run(list(word)).accepted == (word in members), word
    for word in islice(words(language, 14), 20):
        assert machine.run(list(word)).accepted, word


@pytest.mark.slow
@compiled
@FEWER
@given(languages())
def test_rewarding_the_first_completion_accepts_the_words_without_a_shorter_one_inside(language):
    try:
        machine = compile_language(language, first=True)
    except LanguageError:
        reject()
    everything = list(all_words(language.letters, budget=400))
    members = set(words(language, len(everything[-1])))
    for word in everything:
        shorter = any(word[:size] in members for size in range(len(word)))
        assert machine.run(list(word)).accepted == (word in members and not shorter), word


@pytest.mark.slow
@compiled
@FEWER
@given(st.data())
def test_blanks_and_several_events_at_once(data):
    language = data.draw(languages())
    try:
        machine = compile_language(language)
    except LanguageError:
        reject()
    blanks = st.sampled_from([(), (), language.letters[:2]])
    places = st.lists(st.tuples(st.integers(0, 6), blanks), max_size=3)
    for member in islice(words(language, 7), 5):
        word: list[tuple[str, ...]] = [(letter,) for letter in member]
        for place, blank in data.draw(places):
            word.insert(place, blank)
        assert machine.run(word).accepted == accepts_labels(language, word)


@pytest.mark.slow
@SLOW
@given(languages())
def test_what_is_printed_is_parsed_back(language):
    assert parse_language(str(language)) == parse_language(str(parse_language(str(language))))
    again = parse_language(str(language))
    for word in list(all_words(language.letters, budget=60)):
        assert is_member(again, word) == is_member(language, word)


@pytest.mark.slow
@SLOW
@given(languages())
def test_enumerated_words_are_members_and_near_misses_are_not(language):
    found = list(words(language, 4))
    assert [len(word) for word in found] == sorted(len(word) for word in found)
    letters = letters_of(language.expression)
    everything = [word for size in range(5) for word in product(letters, repeat=size)]
    assert sorted(found) == sorted(word for word in everything if is_member(language, word))
    for word in near_misses(language, 4):
        assert not is_member(language, word)


def has_side_by_side(language):
    return any(isinstance(node, Both | Shuffle) for node in walk(language.expression))


@pytest.mark.slow
@compiled
@FEWER
@given(languages())
def test_a_letter_that_no_word_allows_fails_at_once(language):
    assume(not has_side_by_side(language))
    try:
        machine = compile_language(language)
    except LanguageError:
        reject()
    depth, longest = 4, 9
    members = set(words(language, longest))
    alive = {member[:size] for member in members for size in range(len(member) + 1)}
    for word in (w for size in range(depth) for w in product(language.letters, repeat=size)):
        failed = machine.run(list(word)).configurations[-1].state == "failed"
        if word in alive:
            assert not failed, word
        elif not failed and not any(word[:size] in members for size in range(len(word))):
            # Only a word longer than those that were listed may still complete it.
            assert machine_can_finish(machine, word, longest), word


def machine_can_finish(machine, word, longest):
    """Whether some way to go on, longer than the listed words, is accepted."""
    here = {machine.run(list(word)).configurations[-1]}
    for size in range(len(word), 40):
        after = set()
        for configuration in here:
            for letter in machine.propositions:
                outcome = machine.step(configuration, [letter])
                if outcome.configuration.state == "done":
                    if size + 1 > longest:
                        return True
                elif outcome.configuration.state != "failed":
                    after.add(outcome.configuration)
        here = set(sorted(after, key=lambda c: (sum(c.counters), str(c)))[:300])
    return False
