"""Networks in finite worlds: against a naive DQN, against value iteration, and by their seeds."""

from __future__ import annotations

import json
from dataclasses import replace

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.naive_networks import NaiveDQN, NaiveTD3
from support.random_tasks import RandomWorld, lively_machine, lively_world, paying_machine

import cranium
from cranium.aamdp.planning import find_product, tabulate_product
from cranium.automata.transition import Configuration
from cranium.errors import (
    FileFormatError,
    InvalidArgumentError,
    MissingExtraError,
    PolicyError,
    RunError,
)
from cranium.learners import ActorConfig, DeepConfig, Schedule, train
from cranium.learners.builder import RunBuilder
from cranium.learners.deep.counterfactual import (
    ConfigurationSampling,
    Transitions,
    counterfactual_batch,
    relabel_batch,
    sample_transitions,
)
from cranium.learners.deep.network import Network, all_heads, forward
from cranium.learners.deep.optimiser import adam, huber, init_adam, normal
from cranium.learners.deep.td3 import TD3, TD3Rates

LETTER = "cranium/Letter-anbcdn-v0"
SMALL = {"hidden": (16, 16), "batch": 8, "replay": 500, "evaluate_every": 1000}


def letter(**options):
    return gym.make(LETTER, **{"times": 1, **options})


def run_of(env, config, seed=0):
    """A run before its first sample."""
    model = tabulate_product(find_product(env))
    seeds = np.random.SeedSequence(seed).spawn(2)
    agent = np.random.default_rng(seeds[0])
    make = RunBuilder("cdqn", config, env, None, agent, None, False, "auto")
    from cranium.learners.evaluation import TabularEvaluator

    evaluator = TabularEvaluator(env, model, None, config.discount)
    return make.tabular(model, evaluator, int(seeds[1].generate_state(1)[0]))


# Parts


def test_the_first_layer_adds_the_ground_and_the_machine_features():
    rng = np.random.default_rng(0)
    ground, machine = rng.normal(size=(5, 3)), rng.normal(size=(4, 2))
    layers = ((rng.normal(size=(6, 7)), rng.normal(size=7)),)
    network = Network(rng.normal(size=(3, 6)), rng.normal(size=(2, 6)), rng.normal(size=6), layers)
    found = forward(network, ground[:, None], machine)
    for i in range(5):
        for j in range(4):
            both = np.concatenate([ground[i], machine[j]])
            first = both @ np.concatenate([network.ground, network.machine]) + network.bias
            wanted = np.maximum(first, 0) @ layers[0][0] + layers[0][1]
            np.testing.assert_allclose(found[i, j], wanted)
    heads = network._replace(machine=np.zeros((0, 6)), layers=((layers[0][0][:, :6], np.zeros(6)),))
    assert all_heads(heads, ground, 2).shape == (5, 3, 2)


@pytest.mark.slow
def test_the_adam_optimiser_is_adam_and_does_nothing_while_inactive():
    weights, gradient = {"a": jnp.array([1.0, -2.0])}, {"a": jnp.array([0.5, 3.0])}
    after, state = adam(weights, gradient, init_adam(weights), 0.1, active=False)
    assert np.array_equal(after["a"], weights["a"])
    assert state.updates == 0
    mean = square = np.zeros(2)
    wanted = np.array([1.0, -2.0])
    for count in range(1, 6):
        weights, state = adam(weights, gradient, state, 0.1)
        g = np.array([0.5, 3.0])
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g**2
        there = mean / (1 - 0.9**count) / (np.sqrt(square / (1 - 0.999**count)) + 1e-8)
        wanted = wanted - 0.1 * there
        np.testing.assert_allclose(weights["a"], wanted, rtol=1e-5)
    assert state.updates == 5


@pytest.mark.slow
def test_the_huber_loss_bounds_the_gradient_of_an_outlier():
    slopes = jax.vmap(jax.grad(huber))(jnp.array([-7.0, -0.5, 0.25, 9.0]))
    assert slopes.tolist() == [-1.0, -0.5, 0.25, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["current", "sampled", "all"])
