"""The compiler: from a language to a counting reward automaton."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice, product

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.build_nfa import When, build_nfa
from cranium.languages.compiler.counterexamples import AmbiguityError
from cranium.languages.compiler.determinise import Machine, determinise
from cranium.languages.compiler.emit import emit
from cranium.languages.compiler.ir import Choice, Counted, Counter, Letter, Node, walk
from cranium.languages.compiler.nfa import Nfa
from cranium.languages.compiler.planning import Plan, make_plan
from cranium.languages.compiler.reduce import merge_equal_states, prune_impossible
from cranium.languages.compiler.share_counters import Sharing
from cranium.languages.parser import as_language
from cranium.languages.syntax import Language

__all__ = ["compile_language", "language_class"]

MAX_MODES = 16


def compile_language(
    language: str | Language,
    *,
    first: bool = False,
    reward: float = 1.0,
    failure_reward: float = 0.0,
    name: str = "",
) -> CountingRewardAutomaton:
    """Compile a language to the machine that accepts exactly its words.

    Labels without any letter of the language do not change the machine. A label with two or more
    letters, a letter that no word allows at this point, and a forbidden event fail the task.

    Args:
        language: The task, as text or parsed.
        first: Reward the first completion. Otherwise a language in which a complete word can be
            continued is an error, because its end could not be seen when it happens.
        reward: The reward for completing the task.
        failure_reward: The reward for failing the task.
        name: The name of the machine. The default is the text of the language.

    Raises:
        LanguageSyntaxError: The text is not a language.
        LanguageError: No deterministic machine with counters accepts the language, or it is too
            large.

    Example:
        >>> machine = compile_language("A^N B C^N")
        >>> machine.size.states, machine.num_counters
        (2, 1)
        >>> machine.run("A A B C C").accepted
        True
        >>> compile_language("A^N A^M B^N")
        Traceback (most recent call last):
        cranium.errors.LanguageError: after A A the exponent N could have been counted in two ways,
        and one counter cannot hold both: 'A A B' and 'A A A B B' are both in the language
          fix: put an event between the parts that begin alike
    """
    task = as_language(language)
    budget = Budget()
    machine, counters = _build_machine(task, first, budget)
    return emit(
        task,
        machine,
        counters,
        budget,
        reward=reward,
        failure_reward=failure_reward,
        name=name or str(task)[:200],
    )


def language_class(machine: CountingRewardAutomaton) -> str:
    """Return the class of languages that a compiled machine belongs to.

    Example:
        >>> language_class(compile_language("A B")), language_class(compile_language("A^N B^N"))
        ('regular', 'counted with 1 counter')
    """
    k = machine.num_counters
    return f"counted with {k} counter{'s' if k > 1 else ''}" if k else "regular"


def _build_machine(
    task: Language, first: bool, budget: Budget
) -> tuple[Machine, tuple[Counter, ...]]:
    """Build the deterministic machine, with counters shared where that is possible."""
    plan, when, nfa, machine = _deterministic(task, first, budget)
    rename: dict[Counter, Counter] = {}
    sharing = Sharing(nfa, budget)
    counters = [counter for counter in plan.counters if not counter.bounded]
    for counter in list(counters[1:]):
        for other in counters[: counters.index(counter)]:
            if not sharing.can_share(other, counter):
                continue
            trial = {**rename, counter: other}
            try:
                shared = build_nfa(plan.expression, when, trial, budget)
                machine = determinise(shared, first=first, explain=False, budget=budget)
            except AmbiguityError:
                continue
            rename, sharing = trial, Sharing(shared, budget)
            counters.remove(counter)
            break
    return prune_impossible(merge_equal_states(machine, budget), budget), tuple(counters)


def _deterministic(
    task: Language, first: bool, budget: Budget
) -> tuple[Plan, _Modes, Nfa, Machine]:
    """Return the machine of the first way of counting that is deterministic."""
    plan = make_plan(task, budget=budget)
    found = _try_modes(plan, first, budget)
    if found is None and _has_alternatives(plan):
        found = _try_modes(make_plan(task, apart=True, budget=budget), first, budget)
    if found is not None:
        return found
    try:
        determinise(build_nfa(plan.expression, {}, {}), first=first)
    except AmbiguityError as problem:
        raise problem.to_language_error() from None
    raise AssertionError("a machine that was ambiguous is now deterministic")


def _try_modes(plan: Plan, first: bool, budget: Budget) -> tuple[Plan, _Modes, Nfa, Machine] | None:
    for when in islice(_modes(plan), MAX_MODES):
        nfa = build_nfa(plan.expression, when, {}, budget)
        with suppress(AmbiguityError):
            machine = determinise(nfa, first=first, explain=False, budget=budget)
            return plan, when, nfa, machine
    return None


def _has_alternatives(plan: Plan) -> bool:
    choices = (node for node in walk(plan.expression) if isinstance(node, Choice))
    return any(isinstance(node, Counted) for choice in choices for node in walk(choice))


_Modes = Mapping[int, When]


def _modes(plan: Plan) -> Iterator[_Modes]:
    """Yield the ways to count: each counted repetition at its last letter, or at its first."""
    blocks = [node for node in walk(plan.expression) if isinstance(node, Counted)]
    longer = [index for index, block in enumerate(blocks) if not _is_one_letter(block.unit)]
    choices: list[When] = ["last", "first"]
    for choice in product(choices, repeat=len(longer)):
        yield dict(zip(longer, choice, strict=True))


def _is_one_letter(unit: Node) -> bool:
    if isinstance(unit, Choice):
        return all(map(_is_one_letter, unit.parts))
    return isinstance(unit, Letter)
