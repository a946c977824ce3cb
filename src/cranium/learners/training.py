"""Training: one call for every learner and every environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.planning import find_product, model_of
from cranium.aamdp.product import AutomatonAugmentedMDP, shortest_horizon
from cranium.aamdp.tabular_product import TabularProduct
from cranium.compiled.tables import OVERFLOW
from cranium.errors import (
    CraniumError,
    InvalidArgumentError,
    PolicyError,
    RewardError,
    RunError,
    WorldError,
    check_count,
    shorten,
)
from cranium.learners.choice import choose_config
from cranium.learners.config import (
    IMAGINED,
    LearnerConfig,
    OptionsConfig,
    PlannerConfig,
    TabularConfig,
    check_number,
    rate_at,
)
from cranium.learners.episodes import Streak, StreakFinder
from cranium.learners.evaluation import (
    Evaluation,
    Instances,
    TabularExaminer,
    check_instances,
    examiner_for,
    listed,
)
from cranium.learners.files import world_print
from cranium.learners.network_config import NetworkConfig
from cranium.learners.policy import Policy
from cranium.learners.progress import Watch
from cranium.worlds.point import PointWorld

__all__ = ["TrainingResult", "train"]

Floats = NDArray[np.float64]
MOST_SAMPLES = 2**24
Until = Literal["solved"] | Streak | Callable[[Evaluation], bool] | None


@dataclass(frozen=True)
class TrainingResult:
    """What was learned, and how it went.

    Attributes:
        learner: The id of the learner.
        config: Its settings.
        seed: The seed.
        path: ``"compiled"``: the world was made into arrays, and the whole loop compiled;
            ``"jax"``: the same, for networks; ``"python"``: the environment stepped in Python.
        samples: How many samples were taken.
        samples_to_solve: After how many the greedy policy first solved every instance, or None.
        evaluation: The greedy policy at the end.
        curve: Samples, and the success, return and steps of the greedy policy then, averaged over
            the instances. [T, 4]
        episodes: How many episodes ended while training, with exploration.
        successes: How many of them with success.
        overflows: How many of them because a counter passed its limit.
        log: With ``log=True``, these episodes one by one: how many samples were taken when each
            ended, its return (the sum of its rewards), whether it succeeded (0 or 1). [E, 3]
        streak_at: After how many samples the streak that was asked for was complete, or None.
        interrupted: Whether Ctrl-C ended it.
        learned: What makes the policy.

    Example:
        >>> import cranium
        >>> env = gym.make("cranium/Letter-anbcdn-v0", times=1)
        >>> result = cranium.train(env, "ql", steps=40_000, until="solved")
        >>> result.samples == result.samples_to_solve < 40_000, result.path
        (True, 'compiled')
    """

    learner: str
    config: LearnerConfig
    seed: int
    path: str
    samples: int
    samples_to_solve: int | None
    evaluation: Evaluation
    curve: Floats = field(repr=False)
    episodes: int
    successes: int
    overflows: int
    log: Floats = field(repr=False)
    streak_at: int | None
    interrupted: bool
    learned: Callable[[], Policy] = field(repr=False, compare=False)

    @cached_property
    def policy(self) -> Policy:
        """What was learned, worked out when it is asked for."""
        return self.learned()

    def __reduce__(self) -> Any:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return _restored, ({**values, "learned": None}, self.policy)

    @property
    def q(self) -> Floats:
        """The values of actions. [O, X, A] as in the policy."""
        if not isinstance(self.policy, Policy):
            raise PolicyError(
                f"{self.learner} has learned a network, which has no table of values",
                fix="ask result.policy.values(observations, configurations)",
            )
        return self.policy.q


def _restored(values: dict[str, Any], policy: Policy) -> TrainingResult:
    return TrainingResult(**{**values, "learned": lambda: policy})


def train(
    env: gym.Env[Any, Any],
    learner: str = "cql",
    *,
    steps: int,
    seed: int = 0,
    until: Until = None,
    gap: float | None = None,
    config: LearnerConfig | None = None,
    counter_limit: int | None = None,
    path: Literal["auto", "compiled", "python"] = "auto",
    evaluate_every: int | None = None,
    instances: Instances | None = None,
    evaluation_env: gym.Env[Any, Any] | None = None,
    evaluation_episodes: int = 10,
    discretise: Callable[[Any], Any] | None = None,
    log: bool = False,
    progress: bool = False,
    **settings: Any,
) -> TrainingResult:
    """Learn a task.

    A finite world is made into arrays, and the whole loop runs compiled; any other environment
    steps in Python. The result says which; it is the same if the same configurations are imagined.
    Ctrl-C returns what was learned so far.

    Args:
        env: A product, perhaps with wrappers around it.
        learner: ``"ql"``, ``"cql"``, ``"crm"``, ``"hrm"`` or ``"planner"``; with networks
            ``"dqn"``, ``"cdqn"``, ``"dcrm"``, ``"td3"`` or ``"ctd3"``.
        steps: How many samples to take.
        seed: The same seed gives the same result, bit for bit.
        until: When to stop earlier: ``"solved"``, a function of the evaluation (which knows the
            optimum where the world is finite), or ``Streak(100)``: so many training episodes in a
            row succeeded. That is looked at every 1,000 samples, so a few more are taken;
            ``streak_at`` of the result is exact.
        gap: How much less than the optimum a policy may earn and still be called solved.
        config: The settings of the learner, such as ``TabularConfig(discount=0.9)``.
        counter_limit: Up to which counter values configurations are imagined (at most the product's
            own limit); beyond it an episode overflows. Left out, the limit is the product's, and of
            the configurations those are imagined that can happen in this world, or (in Python) all,
            if there are at most 2,000, else those that are met.
        path: ``"compiled"`` or ``"python"``; ``"auto"`` compiles where that is possible.
        evaluate_every: After how many samples the greedy policy is looked at; by default it is
            looked at a hundred times, a network in a world that is not finite ten times.
        instances: Which instances of the task are asked for: see :func:`cranium.evaluate`.
        evaluation_env: Where to evaluate, if not in a copy (in Python).
        evaluation_episodes: For how many episodes of each instance (in Python).
        discretise: What to make of an observation, if they are not finitely many (in Python).
        log: Whether to keep a log of the training episodes, as a streak always does.
        progress: Whether to show how it goes, on standard error.
        **settings: Single settings of the learner, such as ``shaping=True``.

    Example:
        >>> import cranium
        >>> env = gym.make("cranium/Letter-anbcdn-v0", times=1)
        >>> result = cranium.train(env, "cql", steps=30_000, seed=0)
        >>> result.evaluation.solved, result.evaluation.lengths
        (True, array([17.]))
    """
    check_count("steps", steps)
    check_count("seed", seed, least=0)
    every = max(steps // 100, 1)
    if evaluate_every is not None:
        every = check_count("evaluate_every", evaluate_every)
    check_instances(instances)
    _check_until(until, log)
    if path not in ("auto", "compiled", "python"):
        raise InvalidArgumentError(f"a path is auto, compiled or python, not {shorten(path)}")
    chosen = choose_config(learner, config, settings)
    product = find_product(env)
    _check_machine(learner, chosen, product)
    network = isinstance(chosen, NetworkConfig)
    if isinstance(chosen, NetworkConfig):
        _check_network(learner, chosen, env, discretise, steps)
    seeds = np.random.SeedSequence(seed).spawn(2)  # by position: the agent's, the world's
    agent = np.random.default_rng(seeds[0])
    world_seed = int(seeds[1].generate_state(1)[0])
    model = _model(env, counter_limit, discretise, path=path, network=network)
    if network and model is None and evaluate_every is None:
        every = max(steps // 10, 1)  # to act with a network takes longer than to learn
    _check_gap(gap, model, chosen.discount)
    seen = product.env.observation_space if discretise is None else None
    logs = log or isinstance(until, Streak)
    make = _Making(learner, chosen, env, counter_limit, agent, seen, logs, path)
    if model is not None:
        examiner = TabularExaminer(env, model, instances, chosen.discount)
        run = make.tabular(model, examiner, world_seed)
    else:
        live = examiner_for(
            env, evaluation_env, instances, evaluation_episodes, world_seed, chosen.discount
        )
        run = make.live(env, live, discretise, world_seed)
    loop = _Loop(run, steps, every, until, gap)
    with Watch(progress, f"{learner} on {product.automaton.name or 'the task'}", steps) as watch:
        loop.go(watch)
    known = None if model is None else model.world
    return loop.result(learner, chosen, seed, lambda: world_print(product, known))


def _model(
    env: gym.Env[Any, Any],
    counter_limit: int | None,
    discretise: Any,
    *,
    path: str,
    network: bool = False,
) -> TabularProduct | None:
    """The product as arrays, or None if the environment is to step in Python."""
    product = find_product(env)
    most = product.counter_limit
    if counter_limit is not None and most is not None and counter_limit > most:
        raise InvalidArgumentError(
            f"the product has the counter limit {most}, which is less than {counter_limit}",
            fix=f"make it with cranium.product(…, counter_limit={counter_limit})",
        )
    if path == "compiled" and network and isinstance(product.unwrapped, PointWorld):
        return None  # it steps inside the loop without being listed
    if path == "compiled":
        if discretise is not None:
            raise InvalidArgumentError("only the path in Python discretises observations")
        return model_of(find_product(env, transparent=True), counter_limit=counter_limit)
    if path == "python" or discretise is not None:
        return None
    return listed(env, counter_limit=counter_limit)


def _check_until(until: Any, log: Any) -> None:
    streak = isinstance(until, Streak)
    if not (until is None or streak or until == "solved" or callable(until)):
        raise InvalidArgumentError(
            f'until is "solved", a function of the evaluation, or a streak, not {shorten(until)}',
            fix="until=cranium.learners.Streak(100): so many episodes in a row succeeded",
        )
    if not isinstance(log, bool):
        raise InvalidArgumentError(f"log is true or false, not {shorten(log)}")


def _check_gap(gap: Any, model: TabularProduct | None, discount: float) -> None:
    if gap is None:
        return
    if not check_number("gap", gap) >= 0:
        raise InvalidArgumentError(f"gap is 0 or more, not {gap}")
    if model is None or not 0 < discount < 1:
        raise InvalidArgumentError(
            "the gap to the optimum is known for finite worlds and a discount between 0 and 1 only",
            fix="leave gap out",
        )


def _check_machine(learner: str, config: LearnerConfig, product: AutomatonAugmentedMDP) -> None:
    counters = product.automaton.counters
    if learner in ("crm", "hrm", "dcrm") and counters:
        instead = "cdqn" if learner == "dcrm" else "cql"
        raise InvalidArgumentError(
            f"{learner} learns on reward machines, but this machine has counters",
            fix=f"use {instead}, or the product with cranium.unroll(automaton, counter_limit=…)",
        )
    if isinstance(config, TabularConfig) and config.shaping == "published" and counters:
        raise InvalidArgumentError(
            "the published shaping is for reward machines, but this machine has counters",
            fix="use shaping=True",
        )


def _check_network(
    learner: str, config: NetworkConfig, env: gym.Env[Any, Any], discretise: Any, steps: int
) -> None:
    from cranium.learners.deep import require_jax

    require_jax(learner)
    from cranium.learners.deep.brain import check_actions

    check_actions(learner, config, env.action_space)
    if steps > MOST_SAMPLES:
        raise InvalidArgumentError(
            f"networks take at most {MOST_SAMPLES:,} samples, not {steps:,}",
            fix="they count them with single precision",
        )
    if discretise is not None:
        raise InvalidArgumentError(
            f"{learner} learns from observations as they are", fix="leave discretise out"
        )


class _Making:
    """Makes a run: a memory, what learns in it, and where."""

    def __init__(
        self,
        learner: str,
        config: LearnerConfig,
        env: gym.Env[Any, Any],
        counter_limit: int | None,
        agent: np.random.Generator,
        seen: gym.Space[Any] | None,
        logs: bool,
        path: str,
    ) -> None:
        self.path = path
        self.learner = learner
        self.config = config
        self.product = find_product(env)
        self.horizon = shortest_horizon(env, self.product.horizon)
        self.counter_limit = counter_limit
        self.agent = agent
        self.seen = seen
        self.logs = logs

    def tabular(self, model: TabularProduct, examiner: TabularExaminer, seed: int) -> Any:
        from cranium.learners.memory import open_space
        from cranium.learners.tabular import TabularRun, warn_if_unsound

        imagines = getattr(self.config, "configurations", "") in ("seen", "reachable")
        if imagines or isinstance(self.config, OptionsConfig):
            warn_if_unsound(self.product, model.world)
        automaton, space = self.product.automaton, model.space
        if self.counter_limit is not None:
            space = open_space(automaton, self.counter_limit)
        elif isinstance(self.config, PlannerConfig):  # it must not know what can happen here
            space = open_space(automaton, self.product.counter_limit, IMAGINED)
            space = space if len(space) > 1 else model.space
        for label in model.world.labels:
            space.add_label(label & frozenset(automaton.propositions))
        networks = isinstance(self.config, NetworkConfig)  # they need no table of values
        observations = 1 if networks else len(model.world.observations)
        brain = self._brain(space, model.world.num_actions, observations)
        if networks:
            from cranium.learners.deep.run import FiniteDeepRun

            return FiniteDeepRun(self.product, model, brain, examiner, seed, self.logs)
        return TabularRun(self.product, model, brain, examiner, seed, self.logs)

    def live(self, env: gym.Env[Any, Any], examiner: Any, discretise: Any, seed: int) -> Any:
        from cranium.learners.live import LiveRun
        from cranium.learners.memory import open_space

        given = self.counter_limit is not None
        limit = self.counter_limit if given else self.product.counter_limit
        if given and limit != self.product.counter_limit:
            raise InvalidArgumentError(
                f"the product has the counter limit {self.product.counter_limit}, not {limit}",
                fix=f"make it with cranium.product(…, counter_limit={limit})",
            )
        space = open_space(self.product.automaton, limit, None if given else IMAGINED)
        actions = int(getattr(env.action_space, "n", 1))
        if isinstance(self.config, NetworkConfig):
            growing = OVERFLOW not in space.configurations
            brain = self._brain(space, actions, 1, growing=growing)
            return self._live_network(env, brain, examiner, seed)
        brain = self._brain(space, actions, 64)
        return LiveRun(env, self.product, brain, examiner, seed, discretise, self.logs)

    def _live_network(self, env: gym.Env[Any, Any], brain: Any, examiner: Any, seed: int) -> Any:
        from cranium.learners.deep.live import LiveDeepRun
        from cranium.learners.deep.point import point_world
        from cranium.learners.deep.run import FusedRun

        fused = self.path != "python" and not brain.growing
        world = point_world(env, brain.memory) if fused else None
        if world is not None:
            return FusedRun(brain, world, examiner, self.logs)
        if self.path == "compiled":
            raise WorldError(
                "only finite worlds and PointWorld can step inside the loop, with a limit for the "
                "counters",
                fix="leave path out, or give counter_limit=…",
            )
        return LiveDeepRun(env, self.product, brain, examiner, seed, self.logs)

    def _brain(self, space: Any, actions: int, observations: int, *, growing: bool = False) -> Any:
        from cranium.learners.brains import QBrain
        from cranium.learners.memory import Memory

        memory = Memory(space, self.config, actions, self.horizon, observations)
        if isinstance(self.config, TabularConfig):
            return QBrain(memory, self.config, self.agent)
        if isinstance(self.config, PlannerConfig):
            from cranium.learners.planner import PlannerBrain

            product = self.product
            pays_more = product.add_ground_reward or not product.automaton.is_constant
            return PlannerBrain(memory, self.config, self.agent, self.seen, pays_more)
        if isinstance(self.config, OptionsConfig):
            from cranium.learners.options import OptionsBrain

            return OptionsBrain(memory, self.config, self.agent)
        if isinstance(self.config, NetworkConfig):
            from cranium.learners.deep.brain import DeepBrain

            told = (memory, self.config, self.agent, self.product)
            return DeepBrain(*told, growing=growing)
        raise NotImplementedError(self.learner)


class _Loop:
    """Learns and evaluates by turns."""

    def __init__(self, run: Any, steps: int, every: int, until: Until, gap: float | None) -> None:
        self.run = run
        self.steps = steps
        self.every = every
        self.until = until
        self.gap = gap
        self.curve: list[tuple[float, ...]] = []
        self.last: Evaluation | None = None
        self.solved_at: int | None = None
        self.streak = StreakFinder(until) if isinstance(until, Streak) else None
        self.interrupted = False

    @property
    def done(self) -> int:
        from cranium.learners.kernels import SAMPLES

        return int(self.run.brain.memory.position[SAMPLES])

    @property
    def exploration(self) -> float:
        config = self.run.brain.config
        return rate_at(getattr(config, "exploration", 0.0), self.done, int(self.run.ends[0]))

    def go(self, watch: Watch) -> None:
        try:
            while self.done < self.steps:
                target = min((self.done // self.every + 1) * self.every, self.steps)
                while self.done < target and not self._has_streak():
                    self._learn(target - self.done)
                    watch.show(self.done, self.exploration, self.run.ends, self.curve)
                if self._look() or self._has_streak():
                    return
        except KeyboardInterrupt:
            self.interrupted = True

    def _has_streak(self) -> bool:
        """Read what is new in the log; whether a streak that was asked for is complete."""
        finder = self.streak
        return finder is not None and finder.read(self.run.logged(finder.read_so_far)) is not None

    def _learn(self, steps: int) -> None:
        if self.streak is not None:
            from cranium.learners.memory import CHUNK

            steps = min(steps, CHUNK)  # so that both paths stop after the same sample
        try:
            status = self.run.learn(steps)
        except (RunError, RewardError) as problem:
            raise self._placed(problem) from None
        if status < 0:
            refused = self.run.problem(status)
            raise self._placed(
                refused
                or RewardError(
                    "a value became infinite or NaN", fix="lower the rewards or the learning rate"
                )
            )

    def _placed(self, problem: CraniumError) -> CraniumError:
        """The error, with the sample and the configuration."""
        from cranium.learners.kernels import CONFIGURATION

        memory = self.run.brain.memory
        x = memory.space.decode(int(memory.position[CONFIGURATION]))
        problem.message = f"after {self.done:,} samples, in {x}: {problem.message}"
        problem.args = (problem.message,)
        return problem

    def _look(self) -> bool:
        """Evaluate; whether to stop."""
        # A function may ask how near the optimum the policy is.
        self.last = found = self.run.evaluate(optimum=self.gap is not None or callable(self.until))
        means = (found.success.mean(), found.returns.mean(), found.lengths.mean())
        self.curve.append((self.done, *means))
        if self.solved_at is None and found.is_solved(self.gap):
            self.solved_at = self.done
        if self.until == "solved":
            return self.solved_at is not None
        return callable(self.until) and bool(self.until(found))

    def _final(self) -> Evaluation:
        """The evaluation at the end, with the optimum where there is one."""
        last = self.last
        complete = last is not None and (last.optimum is not None or not last.exact)
        if last is not None and complete and self.curve[-1][0] == self.done:
            return last  # nothing was learned since
        found: Evaluation = self.run.evaluate(optimum=True)
        return found

    def result(
        self, learner: str, config: LearnerConfig, seed: int, world: Callable[[], str]
    ) -> TrainingResult:
        run = self.run
        self._has_streak()  # it may be complete, although Ctrl-C came first
        about = {
            "learner": learner,
            "config": asdict(config),
            "seed": seed,
            "samples": self.done,
            "samples_to_solve": self.solved_at,
        }

        def learned() -> Policy:
            policy: Policy = run.policy()
            return replace(policy, world=world(), about=about)

        return TrainingResult(
            learner,
            config,
            seed,
            run.path,
            self.done,
            self.solved_at,
            self._final(),
            np.array(self.curve).reshape(-1, 4),
            int(run.ends[0]),
            int(run.ends[1]),
            int(run.ends[2]),
            run.logged(),
            None if self.streak is None else self.streak.found,
            self.interrupted,
            learned,
        )
