"""Powers of negative numbers, which graphs as Python text bind otherwise."""

import pytest
import torch

import girih

PROGRAMS = {
    "float": lambda x: (-1.0) ** x,
    "int": lambda x: (-2) ** x,
    "minus zero": lambda x: (-0.0) ** x,
    "sum": lambda x: (-1.0) ** (x + 1),
    "factor": lambda x: 2 * (-1) ** x,
    "size": lambda x: x + (-2) ** x.shape[0],
    "argument": lambda x: x ** (-1.0),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["girih", "eager", "aot_eager"])
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_power(name, backend, dynamic):
    function = PROGRAMS[name]
    compiled = girih.compile(function, backend=backend, dynamic=dynamic, fullgraph=True)
    for count in (3, 4):
        x = torch.arange(1.0, count + 1)
        torch.testing.assert_close(compiled(x), function(x))
        assert torch.equal(compiled(x).signbit(), function(x).signbit())
