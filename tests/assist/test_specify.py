"""The whole way from words to a machine, over HTTP, with answers as bad as they get."""

from __future__ import annotations

import json

import pytest
from support.model_servers import chat, failing, serving
from support.plan_answers import (
    EVENTS,
    EXAMPLES,
    RIGHT_PLAN,
    TASK_IN_WORDS,
    WRONG_PLAN,
    plan_answer,
    plan_step,
)

import cranium
from cranium import assist
from cranium.errors import (
    DisagreementError,
    FileAccessError,
    InvalidArgumentError,
    ModelError,
    TranscriptError,
)

KEY = "sk-very-secret-0123456789"


def specify(url, *, key=KEY, timeout=20.0, retries=0, **more):
    model = assist.OpenAIModel(
        "scripted", base_url=url, timeout=timeout, retries=retries, api_key=key
    )
    return assist.specify(TASK_IN_WORDS, EVENTS, EXAMPLES, model=model, **more)


def test_what_is_wrong_goes_back_as_a_counterexample():
    with serving(WRONG_PLAN, RIGHT_PLAN) as (script, url):
        found = specify(url)
    assert str(found.language) == "mail person never decoration"
    assert found.machine.run("mail person").accepted
    first, second = script.asked
    assert first["temperature"] == 0
    schema = first["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["forbidden"]["items"]["enum"] == list(EVENTS)
    assert second["messages"][-2] == {"role": "assistant", "content": WRONG_PLAN}
    assert "not right" in second["messages"][-1]["content"]
    shown = json.dumps([message["content"] for message in first["messages"]])
    assert "mail person" in shown
    assert "mail mail person" not in json.dumps(script.asked), "it was held out"
    assert [bool(one.problems) for one in found.verdict.attempts] == [True, False]
    assert found.restatement.startswith("read mail once, then person once; decoration must never")
    assert found.accepted_words() == [("mail", "person")]
    assert all(not found.machine.run(list(word)).accepted for word in found.rejected_words())


def test_after_a_bounded_number_of_answers_it_is_an_error_that_says_why():
    with serving(WRONG_PLAN) as (script, url), pytest.raises(DisagreementError) as caught:
        specify(url, attempts=3)
    assert len(script.asked) == 3
    assert script.asked[2]["temperature"] > 0, "a new conversation, and another answer"
    assert len(caught.value.verdict.attempts) == 3
    assert "mail^N person never decoration" in caught.value.message
    assert "wrongly" in caught.value.message


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("I am sorry, I can not do that.", "not JSON"),
        ("", "not JSON"),
        ('{"steps": [{"events": ["gold"]}]}', "no such event"),
        ("{\"steps\": \"__import__('os').system('true')\"}", "steps"),
        (chat('{"steps": [', finish="length"), "cut off"),
        (chat(None), "not JSON"),
        (plan_answer(plan_step("mail"), plan_step("decoration")), "forbidden, and yet"),
        (plan_answer(plan_step("mail", "1+")), "cannot be seen when the task is complete"),
    ],
)
def test_bad_answers_are_complaints(bad, said):
    with serving(bad, RIGHT_PLAN) as (script, url):
        found = specify(url)
    assert said in " ".join(found.verdict.attempts[0].problems)
    assert len(script.asked) == 2


def test_servers_that_ignore_the_schema_or_wrap_the_answer_are_read_all_the_same():
    with serving(f"Sure! Here is the plan:\n```json\n{RIGHT_PLAN}\n```\nHope it helps.") as (
        _,
        url,
    ):
        assert str(specify(url).language) == "mail person never decoration"


def test_parameters_that_a_server_does_not_know_are_left_out():
    refused = failing(400, "response_format of type json_schema is not supported")
    hot = failing(400, "temperature does not support 0 with this model")
    with serving(refused, hot, RIGHT_PLAN) as (script, url):
        specify(url)
    assert "response_format" in script.asked[0]
    assert "response_format" not in script.asked[1]
    assert "temperature" not in script.asked[2]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (failing(401, f"Incorrect API key provided: {KEY}"), "does not accept the key"),
        (failing(403, f"no access for {KEY}"), "does not accept the key"),
        (failing(404, "the model does not exist"), "does not have this"),
        (failing(429, "slow down"), "too many requests"),
        (failing(500, "out of memory"), "cannot answer"),
        (failing(400, "the context is too long"), "cannot answer"),
        (chat(None, refusal="I will not."), "refused"),
        (chat("", finish="content_filter"), "refused"),
        ({"body": {"choices": []}}, "empty"),
    ],
)
def test_what_a_server_says_is_told_without_the_key(bad, said):
    with serving(bad) as (_, url), pytest.raises(ModelError) as caught:
        specify(url)
    assert said in caught.value.message
    assert KEY not in str(caught.value)
    assert caught.value.__context__ is None, "the key may be in what was raised before"


