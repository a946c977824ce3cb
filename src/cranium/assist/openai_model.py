"""Language models behind OpenAI's protocol. Every call has a deadline and a size limit."""

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
from cranium.assist.bounded_http import (
    Budget,
    DeadlineError,
    Response,
    SizeLimitError,
    send_request,
)
from cranium.assist.model import Answer, JSONObject, Request
from cranium.assist.server_keys import find_key
from cranium.errors import CraniumError, InvalidArgumentError, ModelError, shorten

__all__ = ["OpenAIModel"]

T = TypeVar("T")
LOCAL_URL = "http://127.0.0.1:8080/v1"
"""The default address of ``cranium llm serve``."""
OPENAI_URL = "https://api.openai.com/v1"
MAX_BYTES = 4 * 2**20
"""An answer has a few kilobytes, and the longest known list of models one megabyte."""
RETRY_STATUSES = (408, 409, 429)
"""A request with one of these statuses, or any from 500, is sent again."""
ACCOUNT_HEADERS = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0


@dataclass
class OpenAIModel:
    """A model behind OpenAI's protocol: OpenAI, vLLM, Ollama, LM Studio, llama.cpp, ….

    The key is read from ``OPENAI_API_KEY`` and never written anywhere. Local servers need none, and
    the key of ``cranium llm serve`` is found if it runs on this machine as the same user.

    Attributes:
        name: The name of the model; by default ``CRANIUM_MODEL``, or the only model of the server.
        base_url: The address of the server; by default ``OPENAI_BASE_URL``, or OpenAI if there is a
            key, or else ``cranium llm serve`` on this machine.
        timeout: The maximum time of a call in seconds, from the first connection to the last byte,
            with all retries.
        retries: How often to send a request again if the server is busy or the connection breaks.
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
    _unsupported: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        check_count("retries", self.retries, least=0)
        check_count("max_bytes", self.max_bytes)
        if not isinstance(self.timeout, int | float) or not 0 < self.timeout < math.inf:
            raise InvalidArgumentError(
                f"the timeout is a number of seconds, more than 0, not {shorten(self.timeout)}"
            )
        key = self.api_key or os.environ.get("OPENAI_API_KEY", "")
        if not self.base_url:
            default = OPENAI_URL if key else LOCAL_URL
            self.base_url = os.environ.get("OPENAI_BASE_URL", "") or default
        _check_address(self.base_url, self._address)
        key = (self.api_key or find_key(self.base_url) or key).strip()
        if not (key.isascii() and key.isprintable()):
            raise InvalidArgumentError("a key has only printable ASCII characters", fix=KEY_FIX)
        self._secret, self.api_key = key, ""
        self.name = self.name or os.environ.get("CRANIUM_MODEL", "") or self._find_only_model()

    def _find_only_model(self) -> str:
        budget = Budget(self.timeout, self.max_bytes)
        names = self._translate_errors(lambda: _read_names(self._call("GET", "models", {}, budget)))
        if len(names) == 1:
            return names[0]
        shown = ", ".join(names[:10]) or "none"
        raise ModelError(
            f"the server at {self._address} has {len(names)} models, and none was chosen",
            fix=f"name one, or set CRANIUM_MODEL; there are: {shown}",
        )

    @property
    def _address(self) -> str:
        """The address of the server, without user name and password."""
        scheme, mark, rest = self.base_url.partition("//")
        host, slash, path = rest.partition("/")
        return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"

    def ask(self, request: Request) -> Answer:
        """Answer a request, or raise :class:`~cranium.errors.ModelError`.

        Parameters that the server does not support are left out. The answer may not follow the
        schema, so it has to be validated.
        """
        budget = Budget(self.timeout, self.max_bytes)
        while True:
            parameters = {
                name: value
                for name, value in _make_parameters(request).items()
                if name not in self._unsupported
            }
            body = {"model": self.name, "messages": list(request.messages), **parameters}

            def send(body: JSONObject = body) -> Answer:
                return _read_answer(self._call("POST", "chat/completions", body, budget))

            try:
                answer = self._translate_errors(send)
            except _UnsupportedParameterError as problem:
                self._unsupported |= problem.names
                continue
            return Answer(self._remove_key(answer.text), answer.finish)

    def _call(self, method: str, path: str, body: JSONObject, budget: Budget) -> Any:
        """Send a request, with retries, and return the JSON of the response."""
        problem: Exception
        for attempt in range(self.retries + 1):
            wait = min(FIRST_WAIT * 2**attempt, LONGEST_WAIT)
            try:
                response = self._send(method, path, body, budget)
            except OSError as error:
                problem = self._describe_connection_error(error)
            else:
                if 200 <= response.status < 300:
                    return json.loads(response.body)
                problem = self._describe_status(response)
                if response.status not in RETRY_STATUSES and response.status < 500:
                    break
                wait = _read_retry_after(response, wait)
            if attempt == self.retries or not budget.wait(wait):
                break
        raise problem

    def _send(self, method: str, path: str, body: JSONObject, budget: Budget) -> Response:
        parts = urlsplit(self.base_url)
        url = parts._replace(path=f"{parts.path.rstrip('/')}/{path}").geturl()
        headers = {"Accept": "application/json", "User-Agent": "cranium"}
        if self._secret:
            headers["Authorization"] = f"Bearer {self._secret}"
        headers |= {
            name: os.environ[variable]
            for name, variable in ACCOUNT_HEADERS.items()
            if os.environ.get(variable)
        }
        content = b"" if method == "GET" else json.dumps(body).encode()
        if content:
            headers["Content-Type"] = "application/json"
        return send_request(method, url, headers, content, budget)

    def _translate_errors(self, call: Callable[[], T]) -> T:
        """Call a function, and turn its errors into ModelErrors that do not contain the key."""
        try:
            return call()
        except CraniumError as problem:
            error = ModelError(self._remove_key(problem.message), fix=problem.fix)
        except DeadlineError:
            error = ModelError(
                f"the model at {self._address} did not answer within {self.timeout:g} s",
                fix="try again, or allow more time: timeout=…, --timeout",
            )
        except SizeLimitError:
            error = ModelError(
                f"the response of {self._address} has more than {self.max_bytes:,} bytes",
                fix="is it the right server? If so, allow more: max_bytes=…",
            )
        except (HTTPException, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            error = ModelError(
                f"{self._address} does not follow OpenAI's protocol", fix="is it the right server?"
            )
        raise error  # outside of the handlers, whose error (with the key) would be attached to it

    def _describe_connection_error(self, problem: OSError) -> ModelError:
        if isinstance(problem, SSLCertVerificationError):
            return ModelError(
                f"the certificate of {self._address} is not trusted: {problem.verify_message}",
                fix="set SSL_CERT_FILE to a file with trusted certificates",
            )
        return ModelError(
            f"no language model can be reached at {self._address}: {problem.strerror or problem}",
            fix="start a server (cranium llm serve), or name one: base_url=…, --server",
        )

    def _describe_status(self, response: Response) -> Exception:
        """Return the error for a status that is not a success."""
        text, status = self._remove_key(response.body.decode(errors="replace")), response.status
        if status == 400 and (names := _find_unsupported(text) - self._unsupported):
            return _UnsupportedParameterError(names)
        address, message = self._address, shorten(_read_message(text) or f"status {status}", 200)
        if 300 <= status < 400:
            return ModelError(
                f"{address} redirects to another address, which is not followed: status {status}",
                fix="give the final address: base_url=…, --server",
            )
        for statuses, words, fix in (
            ((401, 403), "does not accept the key", KEY_FIX),
            ((429,), "receives too many requests", "wait a while, and try again"),
            ((404,), "does not have this", "choose another model"),
        ):
            if status in statuses:
                return ModelError(f"{address} {words}: {message}", fix=fix)
        return ModelError(f"{address} cannot answer: {message}")

    def _remove_key(self, text: str) -> str:
        return text.replace(self._secret, "…") if self._secret else text


def _check_address(base_url: str, shown: str) -> None:
    try:
        parts = urlsplit(base_url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_valid = is_valid and parts.port != 0 and base_url.isascii() and base_url.isprintable()
    except ValueError:
        is_valid = False
    if not is_valid or " " in base_url:
        raise InvalidArgumentError(
            f"a server is an address such as http://HOST:PORT/v1, not {shorten(shown)}",
            fix="base_url=…, --server",
        )


def _read_retry_after(response: Response, default: float) -> float:
    """Return the seconds that a server asks to wait before the next request."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(response.headers.get(name, "")) / scale
        except ValueError:
            continue
        if seconds >= 0:  # it may be infinite, but not NaN
            return seconds
    return default


