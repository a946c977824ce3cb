"""Drawings: the notation, every format, names that try to break out, and nothing on top of another."""

from __future__ import annotations

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from support.machines import LIBRARY, PICTURES, hostile_machine

import cranium
from cranium.automata.counter_machine import CounterMachine
from cranium.automata.reward import RewardFunction
from cranium.automata.reward_machine import RewardMachine
from cranium.automata.transition import Transition
from cranium.drawing import draw, to_dot, to_mermaid, to_png, to_svg, to_tikz
from cranium.drawing.image import boxes, render
from cranium.drawing.labels import arrows, escape_latex
from cranium.drawing.layout.arrange import lay_out
from cranium.errors import DrawingError, FileAccessError

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")


@pytest.fixture(params=PICTURES)
def machine(request):
    return PICTURES[request.param]()


# What an arrow says


def lines_of(machine, source, target):
    found = [a for a in arrows(machine) if (a.source, a.target) == (source, target)]
    assert len(found) == 1
    return [line.text for line in found[0].lines]


def test_parallel_transitions_share_one_arrow():
    machine = cranium.library.load("anbcn")
    assert lines_of(machine, "counting", "failed") == [
        "⟨B ∧ ¬A ∧ ¬C, n=0, –, 0⟩",
        "⟨C ∨ A ∧ B, ∗, –, 0⟩",
    ]
    assert len(arrows(machine)) == 6 < len(machine.transitions) == 7
    for text, arrow in ((to_dot(machine), "s0:s -> s3:n ["), (to_mermaid(machine), "s0 --> s3 :")):
        assert text.count(arrow) == 1
    layout = lay_out(machine)
    assert len(layout.labels) == 6
    assert len(layout.curves) == 7


def test_notation_with_counters():
    machine = cranium.library.load("office")
    assert lines_of(machine, "deliver", "done") == ["⟨ε, parcels=0, –, 1⟩"]
    assert lines_of(machine, "fetch mail", "fetch mail")[0].endswith("∗, coffees+1 parcels+1, 0⟩")
    assert "parcels−1" in lines_of(machine, "deliver", "deliver")[0]


def test_notation_without_counters():
    machine = cranium.library.load("mail-delivery")
    assert lines_of(machine, "carrying", "failed") == ["⟨mail ∨ decoration, 0⟩"]


def test_notation_of_rewards():
    def shown(reward):
        step = Transition(source="u", guard="A", target="end", reward=reward)
        machine = RewardMachine(
            propositions=["A"], initial="u", terminal=["end"], transitions=[step]
        )
        return lines_of(machine, "u", "end")[0].removeprefix("⟨A, ").removesuffix("⟩")

    rewards = (1, 0.5, -2, 1e-7, 0.1234567890123, RewardFunction("closer", lambda s, a, t: 0.0))
    assert [shown(r) for r in rewards] == ["1", "0.5", "−2", "1e−07", "0.1234567890123", "closer"]


def test_long_texts_are_wrapped_at_operators_and_commas():
    for arrow in arrows(cranium.library.load("office")):
        for line in arrow.lines:
            parts = line.wrap()
            assert all(len(part.text) <= 34 for part in parts)
            assert " ".join(part.text for part in parts) == line.text


def test_otherwise_is_said_unless_it_is_stay():
    for otherwise, words in (("failed", "to failed"), ("error", "an error")):
        machine = RewardMachine(
            propositions=["A"], initial="u", terminal=["failed"], otherwise=otherwise,
            transitions=[Transition(source="u", guard="A")],
        )  # fmt: skip
        for text in (to_dot(machine), to_mermaid(machine), to_tikz(machine)):
            assert words in text
        assert "note" in [box.what for box in boxes(machine)]
    assert "any other" not in to_dot(cranium.library.load("anbcn"))


# The formats


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARY)
def test_same_machine_same_bytes(name):
    machine = cranium.library.load(name)
    for form in ("svg", "png", "pdf"):
        assert render(machine, form) == render(machine, form)
    for write in (to_dot, to_mermaid, to_tikz):
        assert write(machine) == write(machine)


