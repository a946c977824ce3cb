"""How fast is CQL, compiled and in Python, against PyCRM's agent, C and dictionaries?

All learn A^N B C D^N in LetterEnv with N from 1 to 5, imagining the same counter values, by turns.
Times are CPU times. C and the dictionaries draw the same random numbers as ours, and must come to
the same values. ``make bench`` runs this.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TQDM_DISABLE"] = "1"  # the peer's progress bar

import gymnasium as gym
import numpy as np
from peers import (
    CQL_IN_C,
    LETTER,
    Dictionaries,
    LoopInC,
    PeerLabels,
    PeerMachine,
    by_turns,
    in_c,
    medians,
    ratio,
)
from pycrm.agents.tabular import CounterfactualQLearningAgent
from pycrm.crossproduct import CrossProduct
from running import parse, parser_of, write

import cranium
from cranium.aamdp.planning import tabulate_product
from cranium.learners import TabularConfig
from cranium.learners.evaluation import LiveEvaluator, TabularEvaluator
from cranium.learners.tabular import kernels
from cranium.learners.tabular.agent import QLearningAgent
from cranium.learners.tabular.arrays import LearnerTables
from cranium.learners.tabular.fused import TabularRun
from cranium.learners.tabular.live import LiveRun
from cranium.tables.space import open_space
from cranium.worlds import LetterEnv

MOST, HORIZON, SEED = 5, 100, 0
Timed = Callable[[], float]
"""Runs something, and returns the seconds for each step."""


def task(horizon: int = HORIZON) -> cranium.AutomatonAugmentedMDP:
    """The task, with counters as high as they can get."""
    machine, world = cranium.library.load("anbcdn"), LetterEnv.experiment((1, MOST))
    return cranium.product(world, machine, horizon=horizon, counter_limit=MOST)


def generators() -> tuple[np.random.Generator, int]:
    """The agent's generator and the world's seed, as ``cranium.train`` makes them."""
    first, second = np.random.SeedSequence(SEED).spawn(2)
    return np.random.default_rng(first), int(second.generate_state(1)[0])


def compiled_run(configurations: Any, product: Any = None) -> TabularRun:
    """What ``cranium.train`` runs when the world is arrays."""
    product, config = product or task(), TabularConfig(configurations=configurations)
    model = tabulate_product(product)
    agent, seed = generators()
    world = model.world
    sizes = (world.num_actions, product.horizon, len(world.observations))
    tables = LearnerTables(model.space, config, *sizes)
    evaluator = TabularEvaluator(product, model, None, config.discount)
    return TabularRun(product, model, QLearningAgent(tables, config, agent), evaluator, seed)


def live_run(configurations: Any, product: Any, env: Any = None, most: Any = None) -> LiveRun:
    """What it runs when the environment steps in Python."""
    config = TabularConfig(configurations=configurations)
    agent, seed = generators()
    space = open_space(product.automaton, product.counter_limit, most)
    tables = LearnerTables(space, config, int(product.action_space.n), product.horizon, 64)
    evaluator = LiveEvaluator(product, None, 1, seed, config.discount)
    return LiveRun(
        env or product, product, QLearningAgent(tables, config, agent), evaluator, seed, None
    )


def learn(run: Any, steps: int) -> None:
    """Take so many samples."""
    position = run.agent.tables.position
    target = position[kernels.SAMPLES] + steps
    while position[kernels.SAMPLES] < target:
        assert run.learn(int(target - position[kernels.SAMPLES])) == kernels.RUNNING


def imagined(run: Any) -> int:
    """From how many configurations every experience is imagined."""
    return int(run.agent.tables.position[kernels.MEMBERS])


class CountedProduct(CrossProduct):
    """PyCRM's product, which counts its steps."""

    taken = 0
    action_space = gym.spaces.Discrete(4)

    def step(self, action: Any) -> Any:
        """One step."""
        self.taken += 1
        return super().step(action)


def peer_agent() -> tuple[Timed, CounterfactualQLearningAgent]:
    """PyCRM's agent with the same settings on the same task; some episodes each time."""
    world = LetterEnv.experiment((1, MOST))
    machine = PeerMachine(LETTER, MOST)
    product = CountedProduct(world, machine, PeerLabels(world, ("A", "B", "C", "D")), HORIZON)
    config = TabularConfig()
    rates = (config.exploration, config.learning_rate, config.discount)
    agent = CounterfactualQLearningAgent(product, *rates)

    def run() -> float:
        product.taken, begin = 0, time.process_time()
        agent.learn(20)
        return (time.process_time() - begin) / product.taken

    return run, agent


def timed(function: Callable[[int], None], steps: int) -> Timed:
    """CPU seconds for each step."""

    def run() -> float:
        begin = time.process_time()
        function(steps)
        return (time.process_time() - begin) / steps

    return run


