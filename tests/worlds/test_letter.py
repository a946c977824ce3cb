"""LetterEnv: the dynamics of the paper's own package, in every configuration."""

from __future__ import annotations

import numpy as np
import pytest

import cranium
from cranium.errors import InvalidArgumentError
from cranium.worlds import LetterEnv, LetterSpec

RIGHT, LEFT, UP, DOWN = range(4)


def read(env, actions):
    """The events of each step."""
    found = []
    for action in actions:
        env.step(action)
        found.append("".join(sorted(env.events)))
    return found


TO_A = [UP, UP, LEFT, LEFT, LEFT, UP]


def test_a_letter_still_reads_as_itself_the_last_time_and_is_replaced_from_the_next_visit_on():
    env = LetterEnv.experiment(2)
    env.reset(seed=0)
    assert read(env, TO_A) == ["", "", "", "", "", "A"]
    assert read(env, [UP, DOWN]) == ["", "A"]
    assert read(env, [UP, DOWN, UP, DOWN]) == ["", "B", "", "B"]


def test_a_move_off_the_grid_stays_and_is_a_step_that_ends_on_the_cell():
    env = LetterEnv([LetterSpec("A", (0, 0))], rows=1, columns=2, start=(0, 1))
    env.reset(seed=0)
    assert read(env, [RIGHT, LEFT, LEFT, UP]) == ["", "A", "A", "A"]


def test_the_word_of_the_experiment_is_rewarded():
    env = cranium.product(LetterEnv.experiment(1), cranium.library.load("anbcdn"), horizon=100)
    env.reset(seed=0)
    walk = [*TO_A, UP, DOWN, RIGHT, RIGHT, RIGHT, DOWN, DOWN, DOWN, LEFT, LEFT, LEFT]
    rewards = [env.step(action)[1] for action in walk]
    assert rewards == [0.0] * 16 + [1.0], "success is seen at once"


def test_how_often_a_letter_is_observed_may_be_random_and_may_be_fixed_for_an_episode():
    env = LetterEnv.experiment((1, 5))
    seen = {int(env.reset(seed=seed)[0][2]) for seed in range(60)}
    assert seen == {1, 2, 3, 4, 5}
    assert env.reset(options={"times": {"A": 3}})[0].tolist() == [4, 4, 3]
    assert env.reset(options={"start": (0, 0), "times": {"A": 1}})[0].tolist() == [0, 0, 1]


def test_lists_are_as_good_as_tuples():
    env = LetterEnv.experiment([1, 5], start=[0, 0])
    assert env.reset(seed=0, options={"start": [2, 2]})[0].tolist()[:2] == [2, 2]
    assert env.letters[0].times == [1, 5]


def test_the_start_may_be_random():
    env = LetterEnv.experiment(1, start=None)
    assert len({tuple(env.reset(seed=s)[0][:2].tolist()) for s in range(400)}) == 36


@pytest.mark.parametrize(
    ("view", "before", "after"),
    [("markov", [2, 1, 1], [1, 1, 0]), ("paper", [2, 1, 0], [1, 1, 1]), ("cell", [2, 1], [1, 1])],
)
def test_three_kinds_of_observation(view, before, after):
    env = LetterEnv.experiment(1, observation=view)
    env.reset(seed=0)
    for action in TO_A[:-1]:
        seen, *_ = env.step(action)
    assert seen.tolist() == before
    assert env.step(UP)[0].tolist() == after
    assert env.observation_space.contains(seen)


def test_the_paper_sees_the_letter_that_is_there():
    env = LetterEnv.experiment(1, observation="paper")
    env.reset(seed=0)
    for action in [*TO_A, UP]:
        env.step(action)
    letter = int(env.step(DOWN)[0][2])
    assert env.vocabulary[letter - 1] == "B"


@pytest.mark.slow
def test_only_with_the_markov_observation_is_a_label_a_function_of_what_is_observed():
    machine = cranium.library.load("anbcdn")
    for view, sound in (("markov", True), ("paper", True), ("cell", False)):
        env = LetterEnv.experiment((1, 3), observation=view)
        env = cranium.product(env, machine, horizon=100).env
        report = cranium.check_labelling(env, machine, steps=20_000, warn=False)
        assert report.is_sound == sound, view
    assert "counterfactual learning on this observation is unsound" in str(report)


def test_text_and_images():
    env = LetterEnv.experiment(1, render_mode="ansi")
    assert env.render() is None
    env.reset(seed=0)
    assert env.render().splitlines()[1] == ". A . . C ."
    assert env.render().splitlines()[4] == ". D . . @ ."
    for action in TO_A:
        env.step(action)
    env.step(UP)
    assert env.render().splitlines()[1] == ". B . . C ."
    image = LetterEnv.experiment(1, render_mode="rgb_array")
    image.reset(seed=0)
    one = image.render()
    image.step(UP)
    assert one.shape == (193, 193, 3)
    assert one.dtype == np.uint8
    assert (one != image.render()).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LetterEnv.experiment(0), "at least 1, not 0"),
        (lambda: LetterEnv.experiment((3, 2)), "at least 3, not 2"),
        (lambda: LetterEnv(observation="all"), "markov, paper or cell, not 'all'"),
        (lambda: LetterEnv(rows=0), "rows is a whole number"),
        (lambda: LetterEnv([LetterSpec("A", (9, 9))]), "A is at (9, 9), which is no cell"),
        (lambda: LetterEnv([LetterSpec("A", (0, 0)), LetterSpec("B", (0, 0))]), "two letters"),
        (lambda: LetterEnv(start=(9, 9)), "the start (9, 9) is no cell"),
        (lambda: LetterEnv(render_mode="human"), "one of ansi, rgb_array, not 'human'"),
        (lambda: LetterEnv(["A"]), "a letter is a LetterSpec, not 'A'"),
        (lambda: LetterEnv([LetterSpec("A", (0, 0), then="B")]), "give both"),
        (lambda: LetterEnv(start=5), "a cell is a row and a column, not 5"),
        (lambda: LetterEnv().reset(options={"times": None}), "not None"),
        (lambda: LetterEnv().step(0), "has not begun"),
        (lambda: LetterEnv().reset(options={"tiems": 1}), "no such option for reset: 'tiems'"),
        (lambda: LetterEnv().reset(options={"times": {"Z": 1}}), "called 'Z'"),
        (lambda: LetterEnv().reset(options={"times": {"A": 7}}), "at most 1 times, not 7"),
        (lambda: LetterEnv().reset(options={"start": (8, 8)}), "cell of the grid, not (8, 8)"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(InvalidArgumentError) as caught:
        make()
    assert message in str(caught.value)


def test_an_action_that_is_none_is_refused():
    env = LetterEnv()
    env.reset(seed=0)
    for action in (4, -1, "up", 1.5, None):
        with pytest.raises(InvalidArgumentError, match="an action of this world"):
            env.step(action)
