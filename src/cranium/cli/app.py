"""The program itself: its options, and what becomes of errors."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cranium import __version__
from cranium._runtime.startup import begin_command
from cranium._runtime.terminal import visible
from cranium.cli import ask, experiments, machines, play, training, worlds
from cranium.cli import compile as tasks
from cranium.cli.output import BAD_INPUT, INTERRUPTED, complain, say, warn
from cranium.errors import CraniumError

__all__ = ["app", "main"]


class _Reporting(TyperGroup):
    """Turns our errors into one message and exit code 2: a user never sees a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            begin_command()
            return super().invoke(ctx)
        except CraniumError as error:
            complain(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            complain("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as problem:
            _make_visible(problem)
            raise

    def make_context(self, *told: Any, **more: Any) -> Any:
        try:
            return super().make_context(*told, **more)
        except Exception as problem:
            _make_visible(problem)
            raise


def _make_visible(problem: Exception) -> None:
    """Of errors in the command line, which Typer prints, a file name may be part."""
    if hasattr(problem, "format_message") and isinstance(getattr(problem, "message", None), str):
        problem.message = visible(problem.message)  # type: ignore[attr-defined]


app = typer.Typer(
    cls=_Reporting,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help=(
        "Counting reward automata: reward functions for reinforcement training, "
        "written as counter machines.\n\n"
        "FILE is an automaton file (.yaml, .json, or a reward machine in Toro Icarte's .txt), or "
        "`library:NAME` for one that comes with Cranium: see `cranium library`."
    ),
    epilog=(
        "Exit codes: 0 good, 1 findings or rejection, 2 bad usage or bad file.\n\n"
        'Try: `cranium run library:anbcn "A A B C C"`'
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"cranium {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    pass


tasks.register(app)
machines.register(app)
worlds.register(app)
training.register(app)
play.register(app)
experiments.register(app)
ask.register(app)


def main() -> None:
    """Run the program."""
    _prepare_streams()
    warnings.showwarning = _show_warning
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:  # before there is a command
        complain("interrupted")
        sys.exit(INTERRUPTED)
    except OSError as problem:  # the disk is full, say
        complain(f"cannot write the output: {problem.strerror or problem}")
        # Python would try to write the rest once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BAD_INPUT)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    warn(str(message))


def _prepare_streams() -> None:
    if sys.stdout is None or sys.stderr is None:  # closed by whoever started us
        nowhere = Path(os.devnull).open("w")  # noqa: SIM115 - for the rest of the program
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ⟨ or ε shows a ? instead of a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    if hasattr(signal, "SIGPIPE"):
        # ``cranium library | head -1`` ends quietly, as other programs do.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
