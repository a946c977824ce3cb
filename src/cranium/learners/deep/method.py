"""The interface of a method that learns a network: :class:`DQN` and :class:`TD3` follow it."""

from __future__ import annotations

from typing import Protocol, TypeVar

import jax
import numpy as np

from cranium.learners.deep.counterfactual import ConfigurationSampling, CounterfactualBatch
from cranium.learners.deep.machine import JaxMachine
from cranium.learners.deep.protocols import PyTree

__all__ = ["LearnerRates", "LearnerState", "Method"]

Array = jax.Array
Params = TypeVar("Params")


class LearnerState(Protocol):
    """What an update changes: the weights, and what belongs to them."""

    @property
    def params(self) -> PyTree:
        """The weights of the networks."""

    @property
    def loss(self) -> Array:
        """The loss of the last batch."""


class LearnerRates(Protocol):
    """Settings that may change without compiling again."""

    @property
    def warmup(self) -> Array:
        """The number of samples before the first update."""


State = TypeVar("State", bound=LearnerState)
Rates_contra = TypeVar("Rates_contra", bound=LearnerRates, contravariant=True)


class Method(Protocol[Params, State, Rates_contra]):
    """A method of deep reinforcement learning. It is hashable: loops are compiled for it."""

    @property
    def batch(self) -> int:
        """The number of real transitions in a batch."""

    @property
    def sampling(self) -> ConfigurationSampling:
        """The configurations with which each of them is relabelled."""

    @property
    def train_every(self) -> int:
        """The number of samples between two updates."""

    @property
    def act_randoms(self) -> int:
        """The number of random numbers that an action takes."""

    @property
    def update_randoms(self) -> int:
        """The number of random numbers that an update takes, besides those of the batch."""

    @property
    def has_long_warmup(self) -> bool:
        """Whether updates during the warmup are skipped, not computed and undone."""

    def zero_action(self) -> Array:
        """An action of zeros, whose shape and type the replay buffer takes over."""

    def init_params(self, rng: np.random.Generator, ground: int, machine: JaxMachine) -> Params:
        """Draw the initial weights, for so many features of ground observations."""

    def init(self, params: Params, machine: JaxMachine, all_features: Array | None = None) -> State:
        """Return the state before the first update."""

    def greedy_action(
        self, learner: State, machine: JaxMachine, features: Array, x: Array
    ) -> Array:
        """Return the greedy actions for features [..., G] in configurations [...]."""

    def act(
        self,
        learner: State,
        machine: JaxMachine,
        features: Array,
        x: Array,
        rates: Rates_contra,
        samples: Array,
        episodes: Array,
        u: Array,
    ) -> Array:
        """Choose an action to explore with."""

    def update(
        self,
        learner: State,
        machine: JaxMachine,
        batch: CounterfactualBatch,
        rates: Rates_contra,
        samples: Array,
        u: Array,
        all_features: Array | None = None,
    ) -> State:
        """Learn from a batch."""
