"""Compiled gradients of views, rearrangements and indexing, to second order."""

import pytest
import torch
import torch.nn.functional as F
from extent import extent, spread
from gradients import EXACT, agree, eager_sweep, sweep_like

import girih

INDEX = torch.tensor([0, 2, 2, -1])
SPREAD = torch.arange(20).reshape(4, 5) % 6
MASK = torch.arange(30).reshape(6, 5) % 3 == 0


def written(write):
    """A function that writes into a part of a tensor that needs a gradient."""

    def function(x, y):
        z = x.sin()
        write(z, y)
        return z.exp()

    return function


VIEWS = dict(
    reshape=lambda x, y: x.T.reshape(3, 10).sin(),
    permute=lambda x, y: x.reshape(2, 3, 5).permute(2, 0, 1).sin(),
    expand=lambda x, y: x[:, None].expand(6, 3, 5).sin().exp(),
    slices=lambda x, y: x[1:5:2].sin() * x[::3].exp(),
    steps_to_the_end=lambda x, y: x[:, 1::3].exp(),
    thirds=lambda x, y: torch.cat([a.sin() * k for k, a in enumerate(x.split(2))]),
    entries=lambda x, y: sum(a.sin() * k for k, a in enumerate(x.unbind(1))),
    even_and_odd=lambda x, y: torch.stack([x[::2].sin(), x[1::2].exp()], 1),
    halves_and_all=lambda x, y: x.exp() * torch.cat([-x[:, 3:], x[:, :3]], 1),
    diagonal=lambda x, y: torch.diagonal(x, 1).sin(),
    windows=lambda x, y: x.sin().unfold(0, 3, 2).exp(),
    as_strided=lambda x, y: x.sin().as_strided((3, 2), (5, 2), 1).exp(),
)

REARRANGEMENTS = dict(
    concat=lambda x, y: torch.cat([x.sin(), y, x], 0).exp(),
    pad=lambda x, y: F.pad(x.sin(), (1, 2, 0, 1), value=2.0).exp(),
    cut=lambda x, y: F.pad(x.sin(), (-1, 2)).exp(),
    reflect=lambda x, y: F.pad(x.sin()[None], (2, 1), mode="reflect").exp(),
    replicate=lambda x, y: F.pad(x.sin()[None], (2, 1), mode="replicate").exp(),
    flip=lambda x, y: x.sin().flip(0, 1).exp(),
    roll=lambda x, y: x.sin().roll((2, -1), (0, 1)) * x,
    repeat=lambda x, y: x.sin().repeat(2, 3).exp(),
    repeat_interleave=lambda x, y: x.sin().repeat_interleave(3, 1).exp(),
    triangles=lambda x, y: x.tril(1).exp() * x.triu().sin(),
    diag_embed=lambda x, y: torch.diag_embed(x.sin(), 1).exp(),
    pixel_shuffle=lambda x, y: F.pixel_shuffle(x[:4].reshape(4, 5, 1), 2).sin(),
    interpolate=lambda x, y: F.interpolate(x.sin()[None], size=7).exp(),
)

