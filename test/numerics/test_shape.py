"""Views and rearrangements against eager, alone and inside fused kernels."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from samples import check
from tensors import ALL, LAYOUTS, normal

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
