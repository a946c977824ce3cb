"""The automaton-augmented MDP: an environment whose reward is an automaton's.

terminated = the ground environment terminated, or the machine is in a terminal state;
truncated = the ground environment truncated, or the horizon is reached.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import RewardFunction
from cranium.automata.transition import Configuration
from cranium.compiled.tables import OVERFLOW, largest_increment
from cranium.errors import (
    EpisodeEndedError,
    InvalidArgumentError,
    LabelError,
    UnknownNameError,
    WorldError,
    check_count,
    shorten,
)
from cranium.product.encoding import DictEncoding, Encoding
from cranium.product.labelling import events_of

__all__ = ["AutomatonAugmentedMDP", "product"]


class AutomatonAugmentedMDP(gym.Wrapper[Any, Any, Any, Any]):
    """The product of an environment and an automaton (Definition "AAMDP").

    After every step of the environment the automaton reads the events of that step, and the reward
    is the automaton's. ``info`` carries ``label`` (the events that the automaton knows),
    ``machine_state``, ``counters``, ``success``, ``overflow``, and ``ground_terminated``.

    Args:
        env: Any Gymnasium environment.
        automaton: The task.
        labelling: L(s, a, s′): a function from an observation, an action and the next observation
            to the names of the events. Left out, the world's own.
        horizon: After how many steps an episode is cut off. Left out, the environment's own time
            limit, if it has one.
        counter_limit: Γ. A counter that passes it ends the episode without success
            (``info["overflow"]``). Left out, the horizon times the largest increment, which no
            episode can pass.
        add_ground_reward: Whether the environment's own reward is added to the automaton's.
        encoding: How ⟨s, u, c⟩ is shown: by default as a dictionary.

    Example:
        >>> import cranium
        >>> from cranium.worlds import OfficeWorld
        >>> task = cranium.library.load("mail-delivery")
        >>> env = AutomatonAugmentedMDP(OfficeWorld(mail=1), task, horizon=100)
        >>> observation, info = env.reset(seed=0)
        >>> info["machine_state"], info["success"]
        ('empty-handed', False)
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        automaton: CountingRewardAutomaton,
        labelling: Callable[[Any, Any, Any], Iterable[str] | str] | None = None,
        *,
        horizon: int | None = None,
        counter_limit: int | None = None,
        add_ground_reward: bool = False,
        encoding: Encoding | None = None,
    ) -> None:
        if not isinstance(env, gym.Env):
            raise InvalidArgumentError(f"an environment is a gymnasium.Env, not {shorten(env)}")
        if not isinstance(automaton, CountingRewardAutomaton):
            raise InvalidArgumentError(
                f"a task is an automaton, not {shorten(automaton)}",
                fix="cranium.compile_language(…) or cranium.load(…) makes one",
            )
        super().__init__(env)
        self.automaton = automaton
        self.labelling = events_of(env, labelling)
        self.horizon = _horizon(env, horizon)
        self.counter_limit = _counter_limit(automaton, self.horizon, counter_limit)
        self.add_ground_reward = add_ground_reward
        self.encoding = encoding or DictEncoding()
        self.encoding.bind(env.observation_space, automaton, self.counter_limit)
        self.observation_space = self.encoding.space
        self._declared = self._check_vocabulary()
        self._bits: dict[Any, tuple[int, frozenset[str]]] = {}
        self._moves: dict[tuple[Configuration, int], tuple[Configuration, Any, bool, bool]] = {}
        self.configuration: Configuration | None = None
        self._ended = True
        self._observation: Any = None
        self._steps = 0

    # The environment

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; the seed and the options reach the ground environment."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.configuration = self.automaton.start
        self._observation, self._steps, self._ended = _kept(observation), 0, False
        shown = self.encoding.encode(observation, self.configuration)
        return shown, self._info(info, frozenset(), False, False)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Do something in the environment, and let the automaton read what happened."""
        if self._ended:
            raise EpisodeEndedError("the episode is over", fix="call reset() before step()")
        before = self._observation
        after, own, terminated, truncated, info = self.env.step(action)
        bits, label = self._label(self.labelling(before, action, after))
        assert self.configuration is not None
        key = (self.configuration, bits)
        move = self._moves.get(key)
        if move is None:
            move = self._moves[key] = self._work_out(*key)
        self.configuration, reward, ends, success = move
        if reward.__class__ is not float:
            reward = float(reward(before, action, after))
        if self.add_ground_reward:
            reward += float(own)
        self._steps += 1
        self._observation = _kept(after)
        if self._steps == self.horizon:
            truncated = True
        ended = terminated or ends
        self._ended = ended or truncated
        info = self._info(info, label, success, terminated)
        return self.encoding.encode(after, self.configuration), reward, ended, truncated, info

    def _info(
        self, info: dict[str, Any], label: frozenset[str], success: bool, ground_terminated: bool
    ) -> dict[str, Any]:
        assert self.configuration is not None
        return {
            **info,
            "label": label,
            "machine_state": self.configuration.state,
            "counters": self.configuration.counters,
            "success": success,
            "overflow": self.configuration is OVERFLOW,
            "ground_terminated": ground_terminated,
        }

    # How it works

    def _work_out(
        self, configuration: Configuration, bits: int
    ) -> tuple[Configuration, Any, bool, bool]:
        step = self.automaton.step(configuration, bits)
        after = step.configuration
        reward = step.reward if isinstance(step.reward, RewardFunction) else float(step.reward)
        if self.counter_limit is not None and any(c > self.counter_limit for c in after.counters):
            return OVERFLOW, reward, True, False
        ends = self.automaton.is_terminal(after)
        return after, reward, ends, self.automaton.is_accepting(after)

    def _label(self, events: Any) -> tuple[int, frozenset[str]]:
        try:
            return self._bits[events]
        except (KeyError, TypeError):
            names = frozenset((events,) if isinstance(events, str) else events)
        if names not in self._bits:
            if len(self._bits) > 1 << 16:
                self._bits.clear()
            self._bits[names] = self._read_label(names)
        if isinstance(events, str | tuple):
            self._bits[events] = self._bits[names]
        return self._bits[names]

    def _read_label(self, names: frozenset[str]) -> tuple[int, frozenset[str]]:
        alphabet = self.automaton.alphabet
        known = names & frozenset(alphabet.propositions)
        strange = names - known - self._declared
        if strange:
            unknown = UnknownNameError.of("event of this task", min(strange), alphabet.propositions)
            raise LabelError(
                unknown.message,
                fix=f"{unknown.fix}; or declare it: @cranium.labelling({min(strange)!r}, …)",
            )
        return alphabet.label(known), known

    def _check_vocabulary(self) -> frozenset[str]:
        """Every event that the task waits for must be one that can happen."""
        declared = getattr(self.labelling, "events", None)
        if declared is None:
            return frozenset()
        used = {p for t in self.automaton.transitions for p in t.guard.propositions}
        for name in self.automaton.propositions:
            if name in used and name not in declared:
                unknown = UnknownNameError.of("event in this world", name, declared)
                raise WorldError(f"the task reads {name!r}, but {unknown.message}", fix=unknown.fix)
        return frozenset(declared)


def product(
    env: gym.Env[Any, Any],
    automaton: CountingRewardAutomaton,
    labelling: Callable[[Any, Any, Any], Iterable[str] | str] | None = None,
    **options: Any,
) -> AutomatonAugmentedMDP:
    """The product of an environment and an automaton: see :class:`AutomatonAugmentedMDP`.

    Example:
        >>> import cranium, gymnasium
        >>> goal = cranium.labelling_from_cells({15: "goal"})
        >>> lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
        >>> env = cranium.product(lake, cranium.compile_language("goal"), goal)
        >>> observation, info = env.reset(seed=0)
        >>> for action in (1, 1, 2, 1, 2, 2):
        ...     observation, reward, terminated, truncated, info = env.step(action)
        >>> reward, terminated, info["success"]
        (1.0, True, True)
    """
    return AutomatonAugmentedMDP(env, automaton, labelling, **options)


def _kept(observation: Any) -> Any:
    """What was seen, safe from an environment that writes into what it gave out."""
    if observation.__class__ is np.ndarray:
        return observation.copy()
    return copy.deepcopy(observation) if isinstance(observation, dict | tuple) else observation


def _horizon(env: gym.Env[Any, Any], horizon: int | None) -> int | None:
    if horizon is not None:
        return check_count("the horizon", horizon)
    return None if env.spec is None else env.spec.max_episode_steps


def _counter_limit(
    automaton: CountingRewardAutomaton, horizon: int | None, limit: int | None
) -> int | None:
    if limit is not None:
        return check_count("the counter limit", limit, least=0)
    if not automaton.num_counters:
        return 0
    if horizon is None or any(
        t.silent and max(t.change, default=0) > 0 for t in automaton.transitions
    ):
        return None  # silent transitions may add any number in one step
    return horizon * largest_increment(automaton)
