"""The worlds of the panels, as tables: Gymnasium's, MiniGrid's, random ones, ours with slips."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cranium.worlds import FiniteEnv, TabularWorld, enumerate_env
from cranium.worlds.protocols import Events, Instances, Outcome, ResetOptions

__all__ = [
    "Hand",
    "TableEnv",
    "blackjack",
    "gymnasium_world",
    "minigrid",
    "ours",
    "random_world",
    "taxi",
]

GRID = ((2, 3), (2, 3), (0, 1), (0, 1))
"""What the moves of our grids (right, left, up, down) slip into: those at right angles."""
WALK = ((2,), (2,), (0, 1))
"""What the moves of MiniGrid slip into: a turn becomes a step, a step a turn."""
Row = dict[int, tuple[float, Events, bool]]
Slips = Sequence[Sequence[int]]


class TableEnv(FiniteEnv[int, Any]):
    """An environment that steps through the table of a finite world, with slips if they are asked.

    Args:
        table: The world.
        shown: Its observation space.
        slip: The probability that another action happens than the wanted one.
        into: Which ones, for each of the first actions; the others never slip.
    """

    def __init__(
        self, table: TabularWorld, shown: spaces.Space[Any], slip: float = 0.0, into: Slips = ()
    ) -> None:
        super().__init__()
        self.table = table
        self.vocabulary = tuple(sorted(frozenset().union(*table.labels)))
        self.action_space = spaces.Discrete(table.num_actions)
        self.observation_space = shown
        self.rows = [self._row(pair, slip, into) for pair in range(len(table.first) - 1)]

    def _row(self, pair: int, slip: float, into: Slips) -> Row:
        """The next states of a pair: how likely each is, its events, and whether it is the end."""
        table, row = self.table, defaultdict[int, float](float)
        state, action = divmod(pair, self.table.num_actions)
        others = into[action] if slip and action < len(into) else ()
        shares = [(action, 1.0 - slip if others else 1.0)]
        shares += [(other, slip / len(others)) for other in others]
        told: dict[int, tuple[Events, bool]] = {}
        for taken, share in shares:
            first = state * table.num_actions + taken
            for k in range(table.first[first], table.first[first + 1]):
                after = int(table.next_state[k])
                what = table.labels[table.label[k]], bool(table.terminated[k])
                assert told.setdefault(after, what) == what, "one step has two labels"
                row[after] += share * float(table.probability[k])
        return {after: (chance, *told[after]) for after, chance in row.items()}

    def initial(self, options: ResetOptions) -> Sequence[tuple[float, int]]:
        """The starts of the table."""
        return [(float(self.table.initial[s]), int(s)) for s in np.flatnonzero(self.table.initial)]

    def instances(self) -> Instances:
        """One: the mean over all starts."""
        return {"all starts": {}}

    def outcomes(self, state: int, action: int) -> Sequence[Outcome]:
        """The outcomes of the pair; a state that only ends episodes stays as it is."""
        row = self.rows[state * self.table.num_actions + action]
        found = [Outcome(chance, after, ended) for after, (chance, _, ended) in row.items()]
        return found or [Outcome(1.0, state)]

    def label(self, state: int, action: int, after: int) -> Events:
        """The events of the step."""
        row = self.rows[state * self.table.num_actions + action]
        return row[after][1] if after in row else frozenset()

    def observe(self, state: int) -> Any:
        """The observation of the state."""
        return self.table.observations[self.table.observation[state]]


@functools.cache
def gymnasium_world(name: str, cells: tuple[tuple[int, str], ...], **settings: Any) -> TableEnv:
    """One of Gymnasium's toy texts; an event happens on every step that ends on its cell."""
    env, events = gym.make(name, **settings), dict(cells)
    table = TabularWorld.from_model(env, lambda *step: events.get(step[2], ()))
    return TableEnv(table, env.observation_space)


@functools.cache
def taxi() -> TableEnv:
    """Gymnasium's Taxi in the rain: moves go to the side one time in five."""

    def events(before: int, action: int, after: int) -> str | tuple[str, ...]:
        rides = before // 4 % 5 == 4  # Taxi's number is ((row, column), passenger, destination)
        if action < 4:
            return "ride" if rides else "R" if after // 20 == 0 else ()
        if action == 4:
            return "pickup" if after != before else ()
        return "deliver" if rides and after // 4 % 5 == after % 4 else ()

    env = gym.make("Taxi-v4", is_rainy=True)
    return TableEnv(TabularWorld.from_model(env, events), env.observation_space)


def ours(world: FiniteEnv[Any, Any], slip: float) -> TableEnv:
    """One of our grids with slips."""
    return TableEnv(TabularWorld.of(world), world.observation_space, slip, GRID)


