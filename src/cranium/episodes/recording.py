"""Record an episode step by step: actions, events, rewards and configurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp import find_product
from cranium.aamdp.product import shortest_horizon
from cranium.arguments import check_count
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.errors import EpisodeEndedError, InvalidArgumentError, shorten
from cranium.worlds.protocols import Observation, World

__all__ = ["Episode", "RecordedStep", "Recorder", "action_names", "record"]

MAX_STEPS = 10_000
"""The default number of steps after which a recording stops."""

PolicyFunction = Callable[[Any, Configuration, np.random.Generator], Any]
"""A function of the ground observation, the configuration and a generator: the action."""


@dataclass(frozen=True, eq=False)
class RecordedStep:
    """A step of a recorded episode, or its start.

    Attributes:
        action: The action; None at the start.
        name: The name of the action; empty at the start.
        label: The events that the machine read.
        configuration: The configuration of the machine after the step.
        reward: The reward of the step.
        total: The sum of the rewards up to this step.
        terminated: Whether the episode was terminated.
        truncated: Whether it was truncated.
        success: Whether the task is complete.
        text: The world rendered as text; empty if it cannot be.
        image: The world rendered as an image, if that was asked for. [H, W, 3]

    Example:
        >>> import gymnasium
        >>> recorded = Recorder(gymnasium.make("cranium/Office-mail-delivery-v0")).step(2)
        >>> recorded.name, recorded.over, recorded.configuration.state
        ('up', False, 'no mail')
    """

    action: object
    name: str
    label: frozenset[str]
    configuration: Configuration
    reward: float
    total: float
    terminated: bool
    truncated: bool
    success: bool
    text: str = field(repr=False, default="")
    image: NDArray[np.uint8] | None = field(repr=False, default=None)

    @property
    def over(self) -> bool:
        """Whether the episode is over: it was terminated or truncated."""
        return self.terminated or self.truncated


@dataclass(frozen=True, eq=False)
class Episode:
    """A recorded episode.

    Attributes:
        task: The task.
        steps: The start of the episode, then each step.
        seed: The seed of ``reset``.
        options: The options of ``reset``.
        world: The world's name in the catalogue; empty if it is not in it.
        settings: The arguments that the world was made with.
        horizon: The number of steps after which the episode is truncated.
        counter_limit: The greatest value of a counter.

    Example:
        >>> import gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> episode = record(env, lambda ground, configuration, rng: 0, max_steps=3)
        >>> len(episode.steps), episode.steps[-1].name
        (4, 'right')
    """

    task: CountingRewardAutomaton
    steps: tuple[RecordedStep, ...] = field(repr=False)
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    world: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    horizon: int | None = None
    counter_limit: int | None = None

    @property
    def status(self) -> str:
        """How the episode ended: success, failed, time is up, or not finished."""
        last = self.steps[-1]
        if last.success:
            return "success"
        if last.terminated:
            return "failed"
        return "time is up" if last.truncated else "not finished"


class Recorder:
    """Records an episode of a product while it is played.

    Args:
        env: The product of an environment and a task, or wrappers around it.
        seed: The seed of ``reset``.
        options: The options of ``reset``.
        world: The world's name in the catalogue, if it is in it.
        settings: The arguments that the world was made with.
        pictures: Whether to render images, too.

    Example:
        >>> import gymnasium
        >>> recorder = Recorder(gymnasium.make("cranium/Letter-anbcdn-v0"))
        >>> recorder.step(0).configuration
        Configuration(state='counting', counters=(0,))
        >>> recorder.undo()
        >>> len(recorder.episode.steps)
        1
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
        world: str = "",
        settings: Mapping[str, Any] | None = None,
        pictures: bool = False,
    ) -> None:
        self.env = env
        self.product = find_product(env)
        self.names = action_names(env)
        self.seed = check_count("the seed", seed, least=0)
        self.options = dict(options or {})
        self.world = world
        self.settings = dict(settings or {})
        self.pictures = pictures
        self.observation: Observation = None
        self.steps: list[RecordedStep] = []
        self._images: dict[bytes, NDArray[np.uint8]] = {}
        self.begin(self.seed)

    def begin(self, seed: int) -> None:
        """Start a new episode."""
        self.seed = seed
        self.observation, _ = self._reset()
        start = self.product.configuration
        told = (0.0, 0.0, False, False, False)
        self.steps = [RecordedStep(None, "", frozenset(), start, *told, *self._render_state())]

    def step(self, action: object) -> RecordedStep:
        """Take an action, and record the step."""
        before = self.steps[-1]
        if before.over:
            raise EpisodeEndedError("the episode is over", fix="begin a new one")
        self.observation, reward, terminated, truncated, info = self.env.step(action)
        recorded = RecordedStep(
            action,
            self.name_of(action),
            info["label"],
            self.product.configuration,
            float(reward),
            before.total + float(reward),
            bool(terminated),
            bool(truncated),
            bool(info["success"]),
            *self._render_state(),
        )
        self.steps.append(recorded)
        return recorded

    def undo(self) -> None:
        """Take the last step back, by playing the episode again without it."""
        kept = self.steps[:-1]
        if not kept:
            return
        self.observation, _ = self._reset()
        for recorded in kept[1:]:
            self.observation, *_ = self.env.step(recorded.action)
        self.steps = kept  # only now, so that an interruption loses nothing

    def _reset(self) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(seed=self.seed, options=dict(self.options) or None)

    def name_of(self, action: object) -> str:
        """Return the name of an action."""
        if isinstance(action, int | np.integer):
            number = int(action) - first_action(self.env)
            if 0 <= number < len(self.names):
                return self.names[number]
        if isinstance(action, np.ndarray | list | tuple):
            return "(" + ", ".join(f"{float(part):.2g}" for part in np.ravel(action)) + ")"
        return str(action)

    @property
    def episode(self) -> Episode:
        """The recording so far."""
        told = (self.seed, self.options, self.world, self.settings)
        horizon = shortest_horizon(self.env, self.product.horizon)
        limits = (horizon, self.product.counter_limit)
        return Episode(self.product.automaton, tuple(self.steps), *told, *limits)

    def _render_state(self) -> tuple[str, NDArray[np.uint8] | None]:
        text = _render(self.env, "ansi")
        image = _render(self.env, "rgb_array") if self.pictures else None
        if image is None:
            return "" if text is None else str(text), None
        picture = np.asarray(image)
        # Equal images are stored once, because a long episode would not fit in memory otherwise.
        return str(text or ""), self._images.setdefault(picture.tobytes(), picture)


