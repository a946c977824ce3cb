"""How many samples do learners need in QR-MAX's slippery offices, by its test and an honest one?

QR-MAX (arXiv 2512.14617) is R-max factored over reward machines. The maps, tasks, slips and its
stopping test are rebuilt from the published facts, and our learners run with their defaults, except
for the discount, which is the peer's 0.9. Each line tells, over the seeds,

- by their test: how many seeds it passed, the mean samples when it did, and the exact value of the
  greedy policy then, as a share of the optimum;
- by the honest one: how many seeds came within 5 % of the optimum and stayed there until the budget
  was used up, the median samples, and the share of the optimum at the end and at its best;
- what the peer publishes for itself (by its own test).

Takes half an hour on two cores; ``--only "map1 exp1"`` is one row. The peer's own learner runs
beside ours in the same worlds if its environment is there:
``python -c "import qrmax_peer as p; p.install(p.PLACE)"`` in this folder makes it (``out/qrmax``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from cases import run_cases
from qrmax_judge import HonestTest, Judge, PublishedTest
from qrmax_peer import PLACE, Peer, is_installed
from qrmax_rows import ROWS, best_of
from qrmax_world import DISCOUNT, problem

from cranium._runtime.jit import whole_compilations
from cranium.learners.preparation import prepare_loop

PEER = "QR-MAX-RM 0.2.0"
BUDGETS = {"planner": 40_000, "cql": 200_000, **({PEER: 40_000} if is_installed(PLACE) else {})}
CHUNK = 20
"""The end of an episode is noticed after at most so many samples."""
LOOKS = 100
"""How often the honest test looks at the greedy policy."""
CASES = {
    f"{name} {task}, {learner}": (name, task, learner)
    for name, task in dict.fromkeys((row.map, row.task) for row in ROWS)
    for learner in BUDGETS
}


class Trainee:
    """One of our learners in a row's world, sample by sample."""

    cpu = 0.0
    """The CPU seconds of other processes."""

    def __init__(self, name: str, task: str, learner: str, seed: int, most: int) -> None:
        told = {"steps": most, "seed": seed, "discount": DISCOUNT}
        with whole_compilations():
            self.run: Any = prepare_loop(problem(name, task), learner, **told).run

    def episodes(self, most: int, every: int) -> Iterator[tuple[bool, bool]]:
        """Learn; tell when an episode has ended, whether one was paid, and when a look is due."""
        run, ends = self.run, self.run.ends
        while run.samples < most:
            before, paid = ends[0], ends[1]
            target = min(run.samples + CHUNK, most)
            while run.samples < target:
                status = run.learn(target - run.samples)
                assert status >= 0, run.error(status)
            if ends[0] > before:
                yield True, bool(ends[1] > paid)
            if run.samples % every < CHUNK:
                yield False, False

    @property
    def samples(self) -> int:
        """The number of samples so far."""
        return int(self.run.samples)

    def greedy(self) -> Any:
        """The greedy policy: an action for each pair of a state and a configuration."""
        run = self.run
        return np.argmax(run.agent.values()[run.rows, run.columns], axis=1)


def measure(case: str, seed: int, most: int) -> dict[str, Any]:
    """Both tests of one learner with one seed."""
    name, task, learner = CASES[case]
    budget = min(BUDGETS[learner], most)
    judge = Judge(problem(name, task))
    trainee: Any
    if learner == PEER:
        trainee = Peer(PLACE, judge.model, seed)
    else:
        trainee = Trainee(name, task, learner, seed, budget)
    theirs, honest = PublishedTest(judge), HonestTest(judge)
    begin = time.process_time()
    for ended, paid in trainee.episodes(budget, max(budget // LOOKS, 1)):
        if not ended:
            honest.look(trainee.samples, trainee.greedy())
        elif theirs.passed is None:
            theirs.episode(trainee.samples, paid=paid, greedy=trainee.greedy)
    return {
        "row": (name, task),
        "theirs": theirs.passed,
        "share when theirs passed": theirs.share,
        "honest": honest.passed,
        "share": honest.looks[-1][1],
        "best": max(share for _, share in honest.looks),
        "cpu": time.process_time() - begin + trainee.cpu,
        "looks": honest.looks,
    }


def tell(runs: list[dict[str, Any]]) -> str:
    """One line of the table."""
    stopped = [run for run in runs if run["theirs"] is not None]
    solved = [run["honest"] for run in runs if run["honest"] is not None]
    theirs, honest = f"{len(stopped)}/{len(runs)}", f"{len(solved)}/{len(runs)}"
    if stopped:
        share = np.mean([run["share when theirs passed"] for run in stopped])
        theirs += f" {np.mean([run['theirs'] for run in stopped]):,.0f} at {share:.2f}"
    if solved:
        honest += f" {np.median(solved):,.0f}"
    end, best = (np.mean([run[key] for run in runs]) for key in ("share", "best"))
    published = best_of(*runs[0]["row"], "QR-MAX-RM")
    cpu = np.mean([run["cpu"] for run in runs])
    return (
        f"theirs {theirs:<22} honest {honest:<14} end {end:.2f} best {best:.2f}  "
        f"published {published:,}  {cpu:.0f} s"
    )


if __name__ == "__main__":
    run_cases("qrmax", __doc__, CASES, measure, tell, seeds=10)
