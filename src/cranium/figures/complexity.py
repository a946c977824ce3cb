"""Figure "office-comp": the size of machines (drawings of them are in Appendix F)."""

from __future__ import annotations

from typing import Any

from cranium.experiments.complexity import MACHINES, ComplexityConfig
from cranium.experiments.results import StudyResults
from cranium.figures.style import add_legend_below, colour, format_axes, new_figure

__all__ = ["caption", "draw"]

TITLES = {"office": "Mail and coffee", "anbcdn": "A^N B C D^N"}


def draw(study: StudyResults) -> dict[str, Any]:
    """Draw the figures of the experiment; returns them by name."""
    config = study.config
    assert isinstance(config, ComplexityConfig)
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
    axes: Any, study: StudyResults, config: ComplexityConfig, unit: str, what: str
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
        look = {"color": colour("RM"), "marker": "." if len(x) < 15 else ""}
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
    config = study.config
    assert isinstance(config, ComplexityConfig)
    found = [_describe_growth(study, machine, unit) for machine, unit in MACHINES.items()]
    told = " ".join(each for each in found if each)
    return (
        "**The size of machines** (Figure “office-comp”). The automaton with counters (dashed) "
        "needs no change when there is more to count; the reward machine that does the same, made "
        f"by unrolling it up to 1, 2, … {config.most}, has a state for every configuration that "
        f"can be reached. {told or 'No sizes have been measured yet.'} On the right, the CPU time "
        "it takes to build each, reading the file included. Sizes are on logarithmic scales."
    )


def _describe_growth(study: StudyResults, machine: str, unit: str) -> str:
    """Describe the measured sizes of a machine, and their growth when the limit doubles."""
    known = {
        group.case: int(_read_measure(group.records, "states"))
        for group in study.groups
        if any(record.done for record in group.records)
    }
    automaton = known.get(f"any {unit}")
    limits = [n for n in range(1, _read_most(study) + 1) if f"{n} {unit}" in known]
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


def _read_most(study: StudyResults) -> int:
    assert isinstance(study.config, ComplexityConfig)
    return study.config.most
