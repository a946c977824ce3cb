"""Environments that are not ours: Gymnasium ids, and code that the command line names."""

from __future__ import annotations

import json
import sys

import gymnasium
import pytest
from support.terminal import Terminal
from typer.testing import CliRunner

import cranium
from cranium.aamdp.environments import find_environment, import_labelling, import_world
from cranium.cli import app
from cranium.episodes import Recorder, save_episode
from cranium.errors import InvalidArgumentError, UnknownNameError, WorldError

GOOD, BAD = 0, 2

LAKE = '''
import gymnasium
import cranium
from lake_helper import GOAL

@cranium.labelling("fish", "goal")
def events(before, action, after):
    return {1: "fish", GOAL: "goal"}.get(int(after), ())

def undeclared(before, action, after):
    return "goal" if after == 15 else ()

def make_env(slippery=False):
    """A lake of our own.

    More text.
    """
    import lake_late  # found while the environment is made
    return gymnasium.make("FrozenLake-v1", is_slippery=slippery)

def make_product(word="fish goal"):
    return cranium.product(make_env(), cranium.compile_language(word), events)

made = make_product()

class Corridor(gymnasium.Env):
    """A corridor with an end."""
    metadata = {"render_modes": []}
    vocabulary = ("end",)
    events = frozenset()

    def __init__(self, length=3):
        self.length = length
        self.observation_space = gymnasium.spaces.Discrete(length)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.events = 0, frozenset()
        return self.at, {}

    def step(self, action):
        self.at = min(self.at + int(action), self.length - 1)
        self.events = frozenset({"end"} if self.at == self.length - 1 else ())
        return self.at, 0.0, False, False, {}

def broken():
    return deeper(0)

def deeper(number):
    raise ValueError("the map has a hole")

def nothing():
    pass

gymnasium.register("TestOwnLake-v0", make_env)
number = 3
'''
FILES = {"lake_of_ours.py": LAKE, "lake_helper.py": "GOAL = 15\n", "lake_late.py": ""}


def forget():
    """Undo the imports of the user's code, as if in a new process."""
    for name in [name for name in sys.modules if name.startswith(("lake_", "moved_"))]:
        del sys.modules[name]
    gymnasium.registry.pop("TestOwnLake-v0", None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with code of a user's, in which the commands are called."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    path = list(sys.path)
    yield tmp_path
    forget()
    assert sys.path == path


@pytest.fixture
def run(folder):
    def call(*arguments, code=GOOD):
        result = CliRunner().invoke(app, list(map(str, arguments)))
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            result.exception
        )
        assert result.exit_code == code, result.output
        return result.output

    return call


FILE, MODULE = "lake_of_ours.py", "lake_of_ours"
TRAIN = ("--learner", "planner", "--steps", "3k", "--until-solved")


@pytest.mark.parametrize("place", [FILE, MODULE, f"./{FILE}"])
def test_classes_functions_and_environments_are_found(folder, place):
    assert find_environment(f"{place}:make_env").spec.id == "FrozenLake-v1"
    assert find_environment(f"{place}:Corridor", {"length": 7}).observation_space.n == 7
    assert find_environment(f"{place}:TestOwnLake-v0").spec.id == "TestOwnLake-v0"
    assert cranium.find_product(find_environment(f"{place}:make_product")).automaton.name
    made = find_environment(f"{place}:made")
    assert made is find_environment(f"{place}:made"), "a file is imported once"
    task = cranium.compile_language("end")
    assert find_environment(f"{place}:Corridor", task=task, horizon=9).horizon == 9


def test_a_file_in_another_folder_imports_its_neighbours(folder, monkeypatch):
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert find_environment(f"../{FILE}:make_env").spec.id == "FrozenLake-v1"


def test_solve_and_train_on_a_gymnasium_id(run):
    lake = ("FrozenLake-v1", "--with", "is_slippery=false", "--labels", f"{FILE}:events")
    assert "success   1.0000" in run("solve", *lake, "--task", "fish goal")
    run("compile", "fish goal", "-o", "task.yaml")
    assert "success   1.0000" in run("solve", *lake, "--task", "task.yaml")
    assert "success   1.0000" in run("solve", *lake, "task.yaml")
    assert "solved" in run("train", *lake, "--task", "fish goal", *TRAIN)


