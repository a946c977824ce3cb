"""The configuration space: numbers, limits, reward functions."""

from __future__ import annotations

import pytest

import cranium
from cranium import Configuration, RewardFunction, Transition
from cranium.errors import CounterUnderflowError, InvalidArgumentError
from cranium.tables import ConfigurationSpace

MACHINE = cranium.library.load("anbcn")
LABELS = ["A", "B", "C", ()]


def test_every_configuration_has_a_number_and_every_number_a_configuration():
    space = ConfigurationSpace(MACHINE, LABELS, counter_limit=4).complete()
    for number, configuration in enumerate(space.configurations):
        assert space.encode(configuration) == number
        assert space.decode(number) == configuration
    assert space.decode(space.start) == MACHINE.start


def test_a_counter_above_the_limit_is_the_overflow_which_is_terminal_and_no_success():
    space = ConfigurationSpace(MACHINE, LABELS, counter_limit=1).complete()
    row = space.label_index("A")
    x = space.step(row, space.step(row, space.start))
    assert space.decode(x).state == "overflow"
    assert [space.is_overflow(number) for number in range(len(space))].count(True) == 1
    assert space.is_overflow(x)
    assert space.tables.terminal[x]
    assert not space.tables.accepting[x]
    assert space.step(row, x) == x


def test_silent_transitions_are_part_of_the_tables():
    space = ConfigurationSpace(MACHINE, LABELS, counter_limit=3).complete()
    x = space.encode(Configuration("matching", (1,)))
    row = space.label_index("C")
    assert space.decode(space.step(row, x)).state == "done"
    assert space.tables.reward[row, x] == 1


def test_underflow_is_marked_and_raised_by_the_step_that_meets_it():
    machine = cranium.CountingRewardAutomaton(
        propositions=["A", "B"],
        counters=["n"],
        initial="u",
        terminal=["done"],
        transitions=[
            Transition(source="u", guard="A", zero_pattern="1", change=(-2,)),
            Transition(source="u", guard="B & !A", change=(1,)),
        ],
    )
    space = ConfigurationSpace(machine, ["A", "B"], counter_limit=3).complete()
    x = space.step(1, space.start)
    with pytest.raises(CounterUnderflowError):
        space.step(0, x)


def test_reward_functions_are_numbered():
    functions = [RewardFunction(name, lambda s, a, s2: 1.0) for name in "fg"]
    machine = cranium.CountingRewardAutomaton(
        propositions=["A", "B"],
        initial="u",
        terminal=["done"],
        transitions=[
            Transition(source="u", guard="A & !B", reward=functions[0]),
            Transition(source="u", guard="B & !A", reward=functions[1]),
            Transition(source="u", guard="A & B", target="done", reward=3),
        ],
    )
    space = ConfigurationSpace(machine, ["A", "B", ("A", "B")], counter_limit=0).complete()
    assert space.tables.reward_function[:, space.start].tolist() == [0, 1, -1]
    assert space.reward_functions == functions
    assert space.tables.reward[:, space.start].tolist() == [0, 0, 3]


def test_nonsense_is_refused():
    with pytest.raises(InvalidArgumentError, match="at least one label"):
        ConfigurationSpace(MACHINE, [])
    with pytest.raises(InvalidArgumentError, match="the counter limit"):
        ConfigurationSpace(MACHINE, LABELS, counter_limit=-1)
    space = ConfigurationSpace(MACHINE, LABELS, counter_limit=2).complete()
    with pytest.raises(InvalidArgumentError, match="is not one of this space"):
        space.label_index(("A", "B"))
    with pytest.raises(InvalidArgumentError, match="10 configurations, and no number 10"):
        space.is_overflow(10)


@pytest.mark.parametrize(("label", "number"), [(0, -1), (-1, 0), (9, 0), (0, 99)])
def test_numbers_that_stand_for_nothing_are_refused(label, number):
    space = ConfigurationSpace(cranium.library.load("anbcn"), ["A", "B", "C", ()])
    for ask in (space.step, space.look):
        with pytest.raises(InvalidArgumentError, match="counted from 0"):
            ask(label, number)
