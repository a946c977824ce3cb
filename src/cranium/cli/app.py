"""The command line program: its commands, and how errors and warnings are shown."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cranium._runtime.startup import begin_command
from cranium._runtime.terminal import visible
from cranium._runtime.version import __version__
from cranium.cli.ask import ask
from cranium.cli.compile import compile_language
from cranium.cli.evaluate import evaluate, solve
from cranium.cli.learners import list_learners
from cranium.cli.llm import llm
from cranium.cli.machines import check, convert, draw, equivalent, list_library, unroll
from cranium.cli.new import new
from cranium.cli.output import BAD_INPUT, INTERRUPTED, print_error, print_line, print_warning
from cranium.cli.play import play, replay
from cranium.cli.reproduce import reproduce
from cranium.cli.results import report, results
from cranium.cli.run import run
from cranium.cli.train import train
from cranium.cli.worlds import list_worlds
from cranium.errors import CraniumError
from cranium.io import format_path

__all__ = ["app", "main"]


class _ErrorReportingGroup(TyperGroup):
    """Turns every error of ours into one message and exit code 2, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            begin_command()
            return super().invoke(ctx)
        except CraniumError as error:
            print_error(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            print_error("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except OSError as error:
            if error.filename is None:  # standard output, which main() handles
                raise
            # For example, a name that is too long for the system.
            path = format_path(Path(os.fsdecode(error.filename)))
            print_error(f"cannot use {path}: {error.strerror}")
            raise typer.Exit(BAD_INPUT) from None
        except Exception as error:
            _escape_message(error)
            raise

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().make_context(*args, **kwargs)
        except Exception as error:
            _escape_message(error)
            raise


def _escape_message(error: Exception) -> None:
    """Escape control characters in a usage error, which Typer prints and may quote a file name."""
    if hasattr(error, "format_message") and isinstance(getattr(error, "message", None), str):
        error.message = visible(error.message)  # type: ignore[attr-defined]


app = typer.Typer(
    cls=_ErrorReportingGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help=(
        "Counting reward automata: reward functions for reinforcement learning, "
        "written as counter machines.\n\n"
        "FILE is an automaton file (.yaml, .json, or a reward machine in Toro Icarte's .txt "
        "format), or `library:NAME` for an automaton that comes with Cranium: see "
        "`cranium library`. WORLD and TASK are listed by `cranium worlds`."
    ),
    epilog=(
        "Exit codes: 0 success, 1 a negative result (findings, a rejected word, an unsolved task), "
        "2 bad usage or a bad file, 130 interrupted.\n\n"
        'Try: `cranium run library:anbcn "A A B C C"`'
    ),
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print_line(f"cranium {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


COMMANDS: Mapping[str, Mapping[str, Callable[..., None]]] = {
    "Tasks and automata": {
        "compile": compile_language,
        "ask": ask,
        "check": check,
        "run": run,
        "draw": draw,
        "convert": convert,
        "unroll": unroll,
        "equivalent": equivalent,
        "library": list_library,
    },
    "Worlds and learners": {
        "worlds": list_worlds,
        "learners": list_learners,
        "train": train,
        "evaluate": evaluate,
        "solve": solve,
        "play": play,
        "replay": replay,
    },
    "Experiments": {"new": new, "reproduce": reproduce, "results": results, "report": report},
}
"""The commands by their names, grouped as in ``cranium --help``."""

for _panel, _commands in COMMANDS.items():
    for _name, _command in _commands.items():
        app.command(_name, rich_help_panel=_panel)(_command)
app.add_typer(llm, name="llm", rich_help_panel="Language models")


def main() -> None:
    """Run the program."""
    _prepare_streams()
    warnings.showwarning = _show_warning
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:  # before a command has started
        print_error("interrupted")
        sys.exit(INTERRUPTED)
    except OSError as problem:  # for example, the disk is full
        print_error(f"cannot write the output: {problem.strerror or problem}")
        # At exit, Python would try again to write what is left in the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BAD_INPUT)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print_warning(str(message))


def _prepare_streams() -> None:
    if sys.stdout is None or sys.stderr is None:  # closed by the parent process
        nowhere = Path(os.devnull).open("w")  # noqa: SIM115 - open for the rest of the program
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ⟨ or ε shows a ? instead of a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    if hasattr(signal, "SIGPIPE"):
        # ``cranium library | head -1`` ends quietly, as other programs do.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
