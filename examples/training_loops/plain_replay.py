"""A plain replay buffer with the interface of CleanRL's, to compare with: nothing is relabelled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Batch(NamedTuple):
    """A batch of transitions."""

    observations: Any
    actions: Any
    next_observations: Any
    dones: Any
    rewards: Any


class ReplayBuffer:
    """A ring of transitions from several environments, which are vectors."""

    def __init__(self, buffer_size: int, observation_space: Any, action_space: Any, seed: int = 0):
        self.observations = np.zeros((buffer_size, *observation_space.shape), np.float32)
        self.next_observations = np.zeros_like(self.observations)
        self.actions = np.zeros((buffer_size, *action_space.shape), action_space.dtype)
        self.rewards = np.zeros(buffer_size, np.float32)
        self.dones = np.zeros(buffer_size, np.float32)
        self.added = 0
        self.rng = np.random.default_rng(seed)

    def add(
        self, obs: Any, next_obs: Any, actions: Any, rewards: Any, dones: Any, infos: Any
    ) -> None:
        """Store one step of every environment, or of a single one."""
        count = np.size(rewards)
        slots = np.arange(self.added, self.added + count) % len(self.rewards)
        self.observations[slots], self.next_observations[slots] = obs, next_obs
        self.actions[slots], self.rewards[slots], self.dones[slots] = actions, rewards, dones
        self.added += count

    def sample(self, batch_size: int) -> Batch:
        """Sample transitions uniformly."""
        slots = self.rng.integers(0, min(self.added, len(self.rewards)), batch_size)
        return Batch(
            self.observations[slots],
            self.actions[slots],
            self.next_observations[slots],
            self.dones[slots],
            self.rewards[slots],
        )
