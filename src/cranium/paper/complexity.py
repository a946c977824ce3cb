"""Figure "office-comp": the size of machines, of which drawings are in Appendix F."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from cranium.automata.convert import unroll
from cranium.experiments.results import StudyResults
from cranium.experiments.trial import FieldKind, FunctionTrial
from cranium.figures.kinds import FigureKind, ShownMachine, register_figure
from cranium.figures.style import add_legend_below, colour, format_axes, new_figure
from cranium.formats import library
from cranium.formats.files import loads
from cranium.paper.config import ExperimentConfig, check_limit, read_config, register
from cranium.studies import JointStudy, Trials

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MACHINES", "ComplexityConfig", "caption", "draw", "measure_size"]

FIELDS: dict[str, FieldKind] = {"states": "size", "transitions": "size"}
SHOWN = 10
"""The number of items of mail for which the reward machine is drawn, as in the paper."""
MACHINES = {"office": "items of mail", "anbcdn": "N"}
"""The machines that are unrolled, and what they count."""
MOST = 200
"""The greatest limit for unrolling: with two counters the size grows with its square."""


@register
@dataclass(frozen=True)
class ComplexityConfig(ExperimentConfig):
    """States and transitions of the automaton, and of the equivalent reward machines.

    Attributes:
        trials: The number of repetitions. The sizes are the same; the shortest time is shown.
        most: The greatest number of items of mail, and the greatest N.

    Example:
        >>> ComplexityConfig(most=10).most
        10
    """

    name = "complexity"
    place = 1
    title = "The size of machines"

    trials: int = 3
    most: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limit("most", self.most, MOST)

    def quick(self) -> Self:
        """At most ten items."""
        return replace(self, most=min(self.most, 10), is_quick=True)

    def cpu_seconds(self) -> float:
        """An estimate from earlier runs."""
        return 5 + 1e-4 * self.most**3

    def study(self) -> JointStudy:
        """The automaton once, the reward machine for each limit."""
        trials = []
        for machine, unit in MACHINES.items():
            trials.append(self._trial("CRA", f"any {unit}", machine, None))
            trials += [
                self._trial("RM", f"{limit} {unit}", machine, limit)
                for limit in range(1, self.most + 1)
            ]
        return self.join(
            [Trials(trials, self.trials)],
            measure="states",
            measure_field="states",
            columns=tuple(FIELDS),
        )

    def _trial(self, method: str, case: str, machine: str, limit: int | None) -> FunctionTrial:
        return FunctionTrial(
            self.name,
            method,
            case,
            function="cranium.paper.complexity:measure_size",
            settings={"machine": machine, "limit": limit},
            fields=FIELDS,
        )


def measure_size(*, machine: str, limit: int | None, seed: int) -> dict[str, int]:
    """Build a machine of the library, unrolled up to a limit, and measure its size.

    Example:
        >>> measure_size(machine="anbcdn", limit=2, seed=0)
        {'states': 7, 'transitions': 17}
    """
    del seed  # nothing is random; every trial measures the time anew
    found = loads(library.text(machine))  # anew, because the time it takes is measured
    if limit is not None:
        found = unroll(found, limit)
    return {"states": len(found.states), "transitions": len(found.transitions)}


TITLES = {"office": "Mail and coffee", "anbcdn": "A^N B C D^N"}


def draw(study: StudyResults) -> dict[str, Figure]:
    """Draw the figures of the experiment; returns them by name."""
    config = read_config(study, ComplexityConfig)
    with new_figure(8.4, 5.0, study.methods) as figure:
        grid = figure.subplots(2, 3)
        for row, (machine, unit) in zip(grid, MACHINES.items(), strict=True):
            for axes, what in zip(row, ("states", "transitions", "time"), strict=True):
                _draw_panel(axes, study, config, unit, what)
                title = "time to build (ms)" if what == "time" else what
                axes.set(title=title, xlabel=f"most {unit}")
            row[0].set_ylabel(TITLES[machine], fontsize=10)
        add_legend_below(figure, grid[0][0])
    return {"complexity": figure}


def _draw_panel(
    axes: Axes, study: StudyResults, config: ComplexityConfig, unit: str, what: str
) -> None:
    values = range(1, config.most + 1)
    groups = {value: study.group("RM", f"{value} {unit}") for value in values}
    found = [
        (v, _read_measure(g.records, what))
        for v, g in groups.items()
        if g and any(r.done for r in g.records)
    ]
    if found:
        x, y = zip(*found, strict=True)
        look: dict[str, Any] = {"color": colour("RM"), "marker": "." if len(x) < 15 else ""}
        axes.plot(x, y, label="reward machine (RM)", **look)
    automaton = study.group("CRA", f"any {unit}")
    if automaton is not None and any(record.done for record in automaton.records):
        height = _read_measure(automaton.records, what)
        axes.plot(
            [1, config.most], [height, height], "--", color=colour("CRA"), label="automaton (CRA)"
        )
    if what == "time":
        axes.set_ylim(bottom=0)
    else:
        axes.set_yscale("log")
    format_axes(axes)


def _read_measure(records: Any, what: str) -> float:
    """A measured size, which all seeds share, or the shortest time in milliseconds."""
    done = [record for record in records if record.done]
    if what == "time":
        return 1_000 * min(float(record.cpu) for record in done)
    return float(done[0].result[what])


def caption(study: StudyResults) -> str:
    """Write the caption: what was run, and what the figure shows."""
    config = read_config(study, ComplexityConfig)
    found = [
        _describe_growth(study, config.most, machine, unit) for machine, unit in MACHINES.items()
    ]
    told = " ".join(each for each in found if each)
    return (
        "**The size of machines** (Figure “office-comp”). The automaton with counters (dashed) "
        "needs no change when there is more to count; the reward machine that does the same, made "
        f"by unrolling it up to 1, 2, … {config.most}, has a state for every configuration that "
        f"can be reached. {told or 'No sizes have been measured yet.'} On the right, the CPU time "
        "it takes to build each, reading the file included (the shortest of "
        f"{config.trials}). Sizes are on logarithmic scales."
    )


def _describe_growth(study: StudyResults, most: int, machine: str, unit: str) -> str:
    """Describe the measured sizes of a machine, and their growth when the limit doubles."""
    known = {
        group.case: int(_read_measure(group.records, "states"))
        for group in study.groups
        if any(record.done for record in group.records)
    }
    automaton = known.get(f"any {unit}")
    limits = [n for n in range(1, most + 1) if f"{n} {unit}" in known]
    if automaton is None or not limits:
        return ""
    last = limits[-1]
    told = (
        f"{TITLES[machine]}: {automaton:,} states with counters, {known[f'{last} {unit}']:,} "
        f"unrolled up to {last}"
    )
    if last // 2 in limits:
        factor = known[f"{last} {unit}"] / known[f"{last // 2} {unit}"]
        told += f", {factor:.1f} times as many as up to {last // 2}"
    return f"{told}."


def find_machines(study: StudyResults) -> list[ShownMachine]:
    """The machines of Appendix F."""
    automaton = library.load("office")
    limit = min(read_config(study, ComplexityConfig).most, SHOWN)
    title = "The automaton, for any number of items of mail (Appendix F)"
    unrolled = f"The reward machine that does the same for up to {limit} items"
    return [
        ShownMachine("machine-cra", title, automaton),
        ShownMachine(f"machine-rm-{limit}", unrolled, unroll(automaton, limit)),
    ]


register_figure("complexity", FigureKind(draw, caption, find_machines))
