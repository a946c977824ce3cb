"""The languages of the paper and others: exact machines, small machines, honest refusals."""

from __future__ import annotations

import sys
from itertools import product
from typing import ClassVar

import pytest
from pyformlang.cfg import CFG

import cranium
from cranium import RewardMachine, compile_language
from cranium.errors import CraniumError, InvalidNameError, LanguageError, RewardError
from cranium.languages import (
    EXAMPLES,
    enumerate_words,
    is_member,
    language_class,
    near_misses,
    parse_language,
    shortest_words,
    words,
)
from cranium.languages.compiler import planning
from cranium.languages.compiler.budget import Budget
from cranium.languages.enumerate_words import _Enumerator
from cranium.languages.membership import valuations


def all_words(letters, length):
    return (word for size in range(length + 1) for word in product(letters, repeat=size))


def assert_exact(text, length, **more):
    language = parse_language(text)
    machine = compile_language(language, **more)
    for word in all_words(language.letters, length):
        assert machine.run(list(word)).accepted == is_member(language, word), word
    return machine


@pytest.mark.parametrize(
    ("name", "length", "states", "counters"),
    [
        ("counter-machine", 8, 2, 1),
        ("running-example", 7, 2, 1),
        ("letter", 6, 3, 1),
        ("context-sensitive", 7, 3, 2),
        ("natural-language", 5, 2, 0),
        ("office", 4, 3, 2),
    ],
)
def test_the_languages_of_the_paper(name, length, states, counters):
    machine = assert_exact(EXAMPLES[name], length)
    assert machine.size.states == states
    assert machine.num_counters == counters
    assert cranium.check(machine) == ()


@pytest.mark.parametrize(
    ("text", "shipped"),
    [
        ("A^N B C^N", "anbcn"),
        ("A^N B C D^N", "anbcdn"),
        ("mail^N empty coffee^N person^N never decoration", "office"),
        ("(mail person)^1 never decoration", "mail-delivery"),
        ("mail^N empty person^N never decoration", "office-deliver"),
    ],
)
def test_compiled_machines_reward_as_the_shipped_ones_do(text, shipped):
    assert cranium.equivalent(compile_language(text), cranium.library.load(shipped), bound=500)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "length", "counters"),
    [
        ("A^N B^M C^N D^M", 6, 2),
        ("A^N B^N C^M D^M", 6, 1),  # one counter serves both, one after the other
        ("A^N B^N | C^N D^N", 6, 1),
        ("A^N B^N | A^M C^M", 7, 1),
        ("A^N B^N | A^N C^2N", 7, 1),
        ("A^N B^N E | A A C^N D^N E", 5, 2),  # here the two would have to differ
        ("A^2N B^(N+1)", 8, 1),
        ("A^(N-1) B^N", 8, 1),
        ("A^N B^N where N > 2", 8, 1),
        ("A^N B^N where N >= 0 finally C", 6, 1),
        ("A^N B^N where N <= 3", 8, 0),  # finitely many words: regular
        ("A^N B^M C^(N+M) D", 6, 2),
        ("A^N B^M C where N > M", 7, 1),
        ("A^N B^M C where N >= M", 7, 1),
        ("A^N B^M C where N < M", 7, 1),
        ("A^N B^M C where N <= M", 7, 1),
        ("A^N B^M C where N == M", 7, 1),
        ("A^M B^(N-1) C where M > N", 6, 1),  # the exponents begin at different values
        ("A^N B^M C where N > M, M >= 3", 8, 1),
        ("A^N B^M C where N >= M, N >= 3", 7, 1),
        ("A^N B^M C where N < M, N >= 2", 7, 1),
        ("A^N B^M C^M D where N > M", 6, 2),
        ("A^N B^M C^K D where N <= M, M <= K", 5, 2),
        ("A^N B^M C^K D where N > M, M > K", 5, 2),
        ("A^N B^M C where N >= M, M >= N", 6, 1),
        ("A^N B^M C^K D where M > K, N < M", 5, 2),
        ("A^N B^M C^K D where N < K, M < K", 5, 2),  # greater than both
        ("A^N B^M C^K D where N >= K, K >= M", 5, 3),  # the third keeps failing at once
        ("A^N B^M C where N >= 0, N <= M", 6, 1),
        ("A^N B^M C where N > M, N <= 5", 7, 0),
        ("A^N B^M C where N == M, M <= 3", 7, 0),
        ("A^N B^M C where N <= 30, M <= 30", 6, 0),
        ("A^N B^M C where M <= 3, N >= M", 7, 0),  # more than three A are as good as three
        ("A^N B^M C^K E where M <= 3, N >= M, K >= N", 5, 1),
        ("A^N (B^N){2} C", 7, 1),
        ("A^N A B^N", 8, 1),
        ("A^N A^2 B^(N+1)", 8, 1),
        ("B^N A^(N-2) A^2 C", 7, 1),  # which is not B^N A^N C
        ("A^N (B^M | C) D where N > M", 5, 1),  # where there is no M, N is at least 2
        ("(A^N)? B^M C where N >= M", 6, 1),
        ("(D^N B | A^(N-2)) E", 5, 0),
        ("(B D^N | A^(N-1)) E where N >= 0", 5, 0),
        ("A^N (B^N | C) D^N E", 4, 2),
        ("A^N C B^N D | A^2N E B^N F", 4, 2),
        ("A^(N+M) C B^(N+M)", 6, 1),
        ("A^(N+M) B^N C", 6, 1),
        ("A^(N+M) B^(N+K) C", 6, 0),
        ("A^N B^(M+N) C^(N+M) D", 5, 2),
        ("A^(N+M-5) B", 8, 0),
        ("(A^N B)^M C where M <= 3", 6, 2),
        ("(A^N B)^M C where N <= 3", 6, 0),
        ("(A^N B)* C where N <= 2", 6, 0),
        ("(A^N B)^(N-2) C where N <= 3", 8, 0),  # no word for N = 1
        ("(A^N && B^N) C where N <= 2", 6, 0),
        ("(A^N && B^M) C^K D where N >= K, K >= M", 5, 2),
        ("(A && B)^N C^N", 6, 1),
        ("(A B)^N (A C)^N", 7, 1),
        ("(A B*)^N C^N", 6, 1),
        ("A^N (B^N | C^N)", 7, 1),
        ("(A^N | B^N) C^N", 7, 1),
        ("A^N B^N && C", 6, 1),
        ("(A^N && B^M) C^N D^M", 5, 2),
        ("shuffle(A B, C)", 5, 0),
        ("A^N B^N C^M & A^K B^L C^L", 4, 2),
        ("(A|B)* C & (A|B)^3 C", 5, 0),
        ("A{2,4} B? C", 6, 0),
        ("(A|B)* C", 6, 0),
        ("A+ B", 6, 0),
        ("A^3", 5, 0),
    ],
)
def test_languages_with_as_few_counters_as_they_need(text, length, counters):
    machine = assert_exact(text, length)
    assert machine.num_counters == counters
    assert isinstance(machine, RewardMachine) == (counters == 0)


