"""How the learners of a study compare with each other, over all problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cranium.errors import format_count
from cranium.experiments.comparison import (
    Estimate,
    PairedTest,
    paired_test,
    probability_of_improvement,
)
from cranium.experiments.results import Group, StudyResults

__all__ = ["Contrast", "compare_all", "compare_best", "describe_best", "find_best"]

RESAMPLES = 1_000
Values = Sequence[float | None]


@dataclass(frozen=True)
class Contrast:
    """How one learner compares with another.

    Attributes:
        method: The one.
        other: The other.
        probability: The probability that a run of the one is better than a run of the other,
            averaged over the problems.
        test: The paired test over the seeds that both have on the same problem, if there are any.
    """

    method: str
    other: str
    probability: Estimate
    test: PairedTest | None


def compare_all(study: StudyResults) -> list[Contrast]:
    """Compare every two learners; none if some have no results on some problems.

    Example:
        >>> from pathlib import Path
        >>> from cranium.experiments.manifest import StudyManifest
        >>> empty = StudyResults(StudyManifest("a", "wall_time"), Path(), (), 0, 0)
        >>> compare_all(empty)
        []
    """
    strata = _strata_of(study)
    names = list(strata)
    return [
        _compare(study, strata, one, other)
        for place, one in enumerate(names)
        for other in names[place + 1 :]
    ]


def compare_best(study: StudyResults) -> list[Contrast]:
    """Compare the best learner with each of the others."""
    strata = _strata_of(study)
    best = find_best(study)
    if best is None:
        return []
    return [_compare(study, strata, best, other) for other in strata if other != best]


def find_best(study: StudyResults) -> str | None:
    """The learner that is most probably better than the others; None if there is only one."""
    strata = _strata_of(study)
    if len(strata) < 2:
        return None
    lower = study.config.is_lower_better

    def chance(name: str) -> float:
        others = [each for each in strata if each != name]
        found = [
            probability_of_improvement(
                strata[name], strata[each], lower_is_better=lower, resamples=1
            ).value
            for each in others
        ]
        return sum(each or 0.0 for each in found)

    return max(strata, key=chance)


def describe_best(study: StudyResults) -> str:
    """Say how probably the best learner is better than each other one; empty for one learner."""
    parts = []
    found = compare_best(study)
    for each in found:
        chance, test = each.probability, each.test
        interval = "" if chance.low is None else f" ({chance.low:.2f} to {chance.high:.2f})"
        pairs = format_count(test.pairs, "pair") if test else ""
        told = f", p = {test.p_value:.2g} over {pairs} of seeds" if test else ""
        parts.append(f"{each.other}: {chance.value:.2f}{interval}{told}")
    if not parts:
        return ""
    return (
        f"The probability that a trial of {found[0].method} is better than one of "
        f"{'; of '.join(parts)}."
    )


def _strata_of(study: StudyResults) -> Mapping[str, list[Values]]:
    """The values of each learner on each problem, if all of them have some on the same problems."""
    strata: dict[str, list[Values]] = {
        method: [group.values for group in study.groups if group.method == method]
        for method in study.methods
    }
    full = {name: each for name, each in strata.items() if each and all(map(len, each))}
    return full if len({len(each) for each in full.values()}) == 1 else {}


def _compare(
    study: StudyResults, strata: Mapping[str, list[Values]], one: str, other: str
) -> Contrast:
    chance = probability_of_improvement(
        strata[one],
        strata[other],
        lower_is_better=study.config.is_lower_better,
        resamples=RESAMPLES,
    )
    return Contrast(one, other, chance, _test(study, one, other))


def _test(study: StudyResults, first: str, second: str) -> PairedTest | None:
    """The paired test over the seeds that both learners have on the same problem."""
    pairs = []
    for group in study.groups:
        other = study.group(second, group.case)
        if group.method == first and other is not None:
            ours, theirs = _by_seed(group), _by_seed(other)
            pairs += [(ours[seed], theirs[seed]) for seed in ours if seed in theirs]
    if not pairs:
        return None
    lower = study.config.is_lower_better
    return paired_test([a for a, _ in pairs], [b for _, b in pairs], lower_is_better=lower)


def _by_seed(group: Group) -> dict[int, float | None]:
    seeds = [record.seed for record in group.records if record.done]
    return dict(zip(seeds, group.values, strict=True))
