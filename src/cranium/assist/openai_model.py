"""Language models behind OpenAI's protocol: every call has a deadline and a limit of bytes."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from ssl import SSLCertVerificationError
from typing import Any, TypeVar
from urllib.parse import urlsplit

from cranium.arguments import check_count
from cranium.assist.bounded_http import Budget, LateError, OversizeError, Reply, exchange
from cranium.assist.model import Answer, Request
from cranium.assist.server_keys import find_key
from cranium.errors import CraniumError, InvalidArgumentError, ModelError, shorten

__all__ = ["OpenAIModel"]

T = TypeVar("T")
LOCAL = "http://127.0.0.1:8080/v1"
"""Where ``cranium llm serve`` listens."""
OPENAI = "https://api.openai.com/v1"
MAX_BYTES = 4 * 2**20
"""An answer has a few kilobytes, and the longest lists of models that are known one megabyte."""
BUSY = (408, 409, 429)
"""With these statuses, and from 500 on, it may help to ask again."""
ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0


@dataclass
class OpenAIModel:
    """A model behind OpenAI's protocol: OpenAI, vLLM, Ollama, LM Studio, llama.cpp, ….

    The key is read from ``OPENAI_API_KEY`` and never written anywhere. Local servers need none, and
    that of ``cranium llm serve`` leaves its own where only this user finds it.

    Attributes:
        name: What the model is called; left out, ``CRANIUM_MODEL``, or the only one of the server.
        base_url: The server; left out, ``OPENAI_BASE_URL``; without that, OpenAI if there is a key,
            else what ``cranium llm serve`` starts on this machine.
        timeout: How many seconds a call may take, from the first connection to the last byte and
            with everything that is tried again, whatever the server does.
        retries: How often to try again, while there is time, if the server is busy or the
            connection breaks.
        max_bytes: How many bytes may be received in a call.

    Example:
        >>> OpenAIModel("qwen", base_url="http://127.0.0.1:8080/v1").name
        'qwen'
    """

    name: str = ""
    base_url: str = ""
    timeout: float = 300.0
    retries: int = 2
    api_key: str = field(default="", repr=False)
    max_bytes: int = MAX_BYTES
    _dropped: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        check_count("retries", self.retries, least=0)
        check_count("max_bytes", self.max_bytes)
        if not isinstance(self.timeout, int | float) or not 0 < self.timeout < math.inf:
            raise InvalidArgumentError(
                f"the timeout is a number of seconds, more than 0, not {shorten(self.timeout)}"
            )
        key = self.api_key or os.environ.get("OPENAI_API_KEY", "")
        if not self.base_url:
            self.base_url = os.environ.get("OPENAI_BASE_URL", "") or (OPENAI if key else LOCAL)
        _check_address(self.base_url, self._where)
        key = (self.api_key or find_key(self.base_url) or key).strip()
        if not (key.isascii() and key.isprintable()):
            raise InvalidArgumentError("a key is of printable ASCII characters", fix=KEY)
        self._secret, self.api_key = key, ""
        self.name = self.name or os.environ.get("CRANIUM_MODEL", "") or self._only_model()

    def _only_model(self) -> str:
        budget = Budget(self.timeout, self.max_bytes)
        names = self._guarded(lambda: _names(self._call("GET", "models", {}, budget)))
        if len(names) == 1:
            return names[0]
        shown = ", ".join(names[:10]) or "none"
        raise ModelError(
            f"the server at {self._where} has {len(names)} models, and none was chosen",
            fix=f"name one, or set CRANIUM_MODEL; there are: {shown}",
        )

    @property
    def _where(self) -> str:
        """The server, without a name and a password."""
        scheme, mark, rest = self.base_url.partition("//")
        host, slash, path = rest.partition("/")
        return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"

    def ask(self, request: Request) -> Answer:
        """Answer a request, or raise :class:`~cranium.errors.ModelError`.

        A server may know fewer parameters than there are: those that it complains about are left
        out. The answer is never trusted to follow the schema.
        """
        budget = Budget(self.timeout, self.max_bytes)
        while True:
            options = {k: v for k, v in _options(request).items() if k not in self._dropped}
            told = {"model": self.name, "messages": list(request.messages), **options}

            def send(told: dict[str, Any] = told) -> Answer:
                return _answer(self._call("POST", "chat/completions", told, budget))

            try:
                answer = self._guarded(send)
            except _UnknownParameterError as problem:
                self._dropped |= problem.names
                continue
            return Answer(self._clean(answer.text), answer.finish)

    def _call(self, method: str, path: str, told: dict[str, Any], budget: Budget) -> Any:
        """What the server says, as data; if it is busy or the connection breaks, ask again."""
        problem: Exception
        for attempt in range(self.retries + 1):
            wait = min(FIRST_WAIT * 2**attempt, LONGEST_WAIT)
            try:
                reply = self._exchange(method, path, told, budget)
            except OSError as found:
                problem = self._unreachable(found)
            else:
                if 200 <= reply.status < 300:
                    return json.loads(reply.body)
                problem = self._refused(reply)
                if reply.status not in BUSY and reply.status < 500:
                    break
                wait = _asked_to_wait(reply, wait)
            if attempt == self.retries or not budget.wait(wait):
                break
        raise problem

    def _exchange(self, method: str, path: str, told: dict[str, Any], budget: Budget) -> Reply:
        parts = urlsplit(self.base_url)
        where = parts._replace(path=f"{parts.path.rstrip('/')}/{path}").geturl()
        headers = {"Accept": "application/json", "User-Agent": "cranium"}
        if self._secret:
            headers["Authorization"] = f"Bearer {self._secret}"
        headers |= {name: os.environ[one] for name, one in ACCOUNT.items() if os.environ.get(one)}
        body = b"" if method == "GET" else json.dumps(told).encode()
        if body:
            headers["Content-Type"] = "application/json"
        return exchange(method, where, headers, body, budget)

    def _guarded(self, what: Callable[[], T]) -> T:
        """Do something with the server; problems become errors of ours, without the key."""
        try:
            return what()
        except CraniumError as problem:
            error = ModelError(self._clean(problem.message), fix=problem.fix)
        except LateError:
            error = ModelError(
                f"the model at {self._where} did not answer within {self.timeout:g} s",
                fix="try again, or give it more time: timeout=…",
            )
        except OversizeError:
            error = ModelError(
                f"the answer of {self._where} has more than {self.max_bytes:,} bytes",
                fix="is it the right server? If so, allow more: max_bytes=…",
            )
        except (HTTPException, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            error = ModelError(
                f"what {self._where} says is not OpenAI's protocol", fix="is it the right server?"
            )
        raise error  # here, because an error that was being handled would be attached to it

    def _unreachable(self, problem: OSError) -> ModelError:
        if isinstance(problem, SSLCertVerificationError):
            return ModelError(
                f"the certificate of {self._where} is not trusted: {problem.verify_message}",
                fix="SSL_CERT_FILE names a file with the certificates that are",
            )
        return ModelError(
            f"no language model can be reached at {self._where}: {problem.strerror or problem}",
            fix="start a server (cranium llm serve), or name one: base_url=…, --server",
        )

    def _refused(self, reply: Reply) -> Exception:
        """The error for a status that is not good."""
        text = self._clean(reply.body.decode(errors="replace"))
        if reply.status == 400 and (names := _complained_of(text) - self._dropped):
            return _UnknownParameterError(names)
        where, said = self._where, shorten(_said(text) or f"status {reply.status}", 200)
        if 300 <= reply.status < 400:
            return ModelError(
                f"{where} sends us elsewhere, which is not followed: status {reply.status}",
                fix="name the server itself: base_url=…, --server",
            )
        for statuses, words, fix in (
            ((401, 403), "does not accept the key", KEY),
            ((429,), "is asked too often", "wait a while, and try again"),
            ((404,), "does not have this", "name another model"),
        ):
            if reply.status in statuses:
                return ModelError(f"{where} {words}: {said}", fix=fix)
        return ModelError(f"{where} cannot answer: {said}")

    def _clean(self, text: str) -> str:
        return text.replace(self._secret, "…") if self._secret else text


def _check_address(base_url: str, shown: str) -> None:
    try:
        parts = urlsplit(base_url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname)
        fits = fits and parts.port != 0 and base_url.isascii() and base_url.isprintable()
    except ValueError:
        fits = False
    if not fits or " " in base_url:
        raise InvalidArgumentError(
            f"a server is http://HOST:PORT/v1, say, not {shorten(shown)}",
            fix="base_url=…, --server",
        )


def _asked_to_wait(reply: Reply, otherwise: float) -> float:
    """How many seconds a server wants us to wait before it is asked again."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(reply.headers.get(name, "")) / scale
        except ValueError:
            continue
        if seconds >= 0:  # it may be infinite, but not NaN
            return seconds
    return otherwise


def _said(text: str) -> str:
    """The message of an error, in one of the forms that servers give it."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
    found = data.get("error", data) if isinstance(data, dict) else data
    found = found.get("message", found) if isinstance(found, dict) else found
    return found if isinstance(found, str) else text.strip()


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


def _names(listed: Any) -> list[str]:
    return [one["id"] for one in listed["data"] if isinstance(one["id"], str)]


def _answer(found: Any) -> Answer:
    choices = found["choices"]
    if not choices:
        raise ModelError("the model's answer is empty")
    message, finish = choices[0]["message"], choices[0].get("finish_reason") or "stop"
    refusal = message.get("refusal")
    if refusal or finish == "content_filter":
        raise ModelError(
            f"the model refused: {shorten(refusal or 'its filter stopped the answer')}",
            fix="say it in other words, or use another model",
        )
    text = message.get("content") or ""
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
