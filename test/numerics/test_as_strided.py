"""``as_strided`` of what may begin anywhere in its storage, against eager."""

from __future__ import annotations

import itertools
import os

import pytest
import torch

import girih

ENTRIES = torch.arange(40.0)

# From a vector that begins inside of its storage; what is viewed is copied or computed,
# which girih may do without a copy, or the vector itself.
PROGRAMS = {
    "of a clone": lambda x: x.clone().as_strided((len(x) - 1, 2), (1, 1)),
    "of part of it": lambda x: x[2:].clone().as_strided((len(x) - 3, 2), (1, 1)),
    "of a product with 1": lambda x: (x[2:] * 1).as_strided((3, 2), (1, 1)) + 1,
    "of a sum, from an offset": lambda x: (x + 1).as_strided((3, 2), (2, 1), 1) * 2,
    "of the argument": lambda x: x.as_strided((len(x) - 1, 2), (1, 1)) * 2,
    "of part of the argument": lambda x: x[1:].as_strided((3,), (1,)) * 2,
    "beyond the argument": lambda x: x.as_strided((len(x) + 2,), (1,)) * 2,
    "that is returned": lambda x: x[1:].as_strided((3,), (1,)),
}


# All elements of a tensor without gaps, with other sizes.
ALL = {
    "rows as columns": ((2, 3, 4), lambda x: (x + 1).as_strided((6, 4), (1, 6)) * 2),
    "dims of one element": (
        (2, 3, 4),
        lambda x: (x * 2).as_strided((1, 24, 1, 1), (24, 1, 24, 24)) + 1,
    ),
    "one dim": ((2, 3, 4), lambda x: x.exp().as_strided((24,), (1,)) - 1),
    "of a transposed sum": (
        (3, 4),
        lambda x: (x.t() + x.t()).as_strided((2, 6), (1, 2)).cos(),
    ),
    "written": (
        (3, 4),
        lambda x: (y := x + 1, y.as_strided((4, 3), (1, 4)).mul_(3).sum(0), y * 2)[1:],
    ),
}


@pytest.mark.parametrize("name", ALL)
def test_all_elements_are_a_view_in_one_kernel(name):
    shape, program = ALL[name]
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    compiled = whole(program)
    torch.testing.assert_close(compiled(x.detach()), program(x.detach()))
    (graph,) = girih.report(compiled).graphs
    assert graph.kernels >= 1 and not graph.externs
    if name != "written":
        assert torch.autograd.gradcheck(compiled, (x,))
        assert torch.autograd.gradgradcheck(compiled, (x,))


def whole(program, **given):
    """The program compiled anew, as one graph or not at all."""
    girih.reset()
    options = {"fallback": False}
    return girih.compile(program, fullgraph=True, options=options, **given)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_reads_what_eager_reads(name, dynamic):
    program = PROGRAMS[name]
    compiled = whole(program, dynamic=dynamic)
    for x in (ENTRIES[5:12], ENTRIES[7:20]):
        assert torch.equal(compiled(x), program(x))


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_offset_in_the_storage_of_an_argument(dynamic):
    """It counts from where the storage begins, before the argument: left to eager."""
    program = lambda x: x.as_strided((3, 2), (1, 1), 3)  # noqa: E731
    girih.reset()
    compiled = girih.compile(program, dynamic=dynamic)
    for x in (ENTRIES[5:12], ENTRIES[7:20]):
        assert torch.equal(compiled(x), program(x))


PLACED = {
    "method": lambda x: x.as_strided((3, 2), (2, 1), 9) * 2,
    "function": lambda x: torch.as_strided(x, (3, 2), (2, 1), storage_offset=9) * 2,
    "of a view": lambda x: x[1:].as_strided((3,), (1,), 9) * 3,
    "that is returned": lambda x: x.as_strided((2, 2), (2, 1), 9),
}


@pytest.mark.parametrize("name", PLACED)
def test_an_offset_within_an_argument(name):
    """A guard says where in its storage the argument begins."""
    program = PLACED[name]
    compiled = whole(program)
    for x in (ENTRIES[5:25], ENTRIES[:20], ENTRIES[8:28], ENTRIES[5:25] + 1):
        assert torch.equal(compiled(x), program(x))
    with pytest.raises(girih.UnsupportedError, match="where its storage begins"):
        compiled(ENTRIES[10:30])


