"""The automaton-augmented MDP: an environment whose reward is an automaton's.

How an episode ends is defined in :func:`~cranium.aamdp.task_step.end_of_step`, the reward of a step
in :func:`~cranium.aamdp.task_step.evaluate_reward`.
"""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Iterable
from typing import Any, SupportsFloat

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from cranium.aamdp.encoding import DictEncoding, Encoding
from cranium.aamdp.labelling import choose_labelling
from cranium.aamdp.moves import MoveCache
from cranium.aamdp.task_step import TaskReader, end_of_step, evaluate_reward, task_info
from cranium.aamdp.wrappers import can_be_made_again, find_plain_world, own_time_limit
from cranium.arguments import check_count
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import Reward
from cranium.automata.transition import Configuration
from cranium.errors import (
    EpisodeEndedError,
    HorizonWarning,
    InvalidArgumentError,
    shorten,
)
from cranium.tables.configurations import check_start, largest_increment
from cranium.worlds.observations import copy_observation
from cranium.worlds.protocols import LabellingFunction, Observation

__all__ = ["AutomatonAugmentedMDP", "product"]


class AutomatonAugmentedMDP(
    gym.Wrapper[Any, Any, Any, Any],
    gym.utils.RecordConstructorArgs,
):
    """The product of an environment and an automaton (Definition "AAMDP").

    After every step of the environment the automaton reads the events of that step, and the reward
    is the automaton's. ``info`` carries ``label`` (the events that the automaton knows),
    ``machine_state``, ``counters``, ``success``, ``overflow``, ``ground_terminated``, and
    ``ground_reward`` where that is added.

    Args:
        env: Any Gymnasium environment.
        automaton: The task.
        labelling: L(s, a, s′): a function from an observation, an action and the next observation
            to the names of the events. Left out, the world's own.
        horizon: The number of steps after which an episode is truncated. If the environment has a
            ``TimeLimit``, the smaller of the two counts. Without either there is a warning
            (:class:`~cranium.errors.HorizonWarning`).
        counter_limit: Γ. A counter that passes it ends the episode without success
            (``info["overflow"]``). Left out, the horizon times the largest increment, which no
            episode can pass.
        add_ground_reward: Whether the environment's own reward is added to the automaton's.
        encoding: The encoding of ⟨s, u, c⟩ as an observation; by default a dictionary.

    Attributes:
        steps_left: The number of steps left in the episode. It is 0 after the end of an episode,
            and before the first reset. Without a horizon it counts down from −1.
        last_reward: The reward of the last step.
        last_end: For the last episode that ended: whether it was terminated, whether it was
            truncated, and how many steps were left.

    Example:
        >>> import cranium
        >>> from cranium.worlds import OfficeWorld
        >>> task = cranium.library.load("mail-delivery")
        >>> env = AutomatonAugmentedMDP(OfficeWorld(mail=1), task, horizon=100)
        >>> observation, info = env.reset(seed=0)
        >>> info["machine_state"], info["success"]
        ('no mail', False)
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        automaton: CountingRewardAutomaton,
        labelling: LabellingFunction | None = None,
        *,
        horizon: int | None = None,
        counter_limit: int | None = None,
        add_ground_reward: bool = False,
        encoding: Encoding | None = None,
    ) -> None:
        if not isinstance(env, gym.Env):
            many = isinstance(env, gym.vector.VectorEnv)
            raise InvalidArgumentError(
                f"an environment is a gymnasium.Env, not {shorten(env)}",
                fix="make a vector of products: gymnasium.make_vec(…, wrappers=[…])"
                if many
                else "gymnasium.make(…) makes one",
            )
        if not isinstance(automaton, CountingRewardAutomaton):
            raise InvalidArgumentError(
                f"a task is an automaton, not {shorten(automaton)}",
                fix="cranium.compile_language(…) or cranium.load(…) makes one",
            )
        # Without a specification there is nothing to make the product around again; where
        # gymnasium.make gives one later, its entry point has made the product, and will again.
        arguments: dict[str, Any] = {} if env.spec is None else {"automaton": automaton}
        if arguments:
            arguments |= {
                "labelling": labelling,
                "horizon": horizon,
                "counter_limit": counter_limit,
            }
            arguments |= {"add_ground_reward": add_ground_reward, "encoding": copy.copy(encoding)}
        gym.utils.RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **arguments)
        gym.Wrapper.__init__(self, env)
        self.automaton = automaton
        self.labelling = choose_labelling(env, labelling)
        self.horizon = shortest_horizon(env, horizon)
        if self.horizon is None and own_time_limit(env) is None:
            _warn_of_no_horizon()
        if encoding is not None and not isinstance(encoding, Encoding):
            raise InvalidArgumentError(
                f"an encoding is an object such as BoxEncoding(), not {shorten(encoding)}"
            )
        self.counter_limit = _counter_limit(automaton, self.horizon, counter_limit)
        self.add_ground_reward = add_ground_reward
        self.encoding = copy.copy(encoding) if encoding else DictEncoding()  # each binds its own
        limit, bounded = self.counter_limit, counter_limit is not None
        self.encoding.bind(env.observation_space, automaton, limit, can_overflow=bounded)
        self.observation_space = self.encoding.space
        self._reader = TaskReader(automaton, self.labelling, self.counter_limit)
        # A FiniteEnv with its own events and constant rewards needs neither copies of observations
        # nor a call of the labelling.
        plain = automaton.is_constant and not add_ground_reward
        self._world = find_plain_world(env, self.labelling) if plain else None
        self._moves = MoveCache(self._reader, self.encoding)
        self._node = self._moves.node_of(automaton.start)
        self._observation: Observation = None
        self.steps_left = 0
        self.last_reward = 0.0
        self.last_end = (False, False, 0)

    @property
    def configuration(self) -> Configuration:
        """The current configuration ⟨u, c⟩ of the machine.

        Example:
            >>> import cranium
            >>> env = gym.make("cranium/Letter-anbcdn-v0")
            >>> print(cranium.find_product(env).configuration)
            ⟨counting, 0⟩
        """
        return self._node.configuration

    @property
    def ground(self) -> Observation:
        """The last observation of the ground environment, unchanged; it must not be modified.

        Example:
            >>> import cranium
            >>> env = cranium.find_product(gym.make("cranium/Letter-anbcdn-v0"))
            >>> observation, _ = env.reset(seed=0, options={"times": {"A": 3}})
            >>> env.ground
            array([4, 4, 3])
        """
        return self._observation

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override] # as in gymnasium.Wrapper
        """The specification of the environment and of this product: ``spec.make()`` makes both.

        None if the environment has none, or if the product cannot be made again from its arguments,
        because one of them cannot be copied, or because the labelling refers to this environment.

        Example:
            >>> import cranium
            >>> env = product(gym.make("cranium/Letter-v0"), cranium.library.load("anbcdn"))
            >>> cranium.find_product(env.spec.make()).automaton == env.automaton
            True
        """
        known = self._cached_spec is not None or not self._saved_kwargs
        return super().spec if known or can_be_made_again(self, self._saved_kwargs) else None

    @property
    def is_plain(self) -> bool:
        """Whether ``step`` and ``reset`` are those of this class, not of a subclass.

        Example:
            >>> import cranium
            >>> cranium.find_product(gym.make("cranium/Letter-anbcdn-v0")).is_plain
            True
        """
        kind, own = type(self), AutomatonAugmentedMDP
        return kind.step is own.step and kind.reset is own.reset

    # The environment

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode. The seed and the options are passed to the ground environment.

        Example:
            >>> import cranium
            >>> env = gym.make("cranium/Letter-anbcdn-v0")
            >>> observation, info = env.reset(seed=0, options={"times": {"A": 3}})
            >>> observation["ground"], info["machine_state"]
            (array([4, 4, 3]), 'counting')
        """
        observation, info = self.env.reset(seed=seed, options=options)
        self._node = node = self._moves.node_of(self.automaton.start)
        self._observation = copy_observation(observation)
        self.steps_left = self.horizon or -1
        task_part = task_info(frozenset(), node.configuration, success=False)
        return node.encode(copy_observation(observation)), {**info, **task_part}

    def step(self, action: object) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take an action in the environment; the automaton reads the events of the step.

        Example:
            >>> import cranium
            >>> env = gym.make("cranium/Letter-anbcdn-v0")
            >>> observation, info = env.reset(seed=0)
            >>> for action in (2, 2, 1, 1, 1, 2):  # to the letter A
            ...     observation, reward, terminated, truncated, info = env.step(action)
            >>> info["label"], info["counters"]
            (frozenset({'A'}), (1,))
        """
        left = self.steps_left
        if not left:
            raise EpisodeEndedError("the episode is over", fix="call reset() before step()")
        after, own, terminated, truncated, info = self.env.step(action)
        world = self._world
        events: Iterable[str] | str
        reward: Any  # a number, or a reward function that is evaluated below
        if world is not None:
            events = world.events
        else:
            self.steps_left = 0  # an error below ends the episode, because the world has moved on
            events = self.labelling(self._observation, action, after)
        try:
            self._node, encode, state, counters, reward, ended, task_part = self._node.moves[events]
        except (KeyError, TypeError):
            self.steps_left = 0
            move = self._moves.find(self._node, events)
            self._node, encode, state, counters, reward, ended, task_part = move
        if world is None:
            reward, info = self._pay(reward, own, info, action, after)
            after, self._observation = copy_observation(after), copy_observation(after)
        else:
            self._observation = after
        info = {**info, **task_part} if info else task_part.copy()
        if ended or terminated or truncated or left == 1:
            if terminated:
                info["ground_terminated"] = True
            ended, truncated = end_of_step(
                machine_ended=ended,
                terminated=terminated,
                truncated=truncated,
                at_horizon=left == 1,
            )
            self.last_end = (ended, truncated, left - 1)
            left = 1
        self.steps_left, self.last_reward = left - 1, reward
        if counters is not None:  # what DictEncoding does, inlined: a call takes a tenth of a step
            after = {"ground": after, "machine_state": state, "counters": next(counters)}
        else:
            after = encode(after)
        return after, reward, ended, truncated, info

    def _pay(
        self,
        reward: Reward,
        own: SupportsFloat,
        info: dict[str, Any],
        action: object,
        after: Observation,
    ) -> tuple[float, dict[str, Any]]:
        """Compute the reward of a step, and enter the ground reward into the info."""
        ground = float(own) if self.add_ground_reward else None
        total = evaluate_reward(reward, self._observation, action, after, ground)
        if ground is not None:
            info = {**info, "ground_reward": ground}
        elif "ground_reward" in info:  # of a product inside this one, say
            info = {key: value for key, value in info.items() if key != "ground_reward"}
        return total, info

    def __getstate__(self) -> dict[str, Any]:
        # The cache is left out: a long chain of nodes would be too deep to pickle.
        return {**self.__dict__, "_moves": None, "_node": self.configuration}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._moves = MoveCache(self._reader, self.encoding)
        self._node = self._moves.node_of(state["_node"])

    def read_label(self, names: frozenset[str]) -> tuple[int, frozenset[str]]:
        """Return the label of events, as a bitmask and as names; unknown events are refused.

        Example:
            >>> import cranium
            >>> env = cranium.find_product(gym.make("cranium/Letter-anbcn-v0"))
            >>> env.read_label(frozenset({"B", "D"}))
            (2, frozenset({'B'}))
        """
        return self._reader.read_label(names)


def product(
    env: gym.Env[Any, Any],
    automaton: CountingRewardAutomaton,
    labelling: LabellingFunction | None = None,
    **options: Any,
) -> AutomatonAugmentedMDP:
    """Return the product of an environment and an automaton: :class:`AutomatonAugmentedMDP`.

    Example:
        >>> import cranium, gymnasium
        >>> goal = cranium.labelling_from_cells({15: "goal"})
        >>> lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
        >>> env = cranium.product(lake, cranium.compile_language("goal"), goal)
        >>> env.horizon  # FrozenLake's own time limit
        100
        >>> observation, info = env.reset(seed=0)
        >>> for action in (1, 1, 2, 1, 2, 2):
        ...     observation, reward, terminated, truncated, info = env.step(action)
        >>> reward, terminated, info["success"]
        (1.0, True, True)
    """
    return AutomatonAugmentedMDP(env, automaton, labelling, **options)


def shortest_horizon(env: gym.Env[Any, Any], horizon: int | None) -> int | None:
    """Return the smaller of the given horizon and the environment's own time limit."""
    limits = [] if horizon is None else [check_count("the horizon", horizon)]
    if env.spec is not None and env.spec.max_episode_steps is not None:
        limits.append(env.spec.max_episode_steps)
    inner = env
    while isinstance(inner, gym.Wrapper):
        if type(inner) is gym.wrappers.TimeLimit:  # a subclass may count otherwise
            limits.append(int(inner._max_episode_steps))
        if isinstance(inner, AutomatonAugmentedMDP) and inner.horizon is not None:
            limits.append(inner.horizon)
        inner = inner.env
    return min(limits, default=None)


def _warn_of_no_horizon() -> None:
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("cranium."):
        frame, level = frame.f_back, level + 1
    if frame.f_globals.get("__name__") == "gymnasium.envs.registration":
        return  # made again from its specification: its maker was warned
    warnings.warn(
        "the product has no horizon, and the environment has no time limit: an episode may never "
        "end, and evaluations cut it off after 1,000 steps, or 10,000 in a finite world. Give a "
        "horizon: cranium.product(…, horizon=1000), or --horizon in a command",
        HorizonWarning,
        stacklevel=level,
    )


def _counter_limit(
    automaton: CountingRewardAutomaton, horizon: int | None, limit: int | None
) -> int | None:
    if limit is not None:
        most = check_count("the counter limit", limit, least=0)
        check_start(automaton, most)
        return most
    if not automaton.num_counters:
        return 0
    if horizon is None or any(
        t.silent and max(t.change, default=0) > 0 for t in automaton.transitions
    ):
        return None  # silent transitions may add any number in one step
    return horizon * largest_increment(automaton)
