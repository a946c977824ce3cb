"""A task in plain words, and the plans that a language model answers with: one right, one wrong."""

from __future__ import annotations

import json

TASK_IN_WORDS = "Collect one item of mail and deliver it to a person. Never break a decoration."
EVENTS = {
    "mail": "an item of mail is collected",
    "person": "an item is delivered to a person",
    "decoration": "a decoration is broken",
}
EXAMPLES = {"accept": ["mail person"], "reject": ["person", "mail mail person"]}


def plan_answer(*steps, forbidden=("decoration",), **more):
    """A plan as the text of an answer."""
    listed = [
        {"phrase": "", "events": list(names), "how": how, "count": count}
        for names, how, count in steps
    ]
    return json.dumps({"forbidden": list(forbidden), "steps": listed, **more})


def plan_step(name, count="1"):
    """A step of a plan: one event, so many times."""
    return ([name], "sequence", count)


RIGHT_PLAN = plan_answer(plan_step("mail"), plan_step("person"))
WRONG_PLAN = plan_answer(plan_step("mail", "N"), plan_step("person"))
