"""Studies as values: their trials, keys, folders, tuning, measures and reports."""

from __future__ import annotations

import dataclasses
import functools
import json
import statistics
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest
from support.warehouse import replace_text, write_warehouse

import cranium
from cranium import Grid, Optuna, Study
from cranium.errors import CraniumError, InvalidArgumentError
from cranium.experiments import LocalEngine, RunCallback, Store
from cranium.experiments.measures import MEASURES
from cranium.experiments.records import Record
from cranium.experiments.results import read_study
from cranium.experiments.trial import Job, run_trial
from cranium.figures.study import caption
from cranium.learners import TabularConfig
from cranium.studies import load_study
from cranium.studies.contenders import ABSENT, used_settings

LETTER = ("Letter", "A B C D")


def make_study(**changes: Any) -> Study:
    given: dict[str, Any] = {
        "name": "letters",
        "problems": {"one": LETTER},
        "learners": {"planner": "planner"},
        "seeds": 2,
        "steps": 1_000,
    }
    given |= changes
    return Study(given.pop("name"), given.pop("problems"), given.pop("learners"), **given)


def keys(study: Study) -> set[str]:
    return {job.name for job in study.trials}


@pytest.fixture(autouse=True)
def no_modules_stay() -> Iterator[None]:
    """Studies in files put their folder on the path, and their modules among the loaded ones."""
    path, names = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - names:
        if name == "warehouse" or name.startswith("cranium_study_"):
            del sys.modules[name]


def keys_of_file(file: Path) -> dict[tuple[str, str], set[str]]:
    sys.modules.pop("warehouse", None)
    sys.path_importer_cache.clear()
    for cache in file.parent.glob("__pycache__/*"):
        cache.unlink()
    found: dict[tuple[str, str], set[str]] = {}
    for job in load_study(file).trials:
        found.setdefault((job.trial.method, job.trial.case), set()).add(job.name)
    return found


@pytest.mark.parametrize(
    ("file", "before", "after", "changed"),
    [
        ("warehouse.py", "exploration=0.2", "exploration=0.3", {"mine"}),
        ("warehouse.py", "rate = 0.5", "rate = 0.25", {"mine"}),
        ("warehouse.py", "0.9 * max(follow)", "0.8 * max(follow)", {"mine"}),
        ("warehouse.py", "self.size // 2", "self.size // 3", {"mine", "CQL"}),
        ("parcels.py", "following == 0", "following <= 0", {"mine", "CQL"}),
        ("parcels.py", '"shelf van"', '"shelf shelf van"', {"mine", "CQL"}),
        ("parcels.py", "horizon=40", "horizon=30", {"mine", "CQL"}),
        ("parcels.py", "steps=400", "steps=500", {"mine", "CQL"}),
        ("parcels.py", "every=100", "every=50", {"mine", "CQL"}),
        ("parcels.py", ': "cql"', ': ("cql", {"shaping": True})', {"CQL"}),
        ("parcels.py", ': "cql"', ': ("cql", {"learning_rate": 0.5})', set()),  # its default
        ("warehouse.py", "Q-learning in a dictionary.", "Another docstring.", set()),
    ],
)
def test_what_a_result_depends_on_makes_a_new_trial_and_nothing_else_does(
    tmp_path: Path, file: str, before: str, after: str, changed: set[str]
) -> None:
    study = write_warehouse(tmp_path)
    old = keys_of_file(study)
    assert keys_of_file(study) == old
    replace_text(tmp_path / file, before, after)
    new = keys_of_file(study)
    assert {method for (method, case) in old if old[method, case] != new[method, case]} == changed


def test_problems_that_differ_only_in_an_argument_have_trials_of_their_own(tmp_path: Path) -> None:
    found = keys_of_file(write_warehouse(tmp_path))
    assert len(set().union(*found.values())) == 8


def test_a_renamed_legend_is_the_same_trial() -> None:
    renamed = make_study(problems={"two": LETTER}, learners={"mine": "planner"}, name="other")
    assert keys(renamed) == keys(make_study())


def test_legends_that_share_trials_are_both_in_the_table_and_run_once(tmp_path: Path) -> None:
    study = make_study(learners={"one": "planner", "other": "planner"})
    result = study.run(tmp_path, workers=1)
    assert (result.ran, result.there) == (2, 0)
    assert [group.method for group in study.results().groups] == ["one", "other"]


