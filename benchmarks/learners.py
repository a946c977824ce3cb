"""How fast is CQL, compiled and in Python, against PyCRM's agent, C and dictionaries?

All learn A^N B C D^N in LetterEnv with N from 1 to 5, imagining the same configurations, by turns.
The times are CPU times. C and the dictionaries draw the same random numbers as ours, and must come
to the same values. ``make bench`` runs this.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TQDM_DISABLE"] = "1"  # the peer's progress bar

import gymnasium as gym
import numpy as np
from peers import LETTER, PeerLabels, PeerMachine, by_turns, in_c, medians, ratio, write
from pycrm.agents.tabular import CounterfactualQLearningAgent
from pycrm.crossproduct import CrossProduct

import cranium
from cranium.aamdp.planning import model_of
from cranium.learners import TabularConfig, kernels
from cranium.learners.brains import QBrain
from cranium.learners.evaluation import LiveExaminer, TabularExaminer
from cranium.learners.live import LiveRun
from cranium.learners.memory import Memory, open_space
from cranium.learners.tabular import TabularRun
from cranium.worlds import LetterEnv

MOST, HORIZON, SEED = 5, 100, 0
GOALS = {"peer": 3000, "C": 0.75, "peer, Python": 50, "overhead": 1.5e-6}
SOURCE = (Path(__file__).parent / "cql.c").read_text(encoding="utf-8")


def task() -> cranium.AutomatonAugmentedMDP:
    """The task, with counters as high as they can get."""
    machine = cranium.library.load("anbcdn")
    return cranium.product(
        LetterEnv.experiment((1, MOST)), machine, horizon=HORIZON, counter_limit=MOST
    )
