"""The public names are pinned: adding or removing one is a decision, made here."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import cranium
import cranium.errors
from cranium import aamdp, assist, episodes, figures, languages, learners, tables, worlds

PUBLIC = {
    "FALSE",
    "TRUE",
    "Alphabet",
    "Configuration",
    "CounterMachine",
    "CountingRewardAutomaton",
    "CraniumError",
    "Equivalence",
    "Finding",
    "Formula",
    "Grid",
    "Reward",
    "RewardFunction",
    "RewardMachine",
    "Step",
    "Study",
    "Trace",
    "Transition",
    "as_cra",
    "assist",
    "automaton_schema",
    "check",
    "compile_language",
    "draw",
    "dumps",
    "equivalent",
    "errors",
    "languages",
    "library",
    "load",
    "loads",
    "minimise",
    "parse_formula",
    "save",
    "unroll",
    "AutomatonAugmentedMDP",
    "Monitor",
    "Optuna",
    "Policy",
    "evaluate",
    "learners",
    "train",
    "check_labelling",
    "labelling",
    "labelling_from_cells",
    "product",
    "episodes",
    "rising_edges",
    "solve",
    "worlds",
    "find_product",
    "zero_test",
}


def test_the_public_names_are_these():
    assert set(cranium.__all__) == PUBLIC
    for name in cranium.__all__:
        assert hasattr(cranium, name)


def test_every_error_is_exported_and_drawn_in_the_tree():
    classes = {
        name
        for name, value in vars(cranium.errors).items()
        if inspect.isclass(value) and issubclass(value, cranium.CraniumError)
    }
    others = {"HorizonWarning", "PersistentEventWarning", "Place", "UnsoundLabelsWarning"}
    assert classes | others == set(cranium.errors.__all__)
    for name in classes:
        assert name in cranium.errors.__doc__


MODULES = [
    module.name
    for module in pkgutil.walk_packages(cranium.__path__, "cranium.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_every_module_imports_and_says_what_is_public(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for public in module.__all__ if hasattr(module, "__all__") else ():
        assert hasattr(module, public), f"{name}.{public}"


def _public_objects():
    for name in cranium.__all__:
        value = getattr(cranium, name)
        if inspect.isfunction(value):
            yield name, value
        if inspect.isclass(value) and not issubclass(value, Exception):
            yield name, value
            for method, raw in vars(value).items():
                inner = getattr(raw, "__func__", raw)
                if not method.startswith("_") and (
                    inspect.isfunction(inner) or isinstance(inner, property)
                ):
                    yield f"{name}.{method}", inner


def _objects_of_packages():
    for package in (aamdp, assist, tables, figures, languages, learners, episodes, worlds):
        for name in package.__all__:
            value = getattr(package, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                yield f"{package.__name__.removeprefix('cranium.')}.{name}", value


@pytest.mark.parametrize(("name", "value"), [*_public_objects(), *_objects_of_packages()])
def test_every_public_name_has_a_docstring_with_an_example_that_runs(name, value):
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")
    assert examples, f"cranium.{name} has no example"


def _imported_at_once(path):
    """The packages that a module imports when it is imported itself."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.slow
def test_whatever_is_imported_is_installed_with_cranium():
    root = Path(cranium.__file__).parent
    told = tomllib.loads((root.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    declared = {re.match(r"[\w-]+", one)[0].lower() for one in told["project"]["dependencies"]}
    sources = importlib.metadata.packages_distributions()
    for path in root.rglob("*.py"):
        optional = {"jax"} if "deep" in path.parts else set()
        for name in set(_imported_at_once(path)) - sys.stdlib_module_names - {"cranium"} - optional:
            assert {one.lower() for one in sources[name]} & declared, f"{path}: {name}"


def test_users_get_the_types():
    assert (Path(cranium.__file__).parent / "py.typed").exists()


@pytest.mark.slow
def test_importing_cranium_does_not_import_what_only_drawing_needs():
    code = "import sys, cranium; print([m for m in ('matplotlib', 'networkx', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_sb3_is_an_attribute_that_imports_torch_only_when_it_is_asked_for():
    code = "import sys, cranium; print('torch' in sys.modules, 'sb3' in dir(cranium))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