def test_a_changed_default_is_a_new_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys(make_study(learners={"CQL": "cql"}))
    entry = cranium.learners.LEARNERS["cql"]
    changed = dataclasses.replace(entry, config=TabularConfig(learning_rate=0.25))
    monkeypatch.setitem(cranium.learners.LEARNERS._known, "cql", changed)  # type: ignore[attr-defined]
    assert keys(make_study(learners={"CQL": "cql"})).isdisjoint(before)


def test_an_added_field_is_no_new_trial_as_long_as_it_means_what_was_done_before() -> None:
    @dataclasses.dataclass(frozen=True)
    class Later(TabularConfig):
        momentum: float = dataclasses.field(default=0.0, metadata={ABSENT: 0.0})

    assert used_settings(Later()) == used_settings(TabularConfig())
    assert used_settings(Later(momentum=0.9))["momentum"] == 0.9


class Setting:
    """A value of the user's, whose text has an address in it."""

    def __init__(self, number: float) -> None:
        self.number = number


class Greedy:
    def __init__(self, problem: Any, *, setting: object = None, train: bool = True) -> None: ...
    def act(self, observation: Any, configuration: int) -> int: ...  # type: ignore[empty-body]
    def observe(self, sample: Any) -> None: ...
    def policy(self) -> Any: ...
    def save(self, path: Any) -> None: ...
    def train(self) -> None:
        """A method that trainers have, too."""


def test_options_of_train_stand_among_the_settings_of_a_learner(tmp_path: Path) -> None:
    study = make_study(
        problems={"any N": "cranium/Letter-anbcdn-v0"},
        learners={
            "plain": "cql",
            "limited": ("cql", {"counter_limit": 1}),
            "in Python": ("cql", {"path": "python", "evaluation_episodes": 2}),
        },
        seeds=1,
        measure="final_success",
    )
    assert len(keys(study)) == 3
    study.run(tmp_path, workers=1)
    records = [group.records[0] for group in study.results().groups]
    assert [record.status for record in records] == ["done"] * 3, [r.error for r in records]
    plain, limited, python = (record.result for record in records)
    assert (plain["path"], python["path"]) == ("compiled", "python")
    assert plain["overflows"] == 0 < limited["overflows"]
    (renamed,) = keys(make_study(learners={"other": ("planner", {})}, seeds=1))
    assert renamed in keys(make_study())


def test_objects_as_settings_are_told_apart_by_their_values_and_not_by_their_address() -> None:
    one, same, other = (
        keys(make_study(learners={"mine": (Greedy, {"setting": Setting(x)})})) for x in (1, 1, 2)
    )
    assert one == same
    assert one.isdisjoint(other)


def test_partial_functions_are_told_apart_by_their_arguments() -> None:
    def make(times: int) -> gymnasium.Env[Any, Any]:
        return gymnasium.make("cranium/Letter-anbcdn-v0", times=times)

    one, same, other = (
        keys(make_study(problems={"a": functools.partial(make, n)})) for n in (1, 1, 2)
    )
    assert one == same
    assert one.isdisjoint(other)


def test_nothing_of_one_trial_reaches_the_next_in_the_same_process() -> None:
    made: list[int] = []

    class Counted(Greedy):
        def __init__(self, problem: Any) -> None:
            made.append(1)

        def act(self, observation: Any, configuration: int) -> int:
            return 0

        def policy(self) -> Any:
            return lambda observation, configuration, rng=None: 0

    study = make_study(learners={"a": Counted}, measure=lambda _: float(len(made)), steps=50)
    found = [run_trial(job.trial, job.seed)["measured"] for job in study.trials]
    assert found == [1.0, 1.0]
    assert made == []


def test_names_and_ids_that_the_file_registers_are_known_to_the_workers(tmp_path: Path) -> None:
    file = write_warehouse(tmp_path)
    replace_text(file, '"mine": Careful', '"mine": "careful-test"')
    replace_text(file, '"large": lambda: make_warehouse(6)', '"large": "Parcels-test-v0"')
    replace_text(
        file,
        "study = ",
        'cranium.learners.register("careful-test", Careful)\n'
        "import gymnasium\n"
        'gymnasium.register("Parcels-test-v0", entry_point=lambda: make_warehouse(6))\n\n'
        "study = ",
    )
    result = load_study(file).run(tmp_path / "records", workers=2)
    assert (result.ran, result.failed) == (8, [])