@functools.cache
def minigrid(name: str, corner: tuple[int, int], slip: float) -> TableEnv:
    """A MiniGrid with one layout. Observed are the place, the direction, the key and the door."""
    import minigrid as package  # registers its environments
    from minigrid.core.world_object import Door, Key

    assert package

    def key(env: Any, *_: Any) -> tuple[int, ...]:
        it = env.unwrapped
        things = [(i, thing) for i, thing in enumerate(it.grid.grid) if thing]
        keys = [i for i, thing in things if isinstance(thing, Key)]
        doors = [2 * thing.is_open + thing.is_locked for _, thing in things if type(thing) is Door]
        return (*map(int, it.agent_pos), int(it.agent_dir), *(keys or [0]), *(doors or [0]))

    class Fixed(gym.Wrapper):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return super().reset(seed=3, options=options)

        def step(self, action: Any) -> Any:
            seen, _, *rest = super().step(action)
            return seen, 0.0, *rest  # MiniGrid's own reward depends on the time

    class Numbers(gym.ObservationWrapper):
        observation_space = spaces.MultiDiscrete([8, 8, 4, 64, 4])

        def observation(self, seen: Any) -> Any:
            return np.array(key(self), np.int64)

    def events(*step: Any) -> str | tuple[str, ...]:
        before, _, after = step
        if before[3] and not after[3]:
            return "key"
        if after[4] >= 2 > before[4]:
            return "open"
        moved = tuple(before[:2]) != tuple(after[:2])
        if moved and tuple(after[:2]) == corner:
            return "corner"
        return "goal" if moved and after[0] == after[1] == size - 2 else ()

    env = Numbers(Fixed(gym.make(name)))
    size = env.unwrapped.width
    told = {"state_key": key, "starts": 2, "repeats": 2, "verify": 200}
    table = enumerate_env(env, events, longest=300, **told)
    return TableEnv(table, env.observation_space, slip, WALK)


def random_world(states: int, branches: int, seed: int) -> TableEnv:
    """A random MDP with four actions: each leads to a few states, drawn once, with drawn odds."""
    rng = np.random.default_rng(seed)
    actions, count = 4, states * 4
    after = np.array([rng.choice(states, branches, replace=False) for _ in range(count)])
    odds = rng.dirichlet(np.ones(branches), count)
    at = dict(zip(rng.permutation(np.arange(1, states))[:5].tolist(), "aaabb", strict=True))
    labels = [frozenset(), frozenset("a"), frozenset("b")]
    label = np.array([labels.index(frozenset(at.get(s, ()))) for s in range(states)], np.int32)
    size = count * branches
    table = TabularWorld(
        np.arange(0, size + 1, branches, dtype=np.int32),
        after.ravel().astype(np.int32),
        odds.ravel(),
        label[after.ravel()],
        np.zeros(size, np.bool_),
        np.zeros(size),
        np.eye(states)[0],
        np.arange(states, dtype=np.int32),
        tuple(labels),
        tuple(range(states)),
        tuple(range(states)),
        actions,
    )
    return TableEnv(table, spaces.Discrete(states))


def blackjack() -> TableEnv:
    """Gymnasium's Blackjack: one hand with an endless deck, stick (0) or hit (1)."""
    return TableEnv(TabularWorld.of(Hand()), Hand.observation_space)


class Hand(FiniteEnv[tuple[int, int, int], Any]):
    """A hand of Blackjack: the player's sum, the dealer's card, whether an ace counts as 11."""

    vocabulary = ("hit", "win", "bust")
    action_space = spaces.Discrete(2)
    observation_space = spaces.MultiDiscrete([32, 11, 2])
    CARDS = {**dict.fromkeys(range(1, 10), 1 / 13), 10: 4 / 13}  # noqa: RUF012
    WON, LOST, BUST = (0, 0, 0), (0, 0, 1), (0, 1, 0)

    @staticmethod
    def add(total: int, ace: int, card: int) -> tuple[int, int]:
        """The sum with one more card, an ace as 11 where that is at most 21."""
        low, ace = total - 10 * ace + card, int(ace or card == 1)
        return (low + 10, 1) if ace and low + 10 <= 21 else (low, 0 if low + 10 > 21 else ace)

    def initial(self, options: ResetOptions) -> Sequence[tuple[float, tuple[int, int, int]]]:
        """Two cards for the player, one that is seen of the dealer."""
        found = defaultdict[tuple[int, int, int], float](float)
        for one, p in self.CARDS.items():
            for two, q in self.CARDS.items():
                total, ace = self.add(*self.add(0, 0, one), two)
                for shown, r in self.CARDS.items():
                    found[total, shown, ace] += p * q * r
        return [(chance, state) for state, chance in found.items()]

    @functools.cache  # noqa: B019 - there are few
    def dealer(self, total: int, ace: int) -> dict[int, float]:
        """What the dealer ends with, who draws below 17; 0 is bust."""
        if total >= 17:
            return {total if total <= 21 else 0: 1.0}
        found = defaultdict[int, float](float)
        for card, chance in self.CARDS.items():
            for end, share in self.dealer(*self.add(total, ace, card)).items():
                found[end] += chance * share
        return found

    def outcomes(self, state: tuple[int, int, int], action: int) -> Sequence[Outcome]:
        """A card, or the dealer's turn."""
        total, shown, ace = state
        if action == 1:
            after = [(p, *self.add(total, ace, card)) for card, p in self.CARDS.items()]
            return [
                Outcome(p, self.BUST, True) if sum_ > 21 else Outcome(p, (sum_, shown, soft))
                for p, sum_, soft in after
            ]
        won = sum(
            chance for end, chance in self.dealer(*self.add(0, 0, shown)).items() if end < total
        )
        return [Outcome(won, self.WON, True), Outcome(1 - won, self.LOST, True)]

    def label(self, state: Any, action: int, after: Any) -> str | tuple[str, ...]:
        """A card that was good, a hand that was won or thrown away."""
        ends = {self.WON: "win", self.LOST: (), self.BUST: "bust"}
        return ends.get(after, "hit")  # type: ignore[return-value]

    def observe(self, state: tuple[int, int, int]) -> Any:
        """As Gymnasium's."""
        return np.array(state, np.int64)
