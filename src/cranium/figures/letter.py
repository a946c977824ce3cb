"""Figure "letter-res": samples to learn A^N B C D^N."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranium.experiments.letter import LetterConfig
from cranium.experiments.reading import Group, Study
from cranium.experiments.statistics import Summary
from cranium.experiments.totals import ONE, SUM, totals
from cranium.figures.points import draw_points
from cranium.figures.style import colour, dashes, legend_below, marker, new_figure, tidy

__all__ = ["FLAWS", "caption", "draw"]

FLAWS = (
    "Learning rate 0.01, discount 0.99, exploration falling from 1 to 0.01 over half of "
    "25,000, 50,000, 100,000, 1,000,000 and 1,000,000 episodes for N = 1 to 5; a run "
    "stops after 100 successes in a row, while it still explores. **Its flaws:** the rule"
    " mostly measures when the exploration has fallen, which the schedule decides. The "
    "observation is the cell alone, so that the letter there depends on something hidden,"
    " and experience imagined from it is unsound. In the paper the line of CQL is flat, "
    "because the result for N = 1 was copied to all others, as a machine with counters "
    "“can be trained and immediately used to solve all tasks”; here it is run for every "
    "N. There, episodes of Q-learning never end early, which inflates its samples, and "
    "success is seen one step late; here neither is so."
)


def draw(study: Study) -> dict[str, Any]:
    """The figures of the experiment, by their names."""
    config = study.config
    assert isinstance(config, LetterConfig)
    if config.protocol == "paper":
        return {"letter-paper": _paper(study, config)}
    return {"letter": _fair(study, config)}


def _fair(study: Study, config: LetterConfig) -> Any:
    with new_figure(8.4, 4.4) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        _against_n(left, study, config)
        left.set(ylabel="samples until solved", title="One task at a time")
        whole = totals(study)
        if whole:
            _all_tasks(right, whole)
        else:
            right.set_visible(False)
        legend_below(figure, left)
    return figure


def _against_n(axes: Any, study: Study, config: LetterConfig) -> None:
    axes.set_yscale("log")
    methods = study.methods
    for number, method in enumerate(methods):
        groups = [study.group(method, f"N = {value}") for value in config.times]
        # A little to the side, so that intervals do not lie on each other.
        shift = 0.05 * (number - (len(methods) - 1) / 2)
        found = [
            (value + shift, group.summary)
            for value, group in zip(config.times, groups, strict=True)
            if group is not None and group.summary.run
        ]
        _line(axes, method, [(x, summary) for x, summary in found if summary.iqm is not None])
        for x, summary in found:
            if summary.solved < summary.run:
                _censored(axes, method, x, summary, config.budget)
    axes.set(xlabel="N", xticks=config.times, xlim=(config.times[0] - 0.5, config.times[-1] + 0.5))
    tidy(axes)


def _line(axes: Any, method: str, points: list[tuple[float, Summary]]) -> None:
    """The interquartile means of a method, with their intervals."""
    x = [place for place, _ in points]
    y = np.array([summary.iqm for _, summary in points])
    low = y - np.array([summary.low or summary.iqm for _, summary in points])
    high = np.array([summary.high or summary.iqm for _, summary in points]) - y
    look = {"color": colour(method), "marker": marker(method), "label": method, "capsize": 2}
    spread = [np.maximum(low, 0), np.maximum(high, 0)]
    axes.errorbar(x, y, yerr=spread, linestyle=dashes(method), **look)


def _censored(axes: Any, method: str, x: float, summary: Summary, budget: int) -> None:
    """Some were not solved: nothing is known of them up to the budget; it says how many were."""
    if summary.high is None:
        low = summary.iqm or summary.low or budget
        axes.plot([x, x], [low, budget], ":", color=colour(method), linewidth=1)
        axes.plot(x, budget, marker(method), color=colour(method), markerfacecolor="white")
    text, place = f"{summary.solved}/{summary.run}", (x, summary.iqm or budget)
    axes.annotate(text, place, (0, 6), textcoords="offset points", ha="center", fontsize=7)


def _all_tasks(axes: Any, groups: list[Group]) -> None:
    """What it takes to solve all of them; a sum over machines is hollow."""
    shown: dict[str, Group] = {}
    for group in groups:
        if group.method not in shown or group.case == ONE:
            shown[group.method] = group
    several = {SUM: "a machine for each N", ONE: "one machine"}

    def name(group: Group) -> str:
        return f"{group.method}\n{several[group.case]}"

    draw_points(axes, list(shown.values()), name, hollow=SUM)
    axes.set_title("All tasks")


def _paper(study: Study, config: LetterConfig) -> Any:
    with new_figure(8.4, 4.2) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        _against_n(left, study, config)
        left.set(ylabel="samples", title="Until 100 successes in a row")
        _elsewhere(right, study, config)
        legend_below(figure, left)
    return figure


def _elsewhere(axes: Any, study: Study, config: LetterConfig) -> None:
    """CQL trained with one N, tested with all of them."""
    tested = range(min(config.times), max(config.times) + 1)
    shares = np.full((len(config.times), len(tested)), np.nan)
    for row, value in enumerate(config.times):
        group = study.group("CQL", f"N = {value}")
        found = [] if group is None else [r.result["elsewhere"] for r in group.records if r.done]
        if found:  # in the order of N
            solved = [[success > 1 - 1e-9 for success in each.values()] for each in found]
            shares[row] = np.mean(solved, axis=0)
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


def caption(study: Study) -> str:
    """What was run, and what the figure shows."""
    config = study.config
    assert isinstance(config, LetterConfig)
    if config.protocol == "paper":
        return _paper_caption(config)
    return (
        "**Samples until the greedy policy solves A^N B C D^N** (Figure “letter-res”), in"
        " LetterEnv with the Markov observation (cell, observations left). "
        f"{config.trials} seeds; interquartile means with 95 % bootstrap intervals. Every "
        "method had twelve settings to choose from (learning rate, exploration, and the "
        "initial value or, with shaping, the potential), each tried on "
        f"{config.tuning_trials} other seeds, for every N by itself; the planner has "
        "nothing to tune. Policies are looked at every 100 samples (the planner’s every "
        "20), without exploration; solved means success in every instance. *Left:* one N "
        "at a time. CQL imagines the counter values that were seen, as in the paper; “CQL"
        " all” all that are reachable. CRM and HRM learn on the machine unrolled for this"
        " N. *Right:* what it takes to solve all of them: machines with counters are "
        "trained once with N drawn from all values; without counters each N needs a "
        "machine of its own, and the samples are added up (hollow). A trial that was not "
        f"solved within the budget of {config.budget:,} samples counts as longer than all "
        "others (“8/10”: eight of ten were solved)."
    )


def _paper_caption(config: LetterConfig) -> str:
    return (
        f"**The letter experiment as it was published.** {config.trials} seeds; "
        f"interquartile means with 95 % intervals. {FLAWS} *Right:* how many of the "
        "policies that CQL (with the cache of seen counter values) learned with one N "
        "solve another one."
    )
