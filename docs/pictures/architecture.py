"""Draw the packages of Cranium and their imports, for the page "Architecture".

The imports are read from the source. Arrows that follow from others are left out, and so are the
imports of the command line (it may call everything) and of the foundation (everything may call it).
"""

import ast
import sys
from html import escape
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "cranium"
TOP = {"cli": "the commands: may call everything"}
FOUNDATION = {
    "errors": "every error",
    "arguments": "checks of arguments",
    "io": "atomic files",
    "npz": "arrays in files",
    "_runtime": "compiler, signals",
}
# What each package is for, its column, and whether data pass through it on the way to a figure.
PACKAGES = {
    "assist": ("words → automaton", 1, True),
    "languages": ("A^N → automaton", 0, True),
    "automata": ("the paper's machines", 2, True),
    "formats": ("YAML, JSON, library", 1, False),
    "drawing": ("pictures of machines", 4, False),
    "tables": ("automata as arrays", 2, True),
    "worlds": ("environments", 3, False),
    "aamdp": ("product, solve", 2, True),
    "counterfactual": ("sets, relabel, replay", 2, True),
    "learners": ("train, evaluate, save", 2, True),
    "episodes": ("recordings, videos", 3, False),
    "experiments": ("trials and records", 2, True),
    "figures": ("curves, figures, pages", 4, True),
    "studies": ("experiments as values", 2, True),
    "paper": ("the paper's figures", 1, True),
}
WIDTH, HEIGHT, ACROSS, DOWN, MARGIN, BAR = 172, 48, 190, 82, 16, 48


def main(path: str) -> None:
    """Write the picture."""
    Path(path).write_text(draw(read_imports(SOURCE)), encoding="utf-8")


def read_imports(source: Path) -> dict[str, set[str]]:
    """Return which packages each package imports, without the top and the foundation."""
    found: dict[str, set[str]] = {}
    for path in sorted(source.rglob("*.py")):
        own = path.relative_to(source).parts[0].removesuffix(".py")
        found.setdefault(own, set()).update(*map(imported, statements(ast.parse(path.read_text()))))
    packages = {name for name in found if not name.startswith("__")}
    if packages != {*TOP, *FOUNDATION, *PACKAGES}:
        changed = sorted(packages ^ {*TOP, *FOUNDATION, *PACKAGES})
        sys.exit(
            f"packages that are new or gone: {changed}; change PACKAGES in {Path(__file__).name}"
        )
    return {name: (found[name] & set(PACKAGES)) - {name} for name in PACKAGES}


