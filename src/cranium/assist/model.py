"""Language models: any server that speaks OpenAI's protocol."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

from cranium.errors import MissingExtraError, ModelError, shorten

__all__ = ["Answer", "Model", "OpenAIModel", "Request"]

Message = dict[str, str]
LOCAL = "http://127.0.0.1:8080/v1"
"""Where ``cranium llm serve`` listens."""


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


@dataclass
class OpenAIModel:
    """A model behind OpenAI's protocol: OpenAI, vLLM, Ollama, LM Studio, llama.cpp, ….

    Needs the extra ``llm``. The key is read from ``OPENAI_API_KEY`` and never written anywhere;
    local servers need none.

    Attributes:
        name: What the model is called; left out, ``CRANIUM_MODEL``, or the only one of the server.
        base_url: The server; left out, ``OPENAI_BASE_URL``; without that, OpenAI if there is a key,
            else what ``cranium llm serve`` starts on this machine.
        timeout: How many seconds to wait for an answer.
        retries: How often to try again if the server is busy or does not answer.

    Example:
        >>> OpenAIModel("qwen", base_url="http://127.0.0.1:8080/v1").name
        'qwen'
    """

    name: str = ""
    base_url: str = ""
    timeout: float = 300.0
    retries: int = 2
    api_key: str = field(default="", repr=False)
    _sdk: Any = field(default=None, repr=False)
    _client: Any = field(default=None, repr=False)
    _dropped: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        try:
            self._sdk = importlib.import_module("openai")
        except ImportError:
            raise MissingExtraError.of(
                "talking to a language model needs openai, which is not installed", "llm"
            ) from None
        key = self.api_key or os.environ.get("OPENAI_API_KEY", "")
        if not self.base_url:
            remote = "" if key else LOCAL  # the SDK knows where OpenAI is
            self.base_url = os.environ.get("OPENAI_BASE_URL", remote)
        self._client = self._sdk.OpenAI(
            base_url=self.base_url or None,
            api_key=key or "none",
            timeout=self.timeout,
            max_retries=self.retries,
        )
        self._secret, self.api_key = key, ""
        self.name = self.name or os.environ.get("CRANIUM_MODEL", "") or self._only_model()

    def _only_model(self) -> str:
        found = self._call(lambda: [one.id for one in self._client.models.list().data])
        names = [name for name in found if isinstance(name, str)]
        if len(names) == 1:
            return names[0]
        shown = ", ".join(names[:10]) or "none"
        raise ModelError(
            f"the server at {self._where} has {len(names)} models, and none was chosen",
            fix=f"name one, or set CRANIUM_MODEL; there are: {shown}",
        )

    @property
    def _where(self) -> str:
        return re.sub(r"//[^/@]*@", "//", self.base_url) or "OpenAI"

    def ask(self, request: Request) -> Answer:
        """Answer a request, or raise :class:`~cranium.errors.ModelError`.

        A server may know fewer parameters than there are: those that it complains about are left
        out. The answer is never trusted to follow the schema.
        """
        while True:
            options = {k: v for k, v in _options(request).items() if k not in self._dropped}

            def send(told: dict[str, Any] = options) -> Answer:
                messages = list(request.messages)
                create = self._client.chat.completions.create
                return _answer(create(model=self.name, messages=messages, **told))

            try:
                answer = self._call(send)
            except _UnknownParameterError as problem:
                self._dropped |= problem.names
                continue
            return Answer(self._clean(answer.text), answer.finish)

    def _call(self, what: Callable[[], Any]) -> Any:
        """Do something with the SDK; its errors become ours, without the key and what holds it."""
        sdk = self._sdk
        try:
            return what()
        except sdk.BadRequestError as problem:
            names = _complained_of(str(problem)) - self._dropped
            error = _UnknownParameterError(names) if names else self._told(problem)
        except sdk.OpenAIError as problem:
            error = self._told(problem)
        except ModelError as problem:
            error = ModelError(self._clean(problem.message), fix=problem.fix)
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            error = ModelError(
                f"what {self._where} says is not OpenAI's protocol", fix="is it the right server?"
            )
        raise error  # here, because an error that was being handled would be attached to it

    def _told(self, problem: Any) -> Exception:
        sdk, where = self._sdk, self._where
        if isinstance(problem, sdk.APITimeoutError):
            fix = "try again, or give it more time: timeout=…"
            said = f"the model at {where} did not answer within {self.timeout:g} s"
            return ModelError(said, fix=fix)
        if isinstance(problem, sdk.APIConnectionError):
            fix = "start a server (cranium llm serve), or name one: base_url=…, --server"
            return ModelError(f"no language model can be reached at {where}", fix=fix)
        said = shorten(self._clean(str(getattr(problem, "message", problem))), 200)
        for kinds, words, fix in (
            ((sdk.AuthenticationError, sdk.PermissionDeniedError), "does not accept the key", KEY),
            ((sdk.RateLimitError,), "is asked too often", "wait a while, and try again"),
            ((sdk.NotFoundError,), "does not have this", "name another model"),
        ):
            if isinstance(problem, kinds):
                return ModelError(f"{where} {words}: {said}", fix=fix)
        return ModelError(f"{where} cannot answer: {said}")

    def _clean(self, text: str) -> str:
        return text.replace(self._secret, "…") if self._secret else text


def _options(request: Request) -> dict[str, Any]:
    told: dict[str, Any] = {
        "temperature": request.temperature,
        "seed": request.seed,
        "max_tokens": request.max_tokens,
    }
    if request.schema is not None:
        shape = {"name": "plan", "strict": True, "schema": request.schema}
        told["response_format"] = {"type": "json_schema", "json_schema": shape}
    return told


def _answer(found: Any) -> Answer:
    choices = found.choices
    if not choices:
        raise ModelError("the model's answer is empty")
    message, finish = choices[0].message, choices[0].finish_reason or "stop"
    refusal = getattr(message, "refusal", None)
    if refusal or finish == "content_filter":
        raise ModelError(
            f"the model refused: {shorten(refusal or 'its filter stopped the answer')}",
            fix="say it in other words, or use another model",
        )
    text = message.content or ""
    if not isinstance(text, str) or not isinstance(finish, str):
        raise TypeError(type(text).__name__)
    return Answer(text, finish)


class _UnknownParameterError(Exception):
    """A server does not know some of the parameters."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(names)
        self.names = names


KEY = "set OPENAI_API_KEY"
OPTIONAL = {
    "response_format": ("response_format", "json_schema"),
    "temperature": ("temperature",),
    "seed": ("seed",),
    "max_tokens": ("max_tokens",),
}
"""What may be left out if a server complains about it, and how it is called in complaints."""


def _complained_of(text: str) -> set[str]:
    return {name for name, words in OPTIONAL.items() if any(word in text for word in words)}
