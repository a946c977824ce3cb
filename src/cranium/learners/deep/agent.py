"""The agent of a deep learner: a method, its settings and the machine, whatever the world."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import jax
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.arguments import check_memory
from cranium.counterfactual.sets import (
    ConfigurationArrays,
    Current,
    compute_candidates,
    configuration_set,
)
from cranium.errors import InvalidArgumentError
from cranium.learners.deep.config import ActorConfig, DeepConfig, NetworkConfig
from cranium.learners.deep.counterfactual import (
    ALL,
    CHOSEN,
    CURRENT,
    SAMPLED,
    ConfigurationSampling,
)
from cranium.learners.deep.custom_network import custom_network
from cranium.learners.deep.custom_policy import CustomNetworkPolicy
from cranium.learners.deep.dqn import DQN, DQNRates
from cranium.learners.deep.exploration import StaticRule
from cranium.learners.deep.machine import JaxMachine, build_machine
from cranium.learners.deep.method import LearnerState
from cranium.learners.deep.policy import ActorPolicy, NetworkPolicy
from cranium.learners.deep.static import Static
from cranium.learners.deep.td3 import TD3, TD3Rates
from cranium.learners.exploration import EpsilonGreedy, exploration_rule
from cranium.learners.serialisation import space_data
from cranium.learners.tabular import kernels
from cranium.learners.tabular.arrays import LearnerTables, counts_episodes, schedule_of
from cranium.worlds.protocols import Observation

__all__ = ["DeepAgent", "check_actions"]

MAX_TABLE = 100_000
"""The greatest number of entries in a table of the target network."""
ALL_UP_TO, SAMPLE = 16, 8
"""Up to so many configurations a transition is relabelled with all, otherwise with so many."""


def check_actions(learner: str, config: NetworkConfig, actions: gym.Space[Any]) -> None:
    """Refuse action spaces that the method cannot handle."""
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
    """Whether the range is a finite number: not if the bounds are those of all floats."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(actions.high - actions.low).all())


