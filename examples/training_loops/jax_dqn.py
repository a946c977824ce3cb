"""DQN in JAX, with networks of Equinox and optimisers of Optax, and counterfactual replay.

    python examples/training_loops/jax_dqn.py

In a small letter world the words are A^N B C^N, and N is drawn in every episode. Lines that end in
``# counterfactual`` are new. To get plain replay, delete them and uncomment the lines that begin
with ``# plain:``. Needs JAX, Equinox and Optax.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import optax

import cranium
from cranium.aamdp import BoxEncoding
from cranium.counterfactual import CounterfactualReplay  # counterfactual
from cranium.worlds import LetterEnv, LetterSpec

# plain: from plain_replay import ReplayBuffer


@dataclass
class Args:
    """The settings."""

    seed: int = 1
    total_timesteps: int = 10_000
    buffer_size: int = 10_000
    learning_rate: float = 1e-3
    gamma: float = 0.95
    batch_size: int = 64
    end_e: float = 0.05
    exploration_fraction: float = 0.5
    learning_starts: int = 500
    train_frequency: int = 4
    target_network_frequency: int = 250


def make_env() -> gym.Env[Any, Any]:
    """Make the letter world with its task."""
    letters = [LetterSpec("A", (0, 0), times=(1, 3), then="B"), LetterSpec("C", (0, 2))]
    world = LetterEnv(letters, rows=2, columns=3, start=(1, 1))
    task = cranium.compile_language("A^N B C^N")
    return cranium.product(world, task, horizon=40, encoding=BoxEncoding())


@eqx.filter_jit
def greedy(network: eqx.nn.MLP, obs: Any) -> Any:
    """Return the best action."""
    return jnp.argmax(network(obs))


def train(args: Args) -> eqx.nn.MLP:
    """Train, and return the network."""
    rng = np.random.default_rng(args.seed)
    env = make_env()
    width, actions = env.observation_space.shape[0], int(env.action_space.n)
    network = eqx.nn.MLP(width, actions, 64, 2, key=jax.random.key(args.seed))
    target = network
    optimizer = optax.adam(args.learning_rate)
    state = optimizer.init(eqx.filter(network, eqx.is_array))

    def loss(network: eqx.nn.MLP, target: eqx.nn.MLP, data: Any) -> Any:
        best = jax.vmap(target)(data.next_observations).max(axis=1)
        goal = data.rewards + args.gamma * best * (1 - data.dones)
        values = jax.vmap(network)(data.observations)
        chosen = jnp.take_along_axis(values, data.actions[:, None], axis=1)[:, 0]
        return jnp.mean((chosen - goal) ** 2)

    @eqx.filter_jit
    def update(network: eqx.nn.MLP, target: eqx.nn.MLP, state: Any, data: Any) -> Any:
        gradient = eqx.filter_grad(loss)(network, target, data)
        change, state = optimizer.update(gradient, state)
        return eqx.apply_updates(network, change), state

    rb = CounterfactualReplay(args.buffer_size, env, seed=args.seed)  # counterfactual
    # plain: rb = ReplayBuffer(
    # plain:     args.buffer_size, env.observation_space, env.action_space, seed=args.seed
    # plain: )
    obs, _ = env.reset(seed=args.seed)
    for step in range(args.total_timesteps):
        epsilon = max(1 - step / (args.exploration_fraction * args.total_timesteps), args.end_e)
        explores = rng.random() < epsilon
        action = int(rng.integers(actions)) if explores else int(greedy(network, obs))
        next_obs, reward, terminated, truncated, info = env.step(action)
        rb.add(obs, next_obs, action, reward, terminated, info)
        obs = env.reset()[0] if terminated or truncated else next_obs
        if step >= args.learning_starts and step % args.train_frequency == 0:
            network, state = update(network, target, state, rb.sample(args.batch_size))
        if step % args.target_network_frequency == 0:
            target = network
    return network


def evaluate(network: eqx.nn.MLP, episodes: int = 20) -> float:
    """Return how many episodes of the greedy policy are a success."""
    env, wins = make_env(), 0
    for episode in range(episodes):
        obs, info = env.reset(seed=episode)
        over = False
        while not over:
            obs, _, terminated, truncated, info = env.step(int(greedy(network, obs)))
            over = terminated or truncated
        wins += info["success"]
    return wins / episodes


def main() -> None:
    """Train and evaluate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=Args.seed)
    parser.add_argument("--total-timesteps", type=int, default=Args.total_timesteps)
    print(f"success rate: {evaluate(train(Args(**vars(parser.parse_args())))):.2f}")


if __name__ == "__main__":
    main()
