"""The transitions that a language model describes: functions, arrows, tables and sentences.

The text is cut into words and marks once, and every form is looked for among them from left to
right, so the time is linear in the length of the text, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

__all__ = ["STATE", "Rule", "read_rules", "state_key"]

MAX_LISTED = 50
"""How many events may stand for one transition, as in δ(q0, A or B or C)."""
STATE = r"[A-Za-z]\w*+"
TOKEN = re.compile(r"\w++|-++>?+|:=|\n|\S")
FUNCTION_ARROWS = ("=", ":", ":=")
BETWEEN = ("or", "and", "/", ",")
INPUTS = frozenset({"input", "reading", "read", "on", "if", "symbol"})
VERBS = ("go", "move", "transition", "stay", "remain")
GOING = frozenset({*VERBS, *(f"{verb}s" for verb in VERBS), "goes"})
NEAR = 60
"""How many characters may stand between the parts of a sentence that belong together."""


class Rule(NamedTuple):
    """A transition: in the state ``source`` the event leads to the state ``target``."""

    source: str
    event: str
    target: str


def read_rules(text: str, names: Collection[str]) -> list[Rule]:
    """The transitions of a text without marks, in the first form in which there are any.

    Example:
        >>> read_rules("q0 --M--> q1", ["M"])
        [Rule(source='q0', event='M', target='q1')]
    """
    return _functions(text, names) or _table(text, names) or _prose(text, names)


def state_key(name: str) -> str:
    """A name as it is compared: models write q_0, q0 and Q0 for one state."""
    return name.replace("_", "").lower()


class _Token(NamedTuple):
    text: str
    start: int  # in its text

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_state(self) -> bool:
        return self.text[0].isascii() and self.text[0].isalpha()

    @property
    def is_numbered(self) -> bool:
        """Whether it is the name of a state with a number, such as q0."""
        return self.is_state and any(letter.isdecimal() for letter in self.text[1:])

    @property
    def is_arrow(self) -> bool:
        return self.text.startswith("-") and self.text.endswith(">")


class _Tokens(list[_Token]):
    """The words and marks of a text, and how forms are read from them: nothing is tried twice."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        super().__init__(_Token(m[0], m.start()) for m in TOKEN.finditer(text) if m[0] != "\n")
        self.names = names

    def is_mark(self, at: int, *marks: str) -> bool:
        return at < len(self) and self[at].text in marks

    def is_state(self, at: int) -> bool:
        return at < len(self) and self[at].is_state

    def is_arrow(self, at: int) -> bool:
        return at < len(self) and self[at].is_arrow

    def events(self, at: int) -> tuple[list[str], int]:
        """The events that stand here, as in "A or B", and where they end."""
        found: list[str] = []
        while at < len(self) and self[at].text in self.names and len(found) <= MAX_LISTED:
            found.append(self[at].text)
            if not (self.is_mark(at + 1, *BETWEEN) and at + 2 < len(self)):
                return found, at + 1
            if self[at + 2].text not in self.names:
                return found, at + 1
            at += 2
        return found, at

    def rules(self, form: Callable[[_Tokens, int], _Found | None]) -> list[Rule]:
        """The rules of one form, wherever it begins."""
        found, at = [], 0
        while at < len(self):
            read = form(self, at)
            if read is not None:
                source, events, target, _ = read
                found += [Rule(state_key(source), event, state_key(target)) for event in events]
            at = at + 1 if read is None else read.end
        return found


class _Found(NamedTuple):
    source: str
    events: list[str]
    target: str
    end: int


def _as_function(tokens: _Tokens, at: int) -> _Found | None:
    """(q0, M) = q1."""
    if not (tokens.is_mark(at, "(") and tokens.is_state(at + 1) and tokens.is_mark(at + 2, ",")):
        return None
    events, end = tokens.events(at + 3)
    if not (events and tokens.is_mark(end, ")")):
        return None
    if not (tokens.is_arrow(end + 1) or tokens.is_mark(end + 1, *FUNCTION_ARROWS)):
        return None
    target = end + 2 + tokens.is_mark(end + 2, "(")
    return _found(tokens, at + 1, events, target)


def _as_edge(tokens: _Tokens, at: int) -> _Found | None:
    """q0 --M--> q1."""
    if not (tokens.is_state(at) and at + 1 < len(tokens)):
        return None
    line = tokens[at + 1].text
    if len(line) < 2 or line.strip("-"):
        return None
    events, end = tokens.events(at + 2 + tokens.is_mark(at + 2, "("))
    end += tokens.is_mark(end, ")")
    return _found(tokens, at, events, end + 1) if events and tokens.is_arrow(end) else None


