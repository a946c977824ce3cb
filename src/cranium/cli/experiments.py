"""The commands that reproduce the paper's experiments, and read what was found."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cranium._runtime.interrupt import endings
from cranium._runtime.terminal import visible_text
from cranium.arguments import check_count
from cranium.cli.output import (
    INTERRUPTED,
    complain,
    errors_as_json,
    print_json,
    say,
    table_console,
)
from cranium.cli.sources import AsJson
from cranium.errors import (
    EngineError,
    InvalidArgumentError,
    MissingExtraError,
    UnknownNameError,
)
from cranium.io import check_writable

__all__ = ["register"]

FAILED, SHOWN = 1, 10
FOLDER = Path("results")
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Where cranium reproduce put them.")]


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT",
            help="letter, complexity, office, reward-machines, deep, natural-language, or all.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[Path, typer.Option("--dir", help="Where the results go.")] = FOLDER,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Few trials, to see that it works; into folders of their own."
        ),
    ] = False,
    trials: Annotated[
        int | None, typer.Option("--trials", help="How many seeds.", show_default=False)
    ] = None,
    protocol: Annotated[
        Literal["fair", "paper"] | None,
        typer.Option("--protocol", help="Of the letter experiment.", show_default="fair"),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="TOML", help="Settings: a table for each experiment."),
    ] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option("--engine", help="Processes here, or a Ray cluster.")
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option("--workers", help="How many trials at once.", show_default="all cores"),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option("--address", help="Of the Ray cluster; auto joins this machine's."),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try trials again that failed.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be run, and how long it takes.")
    ] = False,
) -> None:
    """Run the paper's experiments, and draw its figures.

    What is there already is not run again: after Ctrl-C, a crash or with more trials, the same
    command goes on. Every result is a file in DIR; figures, captions and tables are made from them.
    A folder holds one experiment with one choice of settings; others are refused there.
    For example: cranium reproduce all --quick,
    or: cranium reproduce letter --trials 10 --engine ray --address auto
    """
    configs = _configs(names, config, quick=quick, trials=trials, protocol=protocol)
    if address is not None and engine != "ray":
        raise InvalidArgumentError("an address is of a Ray cluster", fix="add --engine ray")
    if dry_run:  # a cluster is not joined for it, so how many cores it has is not known
        _plans(configs, None if engine == "ray" else _engine(engine, workers, address))
        return
    for each in configs:
        each.require()
    failed = False
    with endings(), _engine(engine, workers, address) as found:
        if len(configs) > 1:
            _plans(configs, found)
        for each in configs:
            failed |= _run(each, folder, found, retry_failed=retry_failed)
    where = shlex.quote(str(folder))
    say(f"see cranium results {where}, or make a page: cranium report {where}")
    if failed:
        raise typer.Exit(FAILED)


def _configs(
    names: list[str] | None,
    path: Path | None,
    *,
    quick: bool,
    trials: int | None,
    protocol: Literal["fair", "paper"] | None,
) -> list[Any]:
    from cranium.experiments import LetterConfig, load_configs

    if trials is not None:
        check_count("trials", trials)
    if path is not None:
        if names:
            raise InvalidArgumentError("give names or --config, one of them")
        found = load_configs(path)
    else:
        found = _named(names or [])
    letters = [each for each in found if isinstance(each, LetterConfig)]
    if protocol is not None and not letters:
        raise InvalidArgumentError("only the letter experiment has protocols")
    if protocol is not None:
        others = [each for each in found if each not in letters]
        found = [replace(letters[0], protocol=protocol), *others]
    if quick:
        found = [each.quick() for each in found]
    return found if trials is None else [replace(each, trials=trials) for each in found]


def _named(names: list[str]) -> list[Any]:
    """The experiments of these names; all of them have both protocols of the letter experiment."""
    from cranium.experiments import LetterConfig, config_of, known

    if not names:
        raise InvalidArgumentError(
            "no experiment is named", fix=f"name one of {', '.join(known())}, or all"
        )
    for name in names:
        if name not in known() and name != "all":
            raise UnknownNameError.of("experiment", name, [*known(), "all"])
    if "all" not in names:
        return [config_of(name, {}) for name in dict.fromkeys(names)]
    first, *others = (config_of(name, {}) for name in known())
    return [first, LetterConfig(protocol="paper"), *filter(_can_run, others)]


def _can_run(config: Any) -> bool:
    """Whether all that an experiment needs is there; what is missing is said."""
    try:
        config.require()
    except MissingExtraError as problem:
        say(f"{config.folder} is left out: {problem.message} ({problem.fix})")
        return False
    return True


def _cores(engine: Any) -> int:
    """How many trials an engine runs at once without their being in each other's way."""
    from cranium.experiments import LocalEngine

    workers: int = engine.workers
    return min(workers, LocalEngine().workers) if isinstance(engine, LocalEngine) else workers


def _duration(configs: list[Any], engine: Any | None) -> str:
    """About how long they take, from what they took where this was written.

    Without an engine it is not known on how many cores: then it is the CPU time.
    """
    seconds = sum(config.cpu_seconds() for config in configs)
    seconds /= 1 if engine is None else _cores(engine)
    told = f"about {seconds:.0f} seconds"
    for size, unit in ((90, 60), (5_400, 3_600)):
        if seconds > size:
            told = f"about {seconds / unit:,.0f} {'hours' if unit == 3_600 else 'minutes'}"
    return told if engine is not None else f"{told} of CPU time"


