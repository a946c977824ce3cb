"""The figures of an experiment, with their captions, as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.convert import unroll
from cranium.drawing import to_png, to_svg
from cranium.experiments.complexity import ComplexityConfig
from cranium.experiments.natural_language import NaturalLanguageConfig
from cranium.experiments.results import Study
from cranium.figures import complexity, deep, letter, natural_language, office, reward_machines
from cranium.figures.captions import QUICK
from cranium.figures.style import save
from cranium.formats import library
from cranium.io import write_bytes

__all__ = ["draw_study", "machines"]

SHOWN = 10
"""Up to how many items of mail the reward machine is drawn, as in the paper."""

_MODULES: dict[str, ModuleType] = {
    "letter": letter,
    "complexity": complexity,
    "office": office,
    "reward-machines": reward_machines,
    "deep": deep,
    "natural-language": natural_language,
}


def draw_study(
    study: Study, folder: Path | None = None, kinds: Sequence[str] = ("svg", "png")
) -> list[Path]:
    """Draw the figures of an experiment, beside its records if no other place is named.

    Each is an SVG and a PNG file, or what is asked for; its caption is in a ``.md`` file of the
    same name. Returned are the names that end in ``.svg``. A symbolic link of such a name is
    replaced, and what it points at stays as it is.

    Example:
        >>> import tempfile
        >>> from cranium.experiments import ComplexityConfig, LocalEngine, run
        >>> from cranium.experiments.results import read_study
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = run(ComplexityConfig(most=3), folder, LocalEngine(1))
        >>> [path.name for path in draw_study(read_study(folder))]
        ['complexity.svg', 'machine-cra.svg', 'machine-rm-3.svg']
    """
    module, written = _MODULES[study.config.name], []
    for name, figure in module.draw(study).items():
        path = (folder or study.folder) / f"{name}.svg"
        save(figure, path, kinds)
        more = "".join(f" {each}" for each in _reservations(study))
        text = f"{module.caption(study)}{more}\n"
        write_bytes(path.with_suffix(".md"), text.encode(), follow_links=False)
        written.append(path)
    for name, machine in machines(study).items():
        path = (folder or study.folder) / f"{name}.svg"
        for kind in kinds:
            content = to_png(machine) if kind == "png" else to_svg(machine).encode()
            write_bytes(path.with_suffix(f".{kind}"), content, follow_links=False)
        written.append(path)
    return written


def _reservations(study: Study) -> list[str]:
    """What a reader of a figure has to know about the run that it was made from."""
    told = [QUICK] if study.config.is_quick else []
    if study.missing:
        told.append(f"*Trials that are still to be run, and so not in it: {study.missing:,}.*")
    if study.failed:
        told.append(f"*Trials that failed, and are in no number: {len(study.failed):,}.*")
    return told


def machines(study: Study) -> dict[str, CountingRewardAutomaton]:
    """The machines that an experiment is about, as far as they can be looked at (Appendix F)."""
    config = study.config
    if isinstance(config, NaturalLanguageConfig):
        made = natural_language.machine(study)
        return {} if made is None else {"machine-words": made}
    if not isinstance(config, ComplexityConfig):
        return {}
    automaton, limit = library.load("office"), min(config.most, SHOWN)
    return {"machine-cra": automaton, f"machine-rm-{limit}": unroll(automaton, limit)}
