"""The API keys of local servers, in files that only this user can read.

Every program on this machine, and every web page that is open in a browser, can connect to a local
server. So ``cranium llm serve`` gives each server a random key. While the server runs, a file that
is named after the port contains the key, so that ``cranium ask`` in another terminal finds it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from cranium.assist.bounded_http import is_loopback
from cranium.io import cache_folder

__all__ = ["delete_key", "find_key", "save_key"]

MAX_KEY = 200
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def _key_path(port: int) -> Path:
    return cache_folder() / "servers" / f"{port}.key"


def save_key(port: int, key: str) -> bool:
    """Save the key of a server. Returns whether that was possible."""
    path = _key_path(port)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.unlink(missing_ok=True)  # left by a server that was killed
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o600)
        with os.fdopen(opened, "w", encoding="ascii") as file:
            file.write(key)
    except OSError:
        return False
    return True


def find_key(base_url: str) -> str:
    """Return the key of a local server that ``cranium llm serve`` started, or ``""``.

    Example:
        >>> find_key("https://api.openai.com/v1")
        ''
    """
    parts = urlsplit(base_url)
    if not is_loopback(parts.hostname) or parts.port is None:
        return ""
    with suppress(OSError, ValueError):
        opened = os.open(_key_path(parts.port), os.O_RDONLY | NOFOLLOW | NONBLOCK)
        with os.fdopen(opened, "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read(MAX_KEY).decode("ascii").strip()
    return ""


def delete_key(port: int, key: str) -> None:
    """Delete the key of a server that has ended, unless another server has replaced it."""
    if find_key(f"http://127.0.0.1:{port}") == key:
        with suppress(OSError):
            _key_path(port).unlink(missing_ok=True)
