"""A trial: a pure function of its config and its seed.

The config contains everything that the result depends on, so its hash names the result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, singledispatch
from typing import Any, Literal, NamedTuple

__all__ = [
    "ComplexityTrial",
    "Job",
    "SpecificationTrial",
    "SpecifiedTrial",
    "TrainingTrial",
    "Trial",
    "find_mismatch",
    "run_trial",
]


REVISION = 2
"""Increased when the same config comes to mean something else. Older records are not used then."""


@dataclass(frozen=True, eq=False)
class Trial:
    """The config of a trial, without the seed.

    Attributes:
        experiment: The name of the experiment.
        method: The name of the method, as in the legend of the figure.
        case: The name of the task or setting on which methods are compared.
        stage: ``"first"``: the result decides which other trials are run. ``"tuning"``: candidate
            settings are compared. ``"final"``: the trial is part of the figure.

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
        """The config as plain data, as it stands in records."""
        return {"kind": type(self).__name__, "revision": self.revision, **asdict(self)}

    @property
    def revision(self) -> int:
        """Increased when trials of this class come to mean something else."""
        return REVISION

    @cached_property
    def key(self) -> str:
        """The hash of the config."""
        text = json.dumps(self.data, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class TrainingTrial(Trial):
    """A trial that trains a learner on a task.

    Attributes:
        world: The name of the world.
        task: The name of a machine of the library. Several names, separated by ``+``, are a
            multi-task problem: every episode samples one of them.
        options: The options of the world.
        unroll: For learners on reward machines: the counter limit up to which the machine is
            unrolled.
        learner: The id of the learner.
        settings: The settings of the learner; schedules as dictionaries.
        steps: The budget of samples.
        every: The number of samples between two evaluations of the greedy policy.
        until: When to stop early: ``"solved"``, or after so many successes in a row; None uses the
            whole budget.
        window: The number of training episodes over which the reward per step is averaged. It is
            recorded relative to that of the optimal policy with the same exploration. None: it is
            not recorded.
        counter_limit: The greatest counter value of counterfactual configurations.
        tested_on: The options of another world in which the final policy is evaluated, too.
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
        """One higher for sampled tasks: their earlier records were made with altered rewards."""
        return REVISION + ("+" in self.task)


@dataclass(frozen=True, eq=False)
class SpecifiedTrial(TrainingTrial):
    """A trial that trains a learner on a machine that is not in the library.

    Attributes:
        task: The name of the machine.
        machine: The machine, as the text of a file.
    """

    machine: str = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class SpecificationTrial(Trial):
    """A trial that turns a description in plain words into a machine.

    Attributes:
        description: The description.
        world: The name of the world whose events it refers to.
        reference: The machine of the library with which the result is compared.
        recording: The recorded conversation that is replayed; empty if a model is asked.
        digest: The hash of that conversation: another conversation is another trial.
        model: The model that is asked; empty to replay.
        server: The address of the model; empty for the default of ``OpenAIModel``.
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
    """A trial that builds a machine and measures its size.

    Attributes:
        machine: The name of a machine of the library.
        limit: The counter limit up to which it is unrolled; None: it is not unrolled.
    """

    machine: str
    limit: int | None = None


class Job(NamedTuple):
    """A trial with its seed."""

    trial: Trial
    seed: int

    @property
    def name(self) -> str:
        """The name of its record."""
        return f"{self.trial.key}-{self.seed}"


@singledispatch
def run_trial(trial: Trial, seed: int) -> dict[str, Any]:
    """Run a trial and return its result as plain data. Each class of trials registers how.

    Example:
        >>> import cranium.experiments
        >>> trial = TrainingTrial("letter", "planner", "N = 1", world="Letter", task="anbcdn",
        ...                       learner="planner", options={"times": 1}, every=20)
        >>> run_trial(trial, 0)["samples"]
        60
    """
    raise NotImplementedError(f"{type(trial).__name__} with seed {seed}")


@singledispatch
def find_mismatch(trial: Trial, result: Mapping[str, Any]) -> str | None:
    """Describe why a result cannot belong to a trial; None if it can.

    Classes of trials register what their results contain. Of others nothing is known.

    Example:
        >>> import cranium.experiments
        >>> trial = ComplexityTrial("complexity", "RM", "2 N", "anbcdn", 2)
        >>> find_mismatch(trial, {"states": 7, "transitions": 17}) is None
        True
        >>> find_mismatch(trial, {"states": "many", "transitions": 17})
        "its states: input should be a valid integer, not 'many'"
    """
    del trial, result
    return None
