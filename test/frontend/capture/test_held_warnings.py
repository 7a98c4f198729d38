"""Warnings that torch gives of sizes name those of the call, and are given once."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import girih


def loss(name):
    return lambda x: getattr(F, name)(x[:, :1], x[:1])


def several(x):
    return F.mse_loss(x[:, :1], x[:1]) + F.l1_loss(x[:1], x[:, :1])


GIVING = {
    "mse": loss("mse_loss"),
    "smooth_l1": loss("smooth_l1_loss"),
    "l1": loss("l1_loss"),
    "huber": loss("huber_loss"),
    "instance_norm": lambda x: nn.InstanceNorm1d(x.size(1) + 2)(x[None]),
    "dropout2d": lambda x: F.dropout2d(x, p=0.5, training=False),
    "softmax": lambda x: F.softmax(x),
    "several": several,
}


def told(function, *shape):
    """The result of a call, and what it warns of."""
    x = torch.linspace(0, 1, shape[0] * shape[1]).view(shape)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = function(x)
    return result, [(each.category, str(each.message)) for each in found]


@pytest.mark.parametrize("name", GIVING)
def test_sizes_in_warnings(name):
    program = GIVING[name]
    for dynamic in (True, None):
        torch.manual_seed(0)
        compiled = girih.compile(program, dynamic=dynamic)
        for place, shape in enumerate([(3, 4), (5, 6), (7, 3)]):
            expected, texts = told(program, *shape)
            found, seen = told(compiled, *shape)
            torch.testing.assert_close(found, expected)
            if place == 0 or seen:
                assert seen == texts


def test_a_warning_that_is_an_error():
    program = GIVING["mse"]
    for function in (program, girih.compile(program, dynamic=True)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            with pytest.raises(UserWarning, match=r"torch.Size\(\[1, 4\]\)"):
                function(torch.rand(3, 4))


def test_warnings_that_were_given_are_not_given_again():
    """Other code's warnings are given once for each place, also after a capture."""

    def warn():
        warnings.warn("once for this place", UserWarning, stacklevel=1)

    compiled = girih.compile(GIVING["softmax"], dynamic=True)
    original = warnings.warn
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        warn()
        compiled(torch.rand(3, 4))
        warn()
    assert sum("once for" in str(each.message) for each in found) == 1
    assert warnings.warn is original


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_body_that_gives_a_size(dynamic):
    def body(x):
        return x.sin(), x.shape, (x.shape[:1], [x.size()])

    def program(x):
        y, shape, parts = checkpoint(body, x, use_reentrant=False)
        return y * shape.numel(), shape, parts

    compiled = girih.compile(program, dynamic=dynamic, fullgraph=True)
    for count in (3, 5):
        x = torch.rand(count, 2, requires_grad=True)
        found, expected = compiled(x), program(x)
        torch.testing.assert_close(found[0], expected[0])
        assert found[1:] == expected[1:]
        assert type(found[1]) is type(found[2][0]) is torch.Size


NO_FREEDOM = {
    "var": lambda x: x.var(1),
    "std": lambda x: x.std(1, keepdim=True),
    "var_mean": lambda x: torch.var_mean(x, 1)[0],
    "std_mean": lambda x: torch.std_mean(x, 1)[1],
    "all": lambda x: torch.var(x, correction=5),
    "none": lambda x: x[:, :0].std(),
    "nothing": lambda x: x[:0].var(1),
    "enough": lambda x: torch.var(x, correction=2),
    "half": lambda x: torch.var(x, 1, correction=0.5),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", NO_FREEDOM)
def test_variances_without_a_degree_of_freedom(name, dynamic):
    program = NO_FREEDOM[name]
    expected, texts = told(program, 3, 1)
    found, seen = told(girih.compile(program, dynamic=dynamic), 3, 1)
    torch.testing.assert_close(found, expected, equal_nan=True)
    # ATen's kernels add where in torch's own code they are.
    for found in (seen, texts):
        found[:] = [(kind, text.split(" (Triggered")[0]) for kind, text in found]
    assert seen == texts
