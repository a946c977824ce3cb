"""The readers of text, with inputs to change: a part of ``readers.py``."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.mutations import mutate_bytes, mutate_text

import cranium
from cranium.assist.automaton_parser import parse_automaton
from cranium.assist.plan import parse_plan, plan_to_language
from cranium.assist.transcript import Transcript
from cranium.automata.alphabet import parse_word
from cranium.cli.arguments import parse_count, parse_world_options
from cranium.cli.ask import _read_events
from cranium.cli.train import _parse_settings
from cranium.errors import CraniumError
from cranium.languages import parse_language
from cranium.paper import load_configs

EVENTS = ["mail", "person", "decoration", "M", "P", "a", "b"]


class Reader(NamedTuple):
    """A reader, and what it is given.

    Attributes:
        make: An input: bytes, made with random numbers.
        read: Read it, and use what comes of it. The path is that of a file with the input.
        ending: How the name of the file ends.
        share: How many of the inputs it gets, against others.
    """

    make: Callable[[random.Random], bytes]
    read: Callable[[bytes, Path], Any]
    ending: str
    share: int = 1


def as_text(content: bytes) -> str:
    """An input as the text that somebody types."""
    return content.decode("utf-8", "surrogateescape")


def _changed(seeds: list[str], snippets: list[str] | None = None) -> Callable[..., bytes]:
    def make(rng: random.Random) -> bytes:
        more = {} if snippets is None else {"snippets": snippets}
        repeats = rng.choice([*[(1, 1, 1, 3)] * 6, (1, 40), (1, 500)])
        text = mutate_text(rng.choice(seeds), rng, repeats=repeats, **more)
        content = text.encode("utf-8", "surrogatepass")
        return mutate_bytes(content, rng) if rng.random() < 0.05 else content

    return make


def _load(_: bytes, path: Path) -> Any:
    machine = cranium.load(path)
    machine.run([])
    return cranium.dumps(machine)


def _compile(content: bytes, _: Path) -> Any:
    return cranium.compile_language(parse_language(as_text(content)))


def _read_plan(content: bytes, _: Path) -> Any:
    return cranium.compile_language(plan_to_language(parse_plan(as_text(content), EVENTS)))


def _read_configs(_: bytes, path: Path) -> None:
    for config in load_configs(path):
        config.cpu_seconds()
        config.quick()


def _read_options(content: bytes, _: Path) -> None:
    text = as_text(content)
    for parse in (parse_count, lambda each: _both([f"name={each}"])):
        with suppress(CraniumError):
            parse(text)
    _both([text])


def _both(given: list[str]) -> None:
    parse_world_options(given)
    _parse_settings(given)


OPTIONS = ["times=1..5", "layers=(64, 32)", "epsilon=1:0.1:5000:episodes", "2.5M", "x=[1, 2]"]
OPTION_PARTS = [
    "=", "..", ",", "(", ")", ":", "[", "]", "{", "}", "1", "0", "-", ".", "e999", "9" * 5000, "k",
    "M", "_", " ", "nan", "inf", "true", "null", "none", "\"", "é", "²", "٣", "\ud800", "\n",
    "[" * 400, "episodes", "samples",
]  # fmt: skip
SHAPES = [
    "*", "+", "?", "^N", "^M", "^2", "^(N+1)", "^999", "{2,3}", "{0,99}", "{50,}", "|", "&", "(",
    ")", " A", " B", " where N >= 0", " where N > M", " never D", " shuffle ", " finally ",
    "A^N B^N ", "(A | B)", "{", "}", "99999",
]  # fmt: skip
REPLIES = [
    "δ(q0, M) → q1, δ(q1, P) → q2. The accepting state is q2.",
    "q0 --M--> q1\nq1 --P--> q2\nInitial state: q0\nAccepting: q2",
    "| state | M | P |\n|---|---|---|\n| q0 | q1 | q0 |\n| q1 | q1 | q2 |\nF = {q2}",
    "In state q0: on input M, move to state q1.\nIn state q1: on P, move to q2.\nq2 is final.",
]
REPLY_PARTS = [
    "δ(", "q0", "q1", "->", " or ", "M", "P", "|", "\n", "state ", "accepting", "(", ")", "--",
    "a_",
]  # fmt: skip
PLANS = [
    '{"steps": [{"phrase": "mail", "events": ["mail"], "how": "sequence", "count": "N"}, '
    '{"events": ["person"], "count": "N+1"}], "forbidden": ["decoration"], "success": 1.0}',
    'I think:\n```json\n{"steps": [{"events": ["a", "b"], "how": "any order", '
    '"count": "at most 3"}, {"events": ["mail"], "how": "choice", "count": "2+"}]}\n```',
]
PLAN_PARTS = [
    '"count": "99+"', '"count": "999"', '"count": "at most 99"', '"how": "any order"',
    '"how": "choice"', '{"events": ["a", "b", "mail"], "how": "any order", "count": "9N+9"}, ',
    '{"events": ["a"], "count": "0+"},', "{", "}", "[", "]", '"', ",", "1e999", "\\", "N", "null",
    '{"events": ["a", "b"], "how": "choice", "count": "50+"},',
]  # fmt: skip
TOML = """[letter]
trials = 2
times = [1, 2]
methods = ["CQL", "planner"]
tuning_trials = 1
budget = 1_000

