"""Compiled functions that list the configurations for which a transition is relabelled."""

from __future__ import annotations

from cranium._runtime.jit import compiled, inlined
from cranium.learners.tabular.kernels import (
    CHOSEN,
    CURRENT,
    DRAWN,
    GOES_ON,
    MEMBERS,
    SEEN,
    Floats,
    Ints,
    LearnerArrays,
    Longs,
)

__all__ = ["follow_set", "note", "set_arguments"]


@compiled
def admit(x: int, counters: Ints, known: Ints, ending: Ints, members: Ints, count: int) -> int:
    """Add all configurations with the counter values of this one; how many there are then."""
    known[counters[x]] = 1
    for y in range(counters.shape[0]):
        if counters[y] == counters[x] and ending[y] == GOES_ON:
            members[count] = y
            count += 1
    return count


@compiled
def gather(
    x: int,
    candidates: Ints,
    ending: Ints,
    counters: Ints,
    known: Ints,
    members: Ints,
    settings: Floats,
    position: Longs,
) -> int:
    """List the configurations of a CHOSEN set, the real one among them; how many there are.

    Of too many, a sample is drawn without replacement, with numbers of the minimal standard
    generator, which are the same on both paths.
    """
    known[counters[x]] = 1
    row, count = min(x, candidates.shape[0] - 1), 0
    for y in range(candidates.shape[1]):
        allowed = settings[4] == 0 or known[counters[y]] != 0
        if y != x and candidates[row, y] and allowed and ending[y] == GOES_ON:
            members[count] = y
            count += 1
    sample = int(settings[3])
    if 0 <= sample < count:
        for i in range(sample):
            position[DRAWN] = position[DRAWN] * 48271 % 2147483647
            j = i + position[DRAWN] % (count - i)
            members[i], members[j] = members[j], members[i]
        count = sample
    members[count] = x
    return count + 1


@inlined
def follow_set(
    kind: int,
    x: int,
    count: int,
    members: Ints,
    candidates: Ints,
    ending: Ints,
    counters: Ints,
    known: Ints,
    settings: Floats,
    position: Longs,
) -> int:
    """List the configurations of the set in ``members``, for this real one; how many there are."""
    if kind == CURRENT:
        members[0] = x
        return 1
    if kind == SEEN and not known[counters[x]]:
        return admit(x, counters, known, ending, members, count)
    if kind == CHOSEN:
        return gather(x, candidates, ending, counters, known, members, settings, position)
    return count


@inlined
def set_arguments(
    arrays: LearnerArrays,
) -> tuple[Ints, Ints, Ints, Ints, Ints, Floats, Longs]:
    """The last arguments of :func:`follow_set`."""
    return (
        arrays.members,
        arrays.candidates,
        arrays.ending,
        arrays.counters,
        arrays.known,
        arrays.settings,
        arrays.position,
    )


@inlined
def note(arrays: LearnerArrays, x: int) -> None:
    """Let the set of counterfactual configurations follow the real one."""
    kind, position = int(arrays.settings[0]), arrays.position
    position[MEMBERS] = follow_set(kind, x, position[MEMBERS], *set_arguments(arrays))
