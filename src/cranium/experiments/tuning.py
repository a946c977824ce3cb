"""Searches for settings: a grid, or Optuna. They run on seeds of their own, which no table has."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from cranium.arguments import check_count
from cranium.errors import InvalidArgumentError, MissingExtraError, format_count, shorten

__all__ = ["Candidates", "Grid", "Optuna", "Search", "Tried", "best_of", "score_of"]

Setting = float | int | str | bool | None
Settings = Mapping[str, Any]
TIES = 1e-7
"""How much the mean counts beside the median."""
BATCH = 4
"""How many settings Optuna proposes before it is told how good they are: they run at once."""
RANGES: Mapping[str, tuple[float, float]] = {
    "learning_rate": (0.05, 1.0),
    "exploration": (0.01, 0.3),
}
"""What Optuna searches if it is not told, with tables."""
NETWORK_RANGES: Mapping[str, tuple[float, float]] = {"learning_rate": (1e-4, 1e-2)}
"""The same with networks: their default learning rate is below 0.05."""


@dataclass(frozen=True)
class Tried:
    """A candidate and how good it was: lower scores are better, infinite ones failed."""

    settings: Settings
    score: float


class Search(Protocol):
    """The interface of a search."""

    @property
    def seeds(self) -> int:
        """The number of seeds on which each candidate is tried."""

    def propose(self, defaults: Settings, tried: Sequence[Tried]) -> list[dict[str, Any]]:
        """The next candidates for a learner, given all earlier ones in order; none at the end.

        The same arguments give the same candidates, so that an interrupted search goes on.
        """

    def describe(self) -> str:
        """The search in a sentence, for captions."""

    def smaller(self) -> Search:
        """A smaller version, to see that it works."""


class Grid:
    """All combinations of some settings.

    A learner is tried with those of the settings that it has.

    Args:
        seeds: The number of seeds on which each combination is tried.
        **axes: The values of each setting.

    Example:
        >>> grid = Grid(learning_rate=[0.1, 1.0], shaping=[False, True])
        >>> len(grid.propose({"learning_rate": 0.5, "shaping": False}, []))
        4
        >>> grid.propose({"patience": 3}, [])
        []
    """

    def __init__(self, *, seeds: int = 3, **axes: Sequence[Setting]) -> None:
        self.seeds = check_count("seeds", seeds)
        for name, values in axes.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise InvalidArgumentError(
                    f"the grid has no list of values for {name}: {shorten(values)}",
                    fix=f"such as {name}=[0.1, 0.5]",
                )
        if not axes:
            raise InvalidArgumentError("the grid is empty", fix="such as learning_rate=[0.1, 0.5]")
        self.axes = {name: tuple(values) for name, values in axes.items()}

    def propose(self, defaults: Settings, tried: Sequence[Tried]) -> list[dict[str, Any]]:
        """All combinations at once.

        Example:
            >>> Grid(learning_rate=[0.1, 1.0]).propose({"learning_rate": 0.5}, [])
            [{'learning_rate': 0.1}, {'learning_rate': 1.0}]
        """
        axes = {name: values for name, values in self.axes.items() if name in defaults}
        if tried or not axes:
            return []
        return [dict(zip(axes, each, strict=True)) for each in itertools.product(*axes.values())]

    def describe(self) -> str:
        """The grid in a sentence.

        Example:
            >>> "learning rate 0.1, 1.0" in Grid(learning_rate=[0.1, 1.0]).describe()
            True
        """
        axes = "; ".join(
            f"{name.replace('_', ' ')} {', '.join(map(str, values))}"
            for name, values in self.axes.items()
        )
        return (
            f"Settings were chosen for each problem from a grid ({axes}), each tried on "
            f"{describe_hidden_seeds(self.seeds)}."
        )

    def smaller(self) -> Grid:
        """The first two values of each axis, on one seed.

        Example:
            >>> Grid(learning_rate=[0.1, 0.5, 1.0]).smaller().axes
            {'learning_rate': (0.1, 0.5)}
        """
        return Grid(seeds=1, **{name: values[:2] for name, values in self.axes.items()})


@dataclass(frozen=True)
class Candidates:
    """A list of settings, of which the best is taken.

    Unlike those of a :class:`Grid`, settings that belong together can change together.

    Args:
        settings: The candidates.
        seeds: The number of seeds on which each is tried.
        steps: The budget of each trial, or one for each problem by its name; by default that of the
            study.
        until: ``"solved"`` ends these trials when the task is solved, ``"budget"`` does not; by
            default they end as those of the study.
        evaluate_every: The number of samples between two evaluations; by default that of the study.

    Example:
        >>> search = Candidates([{"shaping": True, "discount": 0.9}, {"discount": 0.99}], seeds=2)
        >>> len(search.propose({"discount": 0.95}, [])), search.smaller().seeds
        (2, 1)
    """

    settings: Sequence[Settings]
    seeds: int = 3
    steps: int | Mapping[str, int] | None = None
    until: Literal["solved", "budget"] | None = None
    evaluate_every: int | None = None

    def __post_init__(self) -> None:
        check_count("seeds", self.seeds)
        if not self.settings or not all(isinstance(each, Mapping) for each in self.settings):
            raise InvalidArgumentError(
                f"the candidates are {shorten(self.settings)}",
                fix="such as [{'learning_rate': 0.1}, {'learning_rate': 0.5}]",
            )

    def propose(self, defaults: Settings, tried: Sequence[Tried]) -> list[dict[str, Any]]:
        """All of them at once.

        Example:
            >>> Candidates([{"learning_rate": 0.1}]).propose({}, [])
            [{'learning_rate': 0.1}]
        """
        del defaults  # they are told with the settings
        return [] if tried else [dict(each) for each in self.settings]

    def describe(self) -> str:
        """The search in a sentence.

        Example:
            >>> "from 2 candidates" in Candidates([{"a": 1}, {"a": 2}]).describe()
            True
        """
        return (
            "Settings were chosen for each problem from "
            f"{format_count(len(self.settings), 'candidate')}, each tried on "
            f"{describe_hidden_seeds(self.seeds)}."
        )

    def smaller(self) -> Candidates:
        """The first two candidates on one seed.

        Example:
            >>> len(Candidates([{"a": 1}, {"a": 2}, {"a": 3}]).smaller().settings)
            2
        """
        return replace(self, settings=self.settings[:2], seeds=1)


class Optuna:
    """Settings that Optuna's tree-structured Parzen estimator proposes.

    Args:
        trials: The number of candidates for each learner and problem.
        seeds: The number of seeds on which each candidate is tried.
        **space: The settings: a list of choices, or a pair, the least and the greatest value. A
            pair of positive numbers that are a factor of ten apart is searched on a logarithmic
            scale. Left out, it searches the learning rate and, with tables, the exploration.

    Example:
        >>> search = Optuna(trials=2, seeds=1, learning_rate=(0.1, 1.0))
        >>> first = search.propose({"learning_rate": 0.5}, [])
        >>> len(first), first == search.propose({"learning_rate": 0.5}, [])
        (2, True)
    """

    def __init__(
        self,
        trials: int = 40,
        *,
        seeds: int = 3,
        **space: Sequence[Setting],
    ) -> None:
        try:
            import optuna
        except ImportError:
            raise MissingExtraError.of(
                "Optuna is not installed", "tune", "search a grid: cranium.Grid"
            ) from None
        self._optuna: Any = optuna
        self.trials, self.seeds = check_count("trials", trials), check_count("seeds", seeds)
        self.space = {name: _check_axis(name, values) for name, values in space.items()}

    def propose(self, defaults: Settings, tried: Sequence[Tried]) -> list[dict[str, Any]]:
        """The next candidates. What was tried is told anew, in batches, as it was before.

        Example:
            >>> search = Optuna(trials=1, learning_rate=[0.5, 1.0])
            >>> search.propose({"learning_rate": 0.1}, [Tried({"learning_rate": 0.5}, 7.0)])
            []
        """
        space = self._space_of(defaults)
        if not space or len(tried) >= self.trials:
            return []
        study, told = self._new_study(), 0
        while True:
            count = min(BATCH, self.trials - told)
            asked = [study.ask() for _ in range(count)]
            found = [{name: _ask(one, name, space[name]) for name in space} for one in asked]
            if len(tried) <= told:
                return found
            for one, result in zip(asked, tried[told : told + count], strict=True):
                score = result.score
                study.tell(one, score if math.isfinite(score) else 1e300)
            told += count

    def _new_study(self) -> Any:
        self._optuna.logging.set_verbosity(self._optuna.logging.WARNING)
        sampler = self._optuna.samplers.TPESampler(seed=0, n_startup_trials=min(10, self.trials))
        return self._optuna.create_study(sampler=sampler)

    def _space_of(self, defaults: Settings) -> dict[str, Sequence[Setting]]:
        if self.space:
            return {name: axis for name, axis in self.space.items() if name in defaults}
        rate = defaults.get("learning_rate")
        ranges = NETWORK_RANGES if isinstance(rate, float) and rate < 0.05 else RANGES
        return {
            name: each for name, each in ranges.items() if isinstance(defaults.get(name), float)
        }

    def describe(self) -> str:
        """The search in a sentence.

        Example:
            >>> "from 40 candidates" in Optuna().describe()
            True
        """
        return (
            "Settings were chosen for each problem by Optuna, from "
            f"{format_count(self.trials, 'candidate')} for each learner, each tried on "
            f"{describe_hidden_seeds(self.seeds)}."
        )

    def smaller(self) -> Optuna:
        """Two candidates on one seed.

        Example:
            >>> Optuna(trials=40).smaller().trials
            2
        """
        return Optuna(min(self.trials, 2), seeds=1, **self.space)


def describe_hidden_seeds(seeds: int) -> str:
    """The seeds of a search in words.

    Example:
        >>> describe_hidden_seeds(1), describe_hidden_seeds(3)
        ('1 seed that is not reported', '3 seeds that are not reported')
    """
    return f"{format_count(seeds, 'seed')} that {'is' if seeds == 1 else 'are'} not reported"


def _check_axis(name: str, values: Sequence[Setting]) -> Sequence[Setting]:
    if isinstance(values, list) and values:
        return list(values)
    numbers = isinstance(values, tuple) and all(isinstance(each, int | float) for each in values)
    if not numbers or len(values) != 2 or not values[0] < values[1]:  # type: ignore[operator]
        raise InvalidArgumentError(
            f"{name} is a list of choices or a pair of numbers, not {shorten(values)}",
            fix=f"such as {name}=(0.01, 1.0)",
        )
    return tuple(values)


def _ask(trial: Any, name: str, axis: Sequence[Setting]) -> Setting:
    if isinstance(axis, list):
        chosen: Setting = trial.suggest_categorical(name, axis)
        return chosen
    low, high = axis
    assert isinstance(low, int | float)
    assert isinstance(high, int | float)
    if isinstance(low, int) and isinstance(high, int):
        whole: int = trial.suggest_int(name, low, high)
        return whole
    number: float = trial.suggest_float(name, low, high, log=low > 0 and high >= 10 * low)
    return number


def score_of(
    values: Sequence[float | None], *, lower_is_better: bool, budget: float, failed: bool
) -> float:
    """How good a candidate was on its seeds: lower is better.

    If lower values are better, the candidate that was solved on most seeds is the best; then that
    with the lowest median, in which an unsolved trial counts as its whole budget; then that with
    the lowest mean. If higher values are better, the median counts, and then the mean. A candidate
    with a failed trial is the last choice.

    Example:
        >>> tried = [[100, 300, None], [900, 900, 900], [100, 200, 400]]
        >>> [score_of(each, lower_is_better=True, budget=1000, failed=False) > 1000
        ...  for each in tried]
        [True, False, False]
        >>> score_of([], lower_is_better=True, budget=1000, failed=True)
        inf
    """
    if failed or not values:
        return math.inf
    sign, worst = (1.0, budget) if lower_is_better else (-1.0, 0.0)
    filled = [worst if value is None else value for value in values]
    unsolved = sum(value is None for value in values) if lower_is_better else 0
    middle = statistics.median(filled) + TIES * statistics.fmean(filled)
    return unsolved * 2 * budget + sign * middle


def best_of(tried: Sequence[Tried]) -> dict[str, Any]:
    """The settings with the lowest score; the first of them.

    Example:
        >>> best_of([Tried({"a": 1}, 5.0), Tried({"a": 2}, 3.0)])
        {'a': 2}
    """
    return dict(min(tried, key=lambda each: each.score).settings) if tried else {}
