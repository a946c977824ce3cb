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

__all__ = ["LayeredGraph", "Link", "Spot", "assign_layers"]

MAX_SHARED = 4
"""How many arrows may lead to one circle of a terminal state."""


@dataclass(frozen=True, slots=True)
class Spot:
    """One place where a state is drawn.

    Attributes:
        state: Its name.
        layer: Its layer, from zero.
        terminal: Whether it ends the episode.
        accepting: Whether it does so with success.
    """

    state: str
    layer: int
    terminal: bool = False
    accepting: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow between two spots, given by their numbers.

    Attributes:
        source: Where it begins.
        target: Where it ends.
        arrow: Its text.
        main: Whether it is on the shortest way to success, which is drawn straight.
    """

    source: int
    target: int
    arrow: Arrow
    main: bool = False


@dataclass(slots=True)
class LayeredGraph:
    """The spots and links of a picture; the first spot is the initial state."""

    spots: list[Spot] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


def assign_layers(machine: CountingRewardAutomaton) -> LayeredGraph:
    """Arrange a machine in layers.

    Example:
        >>> import cranium
        >>> for spot in assign_layers(cranium.library.load("anbcn")).spots:
        ...     print(spot.layer, spot.state)
        0 counting
        1 matching
        2 done
        2 failed
    """
    joined = arrows(machine)
    layers = _layers(machine, joined)
    straight = _shortest_way(machine, joined)
    result = LayeredGraph([Spot(state, layer) for state, layer in layers.items()])
    numbers = {state: number for number, state in enumerate(layers)}
    for end, layer in _shared_ends(machine, joined, layers).items():
        numbers[end] = _add_end(result, machine, end, layer)
    for arrow in joined:
        target = numbers.get(arrow.target)
        if target is None:
            target = _add_end(result, machine, arrow.target, layers[arrow.source] + 1)
        main = (arrow.source, arrow.target) in straight
        result.links.append(Link(numbers[arrow.source], target, arrow, main))
    return result


def _add_end(result: LayeredGraph, machine: CountingRewardAutomaton, end: str, layer: int) -> int:
    result.spots.append(Spot(end, layer, terminal=True, accepting=end in machine.accepting))
    return len(result.spots) - 1


def _shared_ends(
    machine: CountingRewardAutomaton, joined: tuple[Arrow, ...], layers: dict[str, int]
) -> dict[str, int]:
    """The layers of the terminal states that are drawn once, in the order in which they are."""
    crowded = Counter(arrow.target for arrow in joined)
    last = max(layers.values())
    found = {}
    # Success first: what is numbered first is drawn further up.
    for end in sorted(machine.terminal, key=lambda state: state not in machine.accepting):
        if crowded[end] <= MAX_SHARED:
            sources = (layers[arrow.source] for arrow in joined if arrow.target == end)
            found[end] = 1 + max(sources, default=last)
    final = max(found.values(), default=0)
    # Ends that are nearly level are put level.
    return {end: final if layer == final - 1 else layer for end, layer in found.items()}


def _layers(machine: CountingRewardAutomaton, joined: Iterable[Arrow]) -> dict[str, int]:
    """How many steps away each state is; states that no run reaches begin their own count."""
    after: dict[str, list[str]] = {state: [] for state in machine.states}
    for arrow in joined:
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


def _shortest_way(
    machine: CountingRewardAutomaton, joined: tuple[Arrow, ...]
) -> set[tuple[str, str]]:
    """The arrows of one shortest way from the initial state to an accepting one."""
    came_from = {machine.initial: machine.initial}
    queue = deque([machine.initial])
    while queue:
        state = queue.popleft()
        if state in machine.accepting:
            way = set()
            while state != came_from[state]:
                way.add((came_from[state], state))
                state = came_from[state]
            return way
        for arrow in joined:
            if arrow.source == state and arrow.target not in came_from:
                came_from[arrow.target] = state
                queue.append(arrow.target)
    return set()
