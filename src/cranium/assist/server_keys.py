"""The keys of the servers that ``cranium llm serve`` starts, where only this user can read them.

A server on this machine can be reached by everything that runs on it, and by every web page that is
open in a browser. So each gets a random key. It is kept in a file of its port as long as the server
runs, so that ``cranium ask`` in another terminal finds it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from cranium.assist.bounded_http import is_loopback

__all__ = ["find_key", "forget_key", "keep_key"]

LONGEST = 200
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def _path(port: int) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "cranium" / "servers" / f"{port}.key"


def keep_key(port: int, key: str) -> bool:
    """Keep the key of a server that starts; whether that was possible."""
    path = _path(port)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.unlink(missing_ok=True)  # of a server that was killed
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o600)
        with os.fdopen(opened, "w", encoding="ascii") as file:
            file.write(key)
    except OSError:
        return False
    return True


def find_key(base_url: str) -> str:
    """The key of a server on this machine that was started by ``cranium llm serve``, or ``""``.

    Example:
        >>> find_key("https://api.openai.com/v1")
        ''
    """
    parts = urlsplit(base_url)
    if not is_loopback(parts.hostname) or parts.port is None:
        return ""
    with suppress(OSError, ValueError):
        opened = os.open(_path(parts.port), os.O_RDONLY | NOFOLLOW | NONBLOCK)
        with os.fdopen(opened, "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read(LONGEST).decode("ascii").strip()
    return ""


def forget_key(port: int, key: str) -> None:
    """Remove the key of a server that has ended, unless another has taken its place."""
    if find_key(f"http://127.0.0.1:{port}") == key:
        with suppress(OSError):
            _path(port).unlink(missing_ok=True)
