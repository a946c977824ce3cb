"""``cranium reproduce``: the experiments of the paper."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranium._runtime.interrupt import endings
from cranium.arguments import check_count
from cranium.cli.output import INTERRUPTED, NEGATIVE, print_error, print_line
from cranium.cli.results import RESULTS, print_damage_warnings
from cranium.cli.study import print_failures
from cranium.errors import (
    EngineError,
    InvalidArgumentError,
    MissingExtraError,
    UnknownNameError,
    format_count,
)

if TYPE_CHECKING:
    from cranium.experiments import RunResult
    from cranium.experiments.local_engine import Engine
    from cranium.paper import ExperimentConfig

__all__ = ["reproduce"]


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT",
            help="letter, complexity, office, reward-machines, deep, natural-language, or all.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[Path, typer.Option("--dir", help="The folder for the results.")] = RESULTS,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Run few trials, to see that it works; the results stay separate."
        ),
    ] = False,
    trials: Annotated[
        int | None, typer.Option("--trials", help="How many seeds to run.", show_default=False)
    ] = None,
    protocol: Annotated[
        Literal["fair", "paper"] | None,
        typer.Option(
            "--protocol", help="The protocol of the letter experiment.", show_default="fair"
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="TOML", help="Read settings from a file with one table for each."
        ),
    ] = None,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option("--engine", help="Run processes on this machine, or tasks of a Ray cluster."),
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option("--workers", help="How many trials to run at once.", show_default="all cores"),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            "--address", help="The address of the Ray cluster; auto finds one on this machine."
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed trials again.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only print what would be run, and how long it takes."),
    ] = False,
) -> None:
    """Run the experiments of the paper and draw their figures.

    Use it to check the figures of the paper, with more seeds or other settings. Results that exist
    are not computed again: after Ctrl-C, a crash, or with more trials, the same command continues.
    Every result is a file in the folder; figures, captions and tables are made from these. A folder
    holds an experiment with one set of settings.

    For example:

        cranium reproduce all --quick
        cranium reproduce letter --trials 10 --engine ray --address auto
    """
    configs = _load_configs(names, config, quick=quick, trials=trials, protocol=protocol)
    if address is not None and engine != "ray":
        raise InvalidArgumentError("--address is for a Ray cluster", fix="add --engine ray")
    if dry_run:  # does not connect to the cluster, so the number of its cores is unknown
        _print_plans(configs, None if engine == "ray" else _make_engine(engine, workers, address))
        return
    for each in configs:
        each.require()
    has_failed = False
    with endings(), _make_engine(engine, workers, address) as started:
        if len(configs) > 1:
            _print_plans(configs, started)
        for each in configs:
            has_failed |= _run(each, folder, started, retry_failed=retry_failed)
    where = shlex.quote(str(folder))
    print_line(f"see the tables: cranium results {where}, or write a page: cranium report {where}")
    if has_failed:
        raise typer.Exit(NEGATIVE)


def _load_configs(
    names: list[str] | None,
    path: Path | None,
    *,
    quick: bool,
    trials: int | None,
    protocol: Literal["fair", "paper"] | None,
) -> list[ExperimentConfig]:
    from cranium.paper import LetterConfig, load_configs

    if trials is not None:
        check_count("trials", trials)
    if path is not None:
        if names:
            raise InvalidArgumentError("give either names of experiments or --config")
        found = list(load_configs(path))
    else:
        found = _find_configs(names or [])
    letters = [each for each in found if isinstance(each, LetterConfig)]
    if protocol is not None and not letters:
        raise InvalidArgumentError("only the letter experiment has protocols")
    if protocol is not None:
        others = [each for each in found if each not in letters]
        found = [replace(letters[0], protocol=protocol), *others]
    if quick:
        found = [each.quick() for each in found]
    return found if trials is None else [replace(each, trials=trials) for each in found]


def _find_configs(names: list[str]) -> list[ExperimentConfig]:
    """Return the experiments with these names. ``all`` has both protocols of the letter one."""
    from cranium.paper import LetterConfig, list_experiments, make_config

    if not names:
        raise InvalidArgumentError(
            "no experiment is named", fix=f"name one of {', '.join(list_experiments())}, or all"
        )
    for name in names:
        if name not in list_experiments() and name != "all":
            raise UnknownNameError.of("experiment", name, [*list_experiments(), "all"])
    if "all" not in names:
        return [make_config(name, {}) for name in dict.fromkeys(names)]
    first, *others = (make_config(name, {}) for name in list_experiments())
    return [first, LetterConfig(protocol="paper"), *filter(_is_runnable, others)]


def _is_runnable(config: ExperimentConfig) -> bool:
    """Return whether the extras of an experiment are installed; if not, print which is missing."""
    try:
        config.require()
    except MissingExtraError as problem:
        print_line(f"{config.folder} is skipped: {problem.message} ({problem.fix})")
        return False
    return True


def _count_parallel(engine: Engine) -> int:
    """Return how many trials of an engine run at full speed at once."""
    from cranium.experiments import LocalEngine

    workers: int = engine.workers
    return min(workers, LocalEngine().workers) if isinstance(engine, LocalEngine) else workers


def _format_duration(configs: Sequence[ExperimentConfig], engine: Engine | None) -> str:
    """Estimate how long experiments take; without an engine, in CPU time."""
    seconds = sum(config.cpu_seconds() for config in configs)
    seconds /= 1 if engine is None else _count_parallel(engine)
    text = f"about {seconds:.0f} seconds"
    for size, unit in ((90, 60), (5_400, 3_600)):
        if seconds > size:
            text = f"about {seconds / unit:,.0f} {'hours' if unit == 3_600 else 'minutes'}"
    return text if engine is not None else f"{text} of CPU time"


def _format_plan(config: ExperimentConfig, engine: Engine | None) -> str:
    duration = _format_duration([config], engine)
    text = f"{config.folder}: {format_count(config.trials, 'trial')} per method, {duration}"
    return text if engine is None else f"{text} with {engine.workers} at once"


def _print_plans(configs: Sequence[ExperimentConfig], engine: Engine | None) -> None:
    """Print what is run and how long it takes."""
    for each in configs:
        print_line(_format_plan(each, engine))
    shared = "" if engine is not None else ", shared among the cores of the cluster"
    print_line(f"in total: {_format_duration(configs, engine)}{shared}")


def _make_engine(kind: Literal["local", "ray"], workers: int | None, address: str | None) -> Engine:
    from cranium.experiments import LocalEngine, RayEngine

    return LocalEngine(workers) if kind == "local" else RayEngine(address, workers)


def _run(config: ExperimentConfig, folder: Path, engine: Engine, *, retry_failed: bool) -> bool:
    """Run one experiment and draw its figures. Returns whether any trial failed."""
    from cranium.cli.progress import ExperimentProgress
    from cranium.experiments.results import read_study
    from cranium.figures.studies import draw_study
    from cranium.paper import run

    print_line(_format_plan(config, engine))
    records = folder / config.folder
    callback = ExperimentProgress(config.heading)
    try:
        with print_damage_warnings():
            result = run(config, records, engine, retry_failed=retry_failed, callback=callback)
    except EngineError as problem:
        print_error(f"stopped: {problem}")
        print_line(f"finished trials are in {records}")
        raise typer.Exit(NEGATIVE) from None
    _print_result(result, records)
    if result.interrupted:
        print_line(f"interrupted; the same command continues: finished trials are in {records}")
        raise typer.Exit(INTERRUPTED)
    for path in draw_study(read_study(records)):
        more = ".png, .md" if path.with_suffix(".md").exists() else ".png"
        print_line(f"  wrote {path} (and {more})")
    if "paper" in config.variants:
        print_line("  the flaws of this protocol are stated in the caption (.md) and the report")
    return bool(result.failed)


def _print_result(result: RunResult, records: Path) -> None:
    print_line(
        f"  {format_count(result.ran, 'trial')} in {result.seconds:.0f} s, "
        f"{result.there:,} existed already"
    )
    print_failures(result, records)