[complexity]
most = 3

[office]
mail = 2

[natural-language]
description = "Collect one item of mail."
"""
TOML_PARTS = [
    "=", "[", "]", "[[", "]]", "{", "}", ",", ".", '"', "'", '"""', "\n", "#", "\x00", "é", "0",
    "-1", "9" * 9, "9" * 30, "9" * 5000, "1e9", "inf", "nan", "1979-05-27", "true", "[letter]\n",
    "trials", "most", "times", "methods", "budget", "a.b", "a." * 50, "0x", "0x" + "f" * 5000, "_",
    " ",
]  # fmt: skip
TORO_ICARTE = """0 # initial state
[2] # terminal state
(0,0,'!f&!n',ConstantRewardFunction(0))
(0,1,'f&!n',ConstantRewardFunction(0))
(1,2,'g&!n',ConstantRewardFunction(1))
"""
LANGUAGES = [
    "(A^N B)^2 C^(N+1) | D{2,3}* where N >= 0 never E",
    "A^N B^M C^N D^M",
    "(A | B C)^N D (E F)^N",
    "A+ B* C{2,5} D",
    "A^N B^N C^N A^N B^N C^N D",
    "(A B){3,} C",
    "A shuffle B C",
    "A^2 (B | C)^N D^N finally E",
]


def texts() -> Iterator[tuple[str, Reader]]:
    """The readers of machines, formulas, words, languages, replies and files that people write."""
    names = ("anbcn", "office", "mail-delivery", "craft-planks", "toro-patrol")
    machines = [cranium.library.load(name) for name in names]
    for form, ending in (("yaml", ".yaml"), ("json", ".json")):
        texts = [cranium.dumps(machine, form=form) for machine in machines]
        yield f"machine ({form})", Reader(_changed(texts), _load, ending, 12)
    yield "machine (Toro Icarte)", Reader(_changed([TORO_ICARTE]), _load, ".txt", 8)
    parts = ["A", "B", "(", ")", "!", "&", "|", "true", "not ", "and ", "¬", "\n", "((((", "!!!!"]
    formulas = ["!(A & B) | C and not (D or true)", "a&b&c|(!d)", "¬A ∧ B ∨ (C | D)"]

    def parse(content: bytes, _: Path) -> Any:
        return cranium.parse_formula(as_text(content)).propositions

    yield "formula", Reader(_changed(formulas, parts), parse, ".txt", 8)
    words = ["A {B, C} {} D", "a b c", "{} {} x{1}"]
    word = Reader(_changed(words), lambda content, _: parse_word(as_text(content)), ".txt", 8)
    yield "word", word
    yield "language", Reader(_changed(LANGUAGES, SHAPES), _compile, ".txt", 12)
    yield "plan in a reply", Reader(_changed(PLANS, PLAN_PARTS), _read_plan, ".txt", 8)
    reply = lambda content, _: parse_automaton(as_text(content), EVENTS)  # noqa: E731
    yield "automaton in a reply", Reader(_changed(REPLIES, REPLY_PARTS), reply, ".txt", 8)
    events = "mail: an item of mail is collected\nperson: it is delivered\ndecoration: broken\n"
    yield "events", Reader(_changed([events]), lambda _, path: _read_events(path), ".yaml", 4)
    yield "TOML", Reader(_changed([TOML], TOML_PARTS), _read_configs, ".toml", 6)
    yield "options", Reader(_changed(OPTIONS, OPTION_PARTS), _read_options, ".txt", 4)
    told = (Path(__file__).parents[1] / "tests/assist/recorded.jsonl").read_text("utf-8")
    lines = ["\n".join(told.splitlines()[:count]) for count in (1, 2, 4)]
    replay = lambda _, path: Transcript(mode="replay", path=path)  # noqa: E731
    yield "transcript", Reader(_changed(lines), replay, ".jsonl", 4)
