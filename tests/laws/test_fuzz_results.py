"""Result folders and configs meet thousands of mutated inputs: only our own errors come out.

A record is written with a valid checksum after it was mutated, so that its shape is what is
tested, and everything is done with it that the commands do: tables, figures, captions, the page.
"""

from __future__ import annotations

import json
import random
import shutil
import tracemalloc
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from support.engines import InProcessEngine

from cranium.errors import CraniumError, FileFormatError
from cranium.experiments import DamagedRecordWarning, Store
from cranium.experiments.manifest import MOST_BYTES
from cranium.experiments.records import FORMAT, _checksum
from cranium.experiments.results import (
    format_summary,
    read_study,
    summary_to_dict,
    to_rows,
)
from cranium.figures.page import write_report
from cranium.paper import (
    ComplexityConfig,
    LetterConfig,
    NaturalLanguageConfig,
    OfficeConfig,
    RewardMachinesConfig,
    list_experiments,
    load_configs,
    make_config,
    run,
)
from cranium.paper.config import MAX_TOML

pytestmark = pytest.mark.slow

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 7, 10**9, 10**18, 10**30, 0.5, -0.0, 1e300, float("inf"), float("nan"),
    "", "x", "CQL", "\ud800", "3", [], [1], [[]], [[1, 2]], [[1, 2, 3], [4]], {}, {"a": 1}, {"a": None},
    {"samples": 3}, [None], ["done"], "failed", "done",
]  # fmt: skip
STUDIES = {
    "letter": LetterConfig(2, times=(1, 2), methods=("CQL", "CRM", "planner"), tuning_trials=1),
    "paper": LetterConfig(1, protocol="paper", times=(1,), methods=("CQL",)),
    "office": OfficeConfig(1, mail=1, methods=("QL", "planner"), tuning_trials=1, budget=300),
    "complexity": ComplexityConfig(1, most=2),
    "reward-machines": RewardMachinesConfig(
        1, methods=("QL", "HRM"), cases=("all four",), budget=3_000
    ),
    "natural-language": NaturalLanguageConfig(
        1, methods=("planner", "QL"), tuning_trials=1, budget=500
    ),
}
ROUNDS = {"record": 30, "settings": 150}
DRAWN = 10
"""The figures and the page are made for every tenth: they take most of the time."""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in plain data; of long lists only the first."""
    found = [path]
    if isinstance(value, dict):
        for key, each in value.items():
            found += places(each, (*path, key))
    if isinstance(value, list):
        for index, each in enumerate(value[:3]):
            found += places(each, (*path, index))
    return found


def mutated(data: Any, rng: random.Random) -> Any:
    """Plain data in which something is replaced, left out, or added."""
    data = json.loads(json.dumps(data))
    for _ in range(rng.choice([1, 1, 2])):
        *way, last = rng.choice(places(data)[1:] or [("x",)])
        inside = data
        for key in way:
            inside = inside[key]
        choice = rng.random()
        if choice < 0.2 and isinstance(inside, dict | list):
            del inside[last]
        elif choice < 0.3 and isinstance(inside, dict):
            name = rng.choice(["x", "samples", "states", "trials", "most"])
            inside[name] = deepcopy(rng.choice(VALUES))
        else:
            inside[last] = deepcopy(rng.choice(VALUES))
        if not isinstance(data, dict) or not data:
            return data
    return data


def use(folder: Path, *, draw: bool) -> None:
    """What ``results`` and ``report`` do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedRecordWarning)
        study = read_study(folder)
        to_rows([study])
        for group in (*study.groups, *study.sums):
            summary_to_dict(group)
            format_summary(group)
        if draw:
            write_report([study], folder / "report.html")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Small experiments that are done, each in a folder of its own."""
    made = {}
    for name, config in STUDIES.items():
        made[name] = tmp_path_factory.mktemp("study") / name
        assert run(config, made[name], InProcessEngine()).failed == []
    return made


@pytest.mark.parametrize("name", STUDIES)
def test_mutated_records_are_read_or_refused_with_our_own_error(name, finished, tmp_path):
    rng = random.Random(name)
    kept = sorted(finished[name].glob("*-*.json"))
    for number in range(ROUNDS["record"]):
        folder = tmp_path / str(number)
        shutil.copytree(finished[name], folder)
        for path in rng.sample(kept, k=min(len(kept), rng.choice([1, 3, len(kept)]))):
            data = json.loads(path.read_bytes())["record"]
            if rng.random() < 0.7 and data["result"]:  # mostly what was found
                data["result"] = mutated(data["result"], rng)
            else:
                data = mutated(data, rng)
            told = {"format": FORMAT, "checksum": _checksum(data), "record": data}
            (folder / path.name).write_text(json.dumps(told))
        attempt(lambda folder=folder, n=number: use(folder, draw=n % DRAWN == 0), folder)


@pytest.mark.parametrize("name", STUDIES)
def test_mutated_settings_are_read_or_refused_with_our_own_error(name, finished, tmp_path):
    rng = random.Random(name)
    folder = tmp_path / name
    shutil.copytree(finished[name], folder)
    manifest = json.loads((folder / "experiment.json").read_text())
    good = bad = 0
    for number in range(ROUNDS["settings"]):
        data = mutated(manifest, rng)
        (folder / "experiment.json").write_text(json.dumps(data))
        worked = attempt(lambda n=number: use(folder, draw=n % DRAWN == 0), data)
        good, bad = good + worked, bad + (not worked)
    assert good > 5, "the mutations are too wild to test anything but refusal"
    assert bad > 50, "the mutations are too tame"


SNIPPETS = [
    "=", "[", "]", "[[", "]]", "{", "}", ",", ".", '"', "'", '"""', "\n", "#", "\x00", "é", "0", "-1", "9" * 9,
    "9" * 30, "9" * 5000, "1e9", "inf", "nan", "1979-05-27", "true", "[letter]\n", "trials", "most", "times",
    "methods", "budget", "a.b", "a." * 50, "0x", "0x" + "f" * 5000, "_", " ",
]  # fmt: skip
TOML = """[letter]
trials = 2
times = [1, 2]
methods = ["CQL", "planner"]
tuning_trials = 1
budget = 1_000

[complexity]
most = 3

[office]
mail = 2

[deep]
times = 2
cases = ["letters, N drawn"]

[reward-machines]
budget = 500

[natural-language]
description = "Collect one item of mail."
"""


