"""Figure "letter-res": samples to learn A^N B C D^N."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranium.experiments.aggregate import ONE, SUM, aggregate_tasks
from cranium.experiments.letter import EPISODES, REWARD_MACHINES, STREAK, LetterConfig
from cranium.experiments.results import Group, StudyResults
from cranium.experiments.statistics import Summary
from cranium.figures.captions import (
    describe_evaluations,
    describe_results,
    describe_tuning,
    join_words,
)
from cranium.figures.points import draw_points
from cranium.figures.style import (
    add_legend_below,
    colour,
    format_axes,
    line_style,
    marker,
    new_figure,
)

__all__ = ["FLAWS", "caption", "draw"]

LAST = 0.01
"""The last exploration rate of the published schedule."""
FLAWS = (
    "The observation is the cell alone, so that the letter there depends on something hidden,"
    " and experience imagined from it is unsound. In the paper the line of CQL is flat, "
    "because the result for N = 1 was copied to all others, as a machine with counters "
    "“can be trained and immediately used to solve all tasks”; here it is run for every "
    "N. There, episodes of Q-learning never end early, which inflates its samples, and "
    "success is seen one step late; here neither is so."
)


def draw(study: StudyResults) -> dict[str, Any]:
    """Draw the figures of the experiment; returns them by name."""
    config = study.config
    assert isinstance(config, LetterConfig)
    if config.protocol == "paper":
        return {"letter-paper": _draw_paper(study, config)}
    return {"letter": _draw_fair(study, config)}


def _draw_fair(study: StudyResults, config: LetterConfig) -> Any:
    with new_figure(8.4, 4.4, study.methods) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        _draw_against_n(left, study, config)
        left.set(ylabel="samples until solved", title="One task at a time")
        whole = aggregate_tasks(study)
        if whole:
            _draw_all_tasks(right, whole)
        else:
            right.set_visible(False)
        add_legend_below(figure, left)
    return figure


def _draw_against_n(axes: Any, study: StudyResults, config: LetterConfig) -> None:
    axes.set_yscale("log")
    methods = study.methods
    for number, method in enumerate(methods):
        groups = [study.group(method, f"N = {value}") for value in config.times]
        # Shifted a little, so that intervals do not overlap.
        shift = 0.05 * (number - (len(methods) - 1) / 2)
        found = [
            (value + shift, group.summary)
            for value, group in zip(config.times, groups, strict=True)
            if group is not None and group.summary.run
        ]
        _draw_line(axes, method, [(x, summary) for x, summary in found if summary.iqm is not None])
        for x, summary in found:
            if summary.solved < summary.run:
                _mark_censored(axes, method, x, summary, config.budget)
    axes.set(xlabel="N", xticks=config.times, xlim=(config.times[0] - 0.5, config.times[-1] + 0.5))
    format_axes(axes)


def _draw_line(axes: Any, method: str, points: list[tuple[float, Summary]]) -> None:
    """Draw the interquartile means of a method with their intervals."""
    x = [place for place, _ in points]
    y = np.array([summary.iqm for _, summary in points])
    low = y - np.array([summary.low or summary.iqm for _, summary in points])
    high = np.array([summary.high or summary.iqm for _, summary in points]) - y
    look = {"color": colour(method), "marker": marker(method), "label": method, "capsize": 2}
    spread = [np.maximum(low, 0), np.maximum(high, 0)]
    axes.errorbar(x, y, yerr=spread, linestyle=line_style(method), **look)


def _mark_censored(axes: Any, method: str, x: float, summary: Summary, budget: int) -> None:
    """Mark a point with censored trials: a dotted line to the budget, and how many were solved."""
    if summary.high is None:
        low = summary.iqm or summary.low or budget
        axes.plot([x, x], [low, budget], ":", color=colour(method), linewidth=1)
        axes.plot(x, budget, marker(method), color=colour(method), markerfacecolor="white")
    text, place = f"{summary.solved}/{summary.run}", (x, summary.iqm or budget)
    axes.annotate(text, place, (0, 6), textcoords="offset points", ha="center", fontsize=7)


def _draw_all_tasks(axes: Any, groups: list[Group]) -> None:
    """Draw the samples until all tasks are solved; markers of sums over machines are hollow."""
    shown: dict[str, Group] = {}
    for group in groups:
        if group.method not in shown or group.case == ONE:
            shown[group.method] = group
    several = {SUM: "a machine for each N", ONE: "one machine"}

    def name(group: Group) -> str:
        return f"{group.method}\n{several[group.case]}"

    draw_points(axes, list(shown.values()), name, hollow=SUM)
    axes.set_title("All tasks")


def _draw_paper(study: StudyResults, config: LetterConfig) -> Any:
    with new_figure(8.4, 4.2, study.methods) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        _draw_against_n(left, study, config)
        left.set(ylabel="samples", title="Until 100 successes in a row")
        _draw_transfer(right, study, config)
        add_legend_below(figure, left)
    return figure


def _draw_transfer(axes: Any, study: StudyResults, config: LetterConfig) -> None:
    """Draw the success of CQL trained with one N and tested with every N."""
    tested = range(min(config.times), max(config.times) + 1)
    shares = _compute_transfer(study, config)
    if np.isnan(shares).all():
        axes.set_visible(False)
        return
    axes.imshow(shares, vmin=0, vmax=1, cmap="Greys", origin="lower")
    for (row, column), share in np.ndenumerate(shares):
        if np.isfinite(share):
            ink = "white" if share > 0.5 else "black"
            axes.text(column, row, f"{share:.0%}", ha="center", va="center", color=ink, fontsize=8)
    axes.set_xticks(range(len(tested)), tested)
    axes.set_yticks(range(len(config.times)), config.times)
    axes.set(xlabel="tested with N", ylabel="trained with N", title="CQL: seeds that solve it")
    axes.grid(visible=False)


def _compute_transfer(study: StudyResults, config: LetterConfig) -> Any:
    """The share of CQL's policies that solve each N (columns), by N of training (rows)."""
    tested = range(min(config.times), max(config.times) + 1)
    shares = np.full((len(config.times), len(tested)), np.nan)
    for row, value in enumerate(config.times):
        group = study.group("CQL", f"N = {value}")
        records = () if group is None else group.records
        found = [r.result["elsewhere"] for r in records if r.done]
        found = [each for each in found if len(each) == len(tested)]
        if found:  # in the order of N
            solved = [[success > 1 - 1e-9 for success in each.values()] for each in found]
            shares[row] = np.mean(solved, axis=0)
    return shares


