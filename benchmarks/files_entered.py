"""How many files of Cranium does a call of ``train`` enter, and which?

A file counts if one of its functions is called, in any thread, while a training runs for the second
time in this process: the first time imports modules and compiles. Imports do not count. Functions
that Numba has compiled count if Python calls them, those that JAX has compiled do not.
``--functions`` lists the functions.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import gymnasium as gym
from running import parse, parser_of, write

import cranium

PACKAGE = Path(cranium.__file__).parent
Call = Callable[[], object]


def train(learner: str, steps: int) -> Call:
    """Return a call that trains a learner on one instance of Letter."""
    env = gym.make("cranium/Letter-anbcdn-v0", times=1)
    return lambda: cranium.train(env, learner, steps=steps, seed=0)


def train_sb3(steps: int) -> Call:
    """Return a call that trains the DQN of Stable-Baselines3 on the same task, relabelled."""
    from stable_baselines3 import DQN

    from cranium.learners.sb3 import counterfactual
    from cranium.worlds import LetterEnv

    machine = cranium.library.load("anbcdn")
    task = {"counter_limit": 2, "horizon": 100}

    def call() -> object:
        product, replay = counterfactual(LetterEnv.experiment(1), machine, **task)
        model = DQN("MlpPolicy", product, **replay, seed=0, device="cpu")
        return model.learn(steps)

    return call


CALLS: dict[str, Callable[[int], Call]] = {
    "cql": lambda steps: train("cql", steps),
    "planner": lambda steps: train("planner", steps),
    "cdqn": lambda steps: train("cdqn", steps),
    "sb3": train_sb3,
}


def functions_entered(call: Call) -> dict[str, list[str]]:
    """Return the functions of Cranium that a call enters, by file."""
    codes: set[CodeType] = set()

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    entered: dict[str, list[str]] = {}
    for code in codes:
        path = Path(code.co_filename)
        if path.is_relative_to(PACKAGE) and code.co_name != "<module>":
            entered.setdefault(str(path.relative_to(PACKAGE)), []).append(code.co_qualname)
    return {path: sorted(entered[path]) for path in sorted(entered)}


def main() -> None:
    """Count the files for every kind of training."""
    parser = parser_of(__doc__)
    parser.add_argument("calls", nargs="*", help=f"some of {', '.join(CALLS)} (default: all)")
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--functions", action="store_true", help="list the functions, too")
    options = parse(parser, steps=300)
    results = {}
    for name in options.calls or CALLS:
        call = CALLS[name](options.steps)
        call()
        results[name] = entered = functions_entered(call)
        print(f"{name}: {len(entered)} files")
        for path, functions in entered.items():
            print(f"  {path}" + (f": {', '.join(functions)}" if options.functions else ""))
    write("files_entered", results, smoke=options.smoke)


if __name__ == "__main__":
    main()
