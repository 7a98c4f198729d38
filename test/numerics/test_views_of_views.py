"""Writes through views of views, and views of what became a view of itself."""

from __future__ import annotations

import pytest
import torch

import girih

VIEWS = {
    "slice": lambda t: t[1:],
    "head": lambda t: t[:2],
    "steps": lambda t: t[..., ::2],
    "row": lambda t: t.view(-1) if t.is_contiguous() else t,
    "pairs": lambda t: t.view(-1, 2) if t.is_contiguous() and not t.numel() % 2 else t,
    "permute": lambda t: t.permute(*reversed(range(t.dim()))),
    "unsqueeze": lambda t: t.unsqueeze(0),
    "squeeze": lambda t: t.squeeze(),
    "expand": lambda t: t.expand(*t.shape),
    "diagonal": lambda t: t.diagonal() if t.dim() > 1 else t,
    "unfold": lambda t: t.unfold(0, 2, 2) if t.shape[0] > 1 else t,
    "select": lambda t: t.select(-1, 0) if t.dim() > 1 else t,
    "narrow": lambda t: t.narrow(0, 0, max(t.shape[0] - 1, 1)),
    "split": lambda t: t.split(max(t.shape[0] // 2, 1))[-1],
}


def first(t):
    t[0] = 5.0


def part(t):
    t[1:3] = 7.0


def steps(t):
    t[::2] = 9.0


def all_of_it(t):
    t.mul_(3)


WRITES = (first, part, steps, all_of_it)
SHAPES = ((4, 2), (6,), (3, 4), (2, 3, 4), (8, 2))


def run(function, shape, requires_grad=False):
    """Results and, where they are wanted, gradients."""
    x = torch.arange(1.0, 1 + torch.Size(shape).numel()).view(shape)
    x.requires_grad_(requires_grad)
    results = function(x)
    if not requires_grad:
        return results
    weights = [torch.arange(1.0, 1 + r.numel()).view(r.shape) for r in results]
    pairs = zip(results, weights, strict=True)
    (gradient,) = torch.autograd.grad(sum((r * w).sum() for r, w in pairs), x)
    return *results, gradient


def check(function, shape, requires_grad=False):
    compiled = girih.compile(function, options={"fallback": False}, fullgraph=True)
    found = run(compiled, shape, requires_grad)
    expected = run(function, shape, requires_grad)
    for mine, theirs in zip(found, expected, strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("second", VIEWS)
@pytest.mark.parametrize("one", VIEWS)
def test_a_write_through_a_view_of_a_view(one, second):
    names = list(VIEWS)
    number = names.index(one) + 3 * names.index(second)
    write, shape = WRITES[number % 4], SHAPES[number % 5]

    def function(x):
        y = x * 1
        view = VIEWS[second](VIEWS[one](y))
        write(view)
        return y, view + 1

    check(function, shape)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_write_into_the_first_rows_as_one(write, shape, rows):
    def function(x):
        y = x * 1
        write(y[:rows].view(-1))
        return (y,)

    check(function, shape)


def unsqueezed_and_back(x):
    y = x * 1
    y.unsqueeze_(0)
    view = y[0, :2]
    y.squeeze_(0)
    return y, view


def unsqueezed_late(x):
    y = x * 1
    view = y[:2]
    y.unsqueeze_(-1)
    return y, view, y * 2


def transposed_late(x):
    y = x * 1
    view = y[:1]
    y.t_()
    view.mul_(3)
    return y, view + 1


def written_as_row(x):
    y = x * 1
    y.unsqueeze_(0)
    y[0, :2].view(-1)[0] = 5
    return (y,)


def windows_of_the_transposed(x):
    y = x * 1
    y.transpose_(0, -1)
    windows = y.unfold(0, 2, 1)
    y.transpose_(0, -1)
    windows[0].fill_(3)
    return (y,)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("shape", [(4,), (4, 2), (3, 3)])
@pytest.mark.parametrize(
    "function",
    [
        unsqueezed_and_back,
        unsqueezed_late,
        transposed_late,
        written_as_row,
        windows_of_the_transposed,
    ],
)
def test_another_shape_between_a_view_and_its_use(function, shape, requires_grad):
    check(function, shape, requires_grad)


def as_strided_of_the_transposed(x):
    y = x * 1
    y.t_()
    part = y.as_strided((2, 2), (4, 1))
    part[0] = 5
    return y * 1, part * 1


def the_same_shape(x):
    y = x * 1
    y.t_()
    part = y[:, :2]
    part.as_strided_((2, 2), (2, 1))
    return y, part * 1


def a_written_part(x):
    y = x * 1
    part = y[1:]
    part.as_strided_((2, 2), (2, 1))
    part[0] = 5
    return y, part, part * 2


def other_strides(x):
    y = x * 1
    y.as_strided_((2, 4), (1, 2))
    return y, y[:1] * 2


def part_of_itself(x):
    y = x * 1
    y.as_strided_((2, 2), (1, 2))
    y.mul_(2)
    return (y,)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        as_strided_of_the_transposed,
        the_same_shape,
        a_written_part,
        other_strides,
        part_of_itself,
    ],
)
def test_as_strided_of_what_has_another_shape(function, requires_grad):
    check(function, (4, 2), requires_grad)


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_part_of_itself_beside_a_view_is_left_to_eager(requires_grad):
    def function(x):
        y = x * 1
        rows = y[:3]
        y.as_strided_((2, 2), (2, 1))
        return y, rows

    def later(x):
        y = x * 1
        y.as_strided_((2, 2), (2, 1))
        return y, y.as_strided((3, 2), (2, 1))

    for each in (function, later):
        expected = run(each, (4, 2), requires_grad)
        found = run(girih.compile(each), (4, 2), requires_grad)
        assert all(map(torch.equal, found, expected))
