"""How little has to change until CQL with a network learns the office of Figure "deep"?

As published nobody learns it. What ``cranium reproduce deep`` changes is put back, one thing after
the other: the start, the discount, how it explores, the budget. For each, the success of the greedy
policy at the end, seed by seed. Takes a few minutes.
"""

from __future__ import annotations

import argparse
from typing import Any

import cranium
from cranium.experiments.deep import BATCH, NEAREST, PAPER
from cranium.learners import Schedule

STEPS, PUBLISHED = 40_000, 12_000


def success(seed: int, settings: dict[str, Any], steps: int, **world: Any) -> float:
    """The success of the greedy policy after so many samples."""
    env = cranium.aamdp.make_product("Office", "mail-delivery", mail=None, **world)
    explore = settings["exploration"]
    told = {**settings, "exploration": Schedule(**explore), "batch": BATCH}
    result = cranium.train(env, "cdqn", steps=steps, seed=seed, evaluate_every=steps, **told)
    return float(result.evaluation.success.mean())


def main() -> None:
    """Put back one thing after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    count = parser.parse_args().seeds
    anywhere = {"start": "anywhere"}
    cases: dict[str, tuple[dict[str, Any], int, dict[str, Any]]] = {
        "all four": (NEAREST, STEPS, anywhere),
        "the published start": (NEAREST, STEPS, {}),
        "the published start, three times the budget": (NEAREST, 3 * STEPS, {}),
        "discount 0.99": ({**NEAREST, "discount": PAPER["discount"]}, STEPS, anywhere),
        "the first exploration": (
            {**NEAREST, "exploration": PAPER["exploration"]},
            STEPS,
            anywhere,
        ),
        "12,000 samples": (NEAREST, PUBLISHED, anywhere),
    }
    for name, (settings, steps, world) in cases.items():
        found = [success(seed, settings, steps, **world) for seed in range(count)]
        print(f"{name:<45} " + " ".join(f"{one:.2f}" for one in found), flush=True)


if __name__ == "__main__":
    main()
