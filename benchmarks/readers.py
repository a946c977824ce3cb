"""Every reader of files and text, with inputs to change: what ``fuzz.py`` runs.

A reader does with an input what a user's command would: it is read, and what comes of it is used.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from mutations import (
    NASTY,
    mutate_array,
    mutate_bytes,
    mutate_document,
    mutate_text,
    pack_policy,
    write_document,
)

import cranium
from cranium.aamdp import BoxEncoding
from cranium.assist.plan import language_of, parse_plan
from cranium.assist.transcript import Transcript
from cranium.assist.written import parse_automaton
from cranium.automata.alphabet import parse_word
from cranium.cli.asking import _read_events
from cranium.compiled.tables import reachable
from cranium.experiments import ComplexityConfig, LetterConfig, OfficeConfig, Store, load_configs
from cranium.experiments.configs import config_data
from cranium.experiments.reading import cells, read_study, rows, summary_data
from cranium.experiments.records import FORMAT, DamagedRecordWarning
from cranium.experiments.totals import totals
from cranium.languages import parse_language
from cranium.replay import load_episode, record, save_episode
from cranium.worlds import LetterEnv, PointWorld

EVENTS = ["mail", "person", "decoration", "M", "P", "a", "b"]


class Reader(NamedTuple):
    """A reader, and what it is given.

    Attributes:
        make: An input: bytes, made with random numbers.
        read: Read it, and use what comes of it. The path is that of a file with the input.
        ending: How the name of the file ends.
        share: How many of the inputs it gets, against others.
    """

    make: Callable[[random.Random], bytes]
    read: Callable[[bytes, Path], Any]
    ending: str
    share: int = 1


def readers() -> dict[str, Reader]:
    """All of them, by name."""
    return {**dict(_texts()), **dict(_policies()), **dict(_episodes()), **dict(_results())}


# Text


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _changed(seeds: list[str], snippets: list[str] | None = None) -> Callable[..., bytes]:
    def make(rng: random.Random) -> bytes:
        more = {} if snippets is None else {"snippets": snippets}
        repeats = rng.choice([*[(1, 1, 1, 3)] * 6, (1, 40), (1, 500)])
        text = mutate_text(rng.choice(seeds), rng, repeats=repeats, **more)
        content = text.encode("utf-8", "surrogatepass")
        return mutate_bytes(content, rng) if rng.random() < 0.05 else content

    return make


def _load(ending: str) -> Callable[[bytes, Path], Any]:
    def read(_: bytes, path: Path) -> Any:
        machine = cranium.load(path)
        machine.run([])
        return cranium.dumps(machine)

    return read


def _compile(content: bytes, _: Path) -> Any:
    return cranium.compile_language(parse_language(_text(content)))


def _read_plan(content: bytes, _: Path) -> Any:
    return cranium.compile_language(language_of(parse_plan(_text(content), EVENTS)))


def _read_configs(_: bytes, path: Path) -> None:
    for config in load_configs(path):
        config.cpu_seconds()
        config.quick()


SHAPES = [
    "*", "+", "?", "^N", "^M", "^2", "^(N+1)", "^999", "{2,3}", "{0,99}", "{50,}", "|", "&", "(", ")", " A", " B",
    " where N >= 0", " where N > M", " never D", " shuffle ", " finally ", "A^N B^N ", "(A | B)", "{", "}", "99999",
]  # fmt: skip
REPLIES = [
    "δ(q0, M) → q1, δ(q1, P) → q2. The accepting state is q2.",
    "q0 --M--> q1\nq1 --P--> q2\nInitial state: q0\nAccepting: q2",
    "| state | M | P |\n|---|---|---|\n| q0 | q1 | q0 |\n| q1 | q1 | q2 |\nF = {q2}",
    "In state q0: on input M, move to state q1.\nIn state q1: on input P, move to q2.\nq2 is final.",
]
PLANS = [
    '{"steps": [{"phrase": "mail", "events": ["mail"], "how": "sequence", "count": "N"}, '
    '{"events": ["person"], "count": "N+1"}], "forbidden": ["decoration"], "success": 1.0}',
    'I think:\n```json\n{"steps": [{"events": ["a", "b"], "how": "any order", "count": "at most 3"}, '
    '{"events": ["mail"], "how": "choice", "count": "2+"}], "step_cost": 0.1}\n```',
]
PLAN_PARTS = [
    '"count": "99+"', '"count": "999"', '"count": "at most 99"', '"how": "any order"', '"how": "choice"', "{", "}",
    "[", "]", '"', ",", '{"events": ["a", "b", "mail"], "how": "any order", "count": "9N+9"}, ', "1e999", "\\",
    '{"events": ["a"], "count": "0+"},', '{"events": ["a", "b"], "how": "choice", "count": "50+"},', "N", "null",
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

[natural-language]
description = "Collect one item of mail."
"""
TOML_PARTS = [
    "=", "[", "]", "[[", "]]", "{", "}", ",", ".", '"', "'", '"""', "\n", "#", "\x00", "é", "0", "-1", "9" * 9,
    "9" * 30, "9" * 5000, "1e9", "inf", "nan", "1979-05-27", "true", "[letter]\n", "trials", "most", "times",
    "methods", "budget", "a.b", "a." * 50, "0x", "_", " ",
]  # fmt: skip
TORO_ICARTE = """0 # initial state
[2] # terminal state
(0,0,'!f&!n',ConstantRewardFunction(0))
(0,1,'f&!n',ConstantRewardFunction(0))
(1,2,'g&!n',ConstantRewardFunction(1))
"""
LANGUAGES = [
    "(A^N B)^2 C^(N+1) | D{2,3}* where N >= 0 never E", "A^N B^M C^N D^M", "(A | B C)^N D (E F)^N",
    "A+ B* C{2,5} D", "A^N B^N C^N A^N B^N C^N D", "(A B){3,} C", "A shuffle B C", "A^2 (B | C)^N D^N finally E",
]  # fmt: skip