READS = dict(
    index=lambda x, y: x[INDEX].sin(),
    one_row=lambda x, y: x[INDEX[1]].sin(),
    index_of_two_dims=lambda x, y: x[INDEX, INDEX - 1].sin(),
    index_of_separate_dims=lambda x, y: x.reshape(2, 3, 5)[INDEX // 2, :, INDEX].sin(),
    index_select=lambda x, y: x.sin().index_select(1, INDEX[:3]).exp(),
    take=lambda x, y: torch.take(x.sin(), INDEX).exp(),
    take_along_dim=lambda x, y: torch.take_along_dim(x.sin(), SPREAD, 0).exp(),
    gather=lambda x, y: x.sin().gather(0, SPREAD).exp(),
    gather_one=lambda x, y: x.gather(1, SPREAD[:, :1] % 5).exp(),
    embedding=lambda x, y: F.embedding(INDEX % 6, x.sin()).exp(),
    embedding_padding=lambda x, y: F.embedding(INDEX % 6, x, padding_idx=2).exp(),
    embedding_scaled=lambda x, y: F.embedding(
        INDEX % 6, x, scale_grad_by_freq=True
    ).sin(),
    positions=lambda x, y: F.embedding(torch.arange(1, 4)[None], x.sin()).exp(),
    where=lambda x, y: torch.where(MASK, x.sin(), x * y[0]),
)

WRITES = dict(
    mask=written(lambda z, y: z.__setitem__(MASK, 0.5)),
    rows=written(lambda z, y: z.__setitem__(INDEX, 1.5)),
    steps=written(lambda z, y: z[:, 1:4:2].mul_(3.0)),
    one_row=written(lambda z, y: z[2].copy_(y[1])),
    diagonal=written(lambda z, y: z.diagonal().mul_(3.0)),
    part=written(lambda z, y: z.__setitem__(slice(1, 5), y.exp())),
    everything=written(lambda z, y: z.copy_(y[0])),
    masked_fill=lambda x, y: x.sin().masked_fill(MASK, 2.0) * x,
    masked_scatter=lambda x, y: x.masked_scatter(MASK, y.exp()).sin(),
    index_put=lambda x, y: x.index_put((INDEX[:2],), y[:2].exp()).sin(),
    index_put_added=lambda x, y: x.index_put((INDEX,), y.exp(), accumulate=True).sin(),
    index_add=lambda x, y: x.sin().index_add(0, INDEX % 6, y.exp(), alpha=2).exp(),
    index_copy=lambda x, y: x.sin().index_copy(0, SPREAD[0, :4], y.exp()).exp(),
    index_fill=lambda x, y: x.sin().index_fill(0, INDEX % 6, 2.0).exp(),
    scatter=lambda x, y: x.sin().scatter(0, SPREAD, y.exp()).exp(),
    scatter_number=lambda x, y: x.sin().scatter(0, SPREAD, 1.5).exp(),
    scatter_add=lambda x, y: x.sin().scatter_add(0, SPREAD % 3, y.exp()).exp(),
    scatter_reduce=lambda x, y: x.scatter_reduce(0, SPREAD % 3, y, "prod").sin(),
    slice_scatter=lambda x, y: x.sin().slice_scatter(y.exp()[:3], 0, 0, 6, 2).exp(),
    select_scatter=lambda x, y: x.sin().select_scatter(y[0].exp(), 0, 2).exp(),
)

BY_ATEN = dict(
    cumprod=lambda x, y: torch.cumprod(x.sin(), 0).exp(),
    determinant=lambda x, y: torch.linalg.det(x[:5].sin() + 3 * torch.eye(5)),
    solve=lambda x, y: torch.linalg.solve(x[:5] + 9 * torch.eye(5), y.T),
    fft=lambda x, y: torch.fft.rfft(x.sin()).abs().exp(),
    complex_product=lambda x, y: (torch.complex(x, x.sin()) * 1j).abs().exp(),
    rotation=lambda x, y: torch.view_as_real(
        torch.view_as_complex(x[:, :4].reshape(6, 2, 2).contiguous()) ** 2
    ).sin(),
    bicubic=lambda x, y: F.interpolate(
        x[None, None], size=(7, 3), mode="bicubic"
    ).exp(),
    inverse_fft=lambda x, y: torch.fft.irfft2(torch.fft.rfft2(x.sin()) ** 2).exp(),
    sampled=lambda x, y: F.grid_sample(
        x[None, None].sin(), y.reshape(1, 5, 2, 2).tanh(), align_corners=False
    ).exp(),
    sampled_at_constants=lambda x, y: F.grid_sample(
        x[None, None].sin(), y.detach().reshape(1, 5, 2, 2), align_corners=True
    ).exp(),
    windows_of_images=lambda x, y: F.unfold(x.sin()[None, None], 2).exp(),
    images_of_windows=lambda x, y: F.fold(x[None, :4, :4].sin(), (3, 3), 2).exp(),
    renorm=lambda x, y: x.renorm(2, 0, 1.0).exp(),
)

ALL = VIEWS | REARRANGEMENTS | READS | WRITES | BY_ATEN


def names_of(*tables):
    return [name for table in tables for name in table]


def compared(function, tensors, order, tolerance=EXACT, **options):
    functions = lambda *args: (function(*args),)  # noqa: E731
    expected = eager_sweep(functions, tensors, order)
    compiled = girih.compile(functions, options={"fallback": False}, **options)
    actual = sweep_like(expected, compiled, tensors)
    assert not agree(actual, expected, tolerance)
    assert all(graph.fallback is None for graph in girih.report(compiled).graphs)
    return compiled


def operands(dtype=torch.float64, rows=6):
    generator = torch.Generator().manual_seed(rows)
    shapes = (rows, 5), (4, 5)
    wide = {"generator": generator, "dtype": torch.float64, "device": "cpu"}
    tensors = [torch.randn(shape, **wide) for shape in shapes]
    device = torch.get_default_device()
    return [tensor.to(device, dtype).requires_grad_() for tensor in tensors]


@pytest.mark.parametrize("name", list(ALL)[:: extent(2, long=1)])
def test_second_order(name):
    compared(ALL[name], operands(), 2)


@pytest.mark.parametrize("name", names_of(VIEWS, REARRANGEMENTS, READS, WRITES))
def test_bfloat16(name):
    # One rounding of bfloat16, where eager rounds more often or in another order.
    compared(ALL[name], operands(torch.bfloat16), 1, (0.05, 0.05))


SYMBOLIC = """steps_to_the_end halves_and_all concat pad flip roll repeat
index index_of_two_dims gather_one embedding positions index_add cumprod""".split()


@pytest.mark.parametrize("name", SYMBOLIC)
def test_symbolic_sizes(name):
    function = ALL[name]
    compiled = girih.compile(function, dynamic=True)
    for rows in (6, 9, 12, 7):
        mine, theirs = operands(rows=rows), operands(rows=rows)
        result, expected = compiled(*mine), function(*theirs)
        cotangent = torch.randn_like(expected)
        result.backward(cotangent)
        expected.backward(cotangent)
        for one, other in zip(mine, theirs, strict=True):
            torch.testing.assert_close(one.grad, other.grad)
    assert len(girih.report(compiled).graphs) <= 2


def test_sizes_that_are_equal_by_a_guard():
    compared(VIEWS["slices"], operands(), 2, dynamic=True)


def test_sparse_gradients_are_left_to_eager():
    (weight, _), (own, _) = operands(), operands()
    function = lambda w: F.embedding(INDEX % 6, w, sparse=True).sin()  # noqa: E731
    compiled = girih.compile(function)
    compiled(weight).sum().backward()
    function(own).sum().backward()
    assert weight.grad.is_sparse
    torch.testing.assert_close(weight.grad.to_dense(), own.grad.to_dense())


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout_uses_one_mask(p):
    compared(lambda x, y: F.dropout(x.sin(), p).exp(), operands(), 2)


def test_noise():
    def function(x, y):
        kept = torch.bernoulli(x.sigmoid().detach())
        return x * kept + torch.randn_like(x) * y[0] + torch.rand_like(x)

    compared(function, operands(), 2)


BORDERS = {
    1: [(0, 1), (5, 0), (6, 6)],
    2: [(1, 1, 1, 1), (6, 0, 0, 2), (3, 5, 2, 1)],
    3: [(1, 1, 1, 1, 1, 1), (0, 6, 1, 0, 0, 2)],
}


@pytest.mark.parametrize(
    ("rank", "mode"), spread(BORDERS, ["reflect", "replicate"], every=2)
)
def test_borders_add_up_where_they_came_from(rank, mode):
    """First and second derivatives, between other operations; half precision."""
    shape = (2, *(3, 3, 5, 7)[-rank - 1 :])

    def function(x):
        padded = [F.pad(x.sin(), widths, mode=mode) for widths in BORDERS[rank]]
        return sum((y * y.cos()).mean() for y in padded)

    def derivatives(run, x):
        leaf = x.clone().requires_grad_()
        (first,) = torch.autograd.grad(run(leaf), leaf, create_graph=True)
        return first, *torch.autograd.grad(first.square().sum(), leaf)

    compiled = girih.compile(function)
    x = torch.randn(shape, dtype=torch.float64)
    wanted = derivatives(function, x)
    torch.testing.assert_close(derivatives(compiled, x), wanted)
    half = x.to(torch.bfloat16).requires_grad_()
    (found,) = torch.autograd.grad(compiled(half), half)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), wanted[0], rtol=0.1, atol=0.02)


def test_borders_of_one_element():
    """The borders of a single element are all that one."""

    def function(x):
        return F.pad(x, (2, 3), mode="replicate").sin()

    for shape in ((2, 3, 1), (1, 3, 4)):
        x = torch.randn(shape, requires_grad=True)
        y = torch.randn(*shape[:2], shape[2] + 5)
        (wanted,) = torch.autograd.grad(function(x), x, y)
        (found,) = torch.autograd.grad(girih.compile(function)(x), x, y)
        torch.testing.assert_close(found, wanted)
