"""A server for a language model on this machine."""

from __future__ import annotations

import http.client
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from cranium.assist.bounded_http import Budget, DeadlineError, SizeLimitError, send_request
from cranium.assist.server_keys import delete_key, save_key
from cranium.errors import InvalidArgumentError, MissingExtraError, ModelError
from cranium.io import open_regular

__all__ = ["LocalServer"]

START_SECONDS = 180.0
"""How long a server may take to start."""
HEALTH_SECONDS, HEALTH_BYTES = 5.0, 1 << 20
"""The limits of one question whether it has started."""


class LocalServer:
    """A server for a GGUF file, in a separate process. It answers only requests with its key.

    Args:
        path: The file of the model.
        port: The port to listen on; by default a free one.
        context: The maximum length of a conversation, in tokens.

    Attributes:
        api_key: A random key. :class:`~cranium.assist.OpenAIModel` finds it by itself if it runs
            on this machine as the same user; other programs have to be given it.

    Example:
        >>> from cranium.assist import OpenAIModel, Request, download, find_local_model
        >>> hello = Request(({"role": "user", "content": "Hello!"},), max_tokens=3)
        >>> with LocalServer(download(find_local_model("smollm2-135m"))) as server:
        ...     answer = OpenAIModel("smollm2-135m", base_url=server.base_url).ask(hello)
        >>> answer.is_truncated
        True
    """

    def __init__(self, path: str | Path, port: int | None = None, context: int = 8192) -> None:
        self.path, self.context = Path(path), context
        self.port = _find_free_port() if port is None else port
        self.api_key = secrets.token_urlsafe(32)
        self._log: IO[str] | None = None
        self._process: subprocess.Popen[str] | None = None

    @property
    def base_url(self) -> str:
        """The address of the server, for :class:`~cranium.assist.OpenAIModel`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> Self:
        """Start the server and wait until it answers."""
        _check_model(self.path)
        _check_port(self.port)
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in stop
        command = [sys.executable, "-m", "cranium.assist.server_process"]
        command += [str(self.path), str(self.port), str(self.context)]
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, text=True
        )
        assert self._process.stdin is not None
        with suppress(OSError):  # if the process has ended already, _poll reports it
            self._process.stdin.write(f"{self.api_key}\n")
            self._process.stdin.flush()
        try:
            for _ in self._poll():
                if self._is_ready():
                    save_key(self.port, self.api_key)
                    return self
        except BaseException:  # also Ctrl-C: the caller has no server to stop
            self.stop()
            raise
        self.stop()
        raise ModelError(f"the server for {self.path} did not start within {START_SECONDS:g} s")

    def _is_ready(self) -> bool:
        """Return whether the server has loaded its model and accepts the key."""
        headers = {"Authorization": f"Bearer {self.api_key}"}
        budget = Budget(HEALTH_SECONDS, HEALTH_BYTES)
        failures = (OSError, ValueError, http.client.HTTPException, DeadlineError, SizeLimitError)
        with suppress(*failures):
            url = f"{self.base_url}/models"
            return send_request("GET", url, headers, b"", budget).status == 200
        return False

    def _poll(self) -> Iterator[None]:
        """Yield ten times a second until the time is up. Raises an error if the process ends."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            assert self._process is not None
            assert self._log is not None
            if self._process.poll() is not None:
                self._log.seek(0)
                lines = self._log.read().strip().splitlines()
                raise ModelError(
                    f"the server for {self.path} ended: {(lines or ['without output'])[-1][:200]}",
                    fix="is it a GGUF file, and is there enough memory?",
                )
            yield
            time.sleep(0.1)

    def wait(self) -> None:
        """Wait until the process ends."""
        if self._process is not None:
            self._process.wait()

    def stop(self) -> None:
        """Stop the server."""
        delete_key(self.port, self.api_key)
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        if self._log is not None:
            self._log.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _check_model(path: Path) -> None:
    """Refuse a file that is not GGUF, and report a missing extra."""
    with open_regular(path) as file:
        head = file.read(4)
    if head != b"GGUF":
        raise InvalidArgumentError(f"{path} is not a GGUF file")
    try:
        __import__("xllamacpp")
    except ImportError:
        raise MissingExtraError.of(
            "serving a language model needs xllamacpp, which is not installed", "llm"
        ) from None


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as problem:
            raise ModelError(
                f"cannot listen on port {port}: {problem.strerror}", fix="choose another: --port"
            ) from None


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
