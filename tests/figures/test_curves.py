"""Learning curves of ``cranium train --curve``: bands, single seeds, and the legend."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

import cranium
from cranium.errors import DrawingError
from cranium.experiments.statistics import bootstrap_interval, interquartile_mean
from cranium.figures import draw_curves
from cranium.figures.bands import RESAMPLES
from cranium.figures.curves import make_figure


@pytest.fixture(scope="module")
def trained():
    """Eight results, of two learners with one and with seven seeds."""
    env = gym.make("cranium/Letter-anbcdn-v0", times=2)
    told = {"steps": 6_000, "evaluate_every": 100}
    ones = [cranium.train(env, "planner", seed=0, until="solved", **told)]
    return ones + [
        cranium.train(env, "cql", seed=seed, until="solved", **told) for seed in range(7)
    ]


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def height_at(result, place):
    """The success of the last evaluation up to a sample, found by looking at each."""
    found = None
    for samples, success, *_ in result.curve:
        if samples <= place:
            found = success
    return found


def test_several_seeds_are_an_interquartile_mean_with_a_bootstrap_band(trained):
    seeds = trained[1:]
    axes = make_figure(seeds).axes[0]
    line = next(each for each in axes.lines if each.get_marker() in ("", "None"))
    (band,) = axes.collections
    grid, middle = line.get_xdata(), line.get_ydata()
    assert grid[0] == 100
    assert grid[-1] == max(result.samples for result in seeds)
    outline = {tuple(point) for point in band.get_paths()[0].vertices}
    for place, value in zip(grid, middle, strict=True):
        column = np.array([height_at(result, place) for result in seeds])
        assert value == pytest.approx(interquartile_mean(column))
        for edge in bootstrap_interval([column], resamples=RESAMPLES):
            assert (place, edge) in outline
    assert line.get_drawstyle() == "steps-post"


def test_the_legend_says_how_many_seeds_there_are_and_when_they_solved_the_task(trained):
    found = sorted(result.samples_to_solve for result in trained[1:])
    assert None not in found
    assert legend_of(make_figure(trained)) == [
        f"planner, 1 seed: solved after {trained[0].samples_to_solve:,} samples",
        f"cql, 7 seeds: 7 solved, median {found[3]:,} samples",
    ]
    unsolved = [replace(result, samples_to_solve=None) for result in trained]
    assert legend_of(make_figure(unsolved)) == [
        "planner, 1 seed: not solved",
        "cql, 7 seeds: none solved",
    ]


@pytest.mark.parametrize("single", [False, True])
def test_the_legend_covers_neither_the_data_nor_the_labels_and_nothing_is_cut(trained, single):
    names = [f"a learner with a long name, number {n}" for n in range(7)]
    results = [replace(r, learner=names[i % 7]) for i, r in enumerate(trained * 7)]
    for shown in (trained, results):
        figure = make_figure(shown, "A^N B C D^N", single_seeds=single)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        (axes,), (legend,) = figure.axes, figure.legends
        box = legend.get_window_extent()
        assert not box.overlaps(axes.get_tightbbox())
        whole = figure.bbox
        for each in (box, axes.get_tightbbox()):
            assert whole.x0 <= each.x0 < each.x1 <= whole.x1
            assert whole.y0 <= each.y0 < each.y1 <= whole.y1


def test_single_seeds_are_a_line_each_in_the_colour_of_their_learner(trained):
    axes = make_figure(trained, single_seeds=True).axes[0]
    lines = [each for each in axes.lines if each.get_marker() in ("", "None")]
    assert not axes.collections
    assert [line.get_ydata().tolist() for line in lines] == [
        r.curve[:, 1].tolist() for r in trained
    ]
    colours = [to_rgb(line.get_color()) for line in lines]
    assert colours[0] != colours[1]
    assert set(colours[1:]) == {colours[1]}


def test_a_dot_is_where_the_seed_solved_the_task_or_at_the_median_of_several(trained):
    def dots(**more):
        lines = make_figure(trained, **more).axes[0].lines
        return [float(each.get_xdata()[0]) for each in lines if each.get_marker() == "o"]

    solved = [float(result.samples_to_solve) for result in trained]
    assert dots(single_seeds=True) == solved
    assert dots() == [solved[0], sorted(solved[1:])[3]]


def test_runs_that_were_interrupted_before_an_evaluation_have_no_line(trained):
    none = replace(trained[1], curve=np.zeros((0, 4)), samples_to_solve=None, interrupted=True)
    axes = make_figure([none, replace(none, seed=1)]).axes[0]
    assert [len(line.get_xdata()) for line in axes.lines] == [0]
    assert legend_of(make_figure([none, trained[2]])) == ["cql, 2 seeds: 1 solved"]


def test_names_with_dollars_are_no_mathematics(trained):
    figure = make_figure([replace(trained[0], learner="a $^$")], "costs $_")
    FigureCanvasAgg(figure).draw()
    assert legend_of(figure)[0].startswith("a \\$^\\$, 1 seed")


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_results_give_the_same_file(trained, tmp_path, kind):
    for name in ("one", "two"):
        draw_curves(trained, tmp_path / f"{name}.{kind}")
    assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()


def test_other_files_are_refused(trained, tmp_path):
    with pytest.raises(DrawingError, match="curves are drawn into"):
        draw_curves(trained, tmp_path / "curves.txt")
