"""Gymnasium's Taxi, with a fair fare: drive as far with the passenger as without.

    python examples/taxi.py

Where the passenger waits and wants to go is drawn in every episode, so N is another one each time,
and the shorter of the two ways has to be made longer by exactly what is missing.
"""

from __future__ import annotations

from typing import Any

import gymnasium

import cranium


def learn(*, seed: int = 0) -> tuple[Any, Any]:
    """The product, and what came of training in it."""

    # -- yours --
    @cranium.labelling("empty", "pickup", "loaded", "deliver")
    def events(before, action, after):
        rides = before // 4 % 5 == 4  # Taxi's number is ((row, column), passenger, destination)
        if action < 4:
            return "loaded" if rides else "empty"
        if action == 4:
            return "pickup" if after != before else ()
        return "deliver" if rides and after // 4 % 5 == after % 4 else ()

    task = cranium.compile_language("empty^N pickup loaded^N deliver where N >= 0")
    env = cranium.product(gymnasium.make("Taxi-v4"), task, events, horizon=60)
    result = cranium.train(env, "cql", steps=300_000, seed=seed, until="solved")
    # -- end --
    return env, result


def main() -> None:
    """Learn, and compare with the optimum."""
    env, result = learn()
    print(f"learned from every start after {result.samples_to_solve:,} samples")
    print(result.evaluation)
    print(f"the optimum takes {cranium.solve(env).expected_length:.2f} steps")


if __name__ == "__main__":
    main()
