"""The log of the training episodes, schedules that count episodes, and streaks."""

from __future__ import annotations

import pickle

import gymnasium as gym
import numpy as np
import pytest
from support.environments import make_letter_product, make_row_product
from support.random_tasks import paying_machine

import cranium
from cranium.errors import InvalidArgumentError
from cranium.learners import Schedule, Streak, TabularConfig, preparation, train
from cranium.learners.episode_log import EpisodeLog, StreakFinder
from cranium.learners.progress import ProgressBar
from cranium.learners.tabular.agent import QLearningAgent

PATHS = ["compiled", "python"]


class Recorder(gym.Wrapper):
    """Writes down what happens in an environment."""

    def __init__(self, env):
        super().__init__(env)
        self.log, self.rewards, self.samples = [], [], 0

    def reset(self, **options):
        self.rewards = []
        return self.env.reset(**options)

    def step(self, action):
        found = self.env.step(action)
        self.samples += 1
        self.rewards.append(float(found[1]))
        if found[2] or found[3]:
            earned = 0.0
            for reward in self.rewards:
                earned += reward
            self.log.append([self.samples, earned, found[4]["success"]])
        return found


def lake():
    """Every step pays something odd, by a reward function and by the world."""
    world = gym.make("FrozenLake-v1")
    for actions in world.unwrapped.P.values():
        for action, outcomes in actions.items():
            actions[action] = [(p, s, r + 1 / 3, ended) for p, s, r, ended in outcomes]
    goal = cranium.labelling_from_cells({15: "goal"})
    return cranium.product(world, paying_machine(), goal, add_ground_reward=True)


def office():
    return gym.make("cranium/ToroOffice-coffee-and-mail-v0")


@pytest.mark.parametrize(
    ("make", "learner", "steps", "settings"),
    [
        (make_letter_product, "cql", 3000, {}),
        (lake, "ql", 4000, {"exploration": 0.9}),
        (lake, "planner", 400, {"highest_reward": 2.0}),
        (office, "hrm", 4000, {}),
        (office, "crm", 4000, {"exploration": Schedule(1.0, 0.0, 20, unit="episodes")}),
    ],
)
def test_the_episode_log_is_what_the_environment_saw_bit_for_bit_on_both_paths(
    make, learner, steps, settings
):
    env = Recorder(make())
    how = {"steps": steps, "seed": 4, "evaluate_every": steps, "log": True, **settings}
    live = train(env, learner, path="python", evaluation_env=make(), **how)
    found = train(make(), learner, path="compiled", **how)
    assert env.log
    assert live.log.tolist() == found.log.tolist() == [list(map(float, row)) for row in env.log]
    for result in (live, found):
        assert len(result.log) == result.episodes
        assert result.log[:, 2].sum() == result.successes
        assert result.log[:, 1].sum() == pytest.approx(sum(row[1] for row in env.log), abs=1e-9)


@pytest.mark.parametrize("path", PATHS)
def test_without_being_asked_for_there_is_no_log(path):
    result = train(make_letter_product(), steps=500, path=path, evaluation_episodes=1)
    assert result.log.shape == (0, 3)
    assert result.log.dtype == np.float64
    assert result.streak_at is None
    assert result.episodes > 0


def test_more_episodes_than_the_ring_has_rows_are_all_logged():
    env = make_letter_product(max_episode_steps=1)
    result = train(env, "ql", steps=50_001, evaluate_every=50_001, log=True)
    assert result.log[:, 0].tolist() == list(range(1, 50_002))
    again = pickle.loads(pickle.dumps(result))
    assert np.array_equal(again.log, result.log)


def test_an_interrupted_run_that_goes_on_has_lost_nothing(monkeypatch):
    loops, calls, run = [], [], QLearningAgent.run

    class Kept(preparation.Loop):
        def __init__(self, *given, **more):
            super().__init__(*given, **more)
            loops.append(self)

    def interrupted(self, *given):
        status = run(self, *given)
        calls.append(status)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return status

    how = {"steps": 70_000, "seed": 1, "evaluate_every": 30_000, "log": True}
    expected = train(make_letter_product(), **how)
    monkeypatch.setattr(preparation, "Loop", Kept)
    monkeypatch.setattr(QLearningAgent, "run", interrupted)
    result = train(make_letter_product(), **how)
    assert result.interrupted
    assert result.samples == 30_000
    assert len(result.log) == result.episodes
    (loop,) = loops
    loop.go(ProgressBar(False, "", 1))
    assert np.array_equal(loop.run.logged(), expected.log)
    assert len(expected.log) == expected.episodes