def test_regular_languages_give_the_smallest_machine():
    for text in (
        "(A|B)* C",
        "(A B | A C) D",
        "A{2,4} B? C",
        "(A && B C) D",
        "A^N B^N where N <= 4",
    ):
        machine = compile_language(text)
        assert cranium.minimise(machine).size.states == machine.size.states


@pytest.mark.parametrize(
    ("text", "grammar"),
    [
        ("A^N B^N", "S -> a S b | a b"),
        ("A^N B C^N", "S -> a S c | a b c"),
        ("A^N B C D^N", "S -> a S d | a b c d"),
        ("A^2N B^N C", "S -> T c\nT -> a a T b | a a b"),
        ("A^N B^N C^M D^M", "S -> P Q\nP -> a P b | a b\nQ -> c Q d | c d"),
    ],
)
def test_context_free_languages_against_their_grammars(text, grammar):
    cfg = CFG.from_text(grammar)
    machine = compile_language(text)
    letters = machine.propositions
    for word in all_words(letters, 6 if len(letters) > 3 else 7):
        expected = bool(word) and cfg.contains([letter.lower() for letter in word])
        assert machine.run(list(word)).accepted == expected, word


@pytest.mark.parametrize(
    ("text", "reason", "clash"),
    [
        (
            "A^N A^M B^N",
            "the exponent N could have been counted in two ways",
            ("A A B", "A A A B B"),
        ),
        ("A*", "may be complete and yet go on", ("", "A")),
        ("D* D", "may be complete and yet go on", ("D", "D D")),
        ("A B?", "may be complete and yet go on", ("A", "A B")),
        ("A^N B^M", "may be complete and yet go on", ("A B", "A B B")),
        ("A^N B^N where N >= 0", "may be complete and yet go on", ("", "A B")),
    ],
)
def test_what_cannot_be_compiled_is_refused_with_two_words_that_clash(text, reason, clash):
    with pytest.raises(LanguageError, match=reason) as caught:
        compile_language(text)
    assert tuple(" ".join(word) for word in caught.value.words) == clash
    assert caught.value.fix


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(A^N B)*", "occurs in a part that is itself repeated"),
        ("(A^N B)^M C", "occurs in a part that is itself raised to M"),
        ("A^N && B^N", "neither comes first"),
        ("(A?)^N B^N", "may be empty"),
        ("A^0", "the empty word is in the language"),
        ("(A^N && B^M) C where N < M", "compared, but counted in parallel"),
        ("A^N B^N where N <= 10000 never C", "more than 20,000 states"),
        ("(A^N B)^M C where M <= 2000", "2,000 alternatives, more than 1,000"),
        ("A & B", "no word is in the language"),
        (
            "A^N^2^2^2^2^2^2^2^2^2^2^2^2 B^N",
            "too large to compile: it needs more than 2,500,000 steps",
        ),
        ("A? " * 300 + "B", "too large to compile"),
        (" | ".join(f"x{i}" for i in range(201)), "may have 200 letters, this has 201"),
        ("A B with A = false", "the letter A can never happen alone: it means false"),
        ("A B with A = x, B = x", "the letter A can never happen alone: it means x"),
        ("(A|B)* A (A|B)^20 C", "more than 5,000 states"),
        ("A^N B^M C where N > M, M <= 2, N <= 1", "no values of the exponents"),
    ],
)
def test_other_refusals_say_why(text, reason):
    with pytest.raises(cranium.CraniumError, match=reason):
        compile_language(text)


