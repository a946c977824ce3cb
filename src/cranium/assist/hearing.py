"""What can be heard in a description without a model: words, numbers and points.

It is not much, and not always right: a model has to heed it, a person need not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cranium.assist.plan import EVERY_STEP, TaskPlan, spoken_rewards

__all__ = ["spoken", "unheard", "unpaid", "unspoken"]

# What a description says about numbers

NUMBERS = {
    word: number
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
NUMBER = rf"({'|'.join(NUMBERS)}|\d{{1,2}})\b(?! (?:steps?|moves?|seconds?|minutes?|points?)\b)"
SAYINGS: tuple[tuple[str, str, str], ...] = (
    (rf"at most {NUMBER}|no more than {NUMBER}", "at most {}", r"at most {}"),
    (rf"at least {NUMBER}|{NUMBER} or more", "{}+", r"{}\+|{}?[NMK].*"),
    (r"any number of", "0+", r"[01]\+|[NMK].*"),
    (r"as often as (?:you|one|it) (?:like|want)s?|or not at all", "0+", r"0\+"),
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


WORD = rf"\b(?:{'|'.join(NUMBERS)}|an?)"
AMOUNT = re.compile(
    rf"\b(half)(?: an?)? points?\b|(?<![\d.,])(\d+(?:\.\d+)?|{WORD}) points?\b"
    r"|\b(?:worth|costs?|pays?|loses?|gains?|earns?) (\d+(?:\.\d+)?)\b(?![,.]\d| times)",
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
    paid = {abs(plan.success), abs(plan.failure), plan.step_cost}
    if not spoken_rewards(description):
        usual = (plan.success, plan.failure, plan.step_cost) == (1.0, 0.0, 0.0)
        return [] if usual else ["the plan pays points, of which the description does not speak"]
    found = []
    said = EVERY_STEP.search(description)
    if said and not plan.step_cost:
        found.append(f"the description says {said[0]!r}, but step_cost is 0")
    if plan.step_cost and not said:
        found.append("step_cost is not 0, but the description says nothing about every step")
    if plan.success <= plan.failure:
        found.append("failure is worth as much as success")
    amounts = []
    for match in AMOUNT.finditer(description):
        word = next(part for part in match.groups() if part).lower()
        amounts.append({"half": 0.5, "a": 1.0, "an": 1.0}.get(word) or _number(word))
    for number in sorted(set(amounts) - paid):
        found.append(f"the description speaks of {number:g} points, which nothing is worth")
    for number in sorted(paid - set(amounts) - {0.0, 1.0}) if amounts else ():
        found.append(f"something is worth {number:g}, which the description does not say")
    unusual = [plan.success != 1, plan.failure != 0, plan.step_cost != 0]
    if amounts and sum(unusual) > len(amounts):
        found.append(
            "more is worth points than the description says: success is 1, failure 0 and step_cost "
            "0, if it says nothing about them"
        )
    return found


def _number(word: str) -> float:
    return float(NUMBERS.get(word, word))


# What a description speaks of

ARTICLES = {"a", "an", "the", "it", "its", "that", "this", "some", "one", "no", "not"}
VERBS = {"is", "are", "was", "be", "been", "has", "have", "had"}
RELATIONS = {"to", "of", "at", "in", "on", "for", "by", "and", "or", "with", "into", "from"}
ANYTHING = {"somebody", "someone", "something", "item", "out", "up", "again", "then"}
COMMON = ARTICLES | VERBS | RELATIONS | ANYTHING
"""Words that say nothing about which event is meant."""


def spoken(description: str, events: Mapping[str, str]) -> list[str]:
    """The events that a description speaks of, as far as that can be heard.

    An event is spoken of if its name occurs, or a word that is in its name or meaning and in no
    other event's.

    Example:
        >>> spoken("Ring the bell in the rain.", {"bell": "", "rain": "", "train": ""})
        ['bell', 'rain']
    """
    said = _words(description)
    own = {name: _words(f"{_apart(name)} {meaning}") for name, meaning in events.items()}
    found = []
    for name, words in own.items():
        others = set[str]().union(*(own[other] for other in own if other != name))
        special = [word for word in words if not any(_same(word, other) for other in others)]
        if _is_named(name, description) or any(
            _same(word, other) for word in special for other in said
        ):
            found.append(name)
    return found


def unspoken(plan: TaskPlan, description: str, events: Mapping[str, str]) -> list[str]:
    """The events that a description speaks of, and a plan says nothing about.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["bell"])])
        >>> unspoken(plan, "Ring the bell in the rain.", {"bell": "", "rain": "", "train": ""})
        ['rain']
    """
    known = (*plan.used, *plan.forbidden)
    return [name for name in spoken(description, events) if name not in known]


def _is_named(name: str, description: str) -> bool:
    """Whether the very name occurs; A is also an article, where a sentence begins."""
    if name in ("a", "i", "I"):
        return False
    before = r"(?<=[a-z,] )" if name == "A" else r"(?<!\w)"
    return bool(re.search(rf"{before}{re.escape(name)}(?!\w)", description))


def _apart(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ")


def _words(text: str) -> set[str]:
    found = set(re.findall(r"[^\W\d_]+", text.lower()))
    return {word for word in found - COMMON if len(word) > 2}


ENDINGS = ("s", "es", "d", "ed", "ing", "er", "ers")


def _same(one: str, other: str) -> bool:
    """Whether two words are forms of one: collect, collected."""
    short, long = sorted((one, other), key=len)
    return short == long or (long.startswith(short) and long[len(short) :] in ENDINGS)
