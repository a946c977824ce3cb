"""The commands that turn words into a machine, and serve a model that helps with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from cranium import assist
from cranium._runtime.interrupt import endings
from cranium._runtime.terminal import GuardedConsole, visible_text
from cranium.aamdp import CATALOGUE, find_world
from cranium.assist.examples import as_examples
from cranium.assist.plan import check_events
from cranium.cli.output import ask_person, confirm, edit_text, say
from cranium.cli.sources import DrawnInto, First, WrittenTo, check_places, write_machine
from cranium.errors import (
    CraniumError,
    FileFormatError,
    InvalidArgumentError,
    PlanError,
    UnknownNameError,
    shorten,
)
from cranium.formats.documents import read_yaml
from cranium.io import check_writable, read_text

__all__ = ["register"]

DECLINED = 1
MAX_EVENTS_FILE = 2**20
RECORDED = "recorded:"
UNCHECKED = (
    "without examples a wrong machine can pass every check: "
    "read it, or give some (--accept, --reject)"
)
DEFAULT = "a"
CHOICES = "[a]ccept, [e]dit the plan, give a [c]ounterexample, or [q]uit?"


def ask(
    description: Annotated[str, typer.Argument(metavar="WORDS", help="The task, in plain words.")],
    events: Annotated[
        str | None,
        typer.Option(
            metavar="WORLD|FILE", help="A world, or a YAML file with names and their meanings."
        ),
    ] = None,
    event: Annotated[
        list[str] | None,
        typer.Option("--event", metavar="NAME=MEANING", help="An event; may be repeated."),
    ] = None,
    out: WrittenTo = None,
    picture: DrawnInto = None,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="EVENTS", help="A sequence that is right; repeatable."),
    ] = None,
    reject: Annotated[
        list[str] | None,
        typer.Option("--reject", metavar="EVENTS", help="A sequence that is wrong; repeatable."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="NAME", help="An event that may happen at any time."),
    ] = None,
    model: Annotated[str, typer.Option(metavar="NAME", help="The model; else CRANIUM_MODEL.")] = "",
    server: Annotated[
        str, typer.Option(metavar="URL", help="Its server; else OPENAI_BASE_URL, or this machine.")
    ] = "",
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long a whole call to the model may take.")
    ] = 300.0,
    samples: Annotated[
        int, typer.Option(min=1, help="How many plans to ask for; they are compared.")
    ] = 1,
    attempts: Annotated[int, typer.Option(min=1, help="How many answers to try for each.")] = 6,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="What is only guessed from the words is a note.")
    ] = False,
    first: First = False,
    transcript: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep the conversation in this file; recorded:office comes with Cranium.",
        ),
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Take the answers from the transcript: no model.")
    ] = False,
    paper: Annotated[
        bool, typer.Option("--paper", help="Also ask in the paper's words, and compare.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Accept what has passed all checks; ask nobody.")
    ] = False,
) -> None:
    """Turn a task in plain words into a machine, with the help of a language model.

    The model fills a small form; Cranium makes the machine from it, checks it, sends back what is
    wrong, and shows what it means before anything is written. Sequences that are given with
    --accept and --reject check the answer; every second one is held back from the model. Without
    them a wrong machine often passes (9 of 24 tasks with a small model): read what it does. Any
    server that speaks OpenAI's protocol will do; `cranium llm serve` starts one. For example:
    cranium ask "Collect mail and deliver it to a person." --events office -o task.yaml
    """
    check_places(out, picture)
    kept = _kept(transcript)
    if kept is not None and not replay:
        check_writable(kept)
    known = _events(events, event)
    mode: Any = "replay" if replay else "live" if transcript is None else "record"
    asked = None if replay else assist.OpenAIModel(model, base_url=server, timeout=timeout)
    talk = assist.Transcript(asked, kept, mode)
    examples = list(as_examples({"accept": accept, "reject": reject}, known))
    told = {"samples": samples, "attempts": attempts, "first": first, "ignored": ignore or []}
    told["lenient"] = lenient
    found = _specify(description, known, examples, talk, told)
    while not yes and (choice := _confirm(found)) != "a":
        if choice == "q":
            raise typer.Exit(DECLINED)
        try:
            if choice == "e":
                found = _edited(found, first=first, ignored=ignore or [])
            else:
                more = [*examples, _counterexample(found)]
                found = _specify(description, known, more, talk, told)
                examples = more
        except CraniumError as problem:
            say(f"not taken: {problem}", "yellow")
    if yes:
        _show(found)
    write_machine(found.machine, out, picture)
    if paper:
        _as_the_paper(found, talk)


def _kept(transcript: str | None) -> Path | None:
    """The file of a conversation, or one that comes with Cranium."""
    if transcript is None or not transcript.startswith(RECORDED):
        return None if transcript is None else Path(transcript)
    found = {path.stem: path for path in assist.RECORDED.glob("*.jsonl")}
    name = transcript.removeprefix(RECORDED)
    if name not in found:
        raise UnknownNameError.of("recorded conversation", name, sorted(found))
    return found[name]


def _specify(
    description: str,
    events: Mapping[str, str],
    examples: list[assist.Example],
    talk: assist.Transcript,
    told: dict[str, Any],
) -> assist.Specification:
    console = GuardedConsole(stderr=True)
    with console.status(visible_text("asking")) as status:

        def watch(text: str) -> None:
            status.update(visible_text(text))
            if not console.is_terminal and talk.mode != "replay":
                console.print(visible_text(text, "dim"), soft_wrap=True)

        return assist.specify(description, events, examples, model=talk, watch=watch, **told)


def _events(source: str | None, given: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    if source is not None:
        worlds = {entry.name.lower() for entry in CATALOGUE}
        is_file = source.lower() not in worlds and ("." in source or "/" in source)
        found |= _read_events(Path(source)) if is_file else find_world(source).events()
    for text in given or ():
        name, equals, meaning = text.partition("=")
        if not equals:
            raise InvalidArgumentError(
                f"an event is NAME=MEANING, such as 'mail=mail is collected', not {shorten(text)}"
            )
        found[name.strip()] = meaning.strip()
    if not found:
        raise InvalidArgumentError(
            "which events are there?",
            fix="--events office, --events FILE.yaml, or --event 'mail=mail is collected'",
        )
    return check_events(found)


def _read_events(path: Path) -> dict[str, str]:
    data = read_yaml(read_text(path, most=MAX_EVENTS_FILE), str(path)).data
    if not isinstance(data, dict):
        raise FileFormatError(f"{path} has no names with meanings, but {shorten(data)}")
    return check_events(data)


# What a person sees, and says


def _show(found: assist.Specification) -> None:
    readings = found.verdict.readings
    say(f"plan      {found.language}", "bold")
    say("means     " + found.restatement.replace("\n", "\n          "))
    say(f"accepts   {_listed(found.accepted())}")
    say(f"rejects   {_listed(found.rejected())}")
    for step in found.plan.steps:
        say(f"because   {step.phrase!r}: {' '.join(step.events)}, {step.count}")
    for remark in found.verdict.remarks:
        say(f"note      {remark}", "yellow")
    tried, checked = len(found.verdict.attempts), len(found.examples)
    held = sum(one.held_back for one in found.examples)
    say(f"checked   examples: {checked}, held back: {held}; answers of the model: {tried}")
    if not checked:
        say(f"beware    {UNCHECKED}", "yellow")
    for other in readings[1:]:
        word = " ".join("+".join(label) or "{}" for label in other.differs)
        say(f"or        {other.checked.language} ({other.votes} samples): {word} differs", "yellow")


def _listed(words: list[tuple[str, ...]]) -> str:
    return "   ".join(" ".join(word) for word in words)


def _confirm(found: assist.Specification) -> str:
    _show(found)
    if not sys.stdin.isatty():
        raise InvalidArgumentError(
            "nobody is there to say whether this is what was meant",
            fix="--yes accepts what has passed the checks",
        )
    while True:
        said = ask_person(CHOICES, DEFAULT).strip() or DEFAULT  # blanks are nothing
        choice = said[0].lower()
        if choice in ("a", "e", "c", "q"):
            return choice


def _counterexample(found: assist.Specification) -> assist.Example:
    """A sequence that is judged wrongly: what it should be, the machine itself tells."""
    said = ""
    while not said.strip():  # the prompt itself asks again after Enter alone, but not after blanks
        said = ask_person("a sequence of events that is judged wrongly")
    word = as_examples({"accept": [said]}, found.events)[0].word
    now = assist.accepts(found.machine, word)
    say(f"it is {'accepted' if now else 'rejected'} now, and is to be the other way round")
    return assist.Example(word, accepted=not now)


def _edited(
    found: assist.Specification, *, first: bool, ignored: list[str]
) -> assist.Specification:
    """The plan as somebody has changed it; it is checked like a model's."""
    plain = json.loads(found.plan.model_dump_json())
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
    changed = edit_text(text, ".yaml")
    if changed == text:
        return found
    try:
        data = json.dumps(yaml.safe_load(changed), default=str)
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise PlanError(f"this is not a plan in YAML: {problem}") from None
    plan = assist.parse_plan(data, found.events)
    return assist.specify_plan(found, plan, first=first, ignored=ignored)


