"""The tables of a learner: the machine as arrays and the values, which may grow.

The compiled functions see it as a :class:`~cranium.learners.tabular.kernels.LearnerArrays`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranium.arguments import check_memory
from cranium.automata.transition import Configuration
from cranium.counterfactual.sets import (
    ConfigurationArrays,
    ConfigurationSet,
    Current,
    Reachable,
    Seen,
    compute_candidates,
    configuration_set,
)
from cranium.errors import CraniumError, SpaceError
from cranium.learners.config import LearnerConfig, TabularConfig
from cranium.learners.exploration import (
    Boltzmann,
    EpsilonGreedy,
    Exploration,
    Optimism,
    exploration_rule,
)
from cranium.learners.run import CHUNK
from cranium.learners.schedules import Schedule, Visits
from cranium.learners.shaping import machine_values
from cranium.learners.tabular import kernels
from cranium.learners.tabular.rule_kernels import RuleCall
from cranium.learners.tabular.set_kernels import follow_set, set_arguments
from cranium.tables.configurations import is_overflow
from cranium.tables.space import ConfigurationSpace, copy_into

__all__ = ["LearnerTables"]

RANDOMS = 2 * (CHUNK + 1)  # two for each action
MOST_CHOSEN = 5_000
"""The greatest number of configurations with candidates of their own."""
Floats = NDArray[np.float64]


class LearnerTables:
    """The arrays of a learner.

    Args:
        space: The configurations.
        config: Of Q-learning; other learners use the tables only.
        num_actions: A.
        horizon: After how many steps an episode is cut off.
        observations: How many observations there is room for.
    """

    def __init__(
        self,
        space: ConfigurationSpace,
        config: LearnerConfig,
        num_actions: int,
        horizon: int | None,
        observations: int,
    ) -> None:
        self.space = space
        self.config = config if isinstance(config, TabularConfig) else TabularConfig()
        self.num_actions = num_actions
        self.horizon = horizon or 2**31
        self.position = np.zeros(kernels.POSITION, np.int64)
        self.position[kernels.DRAWN] = 1  # the seed of the samples of a set
        self.set = configuration_set(self.config.configurations)
        self.kind = _kind(self.set)
        rule = exploration_rule(self.config.exploration)
        self.rule = RuleCall(rule) if _rule(rule) == kernels.CALLED else None
        self._counters: dict[tuple[int, ...], int] = {}
        self._taken = (0, 0)  # how many labels and configurations the tables know
        self.look()
        self._allocate(observations, len(space), len(space.labels))
        chosen = self.set
        self.arrays.settings[:] = (
            self.kind,
            config.discount,
            self.horizon,
            -1 if chosen.sample is None else chosen.sample,
            chosen.seen_only,
        )
        self.arrays.rates[:] = (
            *_rate(self.config.learning_rate),
            *schedule_of(rule.rate),
            counts_episodes(self.config.learning_rate),
            counts_episodes(rule.rate),
            _rule(rule),
        )
        self._take_over()

    def _allocate(self, observations: int, configurations: int, labels: int) -> None:
        extras = 1 + len(self.space.reward_functions)
        counted = isinstance(self.config.learning_rate, Visits)
        sets = self._rows_of_candidates(configurations)
        sizes = (
            observations,
            configurations,
            self.num_actions,
            labels,
            extras,
            RANDOMS,
            counted,
            sets,
        )
        self.position[kernels.SIZES : kernels.SIZES + len(sizes)] = sizes
        values = observations * configurations * self.num_actions
        check_memory(
            f"{observations:,} observations × {configurations:,} configurations × "
            f"{self.num_actions:,} actions",
            8 * values,
            fix="lower the counter limit, or tell fewer observations apart",
        )
        table = labels * configurations
        self.ints = np.zeros(counted * values + 2 * table + (4 + sets) * configurations, np.int32)
        more = 2 * configurations + extras + RANDOMS + kernels.RATES + kernels.SETTINGS
        self.floats = np.zeros(values + table + more)
        self.arrays: kernels.LearnerArrays = kernels.in_python(kernels.arrays_from_buffers)(
            self.ints, self.floats, self.position
        )
        self.arrays.q[:] = self.config.first_value
        self.arrays.next_configuration[:] = kernels.UNKNOWN
        self.arrays.ending[:] = kernels.FAILED  # room that is not used yet is never relabelled
        self._point()

    @property
    def machine(self) -> kernels.MachineArrays:
        """The arrays of the machine, for planners and options."""
        return kernels.MachineArrays(
            *(getattr(self.arrays, name) for name in kernels.MachineArrays._fields)
        )

    @property
    def samples(self) -> int:
        """The number of samples so far."""
        return int(self.position[kernels.SAMPLES])

    @property
    def configuration(self) -> Configuration:
        """The configuration in which the learner is."""
        return self.space.decode(int(self.position[kernels.CONFIGURATION]))

    @property
    def room(self) -> int:
        """The number of observations for which there is room."""
        return int(self.arrays.q.shape[0])

    def grow(self, observations: int | None = None) -> None:
        """Make room for more observations, or for what was added to the configuration space.

        Arrays grow by doubling, so that the total cost of copying is linear.
        """
        self.look()
        self.resize(observations or self.room, *self._sizes())

    @property
    def sizes(self) -> tuple[int, int, int]:
        """For how many observations, configurations and labels there is room."""
        room, width, _ = self.arrays.q.shape
        return room, width, len(self.arrays.reward)

    def resize(self, observations: int, configurations: int, labels: int) -> None:
        """Make room for just so many, and take over what is new in the configuration space."""
        sizes, extras = (observations, configurations, labels), 1 + len(self.space.reward_functions)
        if sizes != self.sizes or extras != len(self.arrays.extra):
            self._reallocate(*sizes)
        self._take_over()

    def _sizes(self) -> tuple[int, int]:
        """The number of configurations and labels for which there must be room."""
        labels, width = self.arrays.reward.shape
        if len(self.space) > width:
            width = max(2 * width, len(self.space))
        if len(self.space.labels) > labels:
            labels = max(2 * labels, len(self.space.labels))
        return width, labels

    def _reallocate(self, observations: int, width: int, labels: int) -> None:
        old, held, position = self.arrays, (self.ints, self.floats), self.position.copy()
        try:
            self._allocate(observations, width, labels)
            for name in kernels.LearnerArrays._fields:
                if name not in ("position", "targets", "candidates"):
                    copy_into(getattr(old, name), getattr(self.arrays, name))
        except BaseException:  # Ctrl-C loses nothing
            self.arrays, (self.ints, self.floats) = old, held
            self.position[:] = position
            raise

    @property
    def address(self) -> int:
        """The address of ``position``, which holds the addresses of the buffers."""
        self._point()  # a copy of this memory lies elsewhere
        return int(self.position.ctypes.data)

    def _point(self) -> None:
        if self.rule is not None:
            self.position[kernels.RULE] = self.rule.address
        held = self.ints, self.floats
        places = [int(one.ctypes.data) for one in held] + [one.size for one in held]
        self.position[kernels.BUFFERS : kernels.BUFFERS + len(places)] = places

    def _take_over(self) -> None:
        """Copy new configurations and labels into the tables."""
        arrays, space, (rows, known) = self.arrays, self.space, self._taken
        labels, count = len(space.labels), len(space)
        new = range(known, count)
        waited = [pair for x in new for pair in space.leading_to(x) if pair[1] < known]
        columns, news = slice(known, count), slice(rows, labels)
        parts: list[Any] = [(slice(labels), columns), (news, slice(known)), *waited]
        tables = space.tables
        for part in parts:
            arrays.next_configuration[part] = tables.next_configuration[part]
            arrays.function[part] = tables.reward_function[part]
            arrays.reward[part] = tables.reward[part]
        accepting, terminal = tables.accepting[columns], tables.terminal[columns]
        arrays.ending[columns] = np.where(accepting, kernels.ACCEPTED, terminal)
        for x in new:
            configuration = space.configurations[x]
            if is_overflow(configuration):
                arrays.ending[x] = kernels.OVERFLOWED
            number = self._counters.setdefault(configuration.counters, len(self._counters))
            arrays.counters[x] = number
        if self.config.shaping:
            arrays.potential[columns] = self._potentials(known)
        self._taken = (labels, count)
        if self.kind == kernels.CHOSEN:
            self._choose_candidates()
        else:
            self._admit(new)

    def follow(self, x: int) -> None:
        """List the counterfactual configurations for this real one."""
        follow, arguments = kernels.in_python(follow_set), kernels.in_python(set_arguments)
        count = int(self.position[kernels.MEMBERS])
        self.position[kernels.MEMBERS] = follow(self.kind, x, count, *arguments(self.arrays))

    def _rows_of_candidates(self, configurations: int) -> int:
        """The number of configurations for each of which a CHOSEN set has candidates of its own."""
        if self.kind != kernels.CHOSEN:
            return 0
        start = ConfigurationArrays.of(self.space.configurations[:1])
        if len(self.set.candidates(start, np.zeros(2, np.int64))) == 1:
            return 1
        if configurations > MOST_CHOSEN:
            raise SpaceError(
                f"{type(self.set).__name__} depends on the real configuration, and there are "
                f"{configurations:,} configurations, more than {MOST_CHOSEN:,}",
                fix="lower the counter limit",
            )
        return configurations

    def _choose_candidates(self) -> None:
        """Ask a CHOSEN set which configurations belong to it, and list those of the real one."""
        count, rows = len(self.space), len(self.arrays.candidates)
        known = ConfigurationArrays.of(self.space.configurations)
        real = np.arange(min(rows, count))
        self.arrays.candidates[: len(real), :count] = compute_candidates(self.set, known, real)
        self.follow(int(self.position[kernels.CONFIGURATION]))

    def _admit(self, new: range) -> None:
        """Add new configurations to the set of counterfactual ones, if they belong to it."""
        arrays, position = self.arrays, self.position
        if self.kind == kernels.CURRENT:
            arrays.members[0], position[kernels.MEMBERS] = position[kernels.CONFIGURATION], 1
            return
        columns = slice(new.start, new.stop)
        alive = arrays.ending[columns] == kernels.GOES_ON
        if self.kind == kernels.SEEN:
            alive &= arrays.known[arrays.counters[columns]] > 0
        members, first = new.start + np.flatnonzero(alive), int(position[kernels.MEMBERS])
        arrays.members[first : first + len(members)] = members
        position[kernels.MEMBERS] = first + len(members)

    def error(self, status: int) -> CraniumError | None:
        """The machine's own error if it refused to go on, or that of an exploration rule."""
        if status == kernels.RULE_FAILED and self.rule is not None:
            raise self.rule.error or RuntimeError("an exploration rule failed without an error")
        if status == kernels.REFUSED:
            for (_, x), problem in self.space.problems.items():
                if x == self.position[kernels.CONFIGURATION]:
                    return problem
        return None

    def look(self) -> None:
        """Compute the transitions of new labels and configurations."""
        rows, known = self._taken
        following = self.space.tables.next_configuration
        self._look_at(following[:, known:], 0, known)
        self._look_at(following[rows:, :known], rows, 0)
        for x in range(known, len(self.space)):
            for row, before in self.space.leading_to(x):
                self.space.look(row, before)

    def _look_at(self, following: NDArray[np.int32], row: int, x: int) -> None:
        missing = np.nonzero(following == kernels.UNKNOWN)
        for i, j in zip(*(found.tolist() for found in missing), strict=True):
            self.space.look(row + i, x + j)

    def _potentials(self, first: int) -> Floats:
        sign = -1.0 if self.config.shaping == "published" else 1.0
        return sign * self.values_of_machine(self.config.shaping_discount, first=first)

    def values_of_machine(self, discount: float, bonus: float = 0.0, first: int = 0) -> Floats:
        """Return the machine values of the configurations from ``first`` on, for shaping."""
        return machine_values(
            self.space.automaton,
            self.space.configurations[first:],
            discount=discount,
            counter_limit=self.space.counter_limit,
            bonus=bonus,
        )


