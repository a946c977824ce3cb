"""Gymnasium's FrozenLake, with fish to catch and to sell on the way.

    python examples/frozen_lake.py

A step that ends on cell 1 catches a fish, one that ends on cell 13 or 14 sells one. Catch at least
two, sell at least as many as were caught, then go to the goal. On slippery ice the agent slides
onto the fish more often than it wants: the ice decides what N is, and the counter remembers it.
"""

from __future__ import annotations

from typing import Any

import gymnasium

import cranium


def learn(*, slippery: bool, seed: int = 0) -> tuple[Any, Any]:
    """The product, and what came of training in it."""
    # -- yours --
    lake = gymnasium.make("FrozenLake-v1", is_slippery=slippery)
    events = cranium.labelling_from_cells({1: "fish", 13: "sell", 14: "sell", 15: "goal"})
    task = cranium.compile_language("fish^N sell^M goal where N >= 2, M >= N")
    env = cranium.product(lake, task, events)

    def good(found):  # the ice may drown anyone: success is never certain
        return found.gap.max() < 0.01

    every = 500 if slippery else 50
    told = {"steps": 20_000, "seed": seed, "until": good, "evaluate_every": every}
    result = cranium.train(env, "planner", **told)
    # -- end --
    return env, result


def main() -> None:
    """Learn on both kinds of ice, and compare with the optimum."""
    for slippery in (False, True):
        env, result = learn(slippery=slippery)
        optimum = cranium.solve(env)
        print("slippery ice" if slippery else "firm ice")
        print(f"  learned within 0.01 of the optimum after {result.samples:,} samples")
        print(f"  success {result.evaluation.success[0]:.4f}, optimum {optimum.success_rate:.4f}")


if __name__ == "__main__":
    main()
