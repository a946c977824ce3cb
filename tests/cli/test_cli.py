"""The commands as a user meets them: output, exit codes, errors without traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.terminal import Terminal
from typer.testing import CliRunner

import cranium
from cranium.aamdp import CATALOGUE
from cranium.cli import app
from cranium.cli.arguments import parse_world_options
from cranium.cli.train import _parse_settings
from cranium.errors import InvalidArgumentError
from cranium.learners import Schedule

GOOD, NOT_GOOD, BAD = 0, 1, 2


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    runner = CliRunner()

    def call(*arguments, code=GOOD):
        result = runner.invoke(app, list(map(str, arguments)))
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            result.exception
        )
        assert result.exit_code == code, result.output
        return result.output

    return call


@pytest.fixture
def write(tmp_path):
    def call(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return call


@pytest.mark.slow
@pytest.mark.parametrize("name", cranium.library.names())
def test_the_shipped_machines_check_clean(run, name):
    assert run("check", f"library:{name}").endswith("no findings\n")
    assert run("check", f"library:{name}", "--json") == "[]\n"


def test_check_shows_findings_and_exits_with_1(run, write):
    path = write(
        "m.yaml",
        "propositions: [A]\ninitial: u\nstates: [u, v]\nterminal: [end]\naccepting: [end]\n"
        "transitions: [{from: u, when: A, to: end}]",
    )
    shown = run("check", path, code=NOT_GOOD)
    assert "warning: the state 'v' cannot be reached [unreachable-state]" in shown
    assert "fix: " in shown
    (finding,) = json.loads(run("check", path, "--json", code=NOT_GOOD))
    assert finding["code"] == "unreachable-state"


def test_a_remark_is_no_failure(run, write):
    path = write(
        "m.yaml",
        "propositions: [A, B]\ninitial: u\nterminal: [end]\naccepting: [end]\n"
        "transitions: [{from: u, when: A, to: end}]",
    )
    assert "info: the proposition 'B' occurs in no guard" in run("check", path)


def test_a_broken_rule_is_a_bad_file(run, write):
    path = write(
        "m.yaml",
        "propositions: [A]\ninitial: u\ntransitions:\n  - {from: u, when: A}\n  - {from: u}\n",
    )
    shown = run("check", path, code=BAD)
    assert "m.yaml:5:5: transition 1" in shown
    assert "both enabled on label A" in shown
    assert "      ^" in shown


def test_run_shows_every_step(run):
    shown = run("run", "library:anbcn", "A {} B C")
    rows = [line.split("│")[1:-1] for line in shown.splitlines() if "│" in line]
    steps = [[cell.strip() for cell in row] for row in rows]
    assert steps[1][:4] == ["1", "A", "counting", "1"]
    assert steps[2][4] == "otherwise: stay"
    assert steps[4][:4] == ["4", "C", "done", "0"]
    assert steps[4][5] == "1"
    assert steps[5][4].startswith("7: ⟨ε, n=0")
    assert shown.endswith("accepted, total reward 1\n")


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("A B", "not accepted: the machine has not ended, total reward 0"),
        ("A C", "not accepted, total reward 0"),
        ("A B C C", "not accepted: the machine ended with 1 of 4 labels unread, total reward 1"),
        ("", "not accepted: the machine has not ended"),
    ],
)
def test_a_word_that_is_not_accepted_exits_with_1_and_says_why(run, word, why):
    assert why in run("run", "library:anbcn", word, code=NOT_GOOD)


def test_run_as_json(run):
    shown = json.loads(run("run", "library:anbcn", "A B C", "--json"))
    assert shown["accepted"] is True
    assert shown["start"] == {"state": "counting", "counters": {"n": 0}}
    assert shown["steps"][-1] == {
        "label": ["C"],
        "state": "done",
        "counters": {"n": 0},
        "fired": [5, 7],
        "reward": 1.0,
    }


def test_long_silent_runs_are_cut_short_in_the_table(run):
    shown = run("run", "library:power-of-two", " ".join(["A"] * 64 + ["B"]))
    assert "more" in shown
    assert len(shown.splitlines()) < 100


@pytest.mark.parametrize(
    ("length", "left_out"), [(200, None), (201, "1 more"), (5000, "4,800 more")]
)
def test_of_a_long_run_the_first_and_the_last_steps_are_shown(run, length, left_out):
    shown = run("run", "library:anbcn", "A " * length, code=NOT_GOOD)
    rows = [line.split("│")[1:4] for line in shown.splitlines() if "│" in line]
    steps = [[cell.strip() for cell in row] for row in rows][1:]  # without the reset
    numbers = [*range(1, 101), *range(length - 99, length + 1)]
    assert [row for row in steps if row[0] != "…"] == [[str(n), "A", "counting"] for n in numbers]
    assert [row[1] for row in steps if row[0] == "…"] == ([] if left_out is None else [left_out])
    told = json.loads(run("run", "library:anbcn", "A " * length, "--json", code=NOT_GOOD))
    assert len(told["steps"]) == length


def test_reward_functions_are_shown_by_name(run, write):
    path = write(
        "m.yaml",
        "propositions: [A]\ninitial: u\nterminal: [end]\naccepting: [end]\n"
        "transitions: [{from: u, when: A, to: end, reward: distance}]",
    )
    assert "rewards by functions" in run("run", path, "A")
    assert json.loads(run("run", path, "A", "--json"))["total_reward"] is None
    assert "reward functions" in run("check", path)
    assert (
        "reward: distance"
        in (run("convert", path, "-o", "n.yaml"), path.with_name("n.yaml").read_text())[1]
    )


def test_names_are_never_taken_for_markup(run, write):
    path = write(
        "m.yaml",
        'name: "[red]x[/red]"\npropositions: [A]\ninitial: "[bold]u[/bold]"\nterminal: ["[/]"]\naccepting: ["[/]"]\n'
        'transitions: [{from: "[bold]u[/bold]", when: A, to: "[/]"}]',
    )
    assert "[bold]u[/bold]" in run("run", path, "A")
    assert "[red]x[/red]" in run("check", path)


@pytest.mark.parametrize("suffix", ["svg", "png", "dot", "mmd", "tex"])
def test_draw(run, tmp_path, suffix):
    out = tmp_path / f"m.{suffix}"
    assert f"wrote {out}" in run("draw", "library:anbcn", "-o", out).replace("\n", "")
    assert out.stat().st_size > 100


def test_unroll_convert_and_equivalent(run, tmp_path):
    assert "reward machine, 7 states" in run(
        "unroll", "library:anbcn", "--limit", 3, "-o", "rm.yaml"
    )
    assert cranium.load(tmp_path / "rm.yaml") == cranium.unroll(cranium.library.load("anbcn"), 3)
    run("unroll", "library:office", "-n", 2, "-o", "small.yaml", "--minimise")
    assert cranium.load(tmp_path / "small.yaml").terminal == ("done", "failed")
    run("convert", "rm.yaml", "-o", "rm.json")
    run("convert", "rm.json", "-o", "rm.hoa")
    assert "equivalent (" in run("equivalent", "rm.yaml", "rm.json")
    assert "no difference found (50 pairs" in run(
        "equivalent", "library:anbcn", "library:anbcn", "--bound", 50
    )
    shown = run("equivalent", "library:anbcn", "rm.yaml", code=NOT_GOOD)
    assert "different on the word: A A A A" in shown


def test_library_lists_and_prints(run, write):
    listed = run("library")
    for name in cranium.library.names():
        assert f"library:{name}" in listed
    text = run("library", "office")
    assert text == cranium.library.text("office")
    assert "no findings" in run("check", write("office.yaml", text))


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "none.yaml"],
        ["check", "none.toml"],
        ["check", "x" * 3000],
        ["convert", "library:anbcn", "-o", "x" * 3000],
        ["results", "x" * 3000],
        ["worlds", "..:x"],
        ["worlds", "no_such_module:x"],
        ["solve", "broken_module:x", "task"],
        ["check", "library:none"],
        ["check", "library:anbcn", "--bound", "0"],
        ["check"],
        ["run", "library:anbcn"],
        ["run", "library:anbcn", "A }"],
        ["run", "library:anbcn", "X"],
        ["draw", "library:anbcn", "-o", "m.gif"],
        ["draw", "library:anbcn"],
        ["draw", "library:anbcn", "-o", "no/such/folder/m.svg"],
        ["unroll", "library:anbcn", "--limit", "-1", "-o", "m.yaml"],
        ["unroll", "library:anbcn", "-o", "m.yaml"],
        ["convert", "library:anbcn", "-o", "m.hoa"],
        ["convert", "library:anbcn", "-o", "m"],
        ["equivalent", "library:anbcn"],
        ["library", "none"],
        ["nonsense"],
        ["--nonsense"],
    ],
    ids=lambda arguments: " ".join(arguments)[:60],
)
def test_bad_usage_and_bad_files_exit_with_2_and_no_traceback(
    run, arguments, tmp_path, monkeypatch
):
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    shown = run(*arguments, code=BAD)
    assert "Traceback" not in shown
    assert len(shown) < 1000


def program(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "cranium", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


@pytest.mark.slow
def test_the_program_itself_runs_where_the_terminal_knows_only_ascii():
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = program("run", "library:anbcn", "A B C", env=env)
    assert done.returncode == GOOD, done.stderr
    assert "accepted" in done.stdout
    done = program("check", "none.yaml", env=env)
    assert done.returncode == BAD
    assert done.stdout == ""
    assert done.stderr.startswith("error: cannot read none.yaml")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
def test_interrupting_leaves_the_old_file_and_no_traceback(tmp_path):
    out = tmp_path / "m.json"
    out.write_text("old")
    child = Terminal("unroll", "library:office", "--limit", "700", "-o", str(out))
    child.expect("unrolling")
    child.child.kill(signal.SIGINT)
    assert child.end() == 130
    assert "Traceback" not in child.child.before
    assert "interrupted" in child.child.before
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.slow
def test_ctrl_c_before_there_is_a_command_leaves_no_traceback():
    early = (
        "import signal, sys\n"
        "from cranium.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.modules[main.__module__].app = lambda: signal.raise_signal(signal.SIGINT)\n"
        "main()"
    )
    command = [sys.executable, "-c", early]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_machines_with_reward_functions_can_be_compared(run, write):
    text = (
        "propositions: [A]\ninitial: u\nterminal: [end]\naccepting: [end]\n"
        "transitions: [{from: u, when: A, to: end, reward: distance}]"
    )
    write("one.yaml", text)
    write("other.yaml", text)
    assert run("equivalent", "one.yaml", "other.yaml").startswith("equivalent")


def test_a_machine_that_stops_with_an_error_rejects_the_word(run, write):
    path = write(
        "m.yaml",
        "propositions: [A, B]\ninitial: u\notherwise: error\ntransitions: [{from: u, when: A}]",
    )
    shown = run("run", path, "A B", code=NOT_GOOD)
    assert "not accepted: no transition of 'u' is enabled on B" in shown
    assert "│ 1" in shown, "the steps before it are shown"
    data = json.loads(run("run", path, "A B", "--json", code=NOT_GOOD))
    assert data["stopped"].startswith("no transition")
    assert len(data["steps"]) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "none.yaml", "--json"],
        ["run", "library:anbcn", "X", "--json"],
        ["run", "library:none", "A", "--json"],
    ],
    ids=" ".join,
)
def test_with_json_an_error_is_json_too(run, arguments):
    told = json.loads(run(*arguments, code=BAD))["error"]
    assert {"type", "message", "place", "fix"} == set(told)


def test_places_in_json_have_parts(run, write):
    path = write("m.yaml", "propositions: [A]\ninitial: u\ntransitions: [{from: v, when: A}]")
    told = json.loads(run("check", path, "--json", code=BAD))["error"]
    assert (told["place"]["line"], told["place"]["column"]) == (2, 10)


def test_hundreds_of_findings_of_a_kind_are_not_all_printed(run, write):
    states = ", ".join(f"s{i}" for i in range(300))
    path = write(
        "m.yaml",
        f"propositions: [A]\ninitial: u\nstates: [u, {states}]\nterminal: [end]\naccepting: [end]\n"
        "transitions: [{from: u, when: A, to: end}]",
    )
    shown = run("check", path, code=NOT_GOOD)
    assert "… and 290 more [unreachable-state]" in shown
    assert len(json.loads(run("check", path, "--json", code=NOT_GOOD))) == 300


def test_a_narrow_table_loses_nothing(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    shown = run("run", "library:office", "mail coffee", code=NOT_GOOD)
    assert "…" not in shown


def test_a_word_without_spaces_is_explained(run):
    assert "separate the labels: A A B C C" in run("run", "library:anbcn", "AABCC", code=BAD)


def test_what_fires_at_reset_is_shown(run, write):
    path = write(
        "m.yaml",
        "propositions: [key, door]\ncounters: [missing]\ninitial: begin\nterminal: [open]\naccepting: [open]\n"
        "transitions:\n  - {from: begin, silent: true, add: {missing: 3}, to: collect}\n"
        "  - {from: collect, when: key, if: missing > 0, add: {missing: -1}}\n"
        "  - {from: collect, when: door, if: missing == 0, to: open, reward: 1}\n",
    )
    shown = run("run", path, "key key key door")
    assert "1: ⟨ε" in shown.splitlines()[3]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the shell's ways to close and fill streams")
@pytest.mark.parametrize(
    ("redirection", "code"),
    [(">&-", GOOD), ("2>&-", GOOD), (">/dev/full", BAD), ("| true", GOOD), ("| head -1", GOOD)],
)
def test_streams_that_are_closed_or_full(redirection, code):
    command = f"{sys.executable} -m cranium check library:anbcn {redirection}"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, env=env)
    assert "Traceback" not in done.stderr
    assert done.returncode == code


def test_compile_says_what_it_made(run, tmp_path):
    shown = run("compile", "A^N B C^N never D", "-o", "task.yaml", "--draw", "task.svg")
    assert "counted with 1 counter" in shown
    assert "2 states, 2 terminal, 7 transitions" in shown
    assert "C as many times as A; D must never happen" in shown
    assert "A B C   A A B C C" in shown
    assert "rejects   B C" in shown
    assert cranium.load(tmp_path / "task.yaml") == cranium.compile_language("A^N B C^N never D")
    assert (tmp_path / "task.svg").exists()


def test_compile_refuses_with_the_words_that_clash(run):
    shown = run("compile", "A^N A^M B^N", code=BAD)
    assert "'A A B' and 'A A A B B' are both in the language" in shown
    shown = run("compile", "A^N ) B", code=BAD)
    assert "      ^" in shown
    run("compile", "A B", "-o", "task.xyz", code=BAD)
    assert "accepts   A\n" in run("compile", "A+", "--first")


def test_whatever_takes_a_file_takes_a_language(run, tmp_path):
    task = ["--language", "A^N B C^N"]
    assert "no findings" in run("check", *task)
    assert "accepted" in run("run", *task, "A B C")
    run("run", "-l", "A^N B C^N", "A B", code=NOT_GOOD)
    run("draw", *task, "-o", "m.svg")
    run("unroll", *task, "--limit", 3, "-o", "m.json")
    run("convert", *task, "-o", "m.yaml")
    run("equivalent", "m.yaml", "-l", "A^N B C^N", "--bound", 50)
    assert "no difference" in run("equivalent", "library:anbcn", *task, "--bound", 50)
    for command in (
        ["check"],
        ["check", "library:anbcn", *task],
        ["run", "A"],
        ["convert", "-o", "m.yaml"],
    ):
        run(*command, code=BAD)


# Worlds


def test_worlds_lists_events_tasks_and_ids_and_shows_the_map(run, tmp_path):
    everything = run("worlds")
    for part in ("cranium/Letter-v0", "cranium/Office-mail-delivery-v0", "decoration", "patrol"):
        assert part in everything
    office = run("worlds", "Office")
    assert "# . A . . . * . . . * . . . B . #" in office
    assert "Letter" not in office
    data = json.loads(run("worlds", "--json"))
    assert [world["name"] for world in data] == [entry.name for entry in CATALOGUE]
    assert data[1]["tasks"]["mail-delivery"] == "cranium/Office-mail-delivery-v0"
    assert run("worlds", "Office", "--draw", "map.png").endswith("wrote map.png\n")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_worlds_and_solve_refuse_nonsense(run):
    assert "did you mean 'Office'?" in run("worlds", "Ofice", code=BAD)
    assert "a picture shows one world" in run("worlds", "--draw", "x.png", code=BAD)
    assert "ends in .png, not 'x.svg'" in run("worlds", "Office", "--draw", "x.svg", code=BAD)
    assert "cannot write" in run("worlds", "Office", "--draw", "no/where.png", code=BAD)
    assert "did you mean 'mail-delivery'?" in run("solve", "Office", "mail-delivry", code=BAD)
    assert "a discount is a number above 0" in run(
        "solve", "Letter", "anbcn", "--discount", "2", code=BAD
    )


def test_solve_prints_the_optimum(run):
    shown = run("solve", "ToroOffice", "coffee", "--discount", "0.9")
    assert "success   1.0000 within 1,000 steps" in shown
    assert "length    15.00 steps" in shown
    assert f"value     {0.9**14:.6f} at the start" in shown


def test_solve_takes_languages_files_and_options_of_the_world(run):
    shown = run("solve", "Letter", "--language", "A^N B C D^N", "--with", "times=3")
    assert "length    25.00 steps" in shown
    run("convert", "library:anbcdn", "-o", "task.yaml")
    assert "length    17.00 steps" in run("solve", "Letter", "task.yaml", "--with", "times=1")


# Learning


@pytest.mark.slow
def test_train_says_how_many_samples_saves_and_draws(run, tmp_path):
    shown = run(
        *("train", "Letter", "anbcdn", "--learner", "planner", "--steps", "2k", "--until-solved"),
        *(
            "--with",
            "times=1..2",
            "--evaluate-every",
            "10",
            "--save",
            "agent.npz",
            "--curve",
            "c.svg",
        ),
    )
    assert "learner   planner, seed 0, compiled loop" in shown
    assert "A 2 times  1.0000 success, " in shown
    assert " of at most 0.8179" in shown
    assert shown.endswith("wrote agent.npz\nwrote c.svg\n")
    assert "<svg" in (tmp_path / "c.svg").read_text()
    again = run("evaluate", "agent.npz")
    assert "agent     planner, seed 0" in again
    assert "A once     1.0000 success, 17.00 steps" in again
    data = json.loads(run("evaluate", "agent.npz", "--json", "--with", "times=2"))
    assert [one["instance"] for one in data] == ["A 2 times"]
    assert data[0]["success"] == 1


@pytest.mark.slow
def test_train_can_compare_learners_and_speak_json(run):
    data = json.loads(
        run("train", "Letter", "anbcdn", "--with", "times=1", "--learner", "cql", "--learner", "ql",
            "--steps", "20k", "--until-solved", "--shaping", "--json")
    )  # fmt: skip
    assert [one["learner"] for one in data] == ["cql", "ql"]
    assert all(one["samples"] == one["samples_to_solve"] for one in data)
    assert data[0]["evaluation"][0]["gap"] < 0.1


def test_train_takes_a_language_and_settings(run):
    shown = run(
        *("train", "Office", "--language", "mail person never decoration", "--steps", "300"),
        *("--set", "learning_rate=0.1", "--set", "configurations=seen", "--seed", "3"),
    )
    assert "learner   cql, seed 3" in shown
    assert "solved    not yet" in shown


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", 0.1),
        ("True", True),
        ("seen", "seen"),
        ("64,32", (64, 32)),
        ("(64, 64)", (64, 64)),
        ("(64,)", (64,)),
        ("[64, 64]", [64, 64]),
        ("1:0.1:5000", Schedule(1.0, 0.1, over=5000)),
        (".5:.25:9:episodes", Schedule(0.5, 0.25, over=9, unit="episodes")),
        ("1:0.1", "1:0.1"),
    ],
)
def test_settings_are_numbers_words_lists_or_schedules(text, value):
    assert _parse_settings([f"name={text}"]) == {"name": value}


@pytest.mark.parametrize(
    "text",
    ["9" * 5000, f"1..{'9' * 5000}", f"1,{'9' * 5000}", f"1:0:{'9' * 5000}", "[" * 100_000],
    ids=["digits", "range", "list", "schedule", "nested"],
)
@pytest.mark.parametrize("parse", [_parse_settings, parse_world_options])
def test_values_that_python_cannot_read_are_refused_in_one_message(text, parse):
    with pytest.raises(InvalidArgumentError, match="a value of at most 500 characters"):
        parse([f"name={text}"])
    nested = "[" * 499
    assert parse([f"name={nested}"]) == {"name": nested}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Ofice", "mail-delivery"], "did you mean 'Office'?"),
        (["Office"], "give either a TASK"),
        (["Office", "mail-delivery", "--language", "mail"], "give either a TASK"),
        (["Office", "mail-delivry"], "did you mean 'mail-delivery'?"),
        (["Office", "no.yaml"], "no.yaml"),
        (["Office", "mail-delivery", "--learner", "sarsa"], "no such learner: 'sarsa'"),
        (["Office", "mail-delivery", "--steps", "many"], "a number of samples is written like 500, 100k"),
        (["Office", "mail-delivery", "--steps", "0"], "a number of samples is written like 500, 100k"),
        (["Office", "mail-delivery", "--set", "discount=7"], "discount is a number from 0 to 1, not 7"),
        (["Office", "mail-delivery", "--set", "discount"], "a setting is NAME=VALUE"),
        (["Office", "mail-delivery", "--set", "exploration=1:0.1"], "a schedule or a rule, not '1:0.1'"),
        (["Office", "mail-delivery", "--set", "exploration=1:0:9:days"], "samples or episodes"),
        (["Office", "mail-delivery", "--set", "gamma=1"], "no such setting of cql: 'gamma'"),
        (["Office", "mail-delivery", "--with", "mail"], "an option of a world is NAME=VALUE"),
        (["Office", "mail-delivery", "--with", "male=3"], "cannot be made with"),
        (["Office", "mail-delivery", "--with", "mail=0"], "the mail is a whole number"),
        (["Office", "mail-delivery", "--save", "agent.txt"], "into a .npz file"),
        (["Office", "mail-delivery", "--curve", "c.txt"], "curves are drawn into"),
        (["Office", "mail-delivery", "--set", "steps=5"], "no such setting of cql: 'steps'"),
        (["Office", "mail-delivery", "--set", "gap=x"], "no such setting of cql: 'gap'"),
        (["Office", "mail-delivery", "--save", "no/where.npz"], "there is no folder no"),
        (["Office", "mail-delivery", "--seed", "-1"], "seed is a whole number of at least 0"),
        (["Office", "mail-and-coffee", "--learner", "crm"], "crm learns on reward machines"),
        (["Office", "mail-delivery", "--learner", "cql", "--learner", "ql", "--save", "a.npz"],
         "--save writes one agent"),
    ],
)  # fmt: skip
def test_train_refuses_nonsense(run, arguments, message):
    assert message in " ".join(run("train", *arguments, code=BAD).split())


def test_evaluate_refuses_what_is_no_agent_and_says_when_one_fails(run, tmp_path):
    assert "cannot read" in run("evaluate", "agent.npz", code=BAD)
    (tmp_path / "agent.npz").write_bytes(b"hello")
    assert "not a policy of ours" in run("evaluate", "agent.npz", code=BAD)
    run("train", "Letter", "anbcdn", "--steps", "50", "--save", "agent.npz")
    assert "0.0000 success" in run("evaluate", "agent.npz", code=NOT_GOOD)
    machine = cranium.library.load("anbcn")
    cranium.Policy(np.zeros((1, 1, 2)), (7,), (machine.start,), machine).save(tmp_path / "bare.npz")
    assert "does not say in which world" in run("evaluate", "bare.npz", code=BAD)


@pytest.mark.parametrize("number", [10**6, [1, 10**6], 1e999, -(10**30)])
def test_evaluate_takes_no_millions_from_a_file(run, tmp_path, number):
    machine = cranium.library.load("office-deliver")
    recipe = {"world": "Office", "options": {"mail": number}}
    policy = cranium.Policy(
        np.zeros((1, 1, 4)),
        (np.zeros(3, int),),
        (machine.start,),
        machine,
        about={"recipe": recipe},
    )
    policy.save(tmp_path / "agent.npz")
    said = " ".join(run("evaluate", "agent.npz", code=BAD).split())
    assert "at most 10,000 is accepted from a file" in said
    assert "--with 'mail'=" in said


def test_evaluate_says_when_the_world_is_another(run, tmp_path):
    run("train", "Letter", "anbcdn", "--with", "times=1", "--steps", "50", "--save", "agent.npz")
    assert "world  " not in run("evaluate", "agent.npz", code=NOT_GOOD)
    shown = run("evaluate", "agent.npz", "--with", "start=5..5", "--with", "times=1", code=NOT_GOOD)
    assert (
        "world     not the one of the training: other transitions; other labels; other starts"
        in shown
    )
    policy = cranium.Policy.load(tmp_path / "agent.npz")
    replace(policy, world={**policy.world, "horizon": 50}).save(tmp_path / "agent.npz")
    refused = " ".join(run("evaluate", "agent.npz", code=BAD).split())
    assert "made for another world: horizon: 50 in training, 100 here" in refused
    assert "--with NAME=VALUE" in refused


@pytest.mark.slow
def test_ctrl_c_while_training_keeps_what_was_learned(tmp_path):
    command = ["train", "Letter", "anbcdn", "--steps", "1000M", "--save", "agent.npz"]
    child = Terminal(*command, cwd=tmp_path)
    child.expect("000 samples")
    child.child.kill(signal.SIGINT)
    assert child.end() == 130
    assert "samples   interrupted after" in child.child.before
    assert (tmp_path / "agent.npz").exists()


def test_settings_that_do_not_fit_a_learner_are_refused_before_another_is_trained(run):
    both = ("--learner", "planner", "--learner", "cql", "--set", "patience=5")
    told = run("train", "Letter", "anbcdn", "--steps", "1k", *both, code=BAD)
    assert "no such setting of cql: 'patience'" in told
    assert "planner" not in told


def test_several_seeds_have_a_line_each_and_a_summary(run, tmp_path):
    more = (
        "--with",
        "times=1",
        "--until-solved",
        "--evaluate-every",
        "20",
        "--curve",
        "curves.svg",
    )
    told = run("train", "Letter", "anbcdn", "--learner", "planner", "--seeds", "2", *more)
    assert "planner seed 0: solved after 60 samples" in told
    assert "planner: 2 of 2 seeds solved, median" in told
    band = (tmp_path / "curves.svg").read_text()
    run(
        "train", "Letter", "anbcdn", "--learner", "planner", "--seeds", "2", "--single-seeds", *more
    )
    assert (tmp_path / "curves.svg").read_text() != band
    refused = run("train", "Letter", "anbcdn", "--seeds", "2", "--save", "a.npz", code=2)
    assert "--save writes one agent" in refused
    assert "add --curve" in run("train", "Letter", "anbcdn", "--single-seeds", code=2)