def _kind(chosen: ConfigurationSet) -> int:
    """The kind of a set: those of the paper are followed by the loop itself."""
    kinds = {Current(): kernels.CURRENT, Seen(): kernels.SEEN, Reachable(): kernels.REACHABLE}
    own = type(chosen) in (Current, Seen, Reachable)
    return kinds.get(chosen, kernels.CHOSEN) if own else kernels.CHOSEN


def _rule(rule: Exploration) -> int:
    """Which rule the loop follows; it calls those that it does not know."""
    kinds = {
        EpsilonGreedy: kernels.EPSILON_GREEDY,
        Optimism: kernels.EPSILON_GREEDY,
        Boltzmann: kernels.BOLTZMANN,
    }
    return kinds.get(type(rule), kernels.CALLED)


def _rate(value: float | Schedule | Visits) -> tuple[float, float, float, float]:
    if isinstance(value, Visits):
        return float(kernels.VISITS), value.power, 0.0, 1.0
    if isinstance(value, Schedule):
        return float(kernels.LINEAR), value.first, value.last, float(value.over)
    return float(kernels.CONSTANT), float(value), 0.0, 1.0


def schedule_of(value: float | Schedule) -> tuple[float, float, float]:
    """Return the first value, the last value and the duration of a schedule."""
    if isinstance(value, Schedule):
        return value.first, value.last, float(value.over)
    return float(value), float(value), 1.0


def counts_episodes(value: float | Schedule | Visits) -> bool:
    """Whether a schedule counts episodes instead of samples."""
    return isinstance(value, Schedule) and value.unit == "episodes"