def _as_the_paper(found: assist.Specification, talk: assist.Transcript) -> None:
    say("\nin the paper's words (Appendix G), the model's own automaton:", "bold")
    answer = assist.ask_as_the_paper(found.description, found.events, found.machine, talk)
    if answer.machine is None:
        say(f"  none: {answer.problem}", "yellow")
    elif answer.right:
        say("  the same as ours", "green")
    elif answer.difference is not None:
        word = " ".join("+".join(label) or "{}" for label in answer.difference.word or ())
        say(f"  another one: they differ on {word!r}: {answer.difference.reason}", "yellow")


# A model on this machine

llm = typer.Typer(no_args_is_help=True, help="A language model on this machine.")


@llm.command("serve")
def serve(
    source: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model of `cranium llm list`, or a GGUF file.")
    ] = "qwen2.5-coder-1.5b",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where it listens.")] = 8080,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Download without asking.")] = False,
) -> None:
    """Serve a language model, for cranium ask; Ctrl-C ends it.

    Nothing is downloaded without asking, and what is downloaded is checked by its hash. Only those
    who have the key are answered, and no page of another origin; the key is new every time.
    """
    path = Path(source) if source.endswith(".gguf") else _fetched(source, yes)
    with endings(), assist.LocalServer(path, port) as server:
        say(f"serving {path.name} at {server.base_url}; Ctrl-C ends it")
        say(f"try: cranium ask … --server {server.base_url}")
        say(f"key: {server.api_key} (cranium ask finds it; others set OPENAI_API_KEY)")
        server.wait()


@llm.command("list")
def offers() -> None:
    """List the models that can be served."""
    for offer in assist.OFFERS:
        there = (assist.models_folder() / f"{offer.name}.gguf").exists()
        say(f"{offer.name}: {offer.size / 1e6:,.0f} MB{', here' if there else ''}", "bold")
        say(f"  {offer.about}")


def _fetched(name: str, yes: bool) -> Path:
    offer = assist.find_offer(name)
    folder = assist.models_folder()
    if (path := assist.find_model(offer, folder)) is not None:
        return path
    if not yes:
        say(offer.about)
        question = f"download {offer.size / 1e6:,.0f} MB into {folder}?"
        if not sys.stdin.isatty():
            raise InvalidArgumentError(
                f"nobody is there to say whether to {question[:-1]}", fix="--yes"
            )
        if not confirm(question):
            raise typer.Exit(DECLINED)
    return assist.fetch(offer, folder, say)


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("ask")(ask)
    app.add_typer(llm, name="llm")
