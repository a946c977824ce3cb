"""The commands on automaton files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import cranium
from cranium._runtime.terminal import visible_text
from cranium.automata.reward import RewardFunction
from cranium.cli.output import (
    errors_as_json,
    place_as_data,
    print_json,
    say,
    table_console,
    working,
)
from cranium.cli.sources import AsJson, Machine, Task, check_places, load_machine, machine_of
from cranium.drawing.labels import edge_line
from cranium.errors import RunError
from cranium.formats import library

__all__ = ["register"]

NOT_GOOD = 1
MAX_FIRED_SHOWN = 4
MAX_OF_A_KIND = 10
MAX_ROWS = 200
"""How many steps of a run are shown: the first and the last, half of each."""

Out = Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help="The file to write.")]


def _summary(machine: cranium.CountingRewardAutomaton) -> str:
    size = machine.size
    kind = "reward machine" if machine.is_reward_machine else f"{size.counters}-counter automaton"
    rewards = "constant rewards" if machine.is_constant else "reward functions"
    return (
        f"{machine.name or machine.initial}: {kind}, {_number(size.states, 'state')}, "
        f"{size.terminal} terminal, {_number(size.transitions, 'transition')}, {rewards}"
    )


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def check(
    file: Machine = None,
    language: Task = None,
    bound: Annotated[
        int,
        typer.Option(
            min=1, help="How many configurations to explore where counters make it undecidable."
        ),
    ] = 1000,
    as_json: AsJson = False,
) -> None:
    """Check a machine: is it what was meant?

    A machine that breaks a rule (two transitions enabled together, a counter that could go below
    zero, …) is a bad file: exit code 2. Findings (a state that cannot be reached, a counter that is
    never tested, …) are exit code 1; mere remarks (info) are not.
    """
    with errors_as_json(as_json):
        machine = machine_of(file, language)
        with working("exploring"):
            findings = cranium.check(machine, bound=bound)
    if as_json:
        print_json([_finding(f) for f in findings])
    else:
        say(_summary(machine))
        _show(findings)
    if any(finding.severity != "info" for finding in findings):
        raise typer.Exit(NOT_GOOD)


def _show(findings: tuple[cranium.Finding, ...]) -> None:
    """Print the findings, but not hundreds of one kind."""
    seen: Counter[str] = Counter()
    for finding in findings:
        seen[finding.code] += 1
        if seen[finding.code] <= MAX_OF_A_KIND:
            say(str(finding), {"error": "red", "warning": "yellow", "info": ""}[finding.severity])
    for code, count in seen.items():
        if count > MAX_OF_A_KIND:
            say(f"… and {count - MAX_OF_A_KIND:,} more [{code}] (--json shows all)")
    if not findings:
        say("no findings", "green")


def _finding(finding: cranium.Finding) -> dict[str, Any]:
    return {
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
        "fix": finding.fix,
        "place": place_as_data(finding.place),
    }


def run(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="An automaton file, or library:NAME.")
    ],
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="WORD",
            help="Labels: 'A A B', {A,B} for two at once, {} for none.",
            show_default=False,
        ),
    ] = None,
    language: Task = None,
    as_json: AsJson = False,
) -> None:
    """Run a word through a machine, step by step.

    Exit code 0 if the machine read the whole word and succeeded, 1 if not, also when the machine
    stops with an error on the way. For example: cranium run library:anbcn "A A {} B C C"
    """
    stopped: RunError | None = None
    source, text = (None, file) if language is not None and word is None else (file, word)
    if text is None:
        raise typer.BadParameter("give a WORD, such as 'A A B C C'")
    with errors_as_json(as_json):
        machine = machine_of(source, language)
        try:
            trace = machine.run(text)
        except RunError as problem:
            if problem.trace is None:
                raise
            trace, stopped = problem.trace, problem
    if as_json:
        said = None if stopped is None else stopped.message
        data = {**_trace(machine, trace), "stopped": said}
        print_json(data)
    else:
        table_console().print(_steps(machine, trace))
        verdict = f"not accepted: {stopped}" if stopped else _verdict(machine, trace)
        say(verdict, "green" if trace.accepted else "yellow")
    if stopped or not trace.accepted:
        raise typer.Exit(NOT_GOOD)


def _steps(machine: cranium.CountingRewardAutomaton, trace: cranium.Trace) -> Table:
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
        visible_text(_fired(machine, reset) if silent else ""),
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
            visible_text(_fired(machine, step)),
            visible_text(_reward(step.reward)),
        )
    return table


def _fired(machine: cranium.CountingRewardAutomaton, step: cranium.Step) -> str:
    if not step.fired:
        return f"otherwise: {machine.otherwise}"
    lines = [
        f"{t.number}: {edge_line(t, machine.counters).text}" for t in step.fired[:MAX_FIRED_SHOWN]
    ]
    more = len(step.fired) - MAX_FIRED_SHOWN
    return "\n".join([*lines, *([f"… and {more:,} more"] if more > 0 else [])])


def _reward(reward: cranium.Reward) -> str:
    return reward.name if isinstance(reward, RewardFunction) else f"{reward:g}"


def _verdict(machine: cranium.CountingRewardAutomaton, trace: cranium.Trace) -> str:
    functions = any(isinstance(step.reward, RewardFunction) for step in trace.steps)
    paid = "rewards by functions" if functions else f"total reward {trace.total_reward:g}"
    if trace.unread:
        why = f": the machine ended with {trace.unread} of {len(trace.word)} labels unread"
    elif not machine.accepting:
        why = ": no state of this machine is accepting"
    elif not trace.ended:
        why = ": the machine has not ended"
    else:
        why = ""
    return f"{'accepted' if trace.accepted else 'not accepted'}{why}, {paid}"


def _trace(machine: cranium.CountingRewardAutomaton, trace: cranium.Trace) -> dict[str, Any]:
    constant = not any(isinstance(step.reward, RewardFunction) for step in trace.steps)
    return {
        "machine": machine.name,
        "accepted": trace.accepted,
        "ended": trace.ended,
        "unread": trace.unread,
        "total_reward": trace.total_reward if constant else None,
        "start": _configuration(machine, trace.start),
        "steps": [
            {
                "label": list(machine.alphabet.names(label)),
                **_configuration(machine, step.configuration),
                "fired": [transition.number for transition in step.fired],
                "reward": step.reward.name
                if isinstance(step.reward, RewardFunction)
                else step.reward,
            }
            for label, step in zip(trace.word, trace.steps, strict=False)
        ],
    }


def _configuration(
    machine: cranium.CountingRewardAutomaton, configuration: cranium.Configuration
) -> dict[str, Any]:
    counters = dict(zip(machine.counters, configuration.counters, strict=True))
    return {"state": configuration.state, "counters": counters}


def draw(
    out: Out,
    file: Machine = None,
    language: Task = None,
) -> None:
    """Draw a machine: .svg, .png, .pdf, .dot, .mmd (Mermaid) or .tex (TikZ), by the name of OUT.

    For example: cranium draw library:office -o office.svg
    """
    check_places(picture=out)
    machine = machine_of(file, language)
    with working("drawing"):
        cranium.draw(machine, out)
    say(f"wrote {out}")


def unroll(
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="The largest counter value.")],
    out: Out,
    file: Machine = None,
    language: Task = None,
    smallest: Annotated[
        bool, typer.Option("--minimise", help="Merge the states that no word can tell apart.")
    ] = False,
) -> None:
    """Unroll an automaton into the reward machine of its configurations with counters ≤ LIMIT.

    Beyond the limit the reward machine ends in the state 'overflow', without success. For example:
    cranium unroll library:office --limit 10 -o ten.yaml
    """
    check_places(out)
    machine = machine_of(file, language)
    with working("unrolling"):
        unrolled = cranium.unroll(machine, counter_limit=limit)
        if smallest:
            unrolled = cranium.minimise(unrolled)
        cranium.save(unrolled, out)
    say(_summary(machine))
    say(_summary(unrolled))
    say(f"wrote {out}")


def convert(out: Out, file: Machine = None, language: Task = None) -> None:
    """Convert a machine to .yaml, .json, or .hoa (without counters), by the name of OUT.

    Reads .yaml, .json and the .txt reward machines of Toro Icarte et al. Pictures: `cranium draw`.
    """
    check_places(out)
    cranium.save(machine_of(file, language), out)
    say(f"wrote {out}")


def equivalent(
    first: Annotated[
        str, typer.Argument(metavar="FILE", help="An automaton file, or library:NAME.")
    ],
    second: Annotated[
        str | None,
        typer.Argument(metavar="OTHER", help="The machine to compare with.", show_default=False),
    ] = None,
    language: Task = None,
    bound: Annotated[
        int, typer.Option(min=1, help="How many pairs of configurations to compare at most.")
    ] = 10_000,
) -> None:
    """Compare two machines: do they reward alike on every word? If not, show a shortest word."""
    one, other = load_machine(first), machine_of(second, language)
    with working("comparing"):
        answer = cranium.equivalent(one, other, bound=bound)
    if answer:
        proved = "equivalent" if answer.exact else "no difference found"
        say(f"{proved} ({answer.explored:,} pairs of configurations compared)", "green")
        return
    labels = [
        names[0] if len(names) == 1 else "{" + ",".join(names) + "}" for names in answer.word or ()
    ]
    say(f"different on the word: {' '.join(labels)}", "yellow")
    say(answer.reason)
    raise typer.Exit(NOT_GOOD)


def show_library(
    name: Annotated[str | None, typer.Argument(help="Print the file of this machine.")] = None,
) -> None:
    """List the machines that come with Cranium, or print one, ready to be edited."""
    if name is not None:
        say(library.text(name).rstrip("\n"))
        return
    for known in library.names():
        say(f"library:{known:<16} {_summary(library.load(known))}")


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    for command in (check, run, draw, unroll, convert, equivalent):
        app.command()(command)
    app.command("library")(show_library)
