"""The letter experiment as it was published: its schedule, its stopping rule, its observation."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from cranium.aamdp import find_product
from cranium.errors import format_count
from cranium.experiments.results import StudyResults
from cranium.figures.captions import join_words
from cranium.figures.style import add_legend_below, new_figure
from cranium.learners import Schedule, TrainingResult, evaluate
from cranium.paper.against_n import draw_against_n
from cranium.paper.grids import METHODS as LEARNERS
from cranium.paper.grids import REWARD_MACHINES
from cranium.paper.problems import PaperProblem
from cranium.studies import JointStudy, Method, Recorded, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cranium.paper.letter import LetterConfig

__all__ = ["EPISODES", "FLAWS", "METHODS", "STREAK", "build_study", "caption", "draw"]

METHODS = ("QL", "CQL", "CRM", "CRM+RS")
"""The methods in the paper."""
EPISODES = {1: 25_000, 2: 50_000, 3: 100_000, 4: 1_000_000, 5: 1_000_000}
"""The published numbers of episodes for each N. Exploration falls over the first half of them."""
STEPS = 100
"""The most steps of an episode."""
STREAK = 100
RATE, DISCOUNT = 0.01, 0.99
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


def build_study(config: LetterConfig) -> JointStudy:
    """The study with the published settings: a part for each N, because they depend on it."""
    return config.join(
        [_build_part(config, value) for value in config.times],
        measure=f"samples until {STREAK} in a row",
        measure_field="streak",
        steps=max(STEPS * EPISODES[value] for value in config.times),
    )


def _build_part(config: LetterConfig, value: int) -> Study:
    """The published settings: learning rate 0.01, ε from 1 to 0.01, a streak of successes."""
    case, options = f"N = {value}", {"observation": "cell"}
    span = [min(config.times), max(config.times)]
    tested = PaperProblem("Letter", "anbcdn", {"times": span, **options})
    alone = {"times": value, **options}
    settings = {
        "learning_rate": RATE,
        "discount": DISCOUNT,
        "initial_value": 0.0,
        "exploration": Schedule(1.0, LAST, EPISODES[value] // 2, "episodes"),
    }
    unrolled = {case: PaperProblem("Letter", "anbcdn", alone, limit=value)}
    return Study(
        config.name,
        {case: PaperProblem("Letter", "anbcdn", alone)},
        {
            name: Method(
                LEARNERS[name][0],
                {**LEARNERS[name][1], **settings},
                problems=unrolled if name in REWARD_MACHINES else None,
            )
            for name in config.compared
        },
        seeds=config.trials,
        steps=STEPS * EPISODES[value],
        evaluate_every=50_000,
        until=STREAK,
        measure="streak",
        lower_is_better=True,
        record={
            "streak": Recorded(read_streak, "size"),
            "elsewhere": Recorded(functools.partial(evaluate_elsewhere, tested), "shares"),
        },
    )


def read_streak(result: TrainingResult, _env: gym.Env[Any, Any]) -> int | None:
    """The number of samples when the streak of successes was complete."""
    return result.streak_at


def evaluate_elsewhere(
    tested: PaperProblem, result: TrainingResult, env: gym.Env[Any, Any]
) -> dict[str, float]:
    """Evaluate the policy in another world; it acts at random where it has no values.

    A policy on a reward machine has no values there at all, and is not evaluated.
    """
    if not find_product(env).automaton.counters:
        return {}
    found = evaluate(tested(), result.policy.with_unknown("random"))
    return dict(zip(found.instances, found.success.tolist(), strict=True))


def draw(study: StudyResults, config: LetterConfig) -> dict[str, Figure]:
    """Draw the figure; returns it by name."""
    with new_figure(8.4, 4.2, study.methods) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        draw_against_n(left, study, config.times)
        left.set(ylabel="samples", title=f"Until {STREAK} successes in a row")
        _draw_transfer(right, study, config)
        add_legend_below(figure, left)
    return {"letter-paper": figure}


def _draw_transfer(axes: Axes, study: StudyResults, config: LetterConfig) -> None:
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
            axes.text(
                column, row, f"{100 * share:.0f} %", ha="center", va="center", color=ink, fontsize=8
            )
    axes.set_xticks(range(len(tested)), map(str, tested))
    axes.set_yticks(range(len(config.times)), map(str, config.times))
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


def caption(study: StudyResults, config: LetterConfig) -> str:
    """Write the caption: what was run, and what the figure shows."""
    episodes = join_words(f"{EPISODES[value]:,}" for value in config.times)
    parts = [
        f"**The letter experiment as it was published.** {format_count(config.trials, 'seed')}; "
        f"interquartile means with 95 % intervals. Learning rate {RATE}, discount {DISCOUNT}, "
        f"exploration from 1 to {LAST} over half of {episodes} episodes for N = "
        f"{join_words(map(str, config.times))}; a run stops after {STREAK} successes in a "
        "row, while it still explores.",
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
        f" with one N solve which N: {100 * np.nanmean(own):.0f} % that one"
    )
    known = [share for share in rest if np.isfinite(share)]
    return f"{told}, {100 * np.mean(known):.0f} % another one." if known else f"{told}."
