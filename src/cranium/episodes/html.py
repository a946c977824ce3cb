"""Write an episode as one HTML page with a slider, which needs no network."""

from __future__ import annotations

import base64
import html
import io
import json
import os
from pathlib import Path
from typing import Any

from cranium.drawing import to_svg
from cranium.episodes.frames import scale_image
from cranium.episodes.recording import Episode, RecordedStep
from cranium.episodes.text import describe_step, strip_control_codes
from cranium.episodes.video import SPEED, check_speed
from cranium.errors import EpisodeError
from cranium.io import write_text

__all__ = ["write_html"]

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c1c1c; background: #fff;
       max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.3rem; margin: 0 0 .6rem; overflow-wrap: anywhere; }
.stage { display: flex; flex-wrap: wrap; gap: 1.2rem; align-items: flex-start; }
#map { flex: 0 1 auto; max-width: 100%; height: auto; }
#facts { flex: 1 1 18rem; min-width: 0; }
.plot { overflow-x: auto; } #machine { display: block; min-width: 36rem; width: 100%; }
pre { margin: 0; overflow-x: auto; font-size: .95rem; }
pre.map { font-size: 1.1rem; line-height: 1.15; }
.bar { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .8rem 0; }
.bar input { flex: 1 1 10rem; min-width: 6rem; }
button { font: inherit; padding: .2rem .7rem; }
.small { font-size: .85rem; color: #444; }
"""
SCRIPT = """
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const slider = at("slider"), last = data.steps.length - 1;
let now = 0, timer = null;
function show(number) {
  now = Math.min(Math.max(number, 0), last);
  const recorded = data.steps[now];
  if (data.maps.length) { at("map").src = data.maps[recorded.map]; }
  else { at("map").textContent = recorded.text; }
  at("machine").src = data.machines[recorded.machine];
  at("machine").alt = "the machine is in " + recorded.state;
  at("facts").textContent = recorded.facts.join("\\n");
  slider.value = now;
  if (now === last) stop();
}
function stop() { clearInterval(timer); timer = null; at("play").textContent = "play"; }
function play() {
  if (timer) { stop(); return; }
  if (now === last) show(0);
  at("play").textContent = "pause";
  timer = setInterval(() => show(now + 1), 1000 / data.speed);
}
slider.max = last;
slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
at("back").addEventListener("click", () => { stop(); show(now - 1); });
at("next").addEventListener("click", () => { stop(); show(now + 1); });
at("play").addEventListener("click", play);
const keys = {ArrowRight: () => show(now + 1), ArrowLeft: () => show(now - 1),
              Home: () => show(0), End: () => show(last)};
addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === " ") { event.preventDefault(); play(); }
  else if (event.key in keys) { event.preventDefault(); stop(); keys[event.key](); }
});
show(0);
"""
CONTROLS = """<div class="bar">
<button id="back" type="button">back</button>
<button id="play" type="button">play</button>
<button id="next" type="button">next</button>
<input id="slider" type="range" min="0" value="0" aria-label="step"></div>
<p class="small">Arrow keys: a step. Home, End: the beginning, the end. Space: play.</p>"""


def write_html(episode: Episode, path: str | os.PathLike[str], *, speed: float = SPEED) -> None:
    """Write an episode as an HTML page that shows it step by step. The write is atomic.

    Args:
        episode: An episode; without images the map is shown as text.
        path: A file that ends in ``.html``.
        speed: The number of steps per second.

    Example:
        >>> import gymnasium, tempfile
        >>> from cranium.episodes import record
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> episode = record(env, lambda ground, state, rng: 0, max_steps=2, pictures=True)
        >>> path = Path(tempfile.mkdtemp()) / "episode.html"
        >>> write_html(episode, path)
        >>> "slider" in path.read_text(encoding="utf-8")
        True
    """
    found = Path(path)
    if found.suffix.lower() not in (".html", ".htm"):
        raise EpisodeError(f"a page ends in .html, not {found.name!r}")
    check_speed(speed)
    title = html.escape(f"{episode.world or 'An episode'}: {episode.task.name or 'a task'}")
    drawn = all(recorded.image is not None for recorded in episode.steps)
    shown = '<img id="map" alt="the map">' if drawn else '<pre id="map" class="map"></pre>'
    # "</" would end the script element, even inside a string.
    data = json.dumps(_data(episode, speed, drawn=drawn)).replace("<", "\\u003c")
    write_text(
        found,
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
        f'<div class="stage">{shown}<pre id="facts"></pre></div>\n{CONTROLS}\n'
        '<div class="plot"><img id="machine" alt="the machine"></div>\n'
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>{SCRIPT}</script>\n</body></html>\n",
    )


def _data(episode: Episode, speed: float, *, drawn: bool) -> dict[str, Any]:
    """Return the data of the page, with every image once."""
    maps: dict[str, int] = {}
    machines: dict[str, int] = {}
    known = (*episode.task.states, *episode.task.terminal)
    steps = []
    for number, recorded in enumerate(episode.steps):
        state = recorded.configuration.state
        if state not in machines:
            machines[state] = len(machines)
        shown = {"map": maps.setdefault(_png(recorded), len(maps))} if drawn else {}
        steps.append(
            {
                **shown,
                "text": "" if drawn else strip_control_codes(recorded.text),
                "state": state,
                "machine": machines[state],
                "facts": describe_step(episode, number),
            }
        )
    pictures = [to_svg(episode.task, mark=one if one in known else None) for one in machines]
    return {
        "speed": speed,
        "steps": steps,
        "maps": list(maps),
        "machines": [_address("svg+xml", picture.encode()) for picture in pictures],
    }


def _png(recorded: RecordedStep) -> str:
    assert recorded.image is not None  # all of them are drawn
    stream = io.BytesIO()
    scale_image(recorded.image).save(stream, format="PNG", optimize=True)
    return _address("png", stream.getvalue())


def _address(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
