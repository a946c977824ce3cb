"""The commands that read an automaton file: check, draw, unroll, convert, equivalent, library."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

import cranium
from cranium.cli.arguments import (
    JsonOption,
    LanguageOption,
    MachineArgument,
    check_output_paths,
    load_machine,
    load_machine_or_language,
)
from cranium.cli.output import (
    NEGATIVE,
    place_to_json,
    print_json,
    print_line,
    report_errors_as_json,
    show_status,
)
from cranium.errors import format_count
from cranium.formats import library

__all__ = ["check", "convert", "draw", "equivalent", "list_library", "unroll"]

MAX_FINDINGS = 10
"""How many findings with the same code are printed."""
STYLES = {"error": "red", "warning": "yellow", "info": ""}

RequiredOut = Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help="The file to write.")]


def _summarise(machine: cranium.CountingRewardAutomaton) -> str:
    size = machine.size
    kind = "reward machine" if machine.is_reward_machine else f"{size.counters}-counter automaton"
    rewards = "constant rewards" if machine.is_constant else "reward functions"
    return (
        f"{machine.name or machine.initial}: {kind}, {format_count(size.states, 'state')}, "
        f"{size.terminal} terminal, {format_count(size.transitions, 'transition')}, {rewards}"
    )


def check(
    file: MachineArgument = None,
    language: LanguageOption = None,
    bound: Annotated[
        int,
        typer.Option(
            min=1, help="How many configurations to explore where counters make it undecidable."
        ),
    ] = 1000,
    as_json: JsonOption = False,
) -> None:
    """Check an automaton for mistakes.

    Use it before training, and in tests of your own automata. Findings, such as a state that
    cannot be reached or a counter that is never tested, give exit code 1; findings of severity
    info do not. An automaton that breaks a rule (two transitions enabled together, a counter that
    could become negative) cannot be loaded and gives exit code 2.

    For example:

        cranium check task.yaml
    """
    with report_errors_as_json(as_json):
        machine = load_machine_or_language(file, language)
        with show_status("exploring"):
            findings = cranium.check(machine, bound=bound)
    if as_json:
        print_json([_finding_to_json(finding) for finding in findings])
    else:
        print_line(_summarise(machine))
        _print_findings(findings)
    if any(finding.severity != "info" for finding in findings):
        raise typer.Exit(NEGATIVE)


def _print_findings(findings: tuple[cranium.Finding, ...]) -> None:
    """Print the findings, at most ten for each code."""
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[finding.code] += 1
        if counts[finding.code] <= MAX_FINDINGS:
            print_line(str(finding), STYLES[finding.severity])
    for code, count in counts.items():
        if count > MAX_FINDINGS:
            print_line(f"… and {count - MAX_FINDINGS:,} more [{code}] (--json shows all)")
    if not findings:
        print_line("no findings", "green")


def _finding_to_json(finding: cranium.Finding) -> dict[str, object]:
    return {
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
        "fix": finding.fix,
        "place": place_to_json(finding.place),
    }


def draw(out: RequiredOut, file: MachineArgument = None, language: LanguageOption = None) -> None:
    """Draw an automaton as a picture.

    Use it to see a task, or to put it into a paper or a page. The suffix of OUT selects the
    format: .svg, .png, .pdf, .dot (Graphviz), .mmd (Mermaid) or .tex (TikZ).

    For example:

        cranium draw library:office -o office.svg
    """
    check_output_paths(picture=out)
    machine = load_machine_or_language(file, language)
    with show_status("drawing"):
        cranium.draw(machine, out)
    print_line(f"wrote {out}")


def unroll(
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="The largest counter value.")],
    out: RequiredOut,
    file: MachineArgument = None,
    language: LanguageOption = None,
    is_minimised: Annotated[
        bool, typer.Option("--minimise", help="Merge the states that no word distinguishes.")
    ] = False,
) -> None:
    """Unroll an automaton into a reward machine with one state for each configuration.

    Use it to compare with methods that need a reward machine, which has no counters. A counter
    above LIMIT leads to the state 'overflow', which ends the episode without success.

    For example:

        cranium unroll library:office --limit 10 -o office-10.yaml
    """
    check_output_paths(out)
    machine = load_machine_or_language(file, language)
    with show_status("unrolling"):
        unrolled = cranium.unroll(machine, counter_limit=limit)
        if is_minimised:
            unrolled = cranium.minimise(unrolled)
        cranium.save(unrolled, out)
    print_line(_summarise(machine))
    print_line(_summarise(unrolled))
    print_line(f"wrote {out}")


def convert(
    out: RequiredOut, file: MachineArgument = None, language: LanguageOption = None
) -> None:
    """Convert an automaton to another file format.

    Use it to move automata between Cranium and other programs. It reads .yaml, .json and the .txt
    reward machines of Toro Icarte et al. The suffix of OUT selects the format that it writes:
    .yaml, .json, or .hoa (only without counters).

    For example:

        cranium convert library:toro-coffee -o coffee.hoa
    """
    check_output_paths(out)
    cranium.save(load_machine_or_language(file, language), out)
    print_line(f"wrote {out}")


def equivalent(
    first: Annotated[
        str, typer.Argument(metavar="FILE", help="An automaton file, or library:NAME.")
    ],
    second: Annotated[
        str | None,
        typer.Argument(metavar="OTHER", help="The automaton to compare with.", show_default=False),
    ] = None,
    language: LanguageOption = None,
    bound: Annotated[
        int, typer.Option(min=1, help="How many pairs of configurations to compare at most.")
    ] = 10_000,
) -> None:
    """Compare two automata: do they pay the same rewards for every word?

    Use it after editing or converting a task. If they differ, it prints a shortest word that shows
    it and exits with code 1.

    For example:

        cranium equivalent task.yaml --language "A^N B C^N"
    """
    machine, other = load_machine(first), load_machine_or_language(second, language)
    with show_status("comparing"):
        result = cranium.equivalent(machine, other, bound=bound)
    if result:
        verdict = "equivalent" if result.exact else "no difference found"
        print_line(f"{verdict} ({result.explored:,} pairs of configurations compared)", "green")
        return
    labels = [
        names[0] if len(names) == 1 else "{" + ",".join(names) + "}" for names in result.word or ()
    ]
    print_line(f"different on the word: {' '.join(labels)}", "yellow")
    print_line(result.reason)
    raise typer.Exit(NEGATIVE)


def list_library(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Print the file of this automaton."),
    ] = None,
) -> None:
    """List the automata that come with Cranium, or print the file of one.

    Use it to find a task to start from. Every command that takes a FILE also takes library:NAME.

    For example:

        cranium library office > task.yaml
    """
    if name is not None:
        print_line(library.text(name).rstrip("\n"))
        return
    for known in library.names():
        print_line(f"library:{known:<16} {_summarise(library.load(known))}")
