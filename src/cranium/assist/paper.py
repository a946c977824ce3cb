"""The paper's own way (Appendix G): the model writes the automaton, and ours is held against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cranium.assist.model import Request
from cranium.assist.prompts import PAPER_AUTOMATON, paper_language
from cranium.assist.reply_parser import parse_automaton
from cranium.assist.transcript import Transcript
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.equivalence import Equivalence, equivalent
from cranium.errors import CraniumError, PlanError

__all__ = ["PaperAnswer", "ask_as_the_paper"]

MAX_TOKENS = 1500
"""Small models write much before they come to the point, and an answer that is cut off is none."""


@dataclass(frozen=True)
class PaperAnswer:
    """What a model made of the two prompts of Appendix G.

    Attributes:
        language: Its answer to the first prompt, as it is: nobody can check that.
        automaton: Its answer to the second.
        machine: The automaton in it, in our own form; None if there is none.
        problem: Why there is none.
        difference: How it differs from the machine it was compared with, if it was.

    Example:
        >>> PaperAnswer("L = {MP}", "I cannot draw.", None, "no automaton").right
        False
    """

    language: str
    automaton: str
    machine: CountingRewardAutomaton | None
    problem: str = ""
    difference: Equivalence | None = None

    @property
    def right(self) -> bool:
        """Whether it is the machine that it was compared with."""
        return bool(self.difference)


def ask_as_the_paper(
    description: str,
    events: Mapping[str, str],
    machine: CountingRewardAutomaton | None,
    model: Transcript,
) -> PaperAnswer:
    """Ask for a formal language and for an automaton, in the paper's words.

    Args:
        description: The task.
        events: The names of the events, and what they mean.
        machine: What the answer is compared with.
        model: Who is asked.

    Example:
        >>> from cranium.assist import RECORDED
        >>> from cranium.languages import compile_language
        >>> events = {
        ...     "M": "mail is collected",
        ...     "P": "an item has been delivered to the person",
        ...     "D": "a decoration is broken",
        ... }
        >>> found = ask_as_the_paper(
        ...     "Collect exactly one item of mail and deliver a single item of mail to a person. "
        ...     "Do not break a decoration at any point in the sequence.",
        ...     events,
        ...     compile_language("M P never D"),
        ...     Transcript(path=RECORDED / "paper.jsonl", mode="replay"),
        ... )
        >>> found.right, found.problem
        (False, 'the answer was cut off')
    """
    first = ({"role": "user", "content": paper_language(description, events)},)
    language = model.ask(Request(first, max_tokens=MAX_TOKENS)).text
    model.judge("not checked")
    second = (
        *first,
        {"role": "assistant", "content": language},
        {"role": "user", "content": PAPER_AUTOMATON},
    )
    text, finish = model.ask(Request(second, max_tokens=MAX_TOKENS))
    try:
        if finish == "length":
            raise PlanError("the answer was cut off")
        found = parse_automaton(text, events)
    except CraniumError as problem:
        model.judge(problem.message)
        return PaperAnswer(language, text, None, problem.message)
    answer = None if machine is None else equivalent(machine, found)
    model.judge("" if answer is None else answer.reason)
    return PaperAnswer(language, text, found, difference=answer)