@pytest.mark.parametrize("task", ["cranium/Letter-anbcdn-v0", "cranium/Office-mail-and-coffee-v0"])
def test_counterfactual_transitions_are_those_of_the_machine(task, kind):
    run = run_of(gym.make(task), DeepConfig(hidden=(16,), replay=100, num_counterfactuals=10_000))
    space, machine = run.agent.tables.space, run.machine
    rng = np.random.default_rng(1)
    size, rows = 40, len(space.labels)
    some = Transitions(
        rng.integers(5, size=size),
        rng.integers(4, size=size),
        rng.integers(5, size=size),
        rng.integers(rows, size=size),
        rng.random(size) < 0.3,
        np.zeros((size, 1), np.float32),
        rng.choice(np.asarray(machine.non_terminal), size),
    )
    known = np.zeros(len(machine.ending), bool)
    known[np.asarray(machine.counters)[[0, 1]]] = True
    for seen_only in (False, True):
        how = ConfigurationSampling(kind, 3, seen_only)
        u = rng.random(size * how.randoms)
        batch = counterfactual_batch(some, run.world.features, known, machine, how, u)
        found = relabel_batch(machine, batch, 0.9)
        x = np.broadcast_to(batch.source, found.target.shape)
        for i in range(size):
            if kind != "all":
                assert x[i, 0] == some.configuration[i], "the real one is always there"
            for j in range(x.shape[1]):
                configuration = space.decode(int(x[i, j]))
                assert not space.automaton.is_terminal(configuration)
                mine = (kind == "sampled" and j == 0) or kind == "current"
                if seen_only and not mine and found.weight[i, j]:
                    assert known[machine.counters[x[i, j]]]
                step = space.automaton.step(configuration, space.labels[int(some.label[i])])
                if not found.weight[i, j]:  # it cannot happen in this world, or is not to count
                    assert seen_only or step.configuration not in space.configurations
                    continue
                then = space.decode(int(found.target[i, j]))
                high = max(step.configuration.counters, default=0) > space.counter_limit
                assert then == (
                    cranium.tables.configurations.OVERFLOW if high else step.configuration
                )
                assert found.reward[i, j] == pytest.approx(step.reward)
                over = some.ground_terminated[i] or high or space.automaton.is_terminal(then)
                assert bool(found.continues[i, j]) == (not over)


# The loop


@pytest.mark.slow
@pytest.mark.parametrize("double", [False, True])
def test_the_fused_loop_is_the_naive_algorithm(double):
    config = DeepConfig(
        hidden=(12, 10),
        batch=4,
        replay=500,
        warmup=5,
        target_every=20,
        learning_rate=3e-3,
        exploration=Schedule(1.0, 0.3, over=40),
        double=double,
    )
    env = letter()
    product = find_product(env)
    run = run_of(env, config)
    agent, world = run.agent, run.evaluator.model.world
    first = run.state.learner.params
    layers = listed(first)
    space = agent.tables.space
    state = int(run.state.world_state)
    naive = NaiveDQN(product, world, config, agent.key, layers, state, set(space.configurations))
    alive = [space.decode(int(x)) for x in run.machine.non_terminal]
    for _ in range(8):
        run.learn(10)
        for _ in range(10):
            naive.step(alive, agent.encoding.encode_configuration)
        assert int(run.state.world_state) == naive.state
        assert space.decode(int(run.state.configuration)) == naive.x
        assert run.ends[:2].tolist() == [naive.episodes, naive.successes]
        alike(run.state.learner.params, naive.network)


@pytest.mark.slow
def test_the_updates_of_td3_are_the_naive_ones():
    with jax.enable_x64():  # Adam follows signs: a rounding error soon makes a difference
        run = run_of(letter(), DeepConfig(hidden=(4,), replay=10, num_counterfactuals=10_000))
        exact = jax.tree.map(as_double, run.machine)
        follow_naive_updates(exact, run.agent.tables.space, run.agent.encoding.encode_configuration)


