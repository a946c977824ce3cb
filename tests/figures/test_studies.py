"""Figures of studies that are small, unfinished, failed or unsolved: none may mislead or crash."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice

import matplotlib as mpl
import numpy as np
import pytest
from support.engines import InProcessEngine

from cranium.errors import InvalidArgumentError
from cranium.experiments.results import (
    format_number,
    format_share,
    read_final_success,
    read_study,
    summary_to_dict,
    to_rows,
)
from cranium.figures import style
from cranium.figures.kinds import find_kind
from cranium.figures.page import write_report
from cranium.figures.studies import draw_study
from cranium.paper import (
    ComplexityConfig,
    LetterConfig,
    NaturalLanguageConfig,
    OfficeConfig,
    RewardMachinesConfig,
    complexity,
    letter,
    office,
    reward_machines,
    run,
)
from cranium.paper.letter import SUM

SMALL = {
    "one trial, one N, one method": LetterConfig(1, times=(2,), methods=("planner",)),
    "nothing solved": LetterConfig(2, times=(1, 2), methods=("QL",), tuning_trials=1, budget=50),
    "some solved": LetterConfig(
        4, times=(1, 2), methods=("QL", "CRM"), tuning_trials=1, budget=3_000
    ),
    "times with gaps": LetterConfig(1, times=(1, 3), methods=("planner",)),
    "the paper, without CQL": LetterConfig(1, protocol="paper", times=(1,), methods=("CRM",)),
    "one size": ComplexityConfig(most=1),
    "an office": OfficeConfig(1, mail=1, methods=("planner",), budget=200),
    "words": NaturalLanguageConfig(1, methods=("planner",)),
    "no episode": RewardMachinesConfig(1, methods=("QL",), cases=("all four",), budget=40),
}


@pytest.mark.slow
@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL)
def test_every_study_can_be_drawn_and_reported(config, tmp_path):
    outcome = run(config, tmp_path, InProcessEngine())
    assert outcome.failed == []
    study = read_study(tmp_path)
    for path in draw_study(study):
        assert path.stat().st_size > 1_000
    write_report([study], tmp_path / "report.html")
    assert config.heading.split("'")[0] in (tmp_path / "report.html").read_text()


@pytest.mark.slow
def test_the_page_tells_what_every_seed_gave(tmp_path):
    run(SMALL["some solved"], tmp_path, InProcessEngine())
    study = read_study(tmp_path)
    write_report([study], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    _, solved, success = page.split("<summary>Seed by seed: ")
    for group in study.groups:
        for record in group.records:
            assert f"<td>{format_number(study.config.value_of(record))}</td>" in solved
            assert f"<td>{format_share(read_final_success(record))}</td>" in success
    unsolved = next(g for g in study.groups if None in g.values)
    row = next(
        line
        for line in solved.splitlines()
        if f"<td>{unsolved.method}<" in line and f"<td>{unsolved.case}<" in line
    )
    assert row.count("<td>–</td>") == unsolved.values.count(None)


def test_an_unfinished_study_says_so(tmp_path):
    class Half(InProcessEngine):
        def run(self, jobs):
            yield from islice(super().run(jobs), 2)
            raise KeyboardInterrupt

    config = LetterConfig(4, times=(1,), methods=("planner",))
    assert run(config, tmp_path, Half()).interrupted
    study = read_study(tmp_path)
    assert study.groups[0].status == "2 of 2, 2 missing"
    write_report([study], tmp_path / "report.html")
    assert "2 trials are still to be run" in (tmp_path / "report.html").read_text()


def fail(tmp_path, method, case, seed=0):
    """Turn the record of a trial into one of a failure."""
    from cranium.experiments.records import Store
    from cranium.experiments.trial import Job

    config = read_study(tmp_path).config
    store = Store(tmp_path)
    for job in config.all_jobs:
        trial = job.trial
        if (trial.method, trial.case, trial.stage, job.seed) == (method, case, "final", seed):
            record = store.find(job)
            store.save(Job(trial, seed), replace(record, status="failed", result={}, error="oh"))


@pytest.mark.slow
def test_a_failed_trial_is_in_no_sum_and_is_not_forgotten(tmp_path):
    config = LetterConfig(3, times=(1, 2), methods=("planner",))
    run(config, tmp_path, InProcessEngine())
    whole = {group.case: group for group in read_study(tmp_path).sums}
    each = [read_study(tmp_path).group("planner", f"N = {n}").values for n in (1, 2)]
    assert whole[SUM].values == tuple(np.add(*each))
    fail(tmp_path, "planner", "N = 2", seed=1)
    study = read_study(tmp_path)
    found = {group.case: group for group in (*study.groups, *study.sums)}
    assert found[SUM].values == (whole[SUM].values[0], whole[SUM].values[2])
    assert found[SUM].status == "2 of 2, 1 failed"
    assert found["N = 1 to 2"].status == "3 of 3"
    assert len(study.failed) == 1
    assert summary_to_dict(found[SUM])["failed"] == 1
    assert [row["status"] for row in to_rows([study])].count("failed") == 1
    draw_study(study)
    caption = (tmp_path / "letter.md").read_text()
    assert "*Trials that failed, and are in no number: 1.*" in caption


@pytest.mark.slow
def test_a_failed_trial_does_not_stop_a_figure_of_sizes(tmp_path):
    run(ComplexityConfig(most=2), tmp_path, InProcessEngine())
    for seed in range(3):
        fail(tmp_path, "RM", "2 N", seed)
    fail(tmp_path, "CRA", "any N")
    assert draw_study(read_study(tmp_path))


def test_the_matrix_of_the_paper_has_a_column_for_every_tested_n(tmp_path):
    config = LetterConfig(1, protocol="paper", times=(1, 3), methods=("CQL",))
    run(config, tmp_path, InProcessEngine())
    study = read_study(tmp_path)
    figure = find_kind(study).draw(study)["letter-paper"]
    (image,) = figure.axes[1].images
    records = [study.group("CQL", f"N = {n}").records[0].result["elsewhere"] for n in (1, 3)]
    assert list(records[0]) == ["A once", "A 2 times", "A 3 times"]
    expected = [[success > 1 - 1e-9 for success in each.values()] for each in records]
    assert image.get_array().tolist() == np.array(expected, float).tolist()
    assert [label.get_text() for label in figure.axes[1].get_xticklabels()] == ["1", "2", "3"]
    assert "Its flaws" in find_kind(study).caption(study)


def test_times_grow():
    with pytest.raises(InvalidArgumentError, match="times are numbers that grow"):
        LetterConfig(times=(2, 1))


@pytest.mark.slow
def test_what_was_not_solved_is_shown_as_such(tmp_path):
    config = LetterConfig(6, times=(1,), methods=("CRM",), tuning_trials=2, budget=2_200)
    run(config, tmp_path, InProcessEngine())
    study = read_study(tmp_path)
    summary = study.group("CRM", "N = 1").summary
    assert 0 < summary.solved < summary.run
    axes = find_kind(study).draw(study)["letter"].axes[0]
    assert f"{summary.solved}/6" in [text.get_text() for text in axes.texts]


@pytest.mark.slow
def test_the_same_study_gives_the_same_files(tmp_path):
    run(LetterConfig(2, times=(1, 2), methods=("planner",)), tmp_path, InProcessEngine())
    (path,) = draw_study(read_study(tmp_path))
    first = path.read_bytes(), path.with_suffix(".png").read_bytes()
    with mpl.rc_context({"font.size": 30}):  # somebody's own settings change nothing
        draw_study(read_study(tmp_path))
    assert (path.read_bytes(), path.with_suffix(".png").read_bytes()) == first


def test_a_folder_may_be_renamed_and_keeps_its_name_in_tables(tmp_path):
    old = tmp_path / "letter-old"
    run(LetterConfig(1, times=(1,), methods=("planner",)), old, InProcessEngine())
    assert json.loads((old / "experiment.json").read_text())["study"] == "letter"
    assert to_rows([read_study(old)])[0]["experiment"] == "letter-old"


@pytest.mark.slow
def test_captions_say_what_the_records_say(tmp_path):
    """A number about a result in a caption is in no source file: it comes from this run."""
    run(
        RewardMachinesConfig(2, methods=("QL", "CRM"), budget=9_000),
        tmp_path / "a",
        InProcessEngine(),
    )
    study = read_study(tmp_path / "a")
    told = reward_machines.caption(study)
    assert "HRM" not in told
    for case in RewardMachinesConfig().cases:
        for method in ("QL", "CRM"):
            median = study.group(method, case).summary.median
            shown = "not within 9,000" if median is None else f"{median:,.0f}"
            assert f"{method} {shown} (published: " in told
    assert "the shortest ways take 29, 15, 29 and 30 steps (" in told
    told = reward_machines.caption(
        replace(
            study,
            config=replace(
                study.config, options={**study.config.options, "cases": ["coffee and mail"]}
            ),
        )
    )
    assert "the shortest way takes 29 steps (" in told

    run(RewardMachinesConfig(2, methods=("HRM",), cases=("all four",), budget=9_000),
        tmp_path / "b", InProcessEngine())  # fmt: skip
    study = read_study(tmp_path / "b")
    last = [r.result["rates"][-1][1] for r in study.group("HRM", "all four").records]
    assert f"HRM ends at {np.median(last):.2f} of the optimum with all four (published: 0.93)" in (
        reward_machines.caption(study)
    )


@pytest.mark.slow
def test_the_caption_of_the_letters_states_what_all_n_take_and_what_is_compared(tmp_path):
    config = LetterConfig(2, times=(1, 2), methods=("CQL all", "CRM", "planner"), tuning_trials=1)
    run(config, tmp_path, InProcessEngine())
    study = read_study(tmp_path)
    told = letter.caption(study).split("*Right:*")[1]
    case = "N = 1 to 2"
    for group in (*study.groups, *study.sums):
        if group.case == case or (group.case == SUM and group.method == "CRM"):
            assert f"{group.method} {format_number(group.summary.iqm)}" in told
    assert "one reward machine, unrolled for N = 2, which handles every N" in told
    assert "added up over 2 reward machines" in told
    machine = study.group("CRM", case).summary.iqm
    for other, name in ((study.group("CQL all", case), "“CQL all”"),
                        (study.group("CRM", SUM), "one machine for each N")):  # fmt: skip
        assert f"{machine / other.summary.iqm:.2f} times those of {name}" in told
    assert "not run" not in told
    assert "not solved" not in told
    alone = replace(config, methods=("planner",))
    run(alone, tmp_path / "alone", InProcessEngine())
    told = letter.caption(read_study(tmp_path / "alone")).split("*Right:*")[1]
    assert "machine" not in told


def test_without_tuning_the_caption_says_that_nothing_was_tuned(tmp_path):
    run(LetterConfig(1, times=(1,), methods=("planner",)), tmp_path, InProcessEngine())
    assert "Nothing was tuned for planner." in letter.caption(read_study(tmp_path))


def test_every_caption_says_the_number_of_seeds(tmp_path):
    for name, config in SMALL.items():
        run(config, tmp_path / name, InProcessEngine())
        study = read_study(tmp_path / name)
        told = find_kind(study).caption(study)
        number = "1 seed" if config.trials == 1 else f"{config.trials} seeds"
        assert (number if name != "one size" else f"the shortest of {config.trials}") in told
        assert "1 seeds" not in told


def test_the_caption_of_the_paper_counts_the_policies_that_failed(tmp_path):
    config = LetterConfig(2, protocol="paper", times=(1,), methods=("CQL", "CRM+RS"))
    run(config, tmp_path, InProcessEngine())
    study = read_study(tmp_path)
    records = [record for group in study.groups for record in group.records]
    failed = sum(read_final_success(record) < 1 - 1e-9 for record in records)
    told = find_kind(study).caption(study)
    assert f"the greedy policies of {failed} of these runs failed" in told
    share = np.mean([r.result["elsewhere"]["A once"] > 1 - 1e-9
                     for r in study.group("CQL", "N = 1").records])  # fmt: skip
    assert f"solve which N: {100 * share:.0f} % that one." in told


@pytest.mark.slow
def test_the_caption_of_the_office_says_where_curves_end(tmp_path):
    config = OfficeConfig(1, mail=1, methods=("QL", "planner"), tuning_trials=1, budget=12_000)
    run(config, tmp_path / "long", InProcessEngine())
    assert "after 12,000 samples, that of planner after 10,000" in office.caption(
        read_study(tmp_path / "long")
    )
    run(replace(config, budget=500), tmp_path / "short", InProcessEngine())
    told = office.caption(read_study(tmp_path / "short"))
    assert "10,000" not in told
    assert "QL not solved (0 of 1 seed)" in told


def test_the_caption_of_the_sizes_has_the_sizes(tmp_path):
    run(ComplexityConfig(1, most=4), tmp_path, InProcessEngine())
    study = read_study(tmp_path)
    two, four = (study.group("RM", f"{n} items of mail").values[0] for n in (2, 4))
    assert f"{four:.0f} unrolled up to 4, {four / two:.1f} times as many as up to 2" in (
        complexity.caption(study)
    )


@pytest.mark.slow
def test_a_quick_run_is_labelled_as_one(tmp_path):
    config = LetterConfig(1, times=(1,), methods=("planner",)).quick()
    run(config, tmp_path, InProcessEngine())
    study = read_study(tmp_path)
    (path,) = draw_study(study)
    assert "A quick run" in path.with_suffix(".md").read_text()
    write_report([study], tmp_path / "report.html")
    assert "quick run</h2>" in (tmp_path / "report.html").read_text()


def test_methods_of_others_have_looks_of_their_own_that_stay():
    names = [f"method {n}" for n in range(20)] + ["CQL", "QL", "planner"]
    found = style.assign_looks(names)
    assert len(set(found.values())) == len(names)
    assert found == style.assign_looks(reversed(names))
    with style.new_figure(1, 1, names):
        shown = {(style.colour(name), style.marker(name)) for name in names}
        assert len(shown) == len(names)
        assert style.colour("CQL") == style.COLOURS[0]
    few = ["mine", "ours", "yours", "CQL"]  # the first two are of one length
    with style.new_figure(1, 1, few):
        assert len({style.colour(name) for name in few}) == 4
