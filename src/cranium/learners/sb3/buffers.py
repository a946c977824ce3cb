"""Replay buffers for Stable-Baselines3, on top of :class:`.CounterfactualReplay`.

Stable-Baselines3 keeps the arrays, decides what is sampled and gets tensors. Everything else is
done by the replay buffer that both share their arrays with.
"""

from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding, DictEncoding, Encoding
from cranium.counterfactual import AnyConfigurationSet, CounterfactualReplay
from cranium.counterfactual.environments import ReplaySource
from cranium.counterfactual.layouts import layout_of
from cranium.errors import (
    InvalidArgumentError,
    MissingExtraError,
    UnknownNameError,
    WorldError,
    shorten,
)
from cranium.learners.sb3.checks import check_ground, check_normalisation

__all__ = ["CounterfactualDictReplayBuffer", "CounterfactualReplayBuffer", "require_sb3"]

# Dynamic, and not an error: this module can be imported, and its names be found, without SB3.
try:
    sb3_buffers: Any = importlib.import_module("stable_baselines3.common.buffers")
    sb3_types: Any = importlib.import_module("stable_baselines3.common.type_aliases")
except ImportError:
    sb3_buffers = sb3_types = None

_Plain: Any = object if sb3_buffers is None else sb3_buffers.ReplayBuffer
_PlainDict: Any = object if sb3_buffers is None else sb3_buffers.DictReplayBuffer


def require_sb3() -> None:
    """Raise :class:`~cranium.errors.MissingExtraError` if Stable-Baselines3 is not installed.

    Example:
        >>> require_sb3()
    """
    if sb3_buffers is None:
        raise MissingExtraError.of(
            "counterfactual replay needs Stable-Baselines3, which is not installed", "sb3"
        )


class _GlobalRandomNumbers:
    """NumPy's global random numbers, because Stable-Baselines3 seeds these."""

    def random(self, size: int, /) -> NDArray[np.float64]:
        return np.random.random(size)

    def integers(self, low: int, high: int, size: int, /) -> NDArray[np.int64]:
        return np.random.randint(low, high, size)


