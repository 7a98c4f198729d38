"""Derivatives of reading and writing at indices against torch's."""

import pytest
import torch
from derivatives import check_op


def random(*shape):
    return torch.randn(shape, dtype=torch.float64)


def integers(*values):
    return torch.tensor(values)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize(
    "index",
    [
        torch.tensor(1),
        torch.tensor([[-2]]),
        torch.tensor([0, 2, 2, -1]),
        torch.tensor([[0, 1, 0], [1, 1, -3]]),
        torch.tensor([0, 2, 2], dtype=torch.int32),
        torch.tensor([], dtype=torch.int64),
    ],
)
def test_take(index, dim):
    check_op("take", [random(3, 3, 3), index], {"dim": dim, "from_end": True})


def test_take_from_a_vector():
    check_op("take", [random(7), integers(5, 5, 0)], {"dim": 0}, order=3)


@pytest.mark.parametrize(
    ("shape", "index_shape", "dim"),
    [
        ((4, 5), (4, 1), 1),
        ((4, 5), (3, 1), 1),
        ((4, 5), (1, 5), 0),
        ((4, 5), (4, 7), 1),
        ((4, 5), (2, 3), 0),
        ((2, 3, 5), (2, 1, 4), 1),
        ((5,), (1,), 0),
        ((5,), (0,), 0),
    ],
)
def test_gather(shape, index_shape, dim):
    index = torch.randint(0, shape[dim], index_shape)
    check_op("gather", [random(*shape), index], {"dim": dim})


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_gather_of_index_types(dtype):
    index = torch.tensor([[2, 0], [1, 1]], dtype=dtype)
    check_op("gather", [random(2, 3), index], {"dim": 1})


@pytest.mark.parametrize(
    "index", [integers(1, 2, 2, 0), torch.tensor([[1]]), torch.tensor(3)]
)
def test_embedding(index):
    check_op("embedding", [random(5, 2), index])


@pytest.mark.parametrize(
    ("dims", "shapes"),
    [
        ((0,), [(3,)]),
        ((1,), [(2, 2)]),
        ((0, 1), [(3,), (3,)]),
        ((0, 1), [(3, 1), (4,)]),
        ((1, 2), [(2,), (1,)]),
        ((0, 2), [(4,), (4,)]),
        ((0, 3), [(2, 1), (2,)]),
        ((0, 1, 3), [(2,), (2,), ()]),
        ((0, 1, 2, 3), [(6,), (6,), (6,), (6,)]),
        ((1, 2), [(0,), (0,)]),
    ],
)
def test_index(dims, shapes):
    shape = (2, 3, 2, 5)
    pairs = zip(dims, shapes, strict=True)
    indices = [torch.randint(-shape[d], shape[d], s) for d, s in pairs]
    check_op("index", [random(*shape), indices], {"dims": dims})


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("diagonal", [-1, 0, 2])
def test_triangles(name, diagonal):
    check_op(name, [random(2, 3, 5)], {"diagonal": diagonal})


@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
@pytest.mark.parametrize(
    ("index_shape", "dim"), [((3, 5), 0), ((2, 5), 0), ((3, 1), 1), ((0, 5), 0)]
)
def test_scatter(name, index_shape, dim):
    index = torch.randperm(6)[: index_shape[dim]]
    index = index[:, None] if dim == 0 else index
    index = index.expand(index_shape).contiguous()
    x, src = random(6, 6), random(*index_shape)
    check_op(name, [x, index, src], {"dim": dim})


def test_scatter_add_at_one_place():
    index = torch.zeros(4, 3, dtype=torch.int64)
    check_op("scatter_add", [random(2, 3), index, random(4, 3)], {"dim": 0})


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("values_shape", [(), (1,), (4,), (3, 1), (3, 4)])
def test_index_put(accumulate, values_shape):
    indices = [integers(0, 2, -1)]
    attributes = {"dims": (0,), "accumulate": accumulate}
    check_op("index_put", [random(5, 4), random(*values_shape), indices], attributes)


def test_index_put_twice_at_one_place():
    indices = [integers(0, 1, 0), integers(2, 2, 2)]
    attributes = {"dims": (0, 2), "accumulate": True}
    check_op("index_put", [random(2, 3, 4), random(3, 3), indices], attributes)
