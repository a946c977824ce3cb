"""The shipped machines against languages that are written out by hand."""

from __future__ import annotations

import re
from itertools import product

import pytest

import cranium
from cranium.errors import UnknownNameError

LETTERS = {"anbcn": "ABC", "anbcdn": "ABCD"}


def is_anbcn(word: str) -> bool:
    n = word.count("A")
    return n > 0 and word == "A" * n + "B" + "C" * n


def is_anbcdn(word: str) -> bool:
    n = word.count("A")
    return n > 0 and word == "A" * n + "BC" + "D" * n


@pytest.mark.parametrize(("name", "member"), [("anbcn", is_anbcn), ("anbcdn", is_anbcdn)])
def test_the_letter_machines_recognise_their_languages(name, member):
    machine = cranium.library.load(name)
    letters = LETTERS[name]
    for length in range(9 if len(letters) == 3 else 7):
        for word in map("".join, product(letters, repeat=length)):
            trace = machine.run(list(word))
            assert trace.accepted == member(word), word
            assert trace.total_reward == trace.succeeded


@pytest.mark.parametrize("name", ["anbcn", "anbcdn"])
def test_blank_cells_leave_a_letter_machine_alone_and_two_letters_at_once_fail(name):
    machine = cranium.library.load(name)
    word = {"anbcn": "A {} A {} {} B C {} C", "anbcdn": "{} A A B {} C D {} D"}[name]
    assert machine.run(word).accepted
    assert machine.run("A {A,B}").configurations[-1].state == "failed"
    assert machine.run("{A,B}").configurations[-1].state == "failed"
    assert machine.run("A B {B,C}").configurations[-1].state == "failed"


def test_the_office_machine_wants_n_mail_empty_n_coffees_n_deliveries():
    machine = cranium.library.load("office")
    assert (machine.size.states, machine.num_counters) == (3, 2)
    code = {"M": "mail", "E": "empty", "C": "coffee", "P": "person", "D": "decoration"}
    for n, e, c, p in product(range(4), range(3), range(4), range(4)):
        word = "M" * n + "E" * e + "C" * c + "P" * p
        wanted = n > 0 and e == 1 and c == n and p == n
        assert machine.run([code[x] for x in word]).accepted == wanted, word
        for cut in range(len(word) + 1):
            broken = [code[x] for x in word[:cut] + "D" + word[cut:]]
            assert not machine.run(broken).accepted


def test_the_machine_of_deliveries_wants_n_mail_empty_n_deliveries():
    machine = cranium.library.load("office-deliver")
    assert (machine.size.states, machine.num_counters) == (2, 1)
    for length in range(7):
        for word in product(["mail", "empty", "person"], repeat=length):
            n = word.count("mail")
            wanted = n > 0 and word == ("mail",) * n + ("empty",) + ("person",) * n
            trace = machine.run(word)
            assert trace.accepted == wanted, word
            assert trace.total_reward == trace.succeeded
            assert wanted or not machine.run([*word[:-1], "decoration"]).accepted


def test_the_mail_machine_pays_for_delivering_and_for_nothing_else():
    machine = cranium.library.load("mail-delivery")
    for length in range(5):
        for word in product(["mail", "person", "decoration"], repeat=length):
            trace = machine.run(word)
            assert trace.accepted == (word == ("mail", "person"))
            assert trace.total_reward == trace.succeeded


@pytest.mark.slow
def test_turing_power_the_powers_of_two():
    machine = cranium.library.load("power-of-two")
    powers = {2, 4, 8, 16, 32, 64, 128, 256, 512}
    accepted = {m for m in range(600) if machine.run(["A"] * m + ["B"]).accepted}
    assert accepted == powers
    assert not machine.run(["A", "A", "B", "B"]).accepted
    assert not machine.run(["A", "A"]).accepted
    assert not machine.run(["A", "B", "A", "B"]).accepted


def test_turing_power_the_squares():
    machine = cranium.library.load("square")
    for n in range(13):
        trace = machine.run(["A"] * n + ["B"] * 150)
        if n == 0:
            assert not trace.succeeded
        else:
            assert trace.succeeded == (n * n <= 150)
            assert len(trace.steps) == n + min(n * n, 150)
    assert not machine.run("A A B A B B B").succeeded


@pytest.mark.parametrize("name", cranium.library.names())
def test_every_shipped_machine_is_clean_and_says_what_it_is(name):
    machine = cranium.library.load(name)
    assert cranium.check(machine) == ()
    comment = [line for line in cranium.library.text(name).splitlines() if line.startswith("#")]
    assert len(comment) >= 3
    if name in ("anbcn", "office", "mail-delivery"):
        assert any(re.search("drawing in the paper deviates", line) for line in comment)


def test_an_unknown_name_suggests_a_known_one():
    with pytest.raises(UnknownNameError, match="did you mean 'office'"):
        cranium.library.load("ofice")
