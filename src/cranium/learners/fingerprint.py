"""The fingerprint of the world in which a policy was trained: parts that can be compared.

The parts of a finite world are digests of its tables. Those of ``PointWorld`` and ``WaterWorld``
are their parameters. Those of other environments are the class, the id, the arguments and the
spaces.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.labelling import Labelling, WorldEvents
from cranium.aamdp.planning import find_product, tabulate_world
from cranium.aamdp.product import AutomatonAugmentedMDP, shortest_horizon
from cranium.errors import SpaceError, WorldError
from cranium.learners.code_digest import VERSION, code_digest
from cranium.worlds.finite import find_model
from cranium.worlds.observations import observation_key
from cranium.worlds.point import PointWorld
from cranium.worlds.protocols import FiniteWorld, as_events
from cranium.worlds.tabular import TabularWorld
from cranium.worlds.water import WaterWorld

__all__ = ["differences", "fingerprint"]

OLD = "world"
"""The only part in files of an older version."""
TABLE = "transitions"
"""The part that only a world has that was made into a table."""
CODE = f"code of the labelling, {VERSION}"
"""The digest of a labelling function; it differs between versions of Python."""
DIGESTS = (TABLE, "first transitions", "labels", "ground rewards", "starts", CODE)
"""Parts of which only a digest is kept."""
NEAR = 200
"""The number of states near the start that are compared if a world was not made into a table."""
LONGEST = 80
"""The number of characters of a parameter that a message shows."""
SAID = ("made with", "labelling", CODE)
"""Parts that are not compared if both worlds are tables, because the tables are compared."""


def fingerprint(env: gym.Env[Any, Any], world: TabularWorld | None = None) -> dict[str, Any]:
    """The fingerprint of an environment, with digests of its tables if these are given.

    Example:
        >>> env = gym.make("cranium/Point-visit-v0", speed=0.2)
        >>> known = fingerprint(env)
        >>> known["environment"], known["horizon"], known["parameter speed"]
        ('PointWorld', 200, '0.2')
    """
    product = find_product(env)
    base: Any = product.unwrapped
    found: dict[str, Any] = {
        "environment": type(base).__name__,
        "observations": str(product.env.observation_space),
        "actions": str(product.env.action_space),
        "horizon": shortest_horizon(env, product.horizon),
        "counter limit": product.counter_limit if product.encoding.can_overflow else None,
        "ground reward": "added" if product.add_ground_reward else "not added",
        "labelling": _named(product.labelling),
    }
    if (code := _code(product.labelling)) is not None:
        found[CODE] = code
    if world is not None:
        found |= _tables(product, world)
    elif (model := find_model(base)) is not None:
        found |= _beginning(model)
    if isinstance(base, PointWorld | WaterWorld):
        found |= {f"parameter {name}": _plain(one) for name, one in base.parameters.items()}
    elif base.spec is not None and not isinstance(base, FiniteWorld):
        told = {name: one for name, one in base.spec.kwargs.items() if name != "render_mode"}
        found["made with"] = f"{base.spec.id} {_plain(told)}"
    return found


def _tables(product: AutomatonAugmentedMDP, world: TabularWorld) -> dict[str, str]:
    """Digests of the tables of a world."""
    known = frozenset(product.automaton.propositions)  # other events do not matter
    names = [",".join(sorted(label & known)) for label in world.labels]
    index = {name: number for number, name in enumerate(sorted(set(names)))}
    labels = np.array([index[name] for name in names], np.int64)[world.label]
    arrays = (world.first, world.next_state, world.probability, world.terminated, world.observation)
    seen = [observation_key(observation) for observation in world.observations]
    starts = np.flatnonzero(world.initial)
    found = {
        TABLE: _digest(arrays, seen),
        "labels": _digest([labels], sorted(index)),
        "starts": _starts(
            (world.initial[s], world.observations[world.observation[s]]) for s in starts
        ),
    }
    if product.add_ground_reward:
        found["ground rewards"] = _digest([world.reward], [])
    return found


def _beginning(world: FiniteWorld[Any]) -> dict[str, str]:
    """Digests of the initial states and the first transitions, of a world without a table."""
    initial = world.initial({})
    waiting = [state for p, state in initial if p > 0][:NEAR]
    known, rows = set(waiting), []
    space: Any = world.action_space
    for state in waiting:  # grows meanwhile
        for action in range(int(space.n)):
            called = action + int(space.start)
            for outcome in world.outcomes(state, called):
                events = sorted(as_events(world.label(state, called, outcome.state)))
                rows.append((*outcome[::2], observation_key(world.observe(outcome.state)), events))
                if outcome.state not in known and len(known) < NEAR:
                    known.add(outcome.state)
                    waiting.append(outcome.state)
    starts = ((p, world.observe(state)) for p, state in initial)
    return {"starts": _starts(starts), "first transitions": _digest([], rows)}


def _starts(starts: Iterable[tuple[float, Any]]) -> str:
    """A digest of the initial states and their probabilities."""
    return _digest(
        [], sorted(repr((float(p), observation_key(seen))) for p, seen in starts if p > 0)
    )


def _digest(arrays: Iterable[NDArray[Any]], more: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    digest.update(repr(more).encode())
    return digest.hexdigest()[:16]


def _named(labelling: Callable[..., Any]) -> str:
    """A description of a labelling: its cells, or its name and its declared events."""
    if isinstance(labelling, WorldEvents):
        return "the world's own"
    function: Any = labelling
    vocabulary = ""
    if isinstance(labelling, Labelling):
        function, vocabulary = labelling.function, f" of {', '.join(sorted(labelling.events))}"
    table = getattr(function, "names", None)  # of labelling_from_cells
    if isinstance(table, Mapping):
        rows = sorted(f"{cell}: {sorted(events)}" for cell, events in table.items())
        return f"a table{vocabulary}, {_digest([], rows)}"
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"{name}{vocabulary}"


def _code(labelling: Callable[..., Any]) -> str | None:
    """A digest of what a labelling does, if it is a function in Python of the user's."""
    if isinstance(labelling, WorldEvents):
        return None
    function: Any = labelling.function if isinstance(labelling, Labelling) else labelling
    return None if hasattr(function, "names") else code_digest(function)


