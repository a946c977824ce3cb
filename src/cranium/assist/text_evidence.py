"""What can be heard in a description without a model: words, numbers and points.

It is not much, and not always right: a model has to heed it, a person need not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cranium.assist.plan import EVERY_STEP, TaskPlan, spoken_rewards

__all__ = ["banned", "spoken", "unheard", "unpaid", "unspoken"]

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


def unheard(plan: TaskPlan, description: str, events: Mapping[str, str]) -> list[str]:
    """What a description says about how often, and no step heeds.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["rest"], count="2")])
        >>> print(*unheard(plan, "Take at most two rests.", {"rest": ""}))
        the description says 'at most two', but no step has the count 'at most 2'. The counts are,
        in this order: rest: at most 2
    """
    found = []
    for pattern, count, fits in SAYINGS:
        for match in re.finditer(pattern, description, re.IGNORECASE):
            said = next((part for part in match.groups() if part), "")
            number = NUMBERS.get(said.lower(), said)
            wanted = fits.replace("{}", str(number))
            if not any(re.fullmatch(wanted, step.count) for step in plan.steps):
                shown = count.replace("{}", str(number))
                counts = _counts(plan, shown, _meant(match, description, events))
                found.append(
                    f"the description says {match[0]!r}, but no step has the count {shown!r}. "
                    f"The counts are, in this order: {counts}"
                )
    return found


def _meant(number: re.Match[str], description: str, events: Mapping[str, str]) -> str:
    """The event that a number most likely belongs to: what is spoken of next, or was before."""
    places = _places(description[number.end() :], events)
    if places:
        return min(places, key=lambda name: places[name])
    return (spoken(description[: number.start()], events) or [""])[-1]


def _counts(plan: TaskPlan, count: str, event: str) -> str:
    """The steps and their counts, with another count for an event."""
    return ", ".join(
        f"{' '.join(step.events)}: {count if event in step.events else step.count}"
        for step in plan.steps
    )


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
    """The events that a description speaks of, as far as that can be heard, the first one first.

    An event is spoken of if its name occurs, or a word that is in its name or meaning and in no
    other event's.

    Example:
        >>> spoken("Ring the bell in the rain.", {"rain": "", "bell": "", "train": ""})
        ['bell', 'rain']
    """
    places = _places(description, events)
    return sorted(places, key=lambda name: places[name])


def _places(description: str, events: Mapping[str, str]) -> dict[str, int]:
    """Where each event is first spoken of, if it is."""
    own = {name: set(_words(f"{_apart(name)} {meaning}")) for name, meaning in events.items()}
    said = _words(description)
    found = {}
    for name, words in own.items():
        others = set[str]().union(*(own[other] for other in own if other != name))
        special = [word for word in words if not any(_same(word, other) for other in others)]
        places = [at for word, at in said.items() if any(_same(word, own) for own in special)]
        places += _named(name, description)
        if places:
            found[name] = min(places)
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


NEVER = re.compile(
    r"\b(?:never|must not|may not|do not|don't|neither|without ever)\b", re.IGNORECASE
)
SOMETIMES = re.compile(
    r"\b(?:before|after|until|unless|while|when|again|twice|once|more|less|than|other|both|first)\b",
    re.IGNORECASE,
)
"""Where one of these words stands beside "never", something is forbidden only at times."""


def banned(description: str, events: Mapping[str, str]) -> dict[str, str]:
    """The events of which a description says that they must never happen, and the words for it.

    Example:
        >>> banned("Ring the bell. Never open the gate.", {"bell": "", "gate": ""})
        {'gate': 'Never open the gate'}
    """
    found: dict[str, str] = {}
    for sentence in re.split(r"[.;!?]", description):
        if SOMETIMES.search(sentence):
            continue
        for clause in re.split(r"[,:]| and | but | (?=without ever)", sentence):
            if NEVER.search(clause):
                found |= dict.fromkeys(spoken(clause, events), clause.strip())
    return found


def _named(name: str, description: str) -> list[int]:
    """Where the very name occurs; A is also an article, where a sentence begins."""
    if name in ("a", "i", "I"):
        return []
    before = r"(?<=[a-z,] )" if name == "A" else r"(?<!\w)"
    return [m.start() for m in re.finditer(rf"{before}{re.escape(name)}(?!\w)", description)]


def _apart(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ")


def _words(text: str) -> dict[str, int]:
    """The words that say something, and where each is first."""
    found: dict[str, int] = {}
    for match in re.finditer(r"[^\W\d_]+", text.lower()):
        if len(match[0]) > 2 and match[0] not in COMMON:
            found.setdefault(match[0], match.start())
    return found


ENDINGS = ("s", "es", "d", "ed", "ing", "er", "ers")


def _same(one: str, other: str) -> bool:
    """Whether two words are forms of one: collect, collected."""
    short, long = sorted((one, other), key=len)
    return short == long or (long.startswith(short) and long[len(short) :] in ENDINGS)
