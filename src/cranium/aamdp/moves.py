"""The steps that events cause in the configurations of a product, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.encoding import DictEncoding, Encoding
from cranium.aamdp.task_step import TaskReader, task_info
from cranium.automata.reward import Reward
from cranium.automata.transition import Configuration
from cranium.worlds.protocols import Observation, as_events

__all__ = ["Move", "MoveCache", "Node"]

MAX_MOVES = 1 << 16
"""The greatest number of cached steps of a configuration."""


class Node:
    """A configuration, its encoder, and the steps that events cause in it."""

    __slots__ = ("configuration", "encode", "moves", "part")

    def __init__(self, configuration: Configuration, encoding: Encoding) -> None:
        self.configuration = configuration
        self.encode = encoding.make_encoder(configuration)
        self.part: _Part = (None, None)
        if type(encoding) is DictEncoding:
            self.part = encoding.encode_configuration(configuration)
        self.moves: dict[Iterable[str] | str, Move] = {}


_Part = tuple[np.int64 | None, Iterator[NDArray[np.int64]] | None]
"""The number and the counters of a configuration, for a plain dictionary encoding."""
Move = tuple[
    Node,
    Callable[[Observation], Observation],
    np.int64 | None,
    Iterator[NDArray[np.int64]] | None,
    Reward,
    bool,
    dict[str, Any],
]
"""The next node and its encoder; its number and its counters (``_Part``); the reward, the
termination, and the info."""


class MoveCache:
    """Computes the step that events cause in a configuration, and keeps it in the node of that.

    Args:
        reader: Reads the events.
        encoding: Encodes the observations of the product.
    """

    def __init__(self, reader: TaskReader, encoding: Encoding) -> None:
        self._reader = reader
        self._encoding = encoding
        self._nodes: dict[Configuration, Node] = {}

    def node_of(self, configuration: Configuration) -> Node:
        """Return the node of a configuration."""
        if configuration not in self._nodes:
            self._nodes[configuration] = Node(configuration, self._encoding)
        return self._nodes[configuration]

    def find(self, node: Node, events: Iterable[str] | str) -> Move:
        """Return the step that events cause in the configuration of a node."""
        names = as_events(events)
        if names not in node.moves:
            if len(node.moves) > MAX_MOVES:
                node.moves.clear()
            node.moves[names] = self._compute(node.configuration, names)
        if isinstance(events, str | tuple):
            node.moves[events] = node.moves[names]
        return node.moves[names]

    def _compute(self, configuration: Configuration, names: frozenset[str]) -> Move:
        read = self._reader.read(configuration, names)
        info = task_info(read.label, read.configuration, success=read.success)
        node = self.node_of(read.configuration)
        return node, node.encode, *node.part, read.reward, read.ends, info