def test_mutated_toml_is_read_or_refused_with_our_own_error(tmp_path):
    rng = random.Random(0)
    path, store = tmp_path / "mine.toml", Store(tmp_path)
    good = bad = 0
    for _ in range(4_000):
        text = TOML
        for _ in range(rng.randint(1, 3)):
            start = rng.randrange(len(text) + 1)
            end = min(len(text), start + rng.choice([0, 0, 1, 2, 10]))
            text = text[:start] + rng.choice(SNIPPETS) * rng.choice([1, 1, 4]) + text[end:]
        path.write_text(text)

        def read() -> None:
            for config in load_configs(path):
                config.cpu_seconds()
                config.quick()

        worked = attempt(read, text)
        good, bad = good + worked, bad + (not worked)
    assert good > 100
    assert bad > 500
    assert store.folder == tmp_path


def attempt(what: Any, given: object) -> bool:
    """Whether it worked; anything but an error of ours is a failure."""
    try:
        what()
    except CraniumError as error:
        assert str(error)
        return False
    except Exception as error:
        pytest.fail(f"{type(error).__name__}: {error} on {str(given)[:2000]}", pytrace=True)
    return True


# Small inputs that would take memory or time

LARGE = [
    ("complexity", "most", 10**9),
    ("complexity", "trials", 10**8),
    ("letter", "trials", 10**8),
    ("letter", "tuning_trials", 10**8),
    ("letter", "budget", 10**30),
    ("letter", "times", [21]),
    ("office", "mail", 10**8),
    ("office", "tuning_trials", 10**8),
    ("office", "budget", 10**30),
    ("deep", "times", 10**8),
    ("deep", "letters", 10**30),
    ("reward-machines", "budget", 10**30),
    ("natural-language", "tuning_trials", 10**8),
]


