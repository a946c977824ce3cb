"""What a replay buffer must remember of a step to imagine it from other configurations.

Per step: the number of its label, the real configuration, whether the environment itself ended, and
what the reward functions paid. The rest is looked up in the machine's tables when a batch is drawn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.encoding import Encoding
from cranium.automata.transition import Configuration
from cranium.compiled.tables import OVERFLOW, UNKNOWN, GrowingSpace, reachable
from cranium.errors import (
    CraniumError,
    InvalidArgumentError,
    RunError,
    SpaceError,
    WorldError,
    shorten,
)
from cranium.learners.config import IMAGINED
from cranium.worlds.tabular import paid_for

__all__ = ["Imagination", "Imagined"]

TOLERANCE = 1e-4
"""How far, at most, a reward in single precision may be from the machine's."""
Ints = NDArray[np.int64]


class Imagined(NamedTuple):
    """A batch of B steps, each from the real configuration or another.

    Example:
        >>> Imagined._fields
        ('source', 'target', 'reward', 'done')
    """

    source: Ints  # [B] the configuration before the step
    target: Ints  # [B] and after it
    reward: NDArray[np.float32]  # [B]
    done: NDArray[np.float32]  # [B] 1 where the machine or the environment ended


class _Move(NamedTuple):
    """What a label does in a configuration."""

    target: int
    told: tuple[str, tuple[int, ...]]  # how the product tells it
    ends: bool
    reward: float  # without what is paid by function
    function: int  # -1 for none


