"""``resize_`` of what the program has made, against eager."""

import pytest
import torch

import girih

PROGRAMS = {
    "a buffer": lambda x: torch.empty(0).resize_(x.shape).copy_(x) * 2,
    "like another": lambda x: torch.empty(0).resize_as_(x).fill_(1) + x,
    "smaller": lambda x: x.clone().resize_(3) + 1,
    "flat": lambda x: (x * 2).resize_(x.numel()),
    "nothing": lambda x: x.clone().resize_(0),
    "back": lambda x: x.clone().resize_(1, 2).add_(1).resize_(x.shape).sin(),
    "of an output": lambda x: torch.add(x, 1, out=torch.empty(x.shape)).resize_(2, 1),
    "zeros": lambda x: torch.zeros(x.shape).resize_(3) + x[0, 0],
    "by columns": lambda x: (x * 2).t().clone().resize_(3),
    "by columns, and back": lambda x: (x.t() * 2).resize_(2).add_(1).resize_(x.shape),
    "pixels": lambda x: (
        x.expand(2, 3, *x.shape).clone(memory_format=torch.channels_last).resize_(3, 2)
    ),
    "the same": lambda x: x.clone().resize_(x.shape),
}


def larger(x):
    y = x.clone().resize_(x.shape[0] + 2, x.shape[1])
    y[x.shape[0] :] = 3
    return y


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("program", [*PROGRAMS, "larger"])
@pytest.mark.filterwarnings("error::girih.FallbackWarning")
def test_resized(program, dynamic):
    function = PROGRAMS.get(program, larger)
    compiled = girih.compile(function, dynamic=dynamic)
    for shape in ((3, 4), (5, 7), (1, 3), (2, 11)):
        x = torch.randn(shape)
        expected = function(x)
        found = compiled(x)
        torch.testing.assert_close(found, expected)
        assert found.stride() == expected.stride()


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
def test_views_keep_what_they_show():
    def function(x):
        y = x * 2
        view = y[1:]
        y.resize_(2)
        return y + 1, view + 1

    x = torch.randn(5)
    torch.testing.assert_close(girih.compile(function)(x), function(x))


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
def test_eager_refuses_to_resize_what_has_a_history():
    def function(x):
        return (x * 2).resize_(2)

    for f in (function, girih.compile(function)):
        with pytest.raises(RuntimeError, match="cannot resize variables that require"):
            f(torch.ones(4, requires_grad=True))