def _render(env: gym.Env[Any, Any], mode: str) -> Any:
    """Render in a mode. Worlds can switch modes; other environments have the one of ``make``."""
    base = world = env.unwrapped
    if isinstance(base, World) and mode in world.metadata["render_modes"]:
        before, world.render_mode = world.render_mode, mode
        try:
            return world.render()
        finally:
            world.render_mode = before
    return env.render() if env.render_mode == mode else None


def action_names(env: gym.Env[Any, Any]) -> tuple[str, ...]:
    """Return the names of the actions: those that the world gives, or else their numbers.

    Example:
        >>> import gymnasium
        >>> action_names(gymnasium.make("cranium/Office-v0"))
        ('right', 'left', 'up', 'down')
        >>> action_names(gymnasium.make("CartPole-v1"))
        ('0', '1')
    """
    first = first_action(env)
    own = getattr(env.unwrapped, "action_names", None)
    if own is not None:
        return tuple(own)
    if isinstance(env.action_space, gym.spaces.Discrete):
        return tuple(map(str, range(first, first + int(env.action_space.n))))
    return ()


def first_action(env: gym.Env[Any, Any]) -> int:
    """Return the least action of a discrete action space; 0 for other spaces.

    Example:
        >>> import gymnasium
        >>> first_action(gymnasium.make("CartPole-v1"))
        0
    """
    return int(env.action_space.start) if isinstance(env.action_space, gym.spaces.Discrete) else 0


def record(
    env: gym.Env[Any, Any],
    policy: PolicyFunction,
    *,
    seed: int = 0,
    max_steps: int = MAX_STEPS,
    **more: Any,
) -> Episode:
    """Record an episode of a policy.

    Args:
        env: The product of an environment and a task.
        policy: A function of the ground observation, the configuration and a random generator that
            returns an action, such as the policy of :func:`cranium.train`.
        seed: The seed of the episode.
        max_steps: The number of steps after which the recording stops, if the episode goes on.
        **more: Further arguments of :class:`Recorder`.

    Example:
        >>> import cranium, gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
        >>> policy = cranium.train(env, "planner", steps=2000, until="solved").policy
        >>> record(env, policy).status
        'success'
    """
    if not callable(policy):
        raise InvalidArgumentError(f"a policy is a function, not {shorten(policy)}")
    recorder = Recorder(env, seed=seed, **more)
    rng = np.random.default_rng(seed)
    for _ in range(check_count("max_steps", max_steps)):
        ground, configuration = recorder.product.encoding.decode(recorder.observation)
        if recorder.step(policy(ground, configuration, rng)).over:
            break
    return recorder.episode