def _texts() -> Iterator[tuple[str, Reader]]:
    names = ("anbcn", "office", "mail-delivery", "craft-planks", "toro-patrol")
    machines = [cranium.library.load(name) for name in names]
    for form, ending in (("yaml", ".yaml"), ("json", ".json")):
        texts = [cranium.dumps(machine, form=form) for machine in machines]
        yield f"machine ({form})", Reader(_changed(texts), _load(ending), ending, 12)
    yield "machine (Toro Icarte)", Reader(_changed([TORO_ICARTE]), _load(".txt"), ".txt", 8)
    parts = ["A", "B", "(", ")", "!", "&", "|", "true", "not ", "and ", "¬", "\n", "((((", "!!!!"]
    formulas = ["!(A & B) | C and not (D or true)", "a&b&c|(!d)", "¬A ∧ B ∨ (C | D)"]

    def parse(content: bytes, _: Path) -> Any:
        return cranium.parse_formula(_text(content)).propositions

    yield "formula", Reader(_changed(formulas, parts), parse, ".txt", 8)
    words = ["A {B, C} {} D", "a b c", "{} {} x{1}"]
    word = Reader(_changed(words), lambda content, _: parse_word(_text(content)), ".txt", 8)
    yield "word", word
    yield "language", Reader(_changed(LANGUAGES, SHAPES), _compile, ".txt", 12)
    yield "plan in a reply", Reader(_changed(PLANS, PLAN_PARTS), _read_plan, ".txt", 8)
    reply = lambda content, _: parse_automaton(_text(content), EVENTS)  # noqa: E731
    more = [
        "δ(",
        "q0",
        "q1",
        "->",
        " or ",
        "M",
        "P",
        "|",
        "\n",
        "state ",
        "accepting",
        "(",
        ")",
        "--",
        "a_",
    ]
    yield "automaton in a reply", Reader(_changed(REPLIES, more), reply, ".txt", 8)
    events = "mail: an item of mail is collected\nperson: it is delivered\ndecoration: broken\n"
    yield "events", Reader(_changed([events]), lambda _, path: _read_events(path), ".yaml", 4)
    yield "TOML", Reader(_changed([TOML], TOML_PARTS), _read_configs, ".toml", 6)
    told = (Path(__file__).parents[1] / "tests/assist/recorded.jsonl").read_text("utf-8")
    lines = ["\n".join(told.splitlines()[:count]) for count in (1, 2, 4)]
    replay = lambda _, path: Transcript(mode="replay", path=path)  # noqa: E731
    yield "transcript", Reader(_changed(lines), replay, ".jsonl", 4)


