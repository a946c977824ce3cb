"""Learning curves."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

from cranium.errors import DrawingError
from cranium.figures.style import COLOURS
from cranium.io import write_bytes
from cranium.learners import TrainingResult

__all__ = ["draw_curves"]

ENDINGS = (".png", ".svg", ".pdf")


def check_picture(path: str | os.PathLike[str]) -> Path:
    """Check that an image can be written to a path, and return it."""
    where = Path(path)
    if where.suffix.lower() not in ENDINGS:
        raise DrawingError(f"curves are drawn into {', '.join(ENDINGS)}, not {where.name!r}")
    if not where.parent.is_dir():
        raise DrawingError(f"cannot draw into {where}: there is no folder {where.parent}")
    return where


def draw_curves(
    results: Sequence[TrainingResult], path: str | os.PathLike[str], *, title: str = ""
) -> None:
    """Draw the success of the greedy policy against the samples, a line for each result.

    Those of one learner have one colour. A dot marks where every instance was solved first. Samples
    are on a logarithmic scale.

    Example:
        >>> import cranium, gymnasium, tempfile
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
        >>> result = cranium.train(env, "planner", steps=200, evaluate_every=5)
        >>> draw_curves([result], tempfile.mkdtemp() + "/curves.svg")
    """
    where = check_picture(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    learners = list(dict.fromkeys(result.learner for result in results))
    for number, result in enumerate(results):
        samples, success = result.curve[:, 0], result.curve[:, 1]
        colour = COLOURS[learners.index(result.learner) % len(COLOURS)]
        alone = sum(other.learner == result.learner for other in results) == 1
        first = result.learner not in [other.learner for other in results[:number]]
        axes.plot(
            samples,
            success,
            color=colour,
            label=result.learner if first else None,
            alpha=1.0 if alone else 0.5,
            drawstyle="steps-post",
        )
        if result.samples_to_solve is not None:
            axes.plot(result.samples_to_solve, 1.0, "o", color=colour)
        if result.samples_to_solve is not None and alone:
            axes.annotate(
                f"{result.samples_to_solve:,}",
                (result.samples_to_solve, 1.0),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                color=colour,
            )
    axes.set(xscale="log", ylim=(-0.03, 1.15), xlabel="samples", ylabel="success", title=title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    stream = io.BytesIO()
    kind = where.suffix.lower()[1:]
    # Without a date and with fixed names, the same results give the same file.
    figure.savefig(stream, format=kind, dpi=120, metadata={"Date": None} if kind == "svg" else None)
    write_bytes(where, stream.getvalue())
