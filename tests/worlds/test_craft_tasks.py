"""The tasks of CraftWorld: the ten usual ones, and two that count."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranium
from cranium.aamdp import find_world, make_product
from cranium.worlds import CraftWorld
from cranium.worlds.craft_maps import DRAWN

# A recipe is a place, and what must have happened before; a material is its own place.
PLANK, STICK = ("toolshed", "wood"), ("workbench", "wood")
BRIDGE, AXE = ("factory", "iron", "wood"), ("toolshed", STICK, "iron")
RECIPES = {
    "plank": PLANK,
    "stick": STICK,
    "cloth": ("factory", "grass"),
    "rope": ("toolshed", "grass"),
    "bridge": BRIDGE,
    "bed": ("workbench", PLANK, "grass"),
    "axe": AXE,
    "shears": ("workbench", STICK, "iron"),
    "gold": ("gold", BRIDGE),
    "gem": ("gem", AXE),
}


# The usual tasks


def when(recipe, word):
    """At which place of a word something is first made; infinite if it is not."""
    place, *parts = (recipe,) if isinstance(recipe, str) else recipe
    ready = max((when(part, word) for part in parts), default=-1)
    return next((i for i, label in enumerate(word) if i > ready and place in label), np.inf)


def events_of(recipe):
    place, *parts = (recipe,) if isinstance(recipe, str) else recipe
    return [event for part in parts for event in events_of(part)] + [place]


def test_the_recipes_are_those_of_the_catalogue():
    assert list(find_world("Craft").tasks) == list(RECIPES)
    for item, recipe in RECIPES.items():
        machine = cranium.library.load(f"craft-{item}")
        assert set(machine.propositions) == set(events_of(recipe))
        assert machine.is_reward_machine


@pytest.mark.slow
@pytest.mark.parametrize("item", RECIPES)
def test_a_machine_accepts_exactly_the_words_of_its_recipe(item):
    machine = cranium.library.load(f"craft-{item}")
    accepted = 0
    for length in range(7 if item == "gem" else 6):
        for word in product(machine.propositions, repeat=length):
            trace = machine.run(word)
            meant = when(RECIPES[item], [{event} for event in word]) == length - 1
            assert trace.accepted == meant, word
            assert trace.total_reward == trace.succeeded
            accepted += meant
    assert accepted > 0


@pytest.mark.slow
@pytest.mark.parametrize("item", RECIPES)
@settings(max_examples=80)
@given(data=st.data())
def test_events_that_happen_at_once_are_in_no_order(item, data):
    machine = cranium.library.load(f"craft-{item}")
    label = st.frozensets(st.sampled_from(machine.propositions), max_size=3)
    word = data.draw(st.lists(label, max_size=9))
    made = when(RECIPES[item], word)
    assert machine.run(word).succeeded == (made < np.inf)
    assert machine.run(word).accepted == (made == len(word) - 1)


def shortest(world, recipe):
    """How many steps a recipe takes: over all its orders, and all cells of every place."""
    events = events_of(recipe)
    orders = {
        order
        for order in permutations(events)
        if when(recipe, [{event} for event in order]) == len(order) - 1
    }
    return min(along(world, order) for order in orders)


def along(world, order):
    costs = {world.starts[0]: 0}
    for event in order:
        costs = {c: n for c, n in after_a_step(world, costs).items() if world.at.get(c) == event}
    return min(costs.values())


def after_a_step(world, costs):
    """The fewest steps to every cell, at least one more than what the way so far cost."""
    best: dict = {}
    layers = {cost: [c for c in costs if costs[c] == cost] for cost in set(costs.values())}
    now = min(layers)
    while now in layers or any(cost > now for cost in layers):
        for cell in layers.pop(now, []):
            for action in range(4):
                after = world.grid.move(cell, action)
                if after not in best:
                    best[after] = now + 1
                    layers.setdefault(now + 1, []).append(after)
        now += 1
    return best


MAPS = [{"layout": name} for name in DRAWN]
MAPS += [{"layout": "random", "map_seed": seed, "size": size} for seed, size in ((1, 5), (2, 12))]


@pytest.mark.parametrize("item", RECIPES)
@pytest.mark.parametrize("options", MAPS, ids=lambda options: "-".join(map(str, options.values())))
def test_every_task_is_solved_on_every_map_in_the_fewest_steps(item, options):
    optimum = cranium.solve(make_product("Craft", item, **options))
    assert optimum.success_rate == 1
    assert optimum.expected_length == shortest(CraftWorld(**options), RECIPES[item])


@pytest.mark.parametrize(("item", "steps"), [("plank", 8), ("bed", 15), ("shears", 12)])
def test_some_shortest_ways_that_were_counted_by_hand(item, steps):
    assert cranium.solve(make_product("Craft", item, layout="small")).expected_length == steps


@pytest.mark.parametrize("learner", ["crm", "planner"])
def test_the_longest_of_the_usual_tasks_is_learned(learner):
    env = make_product("Craft", "gem", layout="small")
    result = cranium.train(env, learner, steps=100_000, until="solved", evaluate_every=100)
    assert result.samples_to_solve <= (2_000 if learner == "planner" else 30_000)


# The tasks that count


def planks(word):
    """Whether a word is wood^N no_wood toolshed^N workbench; later on, no_wood may happen again."""
    if "no_wood" not in word[:-1]:
        return False
    gathered, rest = word[: word.index("no_wood")], word[word.index("no_wood") + 1 :]
    made = [event for event in rest if event != "no_wood"]
    n = len(gathered)
    return (
        n > 0
        and set(gathered) == {"wood"}
        and made == ["toolshed"] * n + ["workbench"]
        and word[-1] == "workbench"
    )


def planks_and_cloths(word):
    """Whether all was gathered, then as much made, and the task done with the last event."""
    if not {"no_wood", "no_grass"} <= set(word):
        return False
    ends = {name: word.index(f"no_{name}") for name in ("wood", "grass")}
    ready = max(ends.values())
    gathered, rest = word[:ready], word[ready + 1 :]
    if {"toolshed", "factory"} & set(gathered):
        return False
    if any(name in word[end:] for name, end in ends.items()):
        return False
    enough = [rest.count("toolshed"), rest.count("factory")] == [
        gathered.count("wood"),
        gathered.count("grass"),
    ]
    return enough and (not rest or rest[-1] in ("toolshed", "factory"))


def test_the_planks_are_counted():
    machine = cranium.library.load("craft-planks")
    words = [list(w) for n in range(8) for w in product(machine.propositions, repeat=n)]
    for word in words:
        assert machine.run(word).accepted == planks(word), word
    assert sum(map(planks, words)) > 10
    for n in (1, 4, 50):
        for made in (n - 1, n, n + 1):
            word = ["wood"] * n + ["no_wood"] + ["toolshed"] * made + ["workbench"]
            assert machine.run(word).succeeded == (made == n)


def test_planks_and_cloths_are_counted_apart():
    machine = cranium.library.load("craft-planks-and-cloths")
    words = [list(w) for n in range(6) for w in product(machine.propositions, repeat=n)]
    for word in words:
        assert machine.run(word).accepted == planks_and_cloths(word), word
    assert sum(map(planks_and_cloths, words)) > 10


@pytest.mark.slow
@settings(max_examples=200)
@given(data=st.data())
def test_planks_and_cloths_in_long_words(data):
    machine = cranium.library.load("craft-planks-and-cloths")
    wood, grass, made, woven = data.draw(st.tuples(*[st.integers(0, 4)] * 4))
    if data.draw(st.booleans()):  # random numbers are seldom the same
        made, woven = wood, grass
    gathered = data.draw(st.permutations(["wood"] * wood + ["grass"] * grass))
    ends = data.draw(st.permutations(["no_wood", "no_grass"]))
    work = data.draw(st.permutations(["toolshed"] * made + ["factory"] * woven))
    word = [*gathered, *ends, *work]
    assert machine.run(word).accepted == planks_and_cloths(word)
    assert machine.run(word).succeeded == any(
        planks_and_cloths(word[:end]) for end in range(len(word) + 1)
    )


@given(data=st.data())
def test_only_passing_where_wood_was_may_happen_at_the_same_time(data):
    machine = cranium.library.load("craft-planks")
    wood = data.draw(st.integers(1, 3))
    word = ["wood"] * wood + ["no_wood"] + ["toolshed"] * wood + ["workbench"]
    assert machine.run(word).accepted
    place = data.draw(st.integers(0, len(word) - 1))
    more = data.draw(st.sampled_from([e for e in machine.propositions if e != word[place]]))
    labels = [{event} for event in word]
    labels[place].add(more)
    assert machine.run(labels).succeeded == (more == "no_wood" and more in word[:place])


def test_as_reward_machines_they_grow_with_the_number():
    one, two = (cranium.library.load(f"craft-{n}") for n in ("planks", "planks-and-cloths"))
    assert (one.size.states, two.size.states) == (3, 4)
    for n in (1, 2, 3, 6):
        # gather: 0 … n, make planks: 1 … n, finish; none of them can be spared
        assert cranium.minimise(cranium.unroll(one, n)).size.states == 2 * n + 2
        # four states, each with two numbers, but for the end of the work
        assert cranium.minimise(cranium.unroll(two, n)).size.states == 4 * (n + 1) ** 2 - 1


COUNTING = {
    # on the small map, by hand: there, 2 steps for each visit more, the next place, and so on
    "planks": lambda wood, grass: 4 + 2 * wood + 4 + 2 * (wood - 1) + 3,
    "planks-and-cloths": lambda wood, grass: 12 + 4 * wood + 4 * grass,
}


@pytest.mark.parametrize("task", COUNTING)
def test_the_shortest_ways_of_the_tasks_that_count(task):
    for wood, grass in product((1, 2, 3), (1, 2)):
        optimum = cranium.solve(make_product("CraftCount", task, wood=wood, grass=grass))
        assert optimum.success_rate == 1
        assert optimum.expected_length == COUNTING[task](wood, grass)


@pytest.mark.parametrize("task", COUNTING)
@pytest.mark.parametrize("options", MAPS, ids=lambda options: "-".join(map(str, options.values())))
def test_the_tasks_that_count_are_solved_on_every_map(task, options):
    optimum = cranium.solve(make_product("CraftCount", task, **options))
    assert optimum.success_rate == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("task", COUNTING)
@pytest.mark.parametrize(("learner", "budget"), [("cql", 100_000), ("planner", 3_000)])
def test_the_tasks_that_count_are_learned(task, learner, budget):
    env = make_product("CraftCount", task)
    every = budget // 100
    result = cranium.train(env, learner, steps=budget, until="solved", evaluate_every=every)
    assert result.samples_to_solve is not None
    assert result.evaluation.success.tolist() == [1] * 6  # 1 to 3 pieces of wood, 1 or 2 of grass


@pytest.mark.slow
@pytest.mark.parametrize("task", COUNTING)
def test_the_learned_values_are_the_exact_ones(task):
    env = make_product("CraftCount", task)
    result = cranium.train(
        env, "cql", steps=600_000, learning_rate=1.0, initial_value=1.0, exploration=0.3
    )
    optimum = cranium.solve(env)
    model, policy = optimum.product, result.policy
    seen = model.world.observation[model.state]
    rows = [policy.number(model.world.observations[o]) for o in seen]
    columns = [policy.place(model.space.decode(int(x))) for x in model.configuration]
    best = policy.q[rows, columns].max(axis=1)
    starts = model.initial > 0
    assert np.abs(best - optimum.value)[starts].max() < 1e-9
    assert np.abs(result.evaluation.gap).max() < 1e-9
    lengths = [COUNTING[task](wood, grass) for wood, grass in product((1, 2, 3), (1, 2))]
    assert result.evaluation.lengths.tolist() == pytest.approx(lengths)
