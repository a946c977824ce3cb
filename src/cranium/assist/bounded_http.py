"""HTTP requests with a deadline and a size limit for the whole exchange.

The timeout of a socket limits one read. A server that sends one byte per second, endless
``100 Continue`` responses, or an endless body never exceeds it. Here every read and write gets only
the time that is left, and every received byte counts, including headers.
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
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "Budget",
    "DeadlineError",
    "Response",
    "SizeLimitError",
    "is_loopback",
    "send_request",
]

BLOCK = 1 << 16
SEND_BLOCK = 4096
PORTS = {"http": 80, "https": 443}


class DeadlineError(Exception):
    """The deadline has passed."""


class SizeLimitError(Exception):
    """The server sent more bytes than are allowed."""


class Budget:
    """The time and the bytes that are left for a call, which may consist of several requests.

    Args:
        seconds: The time until the deadline.
        max_bytes: How many bytes may be received.

    Example:
        >>> budget = Budget(seconds=60, max_bytes=10)
        >>> budget.take(11)
        Traceback (most recent call last):
        cranium.assist.bounded_http.SizeLimitError
    """

    def __init__(self, seconds: float, max_bytes: int) -> None:
        self._end = time.monotonic() + seconds
        self._bytes = max_bytes

    def seconds_left(self) -> float:
        """Return the seconds until the deadline. Raises :class:`DeadlineError` after it."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise DeadlineError
        return left

    def take(self, count: int) -> None:
        """Count received bytes. Raises :class:`SizeLimitError` if there are too many."""
        self._bytes -= count
        if self._bytes < 0:
            raise SizeLimitError

    def check(self, count: int) -> None:
        """Refuse a number of bytes that a server has announced."""
        if count > self._bytes:
            raise SizeLimitError

    def wait(self, seconds: float) -> bool:
        """Sleep unless the deadline would pass. Returns whether there was time."""
        if seconds >= self.seconds_left():
            return False
        time.sleep(seconds)
        return True


class Response(NamedTuple):
    """The response of a server."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes


class _Reader(io.RawIOBase):
    """Reads from a connection within the budget."""

    def __init__(self, connection: socket.socket, budget: Budget) -> None:
        super().__init__()
        self._connection, self._budget = connection, budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        self._connection.settimeout(self._budget.seconds_left())
        try:
            count = self._connection.recv_into(buffer)
        except TimeoutError:
            raise DeadlineError from None
        self._budget.take(count)
        return count


class _Stream:
    """A connection within a budget, with the methods that HTTPResponse needs."""

    def __init__(self, connection: socket.socket, budget: Budget) -> None:
        self._connection, self._budget = connection, budget

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._connection, self._budget))

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._connection.settimeout(self._budget.seconds_left())
            try:
                sent = self._connection.send(view[:SEND_BLOCK])
            except TimeoutError:
                raise DeadlineError from None
            view = view[sent:]


def send_request(
    method: str, url: str, headers: dict[str, str], body: bytes, budget: Budget
) -> Response:
    """Send a request and read the whole response within a budget.

    Redirects are not followed. Responses are never decompressed, because a small one could become
    large. Proxies of the environment are used, but not for this machine. The time for looking up
    the host name is not limited.

    Raises:
        DeadlineError: The deadline has passed.
        SizeLimitError: The server sent more bytes than are allowed.
        OSError: The connection could not be opened, or broke.
        http.client.HTTPException: The response is not HTTP.
        ValueError: The address or the response is invalid.
    """
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError("an address starts with http:// or https:// and a host")
    proxy = _find_proxy(parts)
    with closing(_connect(parts, proxy, budget)) as connection:
        stream = _Stream(connection, budget)
        target = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        if proxy is not None and parts.scheme == "http":
            target = f"http://{_host(parts)}{target}"
            headers = {**headers, **_make_authorization(proxy)}
        all_headers = {
            "Host": _host(parts),
            "Connection": "close",
            "Accept-Encoding": "identity",
            "Content-Length": str(len(body)),
            **headers,
        }
        stream.sendall(_encode_head(f"{method} {target} HTTP/1.1", all_headers) + body)
        return _read_response(stream, method, budget)


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this machine.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("api.openai.com")
        (True, True, False)
    """
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return host == "localhost"


def _encode_head(first: str, headers: dict[str, str]) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers.items())]
    if not all(line.isascii() and line.isprintable() for line in lines):
        raise ValueError("an address or a header is not in printable ASCII")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _read_response(stream: _Stream, method: str, budget: Budget) -> Response:
    response = http.client.HTTPResponse(stream, method=method)  # type: ignore[arg-type]
    response.begin()
    budget.check(response.length or 0)
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise ValueError("the response is compressed, which was not requested")
    pieces = []
    while piece := response.read(BLOCK):
        pieces.append(piece)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return Response(response.status, response.headers, b"".join(pieces))


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _find_proxy(parts: SplitResult) -> SplitResult | None:
    """Return the proxy that the environment variables give for an address."""
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


def _make_authorization(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    credentials = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    encoded = base64.b64encode(credentials.encode()).decode()
    return {"Proxy-Authorization": f"Basic {encoded}"}


def _connect(parts: SplitResult, proxy: SplitResult | None, budget: Budget) -> socket.socket:
    """Connect to a server, through a proxy if there is one, with TLS for https."""
    first = parts if proxy is None else proxy
    connection = _open_socket(str(first.hostname), first.port or PORTS[first.scheme], budget)
    try:
        if parts.scheme == "http":
            return connection
        if proxy is not None:
            _open_tunnel(_Stream(connection, budget), parts, proxy)
        connection.settimeout(budget.seconds_left())  # for the whole handshake
        context = ssl.create_default_context()
        return context.wrap_socket(connection, server_hostname=parts.hostname)
    except TimeoutError:
        connection.close()
        raise DeadlineError from None
    except BaseException:
        connection.close()
        raise


def _open_socket(host: str, port: int, budget: Budget) -> socket.socket:
    problem: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(budget.seconds_left())
            connection.connect(address)
        except OSError as found:
            connection.close()
            problem = found
        except DeadlineError:
            connection.close()
            raise
        else:
            return connection
    if isinstance(problem, TimeoutError):
        budget.seconds_left()  # raises, unless the system gave up earlier
    raise problem or OSError("the host has no address")


def _open_tunnel(stream: _Stream, parts: SplitResult, proxy: SplitResult) -> None:
    target = f"{parts.hostname}:{parts.port or PORTS[parts.scheme]}"
    headers = {"Host": target, **_make_authorization(proxy)}
    stream.sendall(_encode_head(f"CONNECT {target} HTTP/1.1", headers))
    response = http.client.HTTPResponse(stream, method="CONNECT")  # type: ignore[arg-type]
    response.begin()
    if response.status != http.client.OK:
        raise OSError(f"the proxy refused the connection: {response.status}")