def test_equal_exponents_are_one_in_the_other_conditions_too():
    language = parse_language("A^N B^M C^K D where M == N, K >= M")
    machine = compile_language(language)
    for n, m, k in product(range(1, 5), repeat=3):
        word = ["A"] * n + ["B"] * m + ["C"] * k + ["D"]
        assert machine.run(word).accepted == (n == m and k >= m) == is_member(language, word)
    with pytest.raises(LanguageError, match="no values of the exponents"):
        compile_language("A^N B^M C where N == M, N > M")


def test_the_first_completion_can_be_rewarded():
    machine = compile_language("A+ B?", first=True)
    assert machine.run("A").accepted
    assert not machine.run("A B").accepted
    assert machine.run("A B").unread == 1


def test_blanks_leave_the_machine_alone_and_wrong_or_joint_letters_fail():
    machine = compile_language("A^N B C^N never D")
    assert machine.run("{} A {} A B {} C {} C").accepted
    for word in ("{A,B}", "A D", "A {C,D}", "A B {B,C}", "C", "B"):
        assert machine.run(word).configurations[-1].state == "failed", word


def test_letters_can_stand_for_formulas():
    machine = compile_language("coffee^N office^N with coffee = C & !D, office = O")
    assert set(machine.propositions) == {"C", "D", "O"}
    assert machine.run("C C O O").accepted
    assert machine.run("C {C,D} O").accepted, "spoiled coffee is no coffee"
    assert not machine.run("C C O").accepted


def test_rewards_and_names():
    machine = compile_language("A B", reward=10, failure_reward=-1, name="task")
    assert machine.run("A B").total_reward == 10
    assert machine.run("B").total_reward == -1
    assert machine.name == "task"
    assert machine.initial == "await A"
    assert compile_language("A (B | C)").states == ("await A", "await B or C")
    with pytest.raises(RewardError):
        compile_language("A", reward=float("nan"))
    with pytest.raises(InvalidNameError):
        compile_language("A", name="a\nb")


def test_the_class_is_reported():
    classes = [language_class(compile_language(t)) for t in ("A", "A^N B^N", "A^N B^N C^N")]
    assert classes == ["regular", "counted with 1 counter", "counted with 2 counters"]


def test_fifty_letters_and_twenty_blocks():
    letters = [f"letter{i}" for i in range(50)]
    blocks = [
        f"({letters[2 * i]} | {letters[2 * i + 1]}+ {letters[40 + i % 10]})" for i in range(20)
    ]
    machine = compile_language(" ".join(blocks))
    assert machine.num_counters == 0
    assert len(machine.propositions) == 50
    counted = " ".join(f"{letters[i]}^N{i // 2}" for i in range(20))
    assert compile_language(counted).num_counters == 1
    crossed = " ".join(f"{letters[i]}^N{i % 10}" for i in range(20))
    assert compile_language(crossed).num_counters == 10
    falling = " ".join(f"{letters[i]}^N{i}" for i in range(20)) + " end where "
    falling += ", ".join(f"N{i} > N{i + 1}" for i in range(19))
    assert compile_language(falling).num_counters == 19
    same = " ".join(f"{letter}^N" for letter in letters[:20])
    assert compile_language(same).num_counters == 19
    either = "(" + " | ".join(letters[:49]) + ")* " + letters[49]
    assert compile_language(either).size.states == 1


def test_a_machine_from_a_language_can_be_saved_and_drawn(tmp_path):
    for text in EXAMPLES.values():
        machine = compile_language(text)
        cranium.save(machine, tmp_path / "m.yaml")
        assert cranium.load(tmp_path / "m.yaml") == machine
        cranium.draw(machine, tmp_path / "m.svg")


