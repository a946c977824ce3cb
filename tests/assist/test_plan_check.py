"""The checks of plans: heuristics on the words, examples, and held-out examples that stay hidden."""

from __future__ import annotations

import pytest

import cranium
from cranium.assist import Example, PlanStep, TaskPlan, check_plan, restate
from cranium.assist.examples import parse_examples
from cranium.assist.text_heuristics import (
    check_counts,
    check_rewards,
    find_forbidden,
    find_mentioned,
    find_unused,
)
from cranium.automata.step_cost import add_step_cost
from cranium.errors import ConversionError, InvalidArgumentError

EVENTS = {
    "mail": "an item of mail is collected",
    "person": "an item is delivered to a person",
    "decoration": "a decoration is broken",
}
WORDS = "Collect one item of mail and deliver it to a person. Never break a decoration."


def plan(*names, **more):
    return TaskPlan(steps=[PlanStep(events=[name]) for name in names], **more)


def test_what_is_right_passes():
    found = check_plan(
        plan("mail", "person", forbidden=["decoration"]),
        WORDS,
        EVENTS,
        [Example(("mail", "person"), True), Example(("person",), False, held_out=True)],
    )
    assert found.problems == ()
    assert cranium.equivalent(
        found.machine, cranium.compile_language("mail person never decoration")
    )


def test_every_event_that_is_spoken_of_is_used_or_forbidden():
    found = check_plan(plan("mail", "person"), WORDS, EVENTS)
    assert len(found.problems) == 1
    assert "'decoration' is not forbidden" in found.problems[0]
    assert not check_plan(plan("mail", "person"), WORDS, EVENTS, ignored=["decoration"]).problems
    more = {**EVENTS, "rain": "it starts to rain"}
    found = check_plan(plan("mail", "person", forbidden=["decoration"]), WORDS, more)
    assert found.problems == ()
    assert "may happen at any time: rain" in found.notes


@pytest.mark.parametrize(
    ("words", "spoken"),
    [
        ("Collect the mails.", ["mail"]),
        ("Deliver to persons.", ["person"]),
        ("Never break decorations.", ["decoration"]),
        ("An item.", []),
        ("Make a plan.", []),
        ("Turn around.", []),
        ("", []),
    ],
)
def test_forms_of_a_word_are_the_word(words, spoken):
    assert find_unused(plan("other"), words, {**EVENTS, "other": "something else"}) == spoken


@pytest.mark.parametrize(
    ("words", "count", "fine"),
    [
        ("Rest at most two times.", "at most 2", True),
        ("Rest at most two times.", "2", False),
        ("Rest no more than 3 times.", "at most 3", True),
        ("Rest one or more times.", "1+", True),
        ("Rest one or more times.", "N", True),
        ("Rest at least two times.", "1+", False),
        ("Rest as often as you like.", "0+", True),
        ("Rest as often as you like.", "1", False),
        ("Rest twice as often as before.", "2N", True),
        ("Rest twice as often as before.", "2", False),
        ("Rest.", "1", True),
        ("Rest, in no more than 10 steps.", "1", True),
        ("Collect any number of keys, and open as many doors.", "N", True),
        ("Rest at most 100 times.", "1", True),
    ],
)
def test_what_is_said_about_numbers_is_heeded(words, count, fine):
    steps = [PlanStep(events=["rest"], count=count)]
    assert (check_counts(TaskPlan(steps=steps), words, {}) == []) is fine


def test_names_of_one_letter_and_short_plurals_are_heard():
    rooms = {name: f"room {name} is visited" for name in "ABD"}
    assert find_unused(plan("A", "B"), "Visit room A, then B. Never visit D.", rooms) == ["D"]
    assert find_unused(plan("door"), "Find keys.", {"key": "", "door": ""}) == ["key"]


def test_what_is_only_guessed_is_told_apart():
    found = check_plan(plan("mail", "person"), WORDS, EVENTS, [Example(("person",), True)])
    assert len(found.problems) == 2
    assert len(found.guesses) == 1
    assert len(found.definite_problems) == 1
    assert found.definite_problems[0].endswith("rejects it: at first it expects mail, not person")


