"""The layers of a picture: its states, and the arrows between them, without sizes.

The initial state is in the first layer and every other state as many layers further as it is
steps away. A terminal state stands behind all states that lead to it. If many do, it is drawn
several times, once for each of them: that is how the paper draws its filled circles, and it
spares the picture a fan of arrows through everything else.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.drawing.labels import Arrow, arrows

__all__ = ["Edge", "LayeredGraph", "Node", "assign_layers"]

MAX_SHARED = 4
"""How many arrows may lead to one circle of a terminal state."""


@dataclass(frozen=True, slots=True)
class Node:
    """One place where a state is drawn.

    Attributes:
        state: Its name.
        layer: Its layer, from zero.
        is_terminal: Whether it ends the episode.
        is_accepting: Whether it does so with success.
    """

    state: str
    layer: int
    is_terminal: bool = False
    is_accepting: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow between two nodes, given by their numbers.

    Attributes:
        source: Where it begins.
        target: Where it ends.
        arrow: Its text.
        is_main: Whether it is on the shortest path to success, which is drawn main_path.
    """

    source: int
    target: int
    arrow: Arrow
    is_main: bool = False


@dataclass(slots=True)
class LayeredGraph:
    """The nodes and edges of a picture; the first node is the initial state."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


def assign_layers(machine: CountingRewardAutomaton) -> LayeredGraph:
    """Arrange a machine in layers.

    Example:
        >>> import cranium
        >>> for node in assign_layers(cranium.library.load("anbcn")).nodes:
        ...     print(node.layer, node.state)
        0 counting
        1 matching
        2 done
        2 failed
    """
    all_arrows = arrows(machine)
    layers = _layers(machine, all_arrows)
    main_path = _shortest_path(machine, all_arrows)
    result = LayeredGraph([Node(state, layer) for state, layer in layers.items()])
    numbers = {state: number for number, state in enumerate(layers)}
    for end, layer in _shared_terminals(machine, all_arrows, layers).items():
        numbers[end] = _add_terminal(result, machine, end, layer)
    for arrow in all_arrows:
        target = numbers.get(arrow.target)
        if target is None:
            target = _add_terminal(result, machine, arrow.target, layers[arrow.source] + 1)
        is_main = (arrow.source, arrow.target) in main_path
        result.edges.append(Edge(numbers[arrow.source], target, arrow, is_main))
    return result


def _add_terminal(
    result: LayeredGraph, machine: CountingRewardAutomaton, end: str, layer: int
) -> int:
    result.nodes.append(Node(end, layer, is_terminal=True, is_accepting=end in machine.accepting))
    return len(result.nodes) - 1


def _shared_terminals(
    machine: CountingRewardAutomaton, all_arrows: tuple[Arrow, ...], layers: dict[str, int]
) -> dict[str, int]:
    """The layers of the terminal states that are drawn once, in the order in which they are."""
    in_degree = Counter(arrow.target for arrow in all_arrows)
    last = max(layers.values())
    found = {}
    # Success first: what is numbered first is drawn further up.
    for end in sorted(machine.terminal, key=lambda state: state not in machine.accepting):
        if in_degree[end] <= MAX_SHARED:
            sources = (layers[arrow.source] for arrow in all_arrows if arrow.target == end)
            found[end] = 1 + max(sources, default=last)
    final = max(found.values(), default=0)
    # Ends that are nearly level are put level.
    return {end: final if layer == final - 1 else layer for end, layer in found.items()}


def _layers(machine: CountingRewardAutomaton, all_arrows: Iterable[Arrow]) -> dict[str, int]:
    """How many steps away each state is; states that no run reaches begin their own count."""
    after: dict[str, list[str]] = {state: [] for state in machine.states}
    for arrow in all_arrows:
        if arrow.target in after:
            after[arrow.source].append(arrow.target)
    layers: dict[str, int] = {}
    for root in (machine.initial, *machine.states):
        queue = deque([root] if root not in layers else [])
        layers.setdefault(root, 0)
        while queue:
            state = queue.popleft()
            for target in after[state]:
                if target not in layers:
                    layers[target] = layers[state] + 1
                    queue.append(target)
    return layers


def _shortest_path(
    machine: CountingRewardAutomaton, all_arrows: tuple[Arrow, ...]
) -> set[tuple[str, str]]:
    """The arrows of one shortest path from the initial state to an accepting one."""
    came_from = {machine.initial: machine.initial}
    queue = deque([machine.initial])
    while queue:
        state = queue.popleft()
        if state in machine.accepting:
            path = set()
            while state != came_from[state]:
                path.add((came_from[state], state))
                state = came_from[state]
            return path
        for arrow in all_arrows:
            if arrow.source == state and arrow.target not in came_from:
                came_from[arrow.target] = state
                queue.append(arrow.target)
    return set()
