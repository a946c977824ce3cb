"""Control characters (escape sequences) in files, names and replies are never printed by any command."""

from __future__ import annotations

import ast
import json
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path

import pexpect
import pytest
from support.model_servers import chat, failing, serving
from support.plan_answers import RIGHT_PLAN, TASK_IN_WORDS
from support.terminal import Terminal
from typer.testing import CliRunner

import cranium
from cranium._runtime.terminal import as_json, visible
from cranium.aamdp.registry import make_env
from cranium.cli import app
from cranium.experiments import LocalEngine, Store
from cranium.formats import library
from cranium.paper import ComplexityConfig, run

SOURCE = Path(cranium.__file__).parent
EVIL = {
    "colour": "\x1b[31mowned",
    "title": "\x1b]0;owned\x07",
    "clear the screen": "\x1b[2J\x1b[Howned",
    "eight bits": "\x9b31mowned\x9d0;owned\x9c",
    "cursor": "good\x08\x08\x08\x08owned",
    "bell and others": "\x07\x0b\x0c\x0e\x0f\x00owned\x7f",
    "direction": "\u202eowned\u202c\u2066owned\u2069\u200e\u200f\u061c",
    "lines": "owned\u2028owned\u2029\x85",
    "tags": "owned\U000e0041\U000e007f",
}
ALL = "".join(EVIL.values())
NAMED = ALL.replace("\x00", "")  # no file is called so


def hidden(text):
    """Control characters but the end of a line; marks of direction; what nobody sees."""
    odd = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [c for c in text if c != "\n" and unicodedata.category(c) in odd]


@pytest.mark.parametrize("text", EVIL.values(), ids=EVIL)
def test_everything_is_shown_and_nothing_is_hidden(text):
    assert hidden(text)
    shown = visible(text)
    assert not hidden(shown)
    assert "owned" in shown
    assert visible(shown) == shown
    assert visible("\tAé漢🙂⟨ε⟩\n\N{ZERO WIDTH JOINER}") == "\tAé漢🙂⟨ε⟩\n\N{ZERO WIDTH JOINER}"
    written = as_json({text: [text]})
    assert not hidden(written)
    assert json.loads(written) == {text: [text]}


def test_every_character_of_unicode_that_could_be_an_order_is_known():
    kept = {"\t", "\n"}
    for number in range(0x110000):
        c = chr(number)
        order = unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")
        order |= unicodedata.bidirectional(c) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # fmt: skip
        assert (visible(c) != c) >= (order and c not in kept), hex(number)


# Files


def machine(folder, evil=ALL, name="task.json"):
    """An automaton whose every free text is hostile."""
    data = {
        "name": f"name {evil}",
        "propositions": ["A", "B"],
        "counters": ["n"],
        "initial": f"first {evil}",
        "states": [f"first {evil}", f"never {evil}"],
        "terminal": [f"end {evil}"],
        "accepting": [f"end {evil}"],
        "transitions": [
            {"from": f"first {evil}", "when": "A & !B", "add": {"n": 1}},
            {"from": f"first {evil}", "when": "B & !A", "to": f"end {evil}", "reward": 1},
        ],
    }
    path = folder / name
    path.write_text(json.dumps(data))
    return path


def policy(folder, **about):
    env = make_env("Letter", library.load("anbcdn"), {"times": 1})
    found = cranium.train(env, "ql", steps=50).policy
    path = folder / "agent.npz"
    replace(found, about={**found.about, **about}).save(path)
    return path


