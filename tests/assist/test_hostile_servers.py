"""Deadlines and size limits of calls to a language model, with servers that misbehave."""

from __future__ import annotations

import pytest
from support import hostile_servers as hostile
from support.hostile_servers import serving_badly, whole

from cranium import assist
from cranium.errors import InvalidArgumentError, ModelError

pytestmark = pytest.mark.slow

HELLO = assist.Request(({"role": "user", "content": "Hello"},))


def ask(url, request=HELLO, **more):
    return assist.OpenAIModel("x", base_url=url, **{"timeout": 0.5, **more}).ask(request)


def test_the_server_of_these_tests_is_understood_if_it_behaves():
    with serving_badly(lambda peer: peer.send(whole())) as url:
        assert ask(url, timeout=60).text == "good"


@pytest.mark.parametrize(
    "treat",
    [
        hostile.drips_the_body,
        hostile.drips_the_headers,
        hostile.drips_the_status_line,
        hostile.drips_continue,
        hostile.drips_chunks,
        hostile.says_nothing,
    ],
    ids=lambda treat: treat.__name__,
)
def test_what_comes_in_drops_has_a_deadline(treat):
    with serving_badly(treat) as url, pytest.raises(ModelError, match=r"not answer within 0\.5 s"):
        ask(url)


@pytest.mark.parametrize(
    "treat",
    [
        hostile.floods_with_continue,
        hostile.floods_with_a_body,
        hostile.floods_with_chunks,
        hostile.announces_a_terabyte,
        hostile.announces_a_huge_chunk,
        hostile.sends_trailers_without_end,
    ],
    ids=lambda treat: treat.__name__,
)
def test_what_comes_in_floods_has_a_limit(treat):
    with serving_badly(treat) as url, pytest.raises(ModelError, match="more than 4,194,304 bytes"):
        ask(url, timeout=120)


def test_the_limit_can_be_chosen():
    with serving_badly(lambda peer: peer.send(whole())) as url:
        assert ask(url, timeout=60, max_bytes=1000).text == "good"
        with pytest.raises(ModelError, match="more than 100 bytes"):
            ask(url, timeout=60, max_bytes=100)


@pytest.mark.parametrize(
    ("treat", "said"),
    [
        (hostile.sends_a_bomb, "does not follow OpenAI's protocol"),
        (hostile.sends_headers_without_end, "does not follow OpenAI's protocol"),
        (hostile.hangs_up, "does not follow OpenAI's protocol"),
        (hostile.is_no_web_server, "does not follow OpenAI's protocol"),
        (hostile.sends_elsewhere, "redirects to another address, which is not followed"),
        (hostile.says_to_wait, "cannot answer: 'status 503'"),
    ],
)
def test_what_is_no_answer_is_refused(treat, said):
    with serving_badly(treat) as url, pytest.raises(ModelError, match=said):
        ask(url, timeout=20)


def test_a_server_that_never_reads_is_not_written_to_for_ever():
    long = assist.Request(({"role": "user", "content": "x" * 50_000_000},))
    with (
        serving_badly(hostile.says_nothing, reads=False) as url,
        pytest.raises(ModelError, match="did not answer within"),
    ):
        ask(url, long, timeout=2, retries=0)


def test_the_list_of_models_has_a_deadline_too(monkeypatch):
    monkeypatch.delenv("CRANIUM_MODEL", raising=False)
    with (
        serving_badly(hostile.drips_the_body) as url,
        pytest.raises(ModelError, match="did not answer within"),
    ):
        assist.OpenAIModel(base_url=url, timeout=0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"max_bytes": 0},
        {"retries": -1},
        {"api_key": "two\r\nlines"},
        {"base_url": "file:///etc/passwd"},
        {"base_url": "http://host:port/v1"},
        {"base_url": "http://h/\r\nX: y"},
        {"base_url": "http://h/a b"},
        {"base_url": "nowhere"},
    ],
)
def test_nonsense_is_refused_before_anything_is_sent(wrong):
    with pytest.raises(InvalidArgumentError):
        assist.OpenAIModel("x", **{"base_url": "http://127.0.0.1:9/v1", **wrong})
