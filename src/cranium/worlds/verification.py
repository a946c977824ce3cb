"""Compare the table of a world with the live environment, by random walks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from math import log, sqrt
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.arguments import check_count
from cranium.errors import WorldError, shorten
from cranium.worlds.lasting_actions import find_rooms, lasting_actions
from cranium.worlds.observations import copy_observation, observation_key
from cranium.worlds.protocols import FiniteWorld, LabellingFunction, StateKey, events_after_step

if TYPE_CHECKING:
    from cranium.worlds.tabular import TabularWorld

__all__ = ["Clock", "Walk", "lift_limits", "time_limit"]

RESETS = 200
EPISODE = 100
"""The number of steps after which a short walk begins a new episode."""
LASTING = 10
"""The number of long walks."""
MORE = 20_000
"""The greatest number of steps of all long walks but the first, unless the first takes more."""
CUT = "the environment truncated an episode by itself"
_Seen = tuple[Hashable, frozenset[str], bool, float]
OutcomeT = TypeVar("OutcomeT", bound=Hashable)


class Clock:
    """The environment's own time limit, as far as it was seen.

    If the environment counts its steps, it truncates every episode after the same number of them.
    If it truncates episodes after different numbers of steps, truncation depends on hidden state,
    and a table of its states cannot describe it.

    Args:
        cut: The time limit, if there is one.
        known: Whether ``cut`` is certain: then everything else is refused.

    Example:
        >>> clock = Clock()
        >>> clock.see(29, truncated=False), clock.see(30, truncated=True), clock.cut
        (None, None, 30)
        >>> clock.see(12, truncated=True)
        Traceback (most recent call last):
        cranium.errors.WorldError: the environment truncated an episode by itself after 12 steps, but another one after 30
          fix: make the environment without its own time limit and give the product a horizon, or train with path="python"
    """  # noqa: E501 - one line of output

    def __init__(self, cut: int | None = None, *, known: bool = False) -> None:
        self.cut = cut
        self.known = known
        self.lasted = 0

    def see(self, steps: int, *, truncated: bool) -> None:
        """Record that an episode was truncated after this number of steps, or continued."""
        if not truncated:
            self.lasted = max(self.lasted, steps)
            if self.cut is not None and steps >= self.cut:
                self._refuse(
                    f"an episode continued after {steps} steps, but the time limit is {self.cut}"
                    if self.known
                    else f"{CUT} after {self.cut} steps, but another one continued after {steps}"
                )
        elif self.cut is None and not self.known and steps > self.lasted:
            self.cut = steps
        elif steps != self.cut:
            if self.known:
                limit = "the table has no time limit"
                other = f"the time limit is {self.cut}" if self.cut else limit
            else:
                last = f"after {self.cut}" if self.cut else f"continued after {self.lasted}"
                other = f"another one {last}"
            self._refuse(f"{CUT} after {steps} steps, but {other}")

    def _refuse(self, what: str) -> None:
        raise WorldError(
            what,
            fix="make the environment without its own time limit and give the product a horizon, "
            'or train with path="python"',
        )


class Walk:
    """Random walks that compare every step with a table.

    Args:
        world: The table.
        env: The environment that it was made from.
        labelling: Its events; left out, the world's own.
        state_key: A function of the environment and the observation that tells the states apart.
        seed: For the walks.
        clock: The time limit of the environment; by default that of the table.
    """

    def __init__(
        self,
        world: TabularWorld,
        env: gym.Env[Any, Any],
        labelling: LabellingFunction | None,
        state_key: StateKey | None,
        seed: int,
        clock: Clock | None = None,
    ) -> None:
        self.world = world
        self.env = env
        self.labelling = labelling
        self.key = state_key or default_state_key(env)
        self.seed = seed
        limits = [limit for limit in (world.horizon, time_limit(env)) if limit is not None]
        self.clock = clock or Clock(min(limits, default=None), known=True)
        self.random = np.random.default_rng(seed)
        self.numbers = {state: index for index, state in enumerate(world.states)}
        self.starts: dict[int, int] = {}
        self.counts: dict[int, dict[_Seen, int]] = {}
        self.known: dict[int, dict[_Seen, float]] = {}
        self.steps = self.age = self.longest = 0
        self.every = np.arange(world.num_actions)

    def run(self, steps: int, longest: int | None = None) -> int:
        """Take steps in short walks. The first that differs from the table is an error.

        Args:
            steps: The number of steps.
            longest: If it is given, take long walks, too: see :meth:`last`.

        Returns:
            The number of steps that were taken.
        """
        check_count("steps", steps)
        for number in range(max(RESETS, steps // 5)):
            here = self._begin(self.seed if number == 0 else None)
        over = False
        for _ in range(steps):
            if over or self.age == EPISODE:
                here = self._begin()
            here, over = self._step(*here, self.every)
        if longest is not None:
            self.last(longest)
        self._check_frequencies()
        return self.steps

    def last(self, longest: int) -> None:
        """Take long walks that avoid the end of the episode, to find a hidden time limit.

        The first walk takes up to so many steps and chooses at random among the actions with which
        the episode lasts longest. The others take as many in total, or 20,000 if that is more. Half
        of them prefer an action each; the others stay as long as they can where there is no way
        back to, so that they are late afterwards.
        """
        lasting = lasting_actions(self.world, longest)
        room, returning = find_rooms(self.world)
        share = min(longest, max(longest, MORE) // (LASTING - 1))
        for number in range(LASTING):
            here, over = self._begin(), False
            favourite = number // 2 % self.world.num_actions if number % 2 else None
            inside, until = -1, 0  # the room that it is in, and the age at which it may leave it
            while not over and self.age < (share if number else longest):
                state = here[0]
                good = lasting[state]
                if favourite is not None:
                    good = good & (self.every == favourite) if good[favourite] else good
                elif number:
                    if room[state] != inside:
                        inside, until = room[state], self._later(share)
                    stays = good & returning[state]
                    good = stays if self.age < until and stays.any() else good
                here, over = self._step(*here, np.flatnonzero(good))

    def _later(self, most: int) -> int:
        """Draw a later age of the episode, uniformly on a logarithmic scale."""
        return int(self.age + (most - self.age) ** self.random.random())

    def _begin(self, seed: int | None = None) -> tuple[int, Any]:
        observation, _ = self.env.reset(seed=seed)
        number = self._number(observation)
        if not self.world.initial[number]:
            state = self.world.states[number]
            raise WorldError(f"the table does not begin in {shorten(state)}, the environment did")
        self.starts[number] = self.starts.get(number, 0) + 1
        self.age = 0
        return number, copy_observation(observation)

    def _number(self, observation: Any) -> int:
        state = self.key(self.env, observation)
        number = self.numbers.get(state)
        if number is None:
            raise WorldError(f"the table does not have the state {shorten(state)}")
        known = self.world.observations[self.world.observation[number]]
        if observation_key(known) != observation_key(observation):
            raise WorldError(
                f"in {shorten(state)} the environment shows {shorten(observation)}, but the table "
                f"{shorten(known)}"
            )
        return number

    def _step(self, number: int, before: Any, among: NDArray[Any]) -> tuple[tuple[int, Any], bool]:
        world = self.world
        action = int(among[self.random.integers(len(among))])
        called = action + world.first_action
        after, reward, terminated, truncated, _ = self.env.step(called)
        self.steps, self.age = self.steps + 1, self.age + 1
        self.longest = max(self.longest, self.age)
        events = events_after_step(self.env, self.labelling, before, called, after)
        found = (self.key(self.env, after), events, bool(terminated), float(reward))
        row = number * world.num_actions + action
        if (known := self.known.get(row)) is None:
            known = self.known[row] = self._outcomes_of_row(row)
        if found not in known:
            raise WorldError(
                f"after {self.age - 1} steps of an episode, action {called} in state "
                f"{shorten(world.states[number])} led to {shorten(found)}, but the table knows "
                f"{shorten(list(known))} (next state, events, terminated, reward)",
                fix="if the environment is random, give it a model P or write a FiniteEnv; if it "
                "counts steps or hides other state, include that in state_key=…; or train with "
                "path='python'",
            )
        if truncated or not terminated:
            self.clock.see(self.age, truncated=bool(truncated))
        counts = self.counts.setdefault(row, {})
        counts[found] = counts.get(found, 0) + 1
        return (self._number(after), copy_observation(after)), bool(terminated or truncated)

    def _outcomes_of_row(self, row: int) -> dict[_Seen, float]:
        world = self.world
        known: dict[_Seen, float] = {}
        for o in range(world.first[row], world.first[row + 1]):
            state, events = world.states[world.next_state[o]], world.labels[world.label[o]]
            outcome = (state, events, bool(world.terminated[o]), float(world.reward[o]))
            known[outcome] = known.get(outcome, 0.0) + float(world.probability[o])
        return known

    def _check_frequencies(self) -> None:
        world = self.world
        starts = {n: float(world.initial[n]) for n in map(int, np.flatnonzero(world.initial))}
        start = find_deviation(starts, self.starts)
        if start is not None:
            raise start.error("an episode began in", world.states[start.outcome])
        for row, counts in self.counts.items():
            wrong = find_deviation(self.known[row], counts)
            if wrong is not None:
                state, action = divmod(row, world.num_actions)
                what = f"action {action + world.first_action} in {shorten(world.states[state])}"
                raise wrong.error(f"{what} led to", wrong.outcome)


class Deviation(NamedTuple, Generic[OutcomeT]):
    """An outcome that was more or less frequent than chance explains."""

    outcome: OutcomeT
    share: float
    total: int
    probability: float

    def error(self, what: str, name: object) -> WorldError:
        """Return the error that says so."""
        return WorldError(
            f"{what} {shorten(name)} in {self.share:.0%} of {self.total} times, but the table says "
            f"{self.probability:.0%}"
        )


def find_deviation(
    known: Mapping[OutcomeT, float], counts: Mapping[OutcomeT, int]
) -> Deviation[OutcomeT] | None:
    """Return the first outcome whose frequency does not fit its probability; None if all fit.

    Example:
        >>> find_deviation({"heads": 0.5, "tails": 0.5}, {"heads": 48, "tails": 52})
        >>> find_deviation({"heads": 0.5, "tails": 0.5}, {"heads": 99, "tails": 1}).share
        0.99
    """
    total = sum(counts.values())
    slack = sqrt(log(2e9) / (2 * total))  # Hoeffding: chance exceeds it once in 10⁹ times
    for outcome, probability in known.items():
        share = counts.get(outcome, 0) / total
        if abs(share - probability) > slack:
            return Deviation(outcome, share, total, probability)
    return None


def time_limits(env: gym.Env[Any, Any]) -> Iterator[gym.wrappers.TimeLimit[Any, Any]]:
    """Gymnasium's ``TimeLimit`` wrappers around an environment, the outermost first."""
    inner: Any = env
    while isinstance(inner, gym.Wrapper):
        if type(inner) is gym.wrappers.TimeLimit:  # a subclass may do something else
            yield inner
        inner = inner.env


