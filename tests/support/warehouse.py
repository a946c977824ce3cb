"""An environment and an agent of a user's own, as the text of files that a test writes."""

from __future__ import annotations

from pathlib import Path

WAREHOUSE = '''
import gymnasium
import numpy as np


class Warehouse(gymnasium.Env):
    """A corridor with a shelf at one end and a van at the other."""

    observation_space = gymnasium.spaces.Discrete(50)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, size):
        self.size, self.place = size, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.size // 2
        return self.place, {}

    def step(self, action):
        self.place = min(max(self.place + (1 if action else -1), 0), self.size - 1)
        return self.place, 0.0, False, False, {}


class Careful:
    """Q-learning in a dictionary."""

    rate = 0.5

    def __init__(self, problem, *, exploration=0.2):
        self.problem, self.exploration, self.values = problem, exploration, {}

    def act(self, observation, configuration):
        if self.problem.rng.random() < self.exploration:
            return int(self.problem.rng.integers(2))
        values = self.values.get((int(observation), configuration), (0.5, 0.5))
        return int(values[1] > values[0])

    def observe(self, sample):
        follow = self.values.get((int(sample.next_observation), sample.next_configuration), (0.5, 0.5))
        target = sample.reward + (0.0 if sample.terminated else 0.9 * max(follow))
        key = (int(sample.observation), sample.configuration)
        old = list(self.values.get(key, (0.5, 0.5)))
        old[sample.action] += self.rate * (target - old[sample.action])
        self.values[key] = tuple(old)

    def policy(self):
        values, space = dict(self.values), self.problem.space
        known = {space.decode(x): x for x in range(len(space))}

        def greedy(observation, configuration, rng=None):
            found = values.get((int(observation), known.get(configuration)), (0.5, 0.5))
            return int(found[1] > found[0])

        return greedy

    def save(self, path):
        raise NotImplementedError
'''
STUDY = """
import cranium
from warehouse import Careful, Warehouse


def make_warehouse(size):
    def events(place, action, following):
        return ["shelf"] if following == 0 else ["van"] if following == size - 1 else []

    task = cranium.compile_language("shelf van")
    return cranium.product(Warehouse(size), task, events, horizon=40)


study = cranium.Study(
    "parcels",
    problems={"small": lambda: make_warehouse(4), "large": lambda: make_warehouse(6)},
    learners={"CQL": "cql", "mine": Careful},
    seeds=SEEDS, steps=STEPS, evaluate_every=100, measure="final_success",
)
"""


def write_warehouse(folder: Path, *, seeds: int = 2, steps: int = 400) -> Path:
    """Write the warehouse and its study into a folder; returns the file of the study."""
    folder.mkdir(exist_ok=True)
    (folder / "warehouse.py").write_text(WAREHOUSE)
    study = STUDY.replace("SEEDS", str(seeds)).replace("STEPS", str(steps))
    (folder / "parcels.py").write_text(study)
    return folder / "parcels.py"


def replace_text(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