def episode(folder, **changes):
    env = make_env("Letter", library.load("anbcdn"))
    kept = cranium.episodes.record(env, lambda *_: 0, max_steps=2, world="Letter")
    path = folder / "episode.json"
    cranium.episodes.save_episode(kept, path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return path


def looks(folder):
    """An episode that is shown as it looked: the map and the names are in the file."""
    path = episode(folder)
    data = json.loads(path.read_text())
    for step in data["steps"]:
        step |= {"text": f"map {ALL}"}
    path.write_text(json.dumps({**data, "world": ""}))
    return path


def results(folder):
    place = folder / "results" / "complexity"
    config = ComplexityConfig(most=2)
    run(config, place, LocalEngine(1))
    return place, config


def failed(folder):
    place, config = results(folder)
    store = Store(place)
    for job in config.jobs(store):
        record = replace(store.find(job), status="failed", result={}, error=f"Traceback\n{ALL}")
        store.save(job, record)
    return place


def toml(folder, text):
    path = folder / "experiments.toml"
    path.write_text(text)
    return path


QUOTED = json.dumps(ALL.replace("\x7f", "").replace("\U000e0041\U000e007f", ""))
"""A key of TOML, which has no surrogates."""
CASES = {
    "check": lambda f: ["check", machine(f)],
    "check, JSON": lambda f: ["check", machine(f), "--json"],
    "check, a name of a file": lambda f: ["check", machine(f, name=f"{NAMED[:30]}.json")],
    "check, no such file": lambda f: ["check", f / f"{NAMED}.json"],
    "check, no such file, JSON": lambda f: ["check", f / f"{NAMED}.json", "--json"],
    "check, another ending": lambda f: ["check", f"owned.{NAMED}"],
    "check, a key": lambda f: ["check", text_file(f, "m.json", json.dumps({ALL: 1}))],
    "check, a key, JSON": lambda f: ["check", text_file(f, "m.json", json.dumps({ALL: 1})), "--json"],
    "check, a guard": lambda f: ["check", text_file(f, "m.json", machine(f).read_text().replace("A & !B", f"A & {QUOTED[1:-1]}"))],
    "check, YAML": lambda f: ["check", text_file(f, "m.yaml", f"{QUOTED}: 1\n")],
    "check, raw": lambda f: ["check", text_file(f, "m.yaml", f"owned: {ALL}\n")],
    "check, Toro Icarte": lambda f: ["check", text_file(f, "m.txt", f"0\n[1]\n(0,1,'owned{ALL}',X(1))\n")],
    "run": lambda f: ["run", machine(f), "A B"],
    "run, JSON": lambda f: ["run", machine(f), "A B", "--json"],
    "run, a word": lambda f: ["run", "library:anbcn", f"A {ALL}"],
    "draw": lambda f: ["draw", "library:anbcn", "-o", f / f"{NAMED[:30]}.svg"],
    "draw, nowhere": lambda f: ["draw", "library:anbcn", "-o", f / NAMED / "x.svg"],
    "unroll": lambda f: ["unroll", "library:anbcn", "--limit", "2", "-o", f / f"{NAMED[:30]}.yaml"],
    "convert": lambda f: ["convert", "library:anbcn", "-o", f / f"{NAMED[:30]}.yaml"],
    "equivalent": lambda f: ["equivalent", machine(f), "library:anbcn"],
    "library": lambda f: ["library", ALL],
    "compile": lambda f: ["compile", f"A^N B {ALL}"],
    "compile, out": lambda f: ["compile", "A^N B", "-o", f / f"{NAMED[:30]}.yaml"],
    "worlds": lambda f: ["worlds", ALL],
    "solve": lambda f: ["solve", "Letter", machine(f)],
    "solve, an option": lambda f: ["solve", "Letter", "anbcdn", "--with", f"{ALL}=1"],
    "solve, a value": lambda f: ["solve", "Letter", "anbcdn", "--with", f"times={ALL}"],
    "train, a task": lambda f: ["train", "Letter", machine(f)],
    "train": lambda f: ["train", "Letter", "anbcdn", "--steps", "50", "--curve", f / f"{NAMED[:30]}.svg"],
    "train, save": lambda f: ["train", "Letter", "anbcdn", "--steps", "50", "--save", f / f"{NAMED[:30]}.npz"],
    "train, a setting": lambda f: ["train", "Letter", "anbcdn", "--set", f"learning_rate={ALL}"],
    "train, a learner": lambda f: ["train", "Letter", "anbcdn", "--learner", ALL],
    "evaluate": lambda f: ["evaluate", policy(f, learner=ALL, samples=ALL, recipe={"world": "Letter", "options": {"times": 1}})],
    "evaluate, a world": lambda f: ["evaluate", policy(f, recipe={"world": ALL, "options": {}})],
    "evaluate, an option": lambda f: ["evaluate", policy(f, recipe={"world": "Letter", "options": {ALL: ALL}})],
    "evaluate, no recipe": lambda f: ["evaluate", policy(f).rename(f / f"{NAMED[:30]}.npz")],
    "evaluate, no file": lambda f: ["evaluate", f / f"{NAMED}.npz"],
    "replay": lambda f: ["replay", looks(f)],
    "replay, a name": lambda f: ["replay", named(f)],
    "replay, a world": lambda f: ["replay", episode(f, world=ALL)],
    "replay, a setting": lambda f: ["replay", episode(f, settings={ALL: 1})],
    "replay, a key": lambda f: ["replay", episode(f, **{ALL: 1})],
    "replay, a task": lambda f: ["replay", episode(f, task={ALL: 1})],
    "reproduce, an experiment": lambda f: ["reproduce", ALL],
    "reproduce, a table": lambda f: ["reproduce", "--config", toml(f, f"[{QUOTED}]\ntrials = 1\n")],
    "reproduce, a key": lambda f: ["reproduce", "--config", toml(f, f"[letter]\n{QUOTED} = 1\n")],
    "reproduce, a value": lambda f: ["reproduce", "--config", toml(f, f"[letter]\nprotocol = {QUOTED}\n")],
    "reproduce, failed": lambda f: ["reproduce", "--config", (failed(f), toml(f, "[complexity]\nmost = 2\n"))[1], "--dir", f / "results", "--workers", "1"],
    "results, a folder": lambda f: ["results", f / NAMED],
    "results, renamed": lambda f: ["results", (results(f)[0].parent.rename(f / NAMED[:30]), f / NAMED[:30])[1], "--csv", f / f"{NAMED[:30]}.csv"],
    "results, damaged": lambda f: ["results", damaged(f)],
    "results, a key": lambda f: ["results", keyed(f).parent],
    "results, JSON": lambda f: ["results", keyed(f).parent, "--json"],
    "report": lambda f: ["report", results(f)[0].parent, "-o", f / f"{NAMED[:30]}.html"],
    "ask, events": lambda f: ["ask", TASK_IN_WORDS, "--events", text_file(f, "e.yaml", f"{QUOTED}: x\n")],
    "ask, an event": lambda f: ["ask", TASK_IN_WORDS, "--event", f"{ALL}=x"],
    "ask, a transcript": lambda f: ["ask", TASK_IN_WORDS, "--events", "office", "--replay", "--transcript", text_file(f, "t.jsonl", ALL)],
    "ask, a server": lambda f: ["ask", TASK_IN_WORDS, "--events", "office", "--server", ALL],
    "llm serve": lambda f: ["llm", "serve", text_file(f, f"{NAMED[:30]}.gguf", "x")],
    "llm serve, a name": lambda f: ["llm", "serve", ALL],
    "a command": lambda f: [ALL],
    "an option": lambda f: ["check", f"--{ALL}"],
}  # fmt: skip


def text_file(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def named(folder):
    path = looks(folder)
    path.write_text(path.read_text().replace("right", f"right {QUOTED[1:-1]}"))
    return path.rename(folder / f"{NAMED[:30]}.json")


def damaged(folder):
    place, _ = results(folder)
    for path in place.glob("*-*.json"):
        path.write_text(ALL)
    return place.parent.rename(folder / NAMED[:30])


def keyed(folder):
    place, _ = results(folder)
    told = json.loads((place / "experiment.json").read_text())
    (place / "experiment.json").write_text(json.dumps({**told, ALL: 1}))
    return place


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_no_command_prints_what_a_terminal_would_obey(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    done = CliRunner().invoke(app, list(map(str, CASES[case](tmp_path))))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    shown = done.stdout + done.stderr
    assert not hidden(shown), ascii(shown)
    assert "owned" in "".join(shown.split()).replace("││", ""), (
        "what is hostile was not printed at all"
    )


@pytest.mark.parametrize(
    "reply",
    [
        chat(ALL),
        chat(None, refusal=ALL),
        failing(500, ALL),
        failing(401, ALL),
        {"body": {"error": ALL}, "status": 400},
        {"raw": ALL.encode(), "status": 503},
        chat(json.dumps({"steps": [{"phrase": ALL, "events": [ALL], "how": ALL, "count": ALL}]})),
    ],
)
def test_what_a_model_replies_is_no_order(reply, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cranium.assist.openai_model.FIRST_WAIT", 0.0)
    with serving(reply, models=(f"model {ALL}",)) as (_, url):
        told = [
            "ask",
            TASK_IN_WORDS,
            "--events",
            "office",
            "--server",
            url,
            "--yes",
            "--attempts",
            "1",
        ]
        done = CliRunner().invoke(app, told)
    assert done.exit_code == 2
    assert not hidden(done.stdout + done.stderr), ascii(done.stdout + done.stderr)


def test_phrases_of_a_plan_and_names_of_models_are_no_orders(tmp_path):
    plan = json.loads(RIGHT_PLAN)
    plan["steps"][0]["phrase"] = ALL.replace("\x00", "")
    with serving(json.dumps(plan), models=(f"a {ALL}", f"b {ALL}")) as (_, url):
        told = ["ask", TASK_IN_WORDS, "--events", "office", "--server", url, "--yes"]
        several = CliRunner().invoke(app, told)
        one = CliRunner().invoke(app, [*told, "--model", "a", "--lenient"])
    for done in (several, one):
        shown = done.stdout + done.stderr
        assert "owned" in shown
        assert not hidden(shown), ascii(shown)


# In a real terminal, which the program itself gives orders


ORDERS = ("\x1b]0;owned", "\x1b[31mowned", "\x9b31m", "\u202e", "\x1b[2J\x1b[Howned")


@pytest.mark.slow
def test_an_episode_on_the_screen_gives_no_orders(tmp_path):
    shown = Terminal("replay", str(looks(tmp_path)), size=(50, 250))
    shown.expect("step      0 of 2")
    seen = shown.child.before
    shown.press("q")
    assert shown.end() == 0
    seen += shown.child.before
    assert "map" in seen
    # A map may have colours, and nothing else.
    assert not [order for order in ORDERS if order in seen and order != "\x1b[31mowned"]


@pytest.mark.parametrize("name", ["title", "direction", "eight bits"])
def test_errors_in_a_terminal_give_no_orders(name, tmp_path):
    told = Terminal("check", f"owned {EVIL[name]}.yaml")
    told.expect("owned")
    assert told.end() == 2
    assert not [order for order in ORDERS if order in told.child.before]


def test_warnings_and_bars_give_no_orders():
    """A warning of Python's, and the bar of a training whose machine was made in Python."""
    code = (
        "import sys, warnings; from cranium.cli.app import main; from cranium.learners.progress import ProgressBar;"
        f"evil = {ALL!r}\n"
        "with ProgressBar(True, 'bar ' + evil, 10) as watch: watch.show(5, 0.1, [1, 1], [])\n"
        "sys.argv = ['cranium', '--version']\n"
        "try: main()\n"
        "finally: warnings.warn('warned ' + evil)\n"
    )
    told = pexpect.spawn(sys.executable, ["-W", "always", "-c", code], encoding="utf-8", timeout=60)
    told.expect(pexpect.EOF)
    told.close()
    assert told.exitstatus == 0
    assert "bar " in told.before
    assert "warned " in told.before
    assert not [order for order in ORDERS if order in told.before]


# There is one place


PRINTING = {"print", "echo", "secho", "prompt", "confirm", "Console", "input", "pprint"}
OWNERS = {"typer", "click", "rich", "stdout", "stderr", "traceback"}


@pytest.mark.slow
def test_nothing_is_printed_but_through_one_place():
    allowed = {SOURCE / "_runtime/terminal.py", SOURCE / "cli" / "output.py"}
    for path in sorted(set(SOURCE.rglob("*.py")) - allowed):
        for node in ast.walk(ast.parse(path.read_text())):
            called = getattr(node, "func", None)
            if isinstance(called, ast.Name):  # "confirm" may also be the one of ours
                assert called.id not in PRINTING - {"confirm"}, f"{path}:{node.lineno}"
            elif isinstance(called, ast.Attribute):
                owner = called.value
                name = getattr(owner, "id", getattr(owner, "attr", ""))
                printing = name in OWNERS and called.attr in {*PRINTING, "write", "print_exc"}
                assert not printing, f"{path}:{node.lineno}"
