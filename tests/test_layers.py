"""The generic packages know nothing of the paper's experiments."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import cranium
from cranium.paper import list_experiments
from cranium.paper.grids import METHODS

SOURCE = Path(cranium.__file__).parent
GENERIC = [
    path
    for package in ("experiments", "studies", "figures")
    for path in sorted((SOURCE / package).rglob("*.py"))
]
NAMES = {*list_experiments(), *(kind.__name__ for kind in list_experiments().values())}
STYLES = "figures/style.py"
"""It gives methods of the paper the same colour in every figure."""


def strings_and_names(path: Path) -> set[str]:
    """The string literals but for docstrings, and the names, of a module."""
    tree = ast.parse(path.read_text())
    docs = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            found.add(node.value)
        if isinstance(node, ast.Name):
            found.add(node.id)
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", GENERIC, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_generic_packages_name_nothing_of_the_paper(path: Path) -> None:
    found = strings_and_names(path)
    assert not found & NAMES
    assert not any("cranium.paper" in each for each in found)
    if not str(path).endswith(STYLES):
        assert not found & (set(METHODS) - {"planner"})


def test_the_packages_are_there() -> None:
    assert len(GENERIC) > 25
