"""The interface of a language model: requests and answers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

__all__ = ["Answer", "JSONObject", "Message", "Model", "Request"]

JSONObject = dict[str, Any]
Message = dict[str, str]
"""A message of a conversation: its ``role`` and its ``content``."""


class Answer(NamedTuple):
    """The answer of a model.

    Attributes:
        text: What the model wrote.
        finish: Why it stopped: ``"stop"``, or ``"length"`` if the answer was cut off.

    Example:
        >>> Answer("{}", "stop").is_truncated
        False
    """

    text: str
    finish: str

    @property
    def is_truncated(self) -> bool:
        """Whether the answer was cut off because it was too long."""
        return self.finish == "length"


@dataclass(frozen=True)
class Request:
    """A request to a model.

    Attributes:
        messages: The conversation so far.
        schema: The JSON Schema that the answer has to follow, if any.
        temperature: The sampling temperature; 0 gives the most likely answer.
        seed: The random seed, for servers that have one.
        max_tokens: The maximum length of the answer.

    Example:
        >>> Request(({"role": "user", "content": "Hello"},)).key("some-model")[:8]
        'd19fa126'
    """

    messages: tuple[Message, ...]
    schema: JSONObject | None = None
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 1000

    @property
    def parameters(self) -> JSONObject:
        """Everything but the messages."""
        return {name: value for name, value in asdict(self).items() if name != "messages"}

    def key(self, model: str) -> str:
        """Return a hash of the request to this model. It is the same on every machine."""
        data = {"model": model, "messages": list(self.messages), **self.parameters}
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


class Model(Protocol):
    """Anything that answers requests.

    Example:
        >>> class EchoModel:
        ...     name = "echo"
        ...
        ...     def ask(self, request):
        ...         return Answer(request.messages[-1]["content"], "stop")
        >>> model: Model = EchoModel()
        >>> model.ask(Request(({"role": "user", "content": "Hello"},))).text
        'Hello'
    """

    @property
    def name(self) -> str:
        """The name of the model."""

    def ask(self, request: Request) -> Answer:
        """Answer a request, or raise :class:`~cranium.errors.ModelError`."""
