"""Second derivatives are None, constant or functions again where eager's are.

The long form tries all operators of torch's table.
"""

import operator_calls
import pytest
import reached_gradients
import torch
from extent import IS_LONG, extent
from torch import nn

import girih

TABLE = operator_calls.table()
SHORT = (
    *("clamp", "floor", "maximum", "nn.functional.group_norm"),
    *("nn.functional.leaky_relu", "nn.functional.max_pool2d"),
    *("nn.functional.pad.reflect", "nn.functional.relu"),
)
NAMES = [name for name in TABLE if name not in reached_gradients.KNOWN]
ACTIVATIONS = extent(
    (nn.ReLU(), nn.Softshrink(), nn.Tanh()),
    long=(
        *(nn.CELU(), nn.ELU(), nn.GELU(), nn.Hardshrink(), nn.Hardswish()),
        *(nn.Hardtanh(), nn.LeakyReLU(), nn.LogSigmoid(), nn.Mish(), nn.PReLU()),
        *(nn.RReLU().eval(), nn.ReLU(), nn.ReLU6(), nn.SELU(), nn.SiLU()),
        *(nn.Sigmoid(), nn.Softplus(), nn.Softshrink(), nn.Softsign(), nn.Tanh()),
        *(nn.Tanhshrink(), nn.Threshold(0.1, 0.2)),
    ),
)
LAYERS = extent(
    (nn.Linear(4, 4), nn.LayerNorm(4)),
    long=(
        *(nn.Linear(4, 4), nn.Conv1d(3, 3, 1), nn.LayerNorm(4), nn.GroupNorm(1, 3)),
        *(nn.BatchNorm1d(3), nn.RMSNorm(4), nn.Bilinear(4, 4, 4)),
    ),
)


@pytest.mark.parametrize("entrance", operator_calls.COMPILERS if IS_LONG else ["girih"])
@pytest.mark.parametrize("name", extent(SHORT, long=tuple(NAMES)))
def test_as_in_eager(name, entrance):
    found = []
    for case in reached_gradients.layered(name, TABLE[name], 1):
        for dynamic in extent((None,), long=(None, True)):
            if problem := reached_gradients.difference(case, entrance, dynamic):
                found.append(f"{case.label}, {case.is_scaled=}: {problem}")
    assert not found, "\n".join(found)


def test_the_short_form_has_what_is_reached_and_what_is_not():
    patterns = {
        reached_gradients.pattern(case, case.function)
        for name in SHORT
        for case in reached_gradients.layered(name, TABLE[name], 1)
    }
    assert any("-" in order for orders in patterns for order in orders)
    assert any("c" in order for orders in patterns for order in orders)


def penalized(module, layer, activation, x):
    """Second and third derivatives by a penalty on a gradient."""
    parameters = [*layer.parameters(), *activation.parameters()]
    (slope,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
    second = torch.autograd.grad(
        (slope**2).sum(), [x, *parameters], create_graph=True, allow_unused=True
    )
    total = sum((g**2).sum() for g in second if g is not None and g.requires_grad)
    if not isinstance(total, torch.Tensor):
        return second, ()
    return second, torch.autograd.grad(total, [x, *parameters], allow_unused=True)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda f: type(f).__name__)
def test_penalties_on_gradients(layer, activation):
    def module(x):
        given = (x, x) if isinstance(layer, nn.Bilinear) else (x,)
        return activation(layer(*given))

    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, requires_grad=True)
    expected = penalized(module, layer, activation, x)
    actual = penalized(girih.compile(module), layer, activation, x)
    for given, eagers in zip(actual, expected, strict=True):
        assert [g is None for g in given] == [g is None for g in eagers]
    # Third derivatives of normalisations are wrong in eager (docs/limits.md).
    torch.testing.assert_close(actual[0], expected[0], rtol=1e-4, atol=1e-4)