class Imagination:
    """The machine's tables, and what of each stored step they do not say.

    Args:
        encoding: Of the product: it knows the machine and the limit of its counters.
        slots: How many steps there is room for.
        num_envs: How many environments run side by side.
        imagined: How likely a step that is drawn is seen from a configuration of the set, instead
            of the real one.
        configurations: The set: ``"seen"`` or ``"reachable"``; left out, the second, unless these
            are more than 2,000.

    Example:
        >>> import cranium
        >>> env = cranium.product(cranium.worlds.LetterEnv(), cranium.library.load("anbcdn"))
        >>> imagination = Imagination(env.encoding, slots=100)
        >>> print(*imagination.space.configurations)
        ⟨counting, 0⟩
    """

    def __init__(
        self,
        encoding: Encoding,
        slots: int,
        num_envs: int = 1,
        *,
        imagined: float = 0.5,
        configurations: Literal["seen", "reachable"] | None = None,
    ) -> None:
        self.encoding = encoding
        self.imagined = _check_share(imagined)
        self.configurations = _check_set(configurations, encoding)
        self.automaton = encoding.automaton
        self.space = GrowingSpace(self.automaton, [()], counter_limit=encoding.counter_limit)
        self._rows: dict[Any, int] = {frozenset(): 0}
        self._counters: set[tuple[int, ...]] = set()  # those that were seen
        self._met: set[int] = set()  # the real configurations
        self._parts: list[tuple[NDArray[Any], ...]] = []  # how each looks in an observation
        self._shown: list[bytes] = []  # the same, to compare
        self._moves: dict[tuple[int, int], _Move] = {}
        self._last = [self.space.start] * num_envs
        self._stale = True
        # One entry for each stored step:
        self.label = np.zeros(slots, np.int32)
        self.real = np.zeros(slots, np.int32)
        self.ended = np.zeros(slots, np.float32)
        self.paid = np.zeros((slots, 1), np.float32)  # the ground reward; then one per function
        self._show_new()

    # Storing

    def store(
        self,
        slot: int,
        shown: Sequence[bytes],
        decode: Callable[[int], Configuration],
        rewards: Any,
        dones: Any,
        infos: Sequence[dict[str, Any]],
    ) -> None:
        """Remember one step of every environment, in the slots from this one on.

        Args:
            slot: Where the step of the first environment is kept.
            shown: The machine's part of each observation, as bytes.
            decode: The configuration that is shown in the observation of an environment.
            rewards: What each step really paid.
            dones: Whether it ended the episode, for whatever reason.
            infos: What each environment told.
        """
        for i, info in enumerate(infos):
            try:
                label, ended = info["label"], info["ground_terminated"]
            except KeyError as key:
                raise WorldError(
                    f"the environment does not tell its {key}: it is no product",
                    fix="make one: cranium.product(env, automaton)",
                ) from None
            row = self._rows.get(label)
            if row is None:
                row = self._rows[label] = self.space.add_label(label)
                self._close()
            source, move = self._find(i, row, shown[i], decode, info)
            if source not in self._met:
                self._meet(source)
            here, over = slot + i, bool(dones[i])
            self.label[here] = row
            self.real[here] = source
            self.ended[here] = ended
            self._last[i] = self.space.start if over else move.target
            self._check_reward(move, float(rewards[i]), self._pay(here, row, move, info))
            if over and not (move.ends or ended or info.get("TimeLimit.truncated")):
                raise WorldError(
                    "an episode was ended by something outside the product: whether it would have "
                    "ended from other configurations cannot be known",
                    fix="put wrappers that end episodes inside: cranium.product(wrapped, …)",
                )

    def _find(
        self,
        i: int,
        row: int,
        shown: bytes,
        decode: Callable[[int], Configuration],
        info: dict[str, Any],
    ) -> tuple[int, _Move]:
        """The real configuration, and what the label does in it: what fits with what was told.

        That is where the step before led. But SB3 may reset environments without a word.
        """
        told = info["machine_state"], info["counters"]
        for source in self._candidates(i, decode):
            if self._shown[source] == shown:
                move = self._moves.get((row, source)) or self._work_out(row, source)
                if move is not None and move.told == told:
                    return source, move
        raise WorldError(
            f"the observations do not show the machine as the product told it: {told[0]} with "
            f"counters {told[1]} was reached, but not from {self.space.decode(self._last[i])}",
            fix="put wrappers that change observations inside: cranium.product(wrapped, …)",
        )

    def _work_out(self, row: int, source: int) -> _Move | None:
        """What a label does in a configuration; None if the machine refuses."""
        try:
            target = self.space.step(row, source)
        except RunError:
            return None
        self._show_new()
        found, tables = self.space.decode(target), self.space.tables
        move = self._moves[row, source] = _Move(
            target,
            (found.state, () if found == OVERFLOW else found.counters),
            bool(tables.terminal[target]),
            float(tables.reward[row, source]),
            int(tables.reward_function[row, source]),
        )
        return move

    def _candidates(self, i: int, decode: Callable[[int], Configuration]) -> Iterator[int]:
        yield self._last[i]
        try:
            found = self.space.encode(decode(i))
        except (CraniumError, IndexError):
            return
        self._show_new()
        yield found

    def _meet(self, source: int) -> None:
        self._met.add(source)
        self._counters.add(self.space.configurations[source].counters)
        self._close()

    def _pay(self, slot: int, row: int, move: _Move, info: dict[str, Any]) -> float:
        """Keep what the ground and the functions pay, and return how much of it is really paid."""
        paid = info.get("ground_reward", 0.0)
        self.paid[slot, 0] = paid
        if self.automaton.is_constant:
            return float(paid)
        if "transition" not in info:
            raise WorldError(
                "the reward functions of this task need (s, a, s′), which nobody tells",
                fix="make the product of Witness(env), as counterfactual(env, automaton) does",
            )
        functions = self.space.reward_functions
        if len(functions) >= self.paid.shape[1]:
            wider = np.full((len(self.paid), 1 + len(functions)), np.nan, np.float32)
            wider[:, : self.paid.shape[1]] = self.paid
            self.paid = wider
        self.paid[slot, 1:] = np.nan  # those that this label never needs are not asked
        for number in np.unique(self.space.tables.reward_function[row]).tolist():
            if number >= 0:
                self.paid[slot, 1 + number] = paid_for(functions[number], *info["transition"])
        return float(paid + (self.paid[slot, 1 + move.function] if move.function >= 0 else 0.0))

    @staticmethod
    def _check_reward(move: _Move, reward: float, paid: float) -> None:
        """What is imagined must be paid like what is real."""
        due = move.reward + paid
        if abs(due - reward) > TOLERANCE * max(1.0, abs(due)):
            raise WorldError(
                f"a step paid {reward:g}, but by the machine it pays {due:g}: a wrapper changed it,"
                " and what is imagined would not be changed",
                fix="change the machine's rewards, or use VecNormalize(norm_reward=True)",
            )

    # What can be imagined

    @property
    def members(self) -> Ints:
        """The set of configurations, as numbers; terminal ones are not in it."""
        found = [x for x in range(len(self.space)) if self._is_member(x)]
        return np.array(found, np.int64)

    def _is_member(self, number: int) -> bool:
        configuration = self.space.configurations[number]
        if self.configurations == "seen" and configuration.counters not in self._counters:
            return False
        return configuration != OVERFLOW and not self.automaton.is_terminal(configuration)

    def _close(self) -> None:
        """Work out all labels that were met, from all members; that may lead to new members."""
        members = self.members
        missing = self.space.tables.next_configuration[:, members] == UNKNOWN
        todo = deque(members[missing.any(axis=0)].tolist())
        while todo:
            number, known = todo.popleft(), len(self.space)
            for row in range(len(self.space.labels)):
                with suppress(RunError):  # it is marked, and never imagined
                    self.space.step(row, number)
            todo.extend(new for new in range(known, len(self.space)) if self._is_member(new))
        self._show_new()
        self._stale = True

    def _show_new(self) -> None:
        for configuration in self.space.configurations[len(self._shown) :]:
            part = self.encoding.machine_part(configuration)
            if isinstance(part, tuple):
                state, counters = part
                part = np.atleast_1d(state), next(counters)
            else:
                part = (part,)
            self._parts.append(part)
            self._shown.append(b"".join(array.tobytes() for array in part))
            self._stale = True

    # Drawing

    def refresh(self) -> None:
        """Copy what is known of the machine into flat tables: that is faster to look up."""
        tables = self.space.tables
        target = tables.next_configuration
        self._source = self.members
        self._target = target.astype(np.int64).ravel()
        self._reward = tables.reward.ravel()
        self._function = tables.reward_function.astype(np.int64).ravel()
        self._over = tables.terminal[target].astype(np.float32).ravel()
        self._gaps = bool((target[:, self._source] < 0).any())
        self._by_function = bool((tables.reward_function >= 0).any())
        self.looks = [np.stack(column) for column in zip(*self._parts, strict=True)]  # [X, …]
        self._stale = False

    def draw(self, slots: Ints) -> Imagined:
        """See stored steps from configurations of the set, or from the real ones."""
        if self._stale:
            self.refresh()
        base = self.label.take(slots).astype(np.int64) * len(self.space)
        real = source = self.real.take(slots).astype(np.int64)
        if self.imagined and len(self._source):
            count = len(slots)
            other = self._source.take(np.random.randint(0, len(self._source), count))
            source = np.where(np.random.random(count) < self.imagined, other, real)
        reward = self._value(slots, base + source)
        if self._gaps or self._by_function:
            # Where the machine refuses, or nobody knows what would have been paid: the real one.
            hopeless = (self._target.take(base + source) < 0) | np.isnan(reward)
            source = np.where(hopeless, real, source)
            reward = self._value(slots, base + source)
        cell = base + source
        done = np.maximum(self._over.take(cell), self.ended.take(slots))
        return Imagined(source, self._target.take(cell), reward.astype(np.float32), done)

    def _value(self, slots: Ints, cell: Ints) -> NDArray[np.float64]:
        reward: NDArray[np.float64] = self._reward.take(cell) + self.paid[:, 0].take(slots)
        if self._by_function:
            number = self._function.take(cell)
            reward += np.where(number >= 0, self.paid[slots, 1 + number], 0.0)
        return reward


def _check_share(imagined: object) -> float:
    if isinstance(imagined, bool) or not isinstance(imagined, int | float | np.floating):
        raise InvalidArgumentError(f"imagined is a number from 0 to 1, not {shorten(imagined)}")
    if not 0 <= imagined <= 1:
        raise InvalidArgumentError(f"imagined is a number from 0 to 1, not {imagined:g}")
    return float(imagined)


def _check_set(chosen: Any, encoding: Encoding) -> Literal["seen", "reachable"]:
    """The set that was asked for; if none was, what is reachable, if that is not too much."""
    limit = encoding.counter_limit
    if chosen is None and limit is not None:
        with suppress(SpaceError):
            reachable(encoding.automaton, limit, max_configurations=IMAGINED)
            return "reachable"
    if chosen not in (None, "seen", "reachable"):
        raise InvalidArgumentError(
            f"configurations are 'seen' or 'reachable', not {shorten(chosen)}",
            fix="imagined=0 for plain replay",
        )
    if chosen == "reachable" and limit is None:
        raise InvalidArgumentError(
            "without a limit for the counters, endlessly many configurations are reachable",
            fix="give the product a horizon or a counter_limit, or use configurations='seen'",
        )
    return "reachable" if chosen == "reachable" else "seen"
