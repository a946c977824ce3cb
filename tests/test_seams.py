"""No public function takes or returns plain ``Any``, so mypy has something to check at the seams."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import cranium

SOURCE = Path(cranium.__file__).parent


def is_any(annotation: ast.expr | None) -> bool:
    """Whether an annotation is Any, or a union with Any."""
    match annotation:
        case ast.Name(id="Any") | ast.Attribute(attr="Any"):
            return True
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return is_any(left) or is_any(right)
        case ast.Constant(value=str(text)):
            return is_any(ast.parse(text, mode="eval").body)
    return False


def seams_of(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    """Every public parameter, return value and attribute that is plain Any."""
    for each in body:
        match each:
            case ast.ClassDef(name=name) if not name.startswith("_"):
                yield from seams_of(each.body, f"{prefix}{name}.")
            case ast.FunctionDef(name=name) if not name.startswith("_") or name == "__init__":
                yield from parameters_of(each, f"{prefix}{name}")
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                if not name.startswith("_") and is_any(annotation):
                    yield f"{prefix}{name}"


def parameters_of(function: ast.FunctionDef, name: str) -> Iterator[str]:
    """The parameters and the return value of a function that are plain Any."""
    given = function.args
    for each in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        if is_any(each.annotation):
            yield f"{name}({each.arg})"
    if is_any(function.returns):
        yield f"{name}() ->"


def test_no_public_parameter_or_return_value_is_plain_any() -> None:
    found = [
        f"{path.relative_to(SOURCE)}: {seam}"
        for path in sorted(SOURCE.rglob("*.py"))
        for seam in seams_of(ast.parse(path.read_text("utf-8")).body, "")
    ]
    assert not found, f"{len(found)} seams are Any:\n" + "\n".join(found)


def test_the_search_for_any_finds_it_in_each_place() -> None:
    text = "class A:\n    x: Any\n    def f(self, a: Any, b: int | Any) -> 'Any': ...\n"
    assert list(seams_of(ast.parse(text).body, "")) == ["A.x", "A.f(a)", "A.f(b)", "A.f() ->"]
