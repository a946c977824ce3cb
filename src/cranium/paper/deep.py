"""Figure "deep": deep learners in the office, and two counting tasks on which they differ.

In the paper the counterfactual methods have |U| times the batch of DQN. Here DQN is also run with
the larger batch, to separate the gain of counterfactuals from the gain of a larger batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cranium.errors import format_count
from cranium.experiments.results import StudyResults, read_final_success
from cranium.experiments.statistics import interquartile_mean
from cranium.figures.kinds import FigureKind, register_figure
from cranium.figures.style import add_legend_below, format_axes, new_figure
from cranium.learners import Schedule
from cranium.learners.deep import require_jax
from cranium.paper.config import (
    MOST_COUNTED,
    MOST_SAMPLES,
    ExperimentConfig,
    check_limit,
    check_names,
    read_config,
    register,
)
from cranium.paper.office import draw_curve
from cranium.paper.problems import PaperProblem
from cranium.studies import JointStudy, Method, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["NetworksConfig", "caption", "draw", "name_single_count"]

BATCH = 32
STATES = 2
"""|U|: the number of non-terminal states of the delivery machine."""
IMAGINED = 4
"""The number of counterfactual configurations for each transition in the letters case."""
BUDGETS = ("published", "budget", "letters", "mail")
SAME_BATCH = "DQN, same batch"
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "DQN": ("dqn", {}),
    SAME_BATCH: ("dqn", {}),
    "CRM": ("dcrm", {}),
    "CQL": ("cdqn", {}),
    "CQL heads": ("cdqn", {"heads": True}),
}
"""For each method the id of the learner and its settings; all others are the defaults."""
SUM = "all N, a machine for each"
PUBLISHED, ANYWHERE = "office, as published", "office, any start"
LETTERS, MAIL = "letters, N drawn", "mail, N drawn"
CASES = (PUBLISHED, ANYWHERE, LETTERS, MAIL)
COUNTING = (LETTERS, MAIL)
"""The cases with counters. CRM is run on one reward machine for all N, and on one for each N."""
PAPER: dict[str, Any] = {
    "learning_rate": 1e-4,
    "discount": 0.99,
    "double": False,
    "target_every": 500,
    "exploration": Schedule(1.0, 0.05, over=1_200),
}
"""Appendix H gives the network, the learning rate, the replay buffer and the batch. All else is as
in Stable-Baselines3's DQN, except for the target network, which is copied every 10,000 samples
there."""
NEAREST: dict[str, Any] = {
    **PAPER,
    "discount": 0.95,
    "exploration": Schedule(1.0, 0.1, over=10_000),
}
"""The settings that have to change, besides the start and the budget, before anything is learned in
the office (``benchmarks/deviation.py`` leaves out one after the other)."""


def name_single_count(case: str, count: int) -> str:
    """The name of a case with counters if the machine is for a single N.

    Example:
        >>> name_single_count("mail, N drawn", 2)
        'mail, N = 2'
    """
    return f"{case.removesuffix(' drawn')} = {count}"


def count_delivery_configurations(times: int) -> int:
    """Count the non-terminal configurations with up to so many items of mail.

    While items are collected the counter is 0 to ``times``; while they are delivered it is 1 to
    ``times``.
    """
    return 2 * times + 1


@register
@dataclass(frozen=True)
class NetworksConfig(ExperimentConfig):
    """The experiment with deep learners.

    Attributes:
        trials: The number of seeds (the paper has 10).
        methods: The methods that are compared, from ``METHODS``.
        cases: The cases that are run, from ``CASES``.
        times: In the counting cases N is sampled from 1 to this.
        published: The number of samples in the office as in the paper.
        budget: The number of samples in the office with any start.
        letters: The number of samples in the letters case.
        mail: The number of samples in the mail case.

    Example:
        >>> NetworksConfig(trials=2, cases=("letters, N drawn",)).times
        3
    """

    name = "deep"
    place = 4
    title = "Networks"

    trials: int = 20
    methods: tuple[str, ...] = tuple(METHODS)
    cases: tuple[str, ...] = CASES
    times: int = 3
    published: int = 12_000
    budget: int = 40_000
    letters: int = 40_000
    mail: int = 120_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("method", self.methods, list(METHODS))
        check_names("case", self.cases, CASES)
        check_limit("times", self.times, MOST_COUNTED)
        for name in BUDGETS:
            check_limit(name, getattr(self, name), MOST_SAMPLES)

    def require(self) -> None:
        """Require JAX."""
        require_jax("cdqn")

    def quick(self) -> Self:
        """One seed, and budgets that are too small to learn anything."""
        few = {name: min(getattr(self, name), 500) for name in BUDGETS}
        return replace(self, trials=1, times=min(self.times, 2), **few, is_quick=True)

    def cpu_seconds(self) -> float:
        """An estimate from earlier runs."""
        steps = 0
        for case, budget in zip(CASES, BUDGETS, strict=True):
            more = self.times if case in COUNTING and "CRM" in self.methods else 0
            runs = (len(self.methods) + more) if case in self.cases else 0
            steps += runs * int(getattr(self, budget))
        return 20 + 0.25e-3 * self.trials * steps

    def study(self) -> JointStudy:
        """A part for each case: their settings and budgets differ."""
        make = {
            PUBLISHED: self._published,
            ANYWHERE: self._anywhere,
            LETTERS: self._letters,
            MAIL: self._mail,
        }
        counting = [case for case in self.cases if case in COUNTING]
        sums = {
            case.replace("N drawn", SUM): tuple(
                name_single_count(case, count + 1) for count in range(self.times)
            )
            for case in counting
        }
        steps = max(getattr(self, name) for name in BUDGETS)
        return self.join([make[case]() for case in self.cases], steps=steps, sums=sums)

    def _published(self) -> Study:
        return self._office(PUBLISHED, {"mail": None}, PAPER, self.published)

    def _anywhere(self) -> Study:
        return self._office(ANYWHERE, {"mail": None, "start": "anywhere"}, NEAREST, self.budget)

    def _office(
        self, case: str, options: Mapping[str, Any], settings: Mapping[str, Any], steps: int
    ) -> Study:
        learners = {}
        for name in self.methods:
            learner, own = METHODS[name]
            batch = BATCH * (STATES if name == SAME_BATCH else 1)
            learners[name] = (learner, {**settings, **own, "batch": batch})
        problems = {case: PaperProblem("Office", "mail-delivery", options)}
        return self._part(problems, learners, steps, evaluations=30)

    def _letters(self) -> Study:
        """A^N B C D^N."""
        return self._counted(
            LETTERS,
            lambda times, limit: PaperProblem("Letter", "anbcdn", {"times": times}, limit=limit),
            IMAGINED,
            self.letters,
        )

    def _mail(self) -> Study:
        """Collect N items of mail, then deliver them; all configurations are counterfactual."""
        return self._counted(
            MAIL,
            lambda mail, limit: PaperProblem(
                "Office", "office-deliver", {"mail": mail, "start": "anywhere"}, limit=limit
            ),
            count_delivery_configurations(self.times),
            self.mail,
        )

    def _counted(
        self,
        case: str,
        make: Callable[[Any, int | None], PaperProblem],
        imagined: int,
        steps: int,
    ) -> Study:
        """One machine for all N, which the world samples; for CRM also one for each N."""
        drawn = [1, self.times]
        unrolled = {case: make(drawn, self.times)} | {
            name_single_count(case, count): make(count, count) for count in range(1, self.times + 1)
        }
        learners = {}
        for name in self.methods:
            learner, own = METHODS[name]
            settings = {**own, "batch": BATCH * (imagined if name == SAME_BATCH else 1)}
            if learner != "dqn":
                settings["num_counterfactuals"] = imagined
            on = unrolled if learner == "dcrm" else None
            learners[name] = Method(learner, settings, problems=on)
        return self._part({case: make(drawn, None)}, learners, steps, evaluations=40)

    def _part(
        self, problems: Mapping[str, Any], learners: Mapping[str, Any], steps: int, evaluations: int
    ) -> Study:
        return Study(
            self.name,
            problems,
            learners,
            seeds=self.trials,
            steps=steps,
            evaluate_every=max(steps // evaluations, 1),
            until="budget",
        )


def draw(study: StudyResults) -> dict[str, Figure]:
    """Draw the figures of the experiment; returns them by name."""
    config = read_config(study, NetworksConfig)
    rows, columns = arrange_panels(len(config.cases))
    width = max(3.6 * columns, 6.4)  # the legend needs that much
    with new_figure(width, 2.6 * rows + 0.8, study.methods) as figure:
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        panels = grid.ravel()[: len(config.cases)]
        for spare in grid.ravel()[len(config.cases) :]:
            spare.remove()
        for axes, case in zip(panels, config.cases, strict=True):
            for group in study.groups:
                # Of the machines for a single N only that for the greatest N is shown.
                alone = case in COUNTING and group.case == name_single_count(case, config.times)
                if group.case == case:
                    draw_curve(axes, group.method, group.records, group.method)
                elif alone:
                    name = f"{group.method}, N = {config.times} only"
                    draw_curve(axes, group.method, group.records, name, ":")
            axes.set(xlabel="samples", title=case, ylim=(-0.03, 1.05))
            format_axes(axes)
            axes.locator_params(axis="x", nbins=5)  # otherwise long numbers overlap
            axes.xaxis.set_major_formatter("{x:,.0f}")
        for axes in grid[:, 0]:
            axes.set_ylabel("success of the greedy policy")
        add_legend_below(figure, panels, 3)
    return {"deep": figure}


def arrange_panels(cases: int) -> tuple[int, int]:
    """The numbers of rows and columns of panels."""
    columns = cases if cases < 4 else 2
    return -(-cases // columns), columns


def caption(study: StudyResults) -> str:
    """Write the caption: what was run, and what the figure shows."""
    config = read_config(study, NetworksConfig)
    cases = {
        PUBLISHED: f"As published: the whole map, {config.published:,} samples, learning rate "
        f"{PAPER['learning_rate']:f}".rstrip("0")
        + ".",
        ANYWHERE: "Any start: the same task, but an episode begins anywhere, the discount is "
        f"{NEAREST['discount']}, and it explores longer; {config.budget:,} samples.",
        LETTERS: f"Letters: A^N B C D^N, N drawn from 1 to {config.times}, {config.letters:,} "
        "samples, with the defaults of the library.",
        MAIL: "Mail: N items are collected, then delivered, begun anywhere in the office; N drawn "
        f"from 1 to {config.times}, {config.mail:,} samples, with the defaults of the library.",
    }
    parts = [
        f"**Networks** (Figure “deep”), {format_count(config.trials, 'seed')} (the paper has 10): "
        "interquartile means of the success of the greedy policy, and the middle half of the "
        f"seeds. {_describe_network(study)}DQN learns from {BATCH} experiences in each update, CRM "
        f"and CQL imagine each of them in |U| = {STATES} states (with letters in {IMAGINED} "
        f"configurations, with mail in all {count_delivery_configurations(config.times)}), and "
        "“DQN, same batch” draws as many real ones instead.",
        *(cases[case] for case in config.cases),
        _describe_machines(config),
        *(_describe_ends(study, case) for case in config.cases if case in COUNTING),
        *(_describe_equal_curves(study, case) for case in config.cases if case not in COUNTING),
        "No method was tuned by itself.",
    ]
    return " ".join(part for part in parts if part)


def _describe_network(study: StudyResults) -> str:
    """The hidden layers, as the records have them."""
    layers = [group.config["settings"].get("hidden") for group in study.groups]
    found = {" and ".join(map(str, each)) for each in layers if each and isinstance(each, list)}
    sizes = sorted(found)
    return f"Hidden layers of {' or '.join(sizes)} units; " if sizes else ""


def _describe_machines(config: NetworksConfig) -> str:
    if "CRM" not in config.methods or not any(case in COUNTING for case in config.cases):
        return ""
    return (
        f"Where something is counted CRM has one reward machine, unrolled for N = {config.times}, "
        f"which handles every N; dotted is CRM on the machine for N = {config.times} alone."
    )


def _describe_ends(study: StudyResults, case: str) -> str:
    """List the success at the end, and the samples until solved, of each method."""
    told = []
    for group in study.groups:
        ends = [found for r in group.records if (found := read_final_success(r)) is not None]
        if group.case == case and ends:
            number = format_count(group.summary.run, "seed")
            solved = f"{group.summary.solved} of {number} solved it at some time"
            told.append(f"{group.method} {interquartile_mean(np.array(ends)):.2f} ({solved})")
    return f"Success at the end, {case}: {'; '.join(told)}." if told else ""


def _describe_equal_curves(study: StudyResults, case: str) -> str:
    """Describe for how many seeds CRM and CQL have the same curve."""
    found = []
    for method in ("CRM", "CQL"):
        group = study.group(method, case)
        records = () if group is None else group.records
        found.append({r.seed: r.result["curve"] for r in records if r.done})
    seeds = sorted(set(found[0]) & set(found[1]))
    if not seeds:
        return ""
    equal = sum(found[0][seed] == found[1][seed] for seed in seeds)
    told = "are one line: their curves are the same" if equal == len(seeds) else "have equal curves"
    return f"CRM and CQL ({case}) {told} for {equal} of {format_count(len(seeds), 'seed')}."


register_figure("deep", FigureKind(draw, caption))
