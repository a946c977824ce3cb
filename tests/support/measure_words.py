"""How often a language model gets the tasks of ``tasks.yaml`` right, in three ways."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

import yaml

import cranium
from cranium import assist
from cranium.assist.plan import find_mentioned_rewards
from cranium.assist.prompts import build_plan_messages
from cranium.errors import CraniumError, DisagreementError

TASKS = Path(__file__).with_name("tasks.yaml")
EXAMPLES = ("accept", "reject", "held_out")


def tasks():
    """The tasks; their right languages as a list, empty if there is none."""
    found = yaml.safe_load(TASKS.read_text(encoding="utf-8"))
    for task in found:
        right = task["language"]
        task["right"] = [] if right == "none" else [right] if isinstance(right, str) else right
        task["examples"] = {key: task[key] for key in EXAMPLES}
    return found


def truths(task):
    """The machines that are right, with what the task pays."""
    paid = task.get("rewards", {})
    rewards = {"reward": paid.get("success", 1.0), "failure_reward": paid.get("failure", 0.0)}
    machines = [cranium.compile_language(text, **rewards) for text in task["right"]]
    cost = paid.get("step_cost", 0.0)
    return [cranium.automata.step_cost.add_step_cost(machine, cost) for machine in machines]


def is_right(task, machine):
    """Whether a machine is one of those that are right: by the language, and by what it pays."""
    return any(cranium.equivalent(machine, truth) for truth in truths(task))


def judged(task, machine):
    if machine is None:
        return "refused" if task["right"] else "right"
    return "right" if is_right(task, machine) else "wrong"


def once(task, model):
    """One call, and whatever comes of it, without any check."""
    events = task["events"]
    rewards = find_mentioned_rewards(task["description"])
    shown = assist.examples.parse_examples(task["examples"], events)
    messages = build_plan_messages(task["description"], events, shown, rewards)
    schema = assist.build_plan_schema(events, rewards)
    try:
        plan = assist.parse_plan(model.ask(assist.Request(tuple(messages), schema)).text, events)
        return assist.check_plan(plan, task["description"], events).machine
    except CraniumError:
        return None


def verified(task, model):
    """With verification and repair."""
    try:
        return assist.specify(
            task["description"], task["events"], task["examples"], model=model
        ).machine
    except DisagreementError:
        return None


def as_the_paper(task, model):
    """The model's own automaton, which knows no numbers."""
    return assist.ask_paper_prompts(task["description"], task["events"], None, model).machine


WAYS = {"one call": once, "verified": verified, "paper": as_the_paper}


def measure(model, ways=tuple(WAYS), some=None, say=print):
    """The verdict on each task, for each way."""
    found = {way: {} for way in ways}
    for way in ways:
        for task in tasks():
            if some and task["id"] not in some:
                continue
            if way == "paper" and not is_regular(task):
                continue
            begin = time.time()
            found[way][task["id"]] = judged(task, WAYS[way](task, model))
            say(f"{task['id']}: {way}: {found[way][task['id']]} ({time.time() - begin:.0f} s)")
    return found


def is_regular(task):
    """Whether the automata that the paper's prompts ask for can do it: they do not count."""
    machines = truths(task)
    return (
        "rewards" not in task
        and bool(machines)
        and not any(machine.num_counters for machine in machines)
    )


def summary(found, new=False):
    """How many were right, wrong and refused; tasks that nobody can do are counted apart.

    ``new`` counts only those on which nothing was tuned.
    """
    counted = [task for task in tasks() if not new or "new" in task["kind"]]
    possible = {task["id"] for task in counted if task["right"]}
    impossible = {task["id"] for task in counted} - possible
    for way, verdicts in found.items():
        can = Counter(verdict for name, verdict in verdicts.items() if name in possible)
        cannot = Counter(verdict for name, verdict in verdicts.items() if name in impossible)
        yield way, dict(can), dict(cannot)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--way", action="append", choices=list(WAYS))
    parser.add_argument("--task", action="append")
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    asked = assist.OpenAIModel(given.model, base_url=given.server)
    mode = "live" if given.record is None else "record"
    model = assist.Transcript(asked, given.record, mode)
    found = measure(
        model, given.way or list(WAYS), given.task, lambda text: print(text, flush=True)
    )
    for new in (False, True):
        for way, can, cannot in summary(found, new):
            print(f"{'new ones, ' if new else ''}{way}: {can}; impossible: {cannot}")
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
