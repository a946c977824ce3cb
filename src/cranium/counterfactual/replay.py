"""A replay buffer for any training loop: NumPy arrays in, relabelled NumPy arrays out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import ArrayLike, NDArray

from cranium.arguments import check_count, check_number
from cranium.automata.transition import Configuration
from cranium.counterfactual.environments import ReplaySource, replay_source
from cranium.counterfactual.groups import Ints, RandomNumbers
from cranium.counterfactual.infos import final_observations, is_reset, split_infos
from cranium.counterfactual.layouts import Arrays, layout_of
from cranium.counterfactual.recorder import fingerprint
from cranium.counterfactual.replay_files import (
    DAMAGES,
    SavedReplay,
    read_replay,
    set_data,
    set_from,
    write_replay,
)
from cranium.counterfactual.sets import AnyConfigurationSet
from cranium.counterfactual.settings import choose_set
from cranium.counterfactual.transitions import StoredTransitions
from cranium.errors import FileFormatError, InvalidArgumentError, WorldError, shorten

__all__ = ["CounterfactualReplay", "ReplayBatch"]


class ReplayBatch(NamedTuple):
    """A batch of B transitions. The fields are named as in Stable-Baselines3 and CleanRL."""

    observations: Arrays  # [B, …], or a dictionary of such arrays
    actions: NDArray[Any]  # [B, …]
    next_observations: Arrays  # [B, …], or a dictionary of such arrays
    dones: NDArray[np.float32]  # [B]; 1 where the episode terminated, 0 at time limits
    rewards: NDArray[np.float32]  # [B]


class CounterfactualReplay:
    """A replay buffer that relabels transitions with other configurations when they are sampled.

    It stores one transition for each step. When a batch is sampled, each transition is relabelled
    with probability ``counterfactual_ratio``: a configuration is drawn from a set, the
    observations show it instead of the real one, and the reward and the termination are those that
    the machine would have given there. :func:`relabel` defines them.

    Args:
        buffer_size: The number of transitions that are kept, of all environments together.
        env: A product, with wrappers or without, or a ``gymnasium.vector`` environment of products.
            Its encoding is a ``BoxEncoding`` or a ``DictEncoding``.
        configurations: The set of configurations: ``"current"``, ``"seen"``, ``"reachable"`` or a
            :class:`ConfigurationSet`. The default is ``"reachable"`` if the product was given a
            ``counter_limit`` and at most 2,000 configurations are reachable, and ``"seen"``
            otherwise. Each transition of a batch has one configuration, so ``sample`` of a set
            plays no part here.
        counterfactual_ratio: The probability that a transition of a batch is relabelled with a
            configuration of the set; this may be the real one. Configurations that an encoding
            shows alike are drawn as one, and then one of them, both uniformly. 0 is plain replay.
        handle_timeout_termination: Whether ``dones`` are ``terminated | truncated``, as in
            Stable-Baselines3, rather than ``terminated``, as in CleanRL. Nothing is learned from
            ``dones``: they are only compared with what the product did.
        seed: A seed or a generator for the sampling.

    Raises:
        WorldError: A wrapper around the product changes its rewards, ends, labels or steps.

    Example:
        >>> import cranium
        >>> from cranium.aamdp import BoxEncoding
        >>> task, letters = cranium.library.load("anbcdn"), cranium.worlds.LetterEnv()
        >>> env = cranium.product(letters, task, horizon=50, encoding=BoxEncoding())
        >>> replay = CounterfactualReplay(1_000, env, seed=0)
        >>> observation, _ = env.reset(seed=0)
        >>> for action in [2, 2, 1, 1, 1, 2]:
        ...     after, reward, terminated, truncated, info = env.step(action)
        ...     replay.add(observation, after, action, reward, terminated, info)
        ...     observation = after
        >>> batch = replay.sample(32)
        >>> len(replay), batch.observations.shape, batch.rewards.shape
        (6, (32, 25), (32,))
    """

    def __init__(
        self,
        buffer_size: int,
        env: gym.Env[Any, Any] | VectorEnv[Any, Any, Any] | ReplaySource,
        *,
        configurations: AnyConfigurationSet | None = None,
        counterfactual_ratio: float = 0.5,
        handle_timeout_termination: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.source = env if isinstance(env, ReplaySource) else replay_source(env)
        encoding = self.source.encoding
        self.buffer_size = check_count("buffer_size", buffer_size)
        self.num_envs = self.source.num_envs
        if self.buffer_size < self.num_envs:
            raise InvalidArgumentError(
                f"a buffer for {self.num_envs} environments keeps at least as many transitions, "
                f"not {self.buffer_size}"
            )
        self.layout = layout_of(encoding, self.source.observation_space)
        self.transitions = StoredTransitions(
            encoding,
            self.buffer_size,
            self.num_envs,
            choose_set(configurations, encoding),
            counterfactual_ratio=check_number("counterfactual_ratio", counterfactual_ratio, 0, 1),
            done_at_time_limits=bool(handle_timeout_termination),
        )
        action = self.source.action_space
        if action.shape is None:
            raise InvalidArgumentError(f"a replay buffer keeps arrays, and actions are in {action}")
        self.observations: Arrays = self.layout.allocate(self.buffer_size)
        self.next_observations: Arrays = self.layout.allocate(self.buffer_size)
        self.actions = np.zeros((self.buffer_size, *action.shape), action.dtype)
        self.position = 0  # the slot of the next transition
        self.rng = np.random.default_rng(seed)
        self._size = 0

    def __len__(self) -> int:
        """The number of transitions that are stored."""
        return self._size

    @property
    def members(self) -> list[Configuration]:
        """The configurations that transitions are relabelled with, as far as they are known."""
        known = self.transitions.known
        return [known.space.decode(number) for number in known.members.tolist()]

    def add(
        self,
        obs: ArrayLike | dict[str, Any],
        next_obs: ArrayLike | dict[str, Any],
        actions: ArrayLike,
        rewards: SupportsFloat | ArrayLike,
        dones: ArrayLike,
        infos: dict[str, Any] | Sequence[Mapping[str, Any]],
    ) -> None:
        """Store one step of every environment.

        The arguments are those of ``env.step``. In a vector environment, steps that only reset an
        environment (``AutoresetMode.NEXT_STEP``) are left out, and the last observation of an
        episode is taken from ``infos["final_obs"]`` if it is there (``AutoresetMode.SAME_STEP``).

        Args:
            obs: The observations before the step.
            next_obs: The observations after it.
            actions: The actions.
            rewards: The rewards.
            dones: ``terminated``, or ``terminated | truncated``.
            infos: ``info`` of the step, or the infos of a vector environment.
        """
        rows: Sequence[int] = range(self.num_envs)
        found: Sequence[Mapping[str, Any]]
        acted: Any = actions  # from here on, one of each for every environment
        paid: Any = rewards
        ended: Any = dones
        if not isinstance(infos, dict):
            found = infos
        elif self.source.is_vector:
            found = split_infos(infos, self.num_envs)
            rows = [i for i, info in enumerate(found) if not is_reset(info)]
            if last := final_observations(infos):
                next_obs = self.layout.replace(next_obs, last)
        else:
            obs, next_obs = self.layout.stack(obs), self.layout.stack(next_obs)
            acted, paid, ended, found = [actions], [rewards], [dones], [infos]
        self._check(obs, next_obs, len(found))
        first, size, layout = self.position, self.buffer_size, self.layout
        slots = [n % size for n in range(first, first + len(rows))]

        def decode(i: int) -> Configuration:
            return layout.decode(obs, i)

        store, shown = self.transitions.store, layout.machine_bytes
        for slot, i in zip(slots, rows, strict=True):
            reward, done = float(paid[i]), bool(ended[i])
            store(slot, i, shown(obs, i), decode, reward, done, found[i])
        if len(rows) < self.num_envs:
            for i in set(range(self.num_envs)).difference(rows):
                self.transitions.begin_episode(i)
            obs, next_obs = layout.pick(obs, rows), layout.pick(next_obs, rows)
            acted = np.asarray(acted)[rows]
        self._write(slots, obs, next_obs, acted)

    def _write(self, slots: list[int], obs: Any, next_obs: Any, actions: Any) -> None:
        if not slots:
            return
        first, last = slots[0], slots[-1] + 1
        where = slice(first, last) if last - first == len(slots) else slots
        self.layout.write(self.observations, where, obs)
        self.layout.write(self.next_observations, where, next_obs)
        self.actions[where] = np.asarray(actions).reshape(self.actions[where].shape)
        if self._size < self.buffer_size:
            self._size = min(max(self._size, self.position + len(slots)), self.buffer_size)
        self.position = last % self.buffer_size

    def _check(self, obs: Any, next_obs: Any, count: int) -> None:
        """A buffer that was loaded may not fit the environments that it is now used with."""
        if count != self.num_envs:
            raise WorldError(
                f"this buffer is for {self.num_envs} environments side by side, not {count}",
                fix="run as many as when it was made or saved, or begin with a new one",
            )
        if not (self.layout.fits(obs, count) and self.layout.fits(next_obs, count)):
            raise WorldError(
                f"this buffer keeps observations in {self.source.observation_space}, "
                "and these are not",
                fix="use a buffer that was made or saved with the same environment and encoding",
            )

    def sample(self, batch_size: int) -> ReplayBatch:
        """Sample transitions uniformly, with replacement, and relabel some of them."""
        check_count("batch_size", batch_size)
        if not self._size:
            raise InvalidArgumentError("nothing can be sampled: the buffer is empty", fix="add()")
        return self.take(self.rng.integers(0, self._size, batch_size), self.rng)

    def take(self, slots: Ints, rng: RandomNumbers) -> ReplayBatch:
        """Return the transitions in these slots, and relabel some of them.

        Args:
            slots: Numbers of transitions, from 0 to ``len(replay) - 1``: [B].
            rng: Draws the configurations: ``numpy.random.Generator``, or anything with its methods
                ``random`` and ``integers``.
        """
        drawn = self.transitions.draw(slots, rng)
        features = self.transitions.known.features
        return ReplayBatch(
            self.layout.read(self.observations, slots, features, drawn.source),
            self.actions.take(slots, axis=0),
            self.layout.read(self.next_observations, slots, features, drawn.target),
            drawn.terminated,
            drawn.reward,
        )

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the buffer into a ``.npz`` file; all or nothing.

        Reward functions are not written: the values that they had are. Where the environments are
        in their episodes is not written either.
        """
        size, stored = self._size, self.transitions
        parts = self._columns()
        known, described = stored.known.export()
        arrays = {name: array[:size] for name, array in parts.items()} | known
        about = {
            "fingerprint": stored.fingerprint,
            "buffer_size": self.buffer_size,
            "num_envs": self.num_envs,
            "position": self.position,
            "counterfactual_ratio": stored.counterfactual_ratio,
            "handle_timeout_termination": stored.done_at_time_limits,
            "configurations": set_data(stored.configurations),
            "known": described,
            "rng": _generator_data(self.rng),
        }
        write_replay(path, SavedReplay(about, arrays))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        env: gym.Env[Any, Any] | VectorEnv[Any, Any, Any],
        *,
        configurations: AnyConfigurationSet | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> CounterfactualReplay:
        """Read a buffer that :meth:`save` wrote.

        Args:
            path: The file.
            env: The environment: its task, encoding and counter limit are those of the file.
            configurations: The set of configurations; needed only if it was one of your own.
            seed: A seed or a generator; by default sampling goes on where it was.

        Example:
            >>> import tempfile
            >>> env = gym.make("cranium/Letter-anbcdn-v0")
            >>> replay = CounterfactualReplay(100, env, seed=0)
            >>> observation, _ = env.reset(seed=0)
            >>> after, reward, terminated, _, info = env.step(0)
            >>> replay.add(observation, after, 0, reward, terminated, info)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     replay.save(f"{folder}/replay.npz")
            ...     again = CounterfactualReplay.load(f"{folder}/replay.npz", env)
            >>> len(again), bool((again.sample(9).rewards == replay.sample(9).rewards).all())
            (1, True)
        """
        saved, source = read_replay(path), replay_source(env)
        about = saved.about
        if about.get("fingerprint") != fingerprint(source.encoding):
            raise WorldError(
                f"{shorten(str(path))} was saved with another task, encoding or counter limit",
                fix="make the environment as it was, or begin with a new buffer",
            )
        if configurations is None and about.get("configurations") is None:
            raise InvalidArgumentError(
                f"{shorten(str(path))} was saved with a set of configurations that is not ours",
                fix="give it: CounterfactualReplay.load(path, env, configurations=…)",
            )
        try:
            found = cls(
                about["buffer_size"],
                source._replace(num_envs=check_count("num_envs", about["num_envs"])),
                configurations=configurations or set_from(about["configurations"]),
                counterfactual_ratio=about["counterfactual_ratio"],
                handle_timeout_termination=about["handle_timeout_termination"] is True,
                seed=_generator_from(about["rng"]) if seed is None else seed,
            )
            found._restore(saved)
        except (*DAMAGES, InvalidArgumentError) as problem:
            raise FileFormatError(
                f"{shorten(str(path))} is damaged: {shorten(str(problem))}"
            ) from None
        return found

    def _restore(self, saved: SavedReplay) -> None:
        size = len(saved.arrays["actions"])
        position = check_count("position", saved.about["position"], least=0)
        if size > self.buffer_size or position >= self.buffer_size:
            raise ValueError(f"{size} transitions, the next one at {position}")
        for name, array in self._columns().items():
            found = saved.arrays[name]
            if found.shape != (size, *array.shape[1:]) or found.dtype != array.dtype:
                raise ValueError(f"{name} of the shape {found.shape} and the dtype {found.dtype}")
            array[:size] = found
        self._size, self.position = size, position
        self.transitions.restore(size, saved.arrays, saved.about["known"])

    def _columns(self) -> dict[str, NDArray[Any]]:
        """All arrays with one row for each transition, by their names in a file."""
        stored = self.transitions
        columns: dict[str, NDArray[Any]] = {"actions": self.actions}
        for name in ("label", "real", "ground_terminated", "paid"):
            columns[name] = getattr(stored, name)
        for name in ("observations", "next_observations"):
            kept = getattr(self, name)
            parts = kept.values() if isinstance(kept, dict) else [kept]
            columns |= {f"{name}{number}": part for number, part in enumerate(parts)}
        return columns


def _generator_data(rng: np.random.Generator) -> dict[str, Any] | None:
    state = rng.bit_generator.state
    return dict(state) if state["bit_generator"] == "PCG64" else None


def _generator_from(data: Any) -> np.random.Generator | None:
    """The generator as it was; None, for a new one, if it was not NumPy's default."""
    if data is None:
        return None
    bits = np.random.PCG64()
    bits.state = data
    return np.random.Generator(bits)
