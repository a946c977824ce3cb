"""Conversations with a model as JSON lines, which can be replayed without the model.

A line is an exchange (the request, its hash, and the answer) or a verdict on the exchange before
it. Keys and addresses of servers are never written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from cranium.assist.model import Answer, JSONObject, Model, Request
from cranium.errors import FileAccessError, InvalidArgumentError, TranscriptError, shorten
from cranium.io import read_text

__all__ = ["Exchange", "Mode", "Transcript"]

MAX_BYTES = 64 * 2**20
Mode = Literal["live", "record", "replay"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer.

    Attributes:
        hash: The key of the request: see :meth:`Request.key`.
        model: The name of the model.
        request: The request.
        answer: The answer.

    Example:
        >>> exchange = Exchange("abc", "some-model", Request(()), Answer("{}", "stop"))
        >>> exchange.to_json()["response"]
        {'text': '{}', 'finish': 'stop'}
    """

    hash: str
    model: str
    request: Request
    answer: Answer

    def to_json(self) -> JSONObject:
        """Return the line of a transcript, as plain data."""
        return {
            "hash": self.hash,
            "model": self.model,
            "messages": list(self.request.messages),
            "parameters": self.request.parameters,
            "response": self.answer._asdict(),
        }


@dataclass
class Transcript:
    """A model that keeps its conversation, or a recorded conversation that acts as the model.

    Attributes:
        model: The model to ask. It is not needed to replay.
        path: The file. It is not needed for ``"live"``.
        mode: ``"live"`` keeps the conversation in memory; ``"record"`` also appends every exchange
            to the file; ``"replay"`` answers from the file and asks no model.
        exchanges: The conversation so far.

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
                f"the mode is live, record or replay, not {shorten(self.mode)}"
            )
        if self.mode != "live" and self.path is None:
            raise InvalidArgumentError(f"the mode {self.mode} needs a file: transcript=…")
        self._answers: dict[str, Answer] = {}
        self._name = "" if self.model is None else self.model.name
        if self.mode == "replay":
            for line in _read_lines(Path(str(self.path))):
                if "response" in line:
                    self._name = self._name or str(line["model"])
                    # If a request was recorded twice, the last answer counts.
                    self._answers[line["hash"]] = Answer(**line["response"])

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._name

    def ask(self, request: Request) -> Answer:
        """Return the answer of the model, or the recorded one."""
        key = request.key(self.name)
        if self.mode == "replay":
            answer = self._find_recorded(key, request)
        elif self.model is None:
            raise InvalidArgumentError("there is no model to ask", fix="give one: model=…")
        else:
            answer = self.model.ask(request)
        self.exchanges.append(Exchange(key, self.name, request, answer))
        self._write(self.exchanges[-1].to_json())
        return answer

    def add_verdict(self, verdict: str) -> None:
        """Record the verdict of the checks on the last answer."""
        self._write({"hash": self.exchanges[-1].hash, "verdict": verdict})

    def _find_recorded(self, key: str, request: Request) -> Answer:
        answer = self._answers.get(key)
        if answer is None:
            question = request.messages[-1]["content"] if request.messages else ""
            raise TranscriptError(
                f"{self.path} has no answer to this request ({key[:12]}): {shorten(question)}",
                fix="record it again: the description, the events, the examples or Cranium have "
                "changed",
            )
        return answer

    def _write(self, data: JSONObject) -> None:
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


def _read_lines(path: Path) -> Iterator[JSONObject]:
    text = read_text(path, most=MAX_BYTES)
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        try:
            data = json.loads(line)
            is_valid = _is_line(data)
        except (ValueError, RecursionError, TypeError, KeyError):
            is_valid = False
        if not is_valid:
            raise TranscriptError(
                f"{path}:{number}: this is not a line of a transcript: {line[:60]}"
            )
        yield data


def _is_line(data: Any) -> bool:
    """Return whether JSON data is an exchange or a verdict."""
    if not isinstance(data["hash"], str):
        return False
    if "response" not in data:
        return True
    response = data["response"]
    return (
        isinstance(data["model"], str)
        and isinstance(response, dict)
        and set(response) == set(Answer._fields)
        and all(isinstance(value, str) for value in response.values())
    )
