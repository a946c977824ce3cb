"""A language model behind HTTPS and behind a proxy, with real certificates on this machine."""

from __future__ import annotations

import base64
import socket
import ssl
import threading
from contextlib import contextmanager

import pytest
import trustme
from support.hostile_servers import whole

from cranium import assist
from cranium.errors import ModelError

pytestmark = pytest.mark.slow

HELLO = assist.Request(({"role": "user", "content": "Hello"},))


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture(autouse=True)
def trusted(authority, tmp_path, monkeypatch):
    """Certificates of that authority are believed, and no proxy is used unless a test says so."""
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(path)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@contextmanager
def listening(treat):
    """A server that treats every connection in a thread; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return  # the test is over
                threading.Thread(target=treat, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def read_head(connection) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    return head


def secure(authority, name):
    """How to answer one request over TLS, with a certificate for a name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)

    def treat(connection):
        try:
            with context.wrap_socket(connection, server_side=True) as encrypted:
                read_head(encrypted)
                encrypted.sendall(whole())
        except OSError:
            connection.close()  # the client did not believe the certificate

    return treat


def test_a_model_behind_https_answers(authority):
    with listening(secure(authority, "localhost")) as port:
        url = f"https://localhost:{port}/v1"
        assert assist.OpenAIModel("x", base_url=url, timeout=60).ask(HELLO).text == "good"


@pytest.mark.parametrize("kind", ["of another name", "of an unknown authority"])
def test_a_certificate_that_proves_nothing_is_refused(authority, kind):
    wrong = secure(authority, "another.example")
    if kind == "of an unknown authority":
        wrong = secure(trustme.CA(), "localhost")
    with listening(wrong) as port:
        model = assist.OpenAIModel("x", base_url=f"https://localhost:{port}/v1", retries=0)
        with pytest.raises(ModelError, match="certificate"):
            model.ask(HELLO)


@contextmanager
def proxy_to(port, seen):
    """A proxy that opens every tunnel to one port of this machine, for who knows the password."""
    secret = base64.b64encode(b"user:pass word").decode()

    def copy(source, target):
        try:
            while data := source.recv(4096):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # one of both is gone

    def treat(connection):
        head = read_head(connection).decode()
        seen.append(head.splitlines()[0])
        if f"Proxy-Authorization: Basic {secret}" not in head:
            connection.sendall(b"HTTP/1.1 407 Who are you?\r\nContent-Length: 0\r\n\r\n")
            connection.close()
            return
        connection.sendall(b"HTTP/1.1 200 Go ahead\r\n\r\n")
        with socket.create_connection(("127.0.0.1", port)) as behind:
            there = threading.Thread(target=copy, args=(connection, behind), daemon=True)
            there.start()
            copy(behind, connection)
            there.join()
        connection.close()

    with listening(treat) as own:
        yield own


def test_a_model_is_reached_through_a_proxy_which_sees_nothing_but_its_name(authority, monkeypatch):
    seen = []
    model = {"base_url": "https://model.example/v1", "timeout": 60, "retries": 0}
    with (
        listening(secure(authority, "model.example")) as port,
        proxy_to(port, seen) as proxy,
    ):
        monkeypatch.setenv("https_proxy", f"http://user:pass%20word@127.0.0.1:{proxy}")
        assert assist.OpenAIModel("x", **model).ask(HELLO).text == "good"
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy}")
        with pytest.raises(ModelError, match="407"):
            assist.OpenAIModel("x", **model).ask(HELLO)
    assert seen == ["CONNECT model.example:443 HTTP/1.1"] * 2


def test_a_handshake_that_never_ends_has_a_deadline():
    released = threading.Event()
    with listening(lambda connection: (released.wait(), connection.close())) as port:
        url = f"https://localhost:{port}/v1"
        model = assist.OpenAIModel("x", base_url=url, timeout=0.5, retries=0)
        with pytest.raises(ModelError, match=r"did not answer within 0\.5 s"):
            model.ask(HELLO)
        released.set()
