"""Automata as language models write them: functions, arrows, tables and sentences."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Transition
from cranium.errors import PlanError

__all__ = ["parse_automaton"]

FAILED = "failed"
MAX_TEXT = 20_000
"""Models are asked for far shorter answers; a longer one is not read."""
MAX_WORD = 100
"""Longer words are no names. In a text of short words every pattern below takes linear time."""
MAX_LISTED = 50
"""How many events may stand for one transition, as in δ(q0, A or B or C)."""


class _Rule(NamedTuple):
    source: str
    event: str
    target: str


def parse_automaton(text: str, events: Iterable[str]) -> CountingRewardAutomaton:
    """The automaton that a model describes, in our own form.

    It reads transition functions, such as ``δ(q0, M) = q1`` in plain text or LaTeX, arrows such as
    ``q0 --M--> q1``, tables, and sentences such as "On input M, move to state q1". What is not
    described fails, as it does in a finite automaton. An answer of more than 20,000 characters is
    refused.

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
    plain = _plain(text)
    rules = _first_of_each(_functions(plain, names) or _table(plain, names) or _prose(plain, names))
    if not rules:
        raise PlanError("there is no transition function in the answer")
    known = list(dict.fromkeys(name for rule in rules for name in (rule.source, rule.target)))
    accepting = _accepting(plain, known)
    if not accepting:
        raise PlanError(f"the answer does not say which of {', '.join(known)} is accepting")
    rules = _without_traps(rules, accepting)
    if not rules:
        raise PlanError(f"nothing leads to {', '.join(accepting)}")
    initial = _initial(plain, known) or rules[0].source
    return _machine(rules, names, initial, accepting)


def _without_traps(rules: Sequence[_Rule], accepting: Sequence[str]) -> list[_Rule]:
    """Without the states from which nothing is accepted: to go there is to fail."""
    alive = set(accepting)
    while True:
        more = {rule.source for rule in rules if rule.target in alive} - alive
        if not more:
            return [rule for rule in rules if rule.source in alive and rule.target in alive]
        alive |= more


def _machine(
    rules: Sequence[_Rule], names: Sequence[str], initial: str, accepting: Sequence[str]
) -> CountingRewardAutomaton:
    """Complete words end at once; what is not described, and two events at once, fail."""
    if initial in accepting:
        raise PlanError(f"the automaton accepts at once, in {initial}")
    failed = FAILED if FAILED not in {rule.target for rule in rules} else f"{FAILED} at once"
    states = [initial, *(rule.source for rule in rules), *(rule.target for rule in rules)]
    going = [state for state in dict.fromkeys(states) if state not in accepting]
    alone = {
        name: " & ".join([name, *(f"!{other}" for other in names if other != name)])
        for name in names
    }
    pairs = [f"{one} & {other}" for one, other in combinations(names, 2)]
    transitions = []
    for state in going:
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
        states=going,
        terminal=[*dict.fromkeys(accepting), failed],
        accepting=list(dict.fromkeys(accepting)),
        transitions=transitions,
        name="written by the model",
    )


# Reading

STATE = r"[A-Za-z]\w*+"
NUMBERED = r"[A-Za-z]\w*\d\w*+"


GOING = r"->|\b(?:goes|go|moves?|transitions?|stays?|remains?)\b"


def _plain(text: str) -> str:
    """LaTeX and Markdown without their marks, and without words that are too long for names."""
    text = re.sub(rf"\w{{{MAX_WORD + 1},}}+", " ", text)
    text = re.sub(r"\\(?:text|mathrm|mathit|mathbf)\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\(?:right|long)?(?:rightarrow|arrow)|\\to\b|\\mapsto|→|⟶|=>|⇒", "->", text)
    text = re.sub(r"\\delta\b|δ|\bdelta\b", "δ", text)
    text = re.sub(r"_\{([^{}]*)\}", r"_\1", text)
    text = re.sub(r"[₀-₉]", lambda m: str(ord(m[0]) - ord("₀")), text)
    text = re.sub(r"[$`*\\&{}“”\"']", "", text)
    return re.sub(r"(?i)\bstate\s+(\d+)\b", r"q\1", text)


def _key(name: str) -> str:
    return name.replace("_", "").lower()


