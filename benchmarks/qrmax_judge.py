"""The two stopping tests: QR-MAX's own, and an honest one.

Theirs asks at the end of an episode, if more than 1,000 steps have passed since it last asked, or
if the episode was paid and the greedy policy, run once without slips, is shorter than ever before:
can 100 episodes of the greedy policy be told from 100 of the best policy (Welch, two-sided, on the
discounted returns)? It passes at p > 0.1, which a useless policy does where the best one seldom
succeeds. The honest test computes the exact value of the greedy policy: it passes when that is
within 5 % of the optimum and stays there until the budget is used up, for ten looks at least.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from qrmax_world import DISCOUNT
from scipy.sparse import csr_array, identity
from scipy.sparse.linalg import spsolve
from scipy.stats import ttest_ind

import cranium
from cranium.aamdp.tabular_product import TabularProduct

__all__ = ["ENOUGH", "STAYS", "HonestTest", "Judge", "PublishedTest"]

EPISODES, LIMIT, ALIKE, PAUSE = 100, 1_000, 0.1, 1_000
ENOUGH, STAYS = 0.95, 10
"""The share of the optimum that the honest test asks for, and for how many looks at least."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit
def rollout(
    first: Ints,
    next_pair: Ints,
    cumulative: Floats,
    reward: Floats,
    chosen: Ints,
    begin: int,
    draws: Floats,
    limit: int,
    slips: bool,
) -> tuple[float, bool, int]:
    """The discounted return, whether anything was paid, and the length of an episode."""
    actions = (len(first) - 1) // len(chosen)
    here, gained, weight, used = begin, 0.0, 1.0, 0
    for step in range(limit):
        row = here * actions + chosen[here]
        k = first[row]
        if slips and first[row + 1] - k > 1:  # a certain step draws nothing
            while k < first[row + 1] - 1 and cumulative[k] <= draws[used]:
                k += 1
            used += 1
        gained += weight * reward[k]
        weight *= DISCOUNT
        here = next_pair[k]
        if here < 0:
            return gained, gained > 0, step + 1
    return gained, gained > 0, limit


class Judge:
    """Knows the world and the optimum, and judges greedy policies: one action for each pair."""

    def __init__(self, env: cranium.AutomatonAugmentedMDP) -> None:
        best = cranium.solve(env, discount=DISCOUNT, tolerance=1e-16)
        self.model: TabularProduct = best.product
        self.optimum, self.best = best.start_value, best.policy
        model = self.model
        total = np.cumsum(model.probability)
        counts = np.diff(model.first)
        before = np.repeat(np.concatenate([[0.0], total])[model.first[:-1]], counts)
        self.begin = int(np.argmax(model.initial))
        self.arrays = (model.first, model.next_pair, total - before, model.reward)
        self.draws = np.array(
            [np.random.default_rng(10_000 + i).random(LIMIT) for i in range(EPISODES)]
        )
        self.reference = self.returns(self.best)

    def chain(self, chosen: Ints) -> tuple[csr_array, Floats, Floats]:
        """The Markov chain of a policy: transitions, mean rewards, and probabilities of success."""
        model, count = self.model, self.model.num_pairs
        rows = np.arange(count) * model.world.num_actions + chosen
        counts = model.first[rows + 1] - model.first[rows]
        source = np.repeat(np.arange(count), counts)
        place = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
        outcome = np.repeat(model.first[rows], counts) + place
        chance, after = model.probability[outcome], model.next_pair[outcome]
        paid = np.bincount(source, chance * model.reward[outcome], count)
        success = np.bincount(source, chance * model.success[outcome], count)
        goes = after >= 0
        ahead = (chance[goes], (source[goes], after[goes]))
        return csr_array(ahead, shape=(count, count)), paid, success

    def value(self, chosen: Ints) -> float:
        """The exact discounted return of a policy."""
        ahead, paid, _ = self.chain(chosen)
        values = spsolve((identity(len(paid)) - DISCOUNT * ahead).tocsc(), paid)
        return max(float(values[self.begin]), 0.0)

    def share(self, chosen: Ints) -> float:
        """The exact value of a policy as a share of the optimum."""
        return self.value(chosen) / self.optimum

    def returns(self, chosen: Ints) -> Floats:
        """The discounted returns of the test episodes, whose random numbers are always the same."""
        told = (*self.arrays, chosen, self.begin)
        return np.array([rollout(*told, drawn, LIMIT, True)[0] for drawn in self.draws])

    def certain_length(self, chosen: Ints) -> float:
        """The length of the episode without slips; infinite if nothing is paid."""
        told = (*self.arrays, chosen, self.begin)
        _, paid, length = rollout(*told, self.draws[0], LIMIT + 1, False)
        return length if paid else np.inf


class PublishedTest:
    """QR-MAX's stopping test, asked at the end of every training episode until it passes."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.shortest, self.last = judge, np.inf, 0
        self.passed: int | None = None
        self.share: float | None = None

    def episode(self, samples: int, *, paid: bool, greedy: Any) -> None:
        """Note the end of an episode; ``greedy()`` returns the greedy policy."""
        shorter = False
        if paid:
            length = self.judge.certain_length(greedy())
            shorter = length < self.shortest
            self.shortest = min(length, self.shortest)
        if not shorter and samples - self.last <= PAUSE:
            return
        self.last, chosen = samples, greedy()
        if self.probability(chosen) > ALIKE:
            self.passed, self.share = samples, self.judge.share(chosen)

    def probability(self, chosen: Ints) -> float:
        """The p-value of Welch's test; NaN where nothing varies."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = ttest_ind(self.judge.reference, self.judge.returns(chosen), equal_var=False)
        return float(told.pvalue)


class HonestTest:
    """The exact value of the greedy policy, look by look."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.looks: list[tuple[int, float]] = []

    def look(self, samples: int, chosen: Ints) -> None:
        """Judge the greedy policy."""
        self.looks.append((samples, self.judge.share(chosen)))

    @property
    def passed(self) -> int | None:
        """The first look from which on the policy is good enough until the end, if there is one."""
        bad = [number for number, (_, share) in enumerate(self.looks) if share < ENOUGH]
        first = bad[-1] + 1 if bad else 0
        return self.looks[first][0] if len(self.looks) - first >= STAYS else None