# Policies


def _table() -> cranium.Policy:
    env = LetterEnv.experiment(1)
    machine = cranium.library.load("anbcdn")
    known = tuple(reachable(machine, 1)[:4])
    seen = (env.reset(seed=0)[0], *(np.array([row, 0, 1]) for row in range(2)))
    q = np.arange(len(seen) * len(known) * 4.0).reshape(len(seen), len(known), 4)
    about = {"learner": "ql", "recipe": {"world": "Letter", "options": {"times": [1, 1]}}}
    return cranium.Policy(
        q, seen, known, machine, observation_space=env.observation_space, about=about
    )


def _networks() -> Iterator[tuple[str, Any]]:
    """Policies of networks; they are only made, not trained."""
    from cranium.learners.deep.network import Network
    from cranium.learners.deep.policy import ActorPolicy, NetworkPolicy

    for name, world, task in (
        ("network", LetterEnv.experiment(1), "anbcdn"),
        ("actor", PointWorld(), "point-visit"),
    ):
        machine, encoding = cranium.library.load(task), BoxEncoding()
        encoding.bind(world.observation_space, machine, 5)
        features, outputs = len(encoding.machine_part(machine.start)), 4 if name == "network" else 2
        shapes = [(encoding.width, 4), (features, 4), (4,), (4, outputs), (outputs,)]
        ground, part, bias, weights, last = (np.full(shape, 0.1, np.float32) for shape in shapes)
        network = Network(ground, part, bias, ((weights, last),))
        if name == "network":
            yield name, NetworkPolicy(network, encoding, machine, outputs)
        else:
            ends = np.full(2, -1, np.float32), np.full(2, 1, np.float32)
            yield name, ActorPolicy(network, encoding, machine, *ends)


def _policies() -> Iterator[tuple[str, Reader]]:
    made = [("table", _table()), *_networks()]
    for name, policy in made:
        with tempfile.TemporaryDirectory() as folder:
            policy.save(Path(folder) / "agent.npz")
            with np.load(Path(folder) / "agent.npz") as stored:
                arrays = dict(stored)
        world = PointWorld() if name == "actor" else LetterEnv.experiment(1)
        yield f"policy ({name})", _policy_reader(arrays, world, policy.automaton)


def _policy_reader(arrays: dict[str, Any], world: Any, machine: Any) -> Reader:
    about = json.loads(str(arrays.pop("about")))
    env = cranium.product(world, machine, horizon=30)

    def make(rng: random.Random) -> bytes:
        told, given = about, dict(arrays)
        choice = rng.random()
        if choice < 0.75:
            told = mutate_document(about, rng)
        elif choice < 0.9:
            key = rng.choice(sorted(given))
            given[key] = mutate_array(given[key], rng)
        content = pack_policy(told, given)
        return mutate_bytes(content, rng) if choice >= 0.9 else content

    def read(_: bytes, path: Path) -> None:
        policy: Any = cranium.Policy.load(path)
        observation, info = env.reset(seed=0)
        policy.act(observation, info)
        policy.act(env.ground, info)
        assert policy.action_space is not None
        cranium.Policy.load(path, env)

    return Reader(make, read, ".npz", 12)


# Episodes


def _episodes() -> Iterator[tuple[str, Reader]]:
    made = {
        "Letter": ("cranium/Letter-anbcdn-v0", {"settings": {"times": (1, 5)}}, 0),
        "Office": ("cranium/Office-mail-delivery-v0", {"settings": {"mail": 1}}, 0),
        "CraftCount": ("cranium/CraftCount-planks-v0", {}, 0),
        "Point": ("cranium/Point-visit-v0", {}, [0.5, -0.5]),
        "Water": ("cranium/Water-red-green-v0", {}, 0),
        "": ("cranium/Letter-anbcdn-v0", {}, 0),
    }
    documents = []
    with tempfile.TemporaryDirectory() as folder:
        for world, (name, more, action) in made.items():
            path = Path(folder) / "episode.json"
            told = {**more, **({"world": world} if world else {})}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = record(gym.make(name), lambda *_, action=action: action, most=4, **told)
            save_episode(found, path)
            documents.append(json.loads(path.read_text("utf-8")))
    settings = ["times", "mail", "layout", "start", "speed", "balls", "size", "map_seed", "x", "observation",
                "actions", "wood", "radius", "noise", "regions", "name", "render_mode", "slip", "grass"]  # fmt: skip

    def make(rng: random.Random) -> bytes:
        document = rng.choice(documents)
        if rng.random() < 0.3:  # what the world is made with is where most goes wrong
            numbers = [*NASTY, 2, 3, 1000, 10**6, [1, 10**6], [2, 3], 0.1, "paper", "small"]
            given = {rng.choice(settings): rng.choice(numbers)}
            changed = {**document, rng.choice(["settings", "options"]): given}
        else:
            changed = mutate_document(document, rng)
        content = write_document(changed).encode()
        return mutate_bytes(content, rng) if rng.random() < 0.05 else content

    yield "episode", Reader(make, lambda _, path: load_episode(path), ".json", 8)