def _functions(text: str, names: Sequence[str]) -> list[_Rule]:
    events = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    several = rf"(?:{events})(?:\s*(?:,|or|/|and)\s*(?:{events})){{0,{MAX_LISTED}}}"
    arrow = r"(?:->|:=|=|:)"
    forms = (
        rf"\(\s*({STATE})\s*,\s*({several})\s*\)\s*{arrow}\s*\(?({STATE})",
        rf"({STATE})\s*--+\s*\(?({several})\)?\s*--*>\s*({STATE})",
        rf"({STATE})\s*,\s*({several})\s*->\s*({STATE})",
    )
    found = [match.groups() for form in forms for match in re.finditer(form, text)]
    between = r"\b[^\n]{0,60}?\b"
    back = rf"({STATE}){between}reached from ({STATE}){between}input{between}({several})\b"
    found += [(source, some, target) for target, source, some in re.findall(back, text)]
    return [
        _Rule(_key(source), event, _key(target))
        for source, some, target in found
        for event in re.findall(rf"\b(?:{events})\b", some)
    ]


def _table(text: str, names: Sequence[str]) -> list[_Rule]:
    """A table with a column for each event, or with columns state, input and next state."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in text.splitlines()
        if line.count("|") >= 2 and not re.fullmatch(r"[\s|:\-]+", line)
    ]
    if not rows:
        return []
    head, found = rows[0], []
    columns = {i: cell for i, cell in enumerate(head) if cell in names}
    for row in rows[1:]:
        cells = [re.search(STATE, cell) for cell in row]
        if columns and cells[0] is not None:
            found += [
                _Rule(_key(cells[0][0]), event, _key(cells[i][0]))  # type: ignore[index]
                for i, event in columns.items()
                if i < len(cells) and cells[i] is not None
            ]
        elif len(row) >= 3 and row[1] in names and cells[0] is not None and cells[2] is not None:
            found.append(_Rule(_key(cells[0][0]), row[1], _key(cells[2][0])))
    return found


def _prose(text: str, names: Sequence[str]) -> list[_Rule]:
    """Sentences: under the name of a state, what each input does."""
    events = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    some = re.compile(rf"\b(?:{events})\b")
    goals = re.compile(rf"{NUMBERED}|q_?trap|trap")
    found, here = [], None
    for line in text.splitlines():
        start = re.search(rf"\b(?:state|in|from)\s+\(?({NUMBERED})\)?", line, re.IGNORECASE)
        word = re.search(r"\b(?:input|reading|read|on|if|symbol)\b", line)
        goes = re.search(GOING, line)
        goal = goes and goals.search(line, goes.end())
        if word and some.search(line, word.end()) and goes and goal and here:
            before = line[: goes.start()]
            found += [_Rule(here, event, _key(goal[0])) for event in some.findall(before)]
        elif start:
            here = _key(start[1])
    return found


def _first_of_each(rules: Sequence[_Rule]) -> list[_Rule]:
    """A model may say a thing twice; if it says two things, there is no such automaton."""
    found: dict[tuple[str, str], _Rule] = {}
    for rule in rules:
        known = found.setdefault((rule.source, rule.event), rule)
        if known.target != rule.target:
            raise PlanError(
                f"in {rule.source} the event {rule.event} leads to {known.target}, and to "
                f"{rule.target}"
            )
    return list(found.values())


def _accepting(text: str, known: Sequence[str]) -> list[str]:
    found: list[str] = []
    states = frozenset(known)
    for line in re.split(r"\n|(?<=[.;])\s", text):
        if re.search(r"(?i)\bnon-?\s?accept|\breject|\bnot\s+(?:an?\s+)?accept", line):
            continue
        word = re.search(r"(?i)\b(?:accept(?:ing|ance|s)?|final)\b|\bF\s*=", line)
        if word:
            after, before = (
                _states(part, states) for part in (line[word.end() :], line[: word.start()])
            )
            aside = line[: word.start()].rstrip().endswith("(")  # q2 (accepting)
            told = "=" in line or "->" in line  # δ(q1, P) = q2, which is accepting
            found += before[-1:] if (aside or told) and before else after or before
    return [state for state in dict.fromkeys(found) if "trap" not in state and "dead" not in state]


def _states(text: str, known: Collection[str]) -> list[str]:
    return [_key(name) for name in re.findall(STATE, text) if _key(name) in known]


def _initial(text: str, known: Sequence[str]) -> str | None:
    for line in text.splitlines():
        if re.search(r"(?i)\b(?:initial|start(?:ing)?)\b", line):
            for name in _states(line, known):
                return name
    return None