def test_every_enumerated_word_of_every_example_is_accepted():
    for text in EXAMPLES.values():
        language = parse_language(text)
        machine = compile_language(language)
        found = list(words(language, 12))
        assert found
        assert all(machine.run(list(word)).accepted for word in found)


def row(count, piece):
    return " ".join(piece.format(i=i) for i in range(count))


BELOW = ", ".join(f"n{i} >= N" for i in range(39))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{row(40, 'x{i}^n{i}')} end^N where {BELOW}", "too large to compile"),  # 2^39 outcomes
        (" & ".join(["(A | B)*"] * 30) + " & (A | B)^3", "too large to compile"),  # 2^31 pairs
        (row(12, "x{i}^(n{i} + m{i} + k{i} - 20)"), "too large to compile|more than 1,000"),
        ("A^N " * 300, "too large to compile"),
        ("A^1000+ B", "too large to compile"),
        # Found by the fuzzer: these took more than ten seconds of CPU time.
        ("(A B){3,}^999 C", "too large to compile"),
        ("A+ B* C{2,5}^999 B* C{2,5}", "too large to compile"),
        ("A^N " * 1000, "may use exponents 300 times, this does so 1,000 times"),
        (row(101, "A^n{i}"), "may have 100 exponents, this has 101"),
        ("((A^10000)^10000)^10000", "more than 20,000 states"),
        ("A^10000 B", "more than 5,000 states"),
        ("A^1000000 B", "a number is at most 10,000"),
    ],
)
def test_what_would_take_for_ever_is_refused(text, said):
    with pytest.raises(CraniumError, match=said):
        compile_language(text)


def test_forty_eight_powers_of_one_exponent_compile():
    machine = compile_language(row(48, "x{i}^N"))
    assert machine.num_counters == 47
    assert machine.run([f"x{i}" for i in range(48)]).accepted


def test_every_phase_of_a_compilation_is_accounted_for():
    """Whatever the phase, a small budget is exceeded before the phase is over."""
    for text in ("A^N B^M C^N D^M", "(A | B)^5 C", "(A^N && B^M) C", "(A | B)* C & (A | B)^3 C"):
        parsed = parse_language(text)
        CountingBudget.spent = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("cranium.languages.compiler.compile.Budget", CountingBudget)
            compile_language(parsed)
        spent = {*CountingBudget.spent}
        assert {"_make_nonnegative", "add_state", "_before", "_after", "explore", "visit"} <= spent
        assert {"merge_equal_states", "above_after", "emit"} <= spent


class CountingBudget(Budget):
    """Remembers who has spent."""

    spent: ClassVar[list[str]] = []

    def spend(self, steps=1):
        self.spent.append(sys._getframe(1).f_code.co_name)
        super().spend(steps)


def test_words_that_nobody_would_read_are_not_listed():
    assert shortest_words("A^10000^10000 B") == []
    assert [len(word) for word in shortest_words("A^9000 B", most=2)] == [9001]


def test_not_every_assignment_of_many_exponents_is_tried(monkeypatch):
    """No word has all twenty letters and only one: there would be 30^20 assignments to try."""
    tried = []
    monkeypatch.setattr(enumerate_words, "MAX_NODES", 10_000)
    monkeypatch.setattr(
        enumerate_words, "_Enumerator", lambda *told: tried.append(told) or _Enumerator(*told)
    )
    side_by_side = " & ".join(f"x{i}^n{i}" for i in range(20))
    assert shortest_words(side_by_side) == []
    assert len(tried) == 10_000 // 41  # of so many nodes: & and twenty powers of a letter
    assert shortest_words(row(30, "x{i}^n{i}"), most=1) == [tuple(f"x{i}" for i in range(30))]


def test_for_near_misses_no_word_is_asked_for_twice_and_no_length_in_vain(monkeypatch):
    asked, lengths = [], set()

    def counted(language, word):
        asked.append(word)
        return is_member(language, word)

    def noted(language, expression, length):
        lengths.add(length)
        return valuations(language, expression, length)

    monkeypatch.setattr(enumerate_words, "is_member", counted)
    monkeypatch.setattr(enumerate_words, "valuations", noted)
    found = near_misses("A^300 B", 301, most=10)
    assert len(found) == len(set(found)) == 10
    assert len(asked) == len(set(asked)) == 11  # one of them, two As that change places, is a word
    assert lengths == {301}


def test_a_long_sequence_is_compiled_without_looking_at_all_pairs_of_its_parts(monkeypatch):
    """How often the variables of a part are looked for is linear in the number of parts."""
    counts = []
    real = planning.variables_of

    def counting(node):
        counts[-1] += 1
        return real(node)

    monkeypatch.setattr(planning, "variables_of", counting)
    for length in (100, 200):
        counts.append(0)
        compile_language("A^N " + "B C " * length + "D^N")
    assert counts[1] < 3 * counts[0]
