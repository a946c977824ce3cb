"""The prompts of the paper (Appendix G): the model itself writes an automaton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cranium.assist.automaton_parser import parse_automaton
from cranium.assist.model import Request
from cranium.assist.prompts import AUTOMATON_PROMPT, build_language_prompt
from cranium.assist.transcript import Transcript
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.equivalence import Equivalence, equivalent
from cranium.errors import CraniumError, PlanError

__all__ = ["PaperAnswer", "ask_paper_prompts"]

MAX_TOKENS = 1500
"""Small models write much before the automaton, and an answer that is cut off is useless."""


@dataclass(frozen=True)
class PaperAnswer:
    """The answers of a model to the two prompts of Appendix G.

    Attributes:
        language: The answer to the first prompt. It is not checked.
        automaton: The answer to the second prompt.
        machine: The automaton in that answer; None if none could be read.
        problem: Why none could be read.
        difference: The comparison with the reference machine, if there was one.

    Example:
        >>> PaperAnswer("L = {MP}", "I cannot draw.", None, "no automaton").is_equivalent
        False
    """

    language: str
    automaton: str
    machine: CountingRewardAutomaton | None
    problem: str = ""
    difference: Equivalence | None = None

    @property
    def is_equivalent(self) -> bool:
        """Whether the automaton is equivalent to the reference machine."""
        return bool(self.difference)


def ask_paper_prompts(
    description: str,
    events: Mapping[str, str],
    machine: CountingRewardAutomaton | None,
    model: Transcript,
) -> PaperAnswer:
    """Ask a model for a formal language and then for an automaton, with the prompts of the paper.

    Args:
        description: The task, in plain words.
        events: The names of the events and their meanings.
        machine: The reference machine to compare the answer with, or None.
        model: The model to ask.

    Example:
        >>> from cranium.assist import RECORDED
        >>> from cranium.languages import compile_language
        >>> events = {
        ...     "M": "mail is collected",
        ...     "P": "an item has been delivered to the person",
        ...     "D": "a decoration is broken",
        ... }
        >>> found = ask_paper_prompts(
        ...     "Collect exactly one item of mail and deliver a single item of mail to a person. "
        ...     "Do not break a decoration at any point in the sequence.",
        ...     events,
        ...     compile_language("M P never D"),
        ...     Transcript(path=RECORDED / "paper.jsonl", mode="replay"),
        ... )
        >>> found.is_equivalent, found.problem
        (False, 'the answer was cut off')
    """
    first = ({"role": "user", "content": build_language_prompt(description, events)},)
    language = model.ask(Request(first, max_tokens=MAX_TOKENS)).text
    model.add_verdict("not checked")
    second = (
        *first,
        {"role": "assistant", "content": language},
        {"role": "user", "content": AUTOMATON_PROMPT},
    )
    text, finish = model.ask(Request(second, max_tokens=MAX_TOKENS))
    try:
        if finish == "length":
            raise PlanError("the answer was cut off")
        found = parse_automaton(text, events)
    except CraniumError as problem:
        model.add_verdict(problem.message)
        return PaperAnswer(language, text, None, problem.message)
    difference = None if machine is None else equivalent(machine, found)
    model.add_verdict("" if difference is None else difference.reason)
    return PaperAnswer(language, text, found, difference=difference)
