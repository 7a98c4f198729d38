"""Views and rearrangements against eager, alone and inside fused kernels."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F
from extent import spread
from samples import check
from tensors import ALL, LAYOUTS, normal

import girih

BASE = (4, 6, 10)

VIEWS = {
    "reshape": lambda x: x.reshape(8, -1),
    "reshape-merge": lambda x: x.reshape(-1),
    "reshape-split": lambda x: x.reshape(2, 2, 3, 2, 5, 2),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 5)),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 2),
    "movedim": lambda x: x.movedim(0, -1),
    "transpose-reshape": lambda x: x.transpose(1, 2).reshape(4, 60),
    "expand": lambda x: x[:, :1].expand(4, 9, 10),
    "expand-new": lambda x: x.expand(3, 4, 6, 10),
    "broadcast_to": lambda x: torch.broadcast_to(x[0, 0], (3, 10)),
    "slice": lambda x: x[1:3, ::2, -4:],
    "slice-empty": lambda x: x[3:3],
    "slice-step": lambda x: x[:, 1::4],
    "select": lambda x: x[2],
    "select-last": lambda x: x[..., -1],
    "none-index": lambda x: x[:, None, 1],
    "squeeze": lambda x: x[:1].squeeze(0),
    "squeeze-all": lambda x: x[:1, :1].squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "narrow": lambda x: x.narrow(1, 2, 3),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "unfold": lambda x: x.unfold(2, 4, 3),
    "unfold-rows": lambda x: x.unfold(1, 3, 1),
    "unfold-twice": lambda x: x.unfold(1, 2, 1).unfold(2, 3, 2),
    "unfold-gaps": lambda x: x.unfold(2, 2, 5),
    "unfold-sides": lambda x: x.unfold(0, 2, 2),
    "unfold-empty": lambda x: x.unfold(1, 0, 2),
    "unfold-number": lambda x: x[0, 0, 0].unfold(0, 1, 1),
    "view-as": lambda x: x.contiguous().view_as(x.contiguous().view(24, 10)),
    "chunk": lambda x: x.chunk(3, 2),
    "split": lambda x: x.split(4, 1),
    "split-sizes": lambda x: x.split([1, 2, 3], 1),
    "unbind": lambda x: x.unbind(0),
    "t": lambda x: x[0].t(),
}
COPIES = {
    "cat": lambda x: torch.cat([x, x + 1, x[:1]], 0),
    "cat-last": lambda x: torch.cat([x, x[..., :3]], -1),
    "cat-empty": lambda x: torch.cat([x[:0], x], 0),
    "cat-one": lambda x: torch.cat([x], 1),
    "stack": lambda x: torch.stack([x, x * 2], 1),
    "hstack": lambda x: torch.hstack([x, x]),
    "flip": lambda x: x.flip(0, 2),
    "flip-middle": lambda x: x.flip(1),
    "roll": lambda x: x.roll(2, 1),
    "roll-two": lambda x: x.roll((1, -3), (0, 2)),
    "repeat": lambda x: x.repeat(2, 1, 3),
    "tile": lambda x: x.tile(2),
    "repeat_interleave": lambda x: x.repeat_interleave(3, 1),
    "pad": lambda x: F.pad(x, (1, 2)),
    "pad-value": lambda x: F.pad(x, (1, 2, 0, 3), value=7),
    "pad-crop": lambda x: F.pad(x, (-1, 2)),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "contiguous-transposed": lambda x: x.transpose(0, 1).contiguous(),
    "rot90": lambda x: x.rot90(),
    "tril": lambda x: x.tril(),
    "triu": lambda x: x.triu(1),
    "masked": lambda x: x.masked_fill(torch.ones(6, 10).tril().bool(), 3),
}
FLOAT_COPIES = {
    "pad-reflect": lambda x: F.pad(x, (2, 3), mode="reflect"),
    "pad-replicate": lambda x: F.pad(x, (2, 3), mode="replicate"),
    "pad-circular": lambda x: F.pad(x, (2, 3), mode="circular"),
    "rotate-halves": lambda x: torch.cat([-x[..., 5:], x[..., :5]], -1) * x,
    "interleave": lambda x: torch.stack([x, -x], -1).flatten(-2),
    "pixel-shuffle": lambda x: F.pixel_shuffle(x, 2),
    "channel-shuffle": lambda x: F.channel_shuffle(x, 2),
    "meshgrid": lambda x: torch.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"),
}


@pytest.mark.parametrize("function", VIEWS.values(), ids=VIEWS)
def test_views_inside_kernels(function):
    def used(x):
        parts = function(x)
        parts = parts if isinstance(parts, tuple) else (parts,)
        return [part * 2 + 1 for part in parts]

    check(
        used, {name: (f(normal(BASE, torch.float32)),) for name, f in LAYOUTS.items()}
    )


@pytest.mark.parametrize("function", VIEWS.values(), ids=VIEWS)
def test_views_of_results(function):
    calls = {name: (f(normal(BASE, torch.float32)),) for name, f in LAYOUTS.items()}
    check(lambda x: function(x.abs()), calls)


@pytest.mark.parametrize("function", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_copies(function, layout):
    x = layout(normal(BASE, torch.float32))
    check(lambda x: (function(x), function(x * 2) + 1), {"x": (x,)})


@pytest.mark.parametrize("function", COPIES.values(), ids=COPIES)
def test_copies_of_all_dtypes(function):
    check(function, {str(dtype): (normal(BASE, dtype),) for dtype in ALL})


@pytest.mark.parametrize("function", FLOAT_COPIES.values(), ids=FLOAT_COPIES)
def test_copies_of_floats(function):
    x = normal(BASE, torch.float32)
    check(lambda x: (function(x), function(x.sigmoid())), {"x": (x,)})


@pytest.mark.parametrize("function", COPIES.values(), ids=COPIES)
def test_empty(function):
    check(function, {"rows": (normal((0, 6, 10), torch.float32),)})


def test_cat_of_other_dtypes():
    calls = {
        f"{a} {b}": (normal((5,), a), normal((7,), b))
        for a in ALL
        for b in (torch.float32, torch.int32)
    }
    check(lambda x, y: torch.cat([x, y]), calls)


def test_transposed_operands_of_odd_sizes():
    calls = {
        f"{n}x{m}": (normal((n, m), torch.float32), normal((m, n), torch.float32))
        for n, m in ((1, 1), (1, 17), (16, 16), (31, 33), (257, 65), (64, 1000))
    }
    check(lambda x, y: (x.t() + y, (x * 2).t().contiguous()), calls)


PADS = {
    1: [(2, 1), (0, 3), (7, 7), (-1, 2)],
    2: [(2, 1, 0, 3), (4, 0, 4, 4), (1, -1, 2, 0)],
    3: [(2, 1, 0, 3, 1, 1)],
}
BORDERS = ("reflect", "replicate", "circular")


@pytest.mark.parametrize(
    ("rank", "mode", "dynamic"), spread(PADS, BORDERS, [False, True], every=3)
)
def test_padding_with_elements(rank, mode, dynamic):
    """Values and their strides, and derivatives; alone and before arithmetic."""

    def function(x):
        padded = [F.pad(x, widths, mode=mode) for widths in PADS[rank]]
        return [*padded, *(F.pad(x * 2, n, mode=mode) + 1 for n in PADS[rank])]

    compiled = girih.compile(function, dynamic=dynamic)
    for size in (8, 9) if dynamic else (8,):
        x = torch.randn((2, 3, 5, 6)[: rank + 1] + (size,), dtype=torch.float64)
        _compare_padded(compiled, function, x)
        _compare_padded(compiled, function, x.transpose(0, 1))
        _compare_padded(compiled, function, x[0])


def _compare_padded(compiled, function, x):
    pairs = []
    for run in (function, compiled):
        leaf = x.detach().requires_grad_()
        results = run(leaf)
        total = sum((y.sin() * y).sum() for y in results)
        strides = [y.stride() for y in results]
        pairs.append((*results, *torch.autograd.grad(total, leaf), strides))
    (*wanted, strides), (*found, others) = pairs
    torch.testing.assert_close(found, wanted)
    assert strides == others


@pytest.mark.parametrize("widths", [(9, 0), (0, -9), (1,) * 6, (1, 1)])
def test_circular_padding_that_eager_refuses(widths):
    def function(x):
        return F.pad(x, widths, "circular", 0.5 if widths == (1, 1) else None)

    x = torch.randn(2, 3, 8)
    with pytest.raises(Exception) as wanted:
        function(x)
    with pytest.raises(type(wanted.value)) as found:
        girih.compile(function)(x)
    assert str(found.value) == str(wanted.value)


ONE_KERNEL = {
    "windows": lambda x: x.unfold(2, 4, 3).mean(-1),
    "windows of windows": lambda x: x.unfold(1, 2, 1).unfold(2, 3, 2).amax((-1, -2)),
    "reflected": lambda x: F.pad(x, (2, 1), mode="reflect") * 2,
    "reflected twice": lambda x: F.pad(x[None], (2, 1, 1, 2), mode="reflect"),
    "replicated": lambda x: F.pad(x[None], (2, 1, 0, 9), mode="replicate").relu(),
    "rows of borders": lambda x: F.pad(x, (40, 3), mode="replicate").mean(-1),
    "columns of borders": lambda x: F.pad(x[None], (2, 1, 1, 2), "reflect").amax(2),
    "clamped": lambda x: x[..., (torch.arange(40) - 3).clamp(0, x.shape[-1] - 1)],
    "mirrored": lambda x: x[:, (torch.arange(9) - 4).abs()],
}


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_windows_and_borders_are_read_where_they_lie(name):
    compiled = girih.compile(ONE_KERNEL[name])
    x = normal(BASE, torch.float32)
    torch.testing.assert_close(compiled(x), ONE_KERNEL[name](x))
    report = girih.report(compiled)
    assert (report.kernels, report.externs) == (1, 0), report


KINDS = [torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.bool]


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("dtype", [*KINDS, torch.complex64])
def test_borders_of_all_kinds_of_elements(dtype, mode):
    """Rows of one element, of several vectors, and with borders as long as they are."""

    def function(x):
        length = x.shape[-1] - 1 if mode == "reflect" else x.shape[-1]
        rows = F.pad(x, (length, length), mode=mode)
        both = [
            F.pad(x, (a, b, 1, 0), mode=mode) for a, b in ((0, length), (length, 0))
        ]
        return rows, both, F.pad(x, (length, 0, 0, 1), mode=mode) == x[:, :1, :1]

    for size in (1, 2, 16, 33, 70):
        x = torch.randint(-9, 9, (2, 3, size)).to(dtype)
        try:
            wanted = function(x)
        except NotImplementedError as error:
            with pytest.raises(NotImplementedError, match=re.escape(str(error))):
                girih.compile(function)(x)
            continue
        torch.testing.assert_close(girih.compile(function)(x), wanted, rtol=0, atol=0)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("widths", [(3, 70), (1500, 0), (0, 1)])
def test_borders_of_long_rows(widths, dynamic):
    """Rows that several programs share, or that are added up in blocks."""

    def function(x):
        mirrored, clamped = (F.pad(x, widths, m) for m in ("reflect", "replicate"))
        clamped_sums = clamped.sum(), (clamped * 2).amax(1), clamped.softmax(-1)
        return mirrored.exp(), mirrored.sum(-1), clamped + 1, *clamped_sums

    compiled = girih.compile(function, dynamic=dynamic)
    for size in (2000, 70_001):
        x = torch.randn(3, size, dtype=torch.float64)
        torch.testing.assert_close(compiled(x), function(x))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_a_crop_keeps_the_order_of_dims(order, dynamic):
    """Eager clones what is left; of padding that also adds it makes a new tensor."""

    def program(x):
        n = x.shape[-1] // 2
        crop, both = F.pad(x, (0, -n)), F.pad(x, (0, -n, 0, 1))
        return crop, both, F.pad(x, (n - n, -n, 0, n - x.shape[-1]))

    inverse = sorted(range(3), key=order.__getitem__)
    for sizes in ((5, 6, 8), (5, 7, 4)):
        x = torch.randn([sizes[dim] for dim in order]).permute(inverse)
        for made, own in zip(
            girih.compile(program, dynamic=dynamic)(x), program(x), strict=True
        ):
            assert made.stride() == own.stride()
            assert torch.equal(made, own)


def _shifted_in_place(x):
    rows = x.view(-1, 2)
    x[0] += 1
    rows[-1] = rows[0]
    return rows * 1


@pytest.mark.parametrize("dynamic", [None, True])
def test_rows_of_another_length_are_written_and_read(dynamic):
    compiled = girih.compile(_shifted_in_place, dynamic=dynamic)
    for shape in ((8,), (12,), (2, 4), (3, 4), (2, 6)):
        x = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
        own = x.clone()
        torch.testing.assert_close(compiled(own), _shifted_in_place(x))
        torch.testing.assert_close(own, x)


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_a_channel_shuffle_is_a_view_in_a_kernel(groups):
    x = torch.randn(2, 6, 5, 7)
    compiled = girih.compile(lambda x: F.channel_shuffle(x * 2, groups) + 1)
    torch.testing.assert_close(compiled(x), F.channel_shuffle(x * 2, groups) + 1)
    assert girih.report(compiled).graphs[0].externs == 0
