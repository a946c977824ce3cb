"""Write episodes as videos: GIF with Pillow, MP4 with the ffmpeg of the extra ``video``."""

from __future__ import annotations

import io
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cranium.episodes.frames import render_frames
from cranium.episodes.recording import Episode
from cranium.errors import EpisodeError, InvalidArgumentError, MissingExtraError, shorten
from cranium.io import write_bytes

__all__ = ["write_video"]

SPEED = 4.0
COLOURS = 128
LAST = 2.0
"""The number of seconds for which the last frame is shown."""
Frames = Iterator[NDArray[np.uint8]]


def write_video(episode: Episode, path: str | os.PathLike[str], *, speed: float = SPEED) -> None:
    """Write an episode as a video. The file is written atomically.

    Args:
        episode: An episode with images.
        path: A file that ends in ``.gif``, or in ``.mp4`` (extra ``video``).
        speed: The number of steps per second.

    Example:
        >>> import gymnasium, tempfile
        >>> from cranium.episodes import record
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> episode = record(env, lambda ground, state, rng: 0, max_steps=2, pictures=True)
        >>> path = Path(tempfile.mkdtemp()) / "film.gif"
        >>> write_video(episode, path)
        >>> path.read_bytes()[:3]
        b'GIF'
    """
    found = Path(path)
    makers: dict[str, Callable[[Frames, int, float], bytes]] = {".gif": _gif, ".mp4": _mp4}
    if found.suffix.lower() not in makers:
        raise EpisodeError(f"a video ends in .gif or .mp4, not {shorten(found.suffix)}")
    check_speed(speed)
    count = len(episode.steps)
    write_bytes(found, makers[found.suffix.lower()](render_frames(episode), count, speed))


def check_speed(speed: float) -> None:
    """Check a number of steps per second."""
    if not isinstance(speed, int | float) or not 0.1 <= speed <= 50:
        raise InvalidArgumentError(
            f"a speed is from 0.1 to 50 steps per second, not {shorten(speed)}"
        )


def _gif(pictures: Frames, count: int, speed: float) -> bytes:
    from PIL import Image

    images = (Image.fromarray(picture).quantize(COLOURS) for picture in pictures)
    stream = io.BytesIO()
    each = round(1000 / speed)
    durations = [each] * (count - 1) + [max(each, round(1000 * LAST))]
    told = {"save_all": True, "append_images": images, "loop": 0, "disposal": 1}
    next(images).save(stream, format="GIF", duration=durations, **told)
    return stream.getvalue()


def _mp4(pictures: Frames, count: int, speed: float) -> bytes:  # noqa: ARG001 - as the other
    try:
        import imageio_ffmpeg
    except ImportError:
        raise MissingExtraError.of("an .mp4 file needs ffmpeg", "video", "write a .gif") from None
    first = next(pictures)
    height, width, _ = first.shape
    told = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {speed:g} -i -"
    # Browsers and phones play this format. Width and height are even already.
    wanted = "-c:v libx264 -pix_fmt yuv420p -movflags +faststart -loglevel error -y"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        command = [imageio_ffmpeg.get_ffmpeg_exe(), *told.split(), *wanted.split(), str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as ffmpeg:  # noqa: S603
            said = _feed(ffmpeg, chain([first], pictures), round(LAST * speed))
        if ffmpeg.returncode:
            raise EpisodeError(f"ffmpeg could not write the video: {said[-300:]}")
        return path.read_bytes()


def _feed(ffmpeg: subprocess.Popen[bytes], pictures: Frames, again: int) -> str:
    """Write the frames to ffmpeg, repeating the last one. Returns ffmpeg's standard error."""
    assert ffmpeg.stdin is not None
    assert ffmpeg.stderr is not None
    with suppress(BrokenPipeError):  # it has ended, and says why
        for picture in pictures:
            last = picture.tobytes()
            ffmpeg.stdin.write(last)
        for _ in range(again):
            ffmpeg.stdin.write(last)
    with suppress(BrokenPipeError):
        ffmpeg.stdin.close()
    return ffmpeg.stderr.read().decode(errors="replace")
