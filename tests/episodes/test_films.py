"""Films and pages of episodes, opened by the programs that show them."""

from __future__ import annotations

import io
import re
import subprocess
import tracemalloc
import warnings

import numpy as np
import pytest
from PIL import Image
from support.browser import chromium, look

import cranium
from cranium.aamdp.catalogue import CATALOGUE
from cranium.aamdp.registry import make_env
from cranium.drawing import to_png, to_svg
from cranium.episodes import record, write_html, write_video
from cranium.episodes.frames import render_frames
from cranium.errors import CraniumError
from cranium.formats import library

pytestmark = pytest.mark.slow

MARKED = (255, 217, 102)


@pytest.fixture(scope="module")
def episode():
    env = make_env("Letter", library.load("anbcdn"), {"times": 2})
    policy = cranium.train(env, "planner", steps=5000, until="solved").policy
    told = {"world": "Letter", "settings": {"times": 2}, "pictures": True}
    found = record(env, policy, **told)
    assert found.status == "success"
    return found


def test_a_gif_has_a_picture_for_every_moment(episode, tmp_path):
    path = tmp_path / "e.gif"
    write_video(episode, path, speed=10)
    pictures = list(render_frames(episode))
    with Image.open(path) as film:
        assert film.n_frames == len(episode.steps)
        assert film.info["duration"] == 100
        for number in (0, len(pictures) // 2, len(pictures) - 1):
            film.seek(number)
            shown = np.asarray(film.convert("RGB"), np.int64)
            assert np.abs(shown - pictures[number]).mean() < 3, "64 colours are nearly all"
        assert film.info["duration"] == 2000, "the end is shown for longer"


def test_an_mp4_can_be_read_again(episode, tmp_path):
    import imageio_ffmpeg

    path = tmp_path / "e.mp4"
    write_video(episode, path, speed=5)
    pictures = list(render_frames(episode))
    read = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(read, capture_output=True, check=True)
    assert b"h264" in done.stderr
    assert b"yuv420p" in done.stderr
    shown = np.frombuffer(done.stdout, np.uint8).reshape(-1, *pictures[0].shape)
    assert len(shown) == len(pictures) + 10, "and the end for two seconds"
    for number in (0, len(pictures) // 2, -1):
        assert np.abs(shown[number].astype(np.int64) - pictures[number]).mean() < 4


def test_without_ffmpeg_it_says_what_to_install(episode, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    with pytest.raises(CraniumError, match=r"(?s)needs ffmpeg.*pip install '\.\[video\]'"):
        write_video(episode, tmp_path / "e.mp4")
    assert not (tmp_path / "e.mp4").exists()


@pytest.mark.parametrize("name", ["e.avi", "e", "e.html"])
def test_a_film_has_the_right_ending(episode, tmp_path, name):
    with pytest.raises(CraniumError, match=r"\.gif or \.mp4"):
        write_video(episode, tmp_path / name)


@pytest.mark.parametrize("speed", [0, -1, 1000, float("nan"), "4"])
def test_a_speed_makes_sense(episode, tmp_path, speed):
    for write, name in ((write_video, "e.gif"), (write_html, "e.html")):
        with pytest.raises(CraniumError, match="steps per second"):
            write(episode, tmp_path / name, speed=speed)


def coloured(picture):
    return int((np.abs(picture.astype(np.int64) - MARKED).max(axis=-1) < 3).sum())


def test_one_state_of_the_machine_is_marked():
    machine = library.load("anbcn")
    places = set()
    for state in (*machine.states, *machine.terminal):
        image = np.asarray(Image.open(io.BytesIO(to_png(machine, mark=state))).convert("RGB"))
        assert coloured(image) > 100, state
        where = np.argwhere(np.abs(image.astype(np.int64) - MARKED).max(axis=-1) < 3).mean(axis=0)
        places.add(tuple(where.round(-1)))
    assert len(places) == 4
    plain = np.asarray(Image.open(io.BytesIO(to_png(machine))).convert("RGB"))
    assert coloured(plain) == 0
    with pytest.raises(CraniumError, match="no such state: 'lost'"):
        to_svg(machine, mark="lost")


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_every_world_is_drawn_beside_its_machine(entry):
    env = make_env(entry.name, library.load(next(iter(entry.tasks.values()))))
    env.action_space.seed(1)
    made = {"world": entry.name, "pictures": True}
    pictures = list(
        render_frames(record(env, lambda *_: env.action_space.sample(), max_steps=5, **made))
    )
    assert len({picture.shape for picture in pictures}) == 1
    assert all(side % 2 == 0 for side in pictures[0].shape[:2])
    assert all(coloured(picture) > 50 for picture in pictures), "a state is marked"
    ink = (pictures[0] < 128).all(axis=-1)
    assert not ink[:8].any()
    assert not ink[-4:].any()
    assert not ink[:, -4:].any(), "nothing is cut off"


DRIVE = """
<script>
addEventListener("load", async () => {
  const facts = () => document.getElementById("facts").textContent;
  const map = () => document.getElementById("map").src;
  const machine = () => document.getElementById("machine").src;
  const key = name => dispatchEvent(new KeyboardEvent("keydown", {key: name}));
  const slider = document.getElementById("slider");
  const seen = {width: innerWidth, max: slider.max, start: facts()};
  const first = [map(), machine()];
  key("ArrowRight"); seen.right = facts(); seen.moved = map() !== first[0];
  key("ArrowLeft"); seen.left = facts(); seen.back = map() === first[0];
  key("End"); seen.end = facts(); seen.changed = machine() !== first[1];
  seen.value = slider.value;
  key("ArrowRight"); seen.beyond = facts();
  key("Home"); seen.home = facts();
  slider.value = 3; slider.dispatchEvent(new Event("input")); seen.slid = facts();
  document.getElementById("next").click(); seen.next = facts();
  document.getElementById("back").click(); seen.previous = facts();
  key(" "); seen.playing = document.getElementById("play").textContent;
  await new Promise(done => setTimeout(done, 5000));
  seen.played = facts(); seen.stopped = document.getElementById("play").textContent;
  const told = document.createElement("pre");
  told.id = "seen"; told.textContent = JSON.stringify(seen);
  document.body.append(told);
  parent.document.getElementById("told").textContent = told.textContent;
});
</script>
"""


def test_the_page_is_driven_by_slider_buttons_and_keys(episode, tmp_path):
    page = tmp_path / "e.html"
    write_html(episode, page, speed=20)
    last = len(episode.steps) - 1
    seen = look(chromium(), page, 900, DRIVE)
    assert seen["start"] == seen["left"] == seen["home"]
    assert f"0 of {last}, the start" in seen["start"]
    assert f"1 of {last}" in seen["right"]
    assert seen["moved"]
    assert seen["back"]
    assert seen["changed"]
    assert "success" in seen["end"]
    assert seen["end"] == seen["beyond"] == seen["played"]
    assert seen["max"] == seen["value"] == str(last)
    assert f"3 of {last}" in seen["slid"] == seen["previous"]
    assert f"4 of {last}" in seen["next"]
    assert (seen["playing"], seen["stopped"]) == ("pause", "play")


def test_the_page_needs_nothing_else_and_fits_the_screen(episode, tmp_path):
    page = tmp_path / "e.html"
    write_html(episode, page)
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"https?:", text)
    for width in (1280, 390):
        seen = look(chromium(), page, width)
        assert seen["images"] == seen["loaded"] == 2
        assert seen["overlaps"] == []
        assert seen["wide"] == []


def test_names_cannot_break_out_of_the_page(tmp_path):
    evil = "</script><script>document.title='broken'</script>"
    machine = cranium.CountingRewardAutomaton(
        propositions=["A"],
        initial=evil,
        terminal=["done"],
        accepting=["done"],
        transitions=[cranium.Transition(source=evil, guard="A", target="done", reward=1)],
        name=evil,
    )
    env = cranium.product(cranium.worlds.LetterEnv.experiment(1), machine, horizon=50)
    page = tmp_path / "e.html"
    write_html(record(env, lambda *_: 0, max_steps=3), page)
    text = page.read_text(encoding="utf-8")
    assert evil not in text
    assert text.count("</script>") == 2, "those of the page itself"
    assert '<pre id="map"' in text, "not drawn: shown as text"


def test_long_films_are_not_held_in_memory(tmp_path):
    env = make_env("Office", library.load("office"))
    env.action_space.seed(0)
    told = {"world": "Office", "pictures": True, "max_steps": 300}
    moving = (2, 3)  # up and down: two pictures
    ways = iter(moving * 150)
    long = record(env, lambda *_: next(ways), **told)
    assert len(long.steps) == 301
    assert len({id(recorded.image) for recorded in long.steps}) <= 3
    tracemalloc.start()
    write_video(long, tmp_path / "e.mp4", speed=50)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    picture = next(render_frames(long)).nbytes
    assert most < 40 * picture, f"{most / picture:.0f} pictures at once"


def test_letters_that_the_font_lacks_are_drawn_without_complaint():
    machine = cranium.CountingRewardAutomaton(
        propositions=["A"],
        initial="日本語",
        terminal=["done"],
        transitions=[cranium.Transition(source="日本語", guard="A", target="done")],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert to_png(machine)[1:4] == b"PNG"
