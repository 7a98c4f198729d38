"""Entries with symbolic sizes are right for every size that passes their guards."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from extent import spread
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import run_after_torch

import girih

SIZES = st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 12, 13])
SHAPES = st.lists(st.tuples(SIZES, SIZES), min_size=3, max_size=5)


def halves(x):
    half = x.size(1) // 2
    return torch.cat([-x[:, half:], x[:, :half]], 1)


def windows(x):
    rows = x.size(0) - x.size(0) % 3
    return x[:rows].reshape(-1, 3, x.size(1)).sum(1)


def decides(x):
    if x.size(0) > x.size(1):
        return x.t() @ x
    if x.numel() % 2 == 0:
        return x.reshape(2, -1).sum(0)
    return x * x.size(0)


def means(x):
    return x / max(x.size(0), 1) - x.mean(0, keepdim=True)


PROGRAMS = {
    "elementwise": lambda x: torch.relu(x) * 2 + x,
    "broadcast": lambda x: x[:, :1] + x[:1] * x,
    "flatten": lambda x: x.flatten() + 1,
    "view": lambda x: x.view(x.size(0), x.size(1), 1).transpose(0, 1).contiguous(),
    "split in two": lambda x: x.view(2, -1),
    "rows of four": lambda x: x.reshape(-1, 4).softmax(-1),
    "matmul": lambda x: x @ x.t(),
    "sums": lambda x: (x.sum(), x.sum(0), x.amax(1) if x.size(1) else x),
    "softmax": lambda x: F.softmax(x, 0),
    "norm": lambda x: F.layer_norm(x, (x.size(1),)),
    "halves": halves,
    "windows": windows,
    "decides": decides,
    "means": means,
    "factories": lambda x: torch.arange(x.size(0))[:, None] + torch.zeros_like(x),
    "first and last": lambda x: (x[:1], x[-1:], x[1:3], x[::2]),
    "padded": lambda x: F.pad(x, (1, 2)) + 1,
    "chunks": lambda x: [chunk * 2 for chunk in x.chunk(3)],
    "stacked": lambda x: torch.stack([x, x + 1], 1),
    "sorted": lambda x: x.sort(0).values,
    "squeezed": lambda x: x.squeeze() + 1,
    "written": lambda x: x.clone().index_fill_(0, torch.arange(x.size(0) // 2), 1.0),
    "float of a size": lambda x: x * (x.size(0) / 3) + x.size(1) ** 0.5,
    "sizes as results": lambda x: (x + 1, x.size(0) * 2, x.shape, x.numel() / 7),
}


def outcome_of(function, x):
    try:
        return function(x)
    except Exception as error:
        return type(error)


def strides_of(tensor):
    """The strides that matter."""
    if not tensor.numel():
        return []
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return [stride for size, stride in pairs if size > 1]


def assert_same(actual, expected):
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(actual, expected, equal_nan=True)
        assert strides_of(actual) == strides_of(expected)
    elif isinstance(expected, (list, tuple)):
        assert type(actual) is type(expected) and len(actual) == len(expected)
        for mine, theirs in zip(actual, expected, strict=True):
            assert_same(mine, theirs)
    else:
        assert actual == expected and type(actual) is type(expected)


@pytest.mark.parametrize(
    ("name", "backend", "dynamic"),
    [
        (name, *way)
        for name, way in spread(
            PROGRAMS, [("eager", None), ("girih", None), ("girih", True)], every=3
        )
    ],
)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(shapes=SHAPES)
def test_every_size(name, backend, dynamic, shapes):
    program = PROGRAMS[name]
    compiled = girih.compile(program, backend=backend, dynamic=dynamic)
    for shape in shapes:
        x = torch.randn(*shape)
        assert_same(outcome_of(compiled, x), outcome_of(program, x))


@pytest.mark.parametrize("backend", ["eager", "girih"])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    calls=st.lists(
        st.tuples(SIZES, SIZES, st.sampled_from([-2, 0, 1, 2, 3, 5])),
        min_size=2,
        max_size=7,
    )
)
def test_sizes_and_numbers(backend, calls):
    def program(x, y, n):
        if n > x.size(0) // 2:
            return x[:n].sum(0) * n, y + n
        return x.sum(0) + y.size(0) * n, x.reshape(-1)[: n * 2]

    compiled = girih.compile(program, backend=backend, fullgraph=True)
    for rows, columns, n in calls:
        x, y = torch.randn(rows, 3), torch.randn(columns)
        assert_same(compiled(x, y, n), program(x, y, n))


FRESH = """
import sys
import torch
import girih

@girih.compile(fullgraph=True)
def program(x, n, lr):
    if n > x.size(1):
        return x[:n] * lr
    return x.view(-1, x.size(0) * 1)[:2].sum(0) * n + torch.full((n,), lr).sum()

for size, n, lr in ((4, 3, 0.1), (6, 4, 0.2), (8, 12, 0.3)):
    program(torch.ones(size, size), n, lr)
print(sorted({"sympy", "torch._dynamo", "torch._inductor"} & sys.modules.keys()))
"""


def test_symbols_do_not_load_dynamo():
    assert run_after_torch(FRESH).strip() == "['sympy']"


def known_before_vmap(x):
    y = x * 2
    z = x + torch.ones(4)  # the size of x is found to be 4
    return torch.vmap(torch.sin)(y) * y.size(0) * y.stride(0) + z


def known_before_vjp(x):
    y = x * 2
    z = x + torch.ones(4)
    w = (x * 3).reshape(len(y))
    count = (w + 1).shape[0]
    return torch.func.vjp(torch.sin, y)[1](z)[0] * count


def known_before_cond(x):
    y = x * 2
    z = x + torch.ones(4)
    count = y.size(0)
    return torch.cond(z.sum() > 0, torch.sin, torch.cos, (y,)) * count


@pytest.mark.parametrize(
    "function", [known_before_vmap, known_before_vjp, known_before_cond]
)
def test_a_size_that_turned_out_to_be_known_before_a_transform(function):
    compiled = girih.compile(function, dynamic=True, fullgraph=True)
    x = torch.randn(4)
    torch.testing.assert_close(compiled(x), function(x))


_STATE = torch._sobol_engine_initialize_state_(torch.zeros(3, 30, dtype=torch.long), 3)
_MATRICES = torch.ones(3, 30, 30, dtype=torch.long).tril()


@pytest.mark.parametrize(
    "operation",
    [
        lambda n, d: torch._sobol_engine_initialize_state_(
            torch.zeros(d, 30, dtype=torch.long), d
        ),
        lambda n, d: torch._sobol_engine_draw(
            torch.zeros(d, dtype=torch.long), n, _STATE[:d], d, 0, dtype=torch.float32
        ),
        lambda n, d: torch._sobol_engine_scramble_(
            _STATE[:d].clone(), _MATRICES[:d], d
        ),
        lambda n, d: torch._sobol_engine_ff_(
            torch.zeros(d, dtype=torch.long), n, _STATE[:d], d, 0
        ),
        lambda n, d: torch.quasirandom.SobolEngine(d).draw(n),
    ],
)
def test_operations_that_take_the_address_of_memory(operation):
    def function(x, n, d):
        return x + 1, operation(n, d)

    compiled = girih.compile(function, dynamic=True)
    for n, d in ((6, 2), (5, 3), (7, 2)):
        expected = function(torch.ones(n, d), n, d)
        found = compiled(torch.ones(n, d), n, d)
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
