"""Heuristics that compare a plan with the words of its description, without a model.

They look for mentions of events, numbers and points. They miss much and are sometimes wrong: a plan
of a model has to satisfy them, a plan that a person has edited need not. The problems that they
report are sent to the model and are part of recorded conversations, so changing their words makes
recordings useless.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cranium.assist.plan import EVERY_STEP, TaskPlan, find_mentioned_rewards

__all__ = ["check_counts", "check_rewards", "find_forbidden", "find_mentioned", "find_unused"]

# Numbers

NUMBERS = {
    word: number
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
NUMBER = rf"({'|'.join(NUMBERS)}|\d{{1,2}})\b(?! (?:steps?|moves?|seconds?|minutes?|points?)\b)"
COUNT_PHRASES: tuple[tuple[str, str, str], ...] = (
    (rf"at most {NUMBER}|no more than {NUMBER}", "at most {}", r"at most {}"),
    (rf"at least {NUMBER}|{NUMBER} or more", "{}+", r"{}\+|{}?[NMK].*"),
    (r"any number of", "0+", r"[01]\+|[NMK].*"),
    (r"as often as (?:you|one|it) (?:like|want)s?|or not at all", "0+", r"0\+"),
    (r"twice (?:as many|as often|for every|for each)", "2N", r"2[NMK].*"),
)
"""A phrase, the count that it asks for, and the counts that satisfy it."""


def check_counts(plan: TaskPlan, description: str, events: Mapping[str, str]) -> list[str]:
    """Report each phrase about a number that no step of the plan satisfies.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["rest"], count="2")])
        >>> print(*check_counts(plan, "Take at most two rests.", {"rest": ""}))
        the description says 'at most two', but no step has the count 'at most 2'. The counts are,
        in this order: rest: at most 2
    """
    found = []
    for pattern, count, fits in COUNT_PHRASES:
        for match in re.finditer(pattern, description, re.IGNORECASE):
            word = next((part for part in match.groups() if part), "")
            number = NUMBERS.get(word.lower(), word)
            wanted = fits.replace("{}", str(number))
            if not any(re.fullmatch(wanted, step.count) for step in plan.steps):
                shown = count.replace("{}", str(number))
                counts = _format_counts(plan, shown, _find_counted(match, description, events))
                found.append(
                    f"the description says {match[0]!r}, but no step has the count {shown!r}. "
                    f"The counts are, in this order: {counts}"
                )
    return found


def _find_counted(number: re.Match[str], description: str, events: Mapping[str, str]) -> str:
    """Return the event that a number most likely counts: the next one mentioned, or the last."""
    positions = _find_positions(description[number.end() :], events)
    if positions:
        return min(positions, key=lambda name: positions[name])
    return (find_mentioned(description[: number.start()], events) or [""])[-1]


def _format_counts(plan: TaskPlan, count: str, event: str) -> str:
    """Format the steps and their counts, with another count for one event."""
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


def check_rewards(plan: TaskPlan, description: str) -> list[str]:
    """Report each difference between the points in a description and the rewards of a plan.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["goal"])], success=10)
        >>> check_rewards(plan, "Reach the goal for 10 points; lose half a point for every step.")
        ["the description says 'every step', but step_cost is 0",
        'the description speaks of 0.5 points, which nothing is worth']
    """
    paid = {abs(plan.success), abs(plan.failure), plan.step_cost}
    if not find_mentioned_rewards(description):
        usual = (plan.success, plan.failure, plan.step_cost) == (1.0, 0.0, 0.0)
        return [] if usual else ["the plan pays points, of which the description does not speak"]
    found = []
    every_step = EVERY_STEP.search(description)
    if every_step and not plan.step_cost:
        found.append(f"the description says {every_step[0]!r}, but step_cost is 0")
    if plan.step_cost and not every_step:
        found.append("step_cost is not 0, but the description says nothing about every step")
    if plan.success <= plan.failure:
        found.append("failure is worth as much as success")
    amounts = []
    for match in AMOUNT.finditer(description):
        word = next(part for part in match.groups() if part).lower()
        amounts.append({"half": 0.5, "a": 1.0, "an": 1.0}.get(word) or _parse_number(word))
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


def _parse_number(word: str) -> float:
    return float(NUMBERS.get(word, word))


# Mentions of events

ARTICLES = {"a", "an", "the", "it", "its", "that", "this", "some", "one", "no", "not"}
VERBS = {"is", "are", "was", "be", "been", "has", "have", "had"}
RELATIONS = {"to", "of", "at", "in", "on", "for", "by", "and", "or", "with", "into", "from"}
FILLERS = {"somebody", "someone", "something", "item", "out", "up", "again", "then"}
COMMON = ARTICLES | VERBS | RELATIONS | FILLERS
"""Words that do not tell events apart."""


def find_mentioned(description: str, events: Mapping[str, str]) -> list[str]:
    """Return the events that a description mentions, in the order of the first mentions.

    An event is mentioned if its name occurs, or a word of its name or meaning that no other event
    has.

    Example:
        >>> find_mentioned("Ring the bell in the rain.", {"rain": "", "bell": "", "train": ""})
        ['bell', 'rain']
    """
    positions = _find_positions(description, events)
    return sorted(positions, key=lambda name: positions[name])


def _find_positions(description: str, events: Mapping[str, str]) -> dict[str, int]:
    """Return where each event is first mentioned, for those that are."""
    vocabulary = {
        name: set(_find_words(f"{_split_name(name)} {meaning}")) for name, meaning in events.items()
    }
    mentioned = _find_words(description)
    found = {}
    for name, words in vocabulary.items():
        others = set[str]().union(*(vocabulary[each] for each in vocabulary if each != name))
        own = [word for word in words if not any(_is_same(word, other) for other in others)]
        positions = [at for word, at in mentioned.items() if any(_is_same(word, o) for o in own)]
        positions += _find_name(name, description)
        if positions:
            found[name] = min(positions)
    return found


def find_unused(plan: TaskPlan, description: str, events: Mapping[str, str]) -> list[str]:
    """Return the events that a description mentions, and a plan neither uses nor forbids.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["bell"])])
        >>> find_unused(plan, "Ring the bell in the rain.", {"bell": "", "rain": "", "train": ""})
        ['rain']
    """
    known = (*plan.step_events, *plan.forbidden)
    return [name for name in find_mentioned(description, events) if name not in known]


NEVER = re.compile(
    r"\b(?:never|must not|may not|do not|don't|neither|without ever)\b", re.IGNORECASE
)
CONDITION = re.compile(
    r"\b(?:before|after|until|unless|while|when|again|twice|once|more|less|than|other|both|first)\b",
    re.IGNORECASE,
)
"""With one of these words in a sentence, "never" forbids something only at times."""


def find_forbidden(description: str, events: Mapping[str, str]) -> dict[str, str]:
    """Return the events that a description forbids, each with the words that do so.

    Example:
        >>> find_forbidden("Ring the bell. Never open the gate.", {"bell": "", "gate": ""})
        {'gate': 'Never open the gate'}
    """
    found: dict[str, str] = {}
    for sentence in re.split(r"[.;!?]", description):
        if CONDITION.search(sentence):
            continue
        for clause in re.split(r"[,:]| and | but | (?=without ever)", sentence):
            if NEVER.search(clause):
                found |= dict.fromkeys(find_mentioned(clause, events), clause.strip())
    return found


def _find_name(name: str, description: str) -> list[int]:
    """Return where the name itself occurs. At the start of a sentence, A is an article."""
    if name in ("a", "i", "I"):
        return []
    before = r"(?<=[a-z,] )" if name == "A" else r"(?<!\w)"
    return [m.start() for m in re.finditer(rf"{before}{re.escape(name)}(?!\w)", description)]


def _split_name(name: str) -> str:
    """Split camelCase and snake_case into words."""
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ")


def _find_words(text: str) -> dict[str, int]:
    """Return the words that can tell events apart, and where each occurs first."""
    found: dict[str, int] = {}
    for match in re.finditer(r"[^\W\d_]+", text.lower()):
        if len(match[0]) > 2 and match[0] not in COMMON:
            found.setdefault(match[0], match.start())
    return found


ENDINGS = ("s", "es", "d", "ed", "ing", "er", "ers")


def _is_same(one: str, other: str) -> bool:
    """Return whether two words are forms of the same word, such as collect and collected."""
    short, long = sorted((one, other), key=len)
    return short == long or (long.startswith(short) and long[len(short) :] in ENDINGS)