@pytest.mark.parametrize(
    "bad",
    [
        {"raw": b"<html>no</html>"},
        {"raw": b"\xff\xfe"},
        {"raw": b"[" * 3000 + b"]" * 3000},
        {"body": None},
        {"body": {"choices": [{}]}},
        {"body": {"choices": [1]}},
        {"body": {"choices": [{"message": None}]}},
        {"body": {"choices": "yes"}},
        chat([1, 2]),
        chat(7),
    ],
)
def test_what_is_not_the_protocol_is_told(bad):
    with serving(bad) as (_, url), pytest.raises(ModelError):
        specify(url)


def test_complaints_without_end_are_an_error():
    bad = failing(400, "temperature is out of range")
    with serving(bad) as (script, url), pytest.raises(ModelError, match="cannot answer"):
        specify(url)
    assert len(script.asked) == 2


def test_a_key_in_an_answer_goes_nowhere(tmp_path):
    path = tmp_path / "talk.jsonl"
    with serving(f"Your key is {KEY}.", RIGHT_PLAN) as (_, url):
        found = specify(url, transcript=path)
    assert KEY not in path.read_text()
    assert KEY not in repr(found.verdict)


def test_a_name_and_password_in_an_address_are_not_shown():
    model = assist.OpenAIModel("x", base_url="http://somebody:secret@127.0.0.1:9/v1", retries=0)
    with pytest.raises(ModelError) as caught:
        assist.specify(TASK_IN_WORDS, EVENTS, model=model)
    assert "secret" not in str(caught.value)


def test_a_model_may_not_leave_events_out_by_itself():
    sly = json.dumps({**json.loads(RIGHT_PLAN), "forbidden": [], "ignored": ["decoration"]})
    with serving(sly, RIGHT_PLAN) as (_, url):
        found = specify(url)
    assert "only a person may" in found.verdict.attempts[0].problems[0]


def test_guesses_are_only_told_if_that_is_asked_for():
    partial = plan_answer(plan_step("mail"), plan_step("person"), forbidden=())
    with serving(partial) as (_, url):
        found = specify(url, lenient=True)
    assert "'decoration' is not forbidden" in found.verdict.notes[0]
    with serving(partial) as (_, url), pytest.raises(DisagreementError):
        specify(url, attempts=1)


def test_an_edited_plan_is_checked_against_the_examples():
    with serving(RIGHT_PLAN) as (_, url):
        found = specify(url)
    with pytest.raises(DisagreementError, match="mail person is right"):
        assist.replace_plan(
            found, assist.parse_plan(plan_answer(plan_step("person"), plan_step("mail")), EVENTS)
        )


def test_a_busy_server_is_asked_again():
    with serving(failing(429), failing(503), RIGHT_PLAN) as (script, url):
        assert specify(url, retries=2).machine.run("mail person").accepted
    assert len(script.asked) == 3


def test_a_server_that_does_not_answer_is_not_waited_for():
    slow = {"body": chat(RIGHT_PLAN), "delay": 2}
    with serving(slow) as (_, url), pytest.raises(ModelError, match="did not answer within"):
        specify(url, timeout=0.2)


def test_no_server_at_all_is_told_with_what_to_do():
    with pytest.raises(ModelError, match="no language model can be reached") as caught:
        specify("http://127.0.0.1:9/v1")
    assert "cranium llm serve" in str(caught.value)


def test_the_only_model_of_a_server_is_taken_and_of_several_one_must_be_named(monkeypatch):
    monkeypatch.delenv("CRANIUM_MODEL", raising=False)
    with serving(RIGHT_PLAN, models=("one",)) as (_, url):
        assert assist.OpenAIModel(base_url=url).name == "one"
    with serving(RIGHT_PLAN, models=("one", "two")) as (_, url):
        with pytest.raises(ModelError, match="2 models, and none was chosen") as caught:
            assist.OpenAIModel(base_url=url)
        assert "one, two" in str(caught.value)
        monkeypatch.setenv("CRANIUM_MODEL", "two")
        assert assist.OpenAIModel(base_url=url).name == "two"