def test_quick_and_full_runs_and_other_studies_never_share_a_folder(tmp_path: Path) -> None:
    study = make_study()
    study.run(tmp_path / "a", workers=1)
    assert study.quick().folder_name != study.folder_name
    for other in (study.quick(), make_study(name="other")):
        with pytest.raises(InvalidArgumentError, match="holds the results of 'letters'") as said:
            other.run(tmp_path / "a", workers=1)
        assert said.value.fix == "choose another folder (--dir)"
    (tmp_path / "a" / "experiment.json").write_text("damaged")
    with pytest.raises(InvalidArgumentError, match="does not say of which study"):
        make_study(steps=999).run(tmp_path / "a", workers=1)
    assert study.run(tmp_path / "a", workers=1).ran == 0  # its own records
    assert read_study(tmp_path / "a").missing == 0


def test_results_are_read_with_the_manifest_after_the_study_has_changed(tmp_path: Path) -> None:
    study = make_study()
    study.run(tmp_path, workers=1)
    before = study.table()
    changed = make_study(learners={"planner": ("planner", {"patience": 1})}, steps=999)
    assert changed.table(tmp_path) == before
    assert changed.run(tmp_path, workers=1).ran == 2
    assert len(Store(tmp_path).names()) == 4


class Stop(RunCallback):
    """Ctrl-C after so many trials."""

    def __init__(self, after: int) -> None:
        self.after = after

    def finished(self, job: Job, record: Record) -> None:
        self.after -= 1
        if not self.after:
            raise KeyboardInterrupt


TUNED = {"CQL": "cql", "planner": "planner"}


def choose_by_hand(study: Study, folder: Path) -> dict[str, Any]:
    """The setting with the lowest median of samples; an unsolved trial counts as twice the budget."""
    told = json.loads((folder / "experiment.json").read_text())
    scores = {}
    for row in told["rows"]:
        if row["stage"] == "tuning":
            values = []
            for seed in range(row["first_seed"], row["first_seed"] + row["seeds"]):
                record = json.loads((folder / f"{row['key']}-{seed}.json").read_text())["record"]
                values.append(record["result"]["samples"] or 2 * study.steps)
            rank = statistics.median(values) + 1e-6 * statistics.fmean(values)
            scores[rank, len(scores)] = row["settings"]
    return scores[min(scores)]


@pytest.mark.parametrize("kind", ["grid", "optuna"])
def test_tuning_has_its_own_seeds_goes_on_with_equal_candidates_and_takes_the_best(
    tmp_path: Path, kind: str
) -> None:
    if kind == "optuna":
        pytest.importorskip("optuna")
        search: Any = Optuna(trials=6, seeds=2, learning_rate=(0.01, 1.0), exploration=[0.05, 0.3])
    else:
        search = Grid(seeds=2, learning_rate=[0.01, 0.5, 1.0], exploration=[0.05, 0.3])
    study = make_study(learners=TUNED, tune=search, steps=20_000, evaluate_every=100, seeds=2)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    result = study.run(whole, workers=2)
    assert result.ran == 6 * 2 + 2 + 2
    stopped = 0
    while study.run(parts, workers=1, callback=Stop(5)).interrupted:
        stopped += 1
    assert stopped >= 3
    assert Store(parts).names() == Store(whole).names()
    manifests = [(folder / "experiment.json").read_text() for folder in (whole, parts)]
    assert manifests[0] == manifests[1]

    rows = json.loads(manifests[0])["rows"]
    seeds = {
        stage: {
            row["first_seed"] + n
            for row in rows
            if row["stage"] == stage
            for n in range(row["seeds"])
        }
        for stage in ("tuning", "final")
    }
    assert seeds["final"] == {0, 1}
    assert seeds["tuning"].isdisjoint(seeds["final"])
    assert {row["method"] for row in rows if row["stage"] == "tuning"} == {"CQL"}
    [chosen] = [
        row["settings"] for row in rows if (row["stage"], row["method"]) == ("final", "CQL")
    ]
    assert chosen == choose_by_hand(study, whole)

    told = caption(study.results(whole))
    assert "2 seeds that are not reported" in told
    assert "Nothing was tuned for planner." in told
    study.report(tmp_path / "page.html", whole)
    page = (tmp_path / "page.html").read_text()
    assert "What was tried: 6 settings" in page
    assert page.count("learning rate") >= 6


def record_of(**result: Any) -> Record:
    return Record({"steps": 100}, "k", 0, "done", result, None, 3.0, 2.0, {}, "")


