"""Aggregate over all N: the samples until all tasks are solved, not only one of them.

A machine with counters solves all of them, so it is trained once, with N sampled. The methods on
reward machines have a machine and a policy for each N; their samples are added up, seed by seed.
(One reward machine, unrolled for the greatest N, would also solve all of them; it is not run.)
"""

from __future__ import annotations

from dataclasses import replace

from cranium.experiments.deep import COUNTING, NetworksConfig, name_single_count
from cranium.experiments.letter import LetterConfig, name_range_of_times
from cranium.experiments.results import Group, StudyResults

__all__ = ["ONE", "SUM", "aggregate_tasks"]

ONE, SUM = "all N, one machine", "all N, a machine for each"


def aggregate_tasks(study: StudyResults) -> list[Group]:
    """The groups of every method over all N: with one machine where possible, and as a sum.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cranium.experiments import LocalEngine, run
        >>> from cranium.experiments.results import read_study
        >>> config, folder = LetterConfig(1, times=(1, 2), methods=("planner",)), tempfile.mkdtemp()
        >>> _ = run(config, Path(folder), LocalEngine(1))
        >>> [(group.case, group.values) for group in aggregate_tasks(read_study(Path(folder)))]
        [('all N, one machine', (60.0,)), ('all N, a machine for each', (140.0,))]
    """
    config = study.config
    if isinstance(config, NetworksConfig):
        return [group for case in COUNTING for group in _aggregate_networks(study, config, case)]
    if not isinstance(config, LetterConfig) or not config.whole:
        return []
    found = []
    for method in study.methods:
        one = study.group(method, name_range_of_times(config.times))
        if one is not None:
            found.append(replace(one, case=ONE))
        each = [study.group(method, f"N = {value}") for value in config.times]
        known = [group for group in each if group is not None]
        if len(known) == len(config.times):
            found.append(_sum_groups(known))
    return found


def _aggregate_networks(study: StudyResults, config: NetworksConfig, case: str) -> list[Group]:
    """The sum of CRM over all N of a case, if it was run."""
    each = [study.group("CRM", name_single_count(case, count + 1)) for count in range(config.times)]
    known = [group for group in each if group is not None]
    if len(known) < config.times:
        return []
    return [replace(_sum_groups(known), case=case.replace("N drawn", SUM))]


def _sum_groups(groups: list[Group]) -> Group:
    """Add up groups seed by seed. A sum with an unsolved part is unsolved."""
    by_seed = [
        dict(zip((r.seed for r in group.records if r.done), group.values, strict=True))
        for group in groups
    ]
    seeds = [seed for seed in by_seed[0] if all(seed in values for values in by_seed)]
    values = []
    for seed in seeds:
        each = [values_of[seed] for values_of in by_seed]
        values.append(None if None in each else float(sum(part or 0 for part in each)))
    records = tuple(record for group in groups for record in group.records)
    parts = tuple(group.values for group in groups)
    return replace(
        groups[0], case=SUM, config={}, records=records, values=tuple(values), parts=parts
    )
