"""An experiment that runs in a process of its own, with worker processes."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

WAIT = 60
"""How many seconds a process may take for anything."""


def records_in(folder):
    """The files of records in a folder."""
    return sorted(folder.glob("*-*.json"))


SCRIPT = """
import json, sys, time
from pathlib import Path

from cranium.experiments import LocalEngine, local_engine
from cranium.paper import ComplexityConfig, run
from cranium.experiments.trial import run_trial
from cranium.paper.problems import PaperProblem
from cranium.studies import JointStudy, Study


class Endless(ComplexityConfig):
    def jobs(self, store):
        problem = PaperProblem("Letter", "anbcdn")
        return Study("x", {"any N": problem}, {"CQL": "cql"}, seeds=2, steps=10**12,
                     evaluate_every=10**12, until="budget").jobs(store)

    def study(self):
        return JointStudy("endless", lambda store: [self])


def slowly(trial, seed):
    time.sleep(float(sys.argv[2]))
    return run_trial(trial, seed)


local_engine.run_trial = slowly  # in the workers, too: each of them reads this file

if __name__ == "__main__":
    outcome = run(CONFIG, Path(sys.argv[1]), LocalEngine(2))
    told = {"ran": outcome.ran, "interrupted": outcome.interrupted, "failed": len(outcome.failed)}
    print(json.dumps({**told, "jobs": len(outcome.jobs)}))
"""
MANY_TRIALS = "ComplexityConfig(trials=8, most=2)"
JOBS = 48
"""How many trials that has."""


class ExperimentProcess:
    """``run`` of an experiment in a process of its own, with two workers.

    Args:
        place: A folder for the script; records go to ``place / "records"``.
        pause: The seconds by which every trial is delayed.
        config: The experiment, as an expression.
    """

    def __init__(self, place, pause=0.05, config=MANY_TRIALS):
        self.folder = place / "records"
        path = place / "experiment.py"
        path.write_text(SCRIPT.replace("CONFIG", config))
        self.process = subprocess.Popen(
            [sys.executable, str(path), str(self.folder), str(pause)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_for(self, count):
        """Wait until there are so many records."""
        deadline = time.monotonic() + WAIT
        while len(records_in(self.folder)) < count:
            assert time.monotonic() < deadline
            assert self.process.poll() is None, self.process.communicate()[1]
            time.sleep(0.01)

    def children(self):
        """The process ids of all children."""
        found = set()
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state, parent = path.read_text().rpartition(")")[2].split()[:2]
                if int(parent) == self.process.pid and state != "Z":
                    found.add(int(path.parent.name))
        return found

    def workers(self):
        """The process ids of the workers."""
        found = set()
        for child in self.children():
            with contextlib.suppress(OSError):
                if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.add(child)
        return found

    def end(self):
        """Wait for the end; returns what the run printed."""
        told, errors = self.process.communicate(timeout=WAIT)
        assert self.process.returncode == 0, errors
        return json.loads(told)
