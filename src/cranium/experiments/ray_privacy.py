"""A cluster of Ray that is started here is for this user only: on loopback, and with a token."""

from __future__ import annotations

import importlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["PrivateToken", "on_loopback"]

AUTHENTICATION = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


class PrivateToken:
    """The token of a cluster that is started here: only its own processes have it.

    They inherit it through the environment. It is not written to disk.
    """

    def __init__(self) -> None:
        self.is_set = False

    def set(self) -> None:
        """Make a token, unless the user has chosen a way of authentication."""
        if self.is_set or any(name in os.environ for name in AUTHENTICATION):
            return
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
        self.is_set = True
        _read_authentication()

    def forget(self) -> None:
        """Restore the environment."""
        if self.is_set:
            self.is_set = False
            for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
                os.environ.pop(name, None)
            _read_authentication()


def _read_authentication() -> None:
    """Make Ray read the environment again, which it usually does only once."""
    inner: Any = importlib.import_module("ray._raylet")
    inner.Config.initialize("")
    inner.AuthenticationTokenLoader.instance().reset_cache()


@contextmanager
def on_loopback() -> Iterator[None]:
    """Make Ray use the loopback address as the address of this machine."""
    constants: Any = importlib.import_module("ray._private.ray_constants")
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