def as_double(array):
    return array.astype(np.float64) if array.dtype == np.float32 else array


def follow_naive_updates(machine, space, show):
    more = {"polyak": 0.1, "noise_clip": 0.1, "restraint": 0.1}
    config = ActorConfig(hidden=(9, 7), batch=6, warmup=2, delay=2, **more)
    rng, size = np.random.default_rng(2), config.batch
    method = TD3(2, config.hidden, size, ConfigurationSampling("all", 1, False), 1, config.delay)
    rates = TD3Rates(**{name: getattr(config, name) for name in TD3Rates._fields})
    learned = method.init(jax.tree.map(as_double, method.init_params(rng, 3, machine)), machine)
    actor, *critics = map(listed, (learned.params.actor, *learned.params.critics))
    naive = NaiveTD3(space.automaton, config, actor, critics, show, set(space.configurations))
    alive = [space.decode(int(x)) for x in machine.non_terminal]
    for samples in range(1, 13):
        before, after = rng.random((2, size, 3))
        action = rng.uniform(-1, 1, (size, 2))
        row, ended = rng.integers(len(space.labels), size=size), rng.random(size) < 0.3
        kept = Transitions(before, action, after, row, ended, np.zeros((size, 1)), 0 * row)
        batch = counterfactual_batch(kept, lambda seen: seen, None, machine, method.sampling, None)
        u = rng.random(size * 2)
        learned = method.update(learned, machine, batch, rates, samples, u)
        labels = [space.labels[one] for one in row]
        some = list(zip(before, action, after, labels, ended, strict=True))
        naive.learn(some, alive, np.asarray(normal(u)).reshape(size, 2), samples)
        for mine, slow_actor, slow_critics in (
            (learned.params, naive.actor, naive.critics),
            (learned.target, naive.slow_actor, naive.slow_critics),
        ):
            alike(mine.actor, slow_actor, 5e-5)
            for one, other in zip(mine.critics, slow_critics, strict=True):
                alike(one, other, 5e-5)


def listed(network):
    """The weights and biases of each layer."""
    return [(np.concatenate([network.ground, network.machine]), network.bias), *network.layers]


def alike(network, naive, near=2e-4):
    """Assert that a network is the naive one."""
    for mine, theirs in zip(listed(network), naive, strict=True):
        np.testing.assert_allclose(mine[0], theirs[0], atol=near)
        np.testing.assert_allclose(mine[1], theirs[1], atol=near)


VARIANTS = [
    {},
    {"heads": True},
    {"double": False},
    {"configurations": "seen"},
    {"num_counterfactuals": 2},
    {"num_counterfactuals": 2, "configurations": "seen"},
    {"train_every": 4},
    {"shaping": True},
    {"counters": "log"},
    {"cells": "joint"},
    {"cells": "scaled"},
]


@pytest.mark.slow
@pytest.mark.parametrize("more", VARIANTS)
def test_the_same_seed_gives_the_same_network_however_often_it_is_evaluated(more):
    env = letter(times=(1, 2))
    one = train(env, "cdqn", steps=600, seed=3, **{**SMALL, "evaluate_every": 200}, **more)
    two = train(env, "cdqn", steps=600, seed=3, **{**SMALL, "evaluate_every": 77}, **more)
    other = train(env, "cdqn", steps=600, seed=4, **SMALL, **more)
    same = jax.tree.map(np.array_equal, one.policy.network, two.policy.network)
    assert all(jax.tree.leaves(same))
    assert not np.array_equal(one.policy.network.bias, other.policy.network.bias)
    assert one.path == "jax"
    assert (one.samples, one.episodes, one.successes) == (two.samples, two.episodes, two.successes)


@pytest.mark.slow
def test_on_a_machine_without_counters_counterfactual_dqn_is_crm_exactly():
    env = gym.make("cranium/Office-mail-delivery-v0")
    one, two = (train(env, learner, steps=400, seed=1, **SMALL) for learner in ("cdqn", "dcrm"))
    same = jax.tree.map(np.array_equal, one.policy.network, two.policy.network)
    assert all(jax.tree.leaves(same))


