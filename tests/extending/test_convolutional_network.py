"""A convolutional network of a user's own learns from images."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import ClassVar

import jax
import numpy as np
import pytest
from extending.convolutional_network import ConvolutionalNetwork
from support.image_worlds import SIZE, Picture

import cranium
from cranium.errors import InvalidArgumentError, PolicyError
from cranium.learners import Network, train

TOLD = {"exploration": 0.3, "learning_rate": 1e-3, "batch": 16, "target_every": 200}


class Recorded(ConvolutionalNetwork):
    """Notes the shapes of its inputs."""

    shapes: ClassVar[set] = set()

    def apply(self, params, given):
        self.shapes.add((given.observation.shape[1:], given.observation.dtype.name))
        return super().apply(params, given)


def task(horizon=40):
    return cranium.product(Picture(), cranium.compile_language("tree^N house^N"), horizon=horizon)


def test_it_has_at_most_60_lines_and_imports_nothing_of_ours():
    text = (Path(__file__).parent / "convolutional_network.py").read_text()
    assert len(text.splitlines()) <= 60
    modules = {
        getattr(node, "module", None) or node.names[0].name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert modules == {"typing", "jax", "jax.numpy"}
    assert isinstance(ConvolutionalNetwork(4), Network)


def test_it_learns_to_count_from_images():
    network = ConvolutionalNetwork(4)
    told = {**TOLD, "until": "solved", "evaluate_every": 500, "counter_limit": 3}
    result = train(task(), "cdqn", steps=8_000, seed=0, network=network, **told)
    assert result.path == "jax"
    assert result.samples_to_solve is not None
    assert cranium.evaluate(task(), result.policy).success.min() == 1.0


@pytest.mark.parametrize("path", ["auto", "python"])
def test_images_reach_it_in_their_shape(path):
    Recorded.shapes.clear()
    told = {**TOLD, "warmup": 20, "evaluation_episodes": 1, "path": path, "replay": 100}
    result = train(task(), "cdqn", steps=40, network=Recorded(4), **told)
    assert Recorded.shapes == {((SIZE, SIZE, 3), "float32")}
    seen = Picture().observe((1, 1))
    params, machine = result.policy.network, result.policy.machine(result.policy.automaton.start)
    from cranium.learners import NetworkInput

    alone = Recorded(4).apply(
        params, NetworkInput(seen[None].astype(np.float32), machine[None, None])
    )
    found = result.policy.values([seen], [result.policy.automaton.start])
    np.testing.assert_allclose(found, alone, atol=1e-5)


def test_its_policy_says_how_to_save_its_parameters(tmp_path):
    told = {**TOLD, "warmup": 20, "evaluation_episodes": 1, "replay": 100}
    result = train(task(), "cdqn", steps=40, network=ConvolutionalNetwork(4), **told)
    with pytest.raises(PolicyError, match="cannot be saved") as found:
        result.policy.save(tmp_path / "policy.npz")
    assert "policy.network" in str(found.value)
    assert not list(tmp_path.iterdir())
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(result.policy.network))
    assert result.config.as_dict()["network"] == "ConvolutionalNetwork"


def test_networks_that_do_not_fit_are_refused():
    with pytest.raises(InvalidArgumentError, match="network is an object with `init` and `apply`"):
        train(task(), "cdqn", steps=10, network=print)
    with pytest.raises(InvalidArgumentError, match="return the values of 4 actions"):
        train(task(), "cdqn", steps=10, network=ConvolutionalNetwork(3), counter_limit=2)
    with pytest.raises(InvalidArgumentError, match="no head for each configuration"):
        train(task(), "cdqn", steps=10, network=ConvolutionalNetwork(4), heads=True)
