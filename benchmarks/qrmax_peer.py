"""The peer's own learner, QR-MAX-RM, in our copies of its worlds.

Its package pins old versions of many others, so it has an environment of its own, and this module
is imported there by a process of its own: ``serve`` reads a world as arrays from standard input,
and then plays one episode for every line that it reads. It imports nothing of Cranium's.

The package on PyPI when this was written is 0.2.0; its learner is driven with the settings of the
release (K = 39). The published figures were made with a later state of the same code.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["PLACE", "Peer", "install", "is_installed", "serve"]

PACKAGES = ("numpy==1.26.4", "gymnasium==0.29.1", "matplotlib==3.8.3")
PEER = "multiagent-rl-rm==0.2.0"
HERE = Path(__file__).parent
PLACE = HERE.parent / "out" / "qrmax" / "venv"
"""The environment of the peer."""
SERVE = "import sys; sys.path.insert(0, sys.argv[1]); import qrmax_peer; qrmax_peer.serve()"
SETTINGS = {"gamma": 0.9, "VI_delta": 1e-2, "VI_delta_rel": True, "use_qrm": True}
THRESHOLD, LONGEST = 39, 1_001


def is_installed(folder: Path) -> bool:
    """Whether the peer's environment is there."""
    return (folder / "ready").exists()


def install(folder: Path) -> None:
    """Make the peer's environment, unless it is there."""
    if not is_installed(folder):
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *PACKAGES], check=True)
        subprocess.run([*pip, "--no-deps", PEER], check=True)
        (folder / "ready").touch()


class Peer:
    """The peer's learner in a process of its own, as seen from ours."""

    def __init__(self, folder: Path, model: Any, seed: int) -> None:
        command = [str(folder / "bin" / "python"), "-c", SERVE, str(HERE)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, **pipes)  # type: ignore[call-overload]
        self.model, self.samples, self.policy = model, 0, np.zeros((1, 1), int)
        self.say({"seed": seed, **_arrays(model)})

    def say(self, told: Any) -> None:
        """Send one line."""
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()

    def episodes(self, most: int, every: int) -> Iterator[tuple[bool, bool]]:
        """Learn; tell when an episode has ended, whether it was paid, and when a look is due."""
        look = every
        while self.samples < most:
            yield True, self.episode()
            if self.samples >= look:
                look = self.samples + every
                yield False, False
        self.process.stdin.close()
        self.process.wait()

    def episode(self) -> bool:
        """Play one episode of training; whether it was paid."""
        self.say("go")
        told = json.loads(self.process.stdout.readline())
        self.samples += told["steps"]
        self.policy, self.cpu = np.array(told["policy"]), told["cpu"]
        return bool(told["paid"])

    def greedy(self) -> Any:
        """The greedy policy: an action for each pair of a state and a configuration."""
        return self.policy[self.model.state, self.model.configuration]


def _arrays(model: Any) -> dict[str, Any]:
    """The world and the machine as lists; here the label of a step depends on its end alone."""
    world, space = model.world, model.space
    known = frozenset(space.automaton.propositions)
    rows = np.array([space.label_index(label & known) for label in world.labels])
    coming = np.zeros(world.num_states, np.int64)
    coming[world.next_state] = rows[world.label]
    ended = np.zeros(world.num_states, np.bool_)
    ended[world.next_state] = world.terminated
    alive = [x for x in range(len(space)) if not space.tables.terminal[x]]
    after, paid = np.full((2, len(space), world.num_states), 0.0)
    for x in range(len(space)):
        after[x] = x
        if x in alive:
            after[x] = space.step_many(coming, np.full(world.num_states, x))
            paid[x] = space.tables.reward[coming, x]
    return {
        "first": world.first.tolist(),
        "next": world.next_state.tolist(),
        "probability": world.probability.tolist(),
        "ended": ended.tolist(),
        "start": int(np.argmax(world.initial)),
        "after": after.astype(int).tolist(),
        "paid": paid.tolist(),
        "alive": alive,
        "begin": int(space.start),
    }


# In the peer's environment


class Office:
    """Plays the peer's learner in a world of arrays."""

    def __init__(self, told: dict[str, Any]) -> None:
        from multiagent_rlrm.learning_algorithms.qrmax_v2 import QRMax_v2

        self.told, self.after, self.paid = told, np.array(told["after"]), np.array(told["paid"])
        self.states, self.machine = len(told["ended"]), len(told["after"])
        self.episodes = 0
        self.learner = QRMax_v2(
            state_space_size=self.states * self.machine,
            action_space_size=4,
            q_space_size=self.machine,
            nsamplesTE=THRESHOLD,
            nsamplesRE=THRESHOLD,
            seed=told["seed"],
            **SETTINGS,
        )
        self.learner.learn_init()

    def episode(self) -> tuple[int, bool]:
        """One episode; its length, and whether it was paid."""
        told, learner = self.told, self.learner
        rng = np.random.default_rng(1_000 * told["seed"] + self.episodes)
        self.episodes += 1
        s, q, paid, steps = told["start"], told["begin"], False, 0
        learner.learn_init_episode()
        while steps < LONGEST:
            steps += 1
            a = int(learner.choose_action(s * self.machine + q, info={"s": s, "q": q}))
            first, last = told["first"][4 * s + a : 4 * s + a + 2]
            k = first
            if last - first > 1:
                total, drawn = 0.0, rng.random()
                while k < last - 1 and total + told["probability"][k] <= drawn:
                    total += told["probability"][k]
                    k += 1
            s1 = told["next"][k]
            q1, reward = int(self.after[q, s1]), float(self.paid[q, s1])
            ended = told["ended"][s1] or q1 not in told["alive"]
            info = {"prev_s": s, "prev_q": q, "s": s1, "q": q1, "Renv": 0.0, "RQ": reward}
            info["qrm_experience"] = list(self.imagined(s, a, s1))
            learner.update(s, s1, a, reward, ended, info=info)
            s, q, paid = s1, q1, paid or reward > 0
            if ended:
                break
        learner.learn_done_episode()
        return steps, paid

    def imagined(self, s: int, a: int, s1: int) -> Iterator[tuple[Any, ...]]:
        """The step as seen from every machine state that goes on, as the peer's wrapper does it."""
        for q in self.told["alive"]:
            q1, reward = int(self.after[q, s1]), float(self.paid[q, s1])
            done = self.told["ended"][s1] or q1 not in self.told["alive"]
            yield 0, a, reward, 0, done, s, q, s1, q1, reward


def serve() -> None:
    """Read a world, then play an episode for every line; the learner's own prints are dropped."""
    answers = sys.stdout
    with contextlib.redirect_stdout(io.StringIO()):
        office = Office(json.loads(sys.stdin.readline()))
        for _ in sys.stdin:
            steps, paid = office.episode()
            policy = office.learner.Q.argmax(axis=-1).tolist()
            found = {"steps": steps, "paid": paid, "policy": policy}
            found["cpu"] = time.process_time()
            print(json.dumps(found), file=answers)
            answers.flush()
