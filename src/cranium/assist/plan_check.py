"""Checks of a plan: against its description, its examples, and the automaton that it leads to.

The problems are sent to the model and are part of recorded conversations, so changing their words
makes recordings useless.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import cranium.automata.check as checking
from cranium.assist.examples import Example
from cranium.assist.plan import TaskPlan, plan_to_language
from cranium.assist.text_heuristics import (
    check_counts,
    check_rewards,
    find_forbidden,
    find_mentioned,
    find_unused,
)
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.step_cost import add_step_cost
from cranium.automata.transition import Configuration
from cranium.errors import CraniumError, LanguageError
from cranium.languages import (
    Language,
    compile_language,
    is_member,
    near_misses,
    shortest_words,
)

__all__ = ["CheckedPlan", "accepts", "check_plan"]

Word = tuple[str, ...]
MAX_WORDS = 800
"""On how many words, at most, the machine is compared with the definition of its language."""


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """A plan, the language and the machine that it leads to, and the problems that were found.

    Attributes:
        plan: The plan.
        language: The language of the plan; None if it has none.
        machine: The machine of the language; None if there is none.
        problems: What is wrong with the plan, in words for the model.
        notes: What a person should look at, although it is not a problem.
        guesses: Those of the problems that heuristics found in the words of the description.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["mail"])])
        >>> found = check_plan(plan, "Collect mail.", {"mail": "mail is collected", "rain": ""})
        >>> found.problems, found.notes
        ((), ('may happen at any time: rain',))
    """

    plan: TaskPlan
    language: Language | None
    machine: CountingRewardAutomaton | None
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()

    @property
    def definite_problems(self) -> tuple[str, ...]:
        """The problems that are not guesses."""
        return tuple(each for each in self.problems if each not in self.guesses)


def check_plan(
    plan: TaskPlan,
    description: str,
    events: Mapping[str, str],
    examples: Sequence[Example] = (),
    *,
    first: bool = False,
    ignored: Iterable[str] = (),
    name: str = "",
) -> CheckedPlan:
    """Build the machine of a plan and look for problems.

    Args:
        plan: The plan.
        description: The task in words.
        events: The events and their meanings.
        examples: Sequences that must be accepted or rejected.
        first: Whether to reward the first completion, if a complete task could continue.
        ignored: Events that may happen at any time, although the description mentions them.
        name: The name of the machine; by default its language.

    Example:
        >>> from cranium.assist.plan import PlanStep
        >>> plan = TaskPlan(steps=[PlanStep(events=["mail"])])
        >>> events = {"mail": "mail is collected", "person": "it is delivered to a person"}
        >>> found = check_plan(plan, "Collect mail. Bring it to a person.", events)
        >>> print(*found.problems)
        the description speaks of 'person' (it is delivered to a person), which is in no step and
        not forbidden: it needs a step of its own. The steps are, in this order: mail, person
    """
    guesses = _find_guesses(plan, description, events, {*plan.ignored, *ignored})
    try:
        language = plan_to_language(plan)
        machine = compile_language(
            language, first=first, reward=plan.success, failure_reward=plan.failure, name=name
        )
        machine = add_step_cost(machine, plan.step_cost)
    except CraniumError as error:
        return CheckedPlan(
            plan, None, None, (_describe_error(error), *guesses), guesses=tuple(guesses)
        )
    problems = [*guesses, *_check_examples(machine, examples)]
    difference = _find_difference(language, machine, first=first)
    if difference is not None:
        problems.append(f"the machine and its language differ on {' '.join(difference)}")
    findings = checking.check(machine)
    problems += [str(each.message) for each in findings if each.severity == "error"]
    notes = [str(each.message) for each in findings if each.severity != "error"]
    notes += _find_notes(plan, description, events)
    return CheckedPlan(
        plan, language, machine, tuple(problems), notes=tuple(notes), guesses=tuple(guesses)
    )


def _find_guesses(
    plan: TaskPlan, description: str, events: Mapping[str, str], ignored: set[str]
) -> list[str]:
    """Return the problems that heuristics find in the words of a description."""
    forbidden = find_forbidden(description, events)
    unused = [
        name
        for name in find_unused(plan, description, events)
        if name not in {*ignored, *forbidden}
    ]
    order = _insert_events(unused, plan, find_mentioned(description, events))
    found = [
        f"the description speaks of {name!r} ({events[name]}), which is in no step and not "
        f"forbidden: it needs a step of its own. The steps are, in this order: {order}"
        for name in unused
    ]
    found += [
        f"the description says {words!r}, but {name!r} is not forbidden"
        for name, words in forbidden.items()
        if name not in {*ignored, *plan.forbidden}
    ]
    return [*found, *check_counts(plan, description, events), *check_rewards(plan, description)]


def _insert_events(unused: Sequence[str], plan: TaskPlan, mentioned: Sequence[str]) -> str:
    """List the events of the steps with the unused ones, in the order of their mentions."""
    names = list(plan.step_events)
    for name in unused:
        before = [each for each in mentioned[: mentioned.index(name)] if each in names]
        names.insert(names.index(before[-1]) + 1 if before else 0, name)
    return ", ".join(names)


def _describe_error(error: CraniumError) -> str:
    """Describe an error of the language in terms of plans."""
    if isinstance(error, LanguageError) and len(error.words) == 2:
        one, other = (" ".join(word) for word in error.words)
        if error.words[1][: len(error.words[0])] == error.words[0]:
            return (
                f"it cannot be seen when the task is complete: both {one!r} and {other!r} would "
                "complete it. The last step needs a definite count"
            )
    return error.message


def accepts(machine: CountingRewardAutomaton, word: Iterable[str]) -> bool:
    """Return whether a machine accepts a sequence of events, some of which may be unknown to it.

    Example:
        >>> from cranium.languages import compile_language
        >>> accepts(compile_language("bell knock"), ["bell", "rain", "knock"])
        True
    """
    known = frozenset(machine.propositions)
    return machine.run([{name} & known for name in word]).accepted


def _check_examples(machine: CountingRewardAutomaton, examples: Sequence[Example]) -> Iterable[str]:
    hidden = 0
    for one in examples:
        if accepts(machine, one.word) == one.accepted:
            continue
        if one.held_out:
            hidden += 1
            continue
        if one.accepted:
            reason = _explain_rejection(machine, one.word)
            yield f"the sequence {one} is right, but the plan rejects it{reason}"
        else:
            yield f"the sequence {one} is wrong, but the plan accepts it"
    if hidden:
        yield (
            f"the plan judges {hidden} more sequence{'s' if hidden > 1 else ''} wrongly, which "
            "cannot be shown: what is meant is not what the plan says"
        )


def _explain_rejection(machine: CountingRewardAutomaton, word: Word) -> str:
    """Say at which event a word is rejected, and which events were possible there."""
    known, current = frozenset(machine.propositions), machine.start
    for index, name in enumerate(word):
        after = machine.step(current, {name} & known).configuration
        if machine.is_terminal(after):
            if machine.is_accepting(after):
                return f": it is complete after {' '.join(word[: index + 1])}"
            possible = [
                one
                for one in machine.propositions
                if not _is_failure(machine, machine.step(current, {one}).configuration)
            ]
            before = f"after {' '.join(word[:index])}" if index else "at first"
            return f": {before} it expects {' or '.join(possible) or 'nothing'}, not {name}"
        current = after
    return ": it is not complete then"


def _is_failure(machine: CountingRewardAutomaton, configuration: Configuration) -> bool:
    return machine.is_terminal(configuration) and not machine.is_accepting(configuration)


def _find_difference(
    language: Language, machine: CountingRewardAutomaton, *, first: bool
) -> Word | None:
    """Return a word on which the machine and the definition of its language differ."""
    letters = sorted(language.letters)
    length = 1
    while sum(len(letters) ** n for n in range(length + 2)) <= MAX_WORDS:
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


def _find_notes(plan: TaskPlan, description: str, events: Iterable[str]) -> list[str]:
    notes = []
    free = [name for name in events if name not in (*plan.step_events, *plan.forbidden)]
    if free:
        notes.append(f"may happen at any time: {', '.join(free)}")
    text = " ".join(description.lower().split())
    for step in plan.steps:
        phrase = " ".join(step.phrase.lower().split()).strip(" .,;:")
        if phrase and phrase not in text:
            notes.append(f"not in the description: {step.phrase!r}")
    return notes
