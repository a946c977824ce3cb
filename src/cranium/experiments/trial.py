"""A trial: a pure function of its settings and its seed.

The settings contain everything that the result depends on, so their hash names the result.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, singledispatch
from typing import Any, Literal, NamedTuple

from cranium.experiments.limits import NO_LIMITS, Limits

__all__ = ["FieldKind", "FunctionTrial", "Job", "Stage", "Trial", "find_mismatch", "run_trial"]


REVISION = 3
"""Increased when the same settings come to mean something else: older records are not used then."""
Stage = Literal["first", "tuning", "final"]
FieldKind = Literal[
    "count", "size", "number", "share", "text", "flag", "shares", "numbers", "pairs", "any"
]
"""What a field of a result contains: see ``shapes``."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A trial, without the seed.

    Attributes:
        experiment: The name of the experiment.
        method: The name of the method, as in the legend of the figure.
        case: The name of the task or setting on which methods are compared.
        stage: ``"first"``: the result decides which other trials are run. ``"tuning"``: candidate
            settings are compared. ``"final"``: the trial is part of the figure.
        fields: What the result has to contain besides what all results of the class contain.
    """

    experiment: str
    method: str
    case: str
    stage: Stage = field(default="final", kw_only=True)
    fields: Mapping[str, FieldKind] = field(default_factory=dict, kw_only=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trial) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def used(self) -> dict[str, Any]:
        """Everything that the result depends on: the key is its hash, names of legends are not."""
        raise NotImplementedError(type(self).__name__)

    @property
    def data(self) -> dict[str, Any]:
        """The trial as plain data, as it stands in records."""
        names = {"experiment": self.experiment, "method": self.method, "case": self.case}
        return {"kind": type(self).__name__, **names, "stage": self.stage, **self.used}

    @property
    def limits(self) -> Limits:
        """The limits of memory and time. The key does not depend on them."""
        return NO_LIMITS

    @cached_property
    def key(self) -> str:
        """The hash of what was used."""
        text = json.dumps(self.used, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class FunctionTrial(Trial):
    """A trial that calls a function with its settings and the seed, and keeps what it returns.

    Attributes:
        function: The function, as ``module:name``. It takes ``seed`` and the settings as keyword
            arguments, and returns plain data by name.
        settings: The settings, as plain data. Defaults of the function are part of the key, too.

    Example:
        >>> trial = FunctionTrial("sizes", "CRA", "N = 1", function="builtins:dict",
        ...                       settings={"states": 3})
        >>> run_trial(trial, 0)
        {'seed': 0, 'states': 3}
    """

    function: str = field(kw_only=True)
    settings: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    @property
    def used(self) -> dict[str, Any]:
        """The function, and all settings with their defaults."""
        return {
            "revision": REVISION,
            "function": self.function,
            "settings": {**_find_defaults(self.function), **self.settings},
        }


def _load(name: str) -> Any:
    """The function with a name, which this code gave and no file."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _find_defaults(name: str) -> dict[str, Any]:
    try:
        parameters = inspect.signature(_load(name)).parameters.values()
    except ValueError:  # a function in C need not have a signature
        return {}
    return {each.name: each.default for each in parameters if each.default is not each.empty}


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
        >>> run_trial(FunctionTrial("a", "b", "c", function="builtins:dict"), 7)
        {'seed': 7}
    """
    raise NotImplementedError(f"{type(trial).__name__} with seed {seed}")


@run_trial.register
def _call(trial: FunctionTrial, seed: int) -> dict[str, Any]:
    return dict(_load(trial.function)(seed=seed, **trial.settings))


@singledispatch
def find_mismatch(trial: Trial, result: Mapping[str, Any]) -> str | None:
    """Describe why a result cannot belong to a trial; None if it can.

    Classes of trials register what their results contain. Of others nothing is known.

    Example:
        >>> import cranium.experiments
        >>> trial = FunctionTrial("a", "b", "c", function="builtins:dict",
        ...                       fields={"states": "size"})
        >>> find_mismatch(trial, {"states": 7}) is None
        True
        >>> find_mismatch(trial, {"states": "many"})
        "its states: input should be a valid integer, not 'many'"
    """
    del trial, result
    return None