def _plain(value: Any) -> str:
    """An argument as text that is the same in every process; for other objects only the class."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_plain(one)}" for key, one in sorted(value.items())) + "}"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(_plain, value)) + ")"
    if isinstance(value, str | bool | int | float | np.generic | np.ndarray) or value is None:
        return str(observation_key(value))
    return type(value).__name__


def differences(known: Mapping[str, Any], env: gym.Env[Any, Any]) -> dict[str, str]:
    """The parts of a fingerprint in which an environment differs, with a text for each.

    Example:
        >>> env = gym.make("cranium/Point-visit-v0", speed=0.2)
        >>> slow = gym.make("cranium/Point-visit-v0", noise=0.01)
        >>> print(*differences(fingerprint(env), slow).values(), sep="; ")
        parameter speed: 0.2 in training, 0.1 here; parameter noise: 0.0 in training, 0.01 here
    """
    product = find_product(env)
    table = None
    if TABLE in known or ", table " in str(known.get(OLD)):
        with suppress(WorldError, SpaceError):
            table = tabulate_world(product)
    if OLD in known:
        now: dict[str, Any] = {OLD: _old_print(product, table)}
    else:
        now = fingerprint(env, table)
    both = [part for part in known if part in now]
    if TABLE in both:
        both = [part for part in both if part not in SAID]
    return {part: _said(part, known[part], now[part]) for part in both if known[part] != now[part]}


def _said(part: str, then: Any, now: Any) -> str:
    if part in DIGESTS:
        return f"other {part}"
    values = (
        text if len(text) <= LONGEST else text[:LONGEST] + "…" for text in map(str, (then, now))
    )
    return "{}: {} in training, {} here".format(part, *values)


def _old_print(product: AutomatonAugmentedMDP, world: TabularWorld | None) -> str:
    """The fingerprint in files of an older version."""

    def key(seen: Any) -> Any:
        if isinstance(seen, np.ndarray):
            return (seen.shape, seen.tobytes())
        if isinstance(seen, Mapping):
            return tuple((name, key(part)) for name, part in sorted(seen.items()))
        if isinstance(seen, tuple | list):
            return tuple(key(part) for part in seen)
        return seen.item() if isinstance(seen, np.generic) else seen

    base: Any = product.unwrapped
    text = f"{type(base).__name__} {product.env.observation_space} {product.env.action_space}"
    if world is None:
        return text
    digest = hashlib.sha256()
    for array in (world.first, world.next_state, world.probability, world.label, world.terminated):
        digest.update(array.tobytes())
    names = [sorted(label) for label in world.labels]
    digest.update(repr((names, [key(seen) for seen in world.observations])).encode())
    return f"{text}, table {digest.hexdigest()[:16]}"
