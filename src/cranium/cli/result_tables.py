"""The results of a study as a table for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranium._runtime.terminal import visible_text

if TYPE_CHECKING:
    from rich.table import Table

    from cranium.experiments.results import StudyResults

__all__ = ["make_table"]


def make_table(study: StudyResults) -> Table:
    """Make a table with the statistics of each method on each case."""
    from rich.table import Table

    from cranium.experiments.results import (
        format_number,
        format_summary,
        number_columns,
        read_number,
    )

    table = Table(
        title=visible_text(f"{study.config.heading}: {study.config.measure}"), title_justify="left"
    )
    columns = study.config.columns
    numbers = columns or number_columns(study.config)
    for name in ("method", "case", *numbers):
        table.add_column(name, justify="left" if name in ("method", "case") else "right")
    for group in (*study.groups, *study.sums):
        if columns:
            found = next((r.result for r in group.records if r.done), {})
            row = [format_number(read_number(found, name)) for name in columns]
        else:
            row = format_summary(group)
        table.add_row(*(visible_text(cell) for cell in (group.method, group.case, *row)))
    return table
