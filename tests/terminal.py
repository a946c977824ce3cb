"""A program in a real terminal of its own, and the person who sits before it."""

from __future__ import annotations

import sys

import pexpect


class Terminal:
    """`cranium ARGUMENTS`; what was expected is consumed, so that the next wait begins behind it."""

    def __init__(self, *arguments, env=None, cwd=None, size=(40, 120)):
        command = ["-m", "cranium", *arguments]
        self.child = pexpect.spawn(
            sys.executable, command, env=env, cwd=cwd, timeout=60, encoding="utf-8", dimensions=size
        )

    def expect(self, words):
        self.child.expect_exact(words)

    def press(self, keys):
        self.child.send(keys)

    def type(self, line):
        self.child.sendline(line)

    def end(self):
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus
