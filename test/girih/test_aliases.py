"""Results that show other memory: what they say of themselves."""

import pytest
import torch

import girih

PROGRAMS = {
    "detached": lambda x: x.detach(),
    "data": lambda x: x.data,
    "twice": lambda x: (x.detach(), x.data, x.detach().detach()),
    "part of detached": lambda x: x.detach()[0],
    "detached part": lambda x: x[0].detach(),
    "data of a part": lambda x: x[:, 1].data.unsqueeze(0),
    "turned": lambda x: (x.t().detach(), x.detach().t()),
    "of a result": lambda x: (y := x * 2, y.detach(), y.data),
    "of a part of a result": lambda x: (y := x * 2, y[0].detach(), y.detach()[0]),
    "alone": lambda x: (x * 2).detach()[0],
    "copied part": lambda x: (x[[0, 1]].detach(), x.data[0]),
    "argument": lambda x: (x, x.detach()),
    "view": lambda x: x[0],
}


def as_found(tensor, x):
    base = tensor._base
    return (
        tensor.tolist(),
        tensor._is_view(),
        None if base is None else base is x,
        tensor.requires_grad,
        tensor.is_leaf,
        tensor.stride(),
        tensor.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(),
    )


def observed(function, requires_grad, is_leaf):
    """What results say, and what counts of versions become as each is written."""
    x = torch.arange(4.0).view(2, 2).requires_grad_(requires_grad)
    x = x if is_leaf else x + 1
    found = function(x)
    results = found if isinstance(found, tuple) else (found,)
    start = [tensor._version for tensor in (x, *results)]
    seen: list = [as_found(result, x) for result in results]
    for result in results:
        with torch.no_grad():
            result.add_(1)
        counts = [tensor._version for tensor in (x, *results)]
        seen.append([a - b for a, b in zip(counts, start, strict=True)])
    return [*seen, [result.tolist() for result in results]]


@pytest.mark.parametrize("kind", ["plain", "leaf", "inner"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_that_show_other_memory(name, kind):
    given = (kind != "plain", kind != "inner")
    expected = observed(PROGRAMS[name], *given)
    options = {"fallback": False}
    compiled = girih.compile(PROGRAMS[name], fullgraph=True, options=options)
    assert observed(compiled, *given) == expected


@pytest.mark.parametrize("name", ["data", "of a result"])
def test_at_the_second_door(name):
    torch.compiler.reset()
    compiled = torch.compile(PROGRAMS[name], backend="girih")
    expected = observed(PROGRAMS[name], True, True)
    assert observed(compiled, True, True) == expected


def test_sizes_that_vary():
    program = lambda x: (x * 2, x[1:].detach(), x.data.t())  # noqa: E731
    compiled = girih.compile(program, dynamic=True)
    for size in (3, 5):
        x = torch.rand(size, 4)
        results = compiled(x)
        for result, expected in zip(results, program(x), strict=True):
            assert as_found(result, x) == as_found(expected, x)
