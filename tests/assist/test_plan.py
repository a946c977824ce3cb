"""Plans: what they mean, against a slow and obvious reading, and what is refused."""

from __future__ import annotations

import json
import re
from itertools import permutations, product

import jsonschema
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import cranium
from cranium.assist import PlanStep, TaskPlan, build_plan_schema, parse_plan, plan_to_language
from cranium.assist.plan import check_events, find_mentioned_rewards
from cranium.errors import InvalidArgumentError, LanguageError, PlanError

EVENTS = ("a", "b", "c", "d")
COUNTS = ("1", "2", "3", "N", "M", "2N", "N+1", "2M+1", "0+", "1+", "2+", "at most 1", "at most 2")


def times(count, values, most):
    """The numbers of repetitions that a count allows, up to a number."""
    if count.startswith("at most "):
        return range(int(count[8:]) + 1)
    if count.endswith("+"):
        return range(int(count[:-1]), most + 1)
    if count.isdecimal():
        return [int(count)]
    head, _, more = count.partition("+")
    factor = int(head[:-1] or 1)
    return [factor * values[head[-1]] + int(more or 0)]


def of_step(step, values, most):
    """The words of one step, up to a length."""
    allowed = [t for t in times(step.count, values, most) if t <= most]
    if step.how == "any order" and len(step.events) > 1:  # each of them so often
        found = set()
        for chosen in product(allowed, repeat=len(step.events)):
            if sum(chosen) <= most:
                pairs = zip(step.events, chosen, strict=True)
                found |= set(permutations([name for name, t in pairs for _ in range(t)]))
        return found
    units = [(name,) for name in step.events] if step.how == "choice" else [step.events]
    size = len(units[0])
    return {
        sum(chosen, ()) for t in allowed if t * size <= most for chosen in product(units, repeat=t)
    }


def words(plan, most):
    """All words of a plan up to a length."""
    found = set()
    for n, m in product(range(1, most + 1), repeat=2):
        some = {()}
        for step in plan.steps:
            ways = of_step(step, {"N": n, "M": m}, most)
            some = {one + two for one in some for two in ways if len(one + two) <= most}
        found |= some
    return found


LENGTH = 4
steps = st.builds(
    PlanStep,
    events=st.lists(st.sampled_from(EVENTS), min_size=1, max_size=2, unique=True).map(tuple),
    how=st.sampled_from(["sequence", "choice", "any order"]),
    count=st.sampled_from(COUNTS),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(steps, min_size=1, max_size=3))
def test_a_plan_means_what_its_steps_say(some):
    plan = TaskPlan(steps=tuple(some))
    assert set(cranium.languages.words(plan_to_language(plan), LENGTH)) == words(plan, LENGTH)


@pytest.mark.slow
@pytest.mark.real(0.25)  # of many plans the end cannot be seen, or they cannot be counted
@settings(max_examples=50, deadline=None)
@given(st.lists(steps, min_size=1, max_size=3))
def test_the_machine_of_a_plan_accepts_what_its_steps_say(some):
    plan = TaskPlan(steps=tuple(some))
    try:
        machine = cranium.compile_language(plan_to_language(plan))
    except LanguageError:
        reject()
    wanted = words(plan, LENGTH)
    for word in (w for n in range(LENGTH) for w in product(machine.propositions, repeat=n)):
        assert machine.run(list(word)).accepted == (word in wanted)


@pytest.mark.slow
@given(st.lists(steps, min_size=1, max_size=3), st.lists(st.sampled_from(EVENTS), max_size=2))
def test_what_is_written_is_read_again_and_fits_the_schema(some, forbidden):
    plan = TaskPlan(steps=tuple(some), forbidden=tuple(dict.fromkeys(forbidden)))
    text = plan.model_dump_json()
    assert parse_plan(f"Here it is:\n```json\n{text}\n```", EVENTS) == plan
    answer = {key: json.loads(text)[key] for key in ("forbidden", "steps")}
    jsonschema.validate(answer, build_plan_schema(EVENTS))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("no { idea }", "not JSON"),
        ("[1, 2]", "not JSON"),
        ("{" * 5000, "not JSON"),
        ("{}", "steps: field required"),
        ('{"steps": []}', "steps: tuple should have at least 1 item"),
        ('{"steps": [{"events": []}]}', "steps.0.events"),
        ('{"steps": [{"events": ["a"]}], "code": "import os"}', "code: extra inputs"),
        ('{"steps": [{"events": ["a"], "count": "lots"}]}', "steps.0.count"),
        ('{"steps": [{"events": ["a"], "how": "somehow"}]}', "steps.0.how"),
        ('{"steps": [{"events": ["e"]}]}', "no such event: 'e'"),
        ('{"steps": [{"events": ["a"]}], "forbidden": ["x"]}', "no such event: 'x'"),
        ('{"steps": [{"events": ["a"]}], "step_cost": "much"}', "step_cost"),
        ('{"steps": [{"events": ["a"]}], "success": "Infinity"}', "success"),
        (json.dumps({"steps": [{"events": ["a"]}] * 100}), "steps"),
    ],
)
def test_what_is_no_plan_is_refused(text, said):
    with pytest.raises(PlanError, match=re.escape(said)):
        parse_plan(text, EVENTS)


def test_an_event_may_be_called_like_a_variable():
    plan = TaskPlan(steps=[PlanStep(events=["N"], count="N"), PlanStep(events=["M"], count="N")])
    machine = cranium.compile_language(plan_to_language(plan))
    assert machine.run("N N M M").accepted
    assert not machine.run("N N M").accepted


def test_a_model_may_think_aloud():
    draft, last = '{"steps": [{"events": ["a"]}]}', '{"steps": [{"events": ["b"]}]}'
    text = f"<think>{draft} or {{}}</think> {last} {{'not': 'this'}} {{\"nor\": 1}}"
    assert parse_plan(text, EVENTS).step_events == ("b",)


def test_a_plan_that_contradicts_itself_has_no_language():
    plan = TaskPlan(steps=[PlanStep(events=["a"])], forbidden=["a"])
    with pytest.raises(PlanError, match="'a' is forbidden, and yet it is part of a step"):
        plan_to_language(plan)
    plan = TaskPlan(steps=[PlanStep(events=["a", "a"], how="any order")])
    with pytest.raises(PlanError, match="named once"):
        plan_to_language(plan)


@pytest.mark.parametrize(
    "events", [{}, [], "a", {"a b": "x"}, {"never": "x"}, {"a": 1}, {1: "x"}, {"False": ""}]
)
def test_events_are_names_with_meanings(events):
    with pytest.raises(InvalidArgumentError):
        check_events(events)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("You lose a point for every step.", ("success", "step_cost")),
        ("Finishing is worth 10 points.", ("success",)),
        ("Never wake the dog; then you lose 5 points.", ("success", "failure")),
        (
            "A step costs nothing; each move costs 1, and falling costs 9.",
            ("success", "failure", "step_cost"),
        ),
        ("Do not break a decoration at any point in the sequence.", ()),
        ("Collect the mail.", ()),
    ],
)
def test_rewards_are_asked_for_only_where_the_words_speak_of_them(words, wanted):
    assert find_mentioned_rewards(words) == wanted
    schema = build_plan_schema(EVENTS, wanted)
    assert set(schema["properties"]) == {"forbidden", "steps", *wanted}
