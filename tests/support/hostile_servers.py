"""Servers that never come to an end, on sockets: every one would give a good answer in the end.

That end is far behind the deadlines and limits of the tests, so a client that only bounds single reads
gets the good answer, and a test that expects an error fails instead of hanging.
"""

from __future__ import annotations

import json
import socket
import threading
import zlib
from contextlib import contextmanager, suppress

from support.model_servers import chat

PAUSE = 0.02
PIECES = 400  # eight seconds of drops
MUCH = 12 * 2**20
GOOD = json.dumps(chat("good")).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def whole(body=GOOD):
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Peer:
    """A connection, and how it is treated badly; `gone` is set when the test is over."""

    def __init__(self, connection, gone):
        self.connection, self.gone = connection, gone

    def send(self, data):
        self.connection.sendall(data)

    def drip(self, data, pieces=PIECES):
        size = -(-len(data) // pieces)
        for start in range(0, len(data), size):
            if self.gone.wait(PAUSE):
                return
            self.send(data[start : start + size])


def drips_the_body(peer):
    body = b" " * PIECES + GOOD
    peer.send(HEAD + b"Content-Length: %d\r\n\r\n" % len(body))
    peer.drip(body)


def drips_the_headers(peer):
    peer.drip(b"HTTP/1.1 200 OK\r\nX-Padding: " + b"x" * PIECES + b"\r\n")
    peer.send(whole().partition(b"\r\n")[2])


def drips_the_status_line(peer):
    peer.drip(b"HTTP/1.1 200 " + b"O" * PIECES + b"\r\n")
    peer.send(whole().partition(b"\r\n")[2])


def drips_continue(peer):
    peer.drip(CONTINUE * PIECES)
    peer.send(whole())


def drips_chunks(peer):
    peer.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    peer.drip(b"1\r\n \r\n" * PIECES)
    peer.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD))


def says_nothing(peer):
    peer.gone.wait(PAUSE * PIECES)
    peer.send(whole())


def floods_with_continue(peer):
    for _ in range(MUCH // len(CONTINUE) // 1000):
        peer.send(CONTINUE * 1000)
    peer.send(whole())


def floods_with_a_body(peer):
    peer.send(HEAD + b"\r\n")
    for _ in range(MUCH // 2**16):
        peer.send(b" " * 2**16)
    peer.send(GOOD)


def floods_with_chunks(peer):
    peer.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(MUCH // 2**16):
        peer.send(b"10000\r\n" + b" " * 2**16 + b"\r\n")
    peer.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD))


def announces_a_terabyte(peer):
    peer.send(HEAD + b"Content-Length: 1000000000000\r\n\r\n" + GOOD)


def announces_a_huge_chunk(peer):
    peer.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n")
    for _ in range(MUCH // 2**16):
        peer.send(b" " * 2**16)


def sends_a_bomb(peer):
    squeeze = zlib.compressobj(wbits=31)
    body = squeeze.compress(b" " * MUCH + GOOD) + squeeze.flush()
    peer.send(HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def sends_headers_without_end(peer):
    for number in range(200_000):
        peer.send(b"X-%d: x\r\n" % number if number else HEAD)
    peer.send(b"\r\n" + GOOD)


def sends_trailers_without_end(peer):
    peer.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n" % (len(GOOD), GOOD))
    for _ in range(MUCH // 2**16):
        peer.send((b"X: " + b"x" * 100 + b"\r\n") * 650)
    peer.send(b"\r\n")


def hangs_up(peer):
    peer.send(HEAD + b"Content-Length: 1000\r\n\r\n" + GOOD)


def sends_elsewhere(peer):
    host, port = peer.connection.getsockname()
    peer.send(
        b"HTTP/1.1 307 No\r\nLocation: http://%s:%d/v1/chat/completions\r\n" % (host.encode(), port)
    )
    peer.send(b"Content-Length: 0\r\nConnection: close\r\n\r\n")


def says_to_wait(peer):
    peer.send(
        b"HTTP/1.1 503 Busy\r\nRetry-After: 50\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )


def is_no_web_server(peer):
    peer.send(b"SSH-2.0-OpenSSH_9.6\r\n")


@contextmanager
def serving_badly(treat, *, reads=True):
    """The address of a server that treats every connection so; without `reads` it never listens."""
    gone = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection):
        with connection, suppress(OSError):
            if reads:
                _read_request(connection)
            treat(Peer(connection, gone))

    def accept():
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        gone.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _read_request(connection):
    """All of it: what is closed with something unread resets the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    left = int(fields.get(b"content-length", 0)) - len(body)
    while left > 0:
        left -= len(connection.recv(65536))
