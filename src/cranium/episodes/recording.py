"""An episode, moment by moment: what was done, what happened, and where the machine was."""

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
from cranium.worlds.protocols import Observation

__all__ = ["Episode", "Moment", "Recorder", "action_names", "record"]

MOST = 10_000
"""How many steps of an episode without an end are kept."""


@dataclass(frozen=True, eq=False)
class Moment:
    """What there is to be seen after a step, or at the start.

    Attributes:
        action: What was done; None at the start.
        name: What that is called; empty at the start.
        label: The events that the machine read.
        configuration: Where the machine is.
        reward: What the step was worth.
        total: What all steps were worth together.
        terminated: Whether the episode has ended.
        truncated: Whether its time is up.
        success: Whether the task is complete.
        text: The world as text; empty if it cannot be shown so.
        image: The world as a picture, if one was asked for. [H, W, 3]

    Example:
        >>> import gymnasium
        >>> moment = Recorder(gymnasium.make("cranium/Office-mail-delivery-v0")).step(2)
        >>> moment.name, moment.over, moment.configuration.state
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
        """Whether there is no further step."""
        return self.terminated or self.truncated


@dataclass(frozen=True, eq=False)
class Episode:
    """An episode of a task.

    Attributes:
        task: The task.
        moments: The start, and what came after each step.
        seed: The seed of its beginning.
        options: The options of ``reset``.
        world: The world's name in the catalogue; empty if it is not one of ours.
        settings: What the world was made with.
        horizon: After how many steps it is cut off.
        counter_limit: What no counter may pass.

    Example:
        >>> import gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> episode = record(env, lambda ground, configuration, rng: 0, most=3)
        >>> len(episode.moments), episode.moments[-1].name
        (4, 'right')
    """

    task: CountingRewardAutomaton
    moments: tuple[Moment, ...] = field(repr=False)
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    world: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    horizon: int | None = None
    counter_limit: int | None = None

    @property
    def outcome(self) -> str:
        """How it ended, in words."""
        last = self.moments[-1]
        if last.success:
            return "success"
        if last.terminated:
            return "failed"
        return "time is up" if last.truncated else "not finished"


class Recorder:
    """Plays an episode in a product, and keeps what happens.

    Args:
        env: The product of an environment and a task, or something around it.
        seed: The seed of the beginning.
        options: The options of ``reset``.
        world: The world's name in the catalogue, if it has one.
        settings: What the world was made with.
        pictures: Whether the world is drawn, too.

    Example:
        >>> import gymnasium
        >>> recorder = Recorder(gymnasium.make("cranium/Letter-anbcdn-v0"))
        >>> recorder.step(0).configuration
        Configuration(state='counting', counters=(0,))
        >>> recorder.undo()
        >>> len(recorder.episode.moments)
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
        self.moments: list[Moment] = []
        self._looks: dict[bytes, NDArray[np.uint8]] = {}
        self.begin(self.seed)

    def begin(self, seed: int) -> None:
        """Begin anew."""
        self.seed = seed
        self.observation, _ = self._reset()
        start = self.product.configuration
        told = (0.0, 0.0, False, False, False)
        self.moments = [Moment(None, "", frozenset(), start, *told, *self._shown())]

    def step(self, action: object) -> Moment:
        """Do something, and keep what came of it."""
        before = self.moments[-1]
        if before.over:
            raise EpisodeEndedError("the episode is over", fix="begin a new one")
        self.observation, reward, terminated, truncated, info = self.env.step(action)
        moment = Moment(
            action,
            self.name_of(action),
            info["label"],
            self.product.configuration,
            float(reward),
            before.total + float(reward),
            bool(terminated),
            bool(truncated),
            bool(info["success"]),
            *self._shown(),
        )
        self.moments.append(moment)
        return moment

    def undo(self) -> None:
        """Take the last step back: the world goes the same way again, without it."""
        kept = self.moments[:-1]
        if not kept:
            return
        self.observation, _ = self._reset()
        for moment in kept[1:]:
            self.observation, *_ = self.env.step(moment.action)
        self.moments = kept  # only now: whoever interrupts loses nothing

    def _reset(self) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(seed=self.seed, options=dict(self.options) or None)

    def name_of(self, action: object) -> str:
        """What an action is called."""
        if isinstance(action, int | np.integer):
            number = int(action) - first_action(self.env)
            if 0 <= number < len(self.names):
                return self.names[number]
        if isinstance(action, np.ndarray | list | tuple):
            return "(" + ", ".join(f"{float(part):.2g}" for part in np.ravel(action)) + ")"
        return str(action)

    @property
    def episode(self) -> Episode:
        """What has been kept so far."""
        told = (self.seed, self.options, self.world, self.settings)
        horizon = shortest_horizon(self.env, self.product.horizon)
        limits = (horizon, self.product.counter_limit)
        return Episode(self.product.automaton, tuple(self.moments), *told, *limits)

    def _shown(self) -> tuple[str, NDArray[np.uint8] | None]:
        text = _render(self.env, "ansi")
        image = _render(self.env, "rgb_array") if self.pictures else None
        if image is None:
            return "" if text is None else str(text), None
        picture = np.asarray(image)
        # Grids look the same again and again, and a long episode would not fit otherwise.
        return str(text or ""), self._looks.setdefault(picture.tobytes(), picture)


def _render(env: gym.Env[Any, Any], mode: str) -> Any:
    """The world in a mode: worlds of ours have several, others the one they were made with."""
    world: Any = env.unwrapped
    if hasattr(world, "vocabulary") and mode in world.metadata["render_modes"]:
        before, world.render_mode = world.render_mode, mode
        try:
            return world.render()
        finally:
            world.render_mode = before
    return env.render() if env.render_mode == mode else None


def action_names(env: gym.Env[Any, Any]) -> tuple[str, ...]:
    """What the actions of an environment are called: by the world, or else their numbers.

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
    """What an environment calls its first action, if they are numbers; else 0.

    Example:
        >>> import gymnasium
        >>> first_action(gymnasium.make("CartPole-v1"))
        0
    """
    return int(env.action_space.start) if isinstance(env.action_space, gym.spaces.Discrete) else 0


def record(
    env: gym.Env[Any, Any],
    policy: Callable[[Any, Configuration, np.random.Generator], Any],
    *,
    seed: int = 0,
    most: int = MOST,
    **more: Any,
) -> Episode:
    """Let a policy play an episode, and keep it.

    Args:
        env: The product of an environment and a task.
        policy: Takes the ground observation, the configuration and a random generator, and returns
            an action: what :func:`cranium.train` learns, say.
        seed: The seed of the episode.
        most: After how many steps it is left, if it does not end before.
        **more: As for :class:`Recorder`.

    Example:
        >>> import cranium, gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
        >>> policy = cranium.train(env, "planner", steps=2000, until="solved").policy
        >>> record(env, policy).outcome
        'success'
    """
    if not callable(policy):
        raise InvalidArgumentError(f"a policy is a function, not {shorten(policy)}")
    recorder = Recorder(env, seed=seed, **more)
    rng = np.random.default_rng(seed)
    for _ in range(check_count("most", most)):
        ground, configuration = recorder.product.encoding.decode(recorder.observation)
        if recorder.step(policy(ground, configuration, rng)).over:
            break
    return recorder.episode
