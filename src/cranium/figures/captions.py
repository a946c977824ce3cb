"""Sentences of captions. Every number about a result is computed from the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cranium.experiments.grid_search import list_settings
from cranium.experiments.letter import METHODS
from cranium.experiments.results import Group, StudyResults, format_number

__all__ = ["QUICK", "describe_evaluations", "describe_results", "describe_tuning", "join_words"]

QUICK = "*A quick run: few trials and small budgets, to see that it works. It shows no result.*"


def join_words(parts: Iterable[str]) -> str:
    """Join words with commas and a final "and".

    Example:
        >>> join_words(["1", "2", "3"]), join_words(["1"])
        ('1, 2 and 3', '1')
    """
    found = list(parts)
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def describe_tuning(methods: Sequence[str], trials: int, detail: str = "") -> str:
    """Describe how many settings each method was tuned over.

    Example:
        >>> describe_tuning(["CQL"], 5)
        'CQL had 12 settings to choose from, each tried on 5 other seeds.'
        >>> describe_tuning(["planner"], 5)
        'The planner has nothing to tune.'
    """
    counts = {method: len(list_settings(METHODS[method][2])) for method in methods}
    fixed = [method for method in methods if counts[method] == 1]
    told = []
    if fixed:
        told.append(
            f"The {join_words(fixed)} {'has' if len(fixed) == 1 else 'have'} nothing to tune."
        )
    for count in sorted({count for count in counts.values() if count > 1}):
        who = [method for method in methods if counts[method] == count]
        names = join_words(who)
        if len(who) > 1 and len(who) + len(fixed) == len(methods):
            names = "Every other method" if fixed else "Every method"
        other = f"{trials} other seed{'s' if trials > 1 else ''}"
        told.append(f"{names} had {count} settings to choose from{detail}, each tried on {other}.")
    return " ".join(told)


def describe_evaluations(study: StudyResults) -> str:
    """Describe how often greedy policies were evaluated."""
    steps: dict[int, list[str]] = {}
    for group in study.groups:
        every = group.config.get("every")
        if isinstance(every, int) and group.method not in steps.setdefault(every, []):
            steps[every].append(group.method)
    if not steps:
        return ""
    usual = max(steps, key=lambda every: len(steps[every]))
    others = [f"{join_words(steps[each])}: every {each:,}" for each in steps if each != usual]
    more = f" ({'; '.join(others)})" if others else ""
    return f"Greedy policies are evaluated every {usual:,} samples{more}."


def describe_results(groups: Iterable[Group]) -> str:
    """List the interquartile mean of each group, or how many of its trials were solved."""
    return "; ".join(f"{group.method} {_describe_middle(group)}" for group in groups)


def _describe_middle(group: Group) -> str:
    found = group.summary
    if found.iqm is None:
        return f"not solved ({found.solved} of {found.run} seeds)"
    return format_number(found.iqm)
