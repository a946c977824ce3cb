"""Train several seeds in one loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranium.learners.loop import Loop, closing_callbacks
from cranium.learners.progress import ProgressBar

if TYPE_CHECKING:
    from cranium.learners.deep.fused import FusedRun

__all__ = ["go_together"]


def go_together(loops: Sequence[Loop], watch: ProgressBar) -> None:
    """Train several seeds at once; each is evaluated when it would be if it were alone."""
    from cranium.learners.deep.vmap_seeds import learn_together

    going = list(loops)
    with closing_callbacks(loops):
        try:
            for loop in loops:
                loop.begin()
            while going:
                first = going[0]
                statuses = learn_together(_fused_runs(going), first.pause - first.done)
                for loop, status in zip(going, statuses, strict=True):
                    loop.check(status)
                first.show(watch)
                for loop in going:
                    loop.settle()
                going = [loop for loop in going if not loop.ended]
        except KeyboardInterrupt:
            for loop in going:
                loop.interrupted = True


def _fused_runs(loops: Sequence[Loop]) -> list[FusedRun]:
    from cranium.learners.deep.fused import FusedRun

    return [loop.run for loop in loops if isinstance(loop.run, FusedRun)]  # which all of them are
