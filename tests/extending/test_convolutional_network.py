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
from cranium.errors import FileAccessError, FileFormatError, InvalidArgumentError, PolicyError
from cranium.learners import Network, train
from cranium.learners.deep.custom_policy import CustomNetworkPolicy

TOLD = {"exploration": 0.3, "learning_rate": 1e-3, "batch": 16, "target_every": 200}


class Recorded(ConvolutionalNetwork):
    """Notes the shapes of its inputs."""

    shapes: ClassVar[set] = set()

    def apply(self, params, given):
        self.shapes.add((given.observation.shape[1:], given.observation.dtype.name))
        return super().apply(params, given)


class Narrow(ConvolutionalNetwork):
    """Has fewer units for the machine's features than they had in training."""

    def init(self, key, given):
        params = super().init(key, given)
        return {**params, "machine": params["machine"][:, :1]}


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


@pytest.mark.slow
def test_it_learns_to_count_from_images():
    network = ConvolutionalNetwork(4)
    told = {**TOLD, "until": "solved", "evaluate_every": 500, "counter_limit": 3}
    result = train(task(), "cdqn", steps=8_000, seed=0, network=network, **told)
    assert result.path == "jax"
    assert result.samples_to_solve is not None
    assert cranium.evaluate(task(), result.policy).success.min() == 1.0


@pytest.mark.slow
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


def trained(**more):
    told = {**TOLD, "warmup": 20, "evaluation_episodes": 1, "replay": 100, **more}
    return train(task(), "cdqn", steps=40, network=ConvolutionalNetwork(4), **told)


def test_its_policy_is_saved_as_arrays_and_loaded_with_the_network(tmp_path):
    result, path = trained(), tmp_path / "policy.npz"
    result.policy.save(path)
    with np.load(path, allow_pickle=False) as stored:
        assert {array.dtype.kind for array in stored.values()} == {"f", "U"}
    again = CustomNetworkPolicy.load(path, task(), network=ConvolutionalNetwork(4))
    assert jax.tree.structure(again.network) == jax.tree.structure(result.policy.network)
    for one, other in zip(
        *map(jax.tree.leaves, (again.network, result.policy.network)), strict=True
    ):
        assert np.array_equal(one, other)
    seen, start = [Picture().observe((1, 1))], [again.automaton.start]
    assert np.array_equal(again.values(seen, start), result.policy.values(seen, start))
    assert again.about["samples"] == result.policy.about["samples"] == 40
    assert result.config.as_dict()["network"] == "ConvolutionalNetwork"


@pytest.mark.slow
def test_a_missing_or_another_network_is_named_with_the_fix(tmp_path):
    path = tmp_path / "policy.npz"
    trained().policy.save(path)
    with pytest.raises(
        FileAccessError, match="the code of its network, 'ConvolutionalNetwork'"
    ) as e:
        cranium.Policy.load(path)
    assert "CustomNetworkPolicy.load(path, network=…)" in str(e.value)
    with pytest.raises(InvalidArgumentError, match="network is an object with `init` and `apply`"):
        CustomNetworkPolicy.load(path, network=None)
    with pytest.raises(InvalidArgumentError, match="return the values of 4 actions"):
        CustomNetworkPolicy.load(path, network=ConvolutionalNetwork(3))
    with pytest.raises(PolicyError, match=r"'machine'\]. is float32.*float32") as e:
        CustomNetworkPolicy.load(path, network=Narrow(4))
    assert "as it was in training" in str(e.value)
    with pytest.raises(PolicyError, match="another world"):
        CustomNetworkPolicy.load(path, task(horizon=30), network=ConvolutionalNetwork(4))


def test_a_policy_without_a_network_of_ones_own_and_damage_are_refused(tmp_path):
    path, own = tmp_path / "policy.npz", ConvolutionalNetwork(4)
    trained().policy.save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    for change in (
        {"weights0": np.full_like(arrays["weights0"], np.nan)},
        {"weights77": np.eye(2)},
    ):
        np.savez(path, **{**arrays, **change})
        with pytest.raises(FileFormatError, match="is damaged"):
            CustomNetworkPolicy.load(path, network=own)
    machine = cranium.library.load("anbcn")
    cranium.Policy(np.zeros((1, 1, 2)), (7,), (machine.start,), machine).save(path)
    with pytest.raises(FileAccessError, match="no network of a user's own"):
        CustomNetworkPolicy.load(path, network=own)


def test_networks_that_do_not_fit_are_refused():
    with pytest.raises(InvalidArgumentError, match="network is an object with `init` and `apply`"):
        train(task(), "cdqn", steps=10, network=print)
    with pytest.raises(InvalidArgumentError, match="return the values of 4 actions"):
        train(task(), "cdqn", steps=10, network=ConvolutionalNetwork(3), counter_limit=2)
    with pytest.raises(InvalidArgumentError, match="no head for each configuration"):
        train(task(), "cdqn", steps=10, network=ConvolutionalNetwork(4), heads=True)
