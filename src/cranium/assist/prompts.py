"""What is said to a language model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cranium.assist.examples import Example

__all__ = ["PAPER_AUTOMATON", "paper_language", "plan_messages", "repair", "with_warning"]

Message = dict[str, str]

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


class Shown(NamedTuple):
    """A task that the model is shown with its plan."""

    events: Mapping[str, str]
    description: str
    steps: tuple[tuple[str, tuple[str, ...], str, str], ...]  # phrase, events, how, count
    right: str
    wrong: str
    forbidden: tuple[str, ...] = ()

    def answer(self, rewards: Mapping[str, float]) -> str:
        """The plan as a model would write it."""
        keys = ("phrase", "events", "how", "count")
        steps = [dict(zip(keys, step, strict=True)) for step in self.steps]
        return json.dumps({"forbidden": self.forbidden, "steps": steps, **rewards})


SHOWN = (
    Shown(
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
    Shown(
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
    Shown(
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
    Shown(
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
    Shown(
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
NOTHING_SAID = {"success": 1, "failure": 0, "step_cost": 0}


def plan_messages(
    description: str,
    events: Mapping[str, str],
    examples: Sequence[Example],
    rewards: Sequence[str] = (),
) -> list[Message]:
    """The request for a plan; only examples that are not held back are shown."""
    system = "\n".join([SYSTEM, *(REWARDS[name] for name in rewards)])
    messages = [{"role": "system", "content": system}]
    for shown in SHOWN:
        answer = shown.answer({name: NOTHING_SAID[name] for name in rewards})
        both = (
            Example(tuple(shown.right.split()), True),
            Example(tuple(shown.wrong.split()), False),
        )
        task = _task(shown.description, shown.events) + _shown(both)
        messages += [_user(task), {"role": "assistant", "content": answer}]
    return [*messages, _user(_task(description, events) + _shown(examples))]


def _user(content: str) -> Message:
    return {"role": "user", "content": content}


def _task(description: str, events: Mapping[str, str]) -> str:
    listed = "\n".join(f"  {name}: {meaning}" for name, meaning in events.items())
    return f"Events:\n{listed}\nTask: {description}"


def _shown(examples: Sequence[Example]) -> str:
    lines = []
    for wanted, words in ((True, "These are right"), (False, "These are wrong")):
        some = [str(one) for one in examples if one.accepted == wanted and not one.held_back]
        if some:
            lines.append(f"{words}: {'; '.join(some)}")
    return "\n" + "\n".join(lines) if lines else ""


def repair(complaints: Sequence[str]) -> Message:
    """What is said to a model whose plan did not pass."""
    listed = "\n".join(f"- {one}" for one in complaints)
    return _user(
        f"This plan is not right:\n{listed}\nRead the description again, and answer with the "
        "corrected plan."
    )


def with_warning(messages: Sequence[Message], complaints: Sequence[str]) -> list[Message]:
    """The request once more, with what was wrong with an earlier answer."""
    *before, last = messages
    listed = "\n".join(f"- {one}" for one in complaints)
    return [*before, _user(f"{last['content']}\nAn earlier plan was wrong:\n{listed}")]


def paper_language(description: str, events: Mapping[str, str]) -> str:
    """The first prompt of Appendix G, in the paper's words.

    Example:
        >>> print(paper_language("Collect mail.", {"M": "mail is collected"}))
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


PAPER_AUTOMATON = (
    "Describe an automaton that is able to recognise this language. This automaton should accept "
    "any strings if they are in the language and reject any strings if they are not in the "
    "language. "
    "Describe the transition function for the machine in each state for each input symbol in the "
    "alphabet."
)
"""The second prompt of Appendix G."""
