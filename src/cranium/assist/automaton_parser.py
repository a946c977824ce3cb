"""Reading an automaton from the answer of a language model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from cranium.assist.transition_parser import STATE, Rule, read_rules, state_key
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Transition
from cranium.errors import PlanError

__all__ = ["parse_automaton"]

FAILED = "failed"
MAX_TEXT = 20_000
"""The maximum length of an answer. Models are asked for far shorter ones."""
MAX_NAME = 100
"""Longer words are not names."""


def parse_automaton(text: str, events: Iterable[str]) -> CountingRewardAutomaton:
    """Read the automaton that a model describes.

    It reads transition functions, such as ``δ(q0, M) = q1`` in plain text or LaTeX, arrows such as
    ``q0 --M--> q1``, tables, and sentences such as "On input M, move to state q1". As in a finite
    automaton, an event without a transition fails.

    Args:
        text: The answer, with at most 20,000 characters.
        events: The names of the events.

    Raises:
        PlanError: No automaton can be read from the answer.

    Example:
        >>> text = "δ(q0, M) → q1, δ(q1, P) → q2. The accepting state is q2."
        >>> machine = parse_automaton(text, ["M", "P", "D"])
        >>> machine.run("M P").accepted, machine.run("M D P").accepted
        (True, False)
        >>> parse_automaton("It is a nice automaton.", ["M"])
        Traceback (most recent call last):
        cranium.errors.PlanError: there is no transition function in the answer
    """
    if len(text) > MAX_TEXT:
        raise PlanError(
            f"an answer has at most {MAX_TEXT:,} characters, this has {len(text):,}",
            fix="ask for the transition function only",
        )
    names = list(events)
    plain = _strip_markup(text)
    rules = _merge_duplicates(read_rules(plain, names))
    if not rules:
        raise PlanError("there is no transition function in the answer")
    known = list(dict.fromkeys(name for rule in rules for name in (rule.source, rule.target)))
    accepting = _find_accepting(plain, known)
    if not accepting:
        raise PlanError(f"the answer does not say which of {', '.join(known)} is accepting")
    rules = _remove_traps(rules, accepting)
    if not rules:
        raise PlanError(f"nothing leads to {', '.join(accepting)}")
    initial = _find_initial(plain, known) or rules[0].source
    return _build_machine(rules, names, initial, accepting)


def _remove_traps(rules: Sequence[Rule], accepting: Sequence[str]) -> list[Rule]:
    """Remove the states from which no accepting state can be reached."""
    alive = set(accepting)
    while True:
        more = {rule.source for rule in rules if rule.target in alive} - alive
        if not more:
            return [rule for rule in rules if rule.source in alive and rule.target in alive]
        alive |= more


def _build_machine(
    rules: Sequence[Rule], names: Sequence[str], initial: str, accepting: Sequence[str]
) -> CountingRewardAutomaton:
    """Build the machine. It ends in accepting states; missing transitions and two events fail."""
    if initial in accepting:
        raise PlanError(f"the automaton accepts at once, in {initial}")
    failed = FAILED if FAILED not in {rule.target for rule in rules} else f"{FAILED} at once"
    states = [initial, *(rule.source for rule in rules), *(rule.target for rule in rules)]
    nonterminal = [state for state in dict.fromkeys(states) if state not in accepting]
    alone = {
        name: " & ".join([name, *(f"!{other}" for other in names if other != name)])
        for name in names
    }
    pairs = [f"{one} & {other}" for one, other in combinations(names, 2)]
    transitions = []
    for state in nonterminal:
        own = {rule.event: rule.target for rule in rules if rule.source == state}
        for event, target in own.items():
            reward = 1.0 if target in accepting else 0.0
            transitions.append(
                Transition(source=state, guard=alone[event], target=target, reward=reward)
            )
        wrong = [*(alone[name] for name in names if name not in own), *pairs]
        if wrong:
            transitions.append(Transition(source=state, guard=" | ".join(wrong), target=failed))
    return CountingRewardAutomaton(
        propositions=names,
        initial=initial,
        states=nonterminal,
        terminal=[*dict.fromkeys(accepting), failed],
        accepting=list(dict.fromkeys(accepting)),
        transitions=transitions,
        name="written by the model",
    )


def _strip_markup(text: str) -> str:
    """Remove the markup of LaTeX and Markdown, and words that are too long for names."""
    text = re.sub(r"\\(?:text|mathrm|mathit|mathbf)\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\(?:right|long)?(?:rightarrow|arrow)|\\to\b|\\mapsto|→|⟶|=>|⇒", "->", text)
    text = re.sub(r"\\delta\b|δ|\bdelta\b", "δ", text)
    text = re.sub(r"_\{([^{}]*)\}", r"_\1", text)
    text = re.sub(r"[₀-₉]", lambda m: str(ord(m[0]) - ord("₀")), text)
    text = re.sub(r"[$`*\\&{}“”\"']", "", text)
    text = re.sub(r"(?i)\bstate\s+(\d+)\b", r"q\1", text)
    # This comes last, because removing markup joins words.
    return re.sub(r"\w++", lambda m: m[0] if len(m[0]) <= MAX_NAME else " ", text)


def _merge_duplicates(rules: Sequence[Rule]) -> list[Rule]:
    """Merge rules that are stated twice, and refuse rules that contradict each other."""
    found: dict[tuple[str, str], Rule] = {}
    for rule in rules:
        known = found.setdefault((rule.source, rule.event), rule)
        if known.target != rule.target:
            raise PlanError(
                f"in {rule.source} the event {rule.event} leads to {known.target}, and to "
                f"{rule.target}"
            )
    return list(found.values())


def _find_accepting(text: str, known: Sequence[str]) -> list[str]:
    found: list[str] = []
    states = frozenset(known)
    for line in re.split(r"\n|(?<=[.;])\s", text):
        if re.search(r"(?i)\bnon-?\s?accept|\breject|\bnot\s+(?:an?\s+)?accept", line):
            continue
        word = re.search(r"(?i)\b(?:accept(?:ing|ance|s)?|final)\b|\bF\s*=", line)
        if word:
            after, before = (
                _find_states(part, states) for part in (line[word.end() :], line[: word.start()])
            )
            is_remark = line[: word.start()].rstrip().endswith("(")  # q2 (accepting)
            is_rule = "=" in line or "->" in line  # δ(q1, P) = q2, which is accepting
            found += before[-1:] if (is_remark or is_rule) and before else after or before
    return [state for state in dict.fromkeys(found) if "trap" not in state and "dead" not in state]


def _find_states(text: str, known: Collection[str]) -> list[str]:
    return [state_key(name) for name in re.findall(STATE, text) if state_key(name) in known]


def _find_initial(text: str, known: Sequence[str]) -> str | None:
    for line in text.splitlines():
        if re.search(r"(?i)\b(?:initial|start(?:ing)?)\b", line):
            for name in _find_states(line, known):
                return name
    return None
