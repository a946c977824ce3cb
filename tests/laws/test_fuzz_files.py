"""Mutated policy and episode files: nothing but our own errors comes out, and nothing takes memory.

Real files are taken apart, and some values are replaced by what nobody would write: infinities,
numbers below zero or beyond any memory, other types, deep nesting. What still loads is used, too.
"""

from __future__ import annotations

import io
import json
import random
import tracemalloc
import zipfile

import gymnasium as gym
import numpy as np
import pytest
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
from cranium.errors import CraniumError, FileFormatError
from cranium.worlds import LetterEnv, PointWorld

pytestmark = pytest.mark.slow

MOST_MEMORY = 256 << 20


# Policies


def letter(**more):
    machine = cranium.library.load("anbcdn")
    return cranium.product(LetterEnv.experiment(1), machine, horizon=30, counter_limit=2, **more)


class Dictionary(gym.Env):
    """Observations that are dictionaries of tuples."""

    observation_space = gym.spaces.Dict(
        {"at": gym.spaces.Tuple([gym.spaces.Discrete(3), gym.spaces.MultiBinary(2)]),
         "way": gym.spaces.Box(0, 3, (2,), np.int8)}
    )  # fmt: skip
    action_space = gym.spaces.Discrete(2, start=1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self.seen(), {}

    def seen(self):
        return {"at": (self.at, np.zeros(2, np.int8)), "way": np.array([self.at, 1], np.int8)}

    def step(self, action):
        self.at = min(self.at + int(action) - 1, 2)
        return self.seen(), 0.0, False, False, {}


def dictionary():
    events = lambda s, a, s2: "end" if s2["at"][0] == 2 else ()  # noqa: E731
    return cranium.product(Dictionary(), cranium.compile_language("end"), events, horizon=9)


def point():
    return cranium.product(PointWorld(mail=1), cranium.library.load("point-visit"), horizon=9)


SMALL = {"hidden": (4, 4), "evaluation_episodes": 1}
POLICIES = {
    "table": (letter, "ql", {}),
    "table of a product that shows vectors": (lambda: letter(encoding=BoxEncoding()), "ql", {}),
    "dictionaries": (dictionary, "ql", {"path": "python"}),
    "network": (letter, "dqn", {"hidden": (4, 4)}),
    "heads": (letter, "dqn", {"hidden": (4, 4), "heads": True}),
    "actor": (point, "td3", SMALL),
}


@pytest.fixture(scope="module")
def policies(tmp_path_factory):
    found = {}
    for name, (make, learner, more) in POLICIES.items():
        path = tmp_path_factory.mktemp("policy") / "agent.npz"
        cranium.train(make(), learner, steps=60, seed=0, **more).policy.save(path)
        with np.load(path) as stored:
            arrays = dict(stored)
        about = json.loads(str(arrays.pop("about")))
        if about.get("configurations"):
            keep = min(3, len(about["configurations"]))
            if "kind" not in about:
                about["configurations"] = about["configurations"][:keep]
                arrays["q"] = arrays["q"][:, :keep]
        found[name] = about, arrays
    return found


def use(path, env):
    """Load a policy and ask it for actions; whether that went well."""
    policy = cranium.Policy.load(path)
    observation, info = env.reset(seed=0)
    policy.act(observation, info)
    policy.act(env.ground, info)
    assert policy.action_space is not None
    if hasattr(policy, "actions"):
        policy.actions([env.ground], [env.configuration], -1)
    cranium.Policy.load(path, env)


@pytest.mark.parametrize("name", POLICIES)
def test_a_mutated_policy_file_ends_in_a_policy_or_in_our_own_error(policies, name, tmp_path):
    about, arrays = policies[name]
    env, rng, path = POLICIES[name][0](), random.Random(name), tmp_path / "agent.npz"
    path.write_bytes(pack_policy(about, arrays))
    use(path, env)  # as it is, it is a good one
    good = bad = 0
    for number in range(500):
        told, given = about, dict(arrays)
        if number % 5:
            told = mutate_document(about, rng)
        else:
            key = rng.choice(sorted(given))
            given[key] = mutate_array(given[key], rng)
            if rng.random() < 0.2:
                del given[key]
        path.write_bytes(pack_policy(told, given))
        good, bad = counted(lambda: use(path, env), told if number % 5 else given, good, bad)
    assert good > 10, "the mutations are too wild to test anything but refusal"
    assert bad > 200, "the mutations are too tame"


def counted(action, culprit, good, bad):
    try:
        action()
    except CraniumError as error:
        assert str(error)
        return good, bad + 1
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        pytest.fail(f"{type(error).__name__}: {error} on {culprit!r:.3000}")
    return good + 1, bad


@pytest.mark.parametrize("name", ["table", "actor"])
def test_a_policy_file_with_other_bytes_ends_in_a_policy_or_in_our_own_error(
    policies, name, tmp_path
):
    content, rng, path = pack_policy(*policies[name]), random.Random(name), tmp_path / "agent.npz"
    env, bad = POLICIES[name][0](), 0
    for _ in range(300):
        changed = mutate_bytes(content, rng)
        path.write_bytes(changed)
        bad += counted(lambda: use(path, env), changed, 0, 0)[1]
    assert bad > 100


def claiming(shape, kind="<f8", size=64):
    """An .npy file whose header claims a shape."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(size)


@pytest.mark.parametrize(
    "member", [claiming((10**11,)), claiming((2**40, 2**40)), claiming((8,), "|V1000000000"),
               claiming((8,), "<U1000000000"), claiming((-1, -8)), claiming((8,), "|O")]
)  # fmt: skip
def test_what_an_array_claims_is_not_allocated(policies, member, tmp_path):
    about, arrays = policies["table"]
    path = tmp_path / "agent.npz"
    with (
        zipfile.ZipFile(io.BytesIO(pack_policy(about, arrays))) as one,
        zipfile.ZipFile(path, "w") as two,
    ):
        for name in one.namelist():
            two.writestr(name, member if name == "q.npy" else one.read(name))
    with small(), pytest.raises(FileFormatError, match="not a policy of ours"):
        cranium.Policy.load(path)


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(policies, tmp_path):
    path = tmp_path / "bomb.npz"
    piece = bytes(1 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as stream:
                stream.write(claiming((100 << 17,), size=0))
                for _ in range(100):
                    stream.write(piece)
    with pytest.MonkeyPatch.context() as patched, small():
        patched.setattr("cranium.npz.MOST_BYTES", 250 << 20)
        with pytest.raises(FileFormatError, match="not a policy of ours"):
            cranium.Policy.load(path)


class small:  # noqa: N801
    """Fails if something within it takes much memory."""

    def __enter__(self):
        tracemalloc.start()

    def __exit__(self, *_):
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MOST_MEMORY, f"{peak:,} bytes"


HUGE = {
    "encoding": [["bits", 10**9, 3, "one-hot"], ["bits", 10**7, 3, "one-hot"], ["raw", 10, 10**400, "one-hot"]],
    "space": [{"binary": 10**9}, {"binary": 1 << 22}, {"discrete": [10**9, 0]}, "@space330",
              {"box": [[0], [1]], "shape": [10**9], "dtype": "float32"},
              {"multi": [[10**9] * 10, [0] * 10], "dtype": "int64"}],
    "num_actions": [10**12], "first_action": [10**400, 1e999], "layers": [10**9],
    "configurations": [[["counting", [1e999]]], [["counting", 10**9]]],
}  # fmt: skip


@pytest.mark.parametrize("key", HUGE)
def test_a_few_bytes_do_not_take_memory(policies, key, tmp_path):
    about, arrays = policies["network"]
    for value in HUGE[key]:
        for cells in ("one-hot", "joint", "scaled"):
            told = {**about, key: value}
            if key == "space":
                told["encoding"] = [*about["encoding"][:3], cells]
            path = tmp_path / "agent.npz"
            path.write_bytes(pack_policy(told, arrays))
            with small(), pytest.raises(FileFormatError, match="damaged"):
                cranium.Policy.load(path)


# Episodes


def still(ground, configuration, rng):
    return 0


EPISODES = {
    "Letter": ("cranium/Letter-anbcdn-v0", {"world": "Letter", "settings": {"times": (1, 5)}}),
    "Office": ("cranium/Office-mail-delivery-v0", {"world": "Office", "settings": {"mail": 1}}),
    "CraftCount": ("cranium/CraftCount-planks-v0", {"world": "CraftCount"}),
    "Point": ("cranium/Point-visit-v0", {"world": "Point"}),
    "Water": ("cranium/Water-red-green-v0", {"world": "Water"}),
    "elsewhere": ("cranium/Letter-anbcdn-v0", {}),
}


@pytest.mark.parametrize("name", EPISODES)
def test_a_mutated_episode_file_ends_in_an_episode_or_in_our_own_error(name, tmp_path):
    made, more = EPISODES[name]
    path = tmp_path / "episode.json"
    policy = (lambda *_: [0.5, -0.5]) if name == "Point" else still
    save_episode(record(gym.make(made), policy, max_steps=4, **more), path)
    document = json.loads(path.read_text())
    rng, good, bad = random.Random(name), 0, 0
    for number in range(500):
        changed = mutate_document(document, rng)
        if number % 3 == 0:  # what the world is made with is where most goes wrong
            settings = {"times", "mail", "layout", "start", "speed", "balls", "size", "map_seed", "x",
                        "observation", "actions", "wood", "radius", "noise", "regions", "name"}  # fmt: skip
            given = {rng.choice(sorted(settings)): rng.choice(NASTY)}
            changed = {**document, rng.choice(["settings", "options"]): given}
        path.write_text(write_document(changed))
        good, bad = counted(lambda: load_episode(path), changed, good, bad)
    assert good > 10, "the mutations are too wild to test anything but refusal"
    assert bad > 200, "the mutations are too tame"


def test_there_are_thousands_of_them():
    assert 500 * (len(POLICIES) + len(EPISODES)) >= 6000
