"""Episodes are kept as they happened, and what is played again is the same."""

from __future__ import annotations

import dataclasses
import json

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranium
from cranium.aamdp.catalogue import CATALOGUE
from cranium.aamdp.registry import make_env
from cranium.episodes import Recorder, load_episode, record, save_episode
from cranium.episodes.text import describe_step, format_machine, keep_colours
from cranium.errors import CraniumError, EpisodeEndedError, EpisodeError
from cranium.formats import library

TASKS = [(entry, task) for entry in CATALOGUE for task in entry.tasks]


def recorder(world="Office", machine="mail-delivery", **more):
    return Recorder(make_env(world, library.load(machine)), world=world, **more)


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(0, 1000))
def test_what_is_recorded_is_what_the_product_did(actions, seed):
    kept = recorder("Letter", "anbcdn", seed=seed)
    env = make_env("Letter", library.load("anbcdn"))
    env.reset(seed=seed)
    total = 0.0
    for action in actions:
        if kept.steps[-1].over:
            with pytest.raises(EpisodeEndedError):
                kept.step(action)
            break
        recorded = kept.step(action)
        _, reward, terminated, truncated, info = env.step(action)
        total += reward
        assert (recorded.reward, recorded.terminated, recorded.truncated) == (
            reward,
            terminated,
            truncated,
        )
        assert recorded.label == info["label"]
        assert recorded.configuration == env.configuration
        assert recorded.success == info["success"]
        assert recorded.total == total


@pytest.mark.slow
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_a_step_that_is_taken_back_has_never_been(actions):
    one, other = recorder(seed=5), recorder(seed=5)
    for number, action in enumerate(actions):
        if one.step(action).over:
            actions = actions[: number + 1]
            break
    one.undo()
    for action in actions[:-1]:
        other.step(action)
    assert describe_step(one.episode, len(actions) - 1) == describe_step(
        other.episode, len(actions) - 1
    )
    assert one.steps[-1].text == other.steps[-1].text
    assert np.array_equal(one.observation["ground"], other.observation["ground"])


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "task"), TASKS, ids=lambda one: getattr(one, "name", one))
def test_every_task_is_kept_and_played_again(entry, task, tmp_path):
    env = make_env(entry.name, library.load(entry.tasks[task]))
    env.action_space.seed(0)
    made = {"world": entry.name, "settings": {}, "pictures": True}
    episode = record(env, lambda *_: env.action_space.sample(), seed=4, max_steps=40, **made)
    save_episode(episode, tmp_path / "e.json")
    again = load_episode(tmp_path / "e.json", pictures=True)
    assert again.status == episode.status
    assert len(again.steps) == len(episode.steps)
    for number, (one, other) in enumerate(zip(episode.steps, again.steps, strict=True)):
        assert describe_step(episode, number) == describe_step(again, number)
        assert one.text == other.text != ""
        assert np.array_equal(one.image, other.image)


def test_options_and_settings_are_kept(tmp_path):
    env = make_env("Letter", library.load("anbcdn"), {"times": (1, 3)})
    told = {"options": {"times": {"A": 2}}, "world": "Letter", "settings": {"times": (1, 3)}}
    episode = record(env, lambda *_: 1, max_steps=5, seed=9, **told)
    save_episode(episode, tmp_path / "e.json")
    again = load_episode(tmp_path / "e.json")
    assert again.settings == {"times": (1, 3)}
    assert again.options == {"times": {"A": 2}}
    assert again.seed == 9


def change(path, **changes):
    data = json.loads(path.read_text())
    data.update(changes)
    path.write_text(json.dumps(data))


