"""The result of :func:`~cranium.assist.specify`: a machine, and how the model came to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cranium.assist.examples import Example
from cranium.assist.plan import TaskPlan
from cranium.assist.plan_check import CheckedPlan
from cranium.assist.restate import restate
from cranium.assist.transcript import Exchange
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.languages import Language, describe, near_misses, shortest_words

__all__ = ["Attempt", "Reading", "Specification", "Verdict"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer of a model.

    Attributes:
        plan: The plan in the answer; None if there was none.
        language: The language of the plan, as text; empty if it has none.
        problems: What is wrong with the answer; empty if it passed the checks.

    Example:
        >>> Attempt(None, "", ("the answer is not JSON",)).problems
        ('the answer is not JSON',)
    """

    plan: TaskPlan | None
    language: str
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """One interpretation of a description, on which one or more samples agree.

    Attributes:
        checked: The plan and its machine.
        votes: How many samples have this interpretation.
        differs: A sequence of labels that this reading and the first one judge differently.

    Example:
        >>> from cranium.assist import PlanStep, check_plan
        >>> plan = TaskPlan(steps=[PlanStep(events=["mail"])])
        >>> Reading(check_plan(plan, "Get mail.", {"mail": ""}), votes=2).votes
        2
    """

    checked: CheckedPlan
    votes: int
    differs: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answers of the model, and the interpretations that passed the checks.

    Attributes:
        attempts: The answers, in order.
        readings: The interpretations, the most common one first.
        notes: What a person should look at.

    Example:
        >>> Verdict(()).is_unanimous
        True
    """

    attempts: tuple[Attempt, ...]
    readings: tuple[Reading, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_unanimous(self) -> bool:
        """Whether all samples that passed the checks mean the same."""
        return len(self.readings) <= 1


@dataclass(frozen=True)
class Specification:
    """A task in words as a machine that passed the checks.

    Attributes:
        description: The task in words.
        events: The events and their meanings.
        plan: The plan that the model filled in.
        language: The formal language of the plan.
        machine: The machine of the language.
        examples: The examples that it was checked against.
        verdict: The answers of the model.
        transcript: The conversation.

    Example:
        >>> from cranium.assist import RECORDED, specify
        >>> task = specify(
        ...     "Collect one item of mail and deliver it to a person. Never break a decoration.",
        ...     {"M": "mail is collected", "P": "mail is delivered", "D": "a decoration breaks"},
        ...     {"accept": ["M P"], "reject": ["M M P", "M D P"]},
        ...     transcript=RECORDED / "mail.jsonl",
        ...     mode="replay",
        ... )
        >>> task.accepted_words(), task.rejected_words(most=2)
        ([('M', 'P')], [('P',), ('M',)])
        >>> len(task.transcript), task.verdict.attempts[0].language
        (1, 'M P never D')
    """

    description: str
    events: Mapping[str, str]
    plan: TaskPlan
    language: Language
    machine: CountingRewardAutomaton
    examples: tuple[Example, ...]
    verdict: Verdict
    transcript: tuple[Exchange, ...] = field(repr=False, default=())

    @property
    def restatement(self) -> str:
        """What the machine does, in English that is generated from the machine."""
        return f"{describe(self.language)}\n{restate(self.machine)}"

    def accepted_words(self, most: int = 5) -> list[tuple[str, ...]]:
        """Return the shortest sequences of events that are accepted."""
        return shortest_words(self.language, most)

    def rejected_words(self, most: int = 5) -> list[tuple[str, ...]]:
        """Return near misses: sequences that differ little from accepted ones."""
        longest = max((len(word) for word in self.accepted_words()), default=0)
        return near_misses(self.language, longest, most)
