"""What a replay buffer stores of a transition, besides observations and actions, to relabel it.

That is the number of its label, the real configuration, whether the environment itself terminated,
the ground reward where it is added, and the value of each reward function of the machine for
(s, a, s′). The rest is read from the machine's tables when a batch is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.encoding import Encoding
from cranium.automata.reward import total
from cranium.automata.transition import Configuration
from cranium.counterfactual.groups import Ints, RandomNumbers
from cranium.counterfactual.known import KnownConfigurations
from cranium.counterfactual.recorder import fingerprint
from cranium.counterfactual.relabel import relabel
from cranium.counterfactual.sets import ConfigurationSet, Current
from cranium.counterfactual.wrapper_checks import check_end, check_info, check_reward, check_steps
from cranium.errors import CraniumError, RunError, WorldError
from cranium.tables.configurations import is_overflow
from cranium.worlds.tabular import call_reward_function

__all__ = ["OUTSIDE", "DrawnTransitions", "StoredTransitions"]

OUTSIDE = "put wrappers that {} inside: cranium.product(wrapped, …)"
Info = Mapping[str, Any]


class DrawnTransitions(NamedTuple):
    """B transitions, each with its real configuration or another one."""

    source: Ints  # [B]; the configuration before the step
    target: NDArray[np.integer[Any]]  # [B]; and after it
    reward: NDArray[np.float32]  # [B]
    terminated: NDArray[np.float32]  # [B]; 1 where the machine or the environment terminated


class _Move(NamedTuple):
    """What a label does in a configuration."""

    target: int
    reported: tuple[str, tuple[int, ...]]  # how the product reports it in ``info``
    ends: bool
    reward: float  # without what reward functions add
    weights: list[float]  # how often each function is paid; nothing if none is


class StoredTransitions:
    """The machine's side of a replay buffer.

    Args:
        encoding: The encoding of the product.
        slots: How many transitions there is room for.
        num_envs: How many environments run side by side.
        configurations: The set of configurations to relabel with.
        counterfactual_ratio: The probability that a transition is relabelled with a configuration
            drawn from the set.
        done_at_time_limits: Whether ``dones`` are true at time limits, too.

    Example:
        >>> import cranium
        >>> from cranium.counterfactual import Seen
        >>> task = cranium.library.load("anbcdn")
        >>> env = cranium.product(cranium.worlds.LetterEnv(), task, horizon=100)
        >>> stored = StoredTransitions(env.encoding, 100, 1, Seen(), counterfactual_ratio=0.5)
        >>> print(*stored.known.space.configurations)
        ⟨counting, 0⟩
    """

    def __init__(
        self,
        encoding: Encoding,
        slots: int,
        num_envs: int,
        configurations: ConfigurationSet,
        *,
        counterfactual_ratio: float,
        done_at_time_limits: bool = True,
    ) -> None:
        self.encoding = encoding
        self.fingerprint = fingerprint(encoding)
        self.configurations = configurations
        plain = isinstance(configurations, Current) or not counterfactual_ratio
        self.counterfactual_ratio = 0.0 if plain else counterfactual_ratio
        self.done_at_time_limits = done_at_time_limits
        self.known = KnownConfigurations(encoding, None if plain else configurations)
        self._moves: dict[tuple[int, int], _Move] = {}
        # For each environment: its configuration, and the number of its last step in the episode.
        self.reached = [self.known.space.start] * num_envs
        self._steps: list[int | None] = [None] * num_envs
        # For each transition:
        self.label = np.zeros(slots, np.int64)
        self.real = np.zeros(slots, np.int64)
        self.ground_terminated = np.zeros(slots, np.bool_)
        self.paid = np.zeros((slots, 1 + len(self.known.functions)))  # the ground; each function

    def forget_episodes(self) -> None:
        """Forget where the environments are: after loading they may be anywhere."""
        self._steps = [None] * len(self._steps)

    def restore(
        self, size: int, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]
    ) -> None:
        """Take over what is known from a file, after the columns of the transitions."""
        self.known.restore(arrays, about)
        tables = self.known.space.tables
        pairs = np.unique(np.stack([self.label[:size], self.real[:size]]), axis=1)
        for row, source in pairs.T.tolist():
            if tables.terminal[source] or row not in self.known.needed:
                raise ValueError(f"the label {row} in the configuration {source}")
            self.known.step(row, source)
        self.forget_episodes()

    # Storing

    def begin_episode(self, i: int) -> None:
        """Note that an environment was reset."""
        self._steps[i] = 0

    def store(
        self,
        slot: int,
        i: int,
        shown: bytes,
        decode: Callable[[int], Configuration],
        reward: float,
        done: bool,
        info: Info,
    ) -> None:
        """Store one step of one environment.

        Args:
            slot: Where it is kept.
            i: The number of the environment.
            shown: The machine's part of the observation before the step, as bytes.
            decode: Returns the configuration that the observation of an environment shows.
            reward: The reward of the step.
            done: Whether the episode is over.
            info: The ``info`` of the step.
        """
        label, ended = self._read(info)
        row = self.known.row(label)
        source, move = self._find(i, row, shown, decode, info)
        self.known.meet(source)
        self.label[slot] = row
        self.real[slot] = source
        self.ground_terminated[slot] = ended
        self.reached[i] = move.target
        cut_off = bool(info.get("product_truncated", False))
        over = move.ends or ended
        # Gymnasium's own environments do not report it, those of Stable-Baselines3 do.
        truncated = bool(info.get("TimeLimit.truncated", done and cut_off and not over))
        self._steps[i] = 0 if done or cut_off or truncated else info.get("episode_step")
        check_reward(reward, self._pay(slot, row, move, info))
        self._check_end(over, cut_off, truncated, done)

    def _check_end(self, ended: bool, cut_off: bool, truncated: bool, done: bool) -> None:
        if self.done_at_time_limits:
            terminated = done and not truncated
        else:  # a truncation need not be reported, and may be
            terminated = done and (ended or not (cut_off or truncated))
            cut_off = truncated = False
        check_end(ended=ended, cut_off=cut_off, terminated=terminated, truncated=truncated)

    def _read(self, info: Info) -> tuple[frozenset[str], bool]:
        """The label, and whether the environment itself terminated."""
        if info.get("fingerprint", self.fingerprint) != self.fingerprint:
            raise WorldError(
                "the environment has another task, or another encoding, than this buffer was made "
                "for",
                fix="load a buffer that was saved with the same task, encoding and counter limit, "
                "or begin with a new one",
            )
        check_info(info)
        return info["label"], info["ground_terminated"]

    def _find(
        self,
        i: int,
        row: int,
        shown: bytes,
        decode: Callable[[int], Configuration],
        info: Info,
    ) -> tuple[int, _Move]:
        """The real configuration, and what the label does in it: the one that fits ``info``."""
        reported = info["machine_state"], info["counters"]
        for source in self._sources(i, info.get("episode_step"), decode):
            if self.known.shown[source] == shown:
                move = self._moves.get((row, source)) or self._work_out(row, source)
                if move is not None and move.reported == reported:
                    return source, move
        raise WorldError(
            f"the observations do not show the machine as the product reports it: {reported[0]} "
            f"with counters {reported[1]} was reached, but not from "
            f"{self.known.space.decode(self.reached[i])}; a wrapper changed them, or the "
            "environment was reset or stepped in between, by an evaluation perhaps, or the buffer "
            "began in the middle of an episode",
            fix=f"{OUTSIDE.format('change observations')}; evaluate on an environment of its own; "
            "with Stable-Baselines3, begin with learn(…, reset_num_timesteps=True)",
        )

    def _sources(
        self, i: int, step: int | None, decode: Callable[[int], Configuration]
    ) -> Iterator[int]:
        """Where the environment can have been: where its last step led, if it was not reset."""
        last, start = self._steps[i], self.known.space.start
        if step == 1:  # the first of an episode; SB3 may reset without reporting it
            yield start
            return
        if last == 0 and step is None:
            yield start
        elif step is None or last is None or step == last + 1:
            yield self.reached[i]
        else:
            check_steps(step - last if step > last else step)
        if step is None or last is None:
            try:
                found = self.known.find(decode(i))
            except (CraniumError, IndexError, ValueError):
                return
            yield found

    def _work_out(self, row: int, source: int) -> _Move | None:
        """What a label does in a configuration; None if the machine refuses."""
        known = self.known
        try:
            target = known.step(row, source)
        except RunError:
            return None
        found, tables = known.space.decode(target), known.space.tables
        number = int(tables.reward_function[row, source])
        constant, weights = known.sums[number] if number >= 0 else (0.0, [])
        move = self._moves[row, source] = _Move(
            target,
            (found.state, () if is_overflow(found) else found.counters),
            bool(tables.terminal[target]),
            float(tables.reward[row, source]) + constant,
            weights,
        )
        return move

    def _pay(self, slot: int, row: int, move: _Move, info: Info) -> float:
        """Store what the ground and the functions pay, and return the reward that is due."""
        paid = self.paid[slot]
        paid[0] = info.get("ground_reward", 0.0)
        if len(paid) == 1:
            return move.reward + float(paid[0])
        if "transition" not in info:
            raise WorldError(
                "the reward functions of this task need (s, a, s′), which is not in info",
                fix="make each environment with cranium.counterfactual.record_transitions(env)",
            )
        due = [move.reward]
        paid[1:] = np.nan  # functions that this label never needs are not called
        for number in self.known.needed[row]:
            function = self.known.functions[number]
            if move.weights and move.weights[number]:
                paid[1 + number] = call_reward_function(function, *info["transition"])
                due.append(move.weights[number] * float(paid[1 + number]))
            else:
                with suppress(Exception):  # it may be meant for other steps: then it stays unknown
                    paid[1 + number] = function(*info["transition"])
        return total(due) + float(paid[0])

    # Drawing

    def draw(self, slots: Ints, rng: RandomNumbers) -> DrawnTransitions:
        """Relabel stored transitions with configurations of the set, or keep the real ones."""
        known = self.known
        if known.stale:
            known.refresh()
        tables = known.tables
        label, ended = self.label.take(slots), self.ground_terminated.take(slots)
        extra = self._extra(slots)
        real = source = self.real.take(slots)
        if self.counterfactual_ratio:
            others = known.choose(real, rng)
            chosen = rng.random(len(slots)) < self.counterfactual_ratio
            source = np.where(chosen, others, real)
        found = relabel(tables, source, label, ended, extra)
        if known.space.problems or known.sums or known.impossible is not None:
            # The real one, where the machine refuses the label, where it is not known what a reward
            # function would have paid, and where no episode can get.
            hopeless = found.weight == 0
            if known.impossible is not None:
                hopeless |= found.target == known.impossible
            if hopeless.any():
                source = np.where(hopeless, real, source)
                found = relabel(tables, source, label, ended, extra)
        return DrawnTransitions(
            source,
            found.target,
            found.reward.astype(np.float32),
            found.terminated.astype(np.float32),
        )

    def _extra(self, slots: Ints) -> NDArray[np.float64]:
        """The ground reward, and the value of each reward function of the tables: [B, 1 + R]."""
        known, paid = self.known, self.paid.take(slots, axis=0)
        if not known.sums:
            return paid[:, :1]
        # A weight of zero leaves a function out, whether its value is known or not.
        parts = np.where(known.weights == 0, 0.0, known.weights * paid[:, None, 1:])
        return np.concatenate([paid[:, :1], known.constants + parts.sum(axis=2)], axis=1)