def test_a_world_that_does_something_else_is_told_with_the_step(tmp_path):
    kept = recorder()
    for action in (2, 2, 0):
        kept.step(action)
    path = tmp_path / "e.json"
    save_episode(kept.episode, path)
    steps = json.loads(path.read_text())["steps"]
    steps[2]["events"] = ["mail"]
    change(path, steps=steps)
    with pytest.raises(
        EpisodeError, match=r"step 2 has the label \['mail'\], but the world does \[\]"
    ):
        load_episode(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": "other"}, "format"),
        ({"version": 2}, "version"),
        ({"surprise": 1}, "surprise"),
        ({"steps": []}, "steps"),
        ({"steps": [{"state": "x", "counters": ["a"]}]}, "counters"),
        ({"steps": [{"state": "no mail", "counters": []}, {"state": "x", "counters": [], "action": 9}]}, "not 9"),
        ({"seed": -1}, "seed"),
        ({"world": "Nowhere"}, "no such world"),
        ({"settings": {"gold": 1}}, "gold"),
        ({"options": {"gold": 1}}, "gold"),
        ({"task": {}}, "the task in it"),
        ({"horizon": 0}, "horizon"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused(changes, said, tmp_path):
    path = tmp_path / "e.json"
    save_episode(recorder().episode, path)
    change(path, **changes)
    with pytest.raises(EpisodeError, match=said):
        load_episode(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"format": NaN}'])
def test_what_is_no_episode_is_refused(text, tmp_path):
    path = tmp_path / "e.json"
    path.write_text(text)
    with pytest.raises(CraniumError, match="is not an episode"):
        load_episode(path)


def test_a_file_has_the_right_ending(tmp_path):
    with pytest.raises(EpisodeError, match=r"ends in \.json"):
        save_episode(recorder().episode, tmp_path / "e.gif")


def test_a_world_that_is_not_ours_is_kept_as_it_looked(tmp_path):
    lake = gym.make("FrozenLake-v1", is_slippery=False, render_mode="ansi")
    goal = cranium.labelling_from_cells({15: "goal"})
    env = cranium.product(lake, cranium.compile_language("goal"), goal)
    way = iter((1, 1, 2, 1, 2, 2))
    episode = record(env, lambda *_: next(way))
    assert episode.status == "success"
    save_episode(episode, tmp_path / "e.json")
    again = load_episode(tmp_path / "e.json")
    assert [one.text for one in again.steps] == [one.text for one in episode.steps]
    assert "G" in again.steps[0].text
    assert again.steps[-1].total == 1.0
    with pytest.raises(EpisodeError, match="was not drawn"):
        cranium.episodes.write_video(again, tmp_path / "e.gif")


def test_continuous_actions_are_kept_to_the_last_bit(tmp_path):
    env = make_env("Point", library.load("point-visit"))
    rng = np.random.default_rng(1)
    moves = rng.uniform(-1, 1, (20, 2)).astype(np.float32)
    way = iter(moves)
    episode = record(env, lambda *_: next(way), max_steps=20, world="Point", settings={})
    save_episode(episode, tmp_path / "e.json")
    again = load_episode(tmp_path / "e.json")
    assert np.array_equal(np.array([one.action for one in again.steps[1:]], np.float32), moves)


def test_the_marked_state_is_where_the_machine_is():
    machine = library.load("office")
    for state in (*machine.states, *machine.terminal):
        marked = [line for line in format_machine(machine, state) if line.startswith("▶")]
        assert len(marked) == 1
        assert state in marked[0]
    assert not any(line.startswith("▶") for line in format_machine(machine, "overflow"))


def test_an_overflow_is_shown_and_is_a_failure():
    env = cranium.product(
        cranium.worlds.OfficeWorld(mail=5), library.load("office"), horizon=200, counter_limit=0
    )
    optimal = cranium.solve(
        cranium.product(cranium.worlds.OfficeWorld(mail=5), library.load("office"), horizon=200)
    )
    assert optimal.success_rate == 1.0
    policy = cranium.train(
        cranium.product(cranium.worlds.OfficeWorld(mail=5), library.load("office"), horizon=200),
        "planner",
        steps=20_000,
        until="solved",
    ).policy
    episode = record(env, policy)
    assert episode.status == "failed"
    assert "counters  passed their limit" in describe_step(episode, len(episode.steps) - 1)


def test_who_interrupts_while_a_step_is_taken_back_loses_nothing(monkeypatch):
    kept = recorder()
    for action in (2, 2, 0, 3):
        kept.step(action)
    before = list(kept.steps)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(kept.env, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kept.undo()
    assert kept.steps == before


def test_limits_of_the_product_are_played_again(tmp_path):
    office = library.load("office")
    world = cranium.worlds.OfficeWorld(mail=5)
    policy = cranium.train(
        cranium.product(world, office, horizon=200), "planner", steps=20_000, until="solved"
    ).policy
    path = tmp_path / "e.json"
    settings = {"mail": 5}
    env = make_env("Office", office, settings, counter_limit=1)
    episode = record(env, policy, world="Office", settings=settings)
    assert episode.status == "failed"
    save_episode(episode, path)
    assert load_episode(path).steps[-1].configuration == episode.steps[-1].configuration
    short = gym.wrappers.TimeLimit(make_env("Office", office, settings), 3)
    save_episode(record(short, policy, world="Office", settings=settings), path)
    assert load_episode(path).status == "time is up"


def lake(tmp_path, **changes):
    env = cranium.product(
        gym.make("FrozenLake-v1", is_slippery=False, render_mode="ansi"),
        cranium.compile_language("goal"),
        cranium.labelling_from_cells({15: "goal"}),
    )
    way = iter((1, 1, 2, 1, 2, 2))
    path = tmp_path / "lake.json"
    save_episode(record(env, lambda *_: next(way)), path)
    change(path, **changes)
    return path


def test_orders_to_the_terminal_go_no_further(tmp_path, capsys):
    path = lake(tmp_path)
    steps = json.loads(path.read_text())["steps"]
    assert "\x1b[41m" in steps[0]["text"], "that is how it shows where the agent is"
    steps[0]["text"] += "\x1b]0;title\x07\x1b[2J\x9b31m"
    change(path, steps=steps)
    episode = load_episode(path)
    assert "\x1b" not in cranium.episodes.format_step(episode, 0)
    assert "title" not in cranium.episodes.format_step(episode, 0)
    shown = keep_colours(episode.steps[0].text)
    assert "\x1b[41m" in shown
    assert "\x1b[2J" not in shown
    assert "\x9b" not in shown
    cranium.episodes.write_html(episode, tmp_path / "lake.html")
    assert "u001b" not in (tmp_path / "lake.html").read_text()
    steps[0]["state"] = "\x1b[31mred"
    change(path, steps=steps)
    with pytest.raises(EpisodeError, match="cannot be printed"):
        load_episode(path)


@pytest.mark.parametrize(
    ("number", "changes", "said"),
    [
        (1, {"state": "nowhere"}, "step 1 has the machine in"),
        (1, {"counters": [7]}, "step 1 has the machine in"),
        (1, {"success": True}, "success True"),
        (1, {"events": ["goal"]}, "step 1 has the machine in"),
        (1, {"events": ["nonsense"]}, "step 1: no such proposition"),
        (6, {"events": []}, "step 6 has the machine in"),
    ],
)
def test_a_world_that_cannot_be_played_again_is_held_against_its_task(
    tmp_path, number, changes, said
):
    path = lake(tmp_path)
    steps = json.loads(path.read_text())["steps"]
    steps[number].update(changes)
    change(path, steps=steps)
    with pytest.raises(EpisodeError, match=said):
        load_episode(path)
    steps = json.loads(lake(tmp_path).read_text())["steps"]
    change(path, steps=[*steps, steps[-1]])
    with pytest.raises(EpisodeError, match="comes after the end"):
        load_episode(path)


def test_what_could_not_be_played_again_is_not_kept(tmp_path):
    path = tmp_path / "e.json"
    bonus = cranium.RewardFunction("bonus", lambda *_: 2.0)
    machine = library.load("mail-delivery")
    paying = cranium.CountingRewardAutomaton(
        propositions=machine.propositions,
        initial=machine.initial,
        terminal=machine.terminal,
        accepting=machine.accepting,
        transitions=[
            cranium.Transition(source="no mail", guard="mail", target="delivered", reward=bonus)
        ],
    )
    kept = Recorder(make_env("Office", paying), world="Office")
    with pytest.raises(EpisodeError, match="its rewards are functions"):
        save_episode(kept.episode, path)
    start = recorder().steps[0]
    for action in (np.zeros((2, 2)), {"a": 1}, "left", np.array(1.5)):
        odd = dataclasses.replace(start, action=action, name="odd")
        episode = dataclasses.replace(recorder().episode, steps=(start, odd))
        with pytest.raises(EpisodeError, match="a number or a list of numbers"):
            save_episode(episode, path)
    assert not path.exists()


def test_a_file_cannot_ask_for_a_world_without_end(tmp_path):
    path = tmp_path / "e.json"
    save_episode(recorder().episode, path)
    change(path, settings={"mail": [1, 10**9]})
    with pytest.raises(EpisodeError, match="1,001 numbers at most"):
        load_episode(path)
