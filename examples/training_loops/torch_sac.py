"""SAC in PyTorch, in the style of CleanRL, with counterfactual replay.

    python examples/training_loops/torch_sac.py

A point visits one region of the plane and then another. Lines that end in ``# counterfactual`` are
new. To get plain replay, delete them and uncomment the lines that begin with ``# plain:``. Needs
PyTorch.
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
from cranium.worlds import PointWorld

# plain: from plain_replay import ReplayBuffer


@dataclass
class Args:
    """The settings."""

    seed: int = 1
    total_timesteps: int = 5_000
    num_envs: int = 1
    buffer_size: int = 10_000
    learning_rate: float = 1e-3
    gamma: float = 0.95
    tau: float = 0.01
    alpha: float = 0.02
    batch_size: int = 128
    learning_starts: int = 200


def make_env() -> gym.Env[Any, Any]:
    """Make the point world with its task."""
    task = cranium.library.load("point-visit")
    return cranium.product(PointWorld(speed=0.2), task, horizon=50, encoding=BoxEncoding())


def network(inputs: int, outputs: int) -> nn.Sequential:
    """Make a network with two hidden layers."""
    hidden = (nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    return nn.Sequential(*hidden, nn.Linear(64, outputs))


class Agent(nn.Module):
    """A stochastic actor and two critics; actions are from -1 to 1."""

    def __init__(self, env: SyncVectorEnv):
        super().__init__()
        width = int(np.prod(env.single_observation_space.shape))
        size = int(np.prod(env.single_action_space.shape))
        self.actor = network(width, 2 * size)
        self.qf1, self.qf2 = network(width + size, 1), network(width + size, 1)

    def act(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return a random action, the logarithm of its probability, and the mean action."""
        mean, log_std = self.actor(x).chunk(2, dim=1)
        normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
        drawn = normal.rsample()
        action = torch.tanh(drawn)
        log_prob = normal.log_prob(drawn) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(dim=1), torch.tanh(mean)

    def values(self, x: torch.Tensor, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what both critics say."""
        both = torch.cat([x, a], dim=1)
        return self.qf1(both).squeeze(1), self.qf2(both).squeeze(1)


def train(args: Args) -> Agent:
    """Train, and return the agent."""
    rng = np.random.default_rng(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # the networks are small
    envs = SyncVectorEnv([make_env] * args.num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    shape = (args.num_envs, *envs.single_action_space.shape)
    agent, target = Agent(envs), Agent(envs)
    target.load_state_dict(agent.state_dict())
    critics = [*agent.qf1.parameters(), *agent.qf2.parameters()]
    q_optimizer = torch.optim.Adam(critics, lr=args.learning_rate)
    actor_optimizer = torch.optim.Adam(agent.actor.parameters(), lr=args.learning_rate)
    rb = CounterfactualReplay(args.buffer_size, envs, seed=args.seed)  # counterfactual
    # plain: rb = ReplayBuffer(
    # plain:     args.buffer_size,
    # plain:     envs.single_observation_space,
    # plain:     envs.single_action_space,
    # plain:     seed=args.seed,
    # plain: )
    obs, _ = envs.reset(seed=args.seed)
    for global_step in range(0, args.total_timesteps, args.num_envs):
        actions = rng.uniform(-1, 1, shape).astype(np.float32)
        if global_step >= args.learning_starts:
            with torch.no_grad():
                actions = agent.act(torch.from_numpy(obs))[0].numpy()
        next_obs, rewards, terminations, truncations, infos = envs.step(actions)
        real_next_obs = next_obs.copy()
        for idx in np.flatnonzero(terminations | truncations):
            real_next_obs[idx] = infos["final_obs"][idx]
        rb.add(obs, real_next_obs, actions, rewards, terminations, infos)
        obs = next_obs
        if global_step < args.learning_starts:
            continue
        data = rb.sample(args.batch_size)
        x, a = torch.from_numpy(data.observations), torch.from_numpy(data.actions)
        x2, rewards_ = torch.from_numpy(data.next_observations), torch.from_numpy(data.rewards)
        with torch.no_grad():
            next_actions, next_log_prob, _ = agent.act(x2)
            next_values = torch.min(*target.values(x2, next_actions)) - args.alpha * next_log_prob
            y = rewards_ + args.gamma * next_values * (1 - torch.from_numpy(data.dones))
        q1, q2 = agent.values(x, a)
        loss = nn.functional.mse_loss(q1, y) + nn.functional.mse_loss(q2, y)
        q_optimizer.zero_grad()
        loss.backward()
        q_optimizer.step()
        chosen, log_prob, _ = agent.act(x)
        actor_loss = (args.alpha * log_prob - torch.min(*agent.values(x, chosen))).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        with torch.no_grad():
            for old, new in zip(target.parameters(), agent.parameters(), strict=True):
                old.lerp_(new, args.tau)
    envs.close()
    return agent


def evaluate(agent: Agent, episodes: int = 20) -> float:
    """Return how many episodes with the mean actions are a success."""
    env, wins = make_env(), 0
    for episode in range(episodes):
        obs, info = env.reset(seed=episode)
        over = False
        while not over:
            with torch.no_grad():
                action = agent.act(torch.from_numpy(obs)[None])[2][0].numpy()
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
