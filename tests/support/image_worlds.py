"""A small grid that is observed as an image."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from cranium.worlds import FiniteEnv, Outcome

SIZE = 4
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
TREE, HOUSE = (0, SIZE - 1), (SIZE - 1, 0)
GREEN, RED, WHITE = (0, 200, 0), (200, 0, 0), (255, 255, 255)


class Picture(FiniteEnv):
    """A walker in a grid with a tree and a house; the observation is the picture of it."""

    vocabulary = ("tree", "house")
    action_space = gym.spaces.Discrete(len(MOVES))
    observation_space = gym.spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8)

    def initial(self, options):
        return [(1.0, (0, 0))]

    def outcomes(self, state, action):
        cell = (
            min(max(at + step, 0), SIZE - 1) for at, step in zip(state, MOVES[action], strict=True)
        )
        return [Outcome(1.0, tuple(cell))]

    def label(self, state, action, after):
        return {TREE: "tree", HOUSE: "house"}.get(after, ()) if after != state else ()

    def observe(self, state):
        image = np.zeros((SIZE, SIZE, 3), np.uint8)
        image[TREE], image[HOUSE] = GREEN, RED
        image[state] = WHITE
        return image
