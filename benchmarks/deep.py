"""How fast do networks learn? 12,000 interactions, an update after each, on one core, as ratios.

* our loop, with the configuration as an input, and with a head for each configuration;
* Stable-Baselines3's DQN with our replay buffer;
* PyCRM's counterfactual DQN.

All patrol the same office, from 96 transitions in each update, with two layers of 128 units, and
take turns. Compiling is measured in a process of its own, with an empty cache; several seeds with
the engine of the experiments. Needs ``make bench-deep``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import torch
from gymnasium import spaces
from patrol import BATCH, HORIZON, OURS, fused, office, task
from peers import PeerLabels, PeerMachine, Row, by_turns, medians, ratio
from pycrm.agents.sb3.dqn import CounterfactualDQN
from pycrm.crossproduct import CrossProduct
from running import parse, parser_of, write
from stable_baselines3 import DQN

import cranium
from cranium.experiments import LocalEngine
from cranium.learners.sb3 import counterfactual

ROOMS = ("a", "b", "c", "d")
PATROL: dict[int, list[Row]] = {
    number: [
        (f"{room} / (-)", -1 if room == "d" else number + 1, (0,), float(room == "d")),
        ("decoration / (-)", -1, (0,), 0),
        ("/ (-)", number, (0,), 0),
    ]
    for number, room in enumerate(ROOMS)
}
SHARED: dict[str, Any] = {
    "learning_rate": 1e-4,
    "buffer_size": 50_000,
    "learning_starts": 100,
    "batch_size": BATCH,
    "train_freq": 1,
    "gradient_steps": 1,
    "target_update_interval": 500,
    "policy_kwargs": {"net_arch": [128, 128]},
    "seed": 0,
    "device": "cpu",
}


class PeerOffice(CrossProduct[Any, Any, Any, Any]):
    """The patrol as a user of PyCRM writes it; cells are one-hot."""

    def __init__(self) -> None:
        world = office()
        ground = gym.wrappers.FlattenObservation(world)
        labels = PeerLabels(world, (*ROOMS, "decoration"))
        super().__init__(ground, PeerMachine(PATROL), labels, HORIZON)
        width = spaces.flatdim(world.observation_space) + len(self.crm.U) + len(self.crm.F) + 1
        self.observation_space = spaces.Box(0.0, 1.0, (width,))
        self.action_space = world.action_space


def in_sb3(steps: int) -> Callable[[], float]:
    """Seconds of a run of Stable-Baselines3's DQN with our buffer."""

    def run() -> float:
        env, replay = counterfactual(office(), cranium.library.load("toro-patrol"), horizon=HORIZON)
        model = DQN("MlpPolicy", env, **SHARED, **replay)
        begin = time.perf_counter()
        model.learn(steps)
        return time.perf_counter() - begin

    return run


def peer(steps: int) -> Callable[[], float]:
    """Seconds of a run of PyCRM's."""

    def run() -> float:
        model = CounterfactualDQN("MlpPolicy", PeerOffice(), **SHARED)
        begin = time.perf_counter()
        model.learn(steps)
        return time.perf_counter() - begin

    return run


def cold(steps: int) -> Callable[[], float]:
    """Seconds of a run in our loop in a new process that has to compile.

    It has imported what it needs, as the others have, and nothing of theirs.
    """
    script = f"import patrol; patrol.import_all(); print(patrol.fused({steps})())"

    def run() -> float:
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "JAX_COMPILATION_CACHE_DIR": folder}
            found = subprocess.run(
                [sys.executable, "-c", script],
                cwd=Path(__file__).resolve().parent,
                env=env,
                capture_output=True,
                text=True,
                check=True,
            )
        return float(found.stdout.split()[-1])

    return run


def seeds(steps: int, count: int) -> float:
    """Seconds of several seeds, on all cores."""
    study = cranium.Study(
        "patrol",
        {"patrol": ("ToroOffice", "library:toro-patrol")},
        {"CQL": ("cdqn", OURS)},
        seeds=count,
        steps=steps,
        evaluate_every=steps,
        until="budget",
    )
    begin = time.perf_counter()
    with LocalEngine() as engine:
        for _, record in engine.run(study.trials):
            assert record.done, record.error
    return time.perf_counter() - begin


def together(steps: int, count: int) -> float:
    """How long several seeds take in one loop (vmap), against one after the other."""
    env, told = task(), {"steps": steps, "evaluate_every": steps, **OURS}
    spent = []
    for run in (
        lambda: cranium.learners.train_seeds(env, "cdqn", seeds=range(count), **told),
        lambda: [cranium.train(env, "cdqn", seed=seed, **told) for seed in range(count)],
    ):
        run()  # compile
        begin = time.perf_counter()
        run()
        spent.append(time.perf_counter() - begin)
    return spent[0] / spent[1]


def main() -> None:
    """Measure all of them."""
    parser = parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--seeds", type=int, default=10, help="half of them in a loop")
    given = parse(parser, turns=1, steps=240, seeds=2)
    torch.set_num_threads(1)
    runs = {
        "ours": fused(given.steps),
        "ours, heads": fused(given.steps, heads=True),
        "ours, compiled anew": cold(given.steps),
        "SB3": in_sb3(given.steps),
        "PyCRM": peer(given.steps),
    }
    found = by_turns(runs, given.turns)
    results: dict[str, Any] = {"seconds": medians(found)}
    print(", ".join(f"{name} {value:.1f} s" for name, value in medians(found).items()))
    for slow in ("SB3", "PyCRM"):
        for fast in ("ours", "ours, heads", "ours, compiled anew"):
            results[f"{slow} / {fast}"] = told = ratio(found, slow, fast)
            print(f"{slow} / {fast}: {told['median']:.1f}")
    results[f"{given.seeds} seeds"] = seconds = seeds(given.steps, given.seeds)
    print(f"{given.seeds} seeds on all cores: {seconds:.1f} s")
    half = given.seeds // 2
    results["together"] = times = together(given.steps // 6, half)
    print(f"{half} seeds in one loop take {times:.1f} times as long as one after the other")
    write("deep", json.loads(json.dumps(results)), smoke=given.smoke)


if __name__ == "__main__":
    main()
