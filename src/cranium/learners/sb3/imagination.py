"""What a replay buffer must remember of a step to imagine it from other configurations.

Per step: the number of its label, the real configuration, whether the environment itself ended, the
ground reward where that is added, and what each reward function of the machine pays for (s, a, s′).
The rest is looked up in the machine's tables when a batch is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.encoding import Encoding
from cranium.arguments import check_number
from cranium.automata.reward import total
from cranium.automata.transition import Configuration
from cranium.counterfactual.wrapper_checks import check_end, check_reward, check_steps, check_told
from cranium.errors import CraniumError, RunError, WorldError
from cranium.learners.sb3.checks import OUTSIDE, check_set
from cranium.learners.sb3.closure import Closure, Ints
from cranium.learners.sb3.recorder import fingerprint
from cranium.tables.configurations import is_overflow
from cranium.worlds.tabular import call_reward_function

__all__ = ["Imagination", "Imagined"]


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
    weights: list[float]  # how often each function is paid; nothing if none is


class Imagination:
    """The machine's tables, and what of each stored step they do not say.

    Args:
        encoding: Of the product: it knows the machine and the limit of its counters.
        slots: How many steps there is room for.
        num_envs: How many environments run side by side.
        counterfactual_ratio: The probability that a transition is relabelled with a configuration
            that is drawn from the set; it may be the real one. Configurations that look alike in an
            observation are drawn as one, and then one of them, both uniformly.
        configurations: The set: ``"seen"`` or ``"reachable"``; left out, the second if a limit
            of the counters was given and these are no more than 2,000.

    Example:
        >>> import cranium
        >>> task = cranium.library.load("anbcdn")
        >>> env = cranium.product(cranium.worlds.LetterEnv(), task, horizon=100)
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
        counterfactual_ratio: float = 0.5,
        configurations: Literal["seen", "reachable"] | None = None,
    ) -> None:
        self.encoding = encoding
        self.counterfactual_ratio = check_number("counterfactual_ratio", counterfactual_ratio, 0, 1)
        self.configurations = check_set(configurations, encoding)
        self.automaton = encoding.automaton
        self.fingerprint = fingerprint(encoding)
        kind = self.configurations if self.counterfactual_ratio else "none"
        self.closure = Closure(encoding, kind)
        self.space = self.closure.space
        self._moves: dict[tuple[int, int], _Move] = {}
        # Of each environment: where it is, and after how many steps of its episode.
        self.reached = [self.space.start] * num_envs
        self._counts: list[int | None] = [None] * num_envs
        # One entry for each stored step:
        self.label = np.zeros(slots, np.int32)
        self.real = np.zeros(slots, np.int32)
        self.ended = np.zeros(slots, np.float32)
        self.paid = np.zeros((slots, 1 + len(self.closure.functions)))  # the ground; each function

    @property
    def members(self) -> Ints:
        """The set of configurations, as numbers; terminal ones are not in it."""
        return self.closure.members

    def forget(self) -> None:
        """What the environments did last is not known any more."""
        self._counts = [None] * len(self._counts)

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
            label, ended = self._read(info)
            row = self.closure.row(label)
            source, move = self._find(i, row, shown[i], decode, info)
            self.closure.meet(source)
            here, over = slot + i, bool(dones[i])
            self.label[here] = row
            self.real[here] = source
            self.ended[here] = ended
            self.reached[i] = move.target
            self._counts[i] = 0 if over else info.get("witnessed")
            check_reward(float(rewards[i]), self._pay(here, row, move, info))
            truncated = bool(info.get("TimeLimit.truncated", False))
            check_end(
                ended=move.ends or ended,
                cut_off=bool(info.get("cut_off", False)),
                terminated=over and not truncated,
                truncated=truncated,
            )

    def _read(self, info: dict[str, Any]) -> tuple[frozenset[str], bool]:
        """The label, and whether the environment ended."""
        if info.get("fingerprint", self.fingerprint) != self.fingerprint:
            raise WorldError(
                "the environment has another task, or shows it in another way, than this buffer "
                "was made for",
                fix="load a buffer that was saved with the same task, encoding and counter limit, "
                "or begin with a new one",
            )
        check_told(info)
        return info["label"], info["ground_terminated"]

    def _find(
        self,
        i: int,
        row: int,
        shown: bytes,
        decode: Callable[[int], Configuration],
        info: dict[str, Any],
    ) -> tuple[int, _Move]:
        """The real configuration, and what the label does in it: what fits with what was told."""
        told = info["machine_state"], info["counters"]
        for source in self._candidates(i, info.get("witnessed"), decode):
            if self.closure.shown[source] == shown:
                move = self._moves.get((row, source)) or self._work_out(row, source)
                if move is not None and move.told == told:
                    return source, move
        raise WorldError(
            f"the observations do not show the machine as the product told it: {told[0]} with "
            f"counters {told[1]} was reached, but not from {self.space.decode(self.reached[i])}; "
            "a wrapper changed them, or the environment was reset or stepped in between, by an "
            "evaluation perhaps, or the buffer began in the middle of an episode",
            fix=f"{OUTSIDE.format('change observations')}; evaluate on an environment of its own; "
            "begin with learn(…, reset_num_timesteps=True)",
        )

    def _candidates(
        self, i: int, count: int | None, decode: Callable[[int], Configuration]
    ) -> Iterator[int]:
        """Where the environment can have been: where the step before led, if nobody reset it."""
        known = self._counts[i]
        if count == 1:  # an episode has just begun; SB3 may reset without a word
            yield self.space.start
            return
        if known == 0 and count is None:
            yield self.space.start
        elif count is None or known is None or count == known + 1:
            yield self.reached[i]
        else:
            check_steps(count - known if count > known else count)
        if count is None or known is None:
            try:
                found = self.closure.find(decode(i))
            except (CraniumError, IndexError, ValueError):
                return
            yield found

    def _work_out(self, row: int, source: int) -> _Move | None:
        """What a label does in a configuration; None if the machine refuses."""
        try:
            target = self.closure.step(row, source)
        except RunError:
            return None
        found, tables = self.space.decode(target), self.space.tables
        number = int(tables.reward_function[row, source])
        constant, weights = self.closure.sums[number] if number >= 0 else (0.0, [])
        move = self._moves[row, source] = _Move(
            target,
            (found.state, () if is_overflow(found) else found.counters),
            bool(tables.terminal[target]),
            float(tables.reward[row, source]) + constant,
            weights,
        )
        return move

    def _pay(self, slot: int, row: int, move: _Move, info: dict[str, Any]) -> float:
        """Keep what the ground and the functions pay, and return what is really due."""
        paid = self.paid[slot]
        paid[0] = info.get("ground_reward", 0.0)
        if len(paid) == 1:
            return move.reward + float(paid[0])
        if "transition" not in info:
            raise WorldError(
                "the reward functions of this task need (s, a, s′), which nobody tells",
                fix="make the product of Witness(env), as counterfactual(env, automaton) does",
            )
        due = [move.reward]
        paid[1:] = np.nan  # those that this label never needs are not asked
        for number in self.closure.asked[row]:
            function = self.closure.functions[number]
            if move.weights and move.weights[number]:
                paid[1 + number] = call_reward_function(function, *info["transition"])
                due.append(move.weights[number] * float(paid[1 + number]))
            else:
                with suppress(Exception):  # it may be meant for other steps: it is not imagined
                    paid[1 + number] = function(*info["transition"])
        return total(due) + float(paid[0])

    # Drawing

    def draw(self, slots: Ints) -> Imagined:
        """See stored steps from configurations of the set, or from the real ones."""
        closure = self.closure
        if closure.stale:
            closure.refresh()
        tables = closure.tables
        row = self.label.take(slots)
        real = source = self.real.take(slots).astype(np.int64)
        if self.counterfactual_ratio:
            others = closure.choose(len(slots))
            chosen = np.random.random(len(slots)) < self.counterfactual_ratio
            source = np.where(chosen, others, real)
        target, reward = tables.next_configuration[row, source], self._value(slots, row, source)
        if self.space.problems or closure.sums or closure.impossible is not None:
            # Where the machine refuses, or nobody knows what would have been paid, or no episode
            # can get: the real one.
            hopeless = (target < 0) | ~np.isfinite(reward)
            if closure.impossible is not None:
                hopeless |= target == closure.impossible
            if hopeless.any():
                source = np.where(hopeless, real, source)
                target = tables.next_configuration[row, source]
                reward = self._value(slots, row, source)
        done = np.maximum(tables.terminal.take(target), self.ended.take(slots))
        return Imagined(source, target.astype(np.int64), reward.astype(np.float32), done)

    def _value(self, slots: Ints, row: NDArray[np.int32], source: Ints) -> NDArray[np.float64]:
        tables = self.closure.tables
        reward: NDArray[np.float64] = tables.reward[row, source] + self.paid[:, 0].take(slots)
        if self.closure.sums:
            number = tables.reward_function[row, source]
            weights = self.closure.weights[number]  # where none is paid, any: it is not used
            paid = np.where(weights == 0, 0.0, weights * self.paid[slots, 1:]).sum(axis=1)
            reward += np.where(number >= 0, self.closure.constants[number] + paid, 0.0)
        return reward
