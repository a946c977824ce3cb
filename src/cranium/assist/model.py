"""What is asked of a language model, what it answers, and who can be one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

__all__ = ["Answer", "Model", "Request"]

Message = dict[str, str]


class Answer(NamedTuple):
    """What a model said.

    Example:
        >>> Answer("{}", "stop").truncated
        False
    """

    text: str
    finish: str  # "stop", or "length" if it was cut off

    @property
    def truncated(self) -> bool:
        """Whether it was cut off."""
        return self.finish == "length"


@dataclass(frozen=True)
class Request:
    """What is asked of a model.

    Attributes:
        messages: The conversation so far, each with a role and a content.
        schema: The JSON Schema of the answer, if it has to have one.
        temperature: 0 for the likeliest answer; more for others.
        seed: For models that are random but can be repeated.
        max_tokens: How long the answer may be.

    Example:
        >>> Request(({"role": "user", "content": "Hello"},)).key("some-model")[:8]
        'd19fa126'
    """

    messages: tuple[Message, ...]
    schema: dict[str, Any] | None = None
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 1000

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything but the messages."""
        return {name: value for name, value in asdict(self).items() if name != "messages"}

    def key(self, model: str) -> str:
        """A name for this request to this model, the same on every machine."""
        told = {"model": model, "messages": list(self.messages), **self.parameters}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


class Model(Protocol):
    """Whoever answers requests.

    Example:
        >>> class Parrot:
        ...     name = "parrot"
        ...
        ...     def ask(self, request):
        ...         return Answer(request.messages[-1]["content"], "stop")
        >>> model: Model = Parrot()
        >>> model.ask(Request(({"role": "user", "content": "Hello"},))).text
        'Hello'
    """

    @property
    def name(self) -> str:
        """What the model is called."""

    def ask(self, request: Request) -> Answer:
        """Answer a request, or raise :class:`~cranium.errors.ModelError`."""