def time_limit(env: gym.Env[Any, Any]) -> int | None:
    """The smallest limit of Gymnasium's ``TimeLimit`` wrappers around an environment.

    Example:
        >>> time_limit(gym.make("FrozenLake-v1"))
        100
    """
    return min((int(one._max_episode_steps) for one in time_limits(env)), default=None)


@contextmanager
def lift_limits(env: gym.Env[Any, Any]) -> Iterator[None]:
    """Disable Gymnasium's ``TimeLimit`` wrappers around an environment in this block.

    Example:
        >>> lake = gym.make("FrozenLake-v1")
        >>> with lift_limits(lake):
        ...     time_limit(lake) > 10**9
        True
        >>> time_limit(lake)
        100
    """
    limits = [(one, one._max_episode_steps) for one in time_limits(env)]
    for one, _ in limits:
        one._max_episode_steps = 2**62
    try:
        yield
    finally:
        for one, limit in limits:
            one._max_episode_steps = limit


def default_state_key(env: gym.Env[Any, Any]) -> StateKey:
    """Return what tells the states of an environment apart unless the user says otherwise."""
    if isinstance(env.unwrapped, FiniteWorld):
        return lambda env, _: env.unwrapped.state  # type: ignore[attr-defined]
    return lambda _, observation: observation_key(observation)
