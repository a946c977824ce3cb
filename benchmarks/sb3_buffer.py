"""What does counterfactual replay cost in Stable-Baselines3? As ratios, in one run.

* drawing a batch of 256 over 30 configurations, against SB3's own buffer;
* storing a step, against PyCRM, which makes and stores one transition for each configuration;
* training SB3's DQN with our buffer, against DQN as it is.

All take turns, so that a busy machine slows all of them. Needs the extra ``sb3`` and, like the
other benchmarks, PyCRM: ``make bench-deep`` installs both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from peers import LETTER, PeerLabels, PeerMachine, by_turns, medians, ratio
from pycrm.crossproduct import CrossProduct
from running import parse, parser_of, write
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv

import cranium
from cranium.aamdp import BoxEncoding
from cranium.learners.sb3 import counterfactual
from cranium.worlds import LetterEnv

BATCH = 256
STEPS = 1_000
LIMIT = 10  # 31 configurations of 3 states that can be left; the peer has 33
Steps = list[tuple[Any, ...]]


def task() -> tuple[Any, dict[str, Any]]:
    """The product and the arguments of our buffer."""
    machine = cranium.library.load("anbcdn")
    return counterfactual(
        LetterEnv.experiment((1, 5)),
        machine,
        horizon=100,
        counter_limit=LIMIT,
        # Not the default, which shows fewer counter values: the figures stay comparable.
        encoding=BoxEncoding(clip=10),
        configurations="reachable",
    )


def walk(env: Any, count: int) -> Steps:
    """Random steps, as SB3 stores them."""
    vector = DummyVecEnv([lambda: env])
    vector.seed(0)
    observation, found = vector.reset(), []
    rng = np.random.default_rng(0)
    for _ in range(count):
        action = rng.integers(4, size=1)
        after, reward, done, infos = vector.step(action)
        last = infos[0]["terminal_observation"][None] if done[0] else after
        found.append((observation, last, action, reward, done, infos))
        observation = after
    return found


def ours(env: Any, replay: dict[str, Any]) -> Any:
    """Our buffer."""
    settings = replay["replay_buffer_kwargs"]
    make = replay["replay_buffer_class"]
    return make(STEPS, env.observation_space, env.action_space, device="cpu", **settings)


def plain(env: Any, size: int = STEPS) -> ReplayBuffer:
    """SB3's own."""
    return ReplayBuffer(size, env.observation_space, env.action_space, device="cpu")


def drawing(buffer: Any, times: int = 200) -> Callable[[], float]:
    """Seconds for each batch."""

    def run() -> float:
        begin = time.perf_counter()
        for _ in range(times):
            buffer.sample(BATCH)
        return (time.perf_counter() - begin) / times

    return run


def storing(make: Callable[[], Any], steps: Steps) -> Callable[[], float]:
    """Seconds for each step."""

    def run() -> float:
        buffer = make()
        begin = time.perf_counter()
        for step in steps:
            buffer.add(*step)
        return (time.perf_counter() - begin) / len(steps)

    return run


class PeerProduct(CrossProduct):
    """PyCRM's product, with the cell and what is left there as its observation."""

    def __init__(self, world: LetterEnv, machine: PeerMachine, labels: PeerLabels) -> None:
        super().__init__(world, machine, labels, max_steps=100)
        width = 3 + len(machine.U) + len(machine.F) + 1
        self.observation_space = spaces.Box(0, 100, (width,), np.float32)
        self.action_space = world.action_space


def peer_storing(steps: int) -> Callable[[], float]:
    """What PyCRM does for each step: imagine all configurations, and store them one by one."""
    world = LetterEnv.experiment((1, 5))
    known = cranium.library.load("anbcdn").propositions
    env = PeerProduct(world, PeerMachine(LETTER, LIMIT), PeerLabels(world, known))
    rng = np.random.default_rng(0)

    def run() -> float:
        buffer = plain(env, size=40 * steps)
        env.reset(seed=0)
        spent = 0.0
        for action in rng.integers(4, size=steps):
            before = env._ground_obs_next
            _, _, terminated, truncated, _ = env.step(action)
            begin = time.perf_counter()
            made = env.generate_counterfactual_experience(before, action, env._ground_obs_next)
            for obs, act, after, reward, done, info in zip(*made, strict=True):
                buffer.add(obs, after, act, reward, done, [info])
            spent += time.perf_counter() - begin
            if terminated or truncated:
                env.reset()
        return spent / steps

    return run


def training(counterfactually: bool, steps: int) -> Callable[[], float]:
    """Seconds for a run of DQN, at SB3's settings but that it begins to learn at once."""

    def run() -> float:
        env, replay = task()
        model = DQN(
            "MlpPolicy",
            env,
            seed=0,
            device="cpu",
            buffer_size=steps,
            learning_starts=100,
            **(replay if counterfactually else {}),
        )
        begin = time.perf_counter()
        model.learn(steps)
        return time.perf_counter() - begin

    return run


def main() -> None:
    """Measure all three."""
    parser = parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--steps", type=int, default=3_000, help="of each training run")
    given = parse(parser, turns=1, steps=200)
    torch.set_num_threads(1)
    env, replay = task()
    assert isinstance(env.encoding, BoxEncoding)
    steps = walk(env, STEPS)
    mine, theirs = ours(env, replay), plain(env)
    for step in steps:
        mine.add(*step)
        theirs.add(*step)
    results: dict[str, Any] = {"configurations": len(mine.replay.transitions.known.members)}
    print(f"{results['configurations']} configurations")
    questions = {
        "a batch of 256": ({"ours": drawing(mine), "SB3": drawing(theirs)}, "ours", "SB3"),
        "storing a step": (
            {
                "ours": storing(lambda: ours(env, replay), steps),
                "SB3": storing(lambda: plain(env), steps),
                "PyCRM": peer_storing(100),
            },
            "PyCRM",
            "ours",
        ),
        "a run of DQN": (
            {"ours": training(True, given.steps), "SB3": training(False, given.steps)},
            "ours",
            "SB3",
        ),
    }
    for name, (runs, slow, fast) in questions.items():
        turns = max(3, given.turns // 3) if "DQN" in name else given.turns
        found = by_turns(runs, turns)
        results[name] = {"seconds": medians(found), f"{slow} / {fast}": ratio(found, slow, fast)}
        shown = ", ".join(f"{kind} {1e6 * value:.1f} µs" for kind, value in medians(found).items())
        middle = ratio(found, slow, fast)
        print(
            f"{name}: {shown}; {slow} / {fast}: {middle['median']:.2f} "
            f"({middle['least']:.2f} to {middle['greatest']:.2f})"
        )
    write("sb3_buffer", results, smoke=given.smoke)


if __name__ == "__main__":
    main()
