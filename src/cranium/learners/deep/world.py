"""The interface of a world that steps inside the compiled training loop."""

from __future__ import annotations

from typing import Protocol, TypeVar

import jax

__all__ = ["JaxWorld"]

Array = jax.Array
State = TypeVar("State")


class JaxWorld(Protocol[State]):
    """A world in JAX. It is a pytree, and its state is one, too: arrays, or tuples of arrays.

    What is random is given to it as uniform random numbers from 0 to 1.
    """

    @property
    def step_randoms(self) -> int:
        """The number of random numbers that a step takes."""

    @property
    def reset_randoms(self) -> int:
        """The number of random numbers that a reset takes."""

    @property
    def num_extras(self) -> int:
        """The length of ``extra``: 1 for the ground reward, and 1 for each reward function."""

    def reset(self, u: Array) -> State:
        """Return an initial state."""

    def step(self, state: State, action: Array, u: Array) -> tuple[State, Array, Array, Array]:
        """Take an action.

        Returns:
            The next state, the label as a row of the machine's tables, whether the world itself
            terminated, and ``extra``: the ground reward and the value of each reward function.
        """

    def observe(self, state: State) -> Array:
        """Return the observation of a state, as it is stored in the replay buffer."""

    def features(self, observation: Array) -> Array:
        """Return the input of the network for stored observations: [..., G]."""

    def all_features(self) -> Array | None:
        """Return the input for every observation, if these can be listed: [O, G]."""
