"""A trial: a pure function of its config and its seed.

Everything that a result depends on is in the config, so its hash names the result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

__all__ = [
    "ComplexityTrial",
    "Job",
    "SpecificationTrial",
    "SpecifiedTrial",
    "TrainingTrial",
    "Trial",
]


REVISION = 2
"""Goes up when the same config comes to mean something else: older records are then not used."""


@dataclass(frozen=True, eq=False)
class Trial:
    """What a trial does, but for its seed.

    Attributes:
        experiment: The experiment that it belongs to.
        method: What is compared.
        case: On what.
        stage: What for: what comes of ``"first"`` decides what else is run, candidates are compared
            in ``"tuning"``, the figure is made of the rest.

    Example:
        >>> ComplexityTrial("complexity", "CRA", "N = 1", machine="anbcdn").key
        '3ffffda7bd637743'
    """

    experiment: str
    method: str
    case: str
    stage: Literal["first", "tuning", "final"] = field(default="final", kw_only=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trial) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def data(self) -> dict[str, Any]:
        """The config as plain data."""
        return {"kind": type(self).__name__, "revision": self.revision, **asdict(self)}

    @property
    def revision(self) -> int:
        """Goes up when such a trial comes to mean something else."""
        return REVISION

    @cached_property
    def key(self) -> str:
        """The hash of everything in it."""
        text = json.dumps(self.data, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class TrainingTrial(Trial):
    """A learner is trained on a task.

    Attributes:
        world: The name of a world.
        task: The machine, from the library; several, with a + between them, are drawn by lot.
        options: The options of the world.
        unroll: For learners on reward machines: up to which counter value the machine is unrolled.
        learner: The id of the learner.
        settings: Its settings; schedules as dictionaries.
        steps: The budget.
        every: After how many samples the greedy policy is evaluated.
        until: When to stop: ``"solved"``, after so many successes in a row, or at the budget.
        window: Over how many training episodes the reward per step is averaged, as a share of that
            of the optimal policy with the same exploration; None leaves it out.
        counter_limit: Up to which counter values configurations are imagined.
        tested_on: The options of a world in which the policy is evaluated at the end, too.
    """

    world: str
    task: str
    learner: str
    options: Mapping[str, Any] = field(default_factory=dict)
    unroll: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 1_000_000
    every: int = 100
    until: Literal["solved"] | int | None = "solved"
    window: int | None = None
    counter_limit: int | None = None
    tested_on: Mapping[str, Any] | None = None

    @property
    def revision(self) -> int:
        """One more if tasks are drawn: earlier records of these were made with altered rewards."""
        return REVISION + ("+" in self.task)


@dataclass(frozen=True, eq=False)
class SpecifiedTrial(TrainingTrial):
    """A learner is trained on a machine that is in no library.

    Attributes:
        task: What the machine is called.
        machine: The machine, as the text of a file.
    """

    machine: str = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class SpecificationTrial(Trial):
    """A task in words becomes a machine.

    Attributes:
        description: The words.
        world: The name of the world whose events they speak of.
        reference: A machine from the library with which the one that comes out is compared.
        recording: The recorded conversation that is replayed; empty if a model is asked.
        digest: Of that conversation: another one is another trial.
        model: The model that is asked; empty to replay.
        server: Where it is; empty for what ``OpenAIModel`` finds.
    """

    description: str
    world: str
    reference: str
    recording: str = ""
    digest: str = ""
    model: str = ""
    server: str = ""


@dataclass(frozen=True, eq=False)
class ComplexityTrial(Trial):
    """A machine is built and measured.

    Attributes:
        machine: The machine, from the library.
        limit: Up to which counter value it is unrolled; None leaves it as it is.
    """

    machine: str
    limit: int | None = None


class Job(NamedTuple):
    """A trial with its seed."""

    trial: Trial
    seed: int

    @property
    def name(self) -> str:
        """What its record is called."""
        return f"{self.trial.key}-{self.seed}"
