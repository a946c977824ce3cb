"""Replay buffers for Stable-Baselines3 that imagine configurations when a batch is drawn."""

from __future__ import annotations

import importlib
import pickle
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding, DictEncoding, Encoding
from cranium.automata.transition import Configuration
from cranium.errors import InvalidArgumentError, MissingExtraError, WorldError, shorten
from cranium.learners.sb3.imagination import Imagination

__all__ = ["CounterfactualDictReplayBuffer", "CounterfactualReplayBuffer", "require_sb3"]

# Dynamic, and not an error: this module can be imported, and its names be found, without SB3.
try:
    _buffers: Any = importlib.import_module("stable_baselines3.common.buffers")
    _types: Any = importlib.import_module("stable_baselines3.common.type_aliases")
    _Plain: Any = _buffers.ReplayBuffer
    _PlainDict: Any = _buffers.DictReplayBuffer
except ImportError:
    _buffers = _types = None
    _Plain = _PlainDict = object


def require_sb3() -> None:
    """Raise :class:`~cranium.errors.MissingExtraError` if Stable-Baselines3 is not installed.

    Example:
        >>> require_sb3()
    """
    if _buffers is None:
        raise MissingExtraError(
            "counterfactual replay needs Stable-Baselines3, which is not installed",
            fix="pip install 'cranium[sb3]'",
        )


class _Counterfactual:
    """What both buffers do. It comes before SB3's buffer in the order of inheritance."""

    encoding_class: type[Encoding]
    buffer_size: int
    n_envs: int
    pos: int
    observations: Any
    next_observations: Any
    actions: NDArray[Any]
    to_torch: Any

    def __init__(
        self,
        buffer_size: int,
        observation_space: Any,
        action_space: Any,
        device: Any = "auto",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        *,
        encoding: Encoding,
        imagined: float = 0.5,
        configurations: Literal["seen", "reachable"] | None = None,
        n_steps: int = 1,
        gamma: float | None = None,  # noqa: ARG002
    ) -> None:
        require_sb3()
        if optimize_memory_usage:
            raise InvalidArgumentError(
                "optimize_memory_usage=True keeps no observation of how an episode ended, and from "
                "other configurations it may go on there",
                fix="leave it out",
            )
        if n_steps != 1:
            raise InvalidArgumentError(
                f"experience is imagined for one step, not for n_steps={shorten(n_steps)}",
                fix="leave n_steps out",
            )
        if not isinstance(encoding, self.encoding_class):
            raise InvalidArgumentError(
                f"{type(self).__name__} takes a {self.encoding_class.__name__}, "
                f"not {shorten(encoding)}",
                fix="take what counterfactual(env) returns",
            )
        super().__init__(buffer_size, observation_space, action_space, device, n_envs)  # type: ignore[call-arg]
        self._check_space(observation_space, encoding)
        self.imagination = Imagination(
            encoding,
            self.buffer_size * self.n_envs,
            self.n_envs,
            imagined=imagined,
            configurations=configurations,
        )

    def add(
        self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: list[Any]
    ) -> None:
        """Store one step of every environment."""
        encoding = self.imagination.encoding

        def decode(i: int) -> Configuration:
            return encoding.decode(self._one(obs, i))[1]

        shown = [self._machine_bytes(obs, i) for i in range(self.n_envs)]
        self.imagination.store(self.pos * self.n_envs, shown, decode, reward, done, infos)
        super().add(obs, next_obs, action, reward, done, infos)  # type: ignore[misc]

    def _get_samples(self, batch_inds: NDArray[Any], env: Any = None) -> Any:
        """As many steps as are asked for; ``env`` is a ``VecNormalize``, if there is one."""
        if env is not None:
            check_normalisation(env)
        slots = np.asarray(batch_inds, np.int64)
        if self.n_envs > 1:
            slots = slots * self.n_envs + np.random.randint(0, self.n_envs, len(slots))
        drawn = self.imagination.draw(slots)
        before = self._seen_from(self.observations, slots, drawn.source)
        after = self._seen_from(self.next_observations, slots, drawn.target)
        reward = drawn.reward[:, None]
        if env is not None:
            before, after = env.normalize_obs(before), env.normalize_obs(after)
            reward = env.normalize_reward(reward).astype(np.float32)
        return self._samples_class()(
            observations=self._tensors(before),
            actions=self.to_torch(_flat(self.actions).take(slots, axis=0), copy=False),
            next_observations=self._tensors(after),
            dones=self.to_torch(drawn.done[:, None], copy=False),
            rewards=self.to_torch(reward, copy=False),
        )

    def __getstate__(self) -> dict[str, Any]:
        try:
            pickle.dumps(self.imagination.automaton)
        except (pickle.PicklingError, AttributeError, TypeError) as problem:
            raise WorldError(
                f"the task cannot be saved: {problem}",
                fix="give its reward functions names: def, at the top of a module, not lambda",
            ) from None
        return self.__dict__.copy()

    # What the kind of observation decides

    def _check_space(self, space: Any, encoding: Any) -> None:
        raise NotImplementedError

    def _machine_bytes(self, obs: Any, i: int) -> bytes:
        raise NotImplementedError

    def _one(self, obs: Any, i: int) -> Any:
        raise NotImplementedError

    def _seen_from(self, stored: Any, slots: Any, numbers: Any) -> Any:
        raise NotImplementedError

    def _tensors(self, observations: Any) -> Any:
        raise NotImplementedError

    def _samples_class(self) -> Any:
        raise NotImplementedError