@pytest.mark.parametrize(
    ("name", "result", "expected"),
    [
        ("samples_to_solve", {"samples": 40}, 40.0),
        ("samples_to_solve", {"samples": None}, None),
        ("final_success", {"success": {"a": 1.0, "b": 0.5}}, 0.75),
        ("final_return", {"returns": {"a": -1.0, "b": 0.5}}, -0.25),
        # 0 until 20, then 0.5 until 60, then 1 until 100: 0.2 · 0 + 0.4 · 0.5 + 0.4 · 1
        ("area_under_curve", {"curve": [[20, 0.5, 9, 9], [60, 1.0, 9, 9]]}, 0.6),
        ("area_under_curve", {"curve": []}, None),
        ("wall_time", {}, 3.0),
        ("cpu_time", {}, 2.0),
    ],
)
def test_a_measure_is_what_is_computed_by_hand(
    name: str, result: dict[str, Any], expected: float | None
) -> None:
    found = MEASURES[name].read(record_of(**result))
    assert found == (None if expected is None else pytest.approx(expected))


def count_episodes(result: Any) -> float:
    return float(result.episodes)


def test_a_measure_of_ones_own_is_read_from_the_records(tmp_path: Path) -> None:
    study = make_study(measure=count_episodes, until="solved")
    study.run(tmp_path, workers=1)
    [group] = study.results().groups
    assert group.values == tuple(record.result["episodes"] for record in group.records)
    assert study.results().config.measure == "count episodes"
    assert keys(make_study(measure=lambda r: 1.0)).isdisjoint(keys(study))


@pytest.mark.parametrize("value", ["float('nan')", "float('inf')", "'many'", "[1]"])
def test_a_measure_that_is_no_number_is_a_failure_that_is_recorded_and_not_run_again(
    tmp_path: Path, value: str
) -> None:
    study = make_study(measure=eval(f"lambda result: {value}"), seeds=1)
    assert len(study.run(tmp_path, workers=1).failed) == 1
    again = make_study(measure=eval(f"lambda result: {value}"), seeds=1).run(tmp_path, workers=1)
    assert (again.ran, len(again.failed)) == (0, 1)


def test_the_figure_and_the_page_say_the_number_of_seeds_and_escape_names(tmp_path: Path) -> None:
    study = make_study(
        name="a <b> & $\\bar{$",
        problems={"<b>bold</b> $\\x$": LETTER},
        learners={"planner": "planner", "<i> $y": ("planner", {"patience": 2})},
        seeds=3,
    )
    study.run(tmp_path / "records", workers=2)
    study.figure(tmp_path / "f.svg")
    tree = ET.parse(tmp_path / "f.svg")
    comments = (tmp_path / "f.svg").read_text()  # text is drawn as paths, below a comment
    assert tree.getroot().tag.endswith("svg")
    assert "(3 seeds)" in comments
    study.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "Interquartile means over 3 seeds" in page
    assert "&lt;i&gt; $y" in study.table().replace("<", "&lt;").replace(">", "&gt;")


def test_schedules_of_every_kind_are_on_the_page(tmp_path: Path) -> None:
    rates = {
        "visits": cranium.learners.Visits(),
        "schedule": cranium.learners.Schedule(1.0, 0.1, 1_000),
        "number": 0.5,
    }
    study = make_study(
        learners={name: ("cql", {"learning_rate": rate}) for name, rate in rates.items()}, seeds=1
    )
    assert study.run(tmp_path, workers=2).failed == []
    study.report(tmp_path / "page.html")
    assert "1 to 0.1 over 1,000 samples" in (tmp_path / "page.html").read_text()


def test_a_study_in_toml_is_the_same_study_as_in_python(tmp_path: Path) -> None:
    (tmp_path / "letters.toml").write_text(
        "steps = 1000\nseeds = 2\n"
        '[problems]\none = ["Letter", "A B C D"]\n'
        '[learners]\nplanner = "planner"\nCQL = {learner = "cql", shaping = true}\n'
        "[tune]\nseeds = 1\nlearning_rate = [0.1, 1.0]\n"
    )
    found = load_study(tmp_path / "letters.toml")
    same = make_study(
        learners={"planner": "planner", "CQL": ("cql", {"shaping": True})},
        tune=Grid(seeds=1, learning_rate=[0.1, 1.0]),
    )
    assert found.name == "letters"
    assert [job.name for job in found.trials] == [job.name for job in same.trials]


