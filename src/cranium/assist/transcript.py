"""Conversations with a model, kept as JSON lines; recorded ones can be had again without a model.

A line is an exchange (the request, its hash, and the answer) or a verdict on the exchange before.
There is nothing else in a transcript: no key, no address.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from cranium.assist.model import Answer, Model, Request
from cranium.errors import FileAccessError, InvalidArgumentError, TranscriptError, shorten
from cranium.io import read_text

__all__ = ["Exchange", "Mode", "Transcript"]

MAX_BYTES = 64 * 2**20
Mode = Literal["live", "record", "replay"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer.

    Example:
        >>> one = Exchange("abc", "some-model", Request(()), Answer("{}", "stop"))
        >>> one.data()["response"]
        {'text': '{}', 'finish': 'stop'}
    """

    hash: str
    model: str
    request: Request
    answer: Answer

    def data(self) -> dict[str, Any]:
        """What is written of it."""
        return {
            "hash": self.hash,
            "model": self.model,
            "messages": list(self.request.messages),
            "parameters": self.request.parameters,
            "response": self.answer._asdict(),
        }


@dataclass
class Transcript:
    """A model whose conversation is kept; or, to replay, a conversation that acts as the model.

    Attributes:
        model: Who is asked; not needed to replay.
        path: The file; not needed to be ``"live"``.
        mode: ``"live"`` keeps the conversation in memory only; ``"record"`` also writes it to the
            file as it happens; ``"replay"`` answers from the file, and asks nobody.
        exchanges: What was said so far.

    Example:
        >>> Transcript(mode="replay", path=Path("no such file"))
        Traceback (most recent call last):
        cranium.errors.FileAccessError: cannot read no such file: No such file or directory
          fix: look at the name of the file
    """

    model: Model | None = None
    path: Path | None = None
    mode: Mode = "live"
    exchanges: list[Exchange] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise InvalidArgumentError(
                f"a mode is live, record or replay, not {shorten(self.mode)}"
            )
        if self.mode != "live" and self.path is None:
            raise InvalidArgumentError(f"to {self.mode} a conversation takes a file: transcript=…")
        self._known: dict[str, Answer] = {}
        self._name = "" if self.model is None else self.model.name
        if self.mode == "replay":
            for line in _lines(Path(str(self.path))):
                if "response" in line:
                    self._name = self._name or str(line["model"])
                    self._known[line["hash"]] = Answer(**line["response"])  # the last one counts

    @property
    def name(self) -> str:
        """What the model is, or was, called."""
        return self._name

    def ask(self, request: Request) -> Answer:
        """The model's answer, or the one that it gave when it was recorded."""
        key = request.key(self.name)
        if self.mode == "replay":
            answer = self._recorded(key, request)
        elif self.model is None:
            raise InvalidArgumentError("there is no model to ask", fix="give one: model=…")
        else:
            answer = self.model.ask(request)
        self.exchanges.append(Exchange(key, self.name, request, answer))
        self._write(self.exchanges[-1].data())
        return answer

    def judge(self, verdict: str) -> None:
        """Keep what became of the last answer."""
        self._write({"hash": self.exchanges[-1].hash, "verdict": verdict})

    def _recorded(self, key: str, request: Request) -> Answer:
        answer = self._known.get(key)
        if answer is None:
            said = request.messages[-1]["content"] if request.messages else ""
            raise TranscriptError(
                f"{self.path} has no answer to this request ({key[:12]}): {shorten(said)}",
                fix="record it again: the words, the events, the examples or Cranium have changed",
            )
        return answer

    def _write(self, data: dict[str, Any]) -> None:
        if self.mode != "record":
            return
        try:
            with Path(str(self.path)).open("ab") as file:
                before = file.tell()
                try:
                    file.write(f"{json.dumps(data)}\n".encode())
                    file.flush()
                except OSError:  # half a line would make the whole file unreadable
                    os.truncate(file.fileno(), before)
                    raise
        except OSError as problem:
            raise FileAccessError(
                f"cannot write {self.path}: {problem.strerror or problem}"
            ) from None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    text = read_text(path, most=MAX_BYTES)
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        try:
            data = json.loads(line)
            fits = isinstance(data["hash"], str)
            if "response" in data:
                told = data["response"]
                fits &= isinstance(data["model"], str) and isinstance(told, dict)
                fits = fits and set(told) == set(Answer._fields)
                fits = fits and all(isinstance(value, str) for value in told.values())
        except (ValueError, RecursionError, TypeError, KeyError):
            fits = False
        if not fits:
            raise TranscriptError(f"{path}:{number}: this is no line of a transcript: {line[:60]}")
        yield data
