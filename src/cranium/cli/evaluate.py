"""``cranium evaluate`` and ``cranium solve``: what an agent achieves, and what is possible."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

import cranium
from cranium.aamdp import find_product
from cranium.aamdp.catalogue import CATALOGUE, WorldEntry
from cranium.aamdp.environments import import_world
from cranium.cli.arguments import (
    HorizonOption,
    JsonOption,
    LabelsOption,
    LanguageOption,
    OptionValue,
    TaskArgument,
    TaskOption,
    WorldArgument,
    WorldOption,
    WorldOptions,
    load_task,
    parse_world_options,
)
from cranium.cli.output import (
    NEGATIVE,
    print_json,
    print_line,
    report_errors_as_json,
    show_status,
    write_or_rescue,
)
from cranium.cli.training_report import evaluation_to_json, print_evaluation
from cranium.episodes.files import check_recording_path, options_from_json, save_episode
from cranium.errors import PolicyError, shorten
from cranium.learners.fingerprint import differences
from cranium.learners.live_evaluation import CONFIRMED

__all__ = ["evaluate", "solve"]

MAX_FIX = 300
"""The greatest length of a hint that quotes a file."""
MAX_RECORDED_OPTION = 10_000
"""The largest number that an option of a world may have in an agent's file."""


def evaluate(
    agent: Annotated[
        Path, typer.Argument(metavar="AGENT", help="An agent that `cranium train --save` wrote.")
    ],
    options: WorldOptions = None,
    world: WorldOption = None,
    labels: LabelsOption = None,
    horizon: HorizonOption = None,
    unknown: Annotated[
        Literal["error", "random", "nearest"],
        typer.Option("--unknown", help="How to act in a state that was not met in training."),
    ] = "error",
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Save an episode (.json) for replay."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the recorded episode.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Evaluate an agent in the world that it was trained in, or with other options of it.

    Use it to test a saved agent, and to record an episode for `cranium replay`. The exit code is 1
    if the agent does not solve every instance of its task.

    For example:

        cranium evaluate agent.npz --record episode.json
        cranium evaluate agent.npz --world FrozenLake-v1 --labels lake.py:events
    """
    with report_errors_as_json(as_json):
        if record is not None:
            check_recording_path(record)
        policy = cranium.Policy.load(agent).with_unknown(unknown)
        recipe = _read_recipe(policy, agent)
        entry = _find_recorded_world(agent, recipe, world, labels)
        overrides = parse_world_options(options)
        _check_recorded_options(
            agent, {name: value for name, value in recipe.options.items() if name not in overrides}
        )
        settings = {**options_from_json(recipe.options), **overrides}
        limit = horizon or _check_recorded_horizon(agent, recipe.horizon)
        env = entry.make_env(policy.automaton, settings, horizon=limit)
        with show_status("evaluating"):
            changes = differences(policy.world, env)
            if changes and not options and horizon is None:
                raise PolicyError(
                    f"{agent} was made for another world: {'; '.join(changes.values())}",
                    fix="train again; or evaluate in another world on purpose: --with NAME=VALUE",
                )
            evaluation = cranium.evaluate(env, policy, episodes=CONFIRMED)
        if as_json:
            print_json(evaluation_to_json(evaluation), indent=2)
        else:
            _print_agent(policy, changes)
            print_evaluation(evaluation)
        if record is not None:
            episode = cranium.episodes.record(
                env, policy, seed=seed, world=entry.name, settings=settings
            )
            write_or_rescue(lambda path: save_episode(episode, path), record)
            if not as_json:
                print_line(f"wrote {record}")
    if not evaluation.solved:
        raise typer.Exit(NEGATIVE)


class _Recipe(NamedTuple):
    """The world that an agent was trained in, as its file names it."""

    world: str
    options: dict[str, OptionValue | list[object]]
    labels: str | None
    horizon: int | None


def _read_recipe(policy: cranium.Policy, agent: Path) -> _Recipe:
    recipe = policy.about.get("recipe")
    if isinstance(recipe, dict):
        world, options = recipe.get("world"), recipe.get("options")
        if isinstance(world, str) and isinstance(options, dict):
            labels, horizon = recipe.get("labels"), recipe.get("horizon")
            is_count = isinstance(horizon, int) and horizon > 0
            return _Recipe(
                world,
                options,
                labels if isinstance(labels, str) else None,
                horizon if is_count else None,
            )
    raise PolicyError(
        f"{agent} does not say in which world it was trained",
        fix="evaluate it in Python: cranium.evaluate(env, cranium.Policy.load(…))",
    )


def _find_recorded_world(
    agent: Path, recipe: _Recipe, world: str | None, labels: str | None
) -> WorldEntry:
    """Find the world of an agent. Code is only imported if the command line names it."""
    is_ours = any(entry.name.lower() == recipe.world.lower() for entry in CATALOGUE)
    missing = []
    if world is None and not is_ours:
        missing.append(f"--world {shlex.quote(recipe.world)}")
    if labels is None and recipe.labels is not None:
        missing.append(f"--labels {shlex.quote(recipe.labels)}")
    if missing:
        raise PolicyError(
            f"{agent} was trained in {shorten(recipe.world)}"
            + (f" with the labels {shorten(recipe.labels)}" if recipe.labels else "")
            + ", and a file cannot choose which code is run",
            fix=f"if you trust that code, name it: {' '.join(missing)}"[:MAX_FIX],
        )
    entry = import_world(world or recipe.world, labels)
    # The path of a file may be another one now; then only the fingerprints are compared.
    is_same = entry.name.lower() == recipe.world.lower()
    if not is_same and not (":" in entry.name and ":" in recipe.world):
        raise PolicyError(
            f"{agent} was trained in the world {shorten(recipe.world)}, not in {entry.name}"
        )
    return entry


def _print_agent(policy: cranium.Policy, changes: Mapping[str, str]) -> None:
    print_line(f"task      {policy.automaton.name}")
    learner, seed, samples = (policy.about.get(key, "?") for key in ("learner", "seed", "samples"))
    print_line(f"agent     {learner}, seed {seed}, {samples} samples")
    if changes:
        print_line(f"world     not the one of the training: {'; '.join(changes.values())}")


def _check_recorded_options(agent: Path, options: Mapping[str, OptionValue | list[object]]) -> None:
    """Refuse large numbers from a file, which could take hours or fill the memory.

    On the command line they are allowed.
    """
    for name, value in options.items():
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, int | float) and not abs(number) <= MAX_RECORDED_OPTION:
                raise PolicyError(
                    f"{agent} says that it was trained with {shorten(name)} = {shorten(number)}, "
                    f"but at most {MAX_RECORDED_OPTION:,} is accepted from a file",
                    fix=f"if you trust it, say so: --with {shorten(name)}={shorten(number)}",
                )


def _check_recorded_horizon(agent: Path, horizon: int | None) -> int | None:
    """Refuse a horizon from a file with which an evaluation could take hours."""
    if horizon is not None and horizon > MAX_RECORDED_OPTION:
        raise PolicyError(
            f"{agent} says that it was trained with a horizon of {shorten(horizon)}, "
            f"but at most {MAX_RECORDED_OPTION:,} is accepted from a file",
            fix=f"if you trust it, say so: --horizon {shorten(horizon)}",
        )
    return horizon


def solve(
    world: WorldArgument,
    task: TaskArgument = None,
    language: LanguageOption = None,
    source: TaskOption = None,
    labels: LabelsOption = None,
    horizon: HorizonOption = None,
    options: WorldOptions = None,
    discount: Annotated[float, typer.Option("--discount", help="γ, at most 1.")] = 0.99,
) -> None:
    """Solve a task exactly, by value iteration on the product of world and automaton.

    Use it to know the optimum that a learner can reach in a finite world.

    For example:

        cranium solve Office mail-and-coffee
        cranium solve Letter --language "A^N B C D^N" --with times=3
    """
    entry = import_world(world, labels)
    automaton = load_task(entry, task, language, source)
    env = entry.make_env(automaton, parse_world_options(options), horizon=horizon)
    product = find_product(env)
    with show_status("solving"):
        optimum = cranium.solve(env, discount=discount)
    print_line(f"task      {product.automaton.name}")
    print_line(f"product   {optimum.product.num_pairs:,} pairs of a state and a configuration")
    print_line(f"value     {optimum.start_value:.6f} at the start, discount {discount:g}")
    within = "" if product.horizon is None else f" within {product.horizon:,} steps"
    print_line(f"success   {optimum.success_rate:.4f}{within}")
    print_line(f"length    {optimum.expected_length:.2f} steps on average")
