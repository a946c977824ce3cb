"""Every block in the README and the pages is run, in order, in a folder of its own."""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import cranium

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?P<language>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
# These would run the tests from within the tests, or install into the folder that they run in.
MADE = {"make demo": "test_make_demo", "make test": "this very run"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(m["language"].strip(), m["body"]) for m in BLOCK.finditer(page.read_text())]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_a_page_runs_and_shows_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, body in blocks(page):
        match language:
            case "python":
                run_or_write(body, names, page)
            case "pycon":
                run_session(body, names, page)
            case "console":
                run_commands(body)
            case "toml" if body.startswith("# pyproject.toml\n"):
                install_entry_points(body)
            case "toml":
                Path("experiments.toml").write_text(body)
            case "yaml":
                write_machine(body)
            case "{eval-rst}" | "{toctree}":
                pass  # Sphinx reads these, with warnings as errors
            case _:
                assert language.startswith(("{figure}", "{literalinclude}")), (
                    f"{page.name}: a block of {language!r} is run by nothing"
                )
                if "tests/extending/" in language:
                    use_extension(page.parent / language.split()[1], monkeypatch)


def run_or_write(body: str, names: dict[str, object], page: Path) -> None:
    """Run a block of Python; one that begins with a comment naming a file is that file."""
    if found := re.match(r"# (\w+\.py)\n", body):
        Path(found[1]).write_text(body)
    else:
        exec(compile(body, str(page), "exec"), names)


