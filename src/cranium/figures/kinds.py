"""Kinds of figures: what draws the results of a study, and what writes the caption."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import DuplicateNameError
from cranium.experiments.results import StudyResults
from cranium.figures import study as own_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureKind", "ShownMachine", "find_kind", "register_figure"]


class ShownMachine(NamedTuple):
    """A machine that is drawn beside the figures.

    Attributes:
        name: The name of its files.
        title: Its title on the page.
        machine: The machine.
    """

    name: str
    title: str
    machine: CountingRewardAutomaton


def _find_none(_study: StudyResults) -> list[ShownMachine]:
    return []


@dataclass(frozen=True)
class FigureKind:
    """How the results of a study are drawn.

    Attributes:
        draw: Draws the figures; returns them by the names of their files.
        caption: Writes the caption. Every number about a result is computed from the records.
        machines: Finds the machines that are drawn, too.
    """

    draw: Callable[[StudyResults], Mapping[str, Figure]]
    caption: Callable[[StudyResults], str]
    machines: Callable[[StudyResults], list[ShownMachine]] = field(default=_find_none)


OF_ALL = FigureKind(own_study.draw, own_study.caption)
"""The figure of studies that name no other."""
_known: dict[str, FigureKind] = {}


def register_figure(name: str, kind: FigureKind) -> None:
    """Register a figure by the name that manifests of studies give.

    Example:
        >>> register_figure("example", OF_ALL)
        >>> register_figure("example", FigureKind(own_study.draw, str))
        Traceback (most recent call last):
        cranium.errors.DuplicateNameError: there is a figure 'example' already
    """
    if _known.get(name, kind) != kind:
        raise DuplicateNameError(f"there is a figure {name!r} already")
    _known[name] = kind


def find_kind(study: StudyResults) -> FigureKind:
    """The figure of a study; that of all studies if its own is not registered."""
    return _known.get(study.config.figure, OF_ALL)
