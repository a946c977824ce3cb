"""One HTTP exchange that always ends: a deadline and a limit of bytes hold for all of it.

The timeout of a socket bounds one read. A server that sends a byte every second, ``100 Continue``
without end, or a body without end keeps to it for ever. Here every read and every write is given
only the time that is left, and every byte that arrives is counted, headers included.
"""

from __future__ import annotations

import base64
import http.client
import io
import socket
import ssl
import time
import urllib.request
from contextlib import closing
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

__all__ = ["Budget", "LateError", "OversizeError", "Reply", "exchange", "is_loopback"]

BLOCK = 1 << 16
WRITTEN_AT_ONCE = 4096
PORTS = {"http": 80, "https": 443}


class LateError(Exception):
    """The deadline has passed."""


class OversizeError(Exception):
    """More bytes came than are allowed."""


class Budget:
    """The time and the bytes that a call may take, however many exchanges it consists of.

    Example:
        >>> budget = Budget(seconds=60, most_bytes=10)
        >>> budget.take(11)
        Traceback (most recent call last):
        cranium.assist.bounded_http.OversizeError
    """

    def __init__(self, seconds: float, most_bytes: int) -> None:
        self._end = time.monotonic() + seconds
        self._bytes = most_bytes

    def left(self) -> float:
        """The seconds that are left, more than zero; without any it raises :class:`LateError`."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise LateError
        return left

    def take(self, count: int) -> None:
        """Count bytes that arrived; too many raise :class:`OversizeError`."""
        self._bytes -= count
        if self._bytes < 0:
            raise OversizeError

    def check(self, count: int) -> None:
        """Refuse bytes that are announced, before they are sent."""
        if count > self._bytes:
            raise OversizeError

    def wait(self, seconds: float) -> bool:
        """Sleep, unless the deadline would pass meanwhile; whether there was time for it."""
        if seconds >= self.left():
            return False
        time.sleep(seconds)
        return True


class Reply(NamedTuple):
    """The answer of a server."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes


class _Reader(io.RawIOBase):
    """The bytes that arrive, within the budget."""

    def __init__(self, connection: socket.socket, budget: Budget) -> None:
        super().__init__()
        self._connection, self._budget = connection, budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(self._budget.left())
        try:
            count = self._connection.recv_into(buffer)
        except TimeoutError:
            raise LateError from None
        self._budget.take(count)
        return count


class _Stream:
    """A connection within a budget, as :class:`http.client.HTTPResponse` reads it."""

    def __init__(self, connection: socket.socket, budget: Budget) -> None:
        self._connection, self._budget = connection, budget

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._connection, self._budget))

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._connection.settimeout(self._budget.left())
            try:
                sent = self._connection.send(view[:WRITTEN_AT_ONCE])
            except TimeoutError:
                raise LateError from None
            view = view[sent:]


def exchange(method: str, url: str, headers: dict[str, str], body: bytes, budget: Budget) -> Reply:
    """Send a request, and read the whole answer, within a budget.

    Redirects are not followed, and answers are never decompressed: a small one could become large.
    The proxies of the environment are used, but not for this machine. What the system takes to
    look up a name is its own affair.

    Raises:
        LateError: The deadline has passed.
        OversizeError: More bytes came than are allowed.
        OSError: There is no connection, or it broke.
        http.client.HTTPException: What came is not HTTP.
        ValueError: The address, or what came, makes no sense.
    """
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError("an address begins with http:// or https:// and a host")
    proxy = _proxy(parts)
    with closing(_connected(parts, proxy, budget)) as connection:
        stream = _Stream(connection, budget)
        target = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        if proxy is not None and parts.scheme == "http":
            target = f"http://{_host(parts)}{target}"
            headers = {**headers, **_authorization(proxy)}
        told = {
            "Host": _host(parts),
            "Connection": "close",
            "Accept-Encoding": "identity",
            "Content-Length": str(len(body)),
            **headers,
        }
        stream.sendall(_head(f"{method} {target} HTTP/1.1", told) + body)
        return _read(stream, method, budget)


def is_loopback(host: str | None) -> bool:
    """Whether a host is this machine.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("api.openai.com")
        (True, True, False)
    """
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return host == "localhost"


def _head(first: str, headers: dict[str, str]) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers.items())]
    if not all(line.isascii() and line.isprintable() for line in lines):
        raise ValueError("an address or a header is not in printable ASCII")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _read(stream: _Stream, method: str, budget: Budget) -> Reply:
    response = http.client.HTTPResponse(stream, method=method)  # type: ignore[arg-type]
    response.begin()
    budget.check(response.length or 0)
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise ValueError("the answer is compressed, which was not asked for")
    pieces = []
    while piece := response.read(BLOCK):
        pieces.append(piece)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return Reply(response.status, response.headers, b"".join(pieces))


# Connections


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _proxy(parts: SplitResult) -> SplitResult | None:
    """The proxy that the environment names for an address."""
    host = str(parts.hostname)
    if is_loopback(host) or urllib.request.proxy_bypass(host):
        return None
    known = urllib.request.getproxies()
    named = known.get(parts.scheme) or known.get("all")
    if not named:
        return None
    found = urlsplit(named if "://" in named else f"http://{named}")
    if found.scheme != "http" or not found.hostname:
        raise ValueError("a proxy is http://HOST:PORT")
    return found


def _authorization(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    told = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(told.encode()).decode()}


def _connected(parts: SplitResult, proxy: SplitResult | None, budget: Budget) -> socket.socket:
    """A connection to a server, encrypted if the address says so."""
    first = parts if proxy is None else proxy
    connection = _dialled(str(first.hostname), first.port or PORTS[first.scheme], budget)
    try:
        if parts.scheme == "http":
            return connection
        if proxy is not None:
            _open_tunnel(_Stream(connection, budget), parts, proxy)
        connection.settimeout(budget.left())  # of the whole handshake, not of its parts
        context = ssl.create_default_context()
        return context.wrap_socket(connection, server_hostname=parts.hostname)
    except TimeoutError:
        connection.close()
        raise LateError from None
    except BaseException:
        connection.close()
        raise


def _dialled(host: str, port: int, budget: Budget) -> socket.socket:
    problem: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(budget.left())
            connection.connect(address)
        except OSError as found:
            connection.close()
            problem = found
        except LateError:
            connection.close()
            raise
        else:
            return connection
    if isinstance(problem, TimeoutError):
        budget.left()  # raises, unless it is the system that gave up
    raise problem or OSError("the host has no address")


def _open_tunnel(stream: _Stream, parts: SplitResult, proxy: SplitResult) -> None:
    where = f"{parts.hostname}:{parts.port or PORTS[parts.scheme]}"
    stream.sendall(_head(f"CONNECT {where} HTTP/1.1", {"Host": where, **_authorization(proxy)}))
    response = http.client.HTTPResponse(stream, method="CONNECT")  # type: ignore[arg-type]
    response.begin()
    if response.status != http.client.OK:
        raise OSError(f"the proxy refuses: {response.status}")