@pytest.mark.slow
def test_a_schedule_over_episodes_is_constant_while_no_episode_ends():
    env, other = (make_row_product(100, horizon=horizon) for horizon in (1, 50))
    random, greedy = Schedule(1.0, 0.0, 1, unit="episodes"), Schedule(0.0, 0.0, 1)
    how = {"steps": 40, "evaluate_every": 40, "learning_rate": 0.3}
    first = train(other, "ql", exploration=random, **how)
    assert first.episodes == 0
    assert np.array_equal(first.q, train(other, "ql", exploration=1.0, **how).q)
    assert not np.array_equal(first.q, train(other, "ql", exploration=greedy, **how).q)
    rates = {"learning_rate": Schedule(1.0, 0.0, 7, unit="episodes"), "steps": 40}
    each = train(env, "ql", **{**how, **rates})  # every sample is an episode
    same = train(env, "ql", **{**how, **rates, "learning_rate": Schedule(1.0, 0.0, 7)})
    assert np.array_equal(each.q, same.q)


def test_a_policy_with_such_a_schedule_is_saved_and_read(tmp_path):
    config = TabularConfig(exploration=Schedule(1.0, 0.1, 30, unit="episodes"))
    result = train(make_letter_product(), config=config, steps=2000)
    result.policy.save(tmp_path / "agent.npz")
    told = cranium.Policy.load(tmp_path / "agent.npz", make_letter_product()).about["config"]
    exploration = Schedule(**told.pop("exploration"))
    assert TabularConfig(**told, exploration=exploration) == config
    assert pickle.loads(pickle.dumps(result)).config == config


def test_progress_knows_schedules_over_episodes(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    exploration = Schedule(1.0, 0.25, 1, unit="episodes")
    train(make_letter_product(), steps=2000, exploration=exploration, progress=True)
    assert "ε 0.25" in capsys.readouterr().err


def complete(log, episodes):
    """When so many episodes in a row had succeeded, slowly and obviously."""
    for last in range(episodes, len(log) + 1):
        if all(log[last - episodes : last, 2]):
            return log[last - 1, 0]
    return None


@pytest.mark.parametrize("learner", ["cql", "planner"])
def test_a_streak_stops_the_training_and_says_exactly_when(learner):
    how = {"steps": 100_000, "seed": 2, "until": Streak(10), "evaluate_every": 70_000}
    one, other = (
        train(make_letter_product(), learner, path=path, evaluation_episodes=1, **how)
        for path in PATHS
    )
    assert one.streak_at == complete(one.log, 10)
    assert one.streak_at <= one.samples <= one.streak_at + 1000
    assert one.curve[-1, 0] == one.samples
    assert (other.streak_at, other.samples) == (one.streak_at, one.samples)
    assert np.array_equal(other.log, one.log)


@pytest.mark.parametrize("path", PATHS)
def test_where_there_is_no_streak_all_samples_are_taken(path):
    result = train(make_letter_product(max_episode_steps=5), steps=3000, until=Streak(1), path=path)
    assert (result.samples, result.streak_at) == (3000, None)
    assert len(result.log) == result.episodes >= 600


@pytest.mark.parametrize("length", [1, 2, 5, 30])
def test_streaks_are_found_across_pieces(length):
    rng = np.random.default_rng(length)
    for share in (0.1, 0.5, 0.9, 1.0):
        success = rng.random(200) < share
        log = np.stack([np.cumsum(rng.integers(1, 9, 200)), success, success], axis=1).astype(float)
        finder = StreakFinder(Streak(length))
        for piece in np.split(log, np.sort(rng.integers(0, 200, 12))):
            finder.read(piece)
        assert finder.read_so_far == 200
        assert finder.found == complete(log, length)


def test_the_ring_may_be_emptied_at_any_time():
    log = EpisodeLog(wanted=True, room=4)
    for number in range(11):
        log.ring[number % 4] = number, 0.5, 1
        if number % 3 == 2:
            log.empty(number + 1)
            log.empty(number + 1)
    log.empty(11)
    assert log.rows().tolist() == [[number, 0.5, 1] for number in range(11)]
    assert log.rows(9).tolist() == [[9, 0.5, 1], [10, 0.5, 1]]


def test_nonsense_is_refused():
    for wrong in ("streak", 100, ["solved"]):
        with pytest.raises(InvalidArgumentError, match="or a streak, not") as problem:
            train(make_letter_product(), steps=10, until=wrong)
        assert "Streak(100)" in str(problem.value)
    for wrong in (0, -1, 2.5, None, True):
        with pytest.raises(InvalidArgumentError, match="the length of a streak is a whole number"):
            Streak(wrong)
    with pytest.raises(InvalidArgumentError, match="log is true or false, not 'file'"):
        train(make_letter_product(), steps=10, log="file")
    for wrong in ("steps", "Episodes", None, 3, ["samples"]):
        with pytest.raises(InvalidArgumentError, match="is samples or episodes, not") as problem:
            Schedule(1.0, 0.0, 10, unit=wrong)
        assert repr(wrong) in str(problem.value)
    with pytest.raises(InvalidArgumentError, match="the episodes that a schedule takes is a whole"):
        Schedule(1.0, 0.0, 0, unit="episodes")
