"""Reading the transitions that a language model describes: functions, arrows, tables, sentences.

The text is split into tokens once, and each notation is matched from left to right without
backtracking, so the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

__all__ = ["STATE", "Rule", "read_rules", "state_key"]

MAX_LISTED = 50
"""How many events one transition may list, as in δ(q0, A or B or C)."""
STATE = r"[A-Za-z]\w*+"
TOKEN = re.compile(r"\w++|-++>?+|:=|\n|\S")
FUNCTION_ARROWS = ("=", ":", ":=")
SEPARATORS = ("or", "and", "/", ",")
INPUT_WORDS = frozenset({"input", "reading", "read", "on", "if", "symbol"})
VERBS = ("go", "move", "transition", "stay", "remain")
MOVE_WORDS = frozenset({*VERBS, *(f"{verb}s" for verb in VERBS), "goes"})
MAX_DISTANCE = 60
"""How many characters may separate the parts of a sentence that belong together."""


class Rule(NamedTuple):
    """A transition: in the state ``source`` the event leads to the state ``target``."""

    source: str
    event: str
    target: str


def read_rules(text: str, names: Collection[str]) -> list[Rule]:
    """Read the transitions of a text without markup, in the first notation that has any.

    Example:
        >>> read_rules("q0 --M--> q1", ["M"])
        [Rule(source='q0', event='M', target='q1')]
    """
    return _read_functions(text, names) or _read_table(text, names) or _read_sentences(text, names)


def state_key(name: str) -> str:
    """Return the normal form of a name: models write q_0, q0 and Q0 for the same state."""
    return name.replace("_", "").lower()


class _Token(NamedTuple):
    text: str
    start: int  # the position in the text

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_state(self) -> bool:
        return self.text[0].isascii() and self.text[0].isalpha()

    @property
    def is_numbered(self) -> bool:
        """Whether it is the name of a state with a digit, such as q0."""
        return self.is_state and any(letter.isdecimal() for letter in self.text[1:])

    @property
    def is_arrow(self) -> bool:
        return self.text.startswith("-") and self.text.endswith(">")


class _Tokens(list[_Token]):
    """The words and punctuation marks of a text."""

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
        """Return the events at a position, as in "A or B", and the position after them."""
        found: list[str] = []
        while at < len(self) and self[at].text in self.names and len(found) <= MAX_LISTED:
            found.append(self[at].text)
            if not (self.is_mark(at + 1, *SEPARATORS) and at + 2 < len(self)):
                return found, at + 1
            if self[at + 2].text not in self.names:
                return found, at + 1
            at += 2
        return found, at

    def read_all(self, match: Callable[[_Tokens, int], _Match | None]) -> list[Rule]:
        """Read the rules of one notation, wherever it matches."""
        found, at = [], 0
        while at < len(self):
            matched = match(self, at)
            if matched is not None:
                source, events, target, _ = matched
                found += [Rule(state_key(source), event, state_key(target)) for event in events]
            at = at + 1 if matched is None else matched.end
        return found


class _Match(NamedTuple):
    """A rule in the text, and the position after it."""

    source: str
    events: list[str]
    target: str
    end: int


def _match_function(tokens: _Tokens, at: int) -> _Match | None:
    """Match (q0, M) = q1."""
    if not (tokens.is_mark(at, "(") and tokens.is_state(at + 1) and tokens.is_mark(at + 2, ",")):
        return None
    events, end = tokens.events(at + 3)
    if not (events and tokens.is_mark(end, ")")):
        return None
    if not (tokens.is_arrow(end + 1) or tokens.is_mark(end + 1, *FUNCTION_ARROWS)):
        return None
    target = end + 2 + tokens.is_mark(end + 2, "(")
    return _make_match(tokens, at + 1, events, target)


def _match_edge(tokens: _Tokens, at: int) -> _Match | None:
    """Match q0 --M--> q1."""
    if not (tokens.is_state(at) and at + 1 < len(tokens)):
        return None
    line = tokens[at + 1].text
    if len(line) < 2 or line.strip("-"):
        return None
    events, end = tokens.events(at + 2 + tokens.is_mark(at + 2, "("))
    end += tokens.is_mark(end, ")")
    return _make_match(tokens, at, events, end + 1) if events and tokens.is_arrow(end) else None


def _match_pair(tokens: _Tokens, at: int) -> _Match | None:
    """Match q0, M -> q1."""
    if not (tokens.is_state(at) and tokens.is_mark(at + 1, ",")):
        return None
    events, end = tokens.events(at + 2)
    return _make_match(tokens, at, events, end + 1) if events and tokens.is_arrow(end) else None


def _make_match(tokens: _Tokens, source: int, events: list[str], target: int) -> _Match | None:
    if not tokens.is_state(target):
        return None
    return _Match(tokens[source].text, events, tokens[target].text, target + 1)


def _read_functions(text: str, names: Collection[str]) -> list[Rule]:
    tokens = _Tokens(text, names)
    matches = (_match_function, _match_edge, _match_pair)
    found = [rule for match in matches for rule in tokens.read_all(match)]
    for line in text.splitlines():
        found += _read_reached_from(_Tokens(line, names))
    return found


def _read_reached_from(tokens: _Tokens) -> list[Rule]:
    """Read sentences such as "q1 is reached from q0 when the input is M"."""
    found: list[Rule] = []
    first = 0  # tokens before it belong to an earlier sentence
    for at in range(len(tokens) - 2):
        if tokens[at].text != "reached" or not tokens.is_mark(at + 1, "from"):
            continue
        if at < first or not tokens.is_state(at + 2):
            continue
        low = max(first, at - MAX_DISTANCE)  # a token has at least one character
        before = (tokens[i] for i in range(low, at))
        near = [token for token in before if tokens[at].start - token.end <= MAX_DISTANCE]
        target = next((token for token in near if token.is_state), None)
        events, end = _find_input(tokens, at + 2)
        if target is not None and events:
            source = state_key(tokens[at + 2].text)
            found += [Rule(source, event, state_key(target.text)) for event in events]
            first = end
    return found


def _find_input(tokens: _Tokens, at: int) -> tuple[list[str], int]:
    """Return the events near the first "input" after a token, and the position after them."""
    for word in range(at + 1, min(at + 1 + MAX_DISTANCE, len(tokens))):
        if tokens[word].start - tokens[at].end > MAX_DISTANCE:
            break
        if tokens[word].text != "input":
            continue
        for event in range(word + 1, min(word + 1 + MAX_DISTANCE, len(tokens))):
            if tokens[event].start - tokens[word].end > MAX_DISTANCE:
                break
            if tokens[event].text in tokens.names:
                return tokens.events(event)
    return [], at


def _read_table(text: str, names: Collection[str]) -> list[Rule]:
    """Read a table with a column for each event, or with columns state, input and next state."""
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


def _read_sentences(text: str, names: Collection[str]) -> list[Rule]:
    """Read sentences under a heading with a state, such as "On input M, move to state q1"."""
    found: list[Rule] = []
    source: str | None = None
    for line in text.splitlines():
        tokens = _Tokens(line, names)
        word = _find(tokens, 0, lambda token: token.text in INPUT_WORDS)
        move = _find(tokens, 0, lambda token: token.text in MOVE_WORDS or token.is_arrow)
        goal = _find(tokens, move + 1, lambda token: token.is_numbered or "trap" in token.text)
        event = _find(tokens, word + 1, lambda token: token.text in names)
        if source and max(word, move, goal, event) < len(tokens):
            target = _target_key(tokens[goal])
            events = [token.text for token in tokens[:move] if token.text in names]
            found += [Rule(source, name, target) for name in events]
        else:
            source = _read_heading(tokens) or source
    return found


def _find(tokens: _Tokens, start: int, predicate: Callable[[_Token], bool]) -> int:
    """Return the position of the first such token, or the number of tokens if there is none."""
    return next((at for at in range(start, len(tokens)) if predicate(tokens[at])), len(tokens))


def _read_heading(tokens: _Tokens) -> str | None:
    """Return the state that a line is about, as in "from state q1"."""
    for at, token in enumerate(tokens[:-1]):
        if token.text.lower() in ("state", "in", "from"):
            name = at + 1 + tokens.is_mark(at + 1, "(")
            if name < len(tokens) and tokens[name].is_numbered:
                return state_key(tokens[name].text)
    return None


def _target_key(token: _Token) -> str:
    if token.is_numbered:
        return state_key(token.text)
    return "qtrap" if "qtrap" in state_key(token.text) else "trap"
