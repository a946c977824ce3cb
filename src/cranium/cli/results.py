"""``cranium results`` and ``cranium report``: the results of experiments."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cranium.cli.arguments import JsonOption
from cranium.cli.output import print_json, print_line, report_errors_as_json, table_console
from cranium.cli.result_tables import make_table
from cranium.cli.watch import watch_results
from cranium.errors import InvalidArgumentError, format_count
from cranium.io import check_writable

if TYPE_CHECKING:
    from cranium.experiments.results import StudyResults

__all__ = ["RESULTS", "print_damage_warnings", "report", "results"]

RESULTS = Path("results")
"""The default folder of results."""
FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder of `cranium reproduce`.")
]


@contextmanager
def print_damage_warnings() -> Iterator[None]:
    """Print each warning about a damaged record once, at the end of the block."""
    from cranium.experiments import DamagedRecordWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DamagedRecordWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(str(each.message) for each in caught):
                print_line(f"  {text}")


def results(
    folder: FolderArgument = RESULTS,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write a row for each trial.")
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option("--parquet", metavar="FILE", help="Write the same rows as Parquet."),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Show the tables while records arrive, until Ctrl-C."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the results of experiments, one table for each.

    Use it to read results in a terminal, or to export them. With --watch, the tables follow a study
    that another process runs, with its progress and the time that is left. IQM is the interquartile
    mean with its 95 % bootstrap interval; mean and standard deviation are given if every trial was
    solved.

    For example:

        cranium results results --csv trials.csv
        cranium results results/my-study --watch
    """
    from cranium.experiments.results import export

    if watch:
        _watch(folder, is_export=as_json or csv is not None or parquet is not None)
        return
    with report_errors_as_json(as_json):
        _check_outputs(csv, parquet)
        studies = _read_studies(folder)
        for path in (csv, parquet):
            if path is not None:
                export(studies, path)
    if as_json:
        print_json({study.folder.name: _study_to_json(study) for study in studies}, indent=2)
        return
    for study in studies:
        _print_table(study)
    for path in (csv, parquet):
        if path is not None:
            print_line(f"wrote {path}")


def _check_outputs(csv: Path | None, parquet: Path | None) -> None:
    for path, suffix in ((csv, ".csv"), (parquet, ".parquet")):
        if path is not None and path.suffix != suffix:
            raise InvalidArgumentError(f"the file ends in {suffix}, not {path.name!r}")
        if path is not None:
            check_writable(path)


def _watch(folder: Path, *, is_export: bool) -> None:
    """Show the tables until all trials are done, or Ctrl-C; then print them."""
    if is_export:
        raise InvalidArgumentError(
            "--watch shows tables", fix="leave out --csv, --parquet and --json"
        )
    if watch_results(folder):
        for study in _read_studies(folder):
            _print_table(study)


def _read_studies(folder: Path) -> list[StudyResults]:
    import cranium.paper  # noqa: F401 - registers its figures
    from cranium.experiments.results import read_studies

    with print_damage_warnings():
        return read_studies(folder)


def _study_to_json(study: StudyResults) -> dict[str, object]:
    from cranium.experiments.results import summary_to_dict

    return {
        "missing": study.missing,
        "failed": len(study.failed),
        "groups": [summary_to_dict(group) for group in (*study.groups, *study.sums)],
    }


def _print_table(study: StudyResults) -> None:
    from cranium.experiments.contrasts import describe_best

    table_console().print(make_table(study))
    best = "" if study.config.figure else describe_best(study)
    if best:
        print_line(best)
    if study.missing:
        are = "is" if study.missing == 1 else "are"
        told = format_count(study.missing, "trial")
        print_line(f"{told} {are} missing; the same command continues")
    if study.failed:
        print_line(
            f"{format_count(len(study.failed), 'trial')} failed, including those for tuning; see "
            "--retry-failed"
        )


def report(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DIR...",
            help="The folders of `cranium run` or `cranium reproduce`.",
            show_default="results",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The page to write; by default report.html in the (first) folder.",
        ),
    ] = None,
) -> None:
    """Write one web page with the results of experiments: figures, tables, automata, settings.

    Use it to read or share what was computed, or to see several studies side by side: then a table
    has every method on every problem, with a column for each study. The page is one file and needs
    no network.

    For example:

        cranium report results
        cranium report results/monday results/tuesday -o both.html
    """
    from cranium.figures.page import write_report

    named = folders or [RESULTS]
    path = output or named[0] / "report.html"
    if output is not None or named[0].is_dir():
        check_writable(path)
    studies = {study.folder.resolve(): study for folder in named for study in _read_studies(folder)}
    write_report(list(studies.values()), path, follow_links=output is not None)
    print_line(f"wrote {path}")
