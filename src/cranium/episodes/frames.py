"""A moment as a picture: the map, the machine with its state marked, and what happened."""

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
from cranium.episodes.recording import Episode, Moment
from cranium.episodes.text import facts
from cranium.errors import EpisodeError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["frames", "scaled"]

PAPER, INK = (255, 255, 255), (30, 30, 30)
GAP = 16
SIDE = 400
"""How wide and high a map is at most."""
MACHINE = (960, 720)
"""How wide and high a machine is at most: its texts stay legible."""
LETTERS = 15


def frames(episode: Episode) -> Iterator[NDArray[np.uint8]]:
    """The moments as pictures [H, W, 3] of one size, both sides even as films need it.

    Example:
        >>> import gymnasium
        >>> from cranium.episodes import record
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> still = lambda ground, configuration, rng: 0
        >>> found = list(frames(record(env, still, most=2, pictures=True)))
        >>> len(found), len({picture.shape for picture in found})
        (3, 1)
    """
    from PIL import Image, ImageDraw

    wide, high = _largest(episode)
    font, line = _font(), round(LETTERS * 1.5)
    told = [facts(episode, number) for number in range(len(episode.moments))]
    beside = round(max(font.getlength(text) for texts in told for text in texts))
    machine = _machine(episode.task, episode.task.initial)
    top = max(high, line * max(map(len, told)))
    width = max(wide + GAP + beside, machine.width)
    size = (_even(width + 2 * GAP), _even(top + machine.height + 3 * GAP))
    for moment, texts in zip(episode.moments, told, strict=True):
        canvas = Image.new("RGB", size, PAPER)
        canvas.paste(_map(moment), (GAP, GAP))
        canvas.paste(_machine(episode.task, moment.configuration.state), (GAP, top + 2 * GAP))
        pen = ImageDraw.Draw(canvas)
        for number, text in enumerate(texts):
            pen.text((wide + 2 * GAP, GAP + number * line), text, fill=INK, font=font)
        yield np.asarray(canvas, dtype=np.uint8).copy()


def _largest(episode: Episode) -> tuple[int, int]:
    """How wide and high the map is at most; maps of one size are looked at once."""
    seen: dict[Any, tuple[int, int]] = {}
    for moment in episode.moments:
        shape = None if moment.image is None else moment.image.shape
        if shape not in seen:
            seen[shape] = _map(moment).size
    return max(wide for wide, _ in seen.values()), max(high for _, high in seen.values())


def scaled(image: NDArray[np.uint8]) -> Image:
    """A map in a size that suits: cells are not blurred, and large worlds are made smaller."""
    from PIL import Image

    found = Image.fromarray(image)
    larger = max(SIDE // max(found.size), 1)
    if larger > 1:
        return found.resize((found.width * larger, found.height * larger), Image.Resampling.NEAREST)
    if max(found.size) > 2 * SIDE:
        found.thumbnail((2 * SIDE, 2 * SIDE))
    return found


def _map(moment: Moment) -> Image:
    if moment.image is None:
        raise EpisodeError(
            "the world of this episode was not drawn, and a file holds no pictures",
            fix="write a page (.html), which shows it as text; or write the film from Python: "
            "record(env, policy, pictures=True), with render_mode='rgb_array'",
        )
    return scaled(moment.image)


@cache
def _machine(task: CountingRewardAutomaton, state: str) -> Image:
    """The machine with its state marked; an overflow is none of its states."""
    from PIL import Image

    known = (*task.states, *task.terminal)
    content = to_png(task, mark=state if state in known else None)
    found = Image.open(io.BytesIO(content)).convert("RGB")
    found.thumbnail(MACHINE, Image.Resampling.LANCZOS)
    return found


def _font() -> Any:
    """A font with the paper's letters, which comes with matplotlib."""
    import matplotlib as mpl
    from PIL import ImageFont

    path = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSansMono.ttf"
    return ImageFont.truetype(str(path), LETTERS)


def _even(length: int) -> int:
    return length + length % 2
