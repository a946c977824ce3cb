"""The tables of a learner for checkpoints: the configuration space, the values, and the position.

What follows from the space (the machine's tables, potentials, which configurations are relabelled)
is not saved but computed again, so that no number of a file takes part in it.
"""

from __future__ import annotations

import numpy as np

from cranium.learners.saved_state import ANY, SavedState
from cranium.learners.serialisation import whole
from cranium.learners.space_state import save_space
from cranium.learners.tabular import kernels
from cranium.learners.tabular.arrays import LearnerTables

__all__ = ["restore_tables", "save_tables"]

PLACES = {
    "state": kernels.STATE,
    "configuration": kernels.CONFIGURATION,
    "age": kernels.AGE,
    "samples": kernels.SAMPLES,
    "action": kernels.ACTION,
    "episodes": kernels.EPISODES,
    "drawn": kernels.DRAWN,
}
"""What is saved of ``position``, by its name."""
LARGEST = 2**53
LAST_DRAWN = 2**31 - 2
"""The greatest state of the generator that draws samples of a set."""
SPARE = 4
"""How many times the room may be that is needed: arrays grow by doubling."""


def save_tables(tables: LearnerTables, saved: SavedState, observations: int) -> None:
    """Add the values for so many observations, and where the learner is."""
    arrays, count = tables.arrays, len(tables.space)
    save_space(tables.space, saved)
    saved.data["sizes"] = list(tables.sizes)
    saved.data["position"] = {name: int(tables.position[at]) for name, at in PLACES.items()}
    saved.arrays["q"] = arrays.q[:observations, :count].copy()
    saved.arrays["visits"] = arrays.visits[:observations, :count].copy()
    saved.arrays["known"] = arrays.known[:count].copy()
    if tables.kind == kernels.CHOSEN:  # a set may have drawn a sample
        saved.arrays["members"] = arrays.members[: int(tables.position[kernels.MEMBERS])].copy()


def restore_tables(
    tables: LearnerTables, saved: SavedState, observations: int, states: int
) -> None:
    """Go on with the tables of another run, of which the space is there already.

    Args:
        tables: New tables of the same task.
        saved: The state.
        observations: For how many observations there are values.
        states: How many states of the world there are, or observations if it steps in Python.
    """
    _resize(tables, saved, observations)
    arrays, count, actions = tables.arrays, len(tables.space), tables.num_actions
    values = (observations, count, actions)
    arrays.q[:observations, :count] = saved.array("q", np.float64, values)
    if len(arrays.visits):
        most = int(np.iinfo(np.int32).max) - 1
        visits = saved.array("visits", np.int32, values, least=0, most=most)
        arrays.visits[:observations, :count] = visits
    known = saved.array("known", np.int32, (ANY,), least=0, most=1)
    arrays.known[:count] = saved.array("known", np.int32, (count,)) if known.size else 0
    _restore_position(tables, saved, states)
    _restore_members(tables, saved)


def _resize(tables: LearnerTables, saved: SavedState, observations: int) -> None:
    """Make just as much room as there was: when arrays grow may change when plans are made."""
    needed = (observations, len(tables.space), len(tables.space.labels))
    given = saved.items("sizes", len(needed))
    sizes = [
        whole(size, least=least, most=SPARE * max(least, now))
        for size, least, now in zip(given, needed, tables.sizes, strict=True)
    ]
    tables.look()
    tables.resize(*sizes)


def _restore_position(tables: LearnerTables, saved: SavedState, states: int) -> None:
    told = saved.data["position"]
    if not isinstance(told, dict):
        raise TypeError("no position")
    ranges = {
        "state": (0, max(states - 1, 0)),
        "configuration": (0, len(tables.space) - 1),
        "age": (0, tables.horizon),
        "samples": (0, LARGEST),
        "action": (0, tables.num_actions - 1),
        "episodes": (0, LARGEST),
        "drawn": (0, LAST_DRAWN),
    }
    for name, (least, most) in ranges.items():
        tables.position[PLACES[name]] = whole(told[name], least=least, most=most)


def _restore_members(tables: LearnerTables, saved: SavedState) -> None:
    """List the counterfactual configurations: those that follow from what was seen, or a sample."""
    arrays, position = tables.arrays, tables.position
    real, count = int(position[kernels.CONFIGURATION]), len(tables.space)
    if tables.kind == kernels.CHOSEN:
        members = saved.array("members", np.int32, (ANY,), least=0, most=count - 1)
        if len(np.unique(members)) != len(members) or len(members) > count:
            raise ValueError("configurations that are relabelled twice")
    elif tables.kind == kernels.CURRENT:
        members = np.array([real], np.int32)
    else:
        alive = arrays.ending[:count] == kernels.GOES_ON
        if tables.kind == kernels.SEEN:
            alive &= arrays.known[arrays.counters[:count]] > 0
        members = np.flatnonzero(alive).astype(np.int32)
    arrays.members[: len(members)] = members
    position[kernels.MEMBERS] = len(members)
