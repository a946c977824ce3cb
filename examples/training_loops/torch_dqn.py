"""DQN in PyTorch, in the style of CleanRL, with counterfactual replay.

    python examples/training_loops/torch_dqn.py

In a small letter world the words are A^N B C^N, and N is drawn in every episode. Lines that end in
``# counterfactual`` are new. To get plain replay, delete them and uncomment the lines that begin
with ``# plain:``. Needs PyTorch.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn

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
    num_envs: int = 4
    buffer_size: int = 10_000
    learning_rate: float = 1e-3
    gamma: float = 0.95
    batch_size: int = 64
    start_e: float = 1.0
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


class QNetwork(nn.Module):
    """A value for each action."""

    def __init__(self, env: SyncVectorEnv):
        super().__init__()
        width = int(np.prod(env.single_observation_space.shape))
        self.network = nn.Sequential(
            nn.Linear(width, 64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, int(env.single_action_space.n)),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the values of all actions."""
        return self.network(x)


def linear_schedule(start_e: float, end_e: float, duration: float, t: int) -> float:
    """Return the exploration rate after t steps."""
    return max((end_e - start_e) / duration * t + start_e, end_e)


def train(args: Args) -> QNetwork:
    """Train, and return the network."""
    rng = np.random.default_rng(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # the networks are small
    envs = SyncVectorEnv([make_env] * args.num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    q_network, target_network = QNetwork(envs), QNetwork(envs)
    target_network.load_state_dict(q_network.state_dict())
    optimizer = torch.optim.Adam(q_network.parameters(), lr=args.learning_rate)
    rb = CounterfactualReplay(args.buffer_size, envs, seed=args.seed)  # counterfactual
    # plain: rb = ReplayBuffer(
    # plain:     args.buffer_size,
    # plain:     envs.single_observation_space,
    # plain:     envs.single_action_space,
    # plain:     seed=args.seed,
    # plain: )
    obs, _ = envs.reset(seed=args.seed)
    for global_step in range(0, args.total_timesteps, args.num_envs):
        duration = args.exploration_fraction * args.total_timesteps
        epsilon = linear_schedule(args.start_e, args.end_e, duration, global_step)
        with torch.no_grad():
            actions = q_network(torch.from_numpy(obs)).argmax(dim=1).numpy()
        explores = rng.random(args.num_envs) < epsilon
        actions = np.where(explores, rng.integers(0, 4, args.num_envs), actions)
        next_obs, rewards, terminations, truncations, infos = envs.step(actions)
        real_next_obs = next_obs.copy()
        for idx in np.flatnonzero(terminations | truncations):
            real_next_obs[idx] = infos["final_obs"][idx]
        rb.add(obs, real_next_obs, actions, rewards, terminations, infos)
        obs = next_obs
        if global_step < args.learning_starts or global_step % args.train_frequency:
            continue
        data = rb.sample(args.batch_size)
        with torch.no_grad():
            target_max = target_network(torch.from_numpy(data.next_observations)).amax(dim=1)
            rewards_, dones = torch.from_numpy(data.rewards), torch.from_numpy(data.dones)
            td_target = rewards_ + args.gamma * target_max * (1 - dones)
        values = q_network(torch.from_numpy(data.observations))
        old_val = values.gather(1, torch.from_numpy(data.actions)[:, None]).squeeze(1)
        loss = nn.functional.mse_loss(old_val, td_target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if global_step % args.target_network_frequency < args.num_envs:
            target_network.load_state_dict(q_network.state_dict())
    envs.close()
    return q_network


def evaluate(q_network: QNetwork, episodes: int = 20) -> float:
    """Return how many episodes of the greedy policy are a success."""
    env, wins = make_env(), 0
    for episode in range(episodes):
        obs, info = env.reset(seed=episode)
        over = False
        while not over:
            with torch.no_grad():
                action = int(q_network(torch.from_numpy(obs)).argmax())
            obs, _, terminated, truncated, info = env.step(action)
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
