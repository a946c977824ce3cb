"""Sentences of captions. Every number about a result is computed from the records of that run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cranium.experiments.grid_search import grid
from cranium.experiments.letter import METHODS
from cranium.experiments.results import Group, Study, number

__all__ = ["QUICK", "evaluated", "joined", "sizes", "tuned"]

QUICK = "*A quick run: few trials and small budgets, to see that it works. It shows no result.*"


def joined(parts: Iterable[str]) -> str:
    """A list as it stands in a sentence.

    Example:
        >>> joined(["1", "2", "3"]), joined(["1"])
        ('1, 2 and 3', '1')
    """
    found = list(parts)
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def tuned(methods: Sequence[str], trials: int, detail: str = "") -> str:
    """How many settings the methods could choose from.

    Example:
        >>> tuned(["CQL"], 5)
        'CQL had 12 settings to choose from, each tried on 5 other seeds.'
        >>> tuned(["planner"], 5)
        'The planner has nothing to tune.'
    """
    counts = {method: len(grid(METHODS[method][2])) for method in methods}
    fixed = [method for method in methods if counts[method] == 1]
    told = []
    if fixed:
        told.append(f"The {joined(fixed)} {'has' if len(fixed) == 1 else 'have'} nothing to tune.")
    for count in sorted({count for count in counts.values() if count > 1}):
        who = [method for method in methods if counts[method] == count]
        names = joined(who)
        if len(who) > 1 and len(who) + len(fixed) == len(methods):
            names = "Every other method" if fixed else "Every method"
        other = f"{trials} other seed{'s' if trials > 1 else ''}"
        told.append(f"{names} had {count} settings to choose from{detail}, each tried on {other}.")
    return " ".join(told)


def evaluated(study: Study) -> str:
    """After how many samples policies were evaluated, by what the trials were told."""
    steps: dict[int, list[str]] = {}
    for group in study.groups:
        every = group.config.get("every")
        if isinstance(every, int) and group.method not in steps.setdefault(every, []):
            steps[every].append(group.method)
    if not steps:
        return ""
    usual = max(steps, key=lambda every: len(steps[every]))
    others = [f"{joined(steps[each])}: every {each:,}" for each in steps if each != usual]
    more = f" ({'; '.join(others)})" if others else ""
    return f"Greedy policies are evaluated every {usual:,} samples{more}."


def sizes(groups: Iterable[Group]) -> str:
    """What was found for each group: its interquartile mean, or how many were solved."""
    return "; ".join(f"{group.method} {_middle(group)}" for group in groups)


def _middle(group: Group) -> str:
    found = group.summary
    if found.iqm is None:
        return f"not solved ({found.solved} of {found.run} seeds)"
    return number(found.iqm)