@pytest.mark.parametrize(("name", "field", "value"), LARGE)
def test_numbers_that_would_fill_the_memory_are_refused_before_the_work(
    name, field, value, tmp_path
):
    (tmp_path / "mine.toml").write_text(f"[{name}]\n{field} = {value}\n")
    tracemalloc.start()
    try:
        for read in (
            lambda: load_configs(tmp_path / "mine.toml"),
            lambda: make_config(name, {field: value}),
        ):
            with pytest.raises(CraniumError, match=r"at most|less than|valid"):
                read()
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "change",
    [
        {"rows": [{"seeds": 10**8}]},
        {"rows": [{"seeds": 10**15}]},
        {"rows": [{"seeds": 600_000}, {"seeds": 600_000}]},
        {"rows": [{"first_seed": -1}]},
        {"rows": [{"key": "../x"}]},
        {"options": {"most": 10**9}},
        {"options": {"trials": 10**8}},
    ],
)
def test_a_manifest_that_would_fill_the_memory_is_refused_before_the_work(change, tmp_path):
    row = {"key": "abc", "method": "CRA", "case": "any N", "stage": "final", "first_seed": 0,
           "seeds": 1}  # fmt: skip
    told = ComplexityConfig(most=2).study().manifest(Store(tmp_path)).to_data()
    more = {"rows": [{**row, **each} for each in change.get("rows", [])]} | {
        name: value for name, value in change.items() if name != "rows"
    }
    (tmp_path / "experiment.json").write_text(json.dumps({**told, **more}))
    tracemalloc.start()
    try:
        with pytest.raises(CraniumError):
            use(tmp_path, draw=True)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_manifest_that_cannot_be_read_is_told_with_one_place_and_one_fix(tmp_path):
    (tmp_path / "experiment.json").write_text('{"experiment": "study", "format": 2, "study": 5}')
    with pytest.raises(FileFormatError) as refused:
        read_study(tmp_path)
    assert str(refused.value).count("experiment.json") == 1
    assert str(refused.value).count("fix:") == 1


def test_the_largest_config_that_is_allowed_can_be_listed(tmp_path):
    """The limits are low enough: at all of them, the jobs of every experiment fit."""
    most = {
        "letter": {"trials": 1000, "tuning_trials": 100, "times": list(range(1, 21))},
        "complexity": {"trials": 1000, "most": 200},
        "office": {"trials": 1000, "tuning_trials": 100, "mail": 20},
        "deep": {"trials": 1000, "times": 20},
        "reward-machines": {"trials": 1000},
        "natural-language": {"trials": 1000, "tuning_trials": 100},
    }
    assert set(most) == set(list_experiments())
    for name, settings in most.items():
        jobs = make_config(name, settings).jobs(Store(tmp_path))
        assert len(jobs) <= 500_000


@pytest.mark.parametrize("name", ["experiment.json", "mine.toml"])
def test_a_file_that_is_too_large_is_refused_by_its_size(name, tmp_path):
    path = tmp_path / name
    path.write_text('{"experiment": "letter"}' + " " * MOST_BYTES)
    read = read_study if name == "experiment.json" else lambda folder: load_configs(folder / name)
    with pytest.raises(CraniumError, match=r"more than 20,000,000 bytes|more than 16 KiB"):
        read(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "[letter]\n" + "a." * 7_920 + "a = 1",
        "[" + "a." * 7_920 + "a]",
        "[letter]\ntimes = [" + "1," * 7_920 + "1]",
        "[letter]\ntrials = " + "1" * 15_920,
        "[letter]\ntrials = 0x" + "f" * 15_920,
        "[letter]\nmethods = [{ a = 0b" + "1" * 15_920 + " }]",
        "[letter]\nmethods = [" + '"QL",' * 3_120 + "]",
        "".join(f"[a.b{n}]\n" for n in range(1_600)),
        "[[letter]]\n" * 1_440,
        '[letter]\nprotocol = """' + '\\"' * 7_920 + '"""',
    ],
    ids=[
        "dotted",
        "table",
        "array",
        "digits",
        "hex",
        "binary",
        "names",
        "tables",
        "arrays",
        "escapes",
    ],
)
def test_slow_toml_is_refused_and_not_even_parsed_if_it_is_large(text, tmp_path, monkeypatch):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    assert path.stat().st_size <= MAX_TOML
    with pytest.raises(CraniumError):
        load_configs(path)
    monkeypatch.setattr("tomllib.loads", lambda _: pytest.fail("it was parsed"))
    path.write_text(text.ljust(MAX_TOML + 1))
    with pytest.raises(FileFormatError, match="more than 16 KiB"):
        load_configs(path)
