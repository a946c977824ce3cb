"""Sentences of captions. Every number about a result is computed from the records."""

from __future__ import annotations

from collections.abc import Iterable

from cranium.errors import format_count
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


def describe_tuning(study: StudyResults, detail: str = "") -> str:
    """Describe how many settings each method was tuned over, as the manifest lists them.

    Args:
        study: The study.
        detail: What is added to the numbers of settings.
    """
    tried: dict[tuple[str, str], list[int]] = {}
    for row in study.config.rows:
        if row.stage == "tuning":
            tried.setdefault((row.method, row.case), []).append(row.seeds)
    counts = {method: len(seeds) for (method, _), seeds in tried.items()}
    seeds = sorted({each for found in tried.values() for each in found})
    fixed = [method for method in study.methods if method not in counts]
    told = []
    if fixed:
        told.append(f"Nothing was tuned for {join_words(fixed)}.")
    for count in sorted(set(counts.values())):
        who = [method for method in counts if counts[method] == count]
        names = join_words(who)
        if len(who) > 1 and len(who) == len(counts):
            names = "Every other method" if fixed else "Every method"
        settings = format_count(count, "setting")
        other = f"{join_words(map(str, seeds))} other seed{'s' if seeds != [1] else ''}"
        told.append(f"{names} had {settings} to choose from{detail}, each tried on {other}.")
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
        return f"not solved ({found.solved} of {format_count(found.run, 'seed')})"
    return format_number(found.iqm)
