"""The commands that learn a task, evaluate what was learned, and solve it exactly."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import cranium
from cranium._runtime.interrupt import endings, finishing
from cranium.arguments import check_count
from cranium.cli.output import INTERRUPTED, errors_as_json, keep, print_json, say, working
from cranium.cli.reports import (
    Reports,
    evaluation_data,
    report,
    report_briefly,
    report_evaluation,
    summarise_seeds,
    training_data,
)
from cranium.cli.sources import (
    AsJson,
    Options,
    Task,
    World,
    WorldTask,
    make_env,
    parse_count,
    parse_options,
    parse_pairs,
    task_of,
)
from cranium.episodes.files import as_options, check_recording_path, save_episode
from cranium.errors import InvalidArgumentError, PolicyError, shorten
from cranium.io import check_writable
from cranium.learners import LEARNERS, Schedule, TrainingResult
from cranium.learners.fingerprint import differences
from cranium.learners.live_evaluation import CONFIRMED
from cranium.learners.registry import choose_config

__all__ = ["register"]

_NUMBERS = re.compile(r"\(?\s*+\d++(?:\s*+,\s*+\d++)*+\s*+,?\s*+\)?")
_DECIMAL = r"(\d++(?:\.\d++)?|\.\d++)"
_SCHEDULE = re.compile(rf"{_DECIMAL}:{_DECIMAL}:(\d++)(?::(\w+))?")

NOT_SOLVED = 1
MOST_IN_FILE = 10_000
"""Up to which number the options of a world are taken from an agent's file."""


