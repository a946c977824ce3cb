"""``cranium train``: learners on a task in a world."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import typer

import cranium
from cranium._runtime.interrupt import endings, finishing
from cranium.aamdp import find_product
from cranium.aamdp.environments import import_world
from cranium.arguments import check_count
from cranium.cli.arguments import (
    TRACK_HELP,
    HorizonOption,
    JsonOption,
    LabelsOption,
    LanguageOption,
    TaskArgument,
    TaskOption,
    WorldArgument,
    WorldOptions,
    load_task,
    parse_count,
    parse_pairs,
    parse_world_options,
)
from cranium.cli.checkpoints import CheckpointFiles
from cranium.cli.output import (
    INTERRUPTED,
    print_json,
    print_line,
    report_errors_as_json,
    write_or_rescue,
)
from cranium.cli.training_report import (
    FaultTolerantOutput,
    TrainingRun,
    print_run,
    print_run_line,
    print_summary,
    run_to_json,
)
from cranium.errors import InvalidArgumentError
from cranium.io import check_writable
from cranium.learners import Callback, LearnerConfig, Schedule, TrainingResult
from cranium.learners.registry import choose_config

__all__ = ["train"]

WHOLE_NUMBERS = re.compile(r"\(?\s*+\d++(?:\s*+,\s*+\d++)*+\s*+,?\s*+\)?")
_DECIMAL = r"(\d++(?:\.\d++)?|\.\d++)"
SCHEDULE = re.compile(rf"{_DECIMAL}:{_DECIMAL}:(\d++)(?::(\w+))?")


def train(
    world: WorldArgument,
    task: TaskArgument = None,
    language: LanguageOption = None,
    source: TaskOption = None,
    labels: LabelsOption = None,
    horizon: HorizonOption = None,
    learners: Annotated[
        list[str] | None,
        typer.Option(
            "--learner",
            metavar="ID",
            help="A learner; `cranium learners` lists them. Repeat it to compare several.",
            show_default="cql",
        ),
    ] = None,
    steps: Annotated[
        str, typer.Option("--steps", help="How many environment steps to take: 500, 100k, 2M.")
    ] = "100k",
    seed: Annotated[int, typer.Option("--seed", help="The random seed.")] = 0,
    seeds: Annotated[
        int,
        typer.Option("--seeds", help="How many seeds to train with, counting up from --seed."),
    ] = 1,
    until_solved: Annotated[
        bool, typer.Option("--until-solved", help="Stop when every instance is solved.")
    ] = False,
    evaluate_every: Annotated[
        str | None,
        typer.Option("--evaluate-every", help="How many steps between two evaluations."),
    ] = None,
    shaping: Annotated[
        bool, typer.Option("--shaping", help="Shape the rewards by the automaton.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a hyperparameter of the learner, such as learning_rate=0.1, hidden=64,64 or "
            "exploration=1:0.1:5000 (from 1 to 0.1 over 5,000 samples). Repeatable.",
            show_default=False,
        ),
    ] = None,
    options: WorldOptions = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Save the agent (.npz).")
    ] = None,
    curve: Annotated[
        Path | None, typer.Option("--curve", metavar="PICTURE", help="Draw the learning curves.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="Write the whole state of the training into a file, again and again, and after "
            "Ctrl-C. Of several learners or seeds each has its own, such as FILE-cql-seed3.",
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            "--every",
            help="How many steps between two checkpoints.",
            show_default="as between two evaluations",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="FILE",
            help="Go on from a checkpoint of the same training; it may be that of --checkpoint.",
        ),
    ] = None,
    single_seeds: Annotated[
        bool,
        typer.Option("--single-seeds", help="Draw a line for each seed, instead of a band."),
    ] = False,
    trackers: Annotated[
        list[str] | None,
        typer.Option("--track", metavar="TRACKER", help=TRACK_HELP, show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train an agent on a task in a world.

    Use it to learn a task, or to compare learners by how many samples they need. The greedy policy
    is evaluated without exploration: exactly in a finite world, for every instance of the task and
    against the optimum; in ten episodes in other worlds. Ctrl-C, SIGTERM and a closed window end
    the training and keep what was learned. The learners with networks need the extra deep.

    For example:

        cranium train Letter anbcdn --learner planner --learner cql --curve curves.png
        cranium train Letter anbcdn --learner cql --seeds 10 --until-solved --curve curves.svg
        cranium train Office --language "mail person never decoration" --save agent.npz
        cranium train FrozenLake-v1 --task "fish goal" --labels lake.py:events
        cranium train Letter anbcdn --checkpoint agent.ckpt --every 10k
        cranium train Letter anbcdn --checkpoint agent.ckpt --every 10k --resume agent.ckpt
    """
    with endings(), report_errors_as_json(as_json):
        names = learners or ["cql"]
        _check_outputs(save, curve, names, seeds)
        if single_seeds and curve is None:
            raise InvalidArgumentError("--single-seeds is for curves", fix="add --curve PICTURE")
        world_options = parse_world_options(options)
        entry = import_world(world, labels)
        env = entry.make_env(
            load_task(entry, task, language, source), world_options, horizon=horizon
        )
        title = find_product(env).automaton.name or ""
        recipe = {
            "world": entry.name,
            "options": world_options,
            **({} if labels is None else {"labels": labels}),
            **({} if horizon is None else {"horizon": horizon}),
        }
        given = {**_parse_settings(settings), **({"shaping": True} if shaping else {})}
        all_seeds = range(seed, seed + check_count("--seeds", seeds))
        # All settings are checked before the first learner is trained.
        configs = [(name, choose_config(name, None, given)) for name in names]
        output = FaultTolerantOutput(quiet=as_json)
        interval = None if every is None else parse_count(every)
        files = CheckpointFiles(checkpoint, resume, interval, names, all_seeds, output)
        report = print_run_line if seeds > 1 else partial(print_run, title)
        runs: list[TrainingRun] = []
        for run in _train_each(
            env,
            configs,
            all_seeds,
            steps=parse_count(steps),
            until_solved=until_solved,
            evaluate_every=None if evaluate_every is None else parse_count(evaluate_every),
            progress=not as_json and sys.stderr.isatty(),
            files=files,
            callbacks=_make_callbacks(trackers),
        ):
            runs.append(run)
            # The agent is saved before anything is printed, because printing can fail.
            if save is not None:
                _save_agent(run.result, recipe, save)
            output.print_with(partial(report, run))
        files.report(runs[-1].result)
        draw = None if curve is None else partial(_draw, runs, title, single_seeds=single_seeds)
        _finish(runs, draw, curve, save, output)
    if as_json:
        print_json([run_to_json(run) for run in runs], indent=2)
    if runs[-1].result.interrupted:
        raise typer.Exit(INTERRUPTED)


