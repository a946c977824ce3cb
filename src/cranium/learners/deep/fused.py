"""Training where the world is made of arrays: everything in one loop of JAX."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np

from cranium._runtime.interrupt import held
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.aamdp.tabular_product import TabularProduct
from cranium.errors import CraniumError
from cranium.learners.deep.agent import DeepAgent
from cranium.learners.deep.arrays import finite_world, put
from cranium.learners.deep.loop import interact, new_life
from cranium.learners.episode_log import EpisodeLog, Floats
from cranium.learners.evaluation import Evaluation, TabularEvaluator
from cranium.learners.run import LearnerRun
from cranium.learners.tabular import kernels
from cranium.learners.tabular.fused import TabularRun

__all__ = ["FiniteDeepRun", "FusedRun"]

AT_ONCE = 1 << 26
"""How many numbers an evaluation holds in memory at once, or about that many."""

CHUNK = 1_000
"""How many samples are taken at most before Ctrl-C is heard and progress is shown."""


class FusedRun(LearnerRun[DeepAgent]):
    """One run in a world that steps inside the loop."""

    path = "jax"

    def __init__(
        self, agent: DeepAgent, world: Any, evaluator: Any, log: bool = False, state: Any = None
    ) -> None:
        self.agent = agent
        self.evaluator = evaluator
        self.ends = np.zeros(4)
        self.log = EpisodeLog(wanted=log, room=CHUNK)
        self._begin(world, state)

    def _begin(self, world: Any, state: Any) -> None:
        agent = self.agent
        self.arrays, self.machine = world, agent.machine()
        capacity = agent.config.replay
        weights = agent.method.weights(agent.drawing(), agent.encoding.width, self.machine)
        told = {"method": agent.method, "capacity": capacity, "log": CHUNK}
        with held():
            self.life = new_life(agent.key, world, self.machine, weights, state, **told)

    def learn(self, steps: int) -> int:
        """Take up to so many samples; returns a status."""
        agent = self.agent
        told = (agent.rates, agent.horizon, np.int32(min(steps, CHUNK)))
        with held():
            life = interact(self.life, self.arrays, self.machine, *told, method=agent.method)
            finite = bool(np.isfinite(np.asarray(life.learned.loss)))  # waits until it is done
        return self.take(life, finite=finite)

    def take(self, life: Any, *, finite: bool) -> int:
        """Go on from here; a status."""
        self.log.empty(int(self.ends[0]))
        agent, self.life = self.agent, life
        self.ends[:] = life.ends
        if self.log.wanted:
            self.log.ring[:] = life.log[:-1]
        position = agent.tables.position
        position[kernels.SAMPLES], position[kernels.AGE] = life.samples, life.age
        position[kernels.CONFIGURATION] = life.x
        if life.refused:
            return kernels.REFUSED
        return kernels.RUNNING if finite else kernels.NOT_FINITE

    def logged(self, first: int = 0) -> Floats:
        """Return the log of the episodes from this one on, if it is wanted: [E, 3]."""
        self.log.empty(int(self.ends[0]))
        return self.log.rows(first)

    def error(self, status: int) -> CraniumError | None:
        """Return the error of a negative status, if it is one of the machine or of a rule."""
        return self.agent.tables.error(status)

    def evaluate(self, *, optimum: bool = False, confirm: bool = False) -> Evaluation:
        """Evaluate the greedy policy by running episodes."""
        found: Evaluation = self.evaluator.evaluate_policy(
            self.policy(), optimum=optimum, confirm=confirm
        )
        return found

    def policy(self) -> Any:
        """Return the learned policy."""
        return self.agent.policy(self.life.learned)


class FiniteDeepRun(FusedRun):
    """One run in a finite world."""

    def __init__(
        self,
        product: AutomatonAugmentedMDP,
        model: TabularProduct,
        agent: DeepAgent,
        evaluator: TabularEvaluator,
        seed: int,
        log: bool = False,
    ) -> None:
        listed = TabularRun(product, model, agent, evaluator, seed)  # type: ignore[arg-type]
        self.rows, self.columns = put(listed.rows, np.int32), put(listed.columns, np.int32)
        self.beyond = listed.beyond
        state = np.int32(agent.tables.position[kernels.STATE])
        agent.list_target(len(agent.seen))
        world = finite_world(listed.world, np.array(agent.seen))
        super().__init__(agent, world, evaluator, log, state)

    def evaluate(
        self,
        *,
        optimum: bool = False,
        confirm: bool = False,  # noqa: ARG002 - what is exact needs no confirmation
    ) -> Evaluation:
        """Follow the greedy policy exactly."""
        features, method = self.arrays.features, self.agent.method
        most = max(1, AT_ONCE // (features.shape[1] + method.width(self.machine)))
        parts = []
        for first in range(0, len(self.rows), most):
            told = (part[first : first + most] for part in (self.rows, self.columns))
            with held():
                best = _greedy(self.life.learned, self.machine, features, *told, method=method)
                parts.append(np.asarray(best, np.int64))
        best = np.concatenate(parts)
        found: Evaluation = self.evaluator.evaluate_actions(
            best, optimum=optimum, beyond=self.beyond
        )
        return found


@partial(jax.jit, static_argnames=("method",))
def _greedy(
    learned: Any, machine: Any, features: Any, rows: Any, columns: Any, *, method: Any
) -> Any:
    return method.best(learned, machine, features[rows], columns)
