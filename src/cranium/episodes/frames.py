"""Render the steps of an episode as images: the map, the machine, the events and the reward."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.drawing import to_png
from cranium.episodes.recording import Episode, RecordedStep
from cranium.episodes.text import describe_step
from cranium.errors import EpisodeError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["render_frames", "scale_image"]

PAPER, INK = (255, 255, 255), (30, 30, 30)
GAP = 16
SIDE = 400
"""The greatest width and height of a map."""
MACHINE = (960, 720)
"""The greatest width and height of a drawn machine, at which its labels are legible."""
LETTERS = 15


def render_frames(episode: Episode) -> Iterator[NDArray[np.uint8]]:
    """The steps as pictures [H, W, 3] of one size, both sides even as films need it.

    Example:
        >>> import gymnasium
        >>> from cranium.episodes import record
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> still = lambda ground, configuration, rng: 0
        >>> found = list(render_frames(record(env, still, max_steps=2, pictures=True)))
        >>> len(found), len({picture.shape for picture in found})
        (3, 1)
    """
    from PIL import Image, ImageDraw

    wide, high = _largest(episode)
    font, line = _font(), round(LETTERS * 1.5)
    told = [describe_step(episode, number) for number in range(len(episode.steps))]
    beside = round(max(font.getlength(text) for texts in told for text in texts))
    machine = _machine(episode.task, episode.task.initial)
    top = max(high, line * max(map(len, told)))
    width = max(wide + GAP + beside, machine.width)
    size = (_even(width + 2 * GAP), _even(top + machine.height + 3 * GAP))
    for recorded, texts in zip(episode.steps, told, strict=True):
        canvas = Image.new("RGB", size, PAPER)
        canvas.paste(_map(recorded), (GAP, GAP))
        canvas.paste(_machine(episode.task, recorded.configuration.state), (GAP, top + 2 * GAP))
        pen = ImageDraw.Draw(canvas)
        for number, text in enumerate(texts):
            pen.text((wide + 2 * GAP, GAP + number * line), text, fill=INK, font=font)
        yield np.asarray(canvas, dtype=np.uint8).copy()


def _largest(episode: Episode) -> tuple[int, int]:
    """Return the greatest width and height of a map; each size is computed once."""
    seen: dict[Any, tuple[int, int]] = {}
    for recorded in episode.steps:
        shape = None if recorded.image is None else recorded.image.shape
        if shape not in seen:
            seen[shape] = _map(recorded).size
    return max(wide for wide, _ in seen.values()), max(high for _, high in seen.values())


def scale_image(image: NDArray[np.uint8]) -> Image:
    """Scale a map: small ones by a whole factor without blurring, large ones down."""
    from PIL import Image

    found = Image.fromarray(image)
    larger = max(SIDE // max(found.size), 1)
    if larger > 1:
        return found.resize((found.width * larger, found.height * larger), Image.Resampling.NEAREST)
    if max(found.size) > 2 * SIDE:
        found.thumbnail((2 * SIDE, 2 * SIDE))
    return found


def _map(recorded: RecordedStep) -> Image:
    if recorded.image is None:
        raise EpisodeError(
            "the world of this episode was not drawn, and a file holds no pictures",
            fix="write a page (.html), which shows it as text; or write the video from Python: "
            "record(env, policy, pictures=True), with render_mode='rgb_array'",
        )
    return scale_image(recorded.image)


@cache
def _machine(task: CountingRewardAutomaton, state: str) -> Image:
    """Draw the machine with its state marked; an overflow is not one of its states."""
    from PIL import Image

    known = (*task.states, *task.terminal)
    content = to_png(task, mark=state if state in known else None)
    found = Image.open(io.BytesIO(content)).convert("RGB")
    found.thumbnail(MACHINE, Image.Resampling.LANCZOS)
    return found


def _font() -> Any:
    """Load a font with mathematical letters, which comes with matplotlib."""
    import matplotlib as mpl
    from PIL import ImageFont

    path = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSansMono.ttf"
    return ImageFont.truetype(str(path), LETTERS)


def _even(length: int) -> int:
    return length + length % 2
