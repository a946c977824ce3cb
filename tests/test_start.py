"""Ctrl-C while the command starts: one line and exit code 130, whatever is being imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cranium
from cranium._runtime import startup as starting

# What pip writes for the command.
SCRIPT = """import re
import sys
from cranium.cli import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
# Python imports this before anything else; it presses Ctrl-C when a module is looked for.
PRESSING = """
import os, signal, sys

# Whoever started the tests in the background may have had Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Pressing:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["PRESSED_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Pressing())
"""


@pytest.fixture
def start(tmp_path):
    """Start a program in which Ctrl-C is pressed when a module is imported."""
    (tmp_path / "sitecustomize.py").write_text(PRESSING)
    (tmp_path / "cranium").write_text(SCRIPT)

    def run(module, *words):
        paths = [str(tmp_path), str(Path(cranium.__file__).parents[1])]
        env = {**os.environ, "PRESSED_AT": module, "PYTHONPATH": os.pathsep.join(paths)}
        told = {"cwd": tmp_path, "env": env, "capture_output": True, "text": True}
        return subprocess.run([sys.executable, *words], check=False, **told)

    return run


MODULES = [
    "cranium.errors",
    "numpy",
    "gymnasium",
    "lark",
    "cranium.cli",
    "cranium.cli.app",
    "typer",
]


@pytest.mark.slow
@pytest.mark.parametrize("words", [["cranium"], ["-m", "cranium"]], ids=["script", "module"])
@pytest.mark.parametrize("module", MODULES)
def test_ctrl_c_during_the_imports_of_the_command_is_one_line(start, module, words):
    done = start(module, *words, "library")
    assert (done.returncode, done.stderr, done.stdout) == (130, "error: interrupted\n", "")


@pytest.mark.slow
def test_ctrl_c_in_a_program_that_imports_the_package_stays_its_own(start, tmp_path):
    (tmp_path / "mine.py").write_text(
        "try:\n    import cranium\nexcept KeyboardInterrupt:\n    print('mine')\n"
    )
    done = start("gymnasium", "mine.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "mine\n", "")


@pytest.mark.parametrize(
    ("argv", "original", "expected"),
    [
        (["/bin/cranium", "run"], ["python", "/bin/cranium", "run"], True),
        (["C:\\cranium.exe"], ["python", "C:\\cranium.exe"], os.name == "nt"),
        (["-m", "check"], ["python", "-m", "cranium", "check"], True),
        (["-m", "cranium"], ["python", "-m", "pytest", "cranium"], False),
        (["/bin/cranium"], ["python", "-c", "from multiprocessing.spawn import …"], False),
        (["/bin/pytest"], ["python", "/bin/pytest"], False),
        ([], [], False),
    ],
)
def test_only_the_command_is_guarded(monkeypatch, argv, original, expected):
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", original)
    assert starting._is_command() is expected