# Several samples


def test_samples_that_disagree_are_compared_by_what_they_mean():
    any_order = plan_answer((["mail", "person"], "any order", "1"))
    same = plan_answer((["mail", "person"], "sequence", "1"))
    words = {"accept": ["mail person"]}
    with serving(RIGHT_PLAN, any_order, same) as (_, url):
        model = assist.OpenAIModel("scripted", base_url=url)
        found = assist.specify(TASK_IN_WORDS, EVENTS, words, model=model, samples=3)
    assert [reading.votes for reading in found.verdict.readings] == [2, 1]
    assert not found.verdict.is_unanimous
    assert found.verdict.readings[1].differs == (("person",),)
    with serving(RIGHT_PLAN, any_order) as (_, url):
        model = assist.OpenAIModel("scripted", base_url=url)
        with pytest.raises(DisagreementError) as caught:
            assist.specify(TASK_IN_WORDS, EVENTS, words, model=model, samples=2)
    assert "understood in 2 ways" in caught.value.message
    assert "'person'" in caught.value.message


# Nonsense


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"description": ""}, "a description is a text"),
        ({"description": 3}, "a description is a text"),
        ({"description": "half \ud800"}, "a description is a text"),
        ({"description": "x" * 30_000}, "at most 20,000 characters"),
        ({"events": {}}, "events are a mapping of names"),
        ({"attempts": 0}, "attempts is a whole number"),
        ({"samples": 0}, "samples is a whole number"),
        ({"mode": "loud"}, "the mode is live, record or replay"),
        ({"mode": "record"}, "needs a file"),
        ({"examples": {"accept": ["gold"]}}, "no such event"),
        ({"seed": -1}, "the seed is a whole number"),
    ],
)
def test_nonsense_is_refused(change, said):
    told = {"description": TASK_IN_WORDS, "events": EVENTS, "examples": None, **change}
    words, events = told.pop("description"), told.pop("events")
    model = assist.OpenAIModel("x", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(InvalidArgumentError, match=said):
        assist.specify(words, events, model=model, **told)


# Transcripts


def test_a_conversation_is_recorded_and_replayed_without_a_model(tmp_path):
    path = tmp_path / "talk.jsonl"
    with serving(WRONG_PLAN, RIGHT_PLAN) as (script, url):
        one = specify(url, transcript=path, mode="record")
        asked = len(script.asked)
    two = assist.specify(TASK_IN_WORDS, EVENTS, EXAMPLES, transcript=path, mode="replay")
    assert asked == 2
    assert (two.plan, str(two.language)) == (one.plan, str(one.language))
    assert cranium.equivalent(one.machine, two.machine)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [sorted(line) for line in lines[:2]] == [
        ["hash", "messages", "model", "parameters", "response"],
        ["hash", "verdict"],
    ]
    assert lines[-1]["verdict"] == "passed"
    assert KEY not in path.read_text()
    assert KEY not in repr(one)
    with pytest.raises(TranscriptError, match="has no answer to this request"):
        assist.specify(TASK_IN_WORDS + " Please.", EVENTS, EXAMPLES, transcript=path, mode="replay")


def test_the_last_recording_counts_and_strange_letters_do_no_harm(tmp_path):
    path = tmp_path / "talk.jsonl"
    words = TASK_IN_WORDS + " \u2028\u0085 Bitte schön."
    for plan in (WRONG_PLAN, RIGHT_PLAN):
        with serving(plan) as (_, url):
            model = assist.OpenAIModel("scripted", base_url=url)
            told = {"transcript": path, "attempts": 1}
            assist.specify(words, EVENTS, {"accept": ["mail person"]}, model=model, **told)
    again = assist.specify(
        words, EVENTS, {"accept": ["mail person"]}, transcript=path, mode="replay"
    )
    assert str(again.language) == "mail person never decoration"


@pytest.mark.parametrize(
    "line",
    [
        "{",
        '{"hash": "x", "response": ["text", "finish"]}',
        "[]",
        '{"hash": 1}',
        '{"hash": "x", "response": {}}',
        "\0",
    ],
)
def test_a_damaged_transcript_is_refused(tmp_path, line):
    path = tmp_path / "talk.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(TranscriptError, match=r"talk\.jsonl:1"):
        assist.Transcript(path=path, mode="replay")
    with pytest.raises(FileAccessError, match="cannot read"):
        assist.Transcript(path=tmp_path / "none", mode="replay")