def statements(node: ast.AST) -> list[ast.AST]:
    """List what is below a node, except for imports that only type checkers follow."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return []
    below = [each for child in ast.iter_child_nodes(node) for each in statements(child)]
    return [node, *below]


def imported(node: ast.AST) -> set[str]:
    """Return the packages of ours that a statement imports."""
    if isinstance(node, ast.ImportFrom) and node.module == "cranium":
        modules = [f"cranium.{each.name}" for each in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = [node.module or ""]
    elif isinstance(node, ast.Import):
        modules = [each.name for each in node.names]
    else:
        modules = []
    return {module.split(".")[1] for module in modules if module.startswith("cranium.")}


def layers(imports: dict[str, set[str]]) -> dict[str, int]:
    """Return the layer of each package: one above the highest that it imports."""
    found: dict[str, int] = {}
    while len(found) < len(imports):
        ready = [name for name in imports if name not in found and imports[name] <= set(found)]
        if not ready:
            sys.exit(f"these packages import each other in circles: {set(imports) - set(found)}")
        found |= {name: 1 + max((found[low] for low in imports[name]), default=0) for name in ready}
    return found


def reduce_arrows(imports: dict[str, set[str]]) -> list[tuple[str, str]]:
    """List the imports that do not follow from others: the transitive reduction."""

    def reachable(name: str) -> set[str]:
        return imports[name].union(*map(reachable, imports[name]))

    return [
        (name, low)
        for name in imports
        for low in sorted(imports[name])
        if not any(low in reachable(other) for other in imports[name] - {low})
    ]


def draw(imports: dict[str, set[str]]) -> str:
    """Draw the packages as boxes in layers, and the imports as arrows that point down."""
    layer = layers(imports)
    columns = 1 + max(column for _, column, _ in PACKAGES.values())
    wide = 2 * MARGIN + (columns - 1) * ACROSS + WIDTH
    highest = max(layer.values())
    first = MARGIN + BAR + DOWN - HEIGHT
    high = first + (highest - 1) * DOWN + HEIGHT + (DOWN - HEIGHT) + BAR + MARGIN
    at = {
        name: (MARGIN + column * ACROSS, first + (highest - layer[name]) * DOWN)
        for name, (_, column, _) in PACKAGES.items()
    }
    parts = [draw_arrow(at[name], at[low]) for name, low in reduce_arrows(imports)]
    for name, (purpose, _, flows) in PACKAGES.items():
        parts.append(draw_box(*at[name], WIDTH, HEIGHT, name, purpose, "flow" if flows else "side"))
    (top, purpose), across = *TOP.items(), wide - 2 * MARGIN
    parts.append(draw_box(MARGIN, MARGIN, across, BAR, top, purpose, "bar"))
    gap = 8
    each = (across - gap * (len(FOUNDATION) - 1)) / len(FOUNDATION)
    for number, (name, purpose) in enumerate(FOUNDATION.items()):
        left = MARGIN + number * (each + gap)
        parts.append(draw_box(left, high - MARGIN - BAR, each, BAR, name, purpose, "bar"))
    left = MARGIN + 2 * ACROSS  # beside the only package of the highest layer
    for number, line in enumerate(LEGEND):
        parts.append(
            f'<text class="legend" x="{left:g}" y="{first + 8 + 20 * number:g}">{line}</text>'
        )
    return HEAD.format(wide=wide, high=high) + "\n".join(parts) + "\n</svg>\n"


def draw_arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Draw a line from the bottom of a box to the top of another, ending near its middle."""
    lean = max(-1.0, min(1.0, (end[0] - start[0]) / ACROSS))
    is_long = end[1] - start[1] > DOWN  # then it has to pass the corners of boxes in between
    x = start[0] + WIDTH / 2 + lean * WIDTH * (0.4 if is_long else 0.2)
    to, y, top = end[0] + WIDTH / 2 - lean * WIDTH * 0.2, start[1] + HEIGHT, end[1] - 2
    return f'<path d="M{x:g} {y:g}L{to:g} {top:g}"/>'


def draw_box(
    x: float, y: float, width: float, height: float, name: str, purpose: str, kind: str
) -> str:
    """Draw a package: its name, and below it what it is for."""
    middle = x + width / 2
    return (
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>'
        f'<text class="name" x="{middle:g}" y="{y + 19:g}">{escape(name)}</text>'
        f'<text x="{middle:g}" y="{y + 37:g}">{escape(purpose)}</text>'
    )


LEGEND = (
    "An arrow means: imports. It points from the caller to what it calls.",
    "Blue: on the way from a task in words to a figure.",
    "Everything may import the row at the bottom.",
)
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" \
width="{wide:g}" height="{high:g}">
<style>
text {{ font: 14px sans-serif; text-anchor: middle; fill: #333 }}
.legend {{ text-anchor: start; font-size: 14px }}
.name {{ font: bold 15.5px monospace; fill: #111 }}
path {{ stroke: #667; stroke-width: 1.3; fill: none; marker-end: url(#head) }}
.flow {{ fill: #dcebfa; stroke: #2b6cb0 }}
.side {{ fill: #f5f5f5; stroke: #888 }}
.bar {{ fill: #fdf6e3; stroke: #b59b52 }}
</style>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" \
orient="auto"><path d="M0 1L10 5L0 9z" style="fill: #667; stroke: none; marker-end: none"/>\
</marker></defs>
<rect width="{wide:g}" height="{high:g}" rx="8" fill="#fff"/>
"""

if __name__ == "__main__":
    main(sys.argv[1])