def _as_pair(tokens: _Tokens, at: int) -> _Found | None:
    """q0, M -> q1."""
    if not (tokens.is_state(at) and tokens.is_mark(at + 1, ",")):
        return None
    events, end = tokens.events(at + 2)
    return _found(tokens, at, events, end + 1) if events and tokens.is_arrow(end) else None


def _found(tokens: _Tokens, source: int, events: list[str], target: int) -> _Found | None:
    if not tokens.is_state(target):
        return None
    return _Found(tokens[source].text, events, tokens[target].text, target + 1)


def _functions(text: str, names: Collection[str]) -> list[Rule]:
    tokens = _Tokens(text, names)
    found = [rule for form in (_as_function, _as_edge, _as_pair) for rule in tokens.rules(form)]
    return found + [rule for line in text.splitlines() for rule in _backwards(_Tokens(line, names))]


def _backwards(tokens: _Tokens) -> list[Rule]:
    """q1 is reached from q0 when the input is M."""
    found: list[Rule] = []
    first = 0  # what belongs to one sentence does not belong to the next
    for at in range(len(tokens) - 2):
        if tokens[at].text != "reached" or not tokens.is_mark(at + 1, "from"):
            continue
        if at < first or not tokens.is_state(at + 2):
            continue
        low = max(first, at - NEAR)  # a token has at least one character
        near = [tokens[i] for i in range(low, at) if tokens[at].start - tokens[i].end <= NEAR]
        target = next((token for token in near if token.is_state), None)
        events, end = _after_input(tokens, at + 2)
        if target is not None and events:
            source = state_key(tokens[at + 2].text)
            found += [Rule(source, event, state_key(target.text)) for event in events]
            first = end
    return found


def _after_input(tokens: _Tokens, at: int) -> tuple[list[str], int]:
    """The events of the first "input" behind a token that has some near it."""
    for word in range(at + 1, min(at + 1 + NEAR, len(tokens))):
        if tokens[word].start - tokens[at].end > NEAR:
            break
        if tokens[word].text != "input":
            continue
        for event in range(word + 1, min(word + 1 + NEAR, len(tokens))):
            if tokens[event].start - tokens[word].end > NEAR:
                break
            if tokens[event].text in tokens.names:
                return tokens.events(event)
    return [], at


def _table(text: str, names: Collection[str]) -> list[Rule]:
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
                Rule(state_key(cells[0][0]), columns[i], state_key(cell[0]))
                for i, cell in enumerate(cells)
                if i in columns and cell is not None
            ]
        elif len(row) >= 3 and row[1] in names and cells[0] is not None and cells[2] is not None:
            found.append(Rule(state_key(cells[0][0]), row[1], state_key(cells[2][0])))
    return found


def _prose(text: str, names: Collection[str]) -> list[Rule]:
    """Sentences: under the name of a state, what each input does."""
    found: list[Rule] = []
    here: str | None = None
    for line in text.splitlines():
        tokens = _Tokens(line, names)
        word = _first(tokens, 0, lambda token: token.text in INPUTS)
        goes = _first(tokens, 0, lambda token: token.text in GOING or token.is_arrow)
        goal = _first(tokens, goes + 1, lambda token: token.is_numbered or "trap" in token.text)
        read = _first(tokens, word + 1, lambda token: token.text in names)
        if here and max(word, goes, goal, read) < len(tokens):
            target = _goal(tokens[goal])
            before = [token.text for token in tokens[:goes] if token.text in names]
            found += [Rule(here, event, target) for event in before]
        else:
            here = _heading(tokens) or here
    return found


def _first(tokens: _Tokens, start: int, fits: Callable[[_Token], bool]) -> int:
    """Where the first token is that fits; the number of all, if there is none."""
    return next((at for at in range(start, len(tokens)) if fits(tokens[at])), len(tokens))


def _heading(tokens: _Tokens) -> str | None:
    """The state that a line is about, as in "from state q1"."""
    for at, token in enumerate(tokens[:-1]):
        if token.text.lower() in ("state", "in", "from"):
            name = at + 1 + tokens.is_mark(at + 1, "(")
            if name < len(tokens) and tokens[name].is_numbered:
                return state_key(tokens[name].text)
    return None


def _goal(token: _Token) -> str:
    if token.is_numbered:
        return state_key(token.text)
    return "qtrap" if "qtrap" in state_key(token.text) else "trap"
