"""A property test whose examples are mostly turned away does not pass."""

from __future__ import annotations

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


@pytest.mark.parametrize(("which", "passes"), [("!= 7", True), ("% 5 == 0", False)])
def test_at_least_half_of_the_examples_are_real(tmp_path, which, passes):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(TEST.format(which=which))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode == 0) == passes, done.stdout + done.stderr
    assert ("examples were real cases" in done.stdout) != passes