def caption(study: StudyResults) -> str:
    """Write the caption: what was run, and what the figure shows."""
    config = study.config
    assert isinstance(config, LetterConfig)
    if config.protocol == "paper":
        return _paper_caption(study, config)
    detail = " (learning rate, exploration, and the initial value or, with shaping, the potential)"
    parts = [
        "**Samples until the greedy policy solves A^N B C D^N** (Figure “letter-res”), in "
        "LetterEnv with the Markov observation (cell, observations left). "
        f"{config.trials} seeds; interquartile means with 95 % bootstrap intervals.",
        describe_tuning(config.compared, config.tuning_trials, f"{detail} for every N by itself"),
        describe_evaluations(study),
        "Solved means success in every instance, without exploration. *Left:* one N at a time.",
        _describe_methods(config),
        _describe_all_tasks(study, config),
        _describe_unsolved(study, config),
    ]
    return " ".join(part for part in parts if part)


def _describe_methods(config: LetterConfig) -> str:
    """Explain the names of the methods."""
    told = []
    if "CQL" in config.compared:
        told.append("CQL imagines the counter values that were seen, as in the paper.")
    if "CQL all" in config.compared or "CQL all+RS" in config.compared:
        told.append("“CQL all” imagines all configurations that are reachable.")
    unrolled = [method for method in config.compared if method in REWARD_MACHINES]
    if unrolled:
        told.append(f"{join_words(unrolled)}: on the machine unrolled for this N.")
    return " ".join(told)


