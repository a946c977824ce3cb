"""What can be heard in a description without a model: words, numbers and points.

It is not much, but it is certain: a plan that does not heed it is sent back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cranium.assist.plan import TaskPlan, speaks_of_rewards

__all__ = ["unheard", "unpaid", "unspoken"]

# What a description says about numbers

NUMBERS = {
    word: number
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
NUMBER = rf"({'|'.join(NUMBERS)}|\d{{1,2}})"
SAYINGS: tuple[tuple[str, str, str], ...] = (
    (rf"at most {NUMBER}|no more than {NUMBER}", "at most {}", r"at most {}"),
    (rf"at least {NUMBER}|{NUMBER} or more", "{}+", r"{}\+|{}?[NMK].*"),
    (r"any number of|as often as (?:you|one|it) (?:like|want)s?|or not at all", "0+", r"0\+"),
    (r"twice (?:as many|as often|for every|for each)", "2N", r"2[NMK].*"),
)
"""What is said, the count that it asks for, and the counts that satisfy it."""


def unheard(plan: TaskPlan, description: str) -> list[str]:
    """What a description says about how often, and no step heeds.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["rest"], count="2")])
        >>> unheard(plan, "Rest at most two times.")
        ["the description says 'at most two', but no step has the count 'at most 2'"]
    """
    found = []
    for pattern, count, fits in SAYINGS:
        for match in re.finditer(pattern, description, re.IGNORECASE):
            said = next((part for part in match.groups() if part), "")
            number = NUMBERS.get(said.lower(), said)
            wanted = fits.replace("{}", str(number))
            if not any(re.fullmatch(wanted, step.count) for step in plan.steps):
                shown = count.replace("{}", str(number))
                found.append(
                    f"the description says {match[0]!r}, but no step has the count {shown!r}"
                )
    return found


EVERY_STEP = re.compile(r"\b(?:every|each|per|a) (?:single )?(?:step|move|action)\b", re.IGNORECASE)
AMOUNT = re.compile(
    rf"\b(half)(?: an?)? (?:points?)?|\b(\d+(?:\.\d+)?|{'|'.join(NUMBERS)}|an?) points?\b"
    rf"|\b(?:worth|costs?|pays?|loses?|gains?|earns?) (\d+(?:\.\d+)?)",
    re.IGNORECASE,
)


def unpaid(plan: TaskPlan, description: str) -> list[str]:
    """What a description says about points, and a plan does not pay; and the other way round.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["goal"])], success=10)
        >>> unpaid(plan, "Reach the goal for 10 points; lose half a point for every step.")
        ["the description says 'every step', but step_cost is 0",
        'the description speaks of 0.5 points, which nothing is worth']
    """
    if not speaks_of_rewards(description):
        return []
    found = []
    said = EVERY_STEP.search(description)
    if said and not plan.step_cost:
        found.append(f"the description says {said[0]!r}, but step_cost is 0")
    if plan.step_cost and not said:
        found.append("step_cost is not 0, but the description says nothing about every step")
    numbers = set()
    for match in AMOUNT.finditer(description):
        word = next(part for part in match.groups() if part).lower()
        numbers.add({"half": 0.5, "a": 1.0, "an": 1.0}.get(word) or float(NUMBERS.get(word, word)))
    paid = {abs(plan.success), abs(plan.failure), plan.step_cost}
    for number in sorted(numbers - paid):
        found.append(f"the description speaks of {number:g} points, which nothing is worth")
    for number in sorted(paid - numbers - {0.0, 1.0}):
        found.append(f"something is worth {number:g}, which the description does not say")
    return found


# What a description speaks of

ARTICLES = {"a", "an", "the", "it", "its", "that", "this", "some", "one", "no", "not"}
VERBS = {"is", "are", "was", "be", "been", "has", "have", "had"}
RELATIONS = {"to", "of", "at", "in", "on", "for", "by", "and", "or", "with", "into", "from"}
ANYTHING = {"somebody", "someone", "something", "item", "out", "up", "again", "then"}
COMMON = ARTICLES | VERBS | RELATIONS | ANYTHING
"""Words that say nothing about which event is meant."""


def unspoken(plan: TaskPlan, description: str, events: Mapping[str, str]) -> list[str]:
    """The events that a description speaks of, and a plan says nothing about.

    An event is spoken of if a word occurs that is in its name or meaning, and in no other event's.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["bell"])])
        >>> unspoken(plan, "Ring the bell in the rain.", {"bell": "", "rain": "", "train": ""})
        ['rain']
    """
    said = _words(description)
    own = {name: _words(f"{_apart(name)} {meaning}") for name, meaning in events.items()}
    found = []
    for name, words in own.items():
        others = set[str]().union(*(own[other] for other in own if other != name))
        special = [word for word in words if not any(_same(word, other) for other in others)]
        if name not in (*plan.used, *plan.forbidden) and any(
            _same(word, heard) for word in special for heard in said
        ):
            found.append(name)
    return found


def _apart(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ")


def _words(text: str) -> set[str]:
    found = set(re.findall(r"[^\W\d_]+", text.lower()))
    return {word for word in found - COMMON if len(word) > 2}


def _same(one: str, other: str) -> bool:
    """Whether two words are forms of one: collect, collected."""
    short, long = sorted((one, other), key=len)
    return short == long or (
        len(short) >= 4 and long.startswith(short) and len(long) < 2 * len(short)
    )
