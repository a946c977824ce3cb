"""The tasks of WaterWorld against what they mean, said of whole words in plain Python."""

from __future__ import annotations

from itertools import combinations, product

import pytest

import cranium

RED, GREEN, BLUE, CYAN, YELLOW = "red", "green", "blue", "cyan", "yellow"


def labels(names, most=None):
    """All sets of these names; of so many at most."""
    sizes = range(len(names) + 1 if most is None else most + 1)
    return [frozenset(some) for size in sizes for some in combinations(names, size)]


def words(letters, longest):
    return (word for length in range(longest + 1) for word in product(letters, repeat=length))


def first(word, name, after=-1):
    """Where a colour is first touched after some step; never is infinitely late."""
    return next((i for i in range(after + 1, len(word)) if name in word[i]), float("inf"))


def finish(word, one, other):
    begun = first(word, one)
    return first(word, other, begun) if begun < len(word) else begun


def is_red_green(word):
    return finish(word, RED, GREEN) == len(word) - 1


def is_blue_cyan(word):
    return finish(word, BLUE, CYAN) == len(word) - 1


def is_both(word):
    return max(finish(word, RED, GREEN), finish(word, BLUE, CYAN)) == len(word) - 1


def is_strict(word):
    touches = [label for label in word if label]
    return touches == [{RED}, {GREEN}, {BLUE}] and bool(word[-1])


def is_balance(word):
    *before, last = word or [frozenset()]
    reds, blues, greens = (sum(name in label for label in before) for name in (RED, BLUE, GREEN))
    return last == {GREEN} and greens == 0 and reds == blues > 0


def is_repay(word):
    touches = [label for label in word if label]
    count = sum(label == {RED} for label in touches)
    wanted = [{RED}] * count + [{YELLOW}] + [{BLUE}] * count
    return count > 0 and touches == wanted and bool(word[-1])


TASKS = {
    "water-red-green": (is_red_green, [(labels([RED, GREEN]), 5)]),
    "water-blue-cyan": (is_blue_cyan, [(labels([BLUE, CYAN]), 5)]),
    "water-both": (
        is_both,
        [(labels([RED, GREEN, BLUE, CYAN]), 3), (labels([RED, GREEN, BLUE, CYAN], 1), 5)],
    ),
    "water-strict": (
        is_strict,
        [
            (labels([RED, GREEN, BLUE, CYAN, YELLOW, "magenta"]), 2),
            ([*labels([RED, GREEN, BLUE, CYAN], 1), frozenset({RED, GREEN})], 5),
        ],
    ),
    "water-balance": (
        is_balance,
        [(labels([RED, BLUE, GREEN]), 4), ([{RED}, {BLUE}, {GREEN}, {RED, BLUE}], 6)],
    ),
    "water-repay": (
        is_repay,
        [(labels([RED, YELLOW, BLUE]), 4), ([{RED}, {YELLOW}, {BLUE}], 7)],
    ),
}


@pytest.mark.parametrize("name", TASKS)
def test_a_machine_accepts_the_words_of_its_task_and_no_others(name):
    machine = cranium.library.load(name)
    member, alphabets = TASKS[name]
    accepted = 0
    for letters, longest in alphabets:
        for word in words(letters, longest):
            trace = machine.run(list(word))
            assert trace.accepted == member(word), word
            accepted += trace.accepted
            if name != "water-repay":
                assert trace.total_reward == trace.succeeded, word
    assert accepted > 1


def test_every_task_of_the_water_world_is_held_against_its_meaning():
    assert set(TASKS) == {n for n in cranium.library.names() if n.startswith("water-")}


@pytest.mark.parametrize(
    ("name", "one", "other", "end"),
    [
        ("water-balance", [RED], [BLUE], [GREEN]),
        ("water-balance", [BLUE], [RED], [GREEN]),
        ("water-repay", [RED], [BLUE], []),
    ],
)
def test_no_two_numbers_are_taken_for_each_other(name, one, other, end):
    """After each number of reds another ending is wanted, so no finite memory is enough."""
    machine = cranium.library.load(name)
    middle = [YELLOW] if name == "water-repay" else []
    for n, m in product(range(1, 13), repeat=2):
        word = one * n + middle + other * m + end
        assert machine.run(word).accepted == (n == m), (n, m)


def test_what_was_borrowed_and_repaid_is_the_reward():
    machine = cranium.library.load("water-repay")
    assert machine.run("red red red yellow blue {} {} blue blue").total_reward == 3
    late = machine.run("red red red yellow blue")
    assert (late.total_reward, late.succeeded) == (1, False)
    assert machine.run("red red yellow blue red").configurations[-1].state == "failed"
    assert machine.run("yellow").configurations[-1].state == "failed"


def test_the_lead_may_change_sides():
    machine = cranium.library.load("water-balance")
    word = "red blue blue blue red {red,blue} red green"
    states = [configuration.state for configuration in machine.run(word).configurations]
    assert states == [
        "nothing yet", "reds ahead", "even", "blues ahead", "blues ahead", "blues ahead",
        "blues ahead", "even", "done",
    ]  # fmt: skip