@pytest.mark.slow
def test_an_agent_is_evaluated_and_replayed_with_the_names_on_the_command_line(run, folder):
    world = (f"{FILE}:make_env", "--labels", f"{FILE}:events")
    run("train", *world, "--task", "fish goal", *TRAIN, "--save", "agent.npz")
    forget()
    shown = run("evaluate", "agent.npz", code=BAD)
    assert "cannot choose which code is run" in shown
    assert f"--world {FILE}:make_env --labels {FILE}:events" in shown
    assert "--labels" in run("evaluate", "agent.npz", "--world", world[0], code=BAD)
    assert not [name for name in sys.modules if name.startswith("lake_of_ours")], "not from a file"
    run("evaluate", "agent.npz", "--world", *world, "--record", "episode.json")
    moved = folder / "moved.py"
    moved.write_text(LAKE)
    forget()
    run("evaluate", "agent.npz", "--world", "moved.py:make_env", "--labels", "moved.py:events")
    forget()
    assert "not in Office" in run(
        "evaluate", "agent.npz", "--world", "Office", *world[1:], code=BAD
    )
    forget()
    assert "--world" in run("replay", "episode.json", code=BAD)
    assert "goal" in run("replay", "episode.json", "--world", *world)
    assert "belong to a world" in run("replay", "episode.json", *world[1:], code=BAD)
    run("replay", "episode.json", "--world", *world, "-o", "episode.html")


@pytest.mark.parametrize("name", ["make_product", "made"])
def test_a_product_needs_no_task(run, name):
    world = f"{FILE}:{name}"
    assert "success   1.0000" in run("solve", world)
    run("train", world, *TRAIN, "--save", "agent.npz")
    run("evaluate", "agent.npz", "--world", world, "--record", "episode.json")
    assert "success" in run("replay", "episode.json", "--world", world)
    assert "is a product" in run("solve", world, "--task", "goal", code=BAD)
    assert "leave the labels out" in run("solve", world, "--labels", f"{FILE}:events", code=BAD)


def test_an_agent_of_one_product_is_not_evaluated_in_another(run):
    run("train", f"{FILE}:make_product", *TRAIN, "--save", "agent.npz")
    world = ("--world", f"{FILE}:make_product")
    assert "is a product" in run("evaluate", "agent.npz", *world, "--with", "word=goal", code=BAD)


@pytest.mark.slow
def test_a_world_with_events_of_its_own_and_no_time_limit(run):
    world = f"{FILE}:Corridor"
    run("train", world, "--task", "end", "--horizon", 20, *TRAIN, "--save", "agent.npz")
    run("evaluate", "agent.npz", "--world", world)
    with pytest.warns(cranium.errors.HorizonWarning, match="--horizon"):
        assert "success   1.0000\n" in run("solve", world, "--task", "end")
    assert "--labels" in run("solve", "CartPole-v1", "--task", "end", code=BAD)
    assert "horizon" in run("evaluate", "agent.npz", "--world", world, "--horizon", 30)


def test_worlds_describes_an_environment(run):
    shown = run("worlds", "FrozenLake-v1")
    for fact in ("Discrete(16)", "Discrete(4)", "horizon   100", "finite    yes", "--labels"):
        assert fact in shown
    assert "fish, goal" in run("worlds", "FrozenLake-v1", "--labels", f"{FILE}:events")
    assert "not declared" in run("worlds", "FrozenLake-v1", "--labels", f"{FILE}:undeclared")
    assert "finite    no" in run("worlds", "CartPole-v1")
    shown = run("worlds", f"{FILE}:Corridor", "--with", "length=5")
    for fact in ("A corridor with an end.", "Discrete(5)", "events    end", "--horizon"):
        assert fact in shown
    assert "it is a product" in run("worlds", f"{FILE}:make_product")
    (entry,) = json.loads(run("worlds", f"{FILE}:make_env", "--json"))
    assert entry["about"] == "A lake of our own."
    assert (entry["finite"], entry["horizon"], entry["events"]) == (True, 100, None)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("FrozenLak-v1", ["no such world", "did you mean 'FrozenLake-v1'"]),
        ("Offce", ["did you mean 'Office'", "FILE.py:NAME"]),
        ("nonsense", ["no such world", "known: Letter"]),
        (FILE, ["is a file", f"{FILE}:NAME"]),
        ("no_such_module:Env", ["no module 'no_such_module'", FILE]),
        ("lake_of_ours.deeper:Env", ["no module 'lake_of_ours.deeper'"]),
        ("no_such_file.py:Env", ["no Python file 'no_such_file.py'"]),
        (f"{FILE}:make_enf", ["no such name in lake_of_ours.py", "did you mean 'make_env'"]),
        (f"{FILE}:TestOwnLak-v0", ["did you mean 'TestOwnLake-v0'"]),
        (f"{FILE}:number", ["is 3, which is not an environment"]),
        (f"{FILE}:nothing", ["returned None, which is not a gymnasium.Env"]),
        (f"{FILE}:broken", ["ValueError: the map has a hole", "in broken: return deeper(0)"]),
        (f"{FILE}:events", ["cannot be made with {}", "missing a required argument"]),
        (":make", ["MODULE:NAME"]),
        (f"{FILE}:", ["MODULE:NAME"]),
    ],
)
def test_nonsense_is_one_message(run, name, words):
    shown = run("solve", name, "--task", "goal", code=BAD)
    assert "Traceback" not in shown
    for word in words:
        assert word in shown, shown


