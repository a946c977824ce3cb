"""How every benchmark is started, and where its results go.

``--smoke`` asks only whether a benchmark still runs: the same code with as few repetitions and
samples as there can be. What it then prints means nothing, so every line says that it is a smoke
run, and the results go into a folder of their own. ``make smoke`` and ``make smoke-deep`` run all.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any, TextIO

OUT = Path(__file__).parents[1] / "out"
MARK = "smoke, not to be quoted: "


class Marked:
    """A stream that puts a mark before every line."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.begun = stream, False

    def write(self, text: str) -> int:
        """Write text, marked."""
        for line in text.splitlines(keepends=True):
            self.stream.write(line if self.begun else MARK + line)
            self.begun = not line.endswith("\n")
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """A parser that knows ``--smoke``; the first line of the module's docstring describes it."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="only see whether it runs")
    return parser


def parse(parser: argparse.ArgumentParser, **smallest: Any) -> argparse.Namespace:
    """Read the command line; ``smallest`` are the defaults of a smoke run."""
    given = parser.parse_args()
    assert smallest.keys() <= vars(given).keys(), "a smoke run only changes options there are"
    if given.smoke:
        parser.set_defaults(**smallest)
        given = parser.parse_args()
        sys.stdout = Marked(sys.stdout)  # type: ignore[assignment]
    return given


def write(name: str, results: Any, *, smoke: bool) -> None:
    """Write results into ``out/bench``, or those of a smoke run into ``out/smoke``."""
    folder = OUT / ("smoke" if smoke else "bench")
    folder.mkdir(parents=True, exist_ok=True)
    about = {"python": platform.python_version(), "machine": platform.machine(), "smoke": smoke}
    text = json.dumps({**about, "results": results}, indent=2, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(f"written to out/{folder.name}/{name}.json")