class _CounterfactualBuffer:
    """What both buffers have in common. It comes before SB3's buffer in the method order."""

    encoding_class: type[Encoding]
    buffer_size: int
    n_envs: int
    pos: int
    full: bool
    observations: Any
    next_observations: Any
    actions: NDArray[Any]
    rewards: NDArray[np.float32]
    dones: NDArray[np.float32]
    timeouts: NDArray[np.float32]
    device: Any
    to_torch: Any

    def __init__(
        self,
        buffer_size: int,
        observation_space: Any,
        action_space: Any,
        device: Any = "auto",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        handle_timeout_termination: bool = True,
        *,
        encoding: Encoding | None = None,
        counterfactual_ratio: float = 0.5,
        configurations: AnyConfigurationSet | None = None,
        n_steps: int = 1,
        gamma: float | None = None,  # noqa: ARG002
        **unknown: Any,
    ) -> None:
        require_sb3()
        for name in unknown:
            known = ("encoding", "counterfactual_ratio", "configurations")
            raise UnknownNameError.of(f"option of {type(self).__name__}", name, known)
        if optimize_memory_usage:
            raise InvalidArgumentError(
                "optimize_memory_usage=True does not keep the last observation of an episode, but "
                "with another configuration the episode may go on there",
                fix="leave it out",
            )
        if n_steps != 1:
            raise InvalidArgumentError(
                f"transitions of one step are relabelled, not of n_steps={shorten(n_steps)}",
                fix="leave n_steps out",
            )
        bound = self._check_encoding(encoding)
        layout_of(bound, observation_space)  # refuses other spaces before SB3 fails with them
        super().__init__(  # type: ignore[call-arg]
            buffer_size,
            observation_space,
            action_space,
            device,
            n_envs,
            handle_timeout_termination=handle_timeout_termination,
        )
        self.replay = CounterfactualReplay(
            self.buffer_size * self.n_envs,
            ReplaySource(bound, observation_space, action_space, self.n_envs, is_vector=True),
            configurations=configurations,
            counterfactual_ratio=counterfactual_ratio,
            handle_timeout_termination=handle_timeout_termination,
        )
        self._share_arrays()
        self._ends_known = True

    def _check_encoding(self, encoding: Encoding | None) -> Encoding:
        mine = isinstance(encoding, self.encoding_class)
        if encoding is None or not mine or not hasattr(encoding, "space"):
            raise InvalidArgumentError(
                f"{type(self).__name__} takes the {self.encoding_class.__name__} of a product, "
                + ("not one without a product" if mine else f"not {shorten(encoding)}"),
                fix="take what counterfactual(env) returns, or env.encoding of a product",
            )
        if isinstance(encoding, DictEncoding):
            check_ground(encoding.ground)
        return encoding

    def _share_arrays(self) -> None:
        """Let the replay buffer keep its transitions in the arrays of this one."""

        def flat(stored: NDArray[Any]) -> NDArray[Any]:
            return stored.reshape(-1, *stored.shape[2:])  # a view

        for name in ("observations", "next_observations", "actions"):
            kept = getattr(self, name)
            many = isinstance(kept, dict)
            shared = {key: flat(part) for key, part in kept.items()} if many else flat(kept)
            setattr(self.replay, name, shared)

    def add(
        self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: list[Any]
    ) -> None:
        """Store one step of every environment."""
        if isinstance(infos, dict):
            raise InvalidArgumentError(
                "infos is a list with one dictionary for each environment, as a VecEnv returns it",
                fix="use cranium.counterfactual.CounterfactualReplay for gymnasium.vector "
                "environments",
            )
        self.replay.position = self.pos * self.n_envs
        self.replay.add(obs, next_obs, action, reward, done, infos)
        if any(done):
            self._keep_ends(obs, done, infos)
        self.rewards[self.pos] = reward
        self.dones[self.pos] = done
        self.timeouts[self.pos] = [info.get("TimeLimit.truncated", False) for info in infos]
        self.pos += 1
        if self.pos == self.buffer_size:
            self.full, self.pos = True, 0

    def _keep_ends(self, obs: Any, done: Any, infos: list[Any]) -> None:
        """Store the last observations of episodes as the environment itself returned them.

        SB3 hands over what ``VecNormalize`` made of them, normalised and back: clipped and rounded.
        """
        replay, stored = self.replay, self.replay.transitions
        encoding, space = stored.encoding, stored.known.space
        for i in np.flatnonzero(done).tolist():
            if replay.layout.has_ground_shape and "transition" in infos[i]:
                before, _, after = infos[i]["transition"]
                slot = self.pos * self.n_envs + i
                shown = encoding.encode(before, space.decode(int(stored.real[slot])))
                if replay.layout.shows(obs, i, shown):
                    last = encoding.encode(after, space.decode(stored.reached[i]))
                    where = slice(slot, slot + 1)
                    replay.layout.write(replay.next_observations, where, replay.layout.stack(last))
                    continue
            # Not recorded, or a wrapper around the product changes the ground.
            self._ends_known = False

    def _get_samples(self, batch_inds: NDArray[Any], env: Any = None) -> Any:
        """Return the transitions that SB3 chose; ``env`` is a ``VecNormalize``, if there is one."""
        if env is not None:
            check_normalisation(env, ends_known=self._ends_known)
        rng = _GlobalRandomNumbers()
        slots = np.asarray(batch_inds, np.int64)
        if self.n_envs > 1:
            slots = slots * self.n_envs + rng.integers(0, self.n_envs, len(slots))
        batch = self.replay.take(slots, rng)
        before, after = batch.observations, batch.next_observations
        rewards = batch.rewards[:, None]
        if env is not None:
            before, after = env.normalize_obs(before), env.normalize_obs(after)
            rewards = env.normalize_reward(rewards).astype(np.float32)
        return self._samples_class()(
            observations=self._tensors(before),
            actions=self._tensors(batch.actions),
            next_observations=self._tensors(after),
            dones=self._tensors(batch.dones[:, None]),
            rewards=self._tensors(rewards),
        )

    def _tensors(self, arrays: Any) -> Any:
        if isinstance(arrays, dict):
            return {key: self._tensors(part) for key, part in arrays.items()}
        if self.device.type == "cpu":  # ten times as fast as to name the device
            return sb3_buffers.th.from_numpy(arrays)
        return self.to_torch(arrays, copy=False)

    def _samples_class(self) -> Any:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        try:
            pickle.dumps(self.replay.transitions.encoding.automaton)
        except (pickle.PicklingError, AttributeError, TypeError) as problem:
            raise WorldError(
                f"the task cannot be saved: {problem}",
                fix="give its reward functions names: def, at the top of a module, not lambda",
            ) from None
        replay = copy.copy(self.replay)
        replay.observations = replay.next_observations = {}  # they are in SB3's own arrays
        replay.actions = np.zeros(0)
        return {**self.__dict__, "replay": replay}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share_arrays()
        self.replay.transitions.forget_episodes()