def _describe_all_tasks(study: StudyResults, config: LetterConfig) -> str:
    """Describe the samples until all N are solved, and what this compares."""
    found = aggregate_tasks(study)
    one = [group for group in found if group.case == ONE]
    several = [g for g in found if g.case == SUM and g.method in REWARD_MACHINES]
    count, told = len(config.times), []
    if one:
        told.append(f"with one machine and N drawn from all values: {describe_results(one)}")
    if several:
        told.append(
            f"added up over {count} machines, one for each N (hollow), which learn nothing from "
            f"each other: {describe_results(several)}"
        )
    if not told:
        return ""
    text = f"*Right:* samples until all N are solved, {'; '.join(told)}."
    if one and several:
        text += (
            f" That compares one policy with {count}, not counters with states: one reward machine "
            f"unrolled for N = {max(config.times)} has the same configurations as the automaton, "
            "and is expected to need as many samples as “CQL all”; it was not run."
        )
    return text


def _describe_unsolved(study: StudyResults, config: LetterConfig) -> str:
    """Explain the marks of censored trials, if there are any."""
    for group in study.groups:
        found = group.summary
        if found.solved < found.run:
            return (
                f"A trial that was not solved within the budget of {config.budget:,} samples "
                f"counts as longer than all others (“{found.solved}/{found.run}”: "
                f"{found.solved} of {found.run} were solved)."
            )
    return ""


def _paper_caption(study: StudyResults, config: LetterConfig) -> str:
    episodes = join_words(f"{EPISODES[value]:,}" for value in config.times)
    parts = [
        f"**The letter experiment as it was published.** {config.trials} seeds; interquartile "
        "means with 95 % intervals. Learning rate 0.01, discount 0.99, exploration falling from 1 "
        f"to {LAST} over half of {episodes} episodes for N = {join_words(map(str, config.times))}; "
        f"a run stops after {STREAK} successes in a row, while it still explores.",
        f"**Its flaws:** {_describe_stopping(study, config)}{FLAWS}",
        _describe_transfer(study, config),
    ]
    return " ".join(part for part in parts if part)


def _describe_stopping(study: StudyResults, config: LetterConfig) -> str:
    """Describe the exploration rate at the stop, and how many greedy policies failed."""
    rates, failed, count = [], 0, 0
    for value in config.times:
        for group in study.groups:
            if group.case != f"N = {value}":
                continue
            for record in group.records:
                if not record.done or record.result["streak"] is None:
                    continue
                share = min(record.result.get("episodes", 0) / (EPISODES[value] // 2), 1)
                rates.append(1 + share * (LAST - 1))
                success = record.result.get("success", {})
                failed += not all(each > 1 - 1e-9 for each in success.values())
                count += 1
    if not rates:
        return ""
    return (
        "the schedule of the exploration decides when a run can stop (here at ε = "
        f"{np.median(rates):.2f}, the median of {count:,} runs), whatever was learned by then; and "
        f"the greedy policies of {failed:,} of these runs failed in the end. "
    )


def _describe_transfer(study: StudyResults, config: LetterConfig) -> str:
    """Describe how many policies of CQL solve their own N, and other N."""
    shares = _compute_transfer(study, config)
    if np.isnan(shares).all():
        return ""
    own = [shares[row, value - min(config.times)] for row, value in enumerate(config.times)]
    rest = [
        share
        for (row, column), share in np.ndenumerate(shares)
        if column + min(config.times) != config.times[row]
    ]
    told = (
        "*Right:* how many of the policies that CQL (with the cache of seen counter values) learned"
        f" with one N solve which N: {np.nanmean(own):.0%} that one"
    )
    known = [share for share in rest if np.isfinite(share)]
    return f"{told}, {np.mean(known):.0%} another one." if known else f"{told}."
