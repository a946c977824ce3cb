"""The grids of the experiments: every method tries as many settings, on as many tuning seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from cranium.experiments.tuning import Candidates

__all__ = ["GRIDS", "METHODS", "REWARD_MACHINES", "TabularMethod", "list_settings", "tune_on"]

TabularMethod = tuple[str, dict[str, Any], str]
METHODS: dict[str, TabularMethod] = {
    "QL": ("ql", {}, "ql"),
    "CQL": ("cql", {"configurations": "seen"}, "cql"),
    "CQL all": ("cql", {"configurations": "reachable"}, "cql"),
    "CQL all+RS": ("cql", {"configurations": "reachable", "shaping": True}, "cql+rs"),
    "CRM": ("crm", {}, "crm"),
    "CRM+RS": ("crm", {"shaping": True}, "crm+rs"),
    "HRM": ("hrm", {}, "hrm"),
    "planner": ("planner", {}, "planner"),
}
"""For each method with tables the id of the learner, its settings, and its grid in ``GRIDS``. The
counterfactual configurations of CQL are those with counter values seen so far, as in the paper;
those of "CQL all" are all reachable ones."""
REWARD_MACHINES = ("CRM", "CRM+RS", "HRM")
"""The methods that learn on a reward machine."""

_PLAIN: dict[str, Sequence[Any]] = {
    "learning_rate": (0.5, 0.75, 1.0),
    "exploration": (0.02, 0.1),
    "initial_value": (0.5, 1.0),
}
_FEW: dict[str, Sequence[Any]] = {"learning_rate": (0.5, 1.0), "exploration": (0.02, 0.1)}
GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "ql": _PLAIN,
    "cql": _PLAIN,
    "crm": _PLAIN,
    "hrm": _PLAIN,
    # With shaping the potential matters as much as the initial values do without.
    "cql+rs": {**_FEW, "shaping_discount": (0.9, 0.95, 0.97)},
    "crm+rs": {
        **_FEW,
        "": (
            {"shaping": True, "shaping_discount": 0.9},
            {"shaping": True, "shaping_discount": 0.97},
            {"shaping": "published", "shaping_discount": 0.9, "initial_value": 2.0},
        ),
    },
    "planner": {},
}
"""The grids: twelve settings for each method, except for the planner, which has nothing to tune.
Settings that belong together stand in a dictionary."""


def list_settings(name: str) -> list[dict[str, Any]]:
    """List all settings of a grid.

    Example:
        >>> len(list_settings("cql")), len(list_settings("crm+rs")), list_settings("planner")
        (12, 12, [{}])
    """
    axes = GRIDS[name]
    found = []
    for values in product(*axes.values()):
        setting = dict(zip(axes, values, strict=True))
        several = setting.pop("", {})
        found.append({**setting, **several})
    return found


def tune_on(name: str, seeds: int, **more: Any) -> Candidates | None:
    """The search over a grid on so many seeds; None if there is nothing to tune.

    Args:
        name: The name of the grid.
        seeds: The number of seeds on which each setting is tried.
        **more: The budget and the evaluations of these trials, as for ``Candidates``.

    Example:
        >>> tune_on("cql", 5).seeds, tune_on("planner", 5)
        (5, None)
    """
    settings = list_settings(name)
    return Candidates(settings, seeds, **more) if len(settings) > 1 else None