def test_errors_at_import_are_shown_with_the_line(run, folder):
    (folder / "lake_bad.py").write_text("x = 1\nx / 0\n")
    (folder / "lake_needs.py").write_text("import a_package_that_is_not_there\n")
    (folder / "lake_exits.py").write_text("import sys\nsys.exit(3)\n")
    (folder / "lake_syntax.py").write_text("def (\n")
    for place in ("lake_bad", "lake_bad.py"):
        assert "lake_bad.py:2:1: the import of" in run("worlds", f"{place}:x", code=BAD)
    assert "a_package_that_is_not_there" in run("worlds", "lake_needs:x", code=BAD)
    assert "SystemExit: 3" in run("worlds", "lake_exits:x", code=BAD)
    assert "lake_syntax.py:1:5" in run("worlds", "lake_syntax.py:x", code=BAD)
    error = json.loads(run("train", "lake_bad:x", "--json", code=BAD))["error"]
    assert (error["type"], error["place"]["line"]) == ("WorldError", 2)


def test_options_and_labels_are_checked(run, folder):
    with pytest.raises(UnknownNameError, match="no such option"):
        find_environment(f"{FILE}:Corridor", {"lenght": 3})
    with pytest.raises(InvalidArgumentError, match="made already"):
        find_environment(f"{FILE}:made", {"length": 3})
    with pytest.raises(InvalidArgumentError, match="FrozenLake-v1 cannot be made"):
        find_environment("FrozenLake-v1", {"slipery": True})
    with pytest.raises(WorldError, match="names no events"):
        find_environment("FrozenLake-v1", task=cranium.compile_language("goal"))
    for labels, words in [
        (FILE, "MODULE:NAME"),
        (f"{FILE}:event", "no such name"),
        (f"{FILE}:number", "a labelling is a function"),
        (f"{FILE}:nothing", "a labelling is a function"),
    ]:
        with pytest.raises((InvalidArgumentError, UnknownNameError), match=words):
            import_labelling(labels)
    assert "has no task" in run("solve", "FrozenLake-v1", code=BAD)
    run("solve", "FrozenLake-v1", "task.yaml", "--task", "goal", code=BAD)


def test_a_file_cannot_name_code(run, folder):
    entry = import_world(f"{FILE}:make_env", f"{FILE}:events")
    env = entry.make_env(cranium.compile_language("fish goal"))
    recorder = Recorder(env, world=f"{MODULE}:make_env")
    recorder.step(2)
    save_episode(recorder.episode, "episode.json")
    forget()
    assert "cannot choose which code is run" in run("replay", "episode.json", code=BAD)
    assert not [name for name in sys.modules if name.startswith("lake_")]


@pytest.mark.slow
def test_an_environment_of_gymnasium_is_played_and_replayed(folder):
    labels = ("--labels", f"{FILE}:events")
    path = str(folder / "episode.json")
    game = Terminal("play", "FrozenLake-v1", *labels, "--task", "fish goal", "--record", path)
    game.expect("step      0 of 0")
    game.press("2")
    game.expect("step      1 of 1: 2")
    game.press("q")
    assert game.end() == 0
    shown = CliRunner().invoke(app, ["replay", path, "--world", "FrozenLake-v1", *labels])
    assert "HFFG" in shown.output, "the map, as text"
    assert shown.exit_code == 0
