"""Act, remember, imagine, learn: one loop for every method and every world, without Python inside.

A method is :class:`~cranium.learners.deep.dqn.DQN` or :class:`~cranium.learners.deep.td3.TD3`; a
world has the methods of :class:`~cranium.learners.deep.arrays.FiniteJaxWorld`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from cranium.learners.deep.arrays import JaxMachine
from cranium.learners.deep.counterfactual import Replay, draw, imagine
from cranium.learners.tabular.kernels import ACCEPTED, GOES_ON, OVERFLOWED

__all__ = ["Life", "interact", "interact_together", "new_life"]

Array = jax.Array
BLOCK = 64
"""For how many samples random numbers are drawn at once, which is quicker than for each."""


class Life(NamedTuple):
    """Everything that changes."""

    key: Array
    samples: Array
    state: Any  # of the world
    x: Array
    age: Array
    refused: Array  # whether the machine refused to go on from here
    ends: Array  # [4]; episodes, successes, overflows, what the running episode paid
    log: Array  # [M + 1, 3]; as in kernels.advance; the last row is written on when nothing ends
    known: Array  # [X]; which counter values were seen when the learner chose an action
    learned: Any
    replay: Replay


# In one piece: one by one, its small operations would take seconds to compile.
@partial(jax.jit, static_argnames=("method", "capacity", "log"))
def new_life(
    key: Array,
    world: Any,
    machine: JaxMachine,
    weights: Any,
    state: Any,
    *,
    method: Any,
    capacity: int,
    log: int,
) -> Life:
    """Before the first sample, in a state of the world; by default one that is drawn."""
    if state is None:
        drawn = jax.random.uniform(jax.random.fold_in(key, 2), (world.beginnings,), jnp.float32)
        state = world.reset(drawn)
    seen = world.observe(state)
    action = method.no_action()
    kept = (seen, action, seen, jnp.int32(0), jnp.asarray(False), world.no_extra(), jnp.int32(0))
    replay = Replay(*(jnp.zeros((capacity, *one.shape), one.dtype) for one in kept))
    known = jnp.zeros(machine.ending.shape, bool).at[machine.counters[machine.start]].set(True)
    return Life(
        jax.random.fold_in(key, 0),
        jnp.int32(0),
        state,
        machine.start,
        jnp.int32(0),
        jnp.asarray(False),
        jnp.zeros(4, jnp.float32),
        jnp.zeros((log + 1, 3), jnp.float32),
        known,
        method.new(weights, machine, world.everything()),
        replay,
    )


@partial(jax.jit, static_argnames=("method",))
def interact(
    life: Life,
    world: Any,
    machine: JaxMachine,
    rates: Any,
    horizon: Array,
    steps: Array,
    *,
    method: Any,
) -> Life:
    """Take so many samples, unless the machine refuses to go on, and learn after each."""
    goal = life.samples + steps
    draw_block, sample = _sampling(world, machine, rates, horizon, method)

    def going(life: Life) -> Array:
        return (life.samples < goal) & ~life.refused

    def take_block(life: Life) -> Life:
        first, numbers = life.samples, draw_block(life.key, life.samples)
        found: Life = jax.lax.while_loop(
            lambda life: going(life) & (life.samples < first + BLOCK),
            lambda life: sample(life, numbers[life.samples - first]),
            life,
        )
        return found

    found: Life = jax.lax.while_loop(going, take_block, life)
    return found


@partial(jax.jit, static_argnames=("method",))
def interact_together(
    lives: Life,
    world: Any,
    machine: JaxMachine,
    rates: Any,
    horizon: Array,
    steps: Array,
    *,
    method: Any,
) -> Life:
    """The same for several lives at once, one row each.

    The number of samples is one for all: if each had its own, all that they remember would be
    copied in every step. A life whose machine refuses stands still.
    """
    goal = lives.samples + steps
    draw_block, sample = _sampling(world, machine, rates, horizon, method)
    rows: Any = [None if name == "samples" else 0 for name in Life._fields]
    step = jax.vmap(sample, in_axes=(Life(*rows), 0), out_axes=Life(*rows))

    def take_block(lives: Life) -> Life:
        first = lives.samples
        numbers = jax.vmap(draw_block, in_axes=(0, None), out_axes=1)(lives.key, first)
        found: Life = jax.lax.while_loop(
            lambda lives: lives.samples < jnp.minimum(goal, first + BLOCK),
            lambda lives: step(lives, numbers[lives.samples - first]),
            lives,
        )
        return found

    found: Life = jax.lax.while_loop(lambda lives: lives.samples < goal, take_block, lives)
    return found


def _sampling(
    world: Any, machine: JaxMachine, rates: Any, horizon: Array, method: Any
) -> tuple[Callable[[Array, Array], Array], Callable[[Life, Array], Life]]:
    """How the random numbers of a block are drawn; one sample, and what is learned after it."""
    parts = (
        method.acting,
        world.randoms,
        world.beginnings,
        method.batch,
        method.batch * method.imagining.randoms,
        method.learning,
    )
    cuts = [sum(parts[: i + 1]) for i in range(len(parts) - 1)]

    def draw_block(key: Array, first: Array) -> Array:
        # Every sample has random numbers of its own, however often somebody looks in between.
        keys = jax.vmap(partial(jax.random.fold_in, key))(first + jnp.arange(BLOCK))
        numbers: Array = jax.vmap(lambda key: jax.random.uniform(key, (sum(parts),), jnp.float32))(
            keys
        )
        return numbers

    def sample(life: Life, u: Array) -> Life:
        acting, stepping, beginning, *others = jnp.split(u, cuts)

        def live(life: Life) -> Life:
            ground = world.show(world.observe(life.state))
            told = (rates, life.samples, life.ends[0], acting)
            action = method.act(life.learned, machine, ground, life.x, *told)
            return _live(life, world, machine, action, horizon, stepping, beginning)

        # A loop of one round, which XLA cannot know: it would merge the writing of what happened
        # with the drawing of a batch, and for that copy everything that is remembered.
        begun = life.samples
        life = jax.lax.while_loop(lambda life: life.samples == begun, live, life)
        if method.train_every == 1 and not method.waits:
            return _learn(life, world, machine, rates, method, *others)
        due = (life.samples % method.train_every == 0) & (life.samples >= rates.warmup)
        learn = partial(_learn, life, world, machine, rates, method, *others)
        learned = jax.lax.cond(due, lambda: learn().learned, lambda: life.learned)
        return life._replace(learned=learned)

    return draw_block, sample


def _live(
    life: Life,
    world: Any,
    machine: JaxMachine,
    action: Array,
    horizon: Array,
    stepping: Array,
    beginning: Array,
) -> Life:
    """See what comes of an action."""
    state, row, ended, extra = world.step(life.state, action, stepping)
    slot = life.samples % life.replay.row.shape[0]
    seen = (world.observe(life.state), action, world.observe(state))
    new = (*seen, row, ended, extra, life.x)
    replay = Replay(*(a.at[slot].set(b) for a, b in zip(life.replay, new, strict=True)))
    after = jnp.where(life.refused, -1, machine.next_configuration[row, life.x])
    then = jnp.where(after < 0, life.x, after)
    samples, age = life.samples + 1, life.age + 1
    paid = life.ends[3] + machine.pay(row, life.x, extra)
    ending = machine.ending[then]
    over = (ended | (ending != GOES_ON) | (age >= horizon)) & (after >= 0)
    success = ending == ACCEPTED
    entry = jnp.stack([samples.astype(jnp.float32), paid, success.astype(jnp.float32)])
    rows = life.log.shape[0] - 1
    place = jnp.where(over, life.ends[0].astype(jnp.int32) % rows, rows)
    counted = jnp.stack([jnp.float32(1.0), success, ending == OVERFLOWED, jnp.float32(0.0)])
    ends = life.ends + counted * over
    pick: Any = partial(jnp.where, over)
    return life._replace(
        samples=samples,
        state=jax.tree.map(pick, world.reset(beginning), state),
        x=pick(machine.start, then),
        age=pick(0, age),
        refused=after < 0,
        ends=ends.at[3].set(pick(0.0, paid)),
        log=life.log.at[place].set(entry),
        known=life.known.at[machine.counters[pick(machine.start, then)]].set(True),
        replay=replay,
    )


def _learn(
    life: Life,
    world: Any,
    machine: JaxMachine,
    rates: Any,
    method: Any,
    drawing: Array,
    imagining: Array,
    learning: Array,
) -> Life:
    """One update, on what happened and what might have happened."""
    size = jnp.minimum(life.samples, life.replay.row.shape[0])
    own = jax.random.fold_in(jax.random.fold_in(life.key, life.samples), 1)
    some = draw(life.replay, size, drawing, own)
    batch = imagine(some, world.show, life.known, machine, method.imagining, imagining)
    told = (rates, life.samples, learning, world.everything())
    learned = method.improve(life.learned, machine, batch, *told)
    return life._replace(learned=learned)
