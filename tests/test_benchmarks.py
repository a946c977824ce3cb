"""Every benchmark is run by the smoke targets, and these tests are fast enough to run always."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from cranium.errors import MissingExtraError

ROOT = Path(__file__).parents[1]
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))
SCRIPTS = [path for path in BENCHMARKS if '__name__ == "__main__"' in path.read_text()]
MAKEFILE = (ROOT / "Makefile").read_text()


@pytest.fixture
def running(monkeypatch, tmp_path):
    """How benchmarks are started, with a place of its own for results."""
    spec = importlib.util.spec_from_file_location("running", ROOT / "benchmarks" / "running.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "OUT", tmp_path)
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # a smoke run replaces it
    return module


def recipe(target):
    found = re.search(rf"^{target}:[^\n]*\n((?:\t[^\n]*\n)+)", MAKEFILE, re.M)
    assert found, f"there is no make {target}"
    return found[1]


def listed(variable):
    return re.search(rf"^{variable} := (.*)$", MAKEFILE, re.M)[1].split()


def test_every_script_is_run_by_one_of_the_smoke_targets():
    covered = []
    for target in ("smoke", "smoke-deep"):
        variables = re.findall(r"\$\((BENCHMARKS\w*)\)", recipe(target))
        assert variables
        assert "--smoke" in recipe(target)
        covered += [name for variable in variables for name in listed(variable)]
    assert sorted(covered) == sorted(path.stem for path in SCRIPTS)


def test_the_smoke_targets_are_run_before_anything_lands():
    commands = (ROOT / ".ci" / "run").read_text().splitlines()
    assert {"make smoke", "make smoke-deep"} <= set(commands)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_has_a_smallest_form(path):
    """Either it reads its own options with the shared helper, or it is a list of cases, which does."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    names = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
    assert names & {"parse", "run_cases"}
    assert "ArgumentParser" not in path.read_text(), (
        "running.parser_of makes one that knows --smoke"
    )


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_what_a_benchmark_imports_from_cranium_is_there(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cranium"):
            with suppress(MissingExtraError):  # the smoke run is where it is installed
                gone = [name.name for name in node.names if not is_there(node.module, name.name)]
                assert not gone, f"{path.name} imports what {node.module} does not have: {gone}"


def is_there(module, name):
    found = importlib.import_module(module)
    is_package = hasattr(found, "__path__")
    return hasattr(found, name) or (
        is_package and importlib.util.find_spec(f"{module}.{name}") is not None
    )


def test_a_smoke_run_is_small_and_an_option_that_is_given_still_counts(running, monkeypatch):
    def options(*words):
        monkeypatch.setattr(sys, "argv", ["bench.py", *words])
        parser = running.parser_of("RunMetadata.")
        parser.add_argument("--turns", type=int, default=9)
        parser.add_argument("--steps", type=int, default=1000)
        found = running.parse(parser, turns=1, steps=10)
        return found.smoke, found.turns, found.steps

    assert options() == (False, 9, 1000)
    assert options("--smoke") == (True, 1, 10)
    assert options("--steps", "77", "--smoke") == (True, 1, 77)


def test_a_smoke_run_can_only_shrink_options_that_there_are(running, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bench.py"])
    with pytest.raises(AssertionError, match="options there are"):
        running.parse(running.parser_of("RunMetadata."), truns=1)


def test_every_line_of_a_smoke_run_says_so_and_its_results_overwrite_no_others(
    running, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    for words in ([], ["--smoke"]):
        monkeypatch.setattr(sys, "argv", ["bench.py", *words])
        given = running.parse(running.parser_of("RunMetadata."))
        print("two", "words", end=" ")
        print("in one line\nand another")
        running.write("speed", {"ratio": 2.0}, smoke=given.smoke)
    lines = capsys.readouterr().out.splitlines()
    plain, marked = lines[:3], lines[3:]
    assert plain[:2] == ["two words in one line", "and another"]
    assert plain[2] == "written to out/bench/speed.json"
    assert marked[:2] == [running.MARK + line for line in plain[:2]]
    assert marked[2] == running.MARK + "written to out/smoke/speed.json"
    for kind in ("bench", "smoke"):
        found = json.loads((tmp_path / kind / "speed.json").read_text())
        assert found["smoke"] == (kind == "smoke")
        assert found["results"] == {"ratio": 2.0}
