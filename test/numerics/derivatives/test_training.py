"""Trainings from the same seed, eager and compiled, give the same losses and weights.

``losses.py`` beside this file trains BERT-base and GPT-2 in their real sizes.
"""

import pytest
import torch
import training_models as models

import girih

LOSS_TOLERANCE = 1e-4
WEIGHT_TOLERANCE = 1e-5


class Compiling:
    """``girih.compile``, which keeps what it made to see whether it was compiled."""

    def __init__(self, **options):
        self.made = []
        self.options = {"fallback": False} | options

    def __call__(self, function):
        self.made.append(
            girih.compile(function, fullgraph=True, options=dict(self.options))
        )
        return self.made[-1]

    def assert_compiled(self):
        graphs = [graph for made in self.made for graph in girih.report(made).graphs]
        assert graphs
        for graph in graphs:
            assert graph.fallback is None, graph.fallback
            assert all(inner.fallback is None for inner in graph.derivatives)


def train_twice(train, **settings):
    """The trained models, eager first."""
    girih.reset()
    expected = train(lambda function: function, **settings)
    compiling = Compiling()
    actual = train(compiling, **settings)
    compiling.assert_compiled()
    return expected, actual


def assert_same_losses(expected, actual):
    assert actual.losses == pytest.approx(expected.losses, abs=LOSS_TOLERANCE)


def assert_same_weights(expected, actual):
    for mine, theirs in zip(actual.parameters, expected.parameters, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=WEIGHT_TOLERANCE)


@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_interatomic_potential(dtype, inside):
    expected, actual = train_twice(models.potential, dtype=dtype, inside=inside)
    assert len(expected.losses) == 50
    assert sum(expected.losses[-10:]) < sum(expected.losses[:10])
    assert_same_losses(expected, actual)
    assert_same_weights(expected, actual)


@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
def test_physics_informed_network(inside):
    expected, actual = train_twice(models.heat_equation, inside=inside)
    assert_same_losses(expected, actual)
    assert_same_weights(expected, actual)


def test_digits():
    expected, actual = train_twice(models.classify_digits)
    assert expected.losses[-1] < expected.losses[0]
    assert_same_losses(expected, actual)


@pytest.mark.parametrize("name", models.SMALL)
def test_language_models(name):
    settings = {"name": name, **models.SMALL[name]}
    expected, actual = train_twice(models.language_model, **settings)
    # The four batches take turns.
    assert sum(expected.losses[-4:]) < sum(expected.losses[:4])
    assert_same_losses(expected, actual)


@pytest.mark.parametrize("name", models.SMALL)
def test_dropout_draws_eagers_numbers(name):
    """So more than the statistics agree: the losses do."""
    settings = {"name": name, "dropout": 0.1, **models.SMALL[name]}
    expected, actual = train_twice(models.language_model, **settings)
    assert_same_losses(expected, actual)
    without = models.language_model(lambda f: f, **settings | {"dropout": 0.0})
    assert without.losses != pytest.approx(expected.losses, abs=1e-3)