# Results


def _results() -> Iterator[tuple[str, Reader]]:
    configs = [
        ComplexityConfig(1, most=2),
        OfficeConfig(1, mail=1, methods=("QL", "planner"), tuning_trials=1, budget=300),
        LetterConfig(1, times=(1,), methods=("CQL", "planner"), tuning_trials=1),
    ]
    folders = [Path(tempfile.mkdtemp(prefix="cranium-fuzz-")) for _ in configs]
    for config, folder in zip(configs, folders, strict=True):
        (folder / "experiment.json").write_text(json.dumps(config_data(config)))

    def make_settings(rng: random.Random) -> bytes:
        content = write_document(mutate_document(config_data(rng.choice(configs)), rng)).encode()
        return mutate_bytes(content, rng) if rng.random() < 0.05 else content

    def read_settings(content: bytes, path: Path) -> None:
        folder = path.parent / "study"
        folder.mkdir(exist_ok=True)
        (folder / "experiment.json").write_bytes(content)
        _use(folder)

    yield "experiment.json", Reader(make_settings, read_settings, ".json", 4)

    jobs = [
        list(config.jobs(Store(folder))) for config, folder in zip(configs, folders, strict=True)
    ]

    def make_record(rng: random.Random) -> bytes:
        study = rng.randrange(len(configs))
        job = rng.randrange(len(jobs[study]))
        data = _record(jobs[study][job], rng)
        if rng.random() < 0.7:  # mostly what was found
            data["result"] = mutate_document(data["result"], rng)
        else:
            data = mutate_document(data, rng)
        told = {"format": FORMAT, "checksum": _checksum(data), "record": data}
        content = write_document(told).encode()
        content = mutate_bytes(content, rng) if rng.random() < 0.05 else content
        return f"{study} {job}\n".encode() + content

    def read_record(content: bytes, _: Path) -> None:
        place, _, raw = content.partition(b"\n")
        study, job = map(int, place.split())
        path = Store(folders[study]).path(jobs[study][job])
        path.write_bytes(raw)
        try:
            _use(folders[study])
        finally:
            path.unlink()

    yield "record", Reader(make_record, read_record, ".json", 4)


def _checksum(data: Any) -> str:
    text = write_document(data)
    try:
        text = json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return ""
    return hashlib.sha256(text.encode()).hexdigest()


def _record(job: Any, rng: random.Random) -> dict[str, Any]:
    """A record such as the trial could have written."""
    found: dict[str, Any] = {"states": 4, "transitions": 9}
    if job.trial.experiment != "complexity":
        found = {
            "samples": 200, "taken": 300, "episodes": 7, "overflows": 0, "success": {"1 item": 1.0}, "streak": 3,
            "values": [0.5], "optimum": [0.7], "curve": [[100, 0.5, 0.1], [200, 1.0, 0.5]], "rates": [[100, 0.5]],
            "elsewhere": {"2 items": 0.5},
        }  # fmt: skip
        for key in rng.sample(sorted(found), rng.randrange(4)):
            del found[key]
    return {
        "config": job.trial.data, "key": job.trial.key, "seed": job.seed, "status": rng.choice(["done", "done", "failed"]),
        "result": found, "error": None, "wall": 0.1, "cpu": 0.1, "versions": {"cranium": "0"}, "platform": "x",
    }  # fmt: skip


def _use(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedRecordWarning)
        study = read_study(folder)
        rows([study])
        for group in (*study.groups, *totals(study)):
            summary_data(group)
            cells(group)