def _plan(config: Any, engine: Any | None) -> str:
    told = f"{config.folder}: {config.trials} trials a method, {_duration([config], engine)}"
    return told if engine is None else f"{told} with {engine.workers} at once"


def _plans(configs: list[Any], engine: Any | None) -> None:
    """Say what is run, and how long that takes."""
    for each in configs:
        say(_plan(each, engine))
    told = "" if engine is not None else ", shared among the cores of the cluster"
    say(f"all of it: {_duration(configs, engine)}{told}")


def _engine(kind: str, workers: int | None, address: str | None) -> Any:
    from cranium.experiments import LocalEngine, RayEngine

    return LocalEngine(workers) if kind == "local" else RayEngine(address, workers)


def _run(config: Any, folder: Path, engine: Any, *, retry_failed: bool) -> bool:
    """Run one experiment, and draw its figures; whether any trial failed."""
    from cranium.cli.progress import ProgressWatcher
    from cranium.experiments import run
    from cranium.experiments.results import read_study
    from cranium.figures.studies import draw_study

    say(_plan(config, engine))
    place = folder / config.folder
    watcher = ProgressWatcher(config.heading)
    try:
        with damage_told():
            outcome = run(config, place, engine, retry_failed=retry_failed, watcher=watcher)
    except EngineError as problem:
        complain(f"stopped: {problem}")
        say(f"what is done is in {place}")
        raise typer.Exit(FAILED) from None
    say(
        f"  {outcome.ran:,} trials in {outcome.seconds:.0f} s, {outcome.there:,} were there already"
    )
    for job, record in outcome.failed[:SHOWN]:
        last = (record.error or "").strip().splitlines()[-1:]
        say(f"  failed: {job.trial.method}, {job.trial.case}, seed {job.seed}: {''.join(last)}")
    if len(outcome.failed) > SHOWN:
        say(f"  and {len(outcome.failed) - SHOWN:,} more failed; their tracebacks are in {place}")
    if outcome.interrupted:
        say(f"interrupted; the same command goes on: what is done is in {place}")
        raise typer.Exit(INTERRUPTED)
    for path in draw_study(read_study(place)):
        more = ".png, .md" if path.with_suffix(".md").exists() else ".png"
        say(f"  wrote {path} (and {more})")
    if "paper" in config.variants:
        say("  its flaws are stated in the caption: see the .md file, or the report")
    return bool(outcome.failed)


@contextmanager
def damage_told() -> Iterator[None]:
    """Say of damaged records what they say of themselves, once each."""
    from cranium.experiments import DamagedRecordWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DamagedRecordWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(str(each.message) for each in caught):
                say(f"  {text}")


def results(
    folder: Folder = FOLDER,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write a row for each trial.")
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="The same as Parquet.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print what was found: a table for each experiment.

    IQM is the interquartile mean, with its 95 % interval; mean and deviation are given where every
    trial was solved. For example: cranium results results --csv trials.csv
    """
    from cranium.experiments.aggregate import totals
    from cranium.experiments.results import export, find_studies, read_study, summary_data

    with errors_as_json(as_json):
        for path, ending in ((csv, ".csv"), (parquet, ".parquet")):
            if path is not None and path.suffix != ending:
                raise InvalidArgumentError(f"the file ends in {ending}, not {path.name!r}")
            if path is not None:
                check_writable(path)
        with damage_told():
            studies = [read_study(path) for path in find_studies(folder)]
        for path in (csv, parquet):
            if path is not None:
                export(studies, path)
    if as_json:
        told = {
            study.folder.name: {
                "missing": study.missing,
                "failed": len(study.failed),
                "groups": [summary_data(group) for group in (*study.groups, *totals(study))],
            }
            for study in studies
        }
        print_json(told, indent=2)
        return
    for study in studies:
        _table(study)
    for path in (csv, parquet):
        if path is not None:
            say(f"wrote {path}")


def _table(study: Any) -> None:
    from rich.table import Table

    from cranium.experiments.aggregate import totals
    from cranium.experiments.results import NUMBERS, cells, number

    table = Table(
        title=visible_text(f"{study.config.heading}: {study.config.measure}"), title_justify="left"
    )
    sizes = study.config.name == "complexity"
    numbers = ("states", "transitions") if sizes else NUMBERS
    for name in ("method", "case", *numbers):
        table.add_column(name, justify="left" if name in ("method", "case") else "right")
    for group in (*study.groups, *totals(study)):
        if sizes:
            found: dict[str, Any] = next((r.result for r in group.records if r.done), {})
            row = [number(found.get(name)) for name in numbers]
        else:
            row = cells(group)
        table.add_row(*(visible_text(cell) for cell in (group.method, group.case, *row)))
    table_console().print(table)
    if study.missing:
        say(f"{study.missing:,} trials are missing; the command that began it goes on")
    if study.failed:
        say(f"{len(study.failed):,} trials failed, those for tuning among them; see --retry-failed")


def report(
    folder: Folder = FOLDER,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="By default report.html in DIR."),
    ] = None,
) -> None:
    """Write one page with everything that was found: figures, tables, machines, settings.

    It needs no network: all is in the one file. For example: cranium report results
    """
    from cranium.experiments.results import find_studies, read_study
    from cranium.figures.page import write_report

    path = output or folder / "report.html"
    if output is not None or folder.is_dir():
        check_writable(path)
    with damage_told():
        studies = [read_study(each) for each in find_studies(folder)]
    write_report(studies, path, follow_links=output is not None)
    say(f"wrote {path}")


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("reproduce")(reproduce)
    app.command("results")(results)
    app.command("report")(report)
