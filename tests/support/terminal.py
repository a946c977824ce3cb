"""A program in a real terminal of its own, and the person who sits before it."""

from __future__ import annotations

import os
import sys
import warnings

import pexpect


class Terminal:
    """`cranium ARGUMENTS`; what was expected is consumed, so that the next wait begins behind it."""

    def __init__(self, *arguments, env=None, cwd=None, size=(40, 120)):
        command = ["-m", "cranium", *arguments]
        env = {**(os.environ if env is None else env), "TERM": "xterm-256color"}
        env.pop("COLUMNS", None)
        env.pop("LINES", None)
        told = {"timeout": 60, "encoding": "utf-8", "dimensions": size}
        with warnings.catch_warnings():
            # JAX, if a test has started it, warns of a fork; another program takes over at once.
            warnings.simplefilter("ignore")
            self.child = pexpect.spawn(sys.executable, command, env=env, cwd=cwd, **told)

    def expect(self, words):
        self.child.expect_exact(words)

    def press(self, keys):
        self.child.send(keys)

    def type(self, line):
        self.child.sendline(line)

    def end(self):
        self.child.expect(pexpect.EOF)
        self.child.close()
        return (
            self.child.exitstatus
            if self.child.signalstatus is None
            else 128 + self.child.signalstatus
        )
