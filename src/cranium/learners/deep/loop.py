"""The compiled training loop: act, store, relabel, update, for every method and every world.

A method follows :class:`~cranium.learners.deep.method.Method`, a world
:class:`~cranium.learners.deep.world.JaxWorld`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from cranium.learners.deep.counterfactual import (
    Transitions,
    counterfactual_batch,
    sample_transitions,
)
from cranium.learners.deep.machine import JaxMachine, jax_pay
from cranium.learners.deep.method import LearnerRates, LearnerState, Method
from cranium.learners.deep.protocols import PyTree
from cranium.learners.deep.world import JaxWorld
from cranium.learners.tabular.kernels import ACCEPTED, GOES_ON, OVERFLOWED

__all__ = ["TrainState", "interact", "interact_together", "new_train_state"]

Array = jax.Array
BLOCK = 64
"""For how many samples random numbers are drawn at once, which is faster than for each."""


class TrainState(NamedTuple):
    """Everything that the training loop changes."""

    key: Array
    samples: Array
    world_state: PyTree
    configuration: Array
    elapsed_steps: Array  # of the running episode
    is_refused: Array  # whether the machine refused the last label
    statistics: Array  # [4]; episodes, successes, overflows, the return of the running episode
    log: Array  # [M + 1, 3]; as in kernels.advance; the last row is written when no episode ends
    seen_counters: Array  # [X]; the counter values that occurred when an action was chosen
    learner: LearnerState
    replay: Transitions[Array]


# In one piece: one by one, its small operations would take seconds to compile.
@partial(jax.jit, static_argnames=("method", "capacity", "log"))
def new_train_state(
    key: Array,
    world: JaxWorld[Any],
    machine: JaxMachine,
    params: PyTree,
    world_state: PyTree,
    *,
    method: Method[Any, Any, Any],
    capacity: int,
    log: int,
) -> TrainState:
    """Return the state before the first sample, in a given state of the world or a random one."""
    if world_state is None:
        drawn = jax.random.uniform(jax.random.fold_in(key, 2), (world.reset_randoms,), jnp.float32)
        world_state = world.reset(drawn)
    observation = world.observe(world_state)
    empty = Transitions(
        observation,
        method.zero_action(),
        observation,
        jnp.int32(0),
        jnp.asarray(False),
        jnp.zeros(world.num_extras, jnp.float32),
        jnp.int32(0),
    )
    replay = Transitions(*(jnp.zeros((capacity, *one.shape), one.dtype) for one in empty))
    seen = jnp.zeros(machine.ending.shape, bool).at[machine.counters[machine.initial]].set(True)
    return TrainState(
        jax.random.fold_in(key, 0),
        jnp.int32(0),
        world_state,
        machine.initial,
        jnp.int32(0),
        jnp.asarray(False),
        jnp.zeros(4, jnp.float32),
        jnp.zeros((log + 1, 3), jnp.float32),
        seen,
        method.init(params, machine, world.all_features()),
        replay,
    )


@partial(jax.jit, static_argnames=("method",))
def interact(
    state: TrainState,
    world: JaxWorld[Any],
    machine: JaxMachine,
    rates: LearnerRates,
    horizon: Array,
    steps: Array,
    *,
    method: Method[Any, Any, Any],
) -> TrainState:
    """Take a number of samples, with an update after each; stop if the machine refuses a label."""
    goal = state.samples + steps
    draw_block, sample = _sampling(world, machine, rates, horizon, method)

    def is_going(state: TrainState) -> Array:
        return (state.samples < goal) & ~state.is_refused

    def take_block(state: TrainState) -> TrainState:
        first, numbers = state.samples, draw_block(state.key, state.samples)
        found: TrainState = jax.lax.while_loop(
            lambda state: is_going(state) & (state.samples < first + BLOCK),
            lambda state: sample(state, numbers[state.samples - first]),
            state,
        )
        return found

    found: TrainState = jax.lax.while_loop(is_going, take_block, state)
    return found


@partial(jax.jit, static_argnames=("method",))
def interact_together(
    states: TrainState,
    world: JaxWorld[Any],
    machine: JaxMachine,
    rates: LearnerRates,
    horizon: Array,
    steps: Array,
    *,
    method: Method[Any, Any, Any],
) -> TrainState:
    """Do the same for several train states at once, one row each.

    The number of samples is the same for all: if each had its own, all replay buffers would be
    copied in every step. A train state whose machine refuses a label stands still.
    """
    goal = states.samples + steps
    draw_block, sample = _sampling(world, machine, rates, horizon, method)
    rows: Any = [None if name == "samples" else 0 for name in TrainState._fields]
    step = jax.vmap(sample, in_axes=(TrainState(*rows), 0), out_axes=TrainState(*rows))

    def take_block(states: TrainState) -> TrainState:
        first = states.samples
        numbers = jax.vmap(draw_block, in_axes=(0, None), out_axes=1)(states.key, first)
        found: TrainState = jax.lax.while_loop(
            lambda states: states.samples < jnp.minimum(goal, first + BLOCK),
            lambda states: step(states, numbers[states.samples - first]),
            states,
        )
        return found

    found: TrainState = jax.lax.while_loop(lambda states: states.samples < goal, take_block, states)
    return found


def _sampling(
    world: JaxWorld[Any],
    machine: JaxMachine,
    rates: LearnerRates,
    horizon: Array,
    method: Method[Any, Any, Any],
) -> tuple[Callable[[Array, Array], Array], Callable[[TrainState, Array], TrainState]]:
    """Return what draws the random numbers of a block, and what takes a sample with an update."""
    parts = (
        method.act_randoms,
        world.step_randoms,
        world.reset_randoms,
        method.batch,
        method.batch * method.sampling.randoms,
        method.update_randoms,
    )
    cuts = [sum(parts[: i + 1]) for i in range(len(parts) - 1)]

    def draw_block(key: Array, first: Array) -> Array:
        # Every sample has random numbers of its own, however often the loop is interrupted.
        keys = jax.vmap(partial(jax.random.fold_in, key))(first + jnp.arange(BLOCK))
        numbers: Array = jax.vmap(lambda key: jax.random.uniform(key, (sum(parts),), jnp.float32))(
            keys
        )
        return numbers

    def sample(state: TrainState, u: Array) -> TrainState:
        for_act, for_step, for_reset, *for_update = jnp.split(u, cuts)

        def step(state: TrainState) -> TrainState:
            features = world.features(world.observe(state.world_state))
            progress = (state.samples, state.statistics[0])
            action = method.act(
                state.learner, machine, features, state.configuration, rates, *progress, for_act
            )
            return _step(state, world, machine, action, horizon, for_step, for_reset)

        # A loop of one round, which XLA cannot know: it would merge the writing of a transition
        # with the drawing of a batch, and for that copy the whole replay buffer.
        begun = state.samples
        state = jax.lax.while_loop(lambda state: state.samples == begun, step, state)
        update = partial(_update, state, world, machine, rates, method, *for_update)
        if method.train_every == 1 and not method.has_long_warmup:
            return update()
        due = (state.samples % method.train_every == 0) & (state.samples >= rates.warmup)
        learner = jax.lax.cond(due, lambda: update().learner, lambda: state.learner)
        return state._replace(learner=learner)

    return draw_block, sample


def _step(
    state: TrainState,
    world: JaxWorld[Any],
    machine: JaxMachine,
    action: Array,
    horizon: Array,
    for_step: Array,
    for_reset: Array,
) -> TrainState:
    """Take an action, store the transition, and reset the world if the episode ends."""
    world_state, label, terminated, extra = world.step(state.world_state, action, for_step)
    slot = state.samples % state.replay.label.shape[0]
    x = state.configuration
    observations = (world.observe(state.world_state), action, world.observe(world_state))
    new = Transitions(*observations, label, terminated, extra, x)
    replay = Transitions(*(a.at[slot].set(b) for a, b in zip(state.replay, new, strict=True)))
    after = jnp.where(state.is_refused, -1, machine.next_configuration[label, x])
    then = jnp.where(after < 0, x, after)
    samples, elapsed = state.samples + 1, state.elapsed_steps + 1
    reward = jax_pay(machine.reward[label, x], machine.reward_function[label, x], extra)
    earned = state.statistics[3] + reward
    ending = machine.ending[then]
    over = (terminated | (ending != GOES_ON) | (elapsed >= horizon)) & (after >= 0)
    success = ending == ACCEPTED
    entry = jnp.stack([samples.astype(jnp.float32), earned, success.astype(jnp.float32)])
    last = state.log.shape[0] - 1
    row = jnp.where(over, state.statistics[0].astype(jnp.int32) % last, last)
    counts = jnp.stack([jnp.float32(1.0), success, ending == OVERFLOWED, jnp.float32(0.0)])
    statistics = state.statistics + counts * over
    pick: Any = partial(jnp.where, over)
    following = pick(machine.initial, then)
    return state._replace(
        samples=samples,
        world_state=jax.tree.map(pick, world.reset(for_reset), world_state),
        configuration=following,
        elapsed_steps=pick(0, elapsed),
        is_refused=after < 0,
        statistics=statistics.at[3].set(pick(0.0, earned)),
        log=state.log.at[row].set(entry),
        seen_counters=state.seen_counters.at[machine.counters[following]].set(True),
        replay=replay,
    )


def _update(
    state: TrainState,
    world: JaxWorld[Any],
    machine: JaxMachine,
    rates: LearnerRates,
    method: Method[Any, Any, Any],
    for_drawing: Array,
    for_configurations: Array,
    for_method: Array,
) -> TrainState:
    """Learn from a counterfactual batch of the replay buffer."""
    size = jnp.minimum(state.samples, state.replay.label.shape[0])
    key = jax.random.fold_in(jax.random.fold_in(state.key, state.samples), 1)
    real = sample_transitions(state.replay, size, for_drawing, key)
    chosen = (state.seen_counters, machine, method.sampling, for_configurations)
    batch = counterfactual_batch(real, world.features, *chosen)
    learner = method.update(
        state.learner, machine, batch, rates, state.samples, for_method, world.all_features()
    )
    return state._replace(learner=learner)
