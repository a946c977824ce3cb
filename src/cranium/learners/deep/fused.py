"""Training where the world is made of arrays: everything in one loop of JAX."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np

from cranium._runtime.interrupt import held
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.aamdp.tabular_product import TabularProduct
from cranium.learners.deep.agent import DeepBrain
from cranium.learners.deep.arrays import finite_world, put
from cranium.learners.deep.loop import interact, new_life
from cranium.learners.episode_log import EpisodeLog, Floats
from cranium.learners.evaluation import Evaluation, TabularExaminer
from cranium.learners.tabular import kernels
from cranium.learners.tabular.fused import TabularRun

__all__ = ["FiniteDeepRun", "FusedRun"]

AT_ONCE = 1 << 26
"""How many numbers an evaluation holds in memory at once, or about that many."""

CHUNK = 1_000
"""How many samples are taken at most before Ctrl-C is heard and progress is shown."""


class FusedRun:
    """One run in a world that steps inside the loop."""

    path = "jax"

    def __init__(
        self, brain: DeepBrain, world: Any, examiner: Any, log: bool = False, state: Any = None
    ) -> None:
        self.brain = brain
        self.examiner = examiner
        self.ends = np.zeros(4)
        self.log = EpisodeLog(wanted=log, room=CHUNK)
        self._begin(world, state)

    def _begin(self, world: Any, state: Any) -> None:
        brain = self.brain
        self.arrays, self.machine = world, brain.machine()
        capacity = brain.config.replay
        weights = brain.method.weights(brain.drawing(), brain.encoding.width, self.machine)
        told = {"method": brain.method, "capacity": capacity, "log": CHUNK}
        with held():
            self.life = new_life(brain.key, world, self.machine, weights, state, **told)

    def learn(self, steps: int) -> int:
        """Take up to so many samples; a status."""
        brain = self.brain
        told = (brain.rates, brain.horizon, np.int32(min(steps, CHUNK)))
        with held():
            life = interact(self.life, self.arrays, self.machine, *told, method=brain.method)
            finite = bool(np.isfinite(np.asarray(life.learned.loss)))  # waits until it is done
        return self.take(life, finite=finite)

    def take(self, life: Any, *, finite: bool) -> int:
        """Go on from here; a status."""
        self.log.empty(int(self.ends[0]))
        brain, self.life = self.brain, life
        self.ends[:] = life.ends
        if self.log.wanted:
            self.log.ring[:] = life.log[:-1]
        position = brain.memory.position
        position[kernels.SAMPLES], position[kernels.AGE] = life.samples, life.age
        position[kernels.CONFIGURATION] = life.x
        if life.refused:
            return kernels.REFUSED
        return kernels.RUNNING if finite else kernels.NOT_FINITE

    def logged(self, first: int = 0) -> Floats:
        """The log of the episodes from this one on, if it is wanted: [E, 3]."""
        self.log.empty(int(self.ends[0]))
        return self.log.rows(first)

    def problem(self, status: int) -> Exception | None:
        """The machine's own error, if it refused to go on."""
        return self.brain.memory.problem(status)

    def evaluate(self, *, optimum: bool = False, confirm: bool = False) -> Evaluation:
        """Run some episodes with the greedy policy."""
        found: Evaluation = self.examiner.examine(self.policy(), optimum=optimum, confirm=confirm)
        return found

    def policy(self) -> Any:
        """What was learned."""
        return self.brain.policy(self.life.learned)


class FiniteDeepRun(FusedRun):
    """One run in a finite world."""

    def __init__(
        self,
        product: AutomatonAugmentedMDP,
        model: TabularProduct,
        brain: DeepBrain,
        examiner: TabularExaminer,
        seed: int,
        log: bool = False,
    ) -> None:
        listed = TabularRun(product, model, brain, examiner, seed)  # type: ignore[arg-type]
        self.rows, self.columns = put(listed.rows, np.int32), put(listed.columns, np.int32)
        self.beyond = listed.beyond
        state = np.int32(brain.memory.position[kernels.STATE])
        brain.list_target(len(brain.seen))
        world = finite_world(listed.world, np.array(brain.seen))
        super().__init__(brain, world, examiner, log, state)

    def evaluate(
        self,
        *,
        optimum: bool = False,
        confirm: bool = False,  # noqa: ARG002 - what is exact needs no confirmation
    ) -> Evaluation:
        """Follow the greedy policy exactly."""
        features, method = self.arrays.features, self.brain.method
        most = max(1, AT_ONCE // (features.shape[1] + method.width(self.machine)))
        parts = []
        for first in range(0, len(self.rows), most):
            told = (part[first : first + most] for part in (self.rows, self.columns))
            with held():
                best = _greedy(self.life.learned, self.machine, features, *told, method=method)
                parts.append(np.asarray(best, np.int64))
        best = np.concatenate(parts)
        found: Evaluation = self.examiner.examine_actions(best, optimum=optimum, beyond=self.beyond)
        return found


@partial(jax.jit, static_argnames=("method",))
def _greedy(
    learned: Any, machine: Any, features: Any, rows: Any, columns: Any, *, method: Any
) -> Any:
    return method.best(learned, machine, features[rows], columns)
