"""Write the figures of a study and their captions to files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cranium.drawing import to_png, to_svg
from cranium.experiments.results import StudyResults
from cranium.figures.captions import QUICK
from cranium.figures.kinds import find_kind
from cranium.figures.style import save_figure
from cranium.io import write_bytes

__all__ = ["draw_study"]


def draw_study(
    study: StudyResults, folder: Path | None = None, kinds: Sequence[str] = ("svg", "png")
) -> list[Path]:
    """Draw the figures of a study, by default into the folder of its records.

    Each figure is written in all ``kinds``, and its caption into a ``.md`` file of the same name.
    Returns the paths that end in ``.svg``. A symbolic link of such a name is replaced; its target
    is not changed.

    Example:
        >>> import cranium, tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> study = cranium.Study("a", {"b": ("Letter", "A B")}, {"c": "cql"}, seeds=2, steps=100)
        >>> _ = study.run(folder, workers=1)
        >>> [path.name for path in draw_study(study.results())]
        ['study.svg']
    """
    kind, written = find_kind(study), []
    for name, figure in kind.draw(study).items():
        path = (folder or study.folder) / f"{name}.svg"
        save_figure(figure, path, kinds)
        more = "".join(f" {each}" for each in _describe_caveats(study))
        text = f"{kind.caption(study)}{more}\n"
        write_bytes(path.with_suffix(".md"), text.encode(), follow_links=False)
        written.append(path)
    for shown in kind.machines(study):
        path = (folder or study.folder) / f"{shown.name}.svg"
        for ending in kinds:
            content = to_png(shown.machine) if ending == "png" else to_svg(shown.machine).encode()
            write_bytes(path.with_suffix(f".{ending}"), content, follow_links=False)
        written.append(path)
    return written


def _describe_caveats(study: StudyResults) -> list[str]:
    """List caveats about the run: it was quick, or trials are missing or failed."""
    told = [QUICK] if study.config.is_quick else []
    if study.missing:
        told.append(f"*Trials that are still to be run, and so not in it: {study.missing:,}.*")
    if study.failed:
        told.append(f"*Trials that failed, and are in no number: {len(study.failed):,}.*")
    return told
