"""``cranium ask``: from a task in plain words to an automaton, with a language model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
import yaml

from cranium import assist
from cranium._runtime.terminal import GuardedConsole, visible_text
from cranium.aamdp import CATALOGUE, find_world
from cranium.assist.examples import parse_examples
from cranium.assist.plan import check_events
from cranium.assist.transcript import Mode
from cranium.cli.arguments import (
    DrawOption,
    FirstOption,
    OutOption,
    check_output_paths,
    write_machine,
)
from cranium.cli.output import NEGATIVE, ask_user, edit_text, print_line
from cranium.errors import (
    CraniumError,
    FileFormatError,
    InvalidArgumentError,
    PlanError,
    UnknownNameError,
    format_count,
    shorten,
)
from cranium.formats.documents import read_yaml
from cranium.io import check_writable, read_text

__all__ = ["ask"]

MAX_EVENTS_BYTES = 2**20
RECORDED_PREFIX = "recorded:"
NO_EXAMPLES_WARNING = (
    "without examples a wrong machine can pass every check: "
    "read it, or give some (--accept, --reject)"
)
REPLIES = "[a]ccept, [e]dit the plan, give a [c]ounterexample, or [q]uit?"
DEFAULT_REPLY = "a"


def ask(
    description: Annotated[
        str, typer.Argument(metavar="DESCRIPTION", help="The task, in plain words.")
    ],
    events: Annotated[
        str | None,
        typer.Option(
            metavar="WORLD|FILE",
            help="The events: those of a world, or a YAML file of names and their meanings.",
        ),
    ] = None,
    event: Annotated[
        list[str] | None,
        typer.Option("--event", metavar="NAME=MEANING", help="Add an event. Repeatable."),
    ] = None,
    out: OutOption = None,
    picture: DrawOption = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            "--accept", metavar="EVENTS", help="A sequence that must be accepted. Repeatable."
        ),
    ] = None,
    reject: Annotated[
        list[str] | None,
        typer.Option(
            "--reject", metavar="EVENTS", help="A sequence that must be rejected. Repeatable."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore", metavar="NAME", help="An event that may happen at any time. Repeatable."
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="The model; by default CRANIUM_MODEL.")
    ] = "",
    server: Annotated[
        str,
        typer.Option(
            metavar="URL", help="The server; by default OPENAI_BASE_URL, or this machine."
        ),
    ] = "",
    timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="How long a call may take, with all its retries."),
    ] = 300.0,
    samples: Annotated[
        int, typer.Option(min=1, help="How many plans to ask for; the most common one wins.")
    ] = 1,
    attempts: Annotated[
        int, typer.Option(min=1, help="How many answers to try for each plan.")
    ] = 6,
    lenient: Annotated[
        bool,
        typer.Option("--lenient", help="Report heuristic findings as notes, and accept the plan."),
    ] = False,
    first: FirstOption = False,
    transcript: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Record the conversation in this file; recorded:office comes with Cranium.",
        ),
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Read the answers from the transcript, not a model.")
    ] = False,
    paper: Annotated[
        bool, typer.Option("--paper", help="Also use the prompts of the paper, and compare.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Accept what passes the checks without asking.")
    ] = False,
) -> None:
    """Turn a task in plain words into an automaton, with the help of a language model.

    Use it when you can say what you want, but not write it as a formal language. The model fills in
    a form, the plan; Cranium builds the automaton, checks it, sends problems back to the model, and
    asks you before it writes anything. Give sequences with --accept and --reject: every second one
    is held out from the model. Without them a wrong automaton often passes the checks (9 of 24
    tasks with a small model). Any server with OpenAI's protocol works; `cranium llm serve` starts
    one.

    For example:

        cranium ask "Collect mail and deliver it to a person." --events office -o task.yaml
    """
    check_output_paths(out, picture)
    path = _find_transcript(transcript)
    if path is not None and not replay:
        check_writable(path)
    known = _collect_events(events, event)
    mode: Mode = "replay" if replay else "live" if transcript is None else "record"
    live = None if replay else assist.OpenAIModel(model, base_url=server, timeout=timeout)
    session = _Session(
        description,
        known,
        assist.Transcript(live, path, mode),
        samples=samples,
        attempts=attempts,
        is_first=first,
        is_lenient=lenient,
        ignored=ignore or [],
        examples=parse_examples({"accept": accept, "reject": reject}, known),
    )
    found = session.specify()
    if yes:
        _print_specification(found)
    else:
        found = _review(session, found)
    write_machine(found.machine, out, picture)
    if paper:
        _compare_with_paper(found, session.transcript)


@dataclass
class _Session:
    """One task and the conversation about it, with the examples so far."""

    description: str
    events: dict[str, str]
    transcript: assist.Transcript
    samples: int
    attempts: int
    is_first: bool
    is_lenient: bool
    ignored: Sequence[str]
    examples: Sequence[assist.Example]

    def specify(self, *more: assist.Example) -> assist.Specification:
        """Ask the model, and keep further examples if it succeeds."""
        console = GuardedConsole(stderr=True)
        examples = [*self.examples, *more]
        with console.status(visible_text("asking")) as status:

            def show(text: str) -> None:
                status.update(visible_text(text))
                if not console.is_terminal and self.transcript.mode != "replay":
                    console.print(visible_text(text, "dim"), soft_wrap=True)

            found = assist.specify(
                self.description,
                self.events,
                examples,
                model=self.transcript,
                samples=self.samples,
                attempts=self.attempts,
                first=self.is_first,
                ignored=self.ignored,
                lenient=self.is_lenient,
                on_progress=show,
            )
        self.examples = examples
        return found

    def edit(self, found: assist.Specification) -> assist.Specification:
        """Let the user edit the plan. It is checked like a plan of the model."""
        data = json.loads(found.plan.model_dump_json())
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
        edited = edit_text(text, ".yaml")
        if edited == text:
            return found
        try:
            answer = json.dumps(read_yaml(edited).data)
        except (CraniumError, ValueError, RecursionError) as problem:
            raise PlanError(f"this is not a plan in YAML: {problem}") from None
        plan = assist.parse_plan(answer, found.events)
        return assist.replace_plan(found, plan, first=self.is_first, ignored=self.ignored)


def _find_transcript(name: str | None) -> Path | None:
    """Return the file of a transcript; ``recorded:NAME`` is one that comes with Cranium."""
    if name is None or not name.startswith(RECORDED_PREFIX):
        return None if name is None else Path(name)
    recorded = {path.stem: path for path in assist.RECORDED.glob("*.jsonl")}
    stem = name.removeprefix(RECORDED_PREFIX)
    if stem not in recorded:
        raise UnknownNameError.of("recorded conversation", stem, sorted(recorded))
    return recorded[stem]


def _collect_events(source: str | None, given: list[str] | None) -> dict[str, str]:
    """Return the events of ``--events`` and ``--event``, with their meanings."""
    events: dict[str, str] = {}
    if source is not None:
        worlds = {entry.name.lower() for entry in CATALOGUE}
        is_file = source.lower() not in worlds and ("." in source or "/" in source)
        events |= _read_events(Path(source)) if is_file else find_world(source).events()
    for text in given or ():
        name, equals, meaning = text.partition("=")
        if not equals:
            raise InvalidArgumentError(
                f"an event is NAME=MEANING, such as 'mail=mail is collected', not {shorten(text)}"
            )
        events[name.strip()] = meaning.strip()
    if not events:
        raise InvalidArgumentError(
            "no events are given",
            fix="--events office, --events FILE.yaml, or --event 'mail=mail is collected'",
        )
    return check_events(events)


def _read_events(path: Path) -> dict[str, str]:
    data = read_yaml(read_text(path, most=MAX_EVENTS_BYTES), str(path)).data
    if not isinstance(data, dict):
        raise FileFormatError(f"{path} is not a mapping of names to meanings: {shorten(data)}")
    return check_events(data)


def _review(session: _Session, found: assist.Specification) -> assist.Specification:
    """Show a specification, and let the user correct it until it is accepted."""
    while (reply := _ask_for_reply(found)) != "a":
        if reply == "q":
            raise typer.Exit(NEGATIVE)
        try:
            if reply == "e":
                found = session.edit(found)
            else:
                found = session.specify(_ask_for_counterexample(found))
        except CraniumError as problem:
            print_line(f"rejected: {problem}", "yellow")
    return found


def _ask_for_reply(found: assist.Specification) -> str:
    _print_specification(found)
    if not sys.stdin.isatty():
        raise InvalidArgumentError(
            "there is no terminal to ask whether this is what you meant",
            fix="--yes accepts what passes the checks",
        )
    while True:
        answer = ask_user(REPLIES, DEFAULT_REPLY).strip() or DEFAULT_REPLY
        reply = answer[0].lower()
        if reply in ("a", "e", "c", "q"):
            return reply


def _ask_for_counterexample(found: assist.Specification) -> assist.Example:
    """Ask for a sequence that is judged wrongly, and return it with the other verdict."""
    answer = ""
    while (
        not answer.strip()
    ):  # Typer repeats the question after an empty line, but not after blanks
        answer = ask_user("a sequence of events that is judged wrongly")
    word = parse_examples({"accept": [answer]}, found.events)[0].word
    is_accepted = assist.accepts(found.machine, word)
    verdicts = ("accepted", "rejected") if is_accepted else ("rejected", "accepted")
    print_line("it is {} now, and will have to be {}".format(*verdicts))
    return assist.Example(word, accepted=not is_accepted)


def _print_specification(found: assist.Specification) -> None:
    verdict = found.verdict
    print_line(f"plan      {found.language}", "bold")
    print_line("means     " + found.restatement.replace("\n", "\n          "))
    print_line(f"accepts   {_format_words(found.accepted_words())}")
    print_line(f"rejects   {_format_words(found.rejected_words())}")
    for step in found.plan.steps:
        print_line(f"because   {step.phrase!r}: {' '.join(step.events)}, {step.count}")
    for note in verdict.notes:
        print_line(f"note      {note}", "yellow")
    held_out = sum(example.held_out for example in found.examples)
    print_line(
        f"checked   {format_count(len(found.examples), 'example')} ({held_out} held out), "
        f"{format_count(len(verdict.attempts), 'answer')} of the model"
    )
    if not found.examples:
        print_line(f"warning   {NO_EXAMPLES_WARNING}", "yellow")
    for other in verdict.readings[1:]:
        print_line(
            f"or        {other.checked.language} ({other.votes} samples): "
            f"{_format_labels(other.differs)} differs",
            "yellow",
        )


def _format_words(words: list[tuple[str, ...]]) -> str:
    return "   ".join(" ".join(word) for word in words)


def _format_labels(word: Iterable[Iterable[str]]) -> str:
    return " ".join("+".join(label) or "{}" for label in word)


def _compare_with_paper(found: assist.Specification, transcript: assist.Transcript) -> None:
    print_line("\nthe model's own automaton, for the paper's prompts (Appendix G):", "bold")
    answer = assist.ask_paper_prompts(found.description, found.events, found.machine, transcript)
    if answer.machine is None:
        print_line(f"  none: {answer.problem}", "yellow")
    elif answer.is_equivalent:
        print_line("  equivalent to this one", "green")
    elif answer.difference is not None:
        word = _format_labels(answer.difference.word or ())
        print_line(f"  different on {word!r}: {answer.difference.reason}", "yellow")