class CounterfactualReplayBuffer(_Counterfactual, _Plain):  # type: ignore[misc]
    """A replay buffer that imagines configurations, for products with a ``BoxEncoding``.

    It keeps what really happened, one transition for each step. When a batch is drawn, some of its
    steps are seen from other configurations of the machine: what the label would have led to there,
    what it would have paid, and whether the episode would have ended.

    Args:
        buffer_size: For how many steps there is room; this and the next ones are given by SB3.
        observation_space: Of the product.
        action_space: Of the product.
        device: Where the batches go.
        n_envs: How many environments run side by side.
        optimize_memory_usage: Refused: it forgets the last observation of an episode.
        encoding: Of the product.
        imagined: How likely a step of a batch is seen from a configuration drawn uniformly from the
            set: 0 is plain replay, 1 forgets how often each configuration really occurs.
        configurations: The set: ``"seen"``, those with counter values that occurred, or
            ``"reachable"``, all that the labels met so far can lead to. Left out, the second,
            unless the machine can reach more than 2,000.
        n_steps: Only 1: SB3's n-step returns are not imagined.
        gamma: Not used.

    Example:
        >>> import cranium
        >>> from stable_baselines3 import DQN
        >>> from cranium.aamdp import BoxEncoding
        >>> task = cranium.library.load("anbcdn")
        >>> letters = cranium.worlds.LetterEnv.experiment(1)
        >>> env = cranium.product(letters, task, encoding=BoxEncoding(), horizon=50)
        >>> settings = {"encoding": env.encoding, "imagined": 0.8}
        >>> model = DQN(
        ...     "MlpPolicy",
        ...     env,
        ...     replay_buffer_class=CounterfactualReplayBuffer,
        ...     replay_buffer_kwargs=settings,
        ... )
        >>> model.learn(20).replay_buffer.sample(8).observations.shape
        torch.Size([8, 33])
    """

    encoding_class = BoxEncoding

    def _check_space(self, space: Any, encoding: Any) -> None:
        self._ground = encoding.width
        if space.shape != encoding.space.shape:
            raise WorldError(
                f"observations have the shape {space.shape}, but those of the product "
                f"{encoding.space.shape}",
                fix="put wrappers that change observations inside: cranium.product(wrapped, …)",
            )

    def _machine_bytes(self, obs: Any, i: int) -> bytes:
        return np.asarray(obs[i][self._ground :], np.float32).tobytes()

    def _one(self, obs: Any, i: int) -> Any:
        return obs[i]

    def _seen_from(self, stored: Any, slots: Any, numbers: Any) -> Any:
        shown = _flat(stored).take(slots, axis=0)
        shown[:, self._ground :] = self.imagination.looks[0].take(numbers, axis=0)
        return shown

    def _tensors(self, observations: Any) -> Any:
        return self.to_torch(observations, copy=False)

    def _samples_class(self) -> Any:
        return _types.ReplayBufferSamples


class CounterfactualDictReplayBuffer(_Counterfactual, _PlainDict):  # type: ignore[misc]
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
    keys = ("machine_state", "counters")

    def _check_space(self, space: Any, encoding: Any) -> None:
        for key in self.keys:
            if space.spaces.get(key) != encoding.space[key]:
                raise WorldError(
                    f"observations have {key!r} in {space.spaces.get(key)}, but those of the "
                    f"product in {encoding.space[key]}",
                    fix="put wrappers that change observations inside: cranium.product(wrapped, …)",
                )

    def _machine_bytes(self, obs: Any, i: int) -> bytes:
        return b"".join([np.asarray(obs[key][i], np.int64).tobytes() for key in self.keys])

    def _one(self, obs: Any, i: int) -> Any:
        # SB3 may have made an array of one out of the number.
        return {key: part[i] for key, part in obs.items()} | {
            "machine_state": np.ravel(obs["machine_state"][i])[0]
        }

    def _seen_from(self, stored: Any, slots: Any, numbers: Any) -> Any:
        looks = dict(zip(self.keys, self.imagination.looks, strict=True))
        return {
            key: looks[key].take(numbers, axis=0)
            if key in looks
            else _flat(part).take(slots, axis=0)
            for key, part in stored.items()
        }

    def _tensors(self, observations: Any) -> Any:
        return {key: self.to_torch(part, copy=False) for key, part in observations.items()}

    def _samples_class(self) -> Any:
        return _types.DictReplayBufferSamples


def check_normalisation(env: Any) -> None:
    """Refuse a ``VecNormalize`` that would change how the machine is shown."""
    if not env.norm_obs:
        return
    keys = env.norm_obs_keys  # None for vectors
    touched = [key for key in CounterfactualDictReplayBuffer.keys if keys is None or key in keys]
    if touched:
        what = "whole vectors" if keys is None else " and ".join(touched)
        raise InvalidArgumentError(
            f"VecNormalize would normalise {what}: the machine must be shown as it is",
            fix='use encoding=DictEncoding() and VecNormalize(env, norm_obs_keys=["ground"]), '
            "or norm_obs=False",
        )


def _flat(stored: NDArray[Any]) -> NDArray[Any]:
    """[steps, environments, …] as [steps · environments, …], without a copy."""
    return stored.reshape(-1, *stored.shape[2:])
