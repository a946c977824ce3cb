"""Replay buffers for Stable-Baselines3 that imagine configurations when a batch is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from cranium.aamdp.encoding import BoxEncoding, DictEncoding
from cranium.errors import WorldError
from cranium.learners.sb3.checks import MACHINE, OUTSIDE, check_ground
from cranium.learners.sb3.replay import CounterfactualReplay, flat, sb3_buffers, sb3_types

__all__ = ["CounterfactualDictReplayBuffer", "CounterfactualReplayBuffer"]

_Plain: Any = object if sb3_buffers is None else sb3_buffers.ReplayBuffer
_PlainDict: Any = object if sb3_buffers is None else sb3_buffers.DictReplayBuffer
INSIDE = OUTSIDE.format("change observations")


class CounterfactualReplayBuffer(CounterfactualReplay, _Plain):  # type: ignore[misc]
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
        counterfactual_ratio: The probability that a transition of a batch is relabelled with a
            configuration that is drawn from the set; it may be the real one. Configurations that
            look alike in an observation are drawn as one, and then one of them, both uniformly.
            0 is plain replay; with 1 every transition is relabelled.
        configurations: The set: ``"seen"``, those with counter values in which an action was taken,
            or ``"reachable"``, all that the labels met so far can lead to. The default is
            ``"reachable"`` if a ``counter_limit`` was given and the machine can reach at most
            2,000, and ``"seen"`` otherwise.
        n_steps: Only 1: SB3's n-step returns are not imagined.
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

    def _check_space(self, space: Any, encoding: Any) -> None:
        self._ground = encoding.width
        self.same_ground = True
        if not isinstance(space, spaces.Box):
            raise WorldError(
                f"vectors are observed by this buffer, not {space}",
                fix="use CounterfactualDictReplayBuffer, or take what counterfactual(env) returns",
            )
        if space.shape != encoding.space.shape:
            raise WorldError(
                f"observations have the shape {space.shape}, but those of the product "
                f"{encoding.space.shape}",
                fix=INSIDE,
            )

    def _fits(self, obs: Any) -> bool:
        return not isinstance(obs, dict) and obs.shape == self.observations.shape[1:]

    def _machine_bytes(self, obs: Any, i: int) -> bytes:
        return np.asarray(obs[i][self._ground :], np.float32).tobytes()

    def _one(self, obs: Any, i: int) -> Any:
        return obs[i]

    def _shows(self, obs: Any, i: int, observation: Any) -> bool:
        return np.array_equal(obs[i], observation, equal_nan=True)

    def _write(self, obs: Any, i: int, observation: Any) -> None:
        obs[i] = observation

    def _seen_from(self, stored: Any, slots: Any, numbers: Any) -> Any:
        shown = flat(stored).take(slots, axis=0)
        shown[:, self._ground :] = self.imagination.closure.looks[0].take(numbers, axis=0)
        return shown

    def _tensors(self, observations: Any) -> Any:
        return self.to_torch(observations, copy=False)

    def _samples_class(self) -> Any:
        return sb3_types.ReplayBufferSamples


class CounterfactualDictReplayBuffer(CounterfactualReplay, _PlainDict):  # type: ignore[misc]
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

    def _check_space(self, space: Any, encoding: Any) -> None:
        if not isinstance(space, spaces.Dict):
            raise WorldError(
                f"dictionaries are observed by this buffer, not {space}",
                fix="use CounterfactualReplayBuffer, or take what counterfactual(env) returns",
            )
        check_ground(encoding.ground)
        self._keys = tuple(key for key in MACHINE if key in encoding.space.spaces)
        for key in self._keys:
            if space.spaces.get(key) != encoding.space[key]:
                raise WorldError(
                    f"observations have {key!r} in {space.spaces.get(key)}, but those of the "
                    f"product in {encoding.space[key]}",
                    fix=INSIDE,
                )
        # SB3 puts the colours of an image first.
        ground = space.spaces.get("ground")
        self.same_ground = ground is not None and ground.shape == encoding.ground.shape

    def _fits(self, obs: Any) -> bool:
        mine = self.observations
        # SB3 may or may not have made arrays of one out of numbers.
        return isinstance(obs, dict) and all(
            key in obs and obs[key].size * len(part) == part.size for key, part in mine.items()
        )

    def _machine_bytes(self, obs: Any, i: int) -> bytes:
        return b"".join([np.asarray(obs[key][i], np.int64).tobytes() for key in self._keys])

    def _one(self, obs: Any, i: int) -> Any:
        # SB3 may have made an array of one out of the number.
        return {key: part[i] for key, part in obs.items()} | {
            "machine_state": np.ravel(obs["machine_state"][i])[0]
        }

    def _shows(self, obs: Any, i: int, observation: Any) -> bool:
        ground = np.ravel(obs["ground"][i])  # in the precision of its space
        shown = np.ravel(observation["ground"]).astype(ground.dtype)
        return np.array_equal(ground, shown, equal_nan=True)

    def _write(self, obs: Any, i: int, observation: Any) -> None:
        for key, part in observation.items():
            obs[key][i] = part

    def _seen_from(self, stored: Any, slots: Any, numbers: Any) -> Any:
        looks = dict(zip(self._keys, self.imagination.closure.looks, strict=True))
        return {
            key: looks[key].take(numbers, axis=0)
            if key in looks
            else flat(part).take(slots, axis=0)
            for key, part in stored.items()
        }

    def _tensors(self, observations: Any) -> Any:
        return {key: self.to_torch(part, copy=False) for key, part in observations.items()}

    def _samples_class(self) -> Any:
        return sb3_types.DictReplayBufferSamples