class DeepAgent:
    """A method with its settings, and the machine of the task."""

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
        self.growing = growing  # whether configurations may be added in training
        self.config = config
        self.rng = rng
        self.automaton = product.automaton
        self.actions = product.env.action_space
        # A limit below the product's can be passed by episodes.
        own = tables.space.counter_limit == product.counter_limit
        self.can_overflow = product.encoding.can_overflow or not own
        self.seed = int(rng.integers(2**32))
        self.key = jax.random.key(self.seed)
        self.encoding = BoxEncoding(config.counters, clip=config.clip, cells=config.cells)
        self.encoding.bind(product.env.observation_space, product.automaton, product.counter_limit)
        self.horizon = np.int32(min(tables.horizon, 2**31 - 1))
        space_data(self.encoding.ground)  # refuse now what could not be saved later
        non_terminal = None if growing else self._count_non_terminal()
        self.method, self.rates = self._method(non_terminal), _rates(config)
        if growing and getattr(config, "heads", False):
            raise InvalidArgumentError(
                "a head for each configuration needs all configurations to be known beforehand",
                fix="give counter_limit=…, or leave heads out",
            )
        self.num_encoded = 0  # the number of configurations whose features are computed
        start = self.encoding.encode_configuration(product.automaton.start)
        self.features = np.zeros((0, len(start)), np.float32)  # [X, M]; with room for more
        self.potentials = np.zeros(0)  # [X]
        self.ground_features: list[NDArray[np.float32]] = []  # O times [G]

    def _method(self, non_terminal: int | None) -> Any:
        config, actions = self.config, self.actions
        sampling = _sampling(config, non_terminal)
        optimiser = None if config.optimiser is None else Static.of(config.optimiser)
        shared = (config.hidden, config.batch, sampling, config.train_every)
        if isinstance(config, ActorConfig) and isinstance(actions, spaces.Box):
            return TD3(int(actions.shape[0]), *shared, config.delay, optimiser)
        if isinstance(config, DeepConfig) and isinstance(actions, spaces.Discrete):
            rule = exploration_rule(config.exploration)
            network = config.network
            return DQN(
                int(actions.n),
                *shared,
                config.heads,
                config.double,
                float(config.huber),
                tabulates_target=False,
                rule=None if type(rule) is EpsilonGreedy else StaticRule.of(rule),
                network=None if network is None else custom_network(network, self.encoding),
                optimiser=optimiser,
            )
        raise NotImplementedError(type(config))

    def _count_non_terminal(self) -> int:
        ending = self.tables.arrays.ending[: len(self.tables.space)]
        return int((ending == kernels.GOES_ON).sum())

    def params_rng(self) -> np.random.Generator:
        """Return the generator of the initial weights, the same each time."""
        return np.random.default_rng(self.seed)

    def machine(self) -> JaxMachine:
        """Return the tables of the machine, as they are now."""
        tables = self.tables
        missing = len(tables.arrays.ending) - len(self.features)
        if missing:
            self.features = np.pad(self.features, ((0, missing), (0, 0)))
            self.potentials = np.pad(self.potentials, (0, missing))
        new = slice(self.num_encoded, len(tables.space))
        for x in range(new.start, new.stop):
            self.features[x] = self.encoding.encode_configuration(tables.space.configurations[x])
        if self.config.shaping:
            discount = self.config.shaping_discount
            self.potentials[new] = tables.values_of_machine(discount, first=self.num_encoded)
        self.num_encoded = new.stop
        return build_machine(
            tables,
            self.features,
            self.potentials if self.config.shaping else None,
            candidates=self._candidates() if self.method.sampling.kind == CHOSEN else None,
            list_non_terminal=not self.growing and self.method.sampling.kind in (ALL, CHOSEN),
            can_overflow=self.can_overflow,
        )

    def _candidates(self) -> NDArray[np.bool_]:
        """Ask the set of configurations for its candidates, with room for more configurations."""
        chosen = configuration_set(self.config.configurations)
        known = ConfigurationArrays.of(self.tables.space.configurations)
        count, room = len(self.tables.space), len(self.features)
        check_memory(
            f"a set that depends on the real one of {room:,} configurations",
            room**2,
            fix="lower the counter limit",
        )
        found = compute_candidates(chosen, known, np.arange(count))
        rows = 1 if len(found) == 1 else room
        return np.pad(found, ((0, rows - len(found)), (0, room - count)))

    def tabulate_target(self, observations: int) -> None:
        """Store the target network as a table, if there are few enough observations for that."""
        config = self.config
        if isinstance(config, DeepConfig) and not config.double:
            entries = observations * len(self.tables.arrays.ending)
            used = config.batch * config.target_every // config.train_every  # until it is renewed
            few = entries <= min(used // 2, MAX_TABLE)
            self.method = self.method._replace(tabulates_target=few)

    def add_observation(self, _: int, observation: Observation) -> None:
        """Encode an observation that was given a number."""
        self.ground_features.append(self.encoding.encode_ground(observation))

    def policy(self, learner: LearnerState) -> NetworkPolicy | ActorPolicy:
        """Return the greedy policy."""
        network: Any = jax.tree.map(np.asarray, learner.params)
        if isinstance(self.config, ActorConfig):
            low, high = self.actions.low, self.actions.high  # type: ignore[attr-defined]
            return ActorPolicy(network.actor, self.encoding, self.automaton, low, high)
        if self.method.network is not None:
            return CustomNetworkPolicy(
                network,
                self.encoding,
                self.automaton,
                int(self.actions.n),  # type: ignore[attr-defined]
                int(self.actions.start),  # type: ignore[attr-defined]
                custom=self.method.network,
            )
        heads = isinstance(self.config, DeepConfig) and self.config.heads
        return NetworkPolicy(
            network,
            self.encoding,
            self.automaton,
            int(self.actions.n),  # type: ignore[attr-defined]
            int(self.actions.start),  # type: ignore[attr-defined]
            tuple(self.tables.space.configurations) if heads else (),
        )


def _sampling(config: NetworkConfig, non_terminal: int | None) -> ConfigurationSampling:
    """Decide how configurations are sampled; ``non_terminal`` is None if more may be added."""
    if not isinstance(config.configurations, str):
        chosen = configuration_set(config.configurations)
        if isinstance(chosen, Current) or chosen.sample == 0:
            return ConfigurationSampling(CURRENT, 1, False)
        number = None if chosen.sample is None else chosen.sample + 1
        return ConfigurationSampling(CHOSEN, number, chosen.seen_only)
    count = config.num_counterfactuals
    if count is None:
        few = non_terminal is not None and non_terminal <= ALL_UP_TO
        count = non_terminal if non_terminal and few else SAMPLE
    kind = SAMPLED
    if config.configurations == "current" or count == 1:
        kind, count = CURRENT, 1
    elif non_terminal is not None and count >= non_terminal:
        kind, count = ALL, 1
    return ConfigurationSampling(kind, count, config.configurations == "seen")


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
        rate = exploration_rule(config.exploration).rate
        exploration = (*schedule_of(rate), counts_episodes(rate))
        return DQNRates(*shared, np.int32(config.target_every), np.array(exploration, np.float32))
    raise NotImplementedError(type(config))
