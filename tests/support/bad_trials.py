"""A study with a learner that misbehaves, as a file of a user's own."""

from __future__ import annotations

from pathlib import Path

STUDY = '''
import ctypes
import os
import re
import subprocess
import sys
import time

import numpy

import cranium

LOG = {log!r}


def note(what):
    with open(LOG, "a") as file:
        file.write(f"{{what}} {{os.getpid()}}\\n")


class Bad:
    """It does not end well, but on the seeds that it spares."""

    def __init__(self, how, spared=()):
        self.how, self.spared = how, spared

    def train(self, env, *, steps, seed, until, evaluate_every, **settings):
        note(f"bad {{seed}}")
        if seed not in self.spared:
            getattr(self, self.how)()
        return cranium.train(env, "planner", steps=steps, seed=seed, until=until)

    def exit(self):
        os._exit(9)

    def abort(self):
        os.abort()

    def segfault(self):
        ctypes.string_at(0)

    def killed(self):
        os.kill(os.getpid(), 9)

    def raise_error(self):
        raise OSError(28, "No space left on device")

    def grow(self):
        held = []
        while True:
            held.append(numpy.ones(4_000_000))

    def grow_elsewhere(self):
        code = "import time; held = bytearray(3 * 10**9); held[::4096] = held[::4096]; time.sleep(10**6)"
        process = subprocess.Popen([sys.executable, "-c", code])
        note(f"child {{process.pid}}")
        process.wait()

    def ask_for_everything(self):
        numpy.ones(10**15)

    def sleep(self):
        time.sleep(10**6)

    def loop(self):
        # C code that keeps the interpreter to itself for ages: no thread and no handler is run.
        re.fullmatch("(a|aa)+b", "a" * 10**3)


class Good:
    def train(self, env, *, steps, seed, until, evaluate_every, **settings):
        note(f"good {{seed}}")
        return cranium.train(env, "planner", steps=steps, seed=seed, until=until)


study = cranium.Study(
    "limits",
    problems={{"one": ("Letter", "A B C D")}},
    learners={{{learners}}},
    seeds={seeds},
    steps=2_000,
    {more}
)
'''


def write_bad_study(
    folder: Path,
    how: str,
    *,
    seeds: int = 2,
    spared: tuple[int, ...] = (),
    only: bool = False,
    **more: object,
) -> Path:
    """Write a study of a good learner and a bad one; the log of all attempts is ``log`` beside it."""
    folder.mkdir(exist_ok=True)
    learners = f"'bad': Bad({how!r}, {spared!r}),"
    if not only:
        learners += "'good': Good(),"
    lines = "".join(f"{name}={value!r}, " for name, value in more.items())
    log = str(folder / "log")
    path = folder / "limits.py"
    path.write_text(STUDY.format(log=log, learners=learners, seeds=seeds, more=lines))
    return path


def attempts_of(folder: Path) -> list[str]:
    """Which learner was begun on which seed, in order."""
    lines = (folder / "log").read_text().splitlines()
    return [" ".join(line.split()[:2]) for line in lines]
