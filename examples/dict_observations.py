"""An environment of your own, whose observations are dictionaries.

    python examples/dict_observations.py

An orchard: a tree at one end of a row of places, a stall at the other. How many apples the tree
bears is drawn in every episode. Pick all of them, notice that the tree is bare, and sell each.
"""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.spaces import Dict, Discrete

import cranium

TREE, STALL = 0, 4
LEFT, RIGHT, USE = 0, 1, 2


class Orchard(gymnasium.Env[Any, Any]):
    """Walk left or right, and use what is there; using the tree takes an apple."""

    observation_space = Dict({"place": Discrete(STALL + 1), "apples": Discrete(6)})
    action_space = Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin in the middle, with one to five apples."""
        super().reset(seed=seed, options=options)
        self.place, self.apples = 2, int(self.np_random.integers(1, 6))
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Walk or use; it never ends by itself."""
        if action == USE:
            self.apples -= self.place == TREE and self.apples > 0
        else:
            self.place = min(max(self.place + (1 if action == RIGHT else -1), TREE), STALL)
        return self._seen(), 0.0, False, False, {}

    def _seen(self) -> dict[str, int]:
        return {"place": self.place, "apples": self.apples}


def learn(*, seed: int = 0) -> tuple[Any, Any]:
    """The product, and what came of training in it."""

    # -- yours --
    @cranium.labelling("apple", "bare", "sell")
    def events(before, action, after):
        if action != USE or before["place"] not in (TREE, STALL):
            return ()
        if before["place"] == STALL:
            return "sell"
        return "apple" if after["apples"] < before["apples"] else "bare"

    task = cranium.compile_language("apple^N bare sell^N")
    env = cranium.product(Orchard(), task, events, horizon=60)
    result = cranium.train(env, "cql", steps=50_000, seed=seed, until="solved")
    # -- end --
    return env, result


def main() -> None:
    """Learn, and compare with the optimum for each number of apples."""
    _, result = learn()
    print(f"learned after {result.samples_to_solve:,} samples ({result.path})")
    print(result.evaluation)


if __name__ == "__main__":
    main()