def train(
    world: World,
    task: WorldTask = None,
    language: Task = None,
    learners: Annotated[
        list[str] | None,
        typer.Option(
            "--learner",
            metavar="ID",
            help=f"One of {', '.join(LEARNERS)}; several are trained in turn.",
            show_default="cql",
        ),
    ] = None,
    steps: Annotated[
        str, typer.Option("--steps", help="How many samples: 500, 100k, 2M.")
    ] = "100k",
    seed: Annotated[int, typer.Option("--seed", help="The same seed, the same result.")] = 0,
    seeds: Annotated[
        int, typer.Option("--seeds", help="How many seeds, from --seed on; 20 allow a claim.")
    ] = 1,
    until_solved: Annotated[
        bool, typer.Option("--until-solved", help="Stop when every instance is solved.")
    ] = False,
    every: Annotated[
        str | None, typer.Option("--every", help="Evaluate after so many samples.")
    ] = None,
    shaping: Annotated[
        bool, typer.Option("--shaping", help="Shape rewards by the machine.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the learner, such as learning_rate=0.1; hidden=64,64; "
            "exploration=1:0.1:5000 (from 1 to 0.1 in 5,000 samples); may be repeated.",
            show_default=False,
        ),
    ] = None,
    options: Options = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write the agent (.npz).")
    ] = None,
    curve: Annotated[
        Path | None, typer.Option("--curve", metavar="PICTURE", help="Draw the learning curves.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn a task in a world, and say how many samples that took.

    The greedy policy is evaluated without exploration: in a finite world exactly, in every instance
    of the task, and compared with the optimum; in others in ten episodes.
    Ctrl-C, SIGTERM and a window that is closed end it and keep what was learned.
    For example: cranium train Letter anbcdn --learner planner --learner cql --curve curves.png,
    or: cranium train Office --language "mail person never decoration" --save agent.npz
    With networks (extra deep): cranium train Letter anbcdn --learner cdqn --seeds 10
    """
    with endings(), errors_as_json(as_json):
        chosen = learners or ["cql"]
        _check_places(save, curve, chosen, seeds)
        given = parse_options(options)
        automaton = task_of(world, task, language)
        env = make_env(world, automaton, given)
        more = {**_settings(settings), **({"shaping": True} if shaping else {})}
        each = product(chosen, range(seed, seed + check_count("--seeds", seeds)))
        for learner in chosen:  # before the first is trained, not after
            choose_config(learner, None, more)
        told = (steps, until_solved, every, more)
        recipe = {"world": world, "options": given}
        reports = Reports(quiet=as_json)

        def trained(result: TrainingResult, seconds: float) -> None:
            if save is not None:
                _save(result, recipe, save)
            reports.tell(lambda: (report_briefly if seeds > 1 else report)(env, result, seconds))

        results = _train_all(env, list(each), told, trained, quiet=as_json)
        last = results[-1][0]
        if curve is not None:
            from cranium.figures import draw_curves

            found, title = [result for result, _ in results], automaton.name or ""
            keep(lambda path: draw_curves(found, path, title=title), curve)
        if seeds > 1:
            reports.tell(lambda: summarise_seeds([result for result, _ in results]))
        written = [f"wrote {path}" for path in (save, curve) if path is not None]
        if written:
            reports.tell(lambda: say("\n".join(written)))
        reports.check()
    if as_json:
        print_json([training_data(result, seconds) for result, seconds in results], indent=2)
    if last.interrupted:
        raise typer.Exit(INTERRUPTED)


def _check_places(save: Path | None, curve: Path | None, learners: list[str], seeds: int) -> None:
    """Refuse what could not be written in the end, before anything is learned."""
    if save is not None:
        from cranium.learners.policy_files import check_path

        check_path(save)
        if len(learners) > 1 or seeds > 1:
            raise InvalidArgumentError(
                "one agent is saved", fix="name one --learner and one --seed"
            )
        check_writable(save)
    if curve is not None:
        from cranium.figures.curves import check_picture

        check_writable(check_picture(curve))


def _save(result: TrainingResult, recipe: dict[str, Any], path: Path) -> None:
    """Save the agent, before anything is printed: there may be nobody left to read it."""
    with finishing():
        policy = result.policy
        keep(replace(policy, about={**policy.about, "recipe": recipe}).save, path)


def _train_all(
    env: cranium.AutomatonAugmentedMDP,
    each: list[tuple[str, int]],
    told: Any,
    trained: Callable[[TrainingResult, float], None],
    *,
    quiet: bool,
) -> list[tuple[TrainingResult, float]]:
    """Train learners with seeds, and report each as it ends; Ctrl-C ends it after the current."""
    results: list[tuple[TrainingResult, float]] = []
    for learner, seed in each:
        results.append(_train(env, learner, seed, *told, quiet=quiet))
        trained(*results[-1])
        if results[-1][0].interrupted:
            break
    return results


def _train(
    env: cranium.AutomatonAugmentedMDP,
    learner: str,
    seed: int,
    steps: str,
    until_solved: bool,
    every: str | None,
    settings: dict[str, Any],
    *,
    quiet: bool,
) -> tuple[TrainingResult, float]:
    begin = time.perf_counter()
    result = cranium.train(
        env,
        learner,
        steps=parse_count(steps),
        seed=seed,
        until="solved" if until_solved else None,
        config=choose_config(learner, None, settings),
        evaluate_every=None if every is None else parse_count(every),
        progress=not quiet and sys.stderr.isatty(),
    )
    return result, time.perf_counter() - begin


def _settings(given: list[str] | None) -> dict[str, Any]:
    pairs = parse_pairs(given, "a setting", "learning_rate=0.1")
    return {name: _setting(value) for name, value in pairs}


def _setting(text: str) -> Any:
    """A number, true or false; numbers with commas between them; a schedule; or else a word."""
    try:
        return json.loads(text.lower())
    except ValueError:
        pass
    if _NUMBERS.fullmatch(text):
        return tuple(int(digits) for digits in re.findall(r"\d+", text))
    if found := _SCHEDULE.fullmatch(text):
        first, last, over, unit = found.groups("samples")
        return Schedule(float(first), float(last), int(over), unit)  # type: ignore[arg-type]
    return text


def _wrote(path: Path, as_json: bool) -> None:
    if not as_json:
        say(f"wrote {path}")


def evaluate(
    agent: Annotated[
        Path, typer.Argument(metavar="AGENT", help="What cranium train --save wrote.")
    ],
    options: Options = None,
    unknown: Annotated[
        Literal["error", "random", "nearest"],
        typer.Option("--unknown", help="What to do beyond what was learned."),
    ] = "error",
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Keep an episode (.json): cranium replay."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the episode that is kept.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Evaluate an agent in the world that it was trained in, or with other options of it.

    Exit code 1 if it does not solve every instance. For example: cranium evaluate agent.npz
    To see what it does: cranium evaluate agent.npz --record e.json, and cranium replay e.json
    """
    with errors_as_json(as_json):
        if record is not None:
            check_recording_path(record)
        policy = cranium.Policy.load(agent).with_unknown(unknown)
        recipe = policy.about.get("recipe")
        kinds = {"options": dict, "world": str}
        if not isinstance(recipe, dict) or any(
            not isinstance(recipe.get(key), kind) for key, kind in kinds.items()
        ):
            raise PolicyError(
                f"{agent} does not say in which world it was trained",
                fix="evaluate it in Python: cranium.evaluate(env, cranium.Policy.load(…))",
            )
        given = parse_options(options)
        _check_recipe(agent, {k: v for k, v in recipe["options"].items() if k not in given})
        settings = {**as_options(recipe["options"]), **given}
        env = make_env(recipe["world"], policy.automaton, settings)
        with working("evaluating"):
            other = differences(policy.world, env)
            if other and not options:
                raise PolicyError(
                    f"{agent} was made for another world: {'; '.join(other.values())}",
                    fix="train again; or say that another world is meant: --with NAME=VALUE",
                )
            evaluation = cranium.evaluate(env, policy, episodes=CONFIRMED)
        if as_json:
            print_json(evaluation_data(evaluation), indent=2)
        else:
            say(f"task      {policy.automaton.name}")
            told = [policy.about.get(key, "?") for key in ("learner", "seed", "samples")]
            say(f"agent     {told[0]}, seed {told[1]}, {told[2]} samples")
            if other:
                say(f"world     another than in training: {'; '.join(other.values())}")
            report_evaluation(evaluation)
        if record is not None:
            where = {"world": recipe["world"], "settings": settings}
            episode = cranium.episodes.record(env, policy, seed=seed, **where)
            keep(lambda path: save_episode(episode, path), record)
            _wrote(record, as_json)
    if not evaluation.solved:
        raise typer.Exit(NOT_SOLVED)


def _check_recipe(agent: Path, options: dict[str, Any]) -> None:
    """Refuse numbers in a file that would take memory or hours; on the command line they may."""
    for name, value in options.items():
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, int | float) and not abs(number) <= MOST_IN_FILE:
                raise PolicyError(
                    f"{agent} says that it was trained with {shorten(name)} = {shorten(number)}: "
                    f"up to {MOST_IN_FILE:,} is taken from a file",
                    fix=f"if that is meant, say so: --with {shorten(name)}={shorten(number)}",
                )


def solve(
    world: World,
    task: WorldTask = None,
    language: Task = None,
    options: Options = None,
    discount: Annotated[float, typer.Option("--discount", help="γ, up to 1.")] = 0.99,
) -> None:
    """Solve a task exactly, by value iteration over everything that can be reached.

    For example: cranium solve Office mail-and-coffee,
    or: cranium solve Letter --language "A^N B C D^N" --with times=3
    """
    env = make_env(world, task_of(world, task, language), parse_options(options))
    with working("solving"):
        optimum = cranium.solve(env, discount=discount)
    say(f"task      {env.automaton.name}")
    say(f"product   {optimum.product.num_pairs:,} pairs of a state and a configuration")
    say(f"value     {optimum.start_value:.6f} at the start, discount {discount:g}")
    say(f"success   {optimum.success_rate:.4f} within {env.horizon:,} steps")
    say(f"length    {optimum.expected_length:.2f} steps on average")


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("train")(train)
    app.command("evaluate")(evaluate)
    app.command("solve")(solve)
