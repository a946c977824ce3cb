"""What the planner has learned, for checkpoints: its model, its guesses, and the plan it follows.

The plan is saved, because one that is made anew at another moment may break ties in another way.
The arrays of the model keep their sizes, because it plans anew when they grow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cranium.learners.planner import generalisation_kernels
from cranium.learners.planner import model_kernels as knowing
from cranium.learners.saved_state import ANY, SavedState, generator_data, restore_generator

if TYPE_CHECKING:
    from cranium.learners.planner.agent import PlannerAgent

__all__ = ["restore_planner", "save_planner"]

MANY = 2**31 - 1
LARGEST = 2**53
CHANGED = {  # of the model: the shape, and the least and the greatest value
    "slot": ("pairs", "least", "slots"),
    "split": ("splits", "none", "slots"),
    "tried": ("single", "zero", "many"),
    "outcomes": ("single", "zero", "outcomes"),
    "before": ("single", "zero", "observations"),
    "action": ("single", "zero", "actions"),
    "after": ("several", "zero", "observations"),
    "row": ("several", "zero", "labels"),
    "ended": ("several", "zero", "one"),
    "times": ("several", "zero", "many"),
    "origin": ("several", "zero", "configurations"),
    "roots": ("observations", "zero", "two"),
}


def save_planner(agent: PlannerAgent, saved: SavedState) -> None:
    """Add the model, the guesses and the plan."""
    model, plan, arrays = agent.model, agent.plan, saved.arrays
    for name in (*CHANGED, "extra", "numbers"):
        arrays[f"model_{name}"] = getattr(model, name).copy()
    for name in ("moving", "at_place", "coming", "usual", "votes"):
        arrays[f"guess_{name}"] = getattr(agent.guess, name).copy()
    arrays["codes"] = agent.codes[: agent.observed].copy()
    _, nodes, edges = (int(count) for count in plan.counts)
    actions = plan.gain.shape[1]
    for name in ("nodes", "value", "gain", "floor"):
        arrays[f"plan_{name}"] = getattr(plan, name)[:nodes].copy()
    arrays["plan_first"] = plan.first[: nodes * actions + 1].copy()
    for name in ("target", "share"):
        arrays[f"plan_{name}"] = getattr(plan, name)[:edges].copy()
    guessed = np.flatnonzero((plan.guess_stamp == plan.counts[0]) & (plan.counts[0] > 0))
    arrays["plan_guessed"] = guessed.astype(np.int64)
    for name in ("after", "slot"):
        table = getattr(plan, f"guess_{name}").reshape(-1, actions)
        arrays[f"plan_guess_{name}"] = table[guessed].copy()
    saved.data["rng"] = generator_data(agent.rng)


def restore_planner(agent: PlannerAgent, saved: SavedState) -> None:
    """Go on with the model, the guesses and the plan of another run."""
    _restore_model(agent, saved)
    _restore_guess(agent, saved)
    _restore_codes(agent, saved)
    _restore_plan(agent, saved)
    restore_generator(agent.rng, saved.data["rng"])


def _restore_model(agent: PlannerAgent, saved: SavedState) -> None:
    fresh, space = agent.model, agent.tables.space
    _, width, actions = agent.tables.arrays.q.shape
    total = len(fresh.roots)
    after = saved.array("model_after", np.int32, (ANY, ANY))
    slots, outcomes = after.shape
    splits = len(saved.array("model_split", np.int32, (ANY, width)))
    if slots < 4 * outcomes or not outcomes or not splits:
        raise ValueError(f"a model of {slots} slots, {outcomes} outcomes and {splits} splits")
    numbers = _numbers(agent, saved, total, slots, splits)
    used, divided = int(numbers[knowing.SLOTS]), int(numbers[knowing.SPLITS])
    shapes = {
        "pairs": (total * actions,),
        "splits": (splits, width),
        "single": (slots,),
        "several": (slots, outcomes),
        "observations": (total,),
    }
    bounds = {
        "least": -1 - divided,
        "none": knowing.NOTHING,
        "zero": 0,
        "one": 1,
        "two": knowing.BEGINS,
        "many": MANY,
        "slots": used - 1,
        "outcomes": outcomes,
        "observations": total - 1,
        "actions": actions - 1,
        "labels": len(space.labels) - 1,
        "configurations": len(space) - 1,
    }
    found = {
        name: saved.array(
            f"model_{name}", np.int32, shapes[shape], least=bounds[least], most=bounds[most]
        ).copy()
        for name, (shape, least, most) in CHANGED.items()
    }
    extra = saved.array("model_extra", np.float64, (slots, outcomes, fresh.extra.shape[2]))
    if np.isinf(extra).any():
        raise ValueError("rewards without end")
    agent.model = knowing.Model(
        **found, extra=extra.copy(), hope=fresh.hope, numbers=numbers, settings=fresh.settings
    )


def _numbers(
    agent: PlannerAgent, saved: SavedState, total: int, slots: int, splits: int
) -> NDArray[np.int64]:
    """The numbers of the model, each in its range."""
    fresh = agent.model.numbers
    most = np.zeros(knowing.NUMBERS, np.int64)
    most[knowing.NEEDED] = agent.config.trials
    most[knowing.SLOTS], most[knowing.SPLITS], most[knowing.FIRST] = slots, splits, slots
    most[[knowing.STALE, knowing.CROWDED, knowing.DOUBTING]] = 1
    most[[knowing.RANDOM, knowing.TWICE]] = MANY
    most[knowing.MET], most[knowing.WHERE] = total, len(agent.tables.space) - 1
    for name in (knowing.UNSURE, knowing.GUESSING, knowing.EMPTY):  # not learned
        most[name] = fresh[name]
    least = np.where(most == fresh, np.minimum(most, 0), 0)
    found = saved.array("model_numbers", np.int64, (knowing.NUMBERS,)).copy()
    given = (knowing.UNSURE, knowing.GUESSING, knowing.EMPTY)
    same = all(found[name] == fresh[name] for name in given)
    wrong = (found < least) | (found > most)
    if not same or wrong.any() or found[knowing.NEEDED] < 1 or found[knowing.FIRST] > found[1]:
        raise ValueError(f"numbers of the model: {found.tolist()}")
    return found


def _restore_guess(agent: PlannerAgent, saved: SavedState) -> None:
    used = int(agent.model.numbers[knowing.SLOTS])
    for name in ("at_place", "coming", "usual"):
        own = getattr(agent.guess, name)
        least = generalisation_kernels.CONTRADICTED
        told = {"least": least, "most": used - 1}
        own[...] = saved.array(f"guess_{name}", np.int32, own.shape, **told)
    moving = saved.array("guess_moving", np.int32, agent.guess.moving.shape, least=0, most=1)
    agent.guess.moving[...] = moving
    shape = agent.guess.votes.shape
    agent.guess.votes[...] = saved.array("guess_votes", np.int64, shape, least=0, most=LARGEST)


def _restore_codes(agent: PlannerAgent, saved: SavedState) -> None:
    """The model's numbers of observations: of their vectors, or in the order of meeting."""
    codes = saved.array("codes", np.int32, (agent.observed,))
    if agent.guessing:  # they follow from the observations, which were added before
        return
    met = int(agent.model.numbers[knowing.MET])
    known = np.sort(codes[codes >= 0])
    if not np.array_equal(known, np.arange(met)) or (codes < knowing.NOTHING).any():
        raise ValueError("observations that were met in no order")
    agent.codes[: agent.observed] = codes


