"""cranium ask: as a person uses it, in a real terminal, and as a script does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from support.model_servers import serving
from support.plan_answers import RIGHT_PLAN, TASK_IN_WORDS, WRONG_PLAN
from support.terminal import Terminal

import cranium

ASK = [sys.executable, "-m", "cranium", "ask"]
OFFICE = ["--events", "office", "--transcript", "recorded:office", "--replay"]


def run(*arguments, **more):
    told = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, **more}
    return subprocess.run([*ASK, *arguments], check=False, **told)


@pytest.mark.slow
def test_words_become_a_file_that_an_agent_learns(tmp_path):
    task, picture = tmp_path / "task.yaml", tmp_path / "task.png"
    done = run(TASK_IN_WORDS, *OFFICE, "-o", str(task), "--draw", str(picture), "--yes")
    assert done.returncode == 0, done.stderr
    assert "mail person never decoration" in done.stdout
    assert "accepts   mail person" in done.stdout
    assert "may happen at any time" in done.stdout
    assert cranium.equivalent(
        cranium.load(task), cranium.compile_language("mail person never decoration")
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    learn = ["train", "office", str(task), "--learner", "planner", "--until-solved"]
    trained = subprocess.run(
        [sys.executable, "-m", "cranium", *learn],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert trained.returncode == 0, trained.stderr
    assert "solved" in trained.stdout


@pytest.mark.slow
@pytest.mark.parametrize("examples", [[], ["--accept", "mail person"], ["--reject", "person"]])
def test_without_examples_it_says_that_a_wrong_machine_can_pass(examples):
    told = [TASK_IN_WORDS, "--events", "office", "--yes", *examples]
    with serving(RIGHT_PLAN) as (_, url):
        done = run(*told, "--server", url, "--model", "one")
    assert done.returncode == 0, done.stderr
    assert ("a wrong machine can pass every check" in done.stdout) == (not examples)


@pytest.mark.slow
def test_a_person_accepts(tmp_path):
    task = tmp_path / "task.yaml"
    terminal = Terminal("ask", TASK_IN_WORDS, *OFFICE, "-o", str(task))
    terminal.expect("[a]ccept")
    terminal.type("what?")
    terminal.expect("[a]ccept")
    terminal.type("a")
    terminal.expect("wrote")
    assert terminal.end() == 0
    assert task.exists()


@pytest.mark.slow
@pytest.mark.parametrize("blank", ["", " ", "   \t "])
def test_blanks_and_enter_are_as_good_as_enter_alone(tmp_path, blank):
    task = tmp_path / "task.yaml"
    terminal = Terminal("ask", TASK_IN_WORDS, *OFFICE, "-o", str(task))
    terminal.expect("[a]ccept")
    terminal.type("c")
    terminal.expect("judged wrongly")
    terminal.type(blank)  # asks again
    terminal.expect("judged wrongly")
    terminal.type("gold")
    terminal.expect("rejected: ")
    terminal.expect("[a]ccept")
    terminal.type(blank)  # accepts
    terminal.expect("wrote")
    assert terminal.end() == 0
    assert task.exists()


@pytest.mark.slow
def test_a_person_declines_and_nothing_is_written(tmp_path):
    task = tmp_path / "task.yaml"
    terminal = Terminal("ask", TASK_IN_WORDS, *OFFICE, "-o", str(task))
    terminal.expect("[a]ccept")
    terminal.type("q")
    assert terminal.end() == 1
    assert not task.exists()


@pytest.mark.slow
def test_a_person_edits_the_plan(tmp_path):
    task, editor = tmp_path / "task.yaml", tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i 's/success: 1.0/success: 7.0/' \"$1\"\n")
    editor.chmod(0o755)
    env = {**os.environ, "EDITOR": str(editor), "VISUAL": ""}
    terminal = Terminal("ask", TASK_IN_WORDS, *OFFICE, "-o", str(task), env=env)
    terminal.expect("[a]ccept")
    terminal.type("e")
    terminal.expect("pays 7")
    terminal.expect("[a]ccept")
    doubled = "\n".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60))
    bomb = f"a0: &a0 [x]\n{doubled}"  # a few bytes, and 2^59 values where they are written out
    for nonsense in ("steps: []", "steps: 2026-01-01", "a: &a [*a]", "'", bomb):
        editor.write_text(f'#!/bin/sh\ncat > "$1" <<END\n{nonsense}\nEND\n')
        terminal.type("e")
        terminal.expect("rejected: ")
        terminal.expect("[a]ccept")
    editor.unlink()
    terminal.type("e")
    terminal.expect("rejected: ")
    terminal.expect("[a]ccept")
    terminal.type("a")
    terminal.expect("wrote")
    assert terminal.end() == 0
    assert cranium.load(task).run("mail person").total_reward == 7


@pytest.mark.slow
def test_a_counterexample_goes_back_to_the_model(tmp_path):
    task = tmp_path / "task.yaml"
    events = ["--event", "mail=an item of mail is collected"]
    events += ["--event", "person=an item is delivered to a person"]
    events += ["--event", "decoration=a decoration is broken"]
    with serving(WRONG_PLAN, WRONG_PLAN, RIGHT_PLAN) as (script, url):
        terminal = Terminal(
            "ask", TASK_IN_WORDS, *events, "--server", url, "--model", "x", "-o", str(task)
        )
        terminal.expect("[a]ccept")
        terminal.type("c")
        terminal.expect("judged wrongly")
        terminal.type("gold")
        terminal.expect("rejected: ")
        terminal.expect("[a]ccept")
        terminal.type("c")
        terminal.expect("judged wrongly")
        terminal.type("mail mail person")
        terminal.expect("will have to be")
        terminal.expect("[a]ccept")
        terminal.type("a")
        terminal.expect("wrote")
        assert terminal.end() == 0
    assert len(script.asked) == 3
    assert "mail mail person" in script.asked[1]["messages"][-1]["content"]
    assert not cranium.load(task).run("mail mail person").accepted


@pytest.mark.slow
def test_the_paper_mode_shows_where_the_models_own_automaton_differs(tmp_path):
    answers = (RIGHT_PLAN, "L = {MP}", "δ(q0, mail) = q1, δ(q1, person) = q2. Accepting state: q2.")
    events = tmp_path / "events.yaml"
    events.write_text("mail: mail is collected\nperson: it is delivered\ndecoration: one breaks\n")
    with serving(*answers) as (_, url):
        done = run(
            TASK_IN_WORDS,
            "--events",
            str(events),
            "--server",
            url,
            "--model",
            "x",
            "--yes",
            "--paper",
        )
    assert done.returncode == 0, done.stderr
    assert "equivalent to this one" in done.stdout
    wrong = (*answers[:2], answers[2].replace("q0, mail", "q0, person"))
    with serving(*wrong) as (_, url):
        done = run(
            TASK_IN_WORDS,
            "--events",
            str(events),
            "--server",
            url,
            "--model",
            "x",
            "--yes",
            "--paper",
        )
    assert "different on 'mail" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument"),
        ([TASK_IN_WORDS], "no events are given"),
        ([TASK_IN_WORDS, "--events", "ofice"], "did you mean 'Office'?"),
        ([TASK_IN_WORDS, "--events", "none.yaml"], "cannot read none.yaml"),
        ([TASK_IN_WORDS, "--event", "mail"], "an event is NAME=MEANING"),
        ([TASK_IN_WORDS, "--event", "mail room=x"], "an event has a name such as mail_room"),
        ([TASK_IN_WORDS, *OFFICE, "--accept", "gold"], "no such event: 'gold'"),
        (
            [TASK_IN_WORDS, "--events", "office", "--replay", "--transcript", "recorded:x"],
            "known: mail, office",
        ),
        ([TASK_IN_WORDS, *OFFICE, "-o", "task.txt", "--yes"], "task.txt"),
        ([TASK_IN_WORDS, *OFFICE], "there is no terminal to ask"),
        (["Something else.", *OFFICE, "--yes"], "has no answer to this request"),
        (["", *OFFICE], "a description is a text"),
        (
            [
                TASK_IN_WORDS,
                "--events",
                "office",
                "--server",
                "http://127.0.0.1:9/v1",
                "--model",
                "x",
            ],
            "reached",
        ),
    ],
)
def test_nonsense_gets_one_message(arguments, said, tmp_path):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_was_said_is_kept_when_it_is_interrupted(tmp_path):
    talk = tmp_path / "talk.jsonl"
    slow = {"body": json.loads("{}"), "delay": 20}
    with serving(WRONG_PLAN.replace('"mail"', '"person"'), slow) as (script, url):
        told = ["--events", "office", "--server", url, "--model", "x", "--yes"]
        process = subprocess.Popen([*ASK, TASK_IN_WORDS, *told, "--transcript", str(talk)])
        end = time.monotonic() + 60
        while len(script.asked) < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(2)
        assert process.wait(timeout=30) == 130
    assert len(talk.read_text().splitlines()) == 2