@pytest.mark.slow
def test_episodes_are_logged_as_they_end():
    result = train(letter(), "cdqn", steps=2500, seed=0, log=True, **SMALL)
    assert len(result.log) == result.episodes > 10
    assert (np.diff(result.log[:, 0]) > 0).all()
    assert result.log[:, 2].sum() == result.successes
    assert set(result.log[:, 1]) <= {0.0, 1.0}


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"heads": True}, {"shaping": True}])
def test_q_values_of_networks_come_near_those_of_value_iteration(more):
    machine = lively_machine(np.random.default_rng(5), 0)
    machine = replace_otherwise(machine)
    env = cranium.product(lively_world(np.random.default_rng(5), random=False), machine, horizon=30)
    config = {"learning_rate": 1e-3, "hidden": (64, 64), "batch": 32, "exploration": 1.0}
    result = train(env, "cdqn", steps=6000, discount=0.7, target_every=100, **config, **more)
    solution = cranium.solve(env, discount=0.7)
    model = tabulate_product(env)
    q = result.policy.values(model.world.observations, model.space.configurations)
    mine = q[model.world.observation[model.state], model.configuration]
    if more.get("shaping"):  # Q − Φ is learned
        hopes = cranium.learners.machine_values(
            machine, model.space.configurations, discount=0.9, counter_limit=0
        )
        mine = mine + hopes[model.configuration][:, None]
    assert np.abs(mine - solution.q).mean() < 0.1
    assert result.evaluation.gap.max() < 0.05


