"""The import graph of the package, with imports inside functions: no cycles, and nothing points up."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

import cranium

PACKAGE = Path(cranium.__file__).parent
ROOT = Path(__file__).parents[1]


def module_name(path: Path) -> str:
    parts = ("cranium", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def is_type_checking(node: ast.AST) -> bool:
    test = node.test if isinstance(node, ast.If) else None
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"


def import_nodes(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """All imports of a module, at any depth, but those that only a type checker follows."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif is_type_checking(node):
            for other in node.orelse:
                yield from import_nodes(ast.Module([other], []))
        else:
            yield from import_nodes(node)


def imported(module: str, path: Path) -> Iterator[str]:
    """The modules of the package that a module imports."""
    for node in import_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            assert not node.level, f"{module} has a relative import"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else node.module or "" for name in whole]
        yield from (name for name in names if name in MODULES and name != module)


GRAPH = nx.DiGraph(
    (module, other) for module, path in MODULES.items() for other in imported(module, path)
)


CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]


def layers(contract: dict) -> list[tuple[str, ...]]:
    """The layers of a contract of import-linter, the highest first."""
    return [tuple(name.strip() for name in layer.split("|")) for layer in contract["layers"]]


def height(module: str) -> int | None:
    """The number of the layer that a module stands in, the lowest being the greatest."""
    for number, layer in enumerate(layers(CONTRACTS[0])):
        if any(module == name or module.startswith(f"{name}.") for name in layer):
            return number
    return None


def test_the_graph_has_imports_inside_functions():
    assert GRAPH.has_edge("cranium.automata.automaton", "cranium.automata.trace")
    assert len(GRAPH) > 150
    source = "def f():\n    from cranium.errors import Place\n"
    assert len(list(import_nodes(ast.parse(source)))) == 1
    hidden = "if TYPE_CHECKING:\n    import cranium.errors\nelse:\n    import cranium.io\n"
    assert [n.names[0].name for n in import_nodes(ast.parse(hidden))] == ["cranium.io"]


def test_no_module_imports_itself_by_way_of_others():
    cycles = [sorted(part) for part in nx.strongly_connected_components(GRAPH) if len(part) > 1]
    assert not cycles


def test_every_module_stands_in_a_layer_and_no_import_points_up():
    outside = {"cranium", "cranium.__main__", "cranium._runtime"}
    assert [m for m in MODULES if height(m) is None and m not in outside] == []
    up = [
        (module, other)
        for module, other in GRAPH.edges
        if None not in (height(module), height(other)) and height(other) < height(module)
    ]
    assert not up


def test_every_package_of_more_than_six_modules_has_layers():
    sizes: dict[str, int] = {}
    for module, path in MODULES.items():
        if path.name != "__init__.py":
            package = module.rpartition(".")[0]
            sizes[package] = sizes.get(package, 0) + 1
    large = {package for package, size in sizes.items() if size > 6} - {"cranium"}
    layered = {name for contract in CONTRACTS for name in contract.get("containers", [])}
    for contract in CONTRACTS[1:]:
        whole = (
            [name for layer in layers(contract) for name in layer] if "layers" in contract else []
        )
        layered |= {".".join(name.split(".")[:2]) for name in whole if name.startswith("cranium.")}
    assert large - layered == set()
    assert len(large) > 8


def test_every_module_that_a_contract_names_exists():
    for contract in (one for one in CONTRACTS if "layers" in one):
        for container in contract.get("containers", [""]):
            for name in (name for layer in layers(contract) for name in layer):
                assert f"{container}.{name}".strip(".") in MODULES, contract["name"]