def _restore_plan(agent: PlannerAgent, saved: SavedState) -> None:
    total, width = len(agent.model.roots), agent.tables.arrays.q.shape[1]
    actions, used = agent.tables.num_actions, int(agent.model.numbers[knowing.SLOTS])
    nodes = saved.array("plan_nodes", np.int64, (ANY,), least=0, most=total * width - 1)
    count = len(nodes)
    target = saved.array("plan_target", np.int32, (ANY,), least=0, most=count - 1)
    first = saved.array("plan_first", np.int64, (count * actions + 1,))
    rising = first[0] == 0 and first[-1] == len(target) and (np.diff(first) >= 0).all()
    if len(np.unique(nodes)) != count or not rising:
        raise ValueError("a plan with nodes that are there twice, or without edges")
    guessed = saved.array("plan_guessed", np.int64, (ANY,), least=0, most=total - 1)
    shape = (len(guessed), actions)
    after = saved.array("plan_guess_after", np.int32, shape, least=-1, most=total - 1)
    slot = saved.array("plan_guess_slot", np.int32, shape, most=used - 1)
    if ((after >= 0) & (slot < 0)).any():
        raise ValueError("guesses that follow from nothing")
    floor = saved.array("plan_floor", np.float64, (count, actions), most=float(LARGEST))
    while agent.edges < len(target):
        agent.edges *= 8
    plan = agent.new_plan()
    plan.counts[:] = 1, count, len(target)
    plan.stamp.reshape(-1)[nodes], plan.number.reshape(-1)[nodes] = 1, np.arange(count)
    plan.nodes[:count], plan.target[: len(target)] = nodes, target
    plan.first[: len(first)] = first
    plan.value[:count] = saved.finite("plan_value", (count,))
    plan.gain[:count] = saved.finite("plan_gain", (count, actions))
    plan.floor[:count] = floor
    plan.share[: len(target)] = saved.finite("plan_share", target.shape)
    plan.guess_stamp[guessed] = 1
    plan.guess_after.reshape(-1, actions)[guessed] = after
    plan.guess_slot.reshape(-1, actions)[guessed] = slot
    agent.plan, agent.judging = plan, agent.new_plan()
