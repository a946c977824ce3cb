"""A property test whose examples are mostly turned away does not pass."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEST = """
from hypothesis import HealthCheck, assume, given, settings, strategies as st

@settings(suppress_health_check=list(HealthCheck))
@given(st.data())
def test_something(data):
    assume(data.draw(st.integers(0, 999)) {which})
"""


@pytest.mark.slow
@pytest.mark.parametrize(("which", "passes"), [("!= 7", True), ("% 5 == 0", False)])
def test_at_least_half_of_the_examples_are_real(tmp_path, which, passes):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(TEST.format(which=which))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode == 0) == passes, done.stdout + done.stderr
    assert ("examples were real cases" in done.stdout) != passes


def blocks_of(function):
    """The statements of a test, block by block; functions and classes inside it are their own."""
    waiting = [function]
    while waiting:
        node = waiting.pop()
        inner = [child for child in ast.iter_child_nodes(node) if not isinstance(child, OWN)]
        waiting += inner
        blocks = (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
        yield from (block for block in blocks if isinstance(block, list))


def gives_up(block):
    """Whether a block leaves a test with nothing tested: a return, or nothing at all."""
    words = "\n".join(map(ast.unparse, block))
    leaves = isinstance(block[-1], ast.Return | ast.Pass)
    return leaves and not any(word in words for word in ("assert", "raises", "reject"))


OWN = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
LEFT = """
@given(st.data())
def test_something(data):
    try:
        found = draw(data)
    except ValueError:
        return
    assert found
"""


def left(text):
    """The property tests that return where they should turn a case away."""
    return [
        f"{test.name}, line {block[0].lineno}"
        for test in ast.walk(ast.parse(text))
        if isinstance(test, ast.FunctionDef)
        and any("given(" in ast.unparse(one) for one in test.decorator_list)
        for block in blocks_of(test)
        if block and gives_up(block)
    ]


@pytest.mark.slow
def test_no_property_test_returns_where_it_should_turn_a_case_away():
    assert left(LEFT) == ["test_something, line 7"]
    found = {
        str(path.relative_to(ROOT)): left(path.read_text())
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
    }
    assert {path: tests for path, tests in found.items() if tests} == {}
