"""The prompts for a language model.

Their words are part of recorded conversations and of the measured results, so any change makes
recordings useless.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cranium.assist.examples import Example
from cranium.assist.model import Message

__all__ = [
    "AUTOMATON_PROMPT",
    "build_language_prompt",
    "build_plan_messages",
    "build_repair_message",
    "build_retry_messages",
]

SYSTEM = """\
You turn the description of a task into a plan. Answer with one JSON object and nothing else.
"forbidden" lists the events that the description says must never happen.
"steps" says what must happen, in this order. Each step has:
  "phrase": the words of the description that it comes from.
  "events": names of events from the list, and no others.
  "how": "sequence" if they happen one after the other, "choice" if one of them happens,
    "any order" if each of them happens but the order is free.
  "count": how often the step is repeated: "1"; "3"; "N" for some number that is not given, the
    same wherever N is written; "M" for another such number; "2N" for twice as many as N; "1+" for
    one or more; "0+" for any number, also none; "at most 2".
Events that the description does not speak of are left out. Each thing that must happen is one
step, also what ends another step; no step is added that the description does not ask for."""

REWARDS = {
    "success": '"success" is what completing the task is worth, 1 if nothing is said.',
    "failure": '"failure" is what failing is worth, negative if points are lost.',
    "step_cost": '"step_cost" is how much is lost in every step.',
}


class FewShotTask(NamedTuple):
    """A task with its plan, which the model is shown before the task in question.

    Attributes:
        events: The events and their meanings.
        description: The task in words.
        steps: The phrase, the events, the combination and the count of each step.
        accepted: A sequence of events that the task accepts.
        rejected: A sequence of events that it rejects.
        forbidden: The forbidden events.
    """

    events: Mapping[str, str]
    description: str
    steps: tuple[tuple[str, tuple[str, ...], str, str], ...]
    accepted: str
    rejected: str
    forbidden: tuple[str, ...] = ()

    def format_answer(self, rewards: Mapping[str, float]) -> str:
        """Return the plan as JSON."""
        keys = ("phrase", "events", "how", "count")
        steps = [dict(zip(keys, step, strict=True)) for step in self.steps]
        return json.dumps({"forbidden": self.forbidden, "steps": steps, **rewards})


FEW_SHOT_TASKS = (
    FewShotTask(
        {
            "egg": "an egg is found",
            "dark": "it is dark",
            "sell": "an egg is sold",
            "fox": "the fox comes",
        },
        "Find eggs until it is dark, and then sell as many eggs as were found. No fox may come.",
        (
            ("Find eggs", ("egg",), "sequence", "N"),
            ("until it is dark", ("dark",), "sequence", "1"),
            ("sell as many eggs as were found", ("sell",), "sequence", "N"),
        ),
        "egg egg dark sell sell",
        "egg egg dark sell",
        ("fox",),
    ),
    FewShotTask(
        {
            "red": "the red door is opened",
            "blue": "the blue door is opened",
            "nap": "a nap is taken",
            "bus": "the bus leaves",
            "car": "the car leaves",
            "snow": "it snows",
        },
        "Open the red and the blue door in either order, take at most one nap, and leave three "
        "times by bus or by car.",
        (
            ("Open the red and the blue door in either order", ("red", "blue"), "any order", "1"),
            ("take at most one nap", ("nap",), "sequence", "at most 1"),
            ("leave three times by bus or by car", ("bus", "car"), "choice", "3"),
        ),
        "blue red nap bus car bus",
        "red nap bus bus bus",
    ),
    FewShotTask(
        {
            "dig": "a hole is dug",
            "fill": "a hole is filled",
            "bell": "the bell rings",
            "bird": "a bird sings",
        },
        "Dig a hole and fill it again, over and over. Then the bell rings twice for every hole.",
        (
            ("Dig a hole and fill it again, over and over", ("dig", "fill"), "sequence", "N"),
            ("the bell rings twice for every hole", ("bell",), "sequence", "2N"),
        ),
        "dig fill bell bell",
        "dig fill bell",
    ),
    FewShotTask(
        {
            "coin": "a coin is put in",
            "song": "a song is played",
            "gate": "the gate opens",
            "rat": "a rat is seen",
        },
        "Put in exactly one coin, play songs as often as you like, or none, until the gate opens.",
        (
            ("Put in exactly one coin", ("coin",), "sequence", "1"),
            ("play songs as often as you like, or none", ("song",), "sequence", "0+"),
            ("until the gate opens", ("gate",), "sequence", "1"),
        ),
        "coin song song gate",
        "coin coin gate",
    ),
    FewShotTask(
        {
            "plate": "a plate is used",
            "wash": "a plate is washed",
            "glass": "a glass is used",
            "rinse": "a glass is rinsed",
        },
        "Use some plates and wash every one of them. Then use some glasses, and rinse all of them.",
        (
            ("Use some plates", ("plate",), "sequence", "N"),
            ("wash every one of them", ("wash",), "sequence", "N"),
            ("Then use some glasses", ("glass",), "sequence", "M"),
            ("rinse all of them", ("rinse",), "sequence", "M"),
        ),
        "plate plate wash wash glass rinse",
        "plate wash wash glass rinse",
    ),
)
DEFAULT_REWARDS = {"success": 1, "failure": 0, "step_cost": 0}


def build_plan_messages(
    description: str,
    events: Mapping[str, str],
    examples: Sequence[Example],
    rewards: Sequence[str] = (),
) -> list[Message]:
    """Build the messages that ask for a plan.

    Args:
        description: The task.
        events: The events and their meanings.
        examples: The examples of the task. Those that are held out are not shown.
        rewards: The rewards to ask for.
    """
    system = "\n".join([SYSTEM, *(REWARDS[name] for name in rewards)])
    messages = [{"role": "system", "content": system}]
    for task in FEW_SHOT_TASKS:
        answer = task.format_answer({name: DEFAULT_REWARDS[name] for name in rewards})
        both = (
            Example(tuple(task.accepted.split()), True),
            Example(tuple(task.rejected.split()), False),
        )
        question = _format_task(task.description, task.events) + _format_examples(both)
        messages += [_user_message(question), {"role": "assistant", "content": answer}]
    question = _format_task(description, events) + _format_examples(examples)
    return [*messages, _user_message(question)]


def _user_message(content: str) -> Message:
    return {"role": "user", "content": content}


def _format_task(description: str, events: Mapping[str, str]) -> str:
    lines = "\n".join(f"  {name}: {meaning}" for name, meaning in events.items())
    return f"Events:\n{lines}\nTask: {description}"


def _format_examples(examples: Sequence[Example]) -> str:
    lines = []
    for accepted, words in ((True, "These are right"), (False, "These are wrong")):
        shown = [str(one) for one in examples if one.accepted == accepted and not one.held_out]
        if shown:
            lines.append(f"{words}: {'; '.join(shown)}")
    return "\n" + "\n".join(lines) if lines else ""


def _format_problems(problems: Sequence[str]) -> str:
    return "\n".join(f"- {problem}" for problem in problems)


def build_repair_message(problems: Sequence[str]) -> Message:
    """Build the message that sends a plan with problems back to the model."""
    return _user_message(
        f"This plan is not right:\n{_format_problems(problems)}\nRead the description again, and "
        "answer with the corrected plan."
    )


def build_retry_messages(messages: Sequence[Message], problems: Sequence[str]) -> list[Message]:
    """Repeat a request in a new conversation, with the problems of an earlier answer."""
    *before, last = messages
    warning = f"An earlier plan was wrong:\n{_format_problems(problems)}"
    return [*before, _user_message(f"{last['content']}\n{warning}")]


def build_language_prompt(description: str, events: Mapping[str, str]) -> str:
    """Build the first prompt of Appendix G of the paper.

    Example:
        >>> print(build_language_prompt("Collect mail.", {"M": "mail is collected"}))
        The following events of interest have been defined: “M” mail is collected.
        <BLANKLINE>
        A sequence of events can be represented as a string from a formal language.
        <BLANKLINE>
        Provide the formal language corresponding to the sequence of events: Collect mail.
    """
    listed = "; ".join(f"“{name}” {meaning}" for name, meaning in events.items())
    return (
        f"The following events of interest have been defined: {listed}.\n\n"
        "A sequence of events can be represented as a string from a formal language.\n\n"
        f"Provide the formal language corresponding to the sequence of events: {description}"
    )


AUTOMATON_PROMPT = (
    "Describe an automaton that is able to recognise this language. This automaton should accept "
    "any strings if they are in the language and reject any strings if they are not in the "
    "language. "
    "Describe the transition function for the machine in each state for each input symbol in the "
    "alphabet."
)
"""The second prompt of Appendix G of the paper."""
