"""No public function takes or returns plain ``Any``, so mypy has something to check at the seams.

Outside the learners and what stands on them, containers say what they hold, too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import cranium

SOURCE = Path(cranium.__file__).parent
Test = Callable[[ast.expr | None], bool]


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


def seams_of(body: list[ast.stmt], prefix: str, test: Test = is_any) -> Iterator[str]:
    """Every public parameter, return value and attribute whose annotation passes a test."""
    for each in body:
        match each:
            case ast.ClassDef(name=name) if not name.startswith("_"):
                yield from seams_of(each.body, f"{prefix}{name}.", test)
            case ast.FunctionDef(name=name) if not name.startswith("_") or name == "__init__":
                yield from parameters_of(each, f"{prefix}{name}", test)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                if not name.startswith("_") and test(annotation):
                    yield f"{prefix}{name}"


def parameters_of(function: ast.FunctionDef, name: str, test: Test) -> Iterator[str]:
    """The parameters and the return value of a function whose annotations pass a test."""
    given = function.args
    for each in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        if test(each.annotation):
            yield f"{name}({each.arg})"
    if test(function.returns):
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


OPEN = {
    "Env",
    "VectorEnv",
    "Wrapper",
    "Space",
    "TimeLimit",
    "NDArray",
    "floating",
    "integer",
    "type",
}
"""Generic classes of Gymnasium and NumPy whose parameters are left open: any environment, any dtype."""
KEYED = {"dict", "Mapping"}
"""With keys that are text, these hold values of many types: options, an info, a JSON object."""
OURS = {"FiniteEnv", "FiniteWorld", "Layout", "JaxWorld"}
"""Protocols of our own, for any type of state or observation."""
LATER = ("learners", "experiments", "studies", "figures", "paper")
"""Packages whose containers are not searched yet."""
EXCEPTIONS = {
    "aamdp/product.py: AutomatonAugmentedMDP.reset() ->": "users index observations",
    "aamdp/product.py: AutomatonAugmentedMDP.step() ->": "users index observations",
    "automata/formula.py: Formula.__init__(key)": "subclasses know the types of their parts",
    "automata/reward.py: RewardFunction.function": "a user's function of (s, a, s′)",
    "automata/reward.py: find_reward(rewards)": "a user's function of (s, a, s′)",
    "automata/reward_machine.py: RewardMachine.__init__(state_rewards)": "the same",
    "automata/transition.py: Transition.__init__(reward)": "the same",
    "formats/toro_icarte.py: read_toro_icarte(rewards)": "the same",
    "_runtime/code_cache.py: cache_for(function)": "any function can be compiled",
    "_runtime/code_cache.py: CodeCache.__init__(function)": "any function can be compiled",
}
"""Where Any is meant, and why."""


def holds_any(annotation: ast.expr | None) -> bool:
    """Whether an annotation holds an Any that neither ``OPEN`` nor ``KEYED`` explains."""
    match annotation:
        case ast.Name(id="Any"):
            return True
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if name in KEYED and ast.unparse(parts[0]) == "str":
                parts = [part for part in parts if ast.unparse(part) != "Any"]
            if name in OPEN | OURS:
                parts = [part for part in parts if ast.unparse(part) != "Any"]
            return any(map(holds_any, parts))
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return holds_any(left) or holds_any(right)
        case ast.List(elts=parts):
            return any(map(holds_any, parts))
    return False


def test_containers_at_seams_say_what_they_hold() -> None:
    found = {
        f"{path.relative_to(SOURCE)}: {seam}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] not in LATER
        for seam in seams_of(ast.parse(path.read_text("utf-8")).body, "", holds_any)
    }
    assert found == set(EXCEPTIONS)


def test_the_search_for_any_in_containers_finds_it() -> None:
    text = (
        "def f(a: list[Any], b: dict[str, Any], c: Callable[[Any], int], d: gym.Env[Any, Any]): ..."
    )
    assert list(seams_of(ast.parse(text).body, "", holds_any)) == ["f(a)", "f(c)"]