def _train_each(
    env: gym.Env[Any, Any],
    configs: Sequence[tuple[str, LearnerConfig]],
    seeds: Iterable[int],
    *,
    steps: int,
    until_solved: bool,
    evaluate_every: int | None,
    progress: bool,
    files: CheckpointFiles,
    callbacks: Sequence[Callback],
) -> Iterator[TrainingRun]:
    """Train each learner with each seed, until a run is interrupted."""
    for (learner, config), seed in product(configs, seeds):
        start = time.perf_counter()
        more = files.arguments(learner, seed)
        more["callbacks"] = [*more["callbacks"], *callbacks]
        result = cranium.train(
            env,
            learner,
            steps=steps,
            seed=seed,
            until="solved" if until_solved else None,
            config=config,
            evaluate_every=evaluate_every,
            progress=progress,
            **more,
        )
        yield TrainingRun(result, time.perf_counter() - start)
        if result.interrupted:
            return


def _make_callbacks(trackers: list[str] | None) -> list[Callback]:
    if not trackers:
        return []
    from cranium.experiments import track

    return [track(*trackers)]


def _check_outputs(save: Path | None, curve: Path | None, learners: list[str], seeds: int) -> None:
    """Refuse paths that could not be written at the end, before training starts."""
    if save is not None:
        from cranium.learners.policy_files import check_path

        check_path(save)
        if len(learners) > 1 or seeds > 1:
            raise InvalidArgumentError(
                "--save writes one agent", fix="give one --learner and one seed"
            )
        check_writable(save)
    if curve is not None:
        from cranium.figures.curves import check_picture

        check_writable(check_picture(curve))


def _save_agent(result: TrainingResult, recipe: dict[str, object], path: Path) -> None:
    """Save the policy with the world that it was trained in."""
    with finishing():
        policy = result.policy
        write_or_rescue(replace(policy, about={**policy.about, "recipe": recipe}).save, path)


def _draw(runs: list[TrainingRun], title: str, path: Path, *, single_seeds: bool) -> None:
    from cranium.figures import draw_curves

    results = [run.result for run in runs]
    draw_curves(results, path, title=title, single_seeds=single_seeds)


def _finish(
    runs: list[TrainingRun],
    draw: Callable[[Path], None] | None,
    curve: Path | None,
    save: Path | None,
    output: FaultTolerantOutput,
) -> None:
    """Draw the learning curves, and print a summary and the names of the files."""
    results = [run.result for run in runs]
    if draw is not None and curve is not None:
        write_or_rescue(draw, curve)
    if len({result.seed for result in results}) > 1:
        output.print_with(lambda: print_summary(results))
    written = [f"wrote {path}" for path in (save, curve) if path is not None]
    if written:
        output.print_with(lambda: print_line("\n".join(written)))
    output.raise_failure()


def _parse_settings(given: list[str] | None) -> dict[str, object]:
    pairs = parse_pairs(given, "a setting", "learning_rate=0.1")
    return {name: _parse_setting(value) for name, value in pairs}


def _parse_setting(text: str) -> object:
    """Read JSON, whole numbers separated by commas, or a schedule; anything else is a name."""
    try:
        return json.loads(text.lower())
    except ValueError:
        pass
    if WHOLE_NUMBERS.fullmatch(text):
        return tuple(int(digits) for digits in re.findall(r"\d+", text))
    if found := SCHEDULE.fullmatch(text):
        first, last, over, unit = found.groups("samples")
        return Schedule(float(first), float(last), int(over), unit)  # type: ignore[arg-type]
    return text
