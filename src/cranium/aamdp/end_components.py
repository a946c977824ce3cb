"""End components of a finite product: sets of states in which an episode can stay for ever.

Rows are pairs of a state and an action: row ``s * A + a`` is action a in state s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

__all__ = ["Graph"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Graph:
    """The transition graph: P states, A actions, K outcomes with a positive probability.

    Attributes:
        row: The row that each outcome belongs to. [K]
        after: The state that it leads to, -1 at the end of an episode. [K]
        shape: P and A.

    Example:
        Action 0 stays, action 1 ends the episode:

        >>> graph = Graph(np.array([0, 1]), np.array([0, -1]), (1, 2))
        >>> graph.end_components(np.array([True, True]))
        (array([0]), array([ True, False]))
    """

    row: Ints = field(repr=False)
    after: Ints = field(repr=False)
    shape: tuple[int, int]

    @property
    def rows(self) -> int:
        """P·A."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def before(self) -> Ints:
        """The state that each outcome comes from: [K]."""
        return self.row // self.shape[1]

    def _some(self, marked: Any) -> Bools:
        """The rows with at least one marked outcome: [P·A]."""
        found = np.zeros(self.rows, np.bool_)
        found[self.row[marked]] = True
        return found

    def states_of(self, rows: Bools) -> Bools:
        """The states with at least one of these rows: [P]."""
        return np.asarray(rows.reshape(self.shape).any(axis=1))

    def staying(self, inside: Bools, *, may_end: bool = False) -> Bools:
        """The rows whose outcomes all lead to states inside, or end if ``may_end``: [P·A]."""
        good = np.append(inside, may_end)[self.after]  # -1 is the last: the end
        rows = ~self._some(~good)
        return rows if may_end else rows & self._some(good)

    def end_components(self, allowed: Bools) -> tuple[Ints, Bools]:
        """The maximal end components of the rows that are allowed.

        Within an end component every state can be reached from every other with probability 1,
        without leaving the component.

        Returns:
            The number of each state's component, -1 for none [P], and the rows inside [P·A].
        """
        rows = allowed & ~self._some(self.after < 0) & self._some(slice(None))
        count = self.shape[0]
        while True:
            edges = rows[self.row]
            before, after = self.before[edges], self.after[edges]
            graph = csr_array((np.ones(len(before), np.int8), (before, after)), (count, count))
            labels = connected_components(graph, connection="strong")[1]
            leaving = self._some(edges & (labels[self.before] != labels[self.after]))
            if not leaving.any():
                break
            rows &= ~leaving
        inside = self.states_of(rows)
        component = np.full(count, -1, np.int64)
        component[inside] = np.unique(labels[inside], return_inverse=True)[1]
        return component, rows

    def reach(self, allowed: Bools, goal: Bools) -> tuple[Bools, Bools, Ints]:
        """The states from which the goal or the end is reached with probability 1.

        Only rows that are allowed are used.

        Returns:
            These states [P], the rows that never leave them [P·A], and for each state a row that
            leads nearer to the goal with a positive probability [P]; -1 in the goal, and if there
            is none.
        """
        inside = np.ones(self.shape[0], np.bool_)
        while True:
            rows = allowed & self.staying(inside, may_end=True)
            found, toward = self._lead(rows, goal & inside)
            found &= inside
            if (found == inside).all():
                return inside, rows & np.repeat(inside, self.shape[1]), toward
            inside = found

    def _lead(self, rows: Bools, goal: Bools) -> tuple[Bools, Ints]:
        """The states with a path to the goal or the end, and the first row of it; breadth first."""
        count, actions = self.shape
        edges = np.flatnonzero(rows[self.row])
        before, after = self.before[edges], self.after[edges]
        # A row without outcomes ends the episode, too; that, and the goal, is the last node.
        dead = np.flatnonzero(rows & ~self._some(slice(None)))
        aim = np.flatnonzero(goal)
        source = np.concatenate([np.where(after < 0, count, after), np.full(len(dead), count)])
        target = np.concatenate([before, dead // actions])
        by = np.concatenate([self.row[edges], dead])
        starts = np.concatenate([source, np.full(len(aim), count)])
        ends = np.concatenate([target, aim])
        size = (count + 1, count + 1)
        graph = csr_array((np.ones(len(starts), np.int8), (starts, ends)), size)
        order, previous = breadth_first_order(graph, count)
        found = np.zeros(count + 1, np.bool_)
        found[order] = True
        toward = np.full(count, -1, np.int64)
        nearer = np.flatnonzero(previous[target] == source)[::-1]  # the first row comes last, wins
        toward[target[nearer]] = by[nearer]
        toward[goal] = -1
        return found[:count], toward
