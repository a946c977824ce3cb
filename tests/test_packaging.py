"""The name of the package for pip, its extras, and what users are told to install."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import cranium
from cranium import errors
from cranium.experiments import records

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOR_US = {"dev", "docs"}
EXTRAS = PROJECT["optional-dependencies"].keys() - FOR_US
# Not the changelog, which is history.
TEXTS = [
    path
    for folder in ("src", "docs", "examples", "benchmarks", "tests")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md") and path != Path(__file__)
] + [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def test_the_name_for_pip_is_free_and_the_import_and_the_command_are_cranium():
    assert PROJECT["name"] == errors.DISTRIBUTION == "cranium-rl"
    assert PROJECT["scripts"] == {"cranium": "cranium.cli:main"}


def test_nobody_is_told_to_install_what_is_not_on_the_index():
    """Neither somebody else's ``cranium`` nor ``cranium-rl``, until that is published."""
    wrong = re.compile(r"pip install ['\"]?cranium|\bcranium\[")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in TEXTS
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if wrong.search(line)
    ]
    assert found == []


def test_every_extra_that_is_named_exists():
    named = set()
    for path in TEXTS:
        for found in re.findall(r"pip install '\.\[([\w,]+)\]'|extra ``(\w+)``", path.read_text()):
            named |= {extra for each in found if each for extra in each.split(",")}
    assert named >= EXTRAS - {"parquet"}
    assert named <= EXTRAS | FOR_US


def test_every_missing_extra_is_told_in_the_same_words():
    """Only ``MissingExtraError.of`` makes the text, and every extra it is given exists."""
    used = set()
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text()
        assert "raise MissingExtraError(" not in text, f"{path.name}: use MissingExtraError.of"
        if path.name != "errors.py":
            assert "pip install" not in text, f"{path.name}: errors.install_hint says it"
        calls = re.findall(r"MissingExtraError\.of\(\s*f?\"[^\"]*\",\s*\"(\w+)\"", text)
        assert len(calls) == text.count("raise MissingExtraError.of("), path.name
        used |= set(calls)
    assert used
    assert used <= EXTRAS


def test_the_readme_lists_every_extra():
    table = re.findall(r"^\| `(\w+)` \|", (ROOT / "README.md").read_text(), re.M)
    assert set(table) >= EXTRAS


def test_a_record_tells_the_version_of_the_code_whatever_pip_knows(monkeypatch):
    def version(name):
        if "cranium" in name:
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(records.metadata, "version", version)
    versions, _ = records.collect_versions.__wrapped__()
    assert versions["cranium"] == cranium.__version__
    assert versions["numpy"] == "1.0"


def test_nothing_is_fetched_unless_it_is_asked_for():
    """A plain ``pytest`` runs neither what fetches a model nor what takes an hour."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    words = shlex.split(found["addopts"])
    left_out = words[words.index("-m") + 1]
    fetching = [mark.split(":")[0] for mark in found["markers"] if "MB" in mark or "GB" in mark]
    assert sorted(fetching) == ["llm", "local_model"]
    assert all(f"not {name}" in left_out for name in (*fetching, "faults"))