@pytest.mark.slow
def test_same_bytes_in_another_process():
    program = (
        "import cranium, hashlib; from cranium.drawing import to_svg\n"
        "text = to_svg(cranium.library.load('square'))\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed}, capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(digests) == 1


@pytest.mark.slow
def test_importing_cranium_does_not_import_what_is_slow_to_import():
    program = (
        "import sys, cranium, cranium.drawing\n"
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'networkx', 'numba', 'PIL')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_pyplot_and_settings_are_left_alone():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    to_png(cranium.library.load("anbcn"))
    assert dict(mpl.rcParams) == before


def test_svg_is_xml_and_png_is_png():
    machine = cranium.library.load("anbcn")
    assert ET.fromstring(to_svg(machine)).tag.endswith("svg")
    assert to_png(machine).startswith(b"\x89PNG\r\n\x1a\n")


def test_structure_of_dot(machine):
    rows = to_dot(machine).splitlines()
    assert rows[0].startswith("digraph ")
    assert rows[-1] == "}"
    count = len(machine.states) + len(machine.terminal)
    assert sum(row.startswith("  s") and "->" not in row.split("[")[0] for row in rows) == count + 1
    assert sum("->" in row.split("[")[0] for row in rows) == len(arrows(machine)) + 1


def test_accepting_states_are_distinguished():
    machine = cranium.library.load("anbcn")
    assert "◉</font><br/>done" in to_dot(machine)
    assert "●</font><br/>failed" in to_dot(machine)
    assert "class s2 accepting" in to_mermaid(machine)
    assert to_tikz(machine).count("circle[radius") == 1


def test_structure_of_mermaid(machine):
    text = to_mermaid(machine)
    body = text.split("stateDiagram-v2\n")[1].splitlines()
    assert sum(row.strip().startswith('state "') for row in body) == len(
        [*machine.states, *machine.terminal]
    )
    assert sum(" --> " in row for row in body) == len(arrows(machine)) + 1


def test_tikz_is_a_balanced_document(machine):
    text = to_tikz(machine)
    assert text.count(r"\draw[->]") == len(lay_out(machine).curves)
    for part in (r"\documentclass", r"\usetikzlibrary{automata,positioning}", r"\end{document}"):
        assert part in text
    bare = text.replace(r"\{", "").replace(r"\}", "")
    body = bare.split(r"\begin{document}")[1]
    assert body.count("{") == body.count("}")


# Names that try to break out


def test_hostile_names_in_dot():
    text = to_dot(hostile_machine())
    for label in ('"a\\"b"', '"\\\\"', '"&amp;lt;"', '"\\\\N"', '"<b>"', '"$x$"', '"100%"'):
        assert f"[label={label}];" in text
    assert "</font><br/>ok &quot;&amp;&quot; &lt;i&gt;>];" in text


def test_hostile_names_in_mermaid():
    text = to_mermaid(hostile_machine())
    assert "<script" not in text
    assert 'state "a#34;b" as s0' in text
    assert 'state "#35;quot#59;" as s21' in text
    for row in text.split("stateDiagram-v2\n")[1].splitlines():
        if row.strip().startswith("state "):
            assert row.count('"') == 2


def test_hostile_names_in_latex():
    assert escape_latex("a\\b{c}") == r"a\textbackslash{}b\{c\}"
    assert escape_latex("#$%&_") == r"\#\$\%\&\_"
    assert escape_latex("--") == "-{}-{}"
    assert "{{}[*]}" in to_tikz(hostile_machine())


def test_hostile_names_in_pictures():
    machine = hostile_machine()
    assert ET.fromstring(to_svg(machine)).tag.endswith("svg")
    shown = " ".join(box.what for box in boxes(machine))
    for name in ("$x$", "<b>", "100%", 'a"b', "\\"):
        assert f"state {name} " in shown


@needs_dot
def test_graphviz_accepts_every_drawing(machine):
    done = subprocess.run(
        ["dot", "-Tsvg"], input=to_dot(machine).encode(), capture_output=True, check=True
    )
    text = done.stdout.decode()
    shown = {element.text for element in ET.fromstring(text).iter() if element.tag.endswith("text")}
    assert {*machine.states} <= {(text or "").replace("\xa0", " ") for text in shown}


@needs_latex
@pytest.mark.parametrize("build", [hostile_machine, PICTURES["office"]])
def test_latex_accepts_drawings(tmp_path, build):
    draw(build(), tmp_path / "picture.tex")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "picture.tex"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]


# Files and refusals


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "start"),
    [
        (".dot", b"digraph"), (".gv", b"digraph"), (".mmd", b"---"), (".tex", b"%"),
        (".svg", b"<?xml"), (".png", b"\x89PNG"), (".PNG", b"\x89PNG"), (".pdf", b"%PDF"),
    ],
)  # fmt: skip
def test_the_ending_chooses_the_format(tmp_path, ending, start):
    path = tmp_path / f"picture{ending}"
    draw(cranium.library.load("anbcn"), path)
    assert path.read_bytes().startswith(start)
    draw(cranium.library.load("anbcn"), str(path))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["picture.gif", "picture", "picture.svgz", ".svg"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(DrawingError, match="no drawing ends in") as refusal:
        draw(cranium.library.load("anbcn"), tmp_path / name)
    assert refusal.value.fix == "use one of .dot, .gv, .mmd, .tex, .svg, .png, .pdf"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(FileAccessError):
        draw(cranium.library.load("anbcn"), tmp_path / "missing" / "picture.dot")


def test_only_automata_are_drawn():
    machine = CounterMachine(symbols=["A"], initial="u", accepting=["u"], transitions=[])
    for use in (to_dot, to_mermaid, to_tikz, to_svg):
        with pytest.raises(DrawingError, match="a drawing shows a counting reward automaton"):
            use(machine)


def test_endless_texts_are_cut_short_in_pictures_only():
    guards = [" & ".join(f"{'!' * (n >> i & 1)}p{i}" for i in range(6)) for n in range(40)]
    machine = RewardMachine(
        propositions=[f"p{i}" for i in range(6)], initial="u", terminal=["end"],
        transitions=[Transition(source="u", guard=guard, target="end") for guard in guards],
    )  # fmt: skip
    assert "text …" in [box.what for box in boxes(machine)]
    assert to_dot(machine).count("⟨") == 40
