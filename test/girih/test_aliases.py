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


WRITERS = {
    "filled": lambda x: x.unsqueeze(0).zero_(),
    "computed": lambda x: x.t().add_(1),
    "part": lambda x: x[0].fill_(3),
    "one of several": lambda x: x.unbind(1)[0].zero_(),
    "one of chunks": lambda x: x.chunk(2)[1].fill_(2),
}


@pytest.mark.parametrize("is_leaf", [True, False])
@pytest.mark.parametrize("name", WRITERS)
def test_writes_of_views_of_repeated_elements(name, is_leaf):
    def outcome(function):
        x = torch.ones(1).expand(3, 1).detach().requires_grad_()
        x = x if is_leaf else (torch.ones(1).requires_grad_() * 2).expand(3, 1)
        try:
            function(x)
        except RuntimeError as error:
            return str(error)[:60]
        return x.tolist()

    assert outcome(girih.compile(WRITERS[name])) == outcome(WRITERS[name])


@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients_of_views_of_repeated_elements(dynamic):
    def program(x):
        return x.t(), x.unsqueeze(0)[:, 1:], x.chunk(2)[0], (x * x).sum()

    compiled = girih.compile(program, dynamic=dynamic, options={"fallback": False})
    for size in (3, 5):
        found = []
        for function in (program, compiled):
            start = torch.arange(2.0).requires_grad_()
            x = start.expand(size, 2)
            results = function(x)
            facts = [(y.shape, y.stride(), y._is_view()) for y in results]
            sum((y * y).sum() * n for n, y in enumerate(results)).backward()
            found.append((facts, start.grad.tolist()))
        assert found[0] == found[1]


# Views of arguments whose elements repeat in memory ---------------------------------

OF_REPEATED = {
    "part": lambda x: (x[::2], x.sin()),
    "part of a part": lambda x: (x[:1].t(), x * 2),
    "whole": lambda x: (x.unsqueeze(0), x.cos()),
    "beside a copy": lambda x: (x[1], x[1].clone()),
    "without grad mode": lambda x: (_without_grad(x), x.sin()),
}


def _without_grad(x):
    with torch.no_grad():
        return x[:1]


def _written(function, is_leaf):
    """Gradients behind a write to a view of an argument that repeats elements."""
    leaf = torch.arange(4.0, dtype=torch.float64).view(1, 4).requires_grad_()
    x = leaf.expand(2, 4)
    x = x.detach().requires_grad_() if is_leaf else x
    view, other = function(x)
    bases = view._base is (x if is_leaf else leaf), view._is_view(), view.is_leaf
    wanted = x if is_leaf else leaf
    (before,) = torch.autograd.grad(other.sum() + x.exp().sum(), wanted)
    found = [bases, view.tolist(), view.stride(), before.tolist()]
    if view.requires_grad and view.grad_fn is not None:
        total = (view * view.cumsum(-1)).sum()
        found.append(torch.autograd.grad(total, wanted)[0].tolist())
    return found


def _write_fails(function):
    x = torch.ones(1, 4).expand(2, 4).detach().requires_grad_()
    try:
        function(x)[0].mul_(2)
    except RuntimeError as error:
        return str(error)[:20]
    return "no error"


@pytest.mark.parametrize("is_leaf", [False, True])
@pytest.mark.parametrize("name", OF_REPEATED)
def test_views_of_repeated_elements(name, is_leaf):
    compiled = girih.compile(OF_REPEATED[name], fullgraph=True)
    assert _written(compiled, is_leaf) == _written(OF_REPEATED[name], is_leaf)
    assert _write_fails(compiled) == _write_fails(OF_REPEATED[name])


def test_a_write_to_a_view_of_repeated_elements_is_seen():
    found = []
    for function in (lambda x: x[::2], girih.compile(lambda x: x[::2])):
        leaf = torch.ones(1, 4, requires_grad=True)
        x = (leaf * 1).expand(2, 4)
        function(x).mul_(3)
        (gradient,) = torch.autograd.grad(x.sum(), leaf)
        found.append((x.tolist(), gradient.tolist()))
    assert found[0] == found[1]


OTHER_DTYPES = {
    "bits": lambda x: x.view(torch.int32),
    "bits beside": lambda x: (x * 2, (x * 2).view(torch.int32)),
    "bytes": lambda x: x.view(torch.uint8)[..., :2],
    "complex": lambda x: torch.view_as_complex(x.view(-1, 2)),
}
OF_COMPLEX = {
    "real": lambda z: z.real,
    "parts": lambda z: (z.real, z, z.imag),
    "pairs": lambda z: (torch.view_as_real(z), z),
    "a row": lambda z: (z[0].real, torch.real(z).t()),
}


def made_beside(z):
    w = z * 2
    w.real.mul_(3)
    return w.real, w, w.imag


def written_later(z):
    part = z.real
    z.mul_(2)
    return part


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", [*OTHER_DTYPES, *OF_COMPLEX, "made", "later"])
def test_results_of_another_dtype_share_memory(name, dynamic):
    function = {**OTHER_DTYPES, **OF_COMPLEX, "made": made_beside}.get(name)
    function = function or written_later
    dtype = torch.float32 if name in OTHER_DTYPES else torch.complex64
    compiled = girih.compile(function, dynamic=dynamic, fullgraph=True)
    for shape in ((2, 4), (3, 6), (5, 2)):
        found, x = [], torch.randn(shape, dtype=dtype)
        for f in (function, compiled):
            mine = x.clone()
            results = f(mine)
            results = results if isinstance(results, tuple) else (results,)
            first = results[0]
            places = [
                r.untyped_storage()._cdata == mine.untyped_storage()._cdata
                for r in results
            ]
            values = [r.clone() for r in (*results, mine)]
            first.zero_()
            after = [r.clone() for r in (*results, mine)]
            found.append((values, after, places, [r.stride() for r in results]))
        torch.testing.assert_close(found[1][:2], found[0][:2], equal_nan=True)
        assert found[1][2:] == found[0][2:]


def test_gradients_of_parts():
    def function(z):
        w = z * (2 + 1j)
        return w.real, w, w.imag

    found = []
    for f in (function, girih.compile(function, fullgraph=True)):
        torch.manual_seed(0)
        z = torch.randn(3, dtype=torch.complex128, requires_grad=True)
        real, w, imag = f(z)
        (real.square().sum() + w.abs().sum() + imag.sin().sum()).backward()
        found.append(z.grad)
    torch.testing.assert_close(*found)
