"""A finite world: a boat on a lake, which catches fish in one corner and sells them in another."""

import gymnasium as gym
import numpy as np

from cranium.worlds import FiniteEnv, Outcome

SIZE, WIND = 4, 0.1
MOVES = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}


class Lake(FiniteEnv):
    """The state is the cell (row, column) of the boat. The wind sometimes blows it one cell east."""

    vocabulary = ("fish", "harbour")
    action_names = tuple(MOVES)
    action_space = gym.spaces.Discrete(len(MOVES))
    observation_space = gym.spaces.MultiDiscrete([SIZE, SIZE])

    def initial(self, options):
        return [(1.0, (0, 0))]

    def outcomes(self, state, action):
        down, right = list(MOVES.values())[action]
        row = min(max(state[0] + down, 0), SIZE - 1)
        column = min(max(state[1] + right, 0), SIZE - 1)
        return [Outcome(1 - WIND, (row, column)), Outcome(WIND, (row, min(column + 1, SIZE - 1)))]

    def label(self, state, action, after):
        return {(SIZE - 1, SIZE - 1): "fish", (SIZE - 1, 0): "harbour"}.get(after, ())

    def observe(self, state):
        return np.array(state)


gym.register("lake/Lake-v0", Lake, max_episode_steps=60)