def test_a_write_at_an_offset_within_an_argument():
    def program(x):
        x.as_strided((2,), (2,), 9).mul_(10)
        return x * 1

    compiled = whole(program)
    for start in (0, 5, 8):
        mine, theirs = ENTRIES.clone(), ENTRIES.clone()
        found = compiled(mine[start : start + 20])
        assert torch.equal(found, program(theirs[start : start + 20]))
        assert torch.equal(mine, theirs)


def written(x):
    y = x.clone()
    y.as_strided((2,), (2,)).mul_(10)
    return y


def windows(x):
    return (x[1:] * 1).as_strided((len(x) - 2, 2), (1, 1)).sin()


@pytest.mark.parametrize("program", [written, windows])
def test_writes_and_gradients(program):
    compiled = whole(program)
    results = []
    for function in (program, compiled):
        x = ENTRIES[5:12].detach().requires_grad_()
        y = function(x)
        results.append((y, *torch.autograd.grad(y, x, torch.ones_like(y))))
    for mine, theirs in zip(*results, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("dynamic", [False, True])
def test_beyond_fresh_memory(dynamic):
    """What eager says, though the clone is none: there would be memory to read."""
    program = lambda x: x.clone().as_strided((len(x) + 3,), (1,))  # noqa: E731
    girih.reset()
    compiled = girih.compile(program, dynamic=dynamic)
    for function in (program, compiled):
        with pytest.raises(RuntimeError, match=r"setStorage: sizes \[10\]"):
            function(ENTRIES[5:12])


# ATen computes it by ``as_strided`` from an offset in the storage.
DIAGONALS = {
    "of the argument": lambda x: x.fill_diagonal_(3.0) * 2,
    "of part of it": lambda x: x[1:].fill_diagonal_(2) + 1,
    "of a turned view": lambda x: x.t().fill_diagonal_(fill_value=-1.0) * 2,
    "of a sum": lambda x: (x + 1).fill_diagonal_(0) * x,
    "of a cube": lambda x: x.view(-1)[:8].view(2, 2, 2).fill_diagonal_(4.0, wrap=True),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", DIAGONALS)
def test_fills_a_diagonal(name, dynamic):
    program = DIAGONALS[name]
    compiled = whole(program, dynamic=dynamic)
    for shape, begin in (((4, 6), 0), ((4, 6), 5), ((5, 3), 3)):
        ours, theirs = (_inside(ENTRIES.clone(), shape, begin) for _ in range(2))
        assert torch.equal(compiled(ours), program(theirs))
        assert torch.equal(ours, theirs)


# With symbolic sizes ATen refuses to look at tall ones without data.
WRAPPED = {
    "argument": lambda x: x.view(-1)[:14].view(7, 2).fill_diagonal_(3.0, True),
    "copy": lambda x: x.t().contiguous().fill_diagonal_(3.0, wrap=True) * 2,
    "wide": lambda x: (x.view(-1)[:12].view(2, 6) * 1).fill_diagonal_(1.0, wrap=True),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_diagonals_that_begin_anew(name):
    program = WRAPPED[name]
    compiled = whole(program, dynamic=False)
    for shape in ((4, 6), (6, 4), (3, 8)):
        ours, theirs = (_inside(ENTRIES.clone(), shape, 5) for _ in range(2))
        assert torch.equal(compiled(ours), program(theirs))
        assert torch.equal(ours, theirs)


def test_gradients_past_a_diagonal():
    program = lambda x: (x * 1).fill_diagonal_(3.0).sin()  # noqa: E731
    compiled = whole(program)
    gradients = []
    for function in (program, compiled):
        x = _inside(ENTRIES, (4, 6), 5).detach().requires_grad_()
        gradients += torch.autograd.grad(function(x).sum(), x)
    torch.testing.assert_close(*gradients)


def _inside(entries, shape, begin):
    """A matrix that begins somewhere in the storage."""
    return entries[begin : begin + shape[0] * shape[1]].view(shape)


OVERLAPPING = {
    "one column": lambda window, x: window[:, 1].fill_(7.0),
    "the other": lambda window, x: window[..., 0].mul_(x[1:]),
    "a row": lambda window, x: window[2].neg_(),
    "a mask": lambda window, x: window[:, 0].masked_fill_(x[1:] > 0, 3.0),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", OVERLAPPING)
def test_writes_to_part_of_what_overlaps(name, dynamic):
    """Other elements of the window change, too; girih leaves these to eager."""

    def program(x):
        y = x * 2
        window = y.as_strided((len(x) - 1, 2), (1, 1))
        OVERLAPPING[name](window, x)
        return y.square(), window.sin()

    girih.reset()
    compiled = girih.compile(program, dynamic=dynamic)
    for count in (6, 9):
        found = []
        for function in (program, compiled):
            x = (ENTRIES[:count] - 3).double().requires_grad_()
            results = function(x)
            loss = sum((r * ENTRIES[: r.numel()].view_as(r)).sum() for r in results)
            found.append([*results, *torch.autograd.grad(loss, x)])
        torch.testing.assert_close(found[1], found[0], rtol=0, atol=1e-12)


def written_window(x):
    x = x * 1
    x.as_strided((2, 2), (3, 1), 1).mul_(x[:2, :2].sum())
    return x


# Of arguments that are not contiguous, but whose memory has no gaps.
LAYOUTS = {
    "transposed": lambda: ENTRIES[5:29].view(4, 6).t(),
    "rotated": lambda: ENTRIES[2:38].view(3, 4, 3).permute(1, 2, 0),
    "single": lambda: ENTRIES[:24].as_strided((6, 1, 4), (1, 6, 6)),
    "channels": lambda: ENTRIES[:36].view(2, 2, 3, 3).to(memory_format=LAST),
}
LAST = torch.channels_last
WINDOWS = {
    "read": lambda x: x.as_strided((3, 2), (1, 2)) * 2,
    "of a copy": lambda x: (x * 2).as_strided((2, 2), (1, 5), 3).sin(),
    "returned": lambda x: (x.as_strided((3, 2), (2, 1)), x * 2)[0],
    "sized": lambda x: x.as_strided((len(x), 2), (2, 1)) + 1,
    "written": written_window,
}


COMPILERS = ("girih", "girih dynamic", "torch")
CASES = list(itertools.product(LAYOUTS, WINDOWS, COMPILERS))
if not os.environ.get("GIRIH_TEST_LONG"):  # each pair of two of them
    CASES = CASES[::4]


@pytest.mark.parametrize(("layout", "name", "compiler"), CASES)
def test_memory_without_gaps(layout, name, compiler):
    program, found = WINDOWS[name], []
    torch._dynamo.reset()
    compiled = (
        torch.compile(program, backend="girih", options={"fallback": False})
        if compiler == "torch"
        else whole(program, dynamic=compiler == "girih dynamic" or None)
    )
    for function in (program, compiled):
        x = LAYOUTS[layout]().detach().requires_grad_()
        y = function(x)
        shared = y.data_ptr() - x.data_ptr() if name == "returned" else None
        cotangent = ENTRIES[: y.numel()].view(y.shape)
        assert y.stride() == program(x).stride()
        found.append([y, *torch.autograd.grad(y, x, cotangent), shared])
    torch.testing.assert_close(*[one[:2] for one in found])
    assert found[0][2] == found[1][2]


def test_windows_beyond_an_argument_that_is_turned():
    """Only of an argument as it lies is it known what stands around it."""
    program = lambda x: x.as_strided((30,), (1,)) * 2  # noqa: E731
    girih.reset()
    for dynamic in (False, True):
        compiled = girih.compile(program, dynamic=dynamic)
        for begin in (0, 5):
            x = _inside(ENTRIES, (4, 6), begin).t()
            assert torch.equal(compiled(x), program(x))


def test_an_argument_with_gaps_is_left_to_eager():
    def program(x):
        return x.as_strided((2, 2), (1, 1)) + 1

    x = torch.arange(64.0).view(8, 8)[::2, ::2]
    with pytest.warns(girih.FallbackWarning, match="as_strided"):
        found = girih.compile(program)(x)
    torch.testing.assert_close(found, program(x))
