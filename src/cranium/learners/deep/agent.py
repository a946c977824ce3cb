"""What a learner with networks is made of, whatever the world: a method, its numbers, a machine."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import jax
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.errors import InvalidArgumentError
from cranium.learners.deep.arrays import JaxMachine, jax_machine
from cranium.learners.deep.config import ActorConfig, DeepConfig, NetworkConfig
from cranium.learners.deep.counterfactual import ALL, REAL, SOME, Imagining
from cranium.learners.deep.dqn import DQN, DQNRates
from cranium.learners.deep.policy import ActorPolicy, NetworkPolicy
from cranium.learners.deep.td3 import TD3, TD3Rates
from cranium.learners.serialisation import space_data
from cranium.learners.tabular import kernels
from cranium.learners.tabular.arrays import LearnerTables, counts_episodes, schedule_of

__all__ = ["DeepAgent", "check_actions"]

MOST = 100_000
"""How many entries a table of the target network has at most."""
FEW, SEVERAL = 16, 8
"""Up to how many configurations all are imagined; of more, how many."""


def check_actions(learner: str, config: NetworkConfig, actions: gym.Space[Any]) -> None:
    """Refuse actions that a method cannot choose among."""
    discrete = isinstance(actions, spaces.Discrete)
    vector = isinstance(actions, spaces.Box) and _is_bounded(actions) and len(actions.shape) == 1
    vector = vector and np.issubdtype(actions.dtype, np.floating)
    if isinstance(config, ActorConfig) and not vector:
        raise InvalidArgumentError(
            f"{learner} needs continuous actions, a bounded vector of fractions, not {actions}",
            fix="use cdqn or dqn" if discrete else "put a wrapper around the environment",
        )
    if isinstance(config, DeepConfig) and not discrete:
        raise InvalidArgumentError(
            f"{learner} needs discrete actions, not {actions}",
            fix="use ctd3 or td3" if vector else "put a wrapper around the environment",
        )


def _is_bounded(actions: spaces.Box) -> bool:
    """Whether there is a middle, and a way to it: not if the bounds are those of all numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(actions.high - actions.low).all())


class DeepAgent:
    """A method with its numbers, and the machine that it knows."""

    def __init__(
        self,
        tables: LearnerTables,
        config: NetworkConfig,
        rng: np.random.Generator,
        product: AutomatonAugmentedMDP,
        *,
        growing: bool = False,
    ) -> None:
        self.tables = tables
        self.growing = growing  # whether configurations may turn up that are not known yet
        self.config = config
        self.rng = rng
        self.automaton = product.automaton
        self.actions = product.env.action_space
        # A limit that is less than the product's is one that episodes do pass.
        own = tables.space.counter_limit == product.counter_limit
        self.can_overflow = product.encoding.can_overflow or not own
        self.seed = int(rng.integers(2**32))
        self.key = jax.random.key(self.seed)
        self.encoding = BoxEncoding(config.counters, clip=config.clip, cells=config.cells)
        self.encoding.bind(product.env.observation_space, product.automaton, product.counter_limit)
        self.horizon = np.int32(min(tables.horizon, 2**31 - 1))
        space_data(self.encoding.ground)  # what cannot be saved is better refused now
        alive = None if growing else self._alive()
        self.method, self.rates = _method(config, self.actions, alive), _rates(config)
        if growing and getattr(config, "heads", False):
            raise InvalidArgumentError(
                "a head for each configuration needs to know them all at first",
                fix="give counter_limit=…, or leave heads out",
            )
        self.shown = 0  # how many configurations have features
        start = self.encoding.encode_configuration(product.automaton.start)
        self.features = np.zeros((0, len(start)), np.float32)  # [X, M]; room included
        self.hopes = np.zeros(0)  # [X]
        self.seen: list[NDArray[np.float32]] = []

    def _alive(self) -> int:
        ending = self.tables.arrays.ending[: len(self.tables.space)]
        return int((ending == kernels.GOES_ON).sum())

    def drawing(self) -> np.random.Generator:
        """What the first weights are drawn with, the same each time."""
        return np.random.default_rng(self.seed)

    def machine(self) -> JaxMachine:
        """The tables of the machine, as they are now."""
        tables = self.tables
        missing = len(tables.arrays.ending) - len(self.features)
        if missing:
            self.features = np.pad(self.features, ((0, missing), (0, 0)))
            self.hopes = np.pad(self.hopes, (0, missing))
        new = slice(self.shown, len(tables.space))
        for x in range(new.start, new.stop):
            self.features[x] = self.encoding.encode_configuration(tables.space.configurations[x])
        if self.config.shaping:
            discount = self.config.shaping_discount
            self.hopes[new] = tables.values_of_machine(discount, first=self.shown)
        self.shown = new.stop
        hopes = self.hopes if self.config.shaping else None
        told = {"members": self.method.imagining.kind == ALL, "can_overflow": self.can_overflow}
        return jax_machine(tables, self.features, hopes, **told)

    def list_target(self, observations: int) -> None:
        """Keep the target network as a table, if what can be seen is little enough for that."""
        config = self.config
        if isinstance(config, DeepConfig) and not config.double:
            entries = observations * len(self.tables.arrays.ending)
            used = config.batch * config.target_every // config.train_every  # in its lifetime
            self.method = self.method._replace(table=entries <= min(used // 2, MOST))

    def add_observation(self, _: int, observation: Any) -> None:
        """Note that an observation has been given a number."""
        self.seen.append(self.encoding.encode_ground(observation))

    def policy(self, learned: Any) -> Any:
        """Return the learned policy."""
        network = jax.tree.map(np.asarray, learned.network)
        if isinstance(self.config, ActorConfig):
            low, high = self.actions.low, self.actions.high  # type: ignore[attr-defined]
            return ActorPolicy(network.actor, self.encoding, self.automaton, low, high)
        heads = isinstance(self.config, DeepConfig) and self.config.heads
        return NetworkPolicy(
            network,
            self.encoding,
            self.automaton,
            int(self.actions.n),  # type: ignore[attr-defined]
            int(self.actions.start),  # type: ignore[attr-defined]
            tuple(self.tables.space.configurations) if heads else (),
        )


def _method(config: NetworkConfig, actions: Any, alive: int | None) -> Any:
    """The method; ``alive`` is how many configurations go on, None if more may turn up."""
    count = config.num_counterfactuals or (alive if alive is not None and alive <= FEW else SEVERAL)
    kind = SOME
    if config.configurations == "current" or count == 1:
        kind, count = REAL, 1
    elif alive is not None and count >= alive:
        kind, count = ALL, 1
    imagining = Imagining(kind, count, config.configurations == "seen")
    shared = (config.hidden, config.batch, imagining, config.train_every)
    if isinstance(config, ActorConfig):
        return TD3(int(actions.shape[0]), *shared, config.delay)
    if isinstance(config, DeepConfig):
        how = (config.heads, config.double, float(config.huber))
        return DQN(int(actions.n), *shared, *how, table=False)
    raise NotImplementedError(type(config))


def _rates(config: NetworkConfig) -> Any:
    shared = (
        np.float32(config.learning_rate),
        np.float32(config.discount),
        np.int32(config.warmup),
    )
    if isinstance(config, ActorConfig):
        own = (getattr(config, name) for name in TD3Rates._fields[len(shared) :])
        return TD3Rates(*shared, *(np.float32(one) for one in own))
    if isinstance(config, DeepConfig):
        exploration = (*schedule_of(config.exploration), counts_episodes(config.exploration))
        return DQNRates(*shared, np.int32(config.target_every), np.array(exploration, np.float32))
    raise NotImplementedError(type(config))
