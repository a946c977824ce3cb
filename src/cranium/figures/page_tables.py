"""The tables of the HTML report."""

from __future__ import annotations

import html
from collections.abc import Sequence

from cranium.errors import format_count
from cranium.experiments.contrasts import compare_all
from cranium.experiments.records import Record
from cranium.experiments.results import (
    Group,
    StudyResults,
    format_interval,
    format_number,
    number_columns,
)

__all__ = [
    "explain_columns",
    "make_contrast_table",
    "make_failure_table",
    "make_side_by_side",
    "make_table",
]

MOST_FAILURES = 200
"""How many failed trials a page lists."""
MOST_CONTRASTS = 12
"""With more learners, a table of all pairs is too large to read."""


def make_table(columns: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """Make a table of texts, which scrolls if it is wide. A line break in a cell is kept.

    Example:
        >>> "<td>a &amp; b</td>" in make_table(["x"], [["a & b"]])
        True
    """
    head = "".join(f'<th scope="col">{_cell(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    classes = f"wide {kind}".strip()
    return f'<div class="{classes}"><table><tr>{head}</tr>\n{body}</table></div>'


def _cell(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")


def explain_columns(study: StudyResults) -> str:
    """Say what the columns of the statistics mean."""
    first = number_columns(study.config)[0]
    told = {
        "solved": "solved: how many trials solved every instance within the budget. A trial that "
        "did not counts as worse than all that did; – is a statistic that depends on its value",
        "trials": "trials: how many have a value",
    }[first]
    return (
        f'<p class="small">{told}. IQM: the mean of the middle half of the trials, with its 95 % '
        "interval from a bootstrap; deviation: the standard deviation.</p>"
    )


def make_contrast_table(study: StudyResults) -> list[str]:
    """A table of how probably each learner is better than each other, and of paired tests."""
    if study.config.figure:  # it says itself what it compares
        return []
    found = compare_all(study)
    if not 2 <= len(study.methods) <= MOST_CONTRASTS or not found:
        return []
    cells = {}
    for each in found:
        chance, test = each.probability, each.test
        value, low, high = (
            -1.0 if x is None else x for x in (chance.value, chance.low, chance.high)
        )
        told = "" if test is None else f"\np = {test.p_value:.2g}"
        there = "" if low < 0 else f"\n{low:.2f} to {high:.2f}"
        back = "" if low < 0 else f"\n{1 - high:.2f} to {1 - low:.2f}"
        cells[each.method, each.other] = f"{value:.2f}{there}{told}"
        cells[each.other, each.method] = f"{1 - value:.2f}{back}{told}"
    names = list(dict.fromkeys(name for each in found for name in (each.method, each.other)))
    rows = [[one, *(cells.get((one, other), "") for other in names)] for one in names]
    seeds = max((each.test.pairs for each in found if each.test is not None), default=0)
    lacking = ", ".join(name for name in study.methods if name not in names)
    note = f" Not in it, because it has no results on some problem: {lacking}." if lacking else ""
    return [
        "<h3>Which learner is better?</h3>",
        '<p class="small">The probability that a trial of the learner of the row is better than '
        "one of the learner of the column, averaged over the problems, with its 95 % interval; p "
        f"is that of a two-sided paired test over up to {seeds:,} pairs of trials with the same "
        f"problem and seed.{html.escape(note)}</p>",
        make_table(["", *names], rows, "pairs"),
    ]


def make_failure_table(study: StudyResults) -> list[str]:
    """A table of the trials that failed, and why, which can be unfolded."""
    if not study.failed:
        return []
    rows = [_failure_row(record) for record in study.failed[:MOST_FAILURES]]
    columns = ("method", "case", "seed", "reason", "earlier attempts", "seconds")
    more = len(study.failed) - MOST_FAILURES
    rest = f'<p class="small">And {more:,} more.</p>' if more > 0 else ""
    told = f"<summary>What failed: {len(study.failed):,} trials</summary>"
    return [f"<details>{told}{make_table(columns, rows, 'texts')}{rest}</details>"]


def _failure_row(record: Record) -> tuple[str, ...]:
    lines = (record.error or "").strip().splitlines() or [""]
    names = (str(record.config.get(name, "")) for name in ("method", "case"))
    tries = "\n".join(record.tries) or "none"
    return (*names, str(record.seed), lines[-1], tries, format_number(round(record.wall, 1)))


def make_side_by_side(studies: Sequence[StudyResults]) -> list[str]:
    """A table of all methods and problems with a column for each study, if there are several."""
    own = [study for study in studies if not study.config.figure]  # not those of the paper
    if len(own) < 2:
        return []
    names = list(
        dict.fromkeys((group.case, group.method) for study in own for group in study.groups)
    )
    columns = ["problem", "method", *(_describe_column(study) for study in own)]
    rows = []
    for case, method in names:
        found = [study.group(method, case) for study in own]
        rows.append((case, method, *(_describe_group(group) for group in found)))
    return [
        "<h2>Side by side</h2>",
        '<p class="small">The interquartile mean of each study’s measure, with its 95 % interval. '
        "An empty cell: the study does not have it.</p>",
        make_table(columns, rows),
    ]


def _describe_column(study: StudyResults) -> str:
    config = study.config
    seeds, samples = format_count(config.seeds, "seed"), format_count(config.steps, "sample")
    return f"{config.heading}\n{config.measure}\n{seeds}, {samples}"


def _describe_group(group: Group | None) -> str:
    if group is None:
        return ""
    found = group.summary
    if not found.run:
        return "no results"
    if found.iqm is None:
        return f"not solved\n{found.solved} of {found.run}"
    return f"{format_number(found.iqm)}\n{format_interval(found)}"