TOML = '[problems]\na = ["Letter", "A B"]\n[learners]\nc = "cql"\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", "]["),
        ("a.toml", ""),
        ("a.toml", TOML),  # no steps
        ("a.toml", "steps = 10\nsteeps = 5\n" + TOML),
        ("a.toml", "steps = 10\nproblems = 5\n"),
        ("a.toml", 'steps = 10\nlearners = {a = 5}\n[problems]\na = ["Letter", "A B"]\n'),
        ("a.toml", 'steps = 10\nlearners = {a = {x = 5}}\n[problems]\na = ["Letter", "A B"]\n'),
        ("a.toml", 'steps = 10\nlearners = {a = "cql"}\n[problems]\na = "os:Env-v0"\n'),
        ("a.toml", "steps = 10\ntune = 5\n" + TOML),
        ("a.toml", "steps = 10\n" + TOML + '[tune]\nsearch = "magic"\n'),
        ("a.toml", "steps = 10\n" + TOML + "[tune]\nlearning_rate = 5\n"),
        ("a.py", "study = 5\n"),
        ("a.py", "study = = 5\n"),
        ("a.py", "import sys\nsys.exit()\n"),
        ("a.py", "raise OSError('no')\n"),
        ("a.py", "import cranium\ncranium.Study('a', {}, {}, steps=5)\n"),
        (
            "a.py",
            "import cranium\na, b = (cranium.Study(x, {'a': ('Letter', 'A B')}, {'c': 'cql'}, steps=5)"
            " for x in 'ab')\n",
        ),
        ("a.txt", ""),
    ],
)
def test_a_file_that_is_no_study_is_an_error_with_a_fix(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(CraniumError) as said:
        load_study(tmp_path / name)
    assert said.value.fix


def test_a_study_of_several_in_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(
        "import cranium\na, b = (cranium.Study(x, {'a': ('Letter', 'A B')}, {'c': 'cql'}, steps=5)"
        " for x in 'xy')\n"
    )
    assert load_study(tmp_path / "two.py", "b").name == "y"
    with pytest.raises(CraniumError, match="makes no study 'c'"):
        load_study(tmp_path / "two.py", "c")
    with pytest.raises(CraniumError) as said:
        load_study(tmp_path / "three.py")
    assert said.value.fix


def raising() -> gymnasium.Env[Any, Any]:
    raise KeyError("nothing")


WORLD = "cranium/Letter-anbcdn-v0"


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"name": 5},
        {"problems": {}},
        {"problems": ["Letter"]},
        {"problems": {5: LETTER}},
        {"problems": {"a": 5}},
        {"problems": {"a": gymnasium.make(WORLD)}},
        {"problems": {"a": (gymnasium.make(WORLD), "A B")}},
        {"problems": {"a": ("Letter", 5)}},
        {"problems": {"a": raising}},
        {"problems": {"a": lambda: None}},
        {"problems": {"a": "FrozenLake-v1"}},
        {"problems": {"a": "NoSuch-v0"}},
        {"problems": {"a": ("Letter", "no such events")}},
        {"learners": {}},
        {"learners": "cql"},
        {"learners": {"a": "cqll"}},
        {"learners": {"a": 5}},
        {"learners": {"a": dict}},
        {"learners": {"a": ("cql", 5)}},
        {"learners": {"a": ("cql", {"speed": 5})}},
        {"learners": {"a": Greedy(SimpleNamespace())}},
        {"measure": "speed"},
        {"measure": 5},
        {"seeds": 10**9},
        {"until": "never"},
        {"tune": 5},
        {"measure": functools.partial(print, file=sys.__stdout__)},
    ],
)
def test_a_study_that_makes_no_sense_is_an_error_with_a_fix(changes: dict[str, Any]) -> None:
    with pytest.raises(CraniumError) as said:
        _ = make_study(**changes).trials
    assert said.value.fix


@pytest.mark.parametrize("count", ["steps", "seeds", "evaluate_every"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "ten", True])
def test_counts_are_whole_numbers(count: str, value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=count):
        make_study(**{count: value})


@pytest.mark.parametrize(
    "make",
    [
        Grid,
        lambda: Grid(learning_rate=[]),
        lambda: Grid(learning_rate="abc"),
        lambda: Grid(learning_rate=0.5),
    ],
)
def test_a_grid_that_makes_no_sense_is_an_error_with_a_fix(make: Any) -> None:
    with pytest.raises(InvalidArgumentError) as said:
        make()
    assert said.value.fix


@pytest.mark.parametrize("axis", [(1.0, 0.1), (1, 2, 3), [], 5, ("a", "b")])
def test_a_range_that_makes_no_sense_is_an_error_with_a_fix(axis: Any) -> None:
    pytest.importorskip("optuna")
    with pytest.raises(InvalidArgumentError) as said:
        Optuna(learning_rate=axis)
    assert said.value.fix


def test_an_unknown_engine_is_an_error_with_a_fix(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="slurm") as said:
        make_study().run(tmp_path / "a", "slurm")  # type: ignore[arg-type]
    assert said.value.fix
    with LocalEngine(1) as engine:
        assert make_study().run(tmp_path / "a", engine).ran == 2
    assert read_study(tmp_path / "a").missing == 0