def use_extension(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file that a page shows importable: here as its tests import it, and for commands."""
    module = importlib.import_module(f"extending.{path.stem}")  # once, because it registers names
    monkeypatch.setitem(sys.modules, path.stem, module)
    shutil.copy(path, path.name)


def install_entry_points(body: str) -> None:
    """Lay out the entry points of a pyproject.toml as pip does, in the folder of the commands."""
    project = tomllib.loads(body)["project"]
    folder = Path(f"{project['name'].replace('-', '_')}-{project['version']}.dist-info")
    folder.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (folder / "METADATA").write_text(head)
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")


def run_session(body: str, names: dict[str, object], page: Path) -> None:
    test = doctest.DocTestParser().get_doctest(body, names, page.name, str(page), 0)
    assert test.examples
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, "".join(report)


def run_commands(body: str) -> None:
    """Lines that begin with $ are run; what follows them is what they print, if it is given."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        command = command.split("  #")[0].strip()
        if command in MADE:
            continue
        words = shlex.split(command)
        assert words[0] == "cranium", f"how is this run? {command}"
        done = subprocess.run(
            [sys.executable, "-m", *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "PYTHONUTF8": "1"},
        )
        printed = (done.stdout + done.stderr).rstrip()
        assert "Traceback" not in printed, printed
        if expected.strip():
            assert trimmed(printed) == trimmed(expected), f"{command} prints:\n{printed}"
        else:
            assert done.returncode == 0, printed


def trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def write_machine(body: str) -> None:
    """A block that begins with a comment naming a file is that file; all must be machines or say why."""
    first = body.splitlines()[0]
    assert re.match(r"# [\w-]+\.yaml$", first), f"a machine without a file name: {first}"
    Path(first.removeprefix("# ")).write_text(body)


def test_the_readme_has_the_ten_line_example_and_its_two_commands():
    found = blocks(ROOT / "README.md")
    python, _ = [body for language, body in found if language == "python"]
    assert len([line for line in python.splitlines() if line.strip()]) <= 10
    commands = [body for language, body in found if language == "console"]
    assert commands[:2] == ["$ make demo\n", "$ make test\n"]


def test_pictures_that_the_pages_show_are_there_and_are_small():
    for page in PAGES:
        for path in re.findall(r"(?:!\[[^\]]*\]\(|\{figure\} )([\w/.-]+)", page.read_text()):
            picture = page.parent / path
            assert picture.stat().st_size < 150_000, picture


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([\w/.-]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} → {target}"


def find_name(dotted: str) -> object:
    """Import the longest part that is a module, and take the rest from it."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError as problem:
            if not name.startswith(problem.name or "?"):
                return None  # a package that is not installed here
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AttributeError(dotted)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_of_ours_on_the_pages_exist(page):
    for dotted in set(re.findall(r"\bcranium(?:\.[a-zA-Z_]\w*)+", page.read_text())):
        find_name(dotted)


@pytest.mark.parametrize("package", ["counterfactual", "learners", "worlds"])
def test_the_reference_lists_every_public_name_of_what_users_extend(package):
    page = (ROOT / "docs" / "reference.md").read_text()
    listed = {
        path.rpartition(".")[2] for path in re.findall(r"^\.\. auto\w+:: ([\w.]+)", page, re.M)
    }
    assert set(importlib.import_module(f"cranium.{package}").__all__) <= listed


def defined_names(body: list[ast.stmt], prefix: str = "") -> set[str]:
    """The functions and classes of a file, and the methods of its classes."""
    found = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(f"{prefix}{node.name}")
            if isinstance(node, ast.ClassDef):
                found |= defined_names(node.body, f"{prefix}{node.name}.")
    return found


def test_the_architecture_page_names_files_and_functions_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (.+) \| `([\w/]+\.py)` \| `([\w.]+)` \|$", page, re.MULTILINE)
    assert len(rows) > 20
    for what, path, name in rows:
        assert name in defined_names(ast.parse((ROOT / path).read_text()).body), f"{what}: {path}"


def test_the_architecture_page_lists_every_package():
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.partition("## The packages")[2].partition("## ")[0]
    listed = {name for row in re.findall(r"^\| (`.+?) \|", table, re.M) for name in row.split(", ")}
    paths = (ROOT / "src" / "cranium").iterdir()
    packages = {path.stem for path in paths if path.is_dir() or path.suffix == ".py"}
    assert listed == {f"`{name}`" for name in packages if not name.startswith("__")}


@pytest.mark.slow
def test_the_picture_of_the_packages_is_that_of_the_source(tmp_path):
    script, shown = (ROOT / "docs" / "pictures" / f"architecture.{end}" for end in ("py", "svg"))
    drawn = tmp_path / "drawn.svg"
    subprocess.run([sys.executable, script, drawn], check=True)
    assert drawn.read_text() == shown.read_text(), "run make pictures"


def test_what_shows_a_promise_exists():
    """Every row names a test or a command, and every one that is named is there."""
    page, makefile = (ROOT / "docs" / "promises.md").read_text(), (ROOT / "Makefile").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ") and "shown by" not in line]
    assert len(rows) > 20
    for row in rows:
        assert re.search(r"`(?:tests/[\w/]+\.py|make [\w-]+)", row.rpartition(" | ")[2]), row
    for path, _, name in re.findall(r"`(tests/[\w/]+\.py)(::(\w+))?`", page):
        text = (ROOT / path).read_text()
        assert not name or re.search(rf"^def {name}\(", text, re.MULTILINE), f"{path}: {name}"
        marked = re.search(
            rf"@(?:needs_model|pytest\.mark\.local_model)\n(?:@.*\n)*def {name}\(", text
        )
        if marked and name:
            assert re.search(rf"{name}`[^|]*make test-model", page), f"{name} is not in make test"
        for mark in re.findall(r"^pytestmark = pytest\.mark\.(ray|faults)$", text, re.MULTILINE):
            named = f"{path}::{name}" if name else path
            assert re.search(rf"{named}`[^|]*make test-{mark}", page), (
                f"{named} is not in make test"
            )
    for path in re.findall(r"`(benchmarks/\w+\.py)`", page):
        assert (ROOT / path).exists(), path
    for target in re.findall(r"`make ([\w-]+)`", page):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.slow
def test_make_demo(tmp_path):
    """What the README says first, with the commands of the Makefile itself."""
    rule = re.search(r"^demo:[^\n]*\n((?:\t[^\n]*\n)+)", (ROOT / "Makefile").read_text(), re.M)
    assert rule
    lines = [line.strip().removeprefix("@") for line in rule[1].splitlines()]
    shown = ""
    for line in lines:
        command = line.replace("$(BIN)/cranium", f"{sys.executable} -m cranium")
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONUTF8": "1", "COLUMNS": "120"},
        )  # fmt: skip
        shown += done.stdout
    assert "no findings" in shown
    assert "accepted, total reward 1" in shown
    assert shown.count("solved    after") == 2
    for picture in ("task.png", "curves.png"):
        assert (tmp_path / "out" / picture).read_bytes().startswith(b"\x89PNG")


def test_the_version_is_the_same_everywhere():
    assert f'version = "{cranium.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert cranium.__version__ in (ROOT / "CHANGELOG.md").read_text()