def _read_message(text: str) -> str:
    """Return the message of an error response, in one of the forms that servers use."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
    found = data.get("error", data) if isinstance(data, dict) else data
    found = found.get("message", found) if isinstance(found, dict) else found
    return found if isinstance(found, str) else text.strip()


def _make_parameters(request: Request) -> JSONObject:
    parameters: JSONObject = {
        "temperature": request.temperature,
        "seed": request.seed,
        "max_tokens": request.max_tokens,
    }
    if request.schema is not None:
        schema = {"name": "plan", "strict": True, "schema": request.schema}
        parameters["response_format"] = {"type": "json_schema", "json_schema": schema}
    return parameters


def _read_names(data: Any) -> list[str]:
    return [model["id"] for model in data["data"] if isinstance(model["id"], str)]


def _read_answer(data: Any) -> Answer:
    choices = data["choices"]
    if not choices:
        raise ModelError("the model's answer is empty")
    message, finish = choices[0]["message"], choices[0].get("finish_reason") or "stop"
    refusal = message.get("refusal")
    if refusal or finish == "content_filter":
        raise ModelError(
            f"the model refused: {shorten(refusal or 'its filter stopped the answer')}",
            fix="use other words, or another model",
        )
    text = message.get("content") or ""
    if not isinstance(text, str) or not isinstance(finish, str):
        raise TypeError(type(text).__name__)
    return Answer(text, finish)


class _UnsupportedParameterError(Exception):
    """A server does not support some of the parameters."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(names)
        self.names = names


KEY_FIX = "set OPENAI_API_KEY"
OPTIONAL_PARAMETERS = {
    "response_format": ("response_format", "json_schema"),
    "temperature": ("temperature",),
    "seed": ("seed",),
    "max_tokens": ("max_tokens",),
}
"""The parameters that may be left out, and how error messages of servers call them."""


def _find_unsupported(text: str) -> set[str]:
    """Return the parameters that an error message names."""
    return {
        name for name, words in OPTIONAL_PARAMETERS.items() if any(word in text for word in words)
    }
