"""Loops around that of the lanes, cut where a concat goes on to its next part."""

import pytest
import torch

import girih

SHAPES = {
    "rows": ([(5, 40), (7, 40)], 0),
    "many": ([(1, 300), (2, 300), (3, 300), (4, 300)], 0),
    "none": ([(0, 40), (7, 40), (0, 40)], 0),
    "channels": ([(2, 3, 9, 11), (2, 4, 9, 11)], 1),
    "wide_channels": ([(1, 3, 200, 200), (1, 2, 200, 200)], 1),
    "middle": ([(3, 5, 17), (3, 1, 17)], 1),
    "last": ([(3, 5, 17), (3, 5, 8)], 2),
}


def scaled(parts, dim):
    return torch.cat([part * (n + 2) for n, part in enumerate(parts)], dim) + 1


def copied(parts, dim):
    return torch.cat(parts, dim)


def nested(parts, dim):
    return torch.cat([torch.cat(parts, dim).relu(), parts[0] - 1], dim)


def flipped(parts, dim):
    return torch.cat([parts[0].flip(dim) * 2, *parts[1:]], dim).exp()


def rolled(parts, dim):
    return torch.cat(parts, dim).roll(2, dim) * 3


def padded(parts, dim):
    x = torch.cat([part.sin() for part in parts], dim).movedim(dim, -2)
    return torch.nn.functional.pad(x, (0, 0, 2, 1), value=7.0) * 2


def normed(parts, dim):
    x = torch.cat([part * 2 for part in parts], dim)
    return x / (1 + x.abs().sum(-1, keepdim=True))


FUNCTIONS = (scaled, copied, nested, flipped, rolled, padded, normed)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_parts(function, name, dynamic, dtype):
    shapes, dim = SHAPES[name]
    if not dtype.is_floating_point and function in (flipped, padded, normed):
        function = scaled
    parts = [(torch.randn(shape) * 5).to(dtype) for shape in shapes]
    compiled = girih.compile(function, dynamic=dynamic)
    expected = function(parts, dim)
    if dtype.is_floating_point:
        expected = function([part.double() for part in parts], dim).to(dtype)
    torch.testing.assert_close(compiled(parts, dim), expected)


def test_gradients():
    parts = [torch.randn(4, 50), torch.randn(9, 50)]
    mine = [part.clone().requires_grad_() for part in parts]
    theirs = [part.clone().requires_grad_() for part in parts]
    weight = torch.randn(13, 50)
    (girih.compile(scaled)(mine, 0) * weight).sum().backward()
    (scaled(theirs, 0) * weight).sum().backward()
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize(
    "name, count", [("rows", 2), ("many", 4), ("wide_channels", 2)]
)
def test_each_part_is_a_loop(name, count, tmp_path):
    shapes, dim = SHAPES[name]
    options = {"dump_dir": str(tmp_path)}
    parts = [torch.randn(shape) for shape in shapes]
    girih.compile(scaled, options=options)(parts, dim)
    (path,) = tmp_path.glob("*/4-tile.mlir")
    assert f"in {count} segments" in path.read_text()
