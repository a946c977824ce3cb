"""``cranium run``: a word through an automaton, step by step; or a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

import cranium
from cranium._runtime.terminal import visible_text
from cranium.automata.reward import RewardFunction
from cranium.cli.arguments import (
    TRACK_HELP,
    JsonOption,
    LanguageOption,
    load_machine_or_language,
)
from cranium.cli.output import (
    NEGATIVE,
    print_json,
    print_line,
    report_errors_as_json,
    table_console,
)
from cranium.cli.study import StudyOptions, is_study, run_study
from cranium.drawing.labels import edge_line
from cranium.errors import InvalidArgumentError, RunError

__all__ = ["run"]

PANEL = "Studies"
MAX_TRANSITIONS = 4
"""How many transitions of one step are printed."""
MAX_ROWS = 200
"""How many steps are printed: half of them from the start of the run, half from its end."""


def run(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="An automaton file, or library:NAME; or a study, in a .py or .toml file.",
        ),
    ],
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="WORD",
            help="A sequence of labels: 'A A B', {A,B} for two events at once, {} for none.",
            show_default=False,
        ),
    ] = None,
    language: LanguageOption = None,
    as_json: JsonOption = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir",
            help="The folder for the records of a study.",
            show_default="results/NAME",
            rich_help_panel=PANEL,
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            "--study",
            metavar="VARIABLE",
            help="Which study, if the file makes several.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Few seeds and samples, to see that it works; the results stay separate.",
            rich_help_panel=PANEL,
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only print what would be run.", rich_help_panel=PANEL),
    ] = False,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(
            "--engine",
            help="Run processes on this machine, or tasks of a Ray cluster.",
            rich_help_panel=PANEL,
        ),
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            help="How many trials to run at once.",
            show_default="all cores",
            rich_help_panel=PANEL,
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            help="The address of the Ray cluster; auto finds one on this machine.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    trial_memory: Annotated[
        str | None,
        typer.Option(
            "--trial-memory",
            metavar="SIZE",
            help="End a trial that uses more memory, such as 4GB; the others go on.",
            show_default="no limit",
            rich_help_panel=PANEL,
        ),
    ] = None,
    trial_time: Annotated[
        str | None,
        typer.Option(
            "--trial-time",
            metavar="DURATION",
            help="End a trial that takes longer, such as 30min; the others go on.",
            show_default="no limit",
            rich_help_panel=PANEL,
        ),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Run failed trials again.", rich_help_panel=PANEL),
    ] = False,
    track: Annotated[
        list[str] | None,
        typer.Option("--track", metavar="TRACKER", help=TRACK_HELP, rich_help_panel=PANEL),
    ] = None,
) -> None:
    """Run a word through an automaton and print every step; or run a study.

    Use it to see how a task rewards a sequence of events. The exit code is 0 if the automaton
    accepts the whole word, and 1 if it rejects it or stops with an error.

    A file that ends in .py or .toml is a study: every learner on every problem, with several seeds
    (`cranium new study my_study.py` writes one). A Python file is run. Results that exist are not
    computed again: after Ctrl-C or a crash, the same command continues.

    For example:

        cranium run library:anbcn "A A {} B C C"
        cranium run my_study.py --quick
        cranium run my_study.py --track tensorboard:runs
    """
    options = StudyOptions(
        folder=folder,
        name=study,
        quick=quick,
        dry_run=dry_run,
        engine=engine,
        workers=workers,
        address=address,
        trial_memory=trial_memory,
        trial_time=trial_time,
        retry_failed=retry_failed,
        track=tuple(track or ()),
    )
    if word is None and language is None and is_study(file):
        run_study(file, options)
        return
    if options != StudyOptions():
        raise InvalidArgumentError(
            f"{file} is not a study, which the options from --dir to --track are for",
            fix="name a .py or .toml file",
        )
    error: RunError | None = None
    source, text = (None, file) if language is not None and word is None else (file, word)
    if text is None:
        raise typer.BadParameter("give a WORD, such as 'A A B C C'")
    with report_errors_as_json(as_json):
        machine = load_machine_or_language(source, language)
        try:
            trace = machine.run(text)
        except RunError as problem:
            if problem.trace is None:
                raise
            trace, error = problem.trace, problem
    if as_json:
        message = None if error is None else error.message
        print_json({**_trace_to_json(machine, trace), "stopped": message})
    else:
        table_console().print(_make_table(machine, trace))
        verdict = f"not accepted: {error}" if error else _describe_verdict(machine, trace)
        print_line(verdict, "green" if trace.accepted else "yellow")
    if error or not trace.accepted:
        raise typer.Exit(NEGATIVE)


def _make_table(machine: cranium.CountingRewardAutomaton, trace: cranium.Trace) -> Table:
    table = Table()
    for heading in ("step", "label", "state", *machine.counters, "fired", "reward"):
        table.add_column(visible_text(heading), overflow="fold")
    zeros = cranium.Configuration(machine.initial, (0,) * machine.num_counters)
    _, silent = machine.settle(zeros)
    reset = cranium.Step(trace.start, 0.0, tuple(silent))
    table.add_row(
        "",
        "",
        visible_text(trace.start.state),
        *map(str, trace.start.counters),
        visible_text(_format_transitions(machine, reset) if silent else ""),
        "",
    )
    count, half = len(trace.steps), MAX_ROWS // 2
    shown = range(count) if count <= MAX_ROWS else [*range(half), *range(count - half, count)]
    for index in shown:
        step = trace.steps[index]
        state, counters = step.configuration
        if count > MAX_ROWS and index == count - half:
            table.add_row("…", visible_text(f"{count - MAX_ROWS:,} more"))
        table.add_row(
            str(index + 1),
            visible_text(machine.alphabet.format(trace.word[index])),
            visible_text(state),
            *map(str, counters),
            visible_text(_format_transitions(machine, step)),
            visible_text(_format_reward(step.reward)),
        )
    return table


def _format_transitions(machine: cranium.CountingRewardAutomaton, step: cranium.Step) -> str:
    if not step.fired:
        return f"otherwise: {machine.otherwise}"
    lines = [
        f"{t.number}: {edge_line(t, machine.counters).text}" for t in step.fired[:MAX_TRANSITIONS]
    ]
    more = len(step.fired) - MAX_TRANSITIONS
    return "\n".join([*lines, *([f"… and {more:,} more"] if more > 0 else [])])


def _format_reward(reward: cranium.Reward) -> str:
    return reward.name if isinstance(reward, RewardFunction) else f"{reward:g}"


def _has_reward_functions(trace: cranium.Trace) -> bool:
    return any(isinstance(step.reward, RewardFunction) for step in trace.steps)


def _describe_verdict(machine: cranium.CountingRewardAutomaton, trace: cranium.Trace) -> str:
    is_function = _has_reward_functions(trace)
    rewards = "rewards by functions" if is_function else f"total reward {trace.total_reward:g}"
    if trace.unread:
        reason = f": the machine ended with {trace.unread} of {len(trace.word)} labels unread"
    elif not machine.accepting:
        reason = ": no state of this machine is accepting"
    elif not trace.ended:
        reason = ": the machine has not ended"
    else:
        reason = ""
    return f"{'accepted' if trace.accepted else 'not accepted'}{reason}, {rewards}"


def _trace_to_json(
    machine: cranium.CountingRewardAutomaton, trace: cranium.Trace
) -> dict[str, object]:
    return {
        "machine": machine.name,
        "accepted": trace.accepted,
        "ended": trace.ended,
        "unread": trace.unread,
        "total_reward": None if _has_reward_functions(trace) else trace.total_reward,
        "start": _configuration_to_json(machine, trace.start),
        "steps": [
            {
                "label": list(machine.alphabet.names(label)),
                **_configuration_to_json(machine, step.configuration),
                "fired": [transition.number for transition in step.fired],
                "reward": step.reward.name
                if isinstance(step.reward, RewardFunction)
                else step.reward,
            }
            for label, step in zip(trace.word, trace.steps, strict=False)
        ],
    }


def _configuration_to_json(
    machine: cranium.CountingRewardAutomaton, configuration: cranium.Configuration
) -> dict[str, object]:
    counters = dict(zip(machine.counters, configuration.counters, strict=True))
    return {"state": configuration.state, "counters": counters}
