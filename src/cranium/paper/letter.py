"""Figure "letter-res": the number of samples until A^N B C D^N is learned.

There are two protocols. ``fair`` counts training samples until the greedy policy solves every
instance, with the Markov observation and equal tuning, for each N and with N sampled from all
values. Reward machines are unrolled: for each N, or once for the greatest one. ``paper`` has the
published schedule and stopping rule, and observes the cell only: see ``letter_paper``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from cranium.arguments import check_count
from cranium.errors import InvalidArgumentError, format_count, shorten
from cranium.experiments.results import Group, StudyResults
from cranium.figures.captions import (
    describe_evaluations,
    describe_results,
    describe_tuning,
    join_words,
)
from cranium.figures.kinds import FigureKind, register_figure
from cranium.figures.points import draw_points
from cranium.figures.style import add_legend_below, new_figure
from cranium.paper import letter_paper
from cranium.paper.against_n import draw_against_n
from cranium.paper.config import (
    MOST_COUNTED,
    MOST_SAMPLES,
    MOST_TUNING_TRIALS,
    ExperimentConfig,
    check_limit,
    check_names,
    read_config,
    register,
)
from cranium.paper.grids import METHODS, REWARD_MACHINES, tune_on
from cranium.paper.problems import PaperProblem
from cranium.studies import JointStudy, Method, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SUM", "LetterConfig", "caption", "draw", "name_range_of_times"]

SUM = "all N, a machine for each"
"""The name of the sum over the cases with one N each."""
EACH = ("HRM",)
"""Methods that are run for each N only: HRM learns the best way along each edge of the machine by
itself, and such ways together need not solve every N."""
DETAIL = " (learning rate, exploration, and the initial value or, with shaping, the potential)"


def name_range_of_times(times: tuple[int, ...]) -> str:
    """The name of the case in which N is sampled."""
    return f"N = {min(times)} to {max(times)}"


@register
@dataclass(frozen=True)
class LetterConfig(ExperimentConfig):
    """The letter experiment.

    Attributes:
        trials: The number of seeds.
        protocol: ``"fair"`` or ``"paper"``.
        times: The values of N.
        methods: The methods that are compared, from ``METHODS`` of the grids.
        tuning_trials: The number of seeds on which each candidate setting is tried.
        budget: The number of samples after which a trial counts as not solved.

    Example:
        >>> LetterConfig(trials=2, methods=("CQL", "planner")).times
        (1, 2, 3, 4, 5)
    """

    name = "letter"
    place = 0
    title = "Samples to learn A^N B C D^N"

    trials: int = 40
    protocol: Literal["fair", "paper"] = "fair"
    times: tuple[int, ...] = (1, 2, 3, 4, 5)
    methods: tuple[str, ...] = tuple(METHODS)
    tuning_trials: int = 5
    budget: int = 3_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("method", self.methods, list(METHODS))
        check_limit("tuning_trials", self.tuning_trials, MOST_TUNING_TRIALS)
        check_limit("budget", self.budget, MOST_SAMPLES)
        if self.protocol not in ("fair", "paper"):
            raise InvalidArgumentError(f"a protocol is fair or paper, not {self.protocol!r}")
        if not self.compared:
            raise InvalidArgumentError(
                f"the paper has no {', '.join(self.methods)}",
                fix=f"it has {', '.join(letter_paper.METHODS)}",
            )
        if not self.times or list(self.times) != sorted(set(self.times)):
            raise InvalidArgumentError(f"times are numbers that grow, not {self.times}")
        for value in self.times:
            check_count("N", value)
            if value > MOST_COUNTED:
                raise InvalidArgumentError(
                    f"N is at most {MOST_COUNTED} here, not {shorten(value)}"
                )
            if self.protocol == "paper" and value not in letter_paper.EPISODES:
                raise InvalidArgumentError(f"the paper has schedules for N = 1 to 5, not {value}")

    @property
    def variants(self) -> tuple[str, ...]:
        """The published protocol is a variant."""
        return ("paper",) if self.protocol == "paper" else ()

    @property
    def whole(self) -> bool:
        """Whether the times are a whole range, so that one machine can be compared with many."""
        low, high = min(self.times), max(self.times)
        return 1 < len(self.times) == high - low + 1

    @property
    def compared(self) -> tuple[str, ...]:
        """The methods that the protocol has: the paper has four of them."""
        known = METHODS if self.protocol == "fair" else letter_paper.METHODS
        return tuple(method for method in known if method in self.methods)

    def quick(self) -> Self:
        """Three seeds, two values of N."""
        few, times = min(self.trials, 3), self.times[:2]
        return replace(self, trials=few, times=times, tuning_trials=1, is_quick=True)

    def cpu_seconds(self) -> float:
        """An estimate from earlier runs."""
        if self.protocol == "paper":
            each = {1: 0.15, 2: 0.2, 3: 0.3, 4: 2.5, 5: 3.0}
            return self.trials * len(self.compared) * sum(each[value] for value in self.times)
        each_n: float = sum(0.03 + 0.0012 * value**2.2 for value in self.times)
        drawn = 0.004 * max(self.times) ** 2 if self.whole else 0.0
        total = 10.0
        for name in self.compared:  # reward machines that are unrolled once have a row, too
            search = tune_on(METHODS[name][2], self.tuning_trials)
            runs = self.trials + (0 if search is None else len(search.settings) * search.seeds)
            total += runs * (each_n + (0.0 if name in EACH else drawn))
        return total

    def study(self) -> JointStudy:
        """The study of the protocol."""
        if self.protocol == "paper":
            return letter_paper.build_study(self)
        sums = {SUM: tuple(f"N = {value}" for value in self.times)} if self.whole else {}
        return self.join([self._fair_study()], steps=self.budget, sums=sums)

    def _fair_study(self) -> Study:
        """Every method on every case, with its best settings."""
        cases: dict[str, tuple[Any, int]] = {f"N = {n}": (n, n) for n in self.times}
        if self.whole:
            span = [min(self.times), max(self.times)]
            cases[name_range_of_times(self.times)] = (span, max(self.times))
        budgets = {case: min(most_to_tune(most), self.budget) for case, (_, most) in cases.items()}
        return Study(
            self.name,
            _make_problems(cases),
            {name: self._make_method(name, cases, budgets) for name in self.compared},
            seeds=self.trials,
            steps=self.budget,
            evaluate_every=100,
        )

    def _make_method(
        self, name: str, cases: Mapping[str, tuple[Any, int]], budgets: Mapping[str, int]
    ) -> Method:
        learner, settings, grid = METHODS[name]
        if name in EACH:  # a trial with N sampled is not solved, and takes half a minute
            cases = {case: told for case, told in cases.items() if told[0] == told[1]}
        return Method(
            learner,
            settings,
            problems=_make_problems(cases, unrolled=True) if name in REWARD_MACHINES else None,
            tune=tune_on(grid, self.tuning_trials, steps=budgets),
            evaluate_every=20 if learner == "planner" else None,
        )


def most_to_tune(most: int) -> int:
    """The budget of tuning trials if N is at most this."""
    return max(100_000, 5_000 * most**2)


def _make_problems(
    cases: Mapping[str, tuple[Any, int]], *, unrolled: bool = False
) -> dict[str, PaperProblem]:
    """The problem of each case; with reward machines that are unrolled for the greatest N of it."""
    return {
        case: PaperProblem("Letter", "anbcdn", {"times": times}, limit=most if unrolled else None)
        for case, (times, most) in cases.items()
    }


def draw(study: StudyResults) -> dict[str, Figure]:
    """Draw the figure; returns it by name."""
    config = read_config(study, LetterConfig)
    with new_figure(8.4, 4.4, study.methods) as figure:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        draw_against_n(left, study, config.times, config.budget)
        left.set(ylabel="samples until solved", title="One task at a time")
        whole = _find_whole(study, config)
        if whole:
            _draw_all_tasks(right, whole)
        else:
            right.set_visible(False)
        add_legend_below(figure, left)
    return {"letter": figure}


def _find_whole(study: StudyResults, config: LetterConfig) -> list[Group]:
    """What it takes to solve all N: with one machine, and as a sum for reward machines."""
    one = [g for g in study.groups if g.case == name_range_of_times(config.times)]
    sums = [group for group in study.sums if group.method in REWARD_MACHINES]
    return [group for group in (*one, *sums) if config.whole and group.summary.run]


def _draw_all_tasks(axes: Axes, groups: list[Group]) -> None:
    """Draw the samples until all tasks are solved; markers of sums over machines are hollow."""

    def name(group: Group) -> str:
        if group.method not in REWARD_MACHINES:
            return group.method
        told = "one for each N" if group.case == SUM else "unrolled once"
        return f"{group.method}\n{told}"

    draw_points(axes, groups, name, hollow=SUM)
    axes.set_title("All tasks")


def caption(study: StudyResults) -> str:
    """Write the caption: what was run, and what the figure shows."""
    config = read_config(study, LetterConfig)
    parts = [
        "**Samples until the greedy policy solves A^N B C D^N** (Figure “letter-res”), in "
        "LetterEnv with the Markov observation (cell, observations left). "
        f"{format_count(config.trials, 'seed')}; interquartile means with 95 % bootstrap "
        "intervals.",
        describe_tuning(study, f"{DETAIL} for every N by itself"),
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
        told.append(
            f"{join_words(unrolled)}: on the machine unrolled for the greatest N of the case."
        )
    return " ".join(told)


def _describe_all_tasks(study: StudyResults, config: LetterConfig) -> str:
    """Describe the samples until all N are solved: with one machine, and with one for each N."""
    found = _find_whole(study, config)
    one = [group for group in found if group.case != SUM]
    unrolled = [group for group in one if group.method in REWARD_MACHINES]
    counting = [group for group in one if group.method not in REWARD_MACHINES]
    several = [group for group in found if group.case == SUM]
    most, told = max(config.times), []
    if counting:
        told.append(f"with N drawn from all values: {describe_results(counting)}")
    if unrolled:
        told.append(
            f"the same on one reward machine, unrolled for N = {most}, which handles every N: "
            f"{describe_results(unrolled)}"
        )
    if several:
        told.append(
            f"added up over {len(config.times)} reward machines, one for each N (hollow), which "
            f"learn nothing from each other: {describe_results(several)}"
        )
    text = f"*Right:* samples until all N are solved, {'; '.join(told)}." if told else ""
    return f"{text}{_compare_with_one_machine(study, config)}"


def _compare_with_one_machine(study: StudyResults, config: LetterConfig) -> str:
    """Compare CRM on the machine that is unrolled once with CQL on the automaton with counters."""
    case, parts = name_range_of_times(config.times), []
    machine = study.group("CRM", case)
    if machine is None or not machine.summary.iqm:
        return ""
    for name, other in (
        ("“CQL all”", study.group("CQL all", case)),
        ("one machine for each N", study.group("CRM", SUM)),
    ):
        if other is not None and other.summary.iqm:
            parts.append(f"{machine.summary.iqm / other.summary.iqm:.2f} times those of {name}")
    if not parts:
        return ""
    return f" The samples of CRM on the machine unrolled once are {join_words(parts)}."


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


def _draw_published(study: StudyResults) -> dict[str, Figure]:
    return letter_paper.draw(study, read_config(study, LetterConfig))


def _caption_published(study: StudyResults) -> str:
    return letter_paper.caption(study, read_config(study, LetterConfig))


register_figure("letter", FigureKind(draw, caption))
register_figure("letter-paper", FigureKind(_draw_published, _caption_published))
