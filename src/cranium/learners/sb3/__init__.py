"""The door to Stable-Baselines3: its own algorithms, unchanged, with counterfactual replay.

``counterfactual(env, automaton)`` returns the product and the two arguments that DQN, SAC, TD3 and
DDPG take for their replay buffer. Needs the extra ``sb3``.
"""

from cranium.learners.sb3.buffers import (
    CounterfactualDictReplayBuffer,
    CounterfactualReplayBuffer,
)
from cranium.learners.sb3.builder import counterfactual
from cranium.learners.sb3.recorder import Witness

__all__ = [
    "CounterfactualDictReplayBuffer",
    "CounterfactualReplayBuffer",
    "Witness",
    "counterfactual",
]
