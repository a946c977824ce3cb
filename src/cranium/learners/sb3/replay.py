"""What both replay buffers do: remember steps, and imagine configurations when a batch is drawn."""

from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.encoding import Encoding
from cranium.automata.transition import Configuration
from cranium.errors import (
    InvalidArgumentError,
    MissingExtraError,
    UnknownNameError,
    WorldError,
    shorten,
)
from cranium.learners.sb3.checks import check_normalisation
from cranium.learners.sb3.imagination import Imagination

__all__ = ["CounterfactualReplay", "require_sb3"]

# Dynamic, and not an error: this module can be imported, and its names be found, without SB3.
try:
    sb3_buffers: Any = importlib.import_module("stable_baselines3.common.buffers")
    sb3_types: Any = importlib.import_module("stable_baselines3.common.type_aliases")
except ImportError:
    sb3_buffers = sb3_types = None


def require_sb3() -> None:
    """Raise :class:`~cranium.errors.MissingExtraError` if Stable-Baselines3 is not installed.

    Example:
        >>> require_sb3()
    """
    if sb3_buffers is None:
        raise MissingExtraError.of(
            "counterfactual replay needs Stable-Baselines3, which is not installed", "sb3"
        )


class CounterfactualReplay:
    """What both buffers do. It comes before SB3's buffer in the order of inheritance."""

    encoding_class: type[Encoding]
    buffer_size: int
    n_envs: int
    pos: int
    observations: Any
    next_observations: Any
    actions: NDArray[Any]
    to_torch: Any
    same_ground: bool  # whether the ground has the shape in which the environment shows it

    def __init__(
        self,
        buffer_size: int,
        observation_space: Any,
        action_space: Any,
        device: Any = "auto",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        *,
        encoding: Encoding | None = None,
        counterfactual_ratio: float = 0.5,
        configurations: Literal["seen", "reachable"] | None = None,
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
                "optimize_memory_usage=True keeps no observation of how an episode ended, and from "
                "other configurations it may go on there",
                fix="leave it out",
            )
        if n_steps != 1:
            raise InvalidArgumentError(
                f"experience is imagined for one step, not for n_steps={shorten(n_steps)}",
                fix="leave n_steps out",
            )
        bound = self._check_encoding(encoding)
        self._check_space(observation_space, bound)
        super().__init__(buffer_size, observation_space, action_space, device, n_envs)  # type: ignore[call-arg]
        slots = self.buffer_size * self.n_envs
        self.imagination = Imagination(
            bound,
            slots,
            self.n_envs,
            counterfactual_ratio=counterfactual_ratio,
            configurations=configurations,
        )
        self._ends_told = True

    def _check_encoding(self, encoding: Encoding | None) -> Encoding:
        if isinstance(encoding, self.encoding_class) and hasattr(encoding, "space"):
            return encoding
        mine = isinstance(encoding, self.encoding_class)
        raise InvalidArgumentError(
            f"{type(self).__name__} takes a {self.encoding_class.__name__} of a product, "
            + ("not one that was only made" if mine else f"not {shorten(encoding)}"),
            fix="take what counterfactual(env) returns, or env.encoding of a product",
        )

    def add(
        self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: list[Any]
    ) -> None:
        """Store one step of every environment."""
        self._check_observations(obs, len(infos))
        encoding = self.imagination.encoding

        def decode(i: int) -> Configuration:
            return encoding.decode(self._one(obs, i))[1]

        shown = [self._machine_bytes(obs, i) for i in range(self.n_envs)]
        self.imagination.store(self.pos * self.n_envs, shown, decode, reward, done, infos)
        if any(done):
            next_obs = self._as_it_ended(obs, next_obs, done, infos)
        super().add(obs, next_obs, action, reward, done, infos)  # type: ignore[misc]

    def _check_observations(self, obs: Any, count: int) -> None:
        """A buffer that was loaded may not fit the environments that it is now used with."""
        if count != self.n_envs:
            raise WorldError(
                f"this buffer is for {self.n_envs} environments side by side, not {count}",
                fix="run as many as when it was saved, or begin with a new one",
            )
        if not self._fits(obs):
            raise WorldError(
                f"this buffer keeps observations in {self.imagination.encoding.space}, "
                "and these are not",
                fix="load a buffer that was saved with the same environment and encoding",
            )

    def _as_it_ended(self, obs: Any, next_obs: Any, done: Any, infos: list[Any]) -> Any:
        """The observations, with the last ones of episodes as the environment itself showed them.

        SB3 hands over those that a ``VecNormalize`` made, normalised and back: clipped and rounded.
        """
        imagination, encoding = self.imagination, self.imagination.encoding
        next_obs = copy.deepcopy(next_obs)
        for i in np.flatnonzero(done).tolist():
            if not self.same_ground or "transition" not in infos[i]:
                self._ends_told = False
                continue
            before, _, after = infos[i]["transition"]
            source = imagination.real[self.pos * self.n_envs + i]
            shown = encoding.encode(before, imagination.space.decode(source))
            if not self._shows(obs, i, shown):  # something outside the product changes the ground
                self._ends_told = False
                continue
            reached = imagination.space.decode(imagination.reached[i])
            self._write(next_obs, i, encoding.encode(after, reached))
        return next_obs

    def _get_samples(self, batch_inds: NDArray[Any], env: Any = None) -> Any:
        """As many steps as are asked for; ``env`` is a ``VecNormalize``, if there is one."""
        if env is not None:
            check_normalisation(env, ends_told=self._ends_told)
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
            actions=self.to_torch(flat(self.actions).take(slots, axis=0), copy=False),
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.imagination.forget()  # the environments that go on with it may be anywhere

    # What the kind of observation decides

    def _check_space(self, space: Any, encoding: Any) -> None:
        raise NotImplementedError

    def _fits(self, obs: Any) -> bool:
        raise NotImplementedError

    def _machine_bytes(self, obs: Any, i: int) -> bytes:
        raise NotImplementedError

    def _one(self, obs: Any, i: int) -> Any:
        raise NotImplementedError

    def _shows(self, obs: Any, i: int, observation: Any) -> bool:
        raise NotImplementedError

    def _write(self, obs: Any, i: int, observation: Any) -> None:
        raise NotImplementedError

    def _seen_from(self, stored: Any, slots: Any, numbers: Any) -> Any:
        raise NotImplementedError

    def _tensors(self, observations: Any) -> Any:
        raise NotImplementedError

    def _samples_class(self) -> Any:
        raise NotImplementedError


def flat(stored: NDArray[Any]) -> NDArray[Any]:
    """[steps, environments, …] as [steps · environments, …], without a copy."""
    return stored.reshape(-1, *stored.shape[2:])