def test_examples_are_problems_but_those_held_out_are_not_shown():
    given = {
        "accept": ["mail person"],
        "reject": ["mail"],
        "held_out": {"reject": ["person mail"]},
    }
    examples = parse_examples(given, EVENTS)
    wrong = TaskPlan(
        steps=[PlanStep(events=["mail", "person"], how="any order")], forbidden=["decoration"]
    )
    found = check_plan(wrong, WORDS, EVENTS, examples)
    assert len(found.problems) == 1
    assert "1 more sequence wrongly" in found.problems[0]
    assert "person mail" not in found.problems[0]
    shown = check_plan(plan("person", "mail"), WORDS, EVENTS, examples).problems
    assert "the sequence mail person is right, but the plan rejects it" in " ".join(shown)


@pytest.mark.slow
def test_a_task_whose_end_cannot_be_seen_is_a_complaint():
    open_end = TaskPlan(steps=[PlanStep(events=["mail"], count="1+")])
    events = {"mail": EVENTS["mail"]}
    found = check_plan(open_end, "Collect mail.", events)
    assert "cannot be seen when the task is complete" in found.problems[0]
    assert found.machine is None
    assert check_plan(open_end, "Collect mail.", events, first=True).problems == ()


def test_numbers_become_rewards():
    paid = plan("mail", success=10.0, failure=-5.0, step_cost=0.5, forbidden=["decoration"])
    machine = check_plan(paid, "Collect mail.", EVENTS).machine
    assert machine.run(["mail"]).total_reward == 9.5
    assert machine.run([(), "mail"]).total_reward == 9.0
    assert machine.run([(), (), "decoration"]).total_reward == -6.5


def test_a_phrase_that_nobody_said_is_a_remark():
    steps = [PlanStep(events=["mail"], phrase="collect the gold")]
    found = check_plan(TaskPlan(steps=steps), "Collect mail.", {"mail": ""})
    assert found.problems == ()
    assert "not in the description: 'collect the gold'" in found.notes


def test_every_second_example_is_held_out():
    found = parse_examples({"accept": ["a", "a a", "a a a"], "reject": ["b"]}, ["a", "b"])
    assert [one.held_out for one in found] == [False, True, False, False]
    found = parse_examples({"accept": ["a", "a a"], "held_out": {}}, ["a"])
    assert not any(one.held_out for one in found)


@pytest.mark.parametrize(
    "given",
    [
        "a",
        3,
        {"good": ["a"]},
        {"accept": ["x"]},
        [("a",)],
        {"held_out": ["a"]},
        {"accept": "a a"},
        {"held_out": {"acept": ["a"]}},
        {"accept": ["a"], "reject": ["a"]},
    ],
)
def test_examples_that_are_none_are_refused(given):
    with pytest.raises(InvalidArgumentError):
        parse_examples(given, ["a"])


@pytest.mark.parametrize(
    ("words", "paid", "wrong"),
    [
        ("Finish for 10 points and lose half a point for every step.", (10, 0, 0.5), False),
        ("Finish for 10 points and lose half a point for every step.", (10, -0.5, 0), True),
        ("Finish for 10 points and lose half a point for every step.", (10, -0.5, 0.5), True),
        ("Finish for 10 points and lose half a point for every step.", (1, 0, 0.5), True),
        ("Finish. If the dog wakes up, you lose 5 points.", (1, -5, 0), False),
        ("Finish. If the dog wakes up, you lose 5 points.", (1, -5, 5), True),
        ("Finish. If the dog wakes up, you lose 5 points.", (1, -4, 0), True),
        ("Lose a point for each move.", (1, 0, 1), False),
        ("Lose a point for each move.", (1, 0, 0), True),
        ("Finish.", (7, -7, 7), True),
        ("Finish for 10 points, or lose 5 points.", (10, -5, 0), False),
        ("Finish for 10 points, or lose 5 points.", (-10, 5, 0), True),
        ("Touch it. Pay 3 times.", (1, 0, 0), False),
        ("Make a move, and lose a point if you fail.", (2, -1, 0), True),
    ],
)
def test_what_is_said_about_points_is_paid(words, paid, wrong):
    success, failure, cost = paid
    found = check_rewards(plan("a", success=success, failure=failure, step_cost=cost), words)
    assert bool(found) == wrong, found


# What a machine does, in words


def test_a_machine_is_restated_from_itself():
    text = restate(cranium.library.load("anbcn"))
    assert text.splitlines()[0] == 'It begins in "counting".'
    assert "A adds 1 to n" in text
    assert 'B leads to "matching" if n > 0' in text
    assert "completes the task and pays 1" in text


