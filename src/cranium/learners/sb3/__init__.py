"""Counterfactual replay for the unmodified algorithms of Stable-Baselines3.

``counterfactual(env, automaton)`` returns the product and the two arguments that DQN, SAC, TD3 and
DDPG take for their replay buffer. Needs the extra ``sb3``.
"""

from cranium.learners.sb3.buffers import (
    CounterfactualDictReplayBuffer,
    CounterfactualReplayBuffer,
)
from cranium.learners.sb3.builder import counterfactual
from cranium.learners.sb3.trainer import SB3Policy, SB3Trainer, agent

__all__ = [
    "CounterfactualDictReplayBuffer",
    "CounterfactualReplayBuffer",
    "SB3Policy",
    "SB3Trainer",
    "agent",
    "counterfactual",
]