def replace_otherwise(machine):
    """The same machine, which stays where it would refuse."""
    return cranium.RewardMachine(
        propositions=machine.propositions,
        initial=machine.initial,
        terminal=machine.terminal,
        accepting=machine.accepting,
        transitions=machine.transitions,
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cranium.errors.UnsoundLabelsWarning")
def test_a_network_generalises_to_counter_values_it_was_not_trained_with():
    told = {"observation": "paper"}  # which does not give N away
    more = {"exploration": 0.3, "num_counterfactuals": 6, "until": "solved", "evaluate_every": 1000}
    result = train(letter(times=(1, 2), **told), "cdqn", steps=40_000, seed=2, **more)
    assert result.samples_to_solve is not None
    beyond = cranium.evaluate(letter(times=(3, 6), **told), result.policy)
    assert beyond.instances == tuple(f"A {n} times" for n in (3, 4, 5, 6))
    assert beyond.success.min() == 1.0


@pytest.mark.slow
def test_reward_functions_are_evaluated_in_the_fused_loop():
    table = [
        [(1, min(s + a, 3), frozenset({"goal"} if s + a >= 3 else ()), False)]
        for s in range(4)
        for a in (0, 1)
    ]
    env = cranium.product(RandomWorld(4, table, ("goal",)), paying_machine(), horizon=20)
    result = train(
        env, "cdqn", steps=4000, discount=0.8, exploration=1.0, learning_rate=1e-3, target_every=50,
        hidden=(32, 32),
    )  # fmt: skip
    assert result.evaluation.gap.max() < 0.02


def test_a_missing_transition_stops_the_training_with_the_error_of_the_machine():
    machine = cranium.loads(
        """
        propositions: [A]
        initial: u
        terminal: [done]
        otherwise: error
        transitions:
          - {from: u, when: "!A"}
        """
    )
    env = cranium.product(lively_world(np.random.default_rng(2)), machine, horizon=30)
    with pytest.raises(RunError, match=r"after \d+ samples, in ⟨u⟩"):
        train(env, "cdqn", steps=500, **SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [1, 30])
def test_a_refusal_inside_the_loop_is_the_error_of_the_machine(horizon):
    """Such products are not listed by themselves, so the run is made by hand."""
    machine = cranium.loads(
        """
        propositions: [A]
        initial: u
        terminal: [done]
        transitions:
          - {from: u, when: A, to: v}
          - {from: v, when: A, to: done}
        """
    )
    env = cranium.product(lively_world(np.random.default_rng(2)), machine, horizon=horizon)
    run = run_of(env, DeepConfig(hidden=(8,), replay=50, exploration=1.0))
    row = run.agent.tables.space.label_index({"A"})
    tables = run.machine.next_configuration
    run.machine = run.machine._replace(next_configuration=tables.at[row, 0].set(-1))
    while (status := run.learn(50)) == 0 and run.state.samples < 2000:
        pass
    assert status == -1
    assert int(run.state.configuration) == 0, "it stays where it was refused"
    assert run.state.samples == run.agent.tables.position[3] < 2000


@pytest.mark.slow
@pytest.mark.parametrize(("target", "train_every"), [(100, 3), (100, 7), (10, 1), (6, 6)])
def test_the_target_network_is_copied_every_so_many_samples(target, train_every):
    env = letter()
    config = DeepConfig(
        hidden=(8,), batch=4, replay=50, warmup=0, target_every=target, train_every=train_every
    )
    run = run_of(env, config)
    changes, before = [], np.asarray(jax.tree.leaves(run.state.learner.target)[0])
    for _ in range(2 * target + train_every - 1):
        run.learn(1)
        after = np.asarray(jax.tree.leaves(run.state.learner.target)[0])
        if not np.array_equal(before, after):
            changes.append(int(run.state.samples))
        before = after
    assert len(changes) == 2
    assert all(change // target == i + 1 for i, change in enumerate(changes))


@pytest.mark.slow
@pytest.mark.parametrize("heads", [False, True])
def test_a_table_of_the_target_network_changes_nothing_but_the_last_digits(heads):
    env, found = letter(), []
    for table in (False, True):
        run = run_of(env, DeepConfig(hidden=(8,), batch=4, replay=50, target_every=20, heads=heads))
        run.agent.method = run.agent.method._replace(tabulates_target=table)
        run._start(run.world, run.state.world_state)
        run.learn(60)
        found.append(run.state.learner.params)
    for one, two in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)
    assert run_of(env, DeepConfig(replay=50)).agent.method.tabulates_target
    assert not run_of(env, DeepConfig(replay=50, double=True)).agent.method.tabulates_target


def test_ctrl_c_waits_for_jax(monkeypatch):
    import os
    import signal

    from cranium.learners.deep import fused

    real = fused.interact

    def interrupted(state, *args, **kwargs):
        if int(state.samples) == 100:
            os.kill(os.getpid(), signal.SIGINT)
        return real(state, *args, **kwargs)

    monkeypatch.setattr(fused, "interact", interrupted)
    result = train(letter(), "cdqn", steps=500, **{**SMALL, "evaluate_every": 100})
    assert result.interrupted
    assert result.samples in (100, 200)


def test_ctrl_c_keeps_what_was_learned(monkeypatch):
    from cranium.learners.deep import fused

    real, calls = fused.interact, []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    monkeypatch.setattr(fused, "interact", interrupted)
    result = train(letter(), "cdqn", steps=5000, **{**SMALL, "evaluate_every": 100})
    assert result.interrupted
    assert result.samples == 200
    assert (
        result.policy.values([np.array([0, 0, 0])], [result.policy.automaton.start]).shape[2] == 4
    )


# Policies


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [{}, {"heads": True}, {"cells": "joint"}, {"cells": "scaled", "counters": "log"}]
)
def test_a_network_is_saved_and_loaded_without_pickle(tmp_path, more):
    env = letter()
    policy = train(env, "cdqn", steps=300, **SMALL, **more).policy
    path = tmp_path / "agent.npz"
    policy.save(path)
    again = cranium.Policy.load(path, env)
    world = tabulate_product(find_product(env)).world
    states = policy.configurations or [policy.automaton.start]
    before, after = (one.values(world.observations, states) for one in (policy, again))
    assert np.array_equal(before, after)
    assert again.about["learner"] == "cdqn"
    found, wanted = cranium.evaluate(env, again), cranium.evaluate(env, policy)
    assert np.array_equal(found.success, wanted.success)
    with pytest.raises(PolicyError, match="another world"):
        cranium.Policy.load(path, letter(times=2))


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["cdqn", "cql"])
def test_numbers_of_numpy_can_be_saved(tmp_path, learner):
    more = {} if learner == "cql" else {**SMALL, "batch": np.int64(4), "hidden": (np.int64(8),)}
    policy = train(letter(), learner, steps=100, seed=np.int64(3), **more).policy
    policy.save(tmp_path / "agent.npz")
    assert cranium.Policy.load(tmp_path / "agent.npz").about["seed"] == 3