class CounterfactualReplayBuffer(_CounterfactualBuffer, _Plain):  # type: ignore[misc]
    """A replay buffer that relabels transitions, for products with a ``BoxEncoding``.

    It stores one transition for each step. When a batch is sampled, some transitions are relabelled
    with other configurations of the machine: see
    :class:`cranium.counterfactual.CounterfactualReplay`.

    Args:
        buffer_size: The number of transitions that are kept; SB3 gives this and the next ones.
        observation_space: The observation space of the product.
        action_space: The action space of the product.
        device: The device of the tensors.
        n_envs: The number of environments.
        optimize_memory_usage: Refused: it does not keep the last observation of an episode.
        handle_timeout_termination: Whether ``done`` is true at time limits, too.
        encoding: The encoding of the product.
        counterfactual_ratio: The probability that a transition of a batch is relabelled with a
            configuration that is drawn from the set; it may be the real one. 0 is plain replay.
        configurations: The set of configurations, as for ``CounterfactualReplay``.
        n_steps: Only 1: n-step returns cannot be relabelled.
        gamma: Not used.

    Example:
        >>> import cranium
        >>> from stable_baselines3 import DQN
        >>> from cranium.aamdp import BoxEncoding
        >>> task = cranium.library.load("anbcdn")
        >>> letters = cranium.worlds.LetterEnv.experiment(1)
        >>> env = cranium.product(letters, task, encoding=BoxEncoding(), horizon=50)
        >>> settings = {"encoding": env.encoding, "counterfactual_ratio": 0.8}
        >>> model = DQN(
        ...     "MlpPolicy",
        ...     env,
        ...     replay_buffer_class=CounterfactualReplayBuffer,
        ...     replay_buffer_kwargs=settings,
        ... )
        >>> model.learn(20).replay_buffer.sample(8).observations.shape
        torch.Size([8, 25])
    """

    encoding_class = BoxEncoding

    def _samples_class(self) -> Any:
        return sb3_types.ReplayBufferSamples


class CounterfactualDictReplayBuffer(_CounterfactualBuffer, _PlainDict):  # type: ignore[misc]
    """The same for products with the default ``DictEncoding``.

    Args: as of :class:`CounterfactualReplayBuffer`.

    Example:
        >>> import gymnasium
        >>> from stable_baselines3 import DQN
        >>> from cranium.learners.sb3 import counterfactual
        >>> env, replay = counterfactual(gymnasium.make("cranium/Letter-anbcdn-v0"))
        >>> replay["replay_buffer_class"].__name__
        'CounterfactualDictReplayBuffer'
        >>> model = DQN("MultiInputPolicy", env, **replay).learn(20)
        >>> sorted(model.replay_buffer.sample(8).observations)
        ['counters', 'ground', 'machine_state']
    """

    encoding_class = DictEncoding

    def _samples_class(self) -> Any:
        return sb3_types.DictReplayBufferSamples
