"""The problems of the paper: a world of ours, and a task of the library or of a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.aamdp.registry import find_world, make_world
from cranium.automata.convert import unroll
from cranium.formats import library
from cranium.formats.files import loads
from cranium.paper.multi_task import TaskSamplingEnv, unite_machines

__all__ = ["PaperProblem", "make_env"]


@dataclass(frozen=True)
class PaperProblem:
    """Makes the product of a problem.

    Attributes:
        world: The name of the world.
        task: The name of a machine of the library. Several names, separated by ``+``, are a
            multi-task problem: every episode samples one of them.
        options: The options of the world.
        limit: For learners on reward machines: the counter limit up to which the machine is
            unrolled.
        machine: The text of the machine, if it is not in the library.

    Example:
        >>> PaperProblem("Letter", "anbcdn", {"times": 3}, limit=3)().automaton.counters
        ()
    """

    world: str
    task: str
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    machine: str = field(default="", repr=False)

    def __call__(self) -> AutomatonAugmentedMDP:
        """Make the product, or return the one that this process has made already."""
        options = sorted((name, _freeze(value)) for name, value in self.options.items())
        return make_env(self.world, self.task, self.limit, tuple(options), self.machine)

    @property
    def settings(self) -> dict[str, Any]:
        """What it is made with, as plain data; the machine itself is hashed anyway."""
        options = {name: _thaw(value) for name, value in self.options.items()}
        told = {"world": self.world, "task": self.task, "options": options}
        return told if self.limit is None else {**told, "unrolled": self.limit}


def _freeze(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _thaw(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@lru_cache(maxsize=64)
def make_env(
    world: str,
    task: str,
    limit: int | None,
    options: tuple[tuple[str, Any], ...],
    text: str = "",
) -> AutomatonAugmentedMDP:
    """Make the product of a problem. Trials share it, because training does not change it.

    If ``text`` is given, the machine is read from it.
    """
    made = make_world(world, **dict(options))
    names = [task] if text else task.split("+")
    machine = unite_machines(
        [loads(text)] if text else [library.load(name) for name in names], names
    )
    if limit is not None:
        machine = unroll(machine, limit)
    if len(names) > 1:
        made = TaskSamplingEnv(made, names)
    return AutomatonAugmentedMDP(made, machine, horizon=find_world(world).horizon)
