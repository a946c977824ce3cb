"""Checkpoints: a training that is killed and resumed is one that never was, bit for bit."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import time
import zlib
from contextlib import suppress
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from support.every_learner import NETWORKS, TABLES, Training, assert_same, letters, point

import cranium
from cranium.errors import (
    CraniumError,
    FileAccessError,
    FileFormatError,
    InvalidArgumentError,
    SpaceError,
)
from cranium.learners import PlannerConfig, Policy, Schedule, Streak, checkpoints, train

EVERY = [*TABLES, *NETWORKS]
SHORT = {"steps": 1_200, "seed": 1, "log": True, "evaluate_every": 250}


class Killed(BaseException):
    """As with kill -9, nobody catches it and nothing is written."""


def killed_at(samples):
    """A callback that is the end."""

    def end(progress):
        if progress.samples >= samples:
            raise Killed

    return end


def keep_at(path, samples):
    """A callback that keeps the checkpoint that is there after so many samples."""
    return lambda progress: progress.samples >= samples


@pytest.fixture
def file(tmp_path):
    return tmp_path / "agent.ckpt"


@pytest.mark.slow
@pytest.mark.parametrize("training", EVERY, ids=lambda each: each.name)
def test_a_killed_training_goes_on_as_if_it_had_not_been(training: Training, file):
    """Every learner on every path is killed three times, wherever that happens to be."""
    rng = np.random.default_rng(zlib.crc32(training.name.encode()))
    told = {"evaluate_every": training.steps // 4 - 7, "checkpoint": file}
    alone = training.train(evaluate_every=told["evaluate_every"])
    kills = np.sort(rng.integers(training.steps // 5, training.steps, 3))
    for kill in kills:
        every = int(rng.integers(20, training.steps // 6))
        resume = file if file.exists() else None
        with pytest.raises(Killed):
            training.train(resume=resume, every=every, callbacks=[killed_at(int(kill))], **told)
    begun = []
    result = training.train(
        resume=file if file.exists() else None,
        every=53,
        callbacks=[lambda progress: begun.append(progress.samples)],
        **told,
    )
    assert_same(alone, result)
    assert begun[0] > training.steps // 8, "it began anew"


@pytest.mark.slow
@pytest.mark.parametrize(
    "training", [each for each in EVERY if "python" not in each.name], ids=lambda each: each.name
)
def test_a_longer_training_goes_on_from_the_end_of_a_shorter_one(training: Training, file):
    told = {"evaluate_every": training.steps // 4 - 7}
    for steps in (training.steps // 2, training.steps // 4 * 3 - 21):  # one is an evaluation's
        path = file.with_name(f"{steps}.ckpt")
        shorter = training.train(steps=steps, checkpoint=path, **told)
        assert_same(shorter, training.train(steps=steps, resume=path, **told))
        assert_same(training.train(**told), training.train(resume=path, **told))


@pytest.mark.parametrize("path", ["compiled", "python"])
def test_without_a_number_of_its_own_a_longer_training_is_evaluated_as_before(path, file):
    told = {"seed": 2, "path": path}
    train(letters(1), "cql", steps=1_000, checkpoint=file, **told)
    longer = train(letters(1), "cql", steps=1_500, resume=file, **told)
    assert_same(train(letters(1), "cql", steps=1_500, evaluate_every=10, **told), longer)


@pytest.mark.parametrize("path", ["compiled", "python"])
def test_ctrl_c_writes_a_checkpoint(path, file):
    def press(progress):
        if progress.samples == 700:
            raise KeyboardInterrupt

    told = {**SHORT, "path": path}
    stopped = train(letters(1), "cql", checkpoint=file, callbacks=[press], every=100, **told)
    assert stopped.interrupted
    if path == "compiled":
        assert stopped.samples == 700
    else:  # it goes on to the end of the episode
        assert 700 <= stopped.samples < 800
        assert stopped.samples == stopped.log[-1, 0]
    seen = []
    note = [lambda progress: seen.append(progress.samples)]
    result = train(letters(1), "cql", resume=file, callbacks=note, every=1, **told)
    assert seen[0] == stopped.samples + 1
    assert_same(train(letters(1), "cql", **told), result)


def test_a_second_ctrl_c_does_not_wait_for_the_end_of_the_episode(file):
    presses = []

    def press(progress):
        if progress.samples >= 700:
            presses.append(progress.samples)
            raise KeyboardInterrupt

    told = {**SHORT, "path": "python", "every": 1}
    stopped = train(letters(1), "cql", checkpoint=file, callbacks=[press], **told)
    assert presses == [700, 701]
    assert stopped.samples == 701
    del told["every"]
    result = train(letters(1), "cql", resume=file, **told)
    assert_same(train(letters(1), "cql", **told), result)


def test_what_was_learned_is_kept_if_a_callback_fails(file):
    def fails(progress):
        if progress.samples == 600:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(letters(1), "cql", checkpoint=file, callbacks=[fails], every=200, **SHORT)
    seen = []
    note = [lambda progress: seen.append(progress.samples)]
    train(letters(1), "cql", resume=file, callbacks=note, every=50, **SHORT)
    assert seen[0] == 650


@pytest.mark.parametrize(
    "until",
    ["solved", Streak(5), lambda found: found.success.mean() == 1],
    ids=["solved", "streak", "function"],
)
def test_a_training_that_has_stopped_stays_so(until, file):
    told = {"steps": 30_000, "seed": 2, "until": until, "evaluate_every": 700}
    result = train(letters(1), "cql", checkpoint=file, every=5_000, **told)
    assert result.samples < 30_000
    assert_same(result, train(letters(1), "cql", resume=file, **told))


def test_the_same_file_may_be_gone_on_from_and_replaced(file):
    told = {key: value for key, value in SHORT.items() if key != "steps"}
    for steps in (300, 600, 1_200):
        resume = file if file.exists() else None
        result = train(letters(1), "cql", steps=steps, checkpoint=file, resume=resume, **told)
    assert_same(train(letters(1), "cql", **SHORT), result)


def test_begin_says_where_it_goes_on(file):
    class Begin:
        def __call__(self, progress):
            pass

        def begin(self, progress):
            self.progress = progress

    train(letters(1), "cql", checkpoint=file, **{**SHORT, "steps": 600})
    begin = Begin()
    train(letters(1), "cql", resume=file, callbacks=[begin], **SHORT)
    assert begin.progress.samples == 600
    assert begin.progress.curve[:, 0].tolist() == [250, 500]
    assert begin.progress.evaluation.instances == ("A once",)


def test_a_folder_without_drafts_is_left_behind(file):
    train(letters(1), "ql", checkpoint=file, every=100, **SHORT)
    assert [each.name for each in file.parent.iterdir()] == ["agent.ckpt"]


# What a checkpoint is of


def difference(told, env=None, **more):
    with pytest.raises(InvalidArgumentError) as caught:
        train(env or letters(1), "cql", resume=told, **{**SHORT, **more})
    return caught.value.message


def test_another_training_is_refused_and_the_difference_named(file):
    train(letters(1), "cql", checkpoint=file, **SHORT)
    for more, text in {
        "seed": ({"seed": 2}, "seed: 1 in the checkpoint, 2 here"),
        "setting": ({"learning_rate": 0.25}, "learning_rate: 0.5 in the checkpoint, 0.25 here"),
        "schedule": ({"exploration": Schedule(1.0, 0.1, 9)}, "exploration: 0.05 in the checkpoint"),
        "evaluations": ({"evaluate_every": 100}, "evaluate_every: 250 in the checkpoint, 100 here"),
        "log": ({"log": False}, "log: True in the checkpoint, False here"),
        "limit": ({"counter_limit": 2}, "counter_limit: None in the checkpoint, 2 here"),
        "gap": ({"gap": 0.1}, "gap: None in the checkpoint, 0.1 here"),
        "path": ({"path": "python"}, "path: 'compiled' in the checkpoint, 'python' here"),
        "world": ({"env": letters(2)}, "world: transitions: "),
    }.values():
        assert f"{file} is of another training: " in difference(file, **more)
        assert text in difference(file, **more)


def test_another_task_is_refused(file):
    machine = cranium.library.load("anbcdn")
    other = machine.replace(transitions=machine.transitions[:-1])
    world = cranium.find_product(letters(1)).env
    train(cranium.product(world, machine, horizon=60), "cql", checkpoint=file, **SHORT)
    told = difference(file, cranium.product(world, other, horizon=60))
    assert "task: A^N B C D^N, " in told


def test_another_learner_is_refused(file):
    train(letters(1), "ql", checkpoint=file, **SHORT)
    assert "learner: 'ql' in the checkpoint, 'cql' here" in difference(file)


def test_a_checkpoint_is_not_replaced_by_another_training(file):
    train(letters(1), "ql", checkpoint=file, **SHORT)
    with pytest.raises(InvalidArgumentError, match="already, which this training would replace"):
        train(letters(1), "ql", checkpoint=file, **SHORT)


def test_fewer_samples_than_there_are_is_an_error(file):
    train(letters(1), "cql", checkpoint=file, **SHORT)
    assert "has 1,200 samples already, and steps is 500" in difference(file, steps=500)


def test_no_file_is_an_error(file):
    with pytest.raises(FileAccessError, match="cannot read"):
        train(letters(1), "cql", resume=file, **SHORT)
    with pytest.raises(FileAccessError, match="cannot write"):
        train(letters(1), "cql", checkpoint=file / "no" / "folder", **SHORT)


def test_a_file_of_another_kind_is_an_error(file):
    policy = file.with_suffix(".npz")
    train(letters(1), "cql", **SHORT).policy.save(policy)
    with pytest.raises(FileFormatError, match="is not a checkpoint of ours"):
        train(letters(1), "cql", resume=policy, **SHORT)


def test_what_is_too_large_for_a_file_is_refused(file, monkeypatch):
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 1_000)
    with pytest.raises(SpaceError, match="is too large for a file: 1,000 are allowed"):
        train(letters(1), "cql", checkpoint=file, **SHORT)


# Environments in Python


class Dice(gym.Env):
    """Draws from a generator of its own, which nobody can find."""

    observation_space = gym.spaces.Discrete(3)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.inside = [np.random.default_rng(seed)]
        return 0, {}

    def step(self, action):
        return int(self.inside[0].integers(3)), 0.0, False, False, {}


def dice():
    task = cranium.compile_language("six")
    return cranium.product(Dice(), task, cranium.labelling_from_cells({2: "six"}), horizon=9)


def test_an_environment_with_hidden_random_numbers_is_refused_at_once(file):
    with pytest.raises(InvalidArgumentError, match="Dice does not keep its random numbers in"):
        train(dice(), "cql", checkpoint=file, path="python", **SHORT)
    assert not file.exists()
    train(dice(), "cql", path="python", **SHORT)


# Agents of a user's own


class Counting:
    """Prefers what it did least, and remembers the rewards."""

    def __init__(self, problem, bonus=1.0):
        self.problem, self.bonus = problem, bonus
        self.q = np.zeros((700, 4))

    def act(self, observation, configuration):
        if self.problem.rng.random() < 0.3:
            return int(self.problem.rng.integers(4))
        return int(np.argmax(self.q[self._row(observation)]))

    def _row(self, observation):
        return int(np.ravel(observation) @ [1, 7, 49][: np.size(observation)]) % 700

    def observe(self, sample):
        row = self._row(sample.observation)
        count = len(self.problem.members(sample.configuration, "seen"))
        self.q[row, sample.action] += 0.1 * (sample.reward + self.bonus / count)

    def policy(self):
        space = self.problem.space
        values = np.broadcast_to(self.q[:1], (1, len(space), 4)).copy()
        return Policy(values, (0,), tuple(space.configurations), space.automaton, unknown="random")

    def save(self, path):
        np.save(path, self.q)


class Resumable(Counting):
    def state(self):
        return {"q": self.q}

    def restore(self, state):
        if state["q"].shape != self.q.shape:
            raise ValueError("another shape")
        self.q[:] = state["q"]


def test_an_agent_of_ones_own_goes_on(file):
    told = {**SHORT, "bonus": 0.5}
    with pytest.raises(Killed):
        train(letters(), Resumable, checkpoint=file, every=90, callbacks=[killed_at(700)], **told)
    assert_same(
        train(letters(), Resumable, **told), train(letters(), Resumable, resume=file, **told)
    )
    with pytest.raises(InvalidArgumentError, match=r"bonus: 0\.5 in the checkpoint, 2\.0 here"):
        train(letters(), Resumable, resume=file, **{**told, "bonus": 2.0})


def test_an_agent_without_a_state_is_refused_at_once(file):
    with pytest.raises(InvalidArgumentError, match="Counting has no methods state and restore"):
        train(letters(), Counting, checkpoint=file, **SHORT)
    assert not file.exists()


# Several seeds


def test_each_seed_has_a_file_of_its_own(tmp_path):
    file = tmp_path / "agent.ckpt"
    told = {"steps": 600, "seeds": (3, 4, 5), "evaluate_every": 200}
    alone = cranium.learners.train_seeds(letters(1), "cql", **told)

    def end(progress):
        if progress.seed == 4 and progress.samples == 400:
            raise Killed

    with pytest.raises(Killed):
        cranium.learners.train_seeds(
            letters(1), "cql", checkpoint=file, callbacks=[end], every=100, **told
        )
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "agent-seed3.ckpt",
        "agent-seed4.ckpt",
    ]
    seen = []
    note = [lambda progress: seen.append((progress.seed, progress.samples))]
    results = cranium.learners.train_seeds(
        letters(1), "cql", checkpoint=file, resume=file, callbacks=note, every=100, **told
    )
    for one, other in zip(alone, results, strict=True):
        assert_same(one, other)
    assert seen == [
        (3, 600),
        *((4, samples) for samples in (400, 500, 600)),
        *((5, 100 * k) for k in range(1, 7)),
    ]
    with pytest.raises(FileAccessError, match="there is no checkpoint of any seed"):
        cranium.learners.train_seeds(letters(1), "cql", resume=tmp_path / "other.ckpt", **told)


# Files that are damaged


def hostile_numbers(array):
    """Values that no training has at this place."""
    if array.dtype.kind == "b":
        return []
    if array.dtype.kind == "f":
        return [np.nan, np.inf, np.finfo(array.dtype).min]
    info = np.iinfo(array.dtype)
    return [info.min, info.max, *([] if info.min == 0 else [-3]), min(10**6, info.max)]


def changed(arrays, rng):
    """Copies of the arrays in which one is damaged, and what was done to it."""
    for name, array in arrays.items():
        if name == "about":
            continue
        yield f"{name} is missing", {key: one for key, one in arrays.items() if key != name}
        for text, other in (
            ("longer", np.concatenate([array, array])) if array.ndim else ("flat", array[None]),
            ("of another kind", np.zeros(array.shape, np.int8)),
            ("shorter", array[: len(array) // 2] if array.ndim else array[None, None]),
        ):
            yield f"{name} is {text}", {**arrays, name: other}
        if array.size:
            for value in hostile_numbers(array):
                for place in {0, array.size - 1, int(rng.integers(array.size))}:
                    other = array.copy()
                    other.flat[place] = value
                    yield f"{name}[{place}] = {value}", {**arrays, name: other}
                yield f"{name} = {value}", {**arrays, name: np.full_like(array, value)}


def changed_data(data):
    """Copies of the plain data in which one value is another."""
    wrong = (None, -1, -(2**63), 2**63, 2**200, 1.5, "x", [], {}, True, [[]], ["a"], [None])
    for name in data:
        yield f"{name} is missing", {key: one for key, one in data.items() if key != name}
        for value in wrong:
            yield f"{name} = {value!r}", {**data, name: value}
        if isinstance(data[name], dict):
            for inner, other in changed_data(data[name]):
                yield f"{name}: {inner}", {**data, name: other}
        if isinstance(data[name], list) and data[name]:
            for value in wrong:
                yield f"{name}[-1] = {value!r}", {**data, name: [*data[name][:-1], value]}


def write(path, arrays, about):
    contents = {**arrays, "about": np.array(json.dumps(about))}
    with path.open("wb") as stream:
        np.savez(stream, **contents)


HOSTILE = ["cql-seen-compiled", "cql-sample-python", "hrm-compiled", "planner-compiled"]
HOSTILE += ["planner-random-python", "cdqn-jax", "cdqn-python", "ctd3-jax"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of huge weights
@pytest.mark.parametrize("name", HOSTILE)
def test_no_change_of_a_file_is_worse_than_an_error_of_ours(name, tmp_path):
    """Compiled code follows the numbers of a file without checks of its own."""
    training = next(each for each in EVERY if each.name == name)
    file, bad = tmp_path / "good.ckpt", tmp_path / "bad.ckpt"
    told = {"evaluate_every": training.steps // 2}
    half = training.steps // 2 - 13
    with pytest.raises(Killed):
        training.train(checkpoint=file, every=half, callbacks=[killed_at(half + 60)], **told)
    if not file.exists():
        training.train(checkpoint=file, steps=half, **told)
    with np.load(file) as found:
        arrays = dict(found)
    about = json.loads(str(arrays.pop("about")))
    rng = np.random.default_rng(0)
    cases = [(text, other, about) for text, other in changed(arrays, rng)]
    cases += [
        (text, arrays, {**about, "data": other}) for text, other in changed_data(about["data"])
    ]
    if name in ("cdqn-jax", "cdqn-python", "ctd3-jax"):
        cases = [cases[k] for k in rng.choice(len(cases), 150, replace=False)]
    refused = 0
    for text, some, description in cases:
        write(bad, some, description)
        try:
            training.train(resume=bad, steps=half + 100, **told)
        except CraniumError:
            refused += 1
        except BaseException as problem:
            raise AssertionError(f"{text}: {problem!r}") from problem
    assert refused > len(cases) // 2


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "flipped"])
def test_a_damaged_file_is_an_error(damage, file):
    train(letters(1), "cql", checkpoint=file, **SHORT)
    raw = bytearray(file.read_bytes())
    if damage == "flipped":
        raw[len(raw) // 2] ^= 1
    file.write_bytes(
        {"cut": raw[: len(raw) // 2], "empty": b"", "text": b"a text", "flipped": raw}[damage]
    )
    with pytest.raises(FileFormatError, match="not a checkpoint of ours"):
        train(letters(1), "cql", resume=file, **SHORT)


def test_a_checkpoint_holds_arrays_and_text_only(file):
    train(
        point("discrete"), "cql", checkpoint=file, discretise=lambda seen: int(4 * seen[0]), **SHORT
    )
    with np.load(file, allow_pickle=False) as found:
        assert all(array.dtype.kind in "biufU" for array in dict(found).values())


def test_settings_that_are_objects_are_compared(file):
    told = {**SHORT, "config": PlannerConfig(trials=3)}
    train(letters(1), "planner", checkpoint=file, **told)
    with pytest.raises(InvalidArgumentError, match="trials: 3 in the checkpoint, 20 here"):
        train(letters(1), "planner", resume=Path(file), **SHORT)


# Processes that are killed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cql-compiled", "planner-python", "hrm-python", "cdqn-jax"])
def test_a_process_that_is_killed_at_any_moment_leaves_a_checkpoint_to_go_on_from(name, tmp_path):
    """The processes are killed with SIGKILL, sooner or later after they have written."""
    training = next(each for each in EVERY if each.name == name)
    file, result = tmp_path / "agent.ckpt", tmp_path / "result"
    command = [sys.executable, "-m", "support.killed_training", name, str(file), str(result)]
    here = Path(__file__).parents[1]
    rng, killed = np.random.default_rng(zlib.crc32(name.encode())), 0
    for later in (0.0, *rng.uniform(0.0, 0.2, 2)):
        if result.exists():
            break
        before = modified(file)
        process = subprocess.Popen(command, cwd=here)
        while process.poll() is None and modified(file) == before:
            time.sleep(0.002)
        with suppress(subprocess.TimeoutExpired):
            process.wait(later)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
    assert killed, "it was never killed"
    if not result.exists():
        subprocess.run(command, cwd=here, check=True)
    assert_same(training.train(), pickle.loads(result.read_bytes()))
    assert {each.name for each in tmp_path.iterdir()} == {"agent.ckpt", "result"}


def modified(file):
    return file.stat().st_mtime_ns if file.exists() else 0
