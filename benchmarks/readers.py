"""Every reader of files and text, with inputs to change: what ``fuzz.py`` runs.

A reader does with an input what a user's command would: it is read, and what comes of it is used.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from text_readers import Reader, texts  # which also finds the next

# isort: split
from support.mutations import (
    NASTY,
    mutate_array,
    mutate_bytes,
    mutate_document,
    pack_policy,
    write_document,
)

import cranium
from cranium.aamdp import BoxEncoding
from cranium.episodes import load_episode, record, save_episode
from cranium.experiments import Store
from cranium.experiments.records import FORMAT, DamagedRecordWarning
from cranium.experiments.results import format_summary, read_study, summary_to_dict, to_rows
from cranium.paper import ComplexityConfig, LetterConfig, OfficeConfig
from cranium.tables.configurations import reachable_configurations
from cranium.worlds import LetterEnv, PointWorld


def readers() -> dict[str, Reader]:
    """All of them, by name."""
    return {**dict(texts()), **dict(_policies()), **dict(_episodes()), **dict(_results())}


# Policies


def _table() -> cranium.Policy:
    env = LetterEnv.experiment(1)
    machine = cranium.library.load("anbcdn")
    known = tuple(reachable_configurations(machine, 1)[:4])
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
        features, outputs = (
            len(encoding.encode_configuration(machine.start)),
            4 if name == "network" else 2,
        )
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
                found = record(
                    gym.make(name), lambda *_, action=action: action, max_steps=4, **told
                )
            save_episode(found, path)
            documents.append(json.loads(path.read_text("utf-8")))
    settings = ["times", "mail", "layout", "start", "speed", "balls", "size", "map_seed", "x",
    "observation",
                "actions", "wood", "radius", "noise", "regions", "name", "render_mode", "slip",
                "grass"]  # fmt: skip

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
        manifest = config.study().manifest(Store(folder))
        (folder / "experiment.json").write_text(manifest.to_json())
    manifests = [config.study().manifest(Store(Path("nowhere"))).to_data() for config in configs]

    def make_manifest(rng: random.Random) -> bytes:
        content = write_document(mutate_document(rng.choice(manifests), rng)).encode()
        return mutate_bytes(content, rng) if rng.random() < 0.05 else content

    def read_manifest(content: bytes, path: Path) -> None:
        folder = path.parent / "study"
        folder.mkdir(exist_ok=True)
        (folder / "experiment.json").write_bytes(content)
        _use(folder)

    yield "experiment.json", Reader(make_manifest, read_manifest, ".json", 4)

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
            "samples": 200, "taken": 300, "episodes": 7, "overflows": 0,
            "success": {"1 item": 1.0}, "returns": {"1 item": 1.0}, "lengths": {"1 item": 9.0},
            "curve": [[100, 0.5, 0.1, 9.0], [200, 1.0, 0.5, 9.0]],
        }  # fmt: skip
        for key in rng.sample(sorted(found), rng.randrange(4)):
            del found[key]
    return {
        "config": job.trial.data, "key": job.trial.key, "seed": job.seed,
        "status": rng.choice(["done", "done", "failed"]),
        "result": found, "error": None, "wall": 0.1, "cpu": 0.1, "versions": {"cranium": "0"},
        "platform": "x",
    }  # fmt: skip


def _use(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedRecordWarning)
        study = read_study(folder)
        to_rows([study])
        for group in (*study.groups, *study.sums):
            summary_to_dict(group)
            format_summary(group)
