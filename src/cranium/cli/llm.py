"""``cranium llm``: language models that run on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cranium import assist
from cranium._runtime.interrupt import endings
from cranium.cli.output import NEGATIVE, confirm, print_line
from cranium.errors import InvalidArgumentError

__all__ = ["llm"]

MEGABYTE = 1e6

llm = typer.Typer(
    no_args_is_help=True,
    help="Download and serve a small language model on this machine, for `cranium ask`.",
)


@llm.command()
def serve(
    source: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model of `cranium llm list`, or a GGUF file.")
    ] = "qwen2.5-coder-1.5b",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8080,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Download without asking.")] = False,
) -> None:
    """Serve a language model for `cranium ask` until Ctrl-C.

    Use it if you have no access to another server. It asks before it downloads anything, and
    checks the hash. The server answers only requests with its key, which is new every time, and no
    web page of another origin. It needs the extra llm.

    For example:

        cranium llm serve smollm2-135m --port 8081
    """
    path = Path(source) if source.endswith(".gguf") else _find_or_download(source, yes)
    with endings(), assist.LocalServer(path, port) as server:
        print_line(f"serving {path.name} at {server.base_url}; Ctrl-C ends it")
        print_line(f"try: cranium ask … --server {server.base_url}")
        print_line(f"key: {server.api_key} (cranium ask finds it; others set OPENAI_API_KEY)")
        server.wait()


@llm.command("list")
def list_models() -> None:
    """List the models that `cranium llm serve` can download.

    Use it to choose a model, and to see which ones are downloaded already.

    For example:

        cranium llm list
    """
    for model in assist.LOCAL_MODELS:
        is_here = (assist.models_folder() / f"{model.name}.gguf").exists()
        status = ", downloaded" if is_here else ""
        print_line(f"{model.name}: {model.size / MEGABYTE:,.0f} MB{status}", "bold")
        print_line(f"  {model.summary}")


def _find_or_download(name: str, yes: bool) -> Path:
    model = assist.find_local_model(name)
    folder = assist.models_folder()
    if (path := assist.find_downloaded(model, folder)) is not None:
        return path
    if not yes:
        print_line(model.summary)
        question = f"download {model.size / MEGABYTE:,.0f} MB into {folder}?"
        if not sys.stdin.isatty():
            raise InvalidArgumentError(
                f"there is no terminal to ask whether to {question[:-1]}",
                fix="--yes downloads without asking",
            )
        if not confirm(question):
            raise typer.Exit(NEGATIVE)
    return assist.download(model, folder, print_line)