def trained(path: Any, steps: int, **settings: Any) -> Timed:
    """The same of ``cranium.train``, less what a short training takes: set-up and evaluation.

    In Python the evaluation is over after one step: it would take longer for a policy that succeeds
    than for the one of the short training, because success is confirmed.
    """

    def seconds(count: int) -> float:
        begin = time.process_time()
        cranium.train(
            task(),
            "cql",
            steps=count,
            path=path,
            evaluate_every=count,
            evaluation_episodes=1,
            counter_limit=MOST if path == "python" else None,
            evaluation_env=task(horizon=1) if path == "python" else None,
            **settings,
        )
        return time.process_time() - begin

    return lambda: (seconds(steps) - seconds(steps // 10)) / (steps - steps // 10)


def check_same(library: ctypes.CDLL, configurations: str, steps: int = 20_000) -> None:
    """With the same random numbers all must come to the same values, bit for bit."""
    ours, other = compiled_run(configurations), compiled_run(configurations)
    learn(ours, steps)
    LoopInC(other, library).learn(steps)
    q = ours.agent.tables.arrays.q
    assert np.array_equal(q, other.agent.tables.arrays.q), "C must do the same"
    assert np.array_equal(ours.ends, other.ends), "C must do the same"
    if configurations == "reachable":
        plain = Dictionaries(compiled_run(configurations))
        plain.learn(steps)
        values = np.array(list(plain.q.values())).reshape(q.shape)
        assert np.array_equal(q, values), "the dictionaries must do the same"


def compare_compiled(library: ctypes.CDLL, configurations: str, turns: int, steps: int) -> Any:
    """The compiled path against C, dictionaries and the peer."""
    ours = compiled_run(configurations)
    in_c_run = LoopInC(compiled_run(configurations), library)
    plain = Dictionaries(compiled_run("reachable"))
    peer, _ = peer_agent()
    found = by_turns(
        {
            "train": trained("compiled", steps, configurations=configurations),
            "loop": timed(lambda count: learn(ours, count), steps),
            "C": timed(in_c_run.learn, steps),
            "dictionaries": timed(plain.learn, 2_000),
            "peer": peer,
        },
        turns,
    )
    return {
        "configurations": imagined(ours),
        "seconds a step": medians(found),
        "of C": ratio(found, "C", "loop"),
        "times dictionaries": ratio(found, "dictionaries", "train"),
        "times the peer": ratio(found, "peer", "train"),
    }


class Recorder(gym.Wrapper):
    """Writes down what a learner does."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.calls: list[tuple[bool, Any]] = []

    def reset(self, **options: Any) -> Any:
        """Begin an episode."""
        self.calls.append((True, options["seed"]))
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        """One step."""
        self.calls.append((False, action))
        return self.env.step(action)


def replay(calls: list[tuple[bool, Any]], steps: int) -> Timed:
    """The same resets and actions again, without a learner; as there, every time in a new world."""

    def run() -> float:
        product = task()
        reset, step = product.reset, product.step
        begin = time.process_time()
        for is_reset, given in calls:
            if is_reset:
                reset(seed=given)
            else:
                step(given)
        return (time.process_time() - begin) / steps

    return run


def learn_anew(steps: int, configurations: str) -> Timed:
    """The samples of a fresh learner in a live environment, set-up not counted."""

    def run() -> float:
        fresh = live_run(configurations, task())
        begin = time.process_time()
        learn(fresh, steps)
        return (time.process_time() - begin) / steps

    return run


def compare_live(configurations: str, turns: int, steps: int) -> Any:
    """The path in Python against the peer, and what it costs beyond the environment's steps."""
    product = task()
    recorder = Recorder(product)
    recorded = live_run(configurations, product, recorder)
    learn(recorded, steps)
    peer, _ = peer_agent()
    found = by_turns(
        {
            "train": trained("python", steps, configurations=configurations),
            "loop": learn_anew(steps, configurations),
            "environment": replay(recorder.calls, steps),
            "peer": peer,
        },
        turns,
    )
    pairs = zip(found["loop"], found["environment"], strict=True)
    return {
        "configurations": imagined(recorded),
        "seconds a step": medians(found),
        "overhead": statistics.median(a - b for a, b in pairs),
        "times the peer": ratio(found, "peer", "train"),
    }


def show(name: str, found: Any, goals: dict[str, float]) -> None:
    """Print one comparison."""
    print(f"{name}, {found['configurations']} configurations imagined")
    for kind, seconds in found["seconds a step"].items():
        print(f"  {kind:<13} {seconds * 1e6:9.3f} µs a step {1 / seconds:13,.0f} steps/s")
    for kind, value in found.items():
        if isinstance(value, dict) and "median" in value:
            span = f"({value['least']:,.2f} to {value['greatest']:,.2f})"
            goal = f"; goal {goals[kind]:g}" if kind in goals else ""
            print(f"  {value['median']:,.2f} {kind} {span}{goal}")
    if "overhead" in found:
        print(f"  {found['overhead'] * 1e6:.2f} µs overhead; goal {goals['overhead'] * 1e6:g}")


def main() -> None:
    """Measure both paths."""
    parser = parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--steps", type=int, default=2_000_000, help="compiled")
    parser.add_argument("--live-steps", type=int, default=20_000)
    options = parse(parser, turns=1, steps=2_000, live_steps=500)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        library = in_c(CQL_IN_C, Path(folder), "-ffp-contract=off")  # ours rounds every step, too
        for configurations in ("reachable", "seen", "current"):
            check_same(library, configurations)
        for configurations in ("reachable", "seen"):
            name = f"compiled, {configurations}"
            found = compare_compiled(library, configurations, options.turns, options.steps)
            show(name, found, {"of C": 0.75, "times the peer": 3000})
            results[name] = found
    for configurations in ("reachable", "seen"):
        name = f"in Python, {configurations}"
        found = compare_live(configurations, options.turns, options.live_steps)
        show(name, found, {"times the peer": 50, "overhead": 1.5e-6})
        results[name] = found
    write("learners", results, smoke=options.smoke)


if __name__ == "__main__":
    main()
