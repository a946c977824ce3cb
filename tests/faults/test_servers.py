"""Servers that do anything at all, at random: a call ends by its deadline, with an error of ours."""

from __future__ import annotations

import os
import random
import time
from typing import Any

import pytest
from support.hostile_servers import CONTINUE, GOOD, HEAD, serving_badly, whole

from cranium import assist
from cranium.errors import ModelError

ROUNDS = 5 * int(os.environ.get("FAULTS", "2"))
"""As ``make test`` runs it; ``make test-faults`` takes ten times as many."""
HELLO = assist.Request(({"role": "user", "content": "Hello"},))
DEADLINE, GRACE = 1.0, 20.0
"""Seconds, and how many more a busy machine may take to notice."""
MOST = 100_000
PIECES = [
    HEAD, CONTINUE, GOOD, whole(), b"\r\n", b"\r\n\r\n", b"HTTP/1.1 ", b"HTTP/9.9 999 \xff\r\n", b"{", b"\x00" * 100,
    b"Content-Length: 5\r\n", b"Content-Length: -5\r\n", b"Content-Length: 99999999999999999999\r\n",
    b"Content-Length: x\r\n", b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\n", b"0\r\n\r\n", b"-1\r\n",
    b"ffffffffffffffffffff\r\n", b"Content-Encoding: gzip\r\n", b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n",
    b"HTTP/1.1 429 Later\r\nRetry-After: 9999999999\r\nContent-Length: 0\r\n\r\n", b"X: " + b"y" * 70_000 + b"\r\n",
    b'{"choices": []}', b'{"choices": [{"message": {"content": 5}}]}', b"[" * 10_000, b"\xff\xfe", b"9" * 5000,
]  # fmt: skip


def treat_with(rng: random.Random) -> Any:
    def treat(peer: Any) -> None:
        for _ in range(rng.randint(0, 30)):
            piece = rng.choice(PIECES)
            if rng.random() < 0.2:
                piece = bytearray(piece)
                piece[rng.randrange(len(piece))] = rng.randrange(256)
            if rng.random() < 0.1:
                peer.drip(bytes(piece))
            else:
                peer.send(bytes(piece) * rng.choice([1, 1, 1, 50]))
            if rng.random() < 0.2 and peer.gone.wait(rng.uniform(0, 0.5)):
                return
        if rng.random() < 0.3:  # it neither goes on nor hangs up
            peer.gone.wait(60)

    return treat


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_server_that_does_anything_ends_in_an_answer_or_in_our_own_error(number: int) -> None:
    model: Any = assist.OpenAIModel
    with serving_badly(treat_with(random.Random(f"server {number}"))) as url:
        begun = time.monotonic()
        try:
            found = model("x", base_url=url, timeout=DEADLINE, max_bytes=MOST).ask(HELLO)
            assert isinstance(found.text, str)
        except ModelError as problem:
            assert str(problem)
        assert time.monotonic() - begun < DEADLINE + GRACE