def test_a_network_file_without_an_observation_encoding_is_read_as_one_hot(tmp_path):
    policy = train(letter(), "cdqn", steps=100, **SMALL).policy
    path = tmp_path / "agent.npz"
    policy.save(path)
    with np.load(path) as found:
        arrays = dict(found)
    name = next(key for key, array in arrays.items() if '"encoding"' in str(array))
    about = json.loads(str(arrays[name]))
    about["encoding"] = about["encoding"][:3]
    np.savez(path, **{**arrays, name: json.dumps(about)})
    again = cranium.Policy.load(path)
    assert again.encoding.cells == "one-hot"
    seen, start = [np.array([0, 0, 0])], [policy.automaton.start]
    assert np.array_equal(again.values(seen, start), policy.values(seen, start))


@pytest.mark.slow
def test_the_network_reads_observations_in_the_chosen_encoding():
    world = tabulate_product(find_product(letter())).world
    widths = {}
    for cells in ("one-hot", "joint", "scaled"):
        policy = train(letter(), "cdqn", steps=100, cells=cells, **SMALL).policy
        sizes = policy.encoding.ground.nvec
        widths[cells] = len(policy.network.ground)
        shown = np.array([policy.ground(seen) for seen in world.observations])
        assert len(np.unique(shown, axis=0)) == len(world.observations)
    assert widths == {"one-hot": sizes.sum(), "joint": sizes.prod(), "scaled": len(sizes)}


def test_a_damaged_network_is_refused(tmp_path):
    policy = train(letter(), "cdqn", steps=100, **SMALL).policy
    bad = policy.network._replace(bias=policy.network.bias[:-1])
    replace(policy, network=bad).save(tmp_path / "agent.npz")
    with pytest.raises(FileFormatError, match=r"damaged: .weights of the shape"):
        cranium.Policy.load(tmp_path / "agent.npz")
    nan = policy.network._replace(bias=policy.network.bias * np.nan)
    replace(policy, network=nan).save(tmp_path / "agent.npz")
    with pytest.raises(FileFormatError, match="not finite"):
        cranium.Policy.load(tmp_path / "agent.npz")


def test_a_policy_acts_without_jax_and_beyond_the_counters_it_met(monkeypatch):
    env = letter()
    policy = train(env, "cdqn", steps=100, **SMALL).policy
    observation, _ = env.reset(seed=0)
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    assert 0 <= policy(observation["ground"], Configuration("counting", (57,))) < 4
    with pytest.raises(PolicyError, match="is not in MultiDiscrete"):
        policy(np.array([9, 9, 9]), policy.automaton.start)


def test_heads_know_only_the_configurations_they_were_made_for():
    policy = train(letter(), "cdqn", steps=100, heads=True, **SMALL).policy
    with pytest.raises(PolicyError, match=r"⟨counting, 57⟩ has no head"):
        policy(np.array([0, 0, 0]), Configuration("counting", (57,)))


@pytest.mark.slow
def test_a_network_has_no_table():
    result = train(letter(), "dqn", steps=100, **SMALL)
    with pytest.raises(PolicyError, match="no table of values"):
        _ = result.q


