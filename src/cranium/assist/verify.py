"""Whether a plan can be what was meant: everything that can be found out without asking anybody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import cranium.automata.check as checking
from cranium.assist.examples import Example
from cranium.assist.plan import TaskPlan, language_of
from cranium.assist.text_evidence import banned, spoken, unheard, unpaid, unspoken
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.step_cost import with_step_cost
from cranium.automata.transition import Configuration
from cranium.errors import CraniumError, LanguageError
from cranium.languages import (
    Language,
    compile_language,
    is_member,
    near_misses,
    shortest_words,
)

__all__ = ["Checked", "accepts", "check_plan"]

Word = tuple[str, ...]
MOST_WORDS = 800
"""How many words the machine and its language are compared on, at most, besides the shortest."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A plan, what it means, and what speaks against it.

    Attributes:
        plan: The plan.
        language: The language that it means; None if it means none.
        machine: The machine; None if there is none.
        complaints: What speaks against it, in words that a model may read.
        doubts: Those of them that are only guesses about the description.
        remarks: What a person should look at, though it speaks against nothing.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["mail"])])
        >>> found = check_plan(plan, "Collect mail.", {"mail": "mail is collected", "rain": ""})
        >>> found.complaints, found.remarks
        ((), ('may happen at any time: rain',))
    """

    plan: TaskPlan
    language: Language | None
    machine: CountingRewardAutomaton | None
    complaints: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def certain(self) -> tuple[str, ...]:
        """The complaints that are no guesses."""
        return tuple(one for one in self.complaints if one not in self.doubts)


def check_plan(
    plan: TaskPlan,
    description: str,
    events: Mapping[str, str],
    examples: Sequence[Example] = (),
    *,
    first: bool = False,
    ignored: Iterable[str] = (),
    name: str = "",
) -> Checked:
    """Make the machine of a plan, and look for what speaks against it.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["mail"])])
        >>> events = {"mail": "mail is collected", "person": "it is delivered to a person"}
        >>> found = check_plan(plan, "Collect mail. Bring it to a person.", events)
        >>> print(*found.complaints)
        the description speaks of 'person' (it is delivered to a person), which is in no step and
        not forbidden: it needs a step of its own. The steps are, in this order: mail, person
    """
    doubts = _doubts(plan, description, events, {*plan.ignored, *ignored})
    try:
        language = language_of(plan)
        machine = compile_language(
            language, first=first, reward=plan.success, failure_reward=plan.failure, name=name
        )
        machine = with_step_cost(machine, plan.step_cost)
    except CraniumError as problem:
        return Checked(plan, None, None, (_in_words(problem), *doubts), doubts=tuple(doubts))
    complaints = list(doubts)
    complaints += _example_complaints(machine, examples)
    different = _difference(language, machine, first=first)
    if different is not None:
        complaints.append(f"the machine and its language differ on {' '.join(different)}")
    findings = checking.check(machine)
    complaints += [str(one.message) for one in findings if one.severity == "error"]
    remarks = [str(one.message) for one in findings if one.severity != "error"]
    remarks += _remarks(plan, description, events)
    told = (tuple(complaints), tuple(remarks), tuple(doubts))
    return Checked(plan, language, machine, *told)


def _doubts(
    plan: TaskPlan, description: str, events: Mapping[str, str], ignored: set[str]
) -> list[str]:
    """What is guessed from the words of a description."""
    never = banned(description, events)
    missing = [one for one in unspoken(plan, description, events) if one not in {*ignored, *never}]
    order = _order(missing, plan, spoken(description, events))
    found = [
        f"the description speaks of {one!r} ({events[one]}), which is in no step and not "
        f"forbidden: it needs a step of its own. The steps are, in this order: {order}"
        for one in missing
    ]
    found += [
        f"the description says {said!r}, but {one!r} is not forbidden"
        for one, said in never.items()
        if one not in {*ignored, *plan.forbidden}
    ]
    return [*found, *unheard(plan, description, events), *unpaid(plan, description)]


def _order(events: Sequence[str], plan: TaskPlan, said: Sequence[str]) -> str:
    """The events of the steps with those that are missing, as if told in the order of doing."""
    names = list(plan.used)
    for one in events:
        before = [name for name in said[: said.index(one)] if name in names]
        names.insert(names.index(before[-1]) + 1 if before else 0, one)
    return ", ".join(names)


def _in_words(problem: CraniumError) -> str:
    """An error about a language, for somebody who writes plans."""
    if isinstance(problem, LanguageError) and len(problem.words) == 2:
        one, other = (" ".join(word) for word in problem.words)
        if problem.words[1][: len(problem.words[0])] == problem.words[0]:
            return (
                f"it cannot be seen when the task is complete: both {one!r} and {other!r} would "
                "complete it. The last step needs a definite count"
            )
    return problem.message


def accepts(machine: CountingRewardAutomaton, word: Iterable[str]) -> bool:
    """Whether a machine accepts a sequence of events, of which it may not know all.

    Example:
        >>> from cranium.languages import compile_language
        >>> accepts(compile_language("bell knock"), ["bell", "rain", "knock"])
        True
    """
    known = frozenset(machine.propositions)
    return machine.run([{name} & known for name in word]).accepted


def _example_complaints(
    machine: CountingRewardAutomaton, examples: Sequence[Example]
) -> Iterable[str]:
    hidden = 0
    for one in examples:
        if accepts(machine, one.word) == one.accepted:
            continue
        if one.held_back:
            hidden += 1
            continue
        if one.accepted:
            yield f"the sequence {one} is right, but the plan rejects it{_where(machine, one.word)}"
        else:
            yield f"the sequence {one} is wrong, but the plan accepts it"
    if hidden:
        yield (
            f"the plan judges {hidden} more sequence{'s' if hidden > 1 else ''} wrongly, which "
            "cannot be shown: what is meant is not what the plan says"
        )


def _where(machine: CountingRewardAutomaton, word: Word) -> str:
    """At which event a word goes wrong, and which ones could have come instead."""
    known, here = frozenset(machine.propositions), machine.start
    for place, name in enumerate(word):
        then = machine.step(here, {name} & known).configuration
        if machine.is_terminal(then):
            if machine.is_accepting(then):
                return f": it is complete after {' '.join(word[: place + 1])}"
            could = [
                one
                for one in machine.propositions
                if not _fails(machine, machine.step(here, {one}).configuration)
            ]
            after = f"after {' '.join(word[:place])}" if place else "at first"
            return f": {after} it expects {' or '.join(could) or 'nothing'}, not {name}"
        here = then
    return ": it is not complete then"


def _fails(machine: CountingRewardAutomaton, configuration: Configuration) -> bool:
    return machine.is_terminal(configuration) and not machine.is_accepting(configuration)


def _difference(
    language: Language, machine: CountingRewardAutomaton, *, first: bool
) -> Word | None:
    """A word on which the machine and the slow, obvious reading of its language differ."""
    letters = sorted(language.letters)
    length = 1
    while sum(len(letters) ** n for n in range(length + 2)) <= MOST_WORDS:
        length += 1
    short = (word for n in range(length + 1) for word in product(letters, repeat=n))
    known = shortest_words(language, 10)
    near = near_misses(language, max((len(word) for word in known), default=0), most=20)
    for word in (*short, *known, *near):
        member = is_member(language, word)
        if member and first:
            member = not any(is_member(language, word[:n]) for n in range(len(word)))
        if member != accepts(machine, word):
            return tuple(word)
    return None


def _remarks(plan: TaskPlan, description: str, events: Mapping[str, Any]) -> list[str]:
    found = []
    free = [name for name in events if name not in (*plan.used, *plan.forbidden)]
    if free:
        found.append(f"may happen at any time: {', '.join(free)}")
    said = " ".join(description.lower().split())
    for step in plan.steps:
        phrase = " ".join(step.phrase.lower().split()).strip(" .,;:")
        if phrase and phrase not in said:
            found.append(f"not in the description: {step.phrase!r}")
    return found
