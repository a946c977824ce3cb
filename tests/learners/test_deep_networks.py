"""Networks and optimisers of other packages: Equinox modules and optax, in counterfactual DQN."""

from __future__ import annotations

import equinox
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import cranium
from cranium.learners.deep.custom_policy import CustomNetworkPolicy
from cranium.learners.deep.equinox import EquinoxNetwork


class Perceptron(equinox.Module):
    """Two layers on the observation and the machine's features."""

    layers: equinox.nn.MLP

    def __call__(self, given):
        observation = jnp.broadcast_to(
            given.observation[:, None], (*given.machine.shape[:2], given.observation.shape[-1])
        )
        return jax.vmap(jax.vmap(self.layers))(jnp.concatenate([observation, given.machine], -1))


def make(key, given):
    width = given.observation.shape[-1] + given.machine.shape[-1]
    return Perceptron(equinox.nn.MLP(width, 4, 64, 1, key=key))


def letters():
    return gym.make("cranium/Letter-anbcdn-v0", times=1)


def weights(result):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(result.policy.network)])


@pytest.mark.slow
@pytest.mark.parametrize("path", ["auto", "python"])
def test_an_equinox_module_and_an_optax_optimiser_learn_from_their_seed(path):
    told = {"network": EquinoxNetwork(make), "optimiser": optax.adam(1e-3), "path": path}
    told |= {"warmup": 50, "evaluation_episodes": 1}
    one, other, another = (
        cranium.train(letters(), "cdqn", steps=200, seed=seed, evaluate_every=200, **told)
        for seed in (0, 0, 1)
    )
    assert np.isfinite(weights(one)).all()
    assert np.array_equal(weights(one), weights(other))
    assert not np.array_equal(weights(one), weights(another))
    assert one.config.as_dict()["network"].startswith("EquinoxNetwork")


@pytest.mark.slow
def test_they_solve_a_task():
    result = cranium.train(
        letters(),
        "cdqn",
        steps=20_000,
        until="solved",
        evaluate_every=2_000,
        network=EquinoxNetwork(make),
        optimiser=optax.adam(5e-4),
    )
    assert result.evaluation.solved


@pytest.mark.slow
def test_the_policy_of_an_equinox_module_is_saved_and_loaded(tmp_path):
    network = EquinoxNetwork(make)
    told = {"network": network, "warmup": 50, "evaluate_every": 60}
    policy = cranium.train(letters(), "cdqn", steps=60, **told).policy
    policy.save(tmp_path / "policy.npz")
    again = CustomNetworkPolicy.load(tmp_path / "policy.npz", letters(), network=network)
    observation, info = letters().reset(seed=0)
    assert again.act(observation, info) == policy.act(observation, info)
    assert jax.tree.structure(again.network) == jax.tree.structure(policy.network)
    for one, other in zip(*map(jax.tree.leaves, (again.network, policy.network)), strict=True):
        assert np.array_equal(one, other)