def test_a_price_for_every_step_changes_nothing_else():
    for text in ("A^N B C^N never D", "(A | B)^2 C", "A B"):
        machine = cranium.compile_language(text)
        costly = add_step_cost(machine, 0.25)
        for word in (["A", (), "B", "C"], ["A", "A"], [("A", "B")], ["D"], [(), (), "C"]):
            known = [set([label] if isinstance(label, str) else label) for label in word]
            labels = [label & set(machine.propositions) for label in known]
            one, two = machine.run(labels), costly.run(labels)
            assert [c.state for c in one.configurations] == [c.state for c in two.configurations]
            assert two.total_reward == one.total_reward - 0.25 * len(one.steps)


def test_a_price_is_refused_where_it_makes_no_sense():
    machine = cranium.compile_language("A B")
    assert add_step_cost(machine, 0) is machine
    for cost in (-1, float("nan"), float("inf"), "1", True):
        with pytest.raises(InvalidArgumentError, match="what a step costs"):
            add_step_cost(machine, cost)
    paying = cranium.RewardMachine(
        propositions=["A"],
        initial="u",
        terminal=["end"],
        transitions=[
            cranium.Transition(
                source="u",
                guard="A",
                target="end",
                reward=cranium.RewardFunction("f", lambda s, a, t: 1.0),
            )
        ],
    )
    with pytest.raises(ConversionError, match="reward functions"):
        add_step_cost(paying, 1)


NEVER = {"gate": "the gate is opened", "bell": "the bell is rung", "rain": "it rains"}


@pytest.mark.parametrize(
    ("words", "against"),
    [
        ("Ring the bell. The gate must never be opened.", ["gate"]),
        ("Ring the bell; do not open the gate.", ["gate"]),
        ("Ring the bell without ever opening the gate.", ["gate"]),
        ("Ring the bell, without ever opening the gate", ["gate"]),
        ("Open the gate and never ring the bell.", ["bell"]),
        ("Neither the bell nor the gate may be touched.", ["bell", "gate"]),
        ("Never let it rain. Ring the bell, and open the gate.", ["rain"]),
        ("Never open the gate before the bell is rung.", []),
        ("Do not open the gate twice.", []),
        ("Never open the gate until the bell rings.", []),
        ("You need not open the gate.", []),
    ],
)
def test_what_must_never_happen_is_forbidden(words, against):
    assert list(find_forbidden(words, NEVER)) == against
    found = check_plan(plan("bell", "gate", forbidden=["rain"]), words, NEVER).problems
    assert sum("is not forbidden" in one for one in found) == len(set(against) - {"rain"})
    ignored = check_plan(plan("bell", "gate"), words, NEVER, ignored=NEVER).problems
    assert not any("is not forbidden" in one for one in ignored)


def test_a_contradiction_passes_neither_way():
    words = "Open the gate and then ring the bell. The gate must never be opened."
    examples = parse_examples({"accept": ["gate bell"]}, NEVER)
    for one in (plan("gate", "bell"), plan("bell", forbidden=["gate"])):
        assert check_plan(one, words, NEVER, examples).problems


def test_what_is_missing_is_told_with_its_place():
    words = "Pick apples until the basket is full, and press them."
    events = {"press": "an apple is pressed", "pick": "an apple is picked", "full": "it is full"}
    assert find_mentioned(words, events) == ["pick", "full", "press"]
    (complaint,) = check_plan(plan("pick", "press"), words, events).problems
    assert complaint.endswith("in this order: pick, full, press")
    (complaint,) = check_plan(plan("full", "press"), words, events).problems
    assert complaint.endswith("in this order: pick, full, press")
    found = check_plan(plan("full"), words, events).problems
    assert [one.rpartition(": ")[2] for one in found] == ["pick, full, press"] * 2


def test_a_number_that_was_not_heeded_is_told_with_its_step():
    events = {"rest": "a rest is taken", "summit": "the summit is reached"}
    for words in ("Take at most two rests, then reach the summit.", "Rest at most two times."):
        complaint = check_plan(plan("rest", "summit"), words, events).problems[0]
        assert complaint.endswith("in this order: rest: at most 2, summit: 1"), words
