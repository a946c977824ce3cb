"""Write the figures of an experiment and their captions to files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.convert import unroll
from cranium.drawing import to_png, to_svg
from cranium.experiments.complexity import ComplexityConfig
from cranium.experiments.manifest import KIND
from cranium.experiments.natural_language import NaturalLanguageConfig
from cranium.experiments.results import StudyResults
from cranium.figures import complexity, deep, letter, natural_language, office, reward_machines
from cranium.figures import study as own_study
from cranium.figures.captions import QUICK
from cranium.figures.style import save_figure
from cranium.formats import library
from cranium.io import write_bytes

__all__ = ["draw_study", "find_machines"]

SHOWN = 10
"""The number of items of mail for which the reward machine is drawn, as in the paper."""

_MODULES: dict[str, ModuleType] = {
    "letter": letter,
    "complexity": complexity,
    "office": office,
    "reward-machines": reward_machines,
    "deep": deep,
    "natural-language": natural_language,
    KIND: own_study,
}


def draw_study(
    study: StudyResults, folder: Path | None = None, kinds: Sequence[str] = ("svg", "png")
) -> list[Path]:
    """Draw the figures of an experiment, by default into the folder of its records.

    Each figure is written in all ``kinds``, and its caption into a ``.md`` file of the same name.
    Returns the paths that end in ``.svg``. A symbolic link of such a name is replaced; its target
    is not changed.

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
        save_figure(figure, path, kinds)
        more = "".join(f" {each}" for each in _describe_caveats(study))
        text = f"{module.caption(study)}{more}\n"
        write_bytes(path.with_suffix(".md"), text.encode(), follow_links=False)
        written.append(path)
    for name, machine in find_machines(study).items():
        path = (folder or study.folder) / f"{name}.svg"
        for kind in kinds:
            content = to_png(machine) if kind == "png" else to_svg(machine).encode()
            write_bytes(path.with_suffix(f".{kind}"), content, follow_links=False)
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


def find_machines(study: StudyResults) -> dict[str, CountingRewardAutomaton]:
    """Find the machines of an experiment that are drawn (Appendix F), by name."""
    config = study.config
    if isinstance(config, NaturalLanguageConfig):
        made = natural_language.load_machine(study)
        return {} if made is None else {"machine-words": made}
    if not isinstance(config, ComplexityConfig):
        return {}
    automaton, limit = library.load("office"), min(config.most, SHOWN)
    return {"machine-cra": automaton, f"machine-rm-{limit}": unroll(automaton, limit)}