# What is refused


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hidden": ()}, "hidden are the units"),
        ({"hidden": (0,)}, "units of a hidden layer"),
        ({"hidden": 128}, "hidden are the units"),
        ({"learning_rate": 0.0}, "learning_rate is from 1e-30"),
        ({"learning_rate": 1e50}, "learning_rate is from 1e-30 to 1"),
        ({"replay": 10**12}, "replay is at most 10,000,000"),
        ({"warmup": 2**40}, "warmup is at most"),
        ({"clip": 10**6}, "clip is at most"),
        ({"num_counterfactuals": 0}, "num_counterfactuals is a whole number of at least 1"),
        ({"cells": "xy"}, "cells are one-hot, joint or scaled, not 'xy'"),
        ({"counters": "digits"}, "counters are raw, log or bits, not 'digits'"),
        ({"configurations": "some"}, "configurations are current, seen, reachable or a set"),
        ({"heads": 1}, "heads is true or false"),
        ({"exploration": 2}, "exploration is a number from 0 to 1"),
        ({"shaping_discount": 1}, "shaping_discount is below 1"),
    ],
)
def test_nonsense_is_refused(settings, said):
    with pytest.raises(InvalidArgumentError, match=said):
        train(letter(), "cdqn", steps=10, **settings)


def test_learners_say_which_actions_and_machines_they_need():
    with pytest.raises(InvalidArgumentError, match="dcrm learns on reward machines"):
        train(letter(), "dcrm", steps=10)
    with pytest.raises(InvalidArgumentError, match="td3 needs continuous actions"):
        train(letter(), "td3", steps=10)
    with pytest.raises(InvalidArgumentError, match="cdqn needs discrete actions"):
        train(gym.make("cranium/Point-visit-v0"), "cdqn", steps=10)
    with pytest.raises(InvalidArgumentError, match="as they are"):
        train(letter(), "cdqn", steps=10, discretise=lambda seen: seen)


def test_without_jax_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr("cranium.learners.deep.find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=r"cdqn needs JAX.*\n.*pip install '\.\[deep\]'.*use cql"
    ):
        train(letter(), "cdqn", steps=10)


@pytest.mark.slow
def test_every_slot_of_a_large_replay_buffer_is_sampled_equally_often():
    """There are 2²³ numbers from 0 to 1 in single precision, and half as many slots again."""
    size = 3 << 22
    slots = jnp.arange(size, dtype=jnp.int32)
    replay = Transitions(*([slots] * len(Transitions._fields)))
    count = 1 << 20
    u = jax.random.uniform(jax.random.key(0), (count,), jnp.float32)
    drawn = np.asarray(
        sample_transitions(replay, jnp.int32(size), u, jax.random.key(1)).configuration
    )
    numbers = np.arange(1 << 23, dtype=np.float32) / np.float32(1 << 23)
    by_numbers = np.zeros(size, bool)
    by_numbers[np.minimum((numbers * np.float32(size)).astype(np.int32), size - 1)] = True
    assert by_numbers.mean() < 0.7
    assert abs((~by_numbers)[drawn].mean() - (~by_numbers).mean()) < 0.005
    parts = np.bincount(drawn >> 17, minlength=size >> 17)  # 96, about 10,923 each
    assert ((parts - count / 96) ** 2 / (count / 96)).sum() < 160  # χ² with 95 degrees of freedom
    assert len(np.unique(drawn)) > 0.95 * size * -np.expm1(-count / size)


@pytest.mark.slow
def test_a_small_replay_buffer_is_sampled_with_the_random_numbers_of_the_block():
    slots = jnp.arange(1 << 17, dtype=jnp.int32)
    replay = Transitions(*([slots] * len(Transitions._fields)))
    u = jax.random.uniform(jax.random.key(0), (1000,), jnp.float32)
    drawn = np.asarray(
        sample_transitions(replay, jnp.int32(777), u, jax.random.key(1)).configuration
    )
    assert np.array_equal(drawn, np.floor(np.asarray(u) * np.float32(777)))
