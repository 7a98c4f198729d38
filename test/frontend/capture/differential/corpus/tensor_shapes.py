"""Shapes, indexing and shape arithmetic in Python."""

import torch

from differential.program import ints, program, rand


@program(rand(2, 3)).then(rand(4, 5))
def shape_arithmetic(x):
    n, m = x.shape
    return x.view(n * m), x.reshape(m, n), torch.zeros(n + 1, m - 1), n / m


@program(rand(2, 3, 4))
def shape_is_a_tuple(x):
    shape = x.shape
    return (
        x,
        shape,
        shape[1:],
        shape + (5,),
        len(shape),
        list(shape),
        tuple(shape),
        shape[-1],
    )


@program(rand(2, 3, 4))
def shape_methods(x):
    return (
        x,
        x.shape.numel(),
        x.size().count(3),
        x.shape.index(4),
        3 in x.shape,
        max(x.shape),
    )


@program(rand(2, 3), rand(2, 3)).then(rand(2, 3), rand(3, 2))
def shape_comparison(x, y):
    if x.shape == y.shape:
        return x + y
    return x @ y


@program(rand(2, 3)).then(rand(3, 2)).then(rand(1, 6))
def shape_guards(x):
    if x.size(0) > x.size(1):
        return x.t()
    if x.size(0) == 1:
        return x[0]
    return x * x.size(0)


@program(rand(2, 6), 3).then(rand(2, 8), 4)
def heads(x, n):
    b, d = x.shape
    return x.view(b, n, d // n).transpose(0, 1).contiguous().view(n, -1)


@program(rand(2, 3, 4))
def permutations(x):
    return (
        x.permute(2, 0, 1),
        x.transpose(0, 2),
        x.movedim(0, -1),
        x.swapaxes(0, 1),
        x.mT,
    )


@program(rand(2, 1, 3))
def squeezes(x):
    return (
        x.squeeze(1),
        x.squeeze(),
        x.squeeze(0),
        x.unsqueeze(-1),
        x[None],
        x[..., None],
    )


@program(rand(2, 3, 4))
def flattens(x):
    return x.flatten(), x.flatten(1), x.flatten(0, 1), x.unflatten(2, (2, 2)), x.ravel()


@program(rand(2, 3), rand(2, 3))
def joins(x, y):
    return (
        torch.cat([x, y]),
        torch.cat((x, y), dim=1),
        torch.stack([x, y]),
        torch.hstack([x, y]),
    )


@program(rand(6, 2))
def splits(x):
    return x.split(4), x.split([1, 5]), x.chunk(4), x.unbind(1), x.tensor_split(4)


@program(rand(4, 5))
def basic_indexing(x):
    return x[0], x[-1], x[1, 2], x[1:3], x[:, 2], x[::2, 1::2], x[..., 0], x[1:, -2:]


@program(rand(4, 5), ints(3, high=4))
def index_with_tensor(x, index):
    return x[index], x[index, index], x[:, index], x[index, 1:3], x[index.unsqueeze(0)]


@program(rand(4, 5))
def index_with_lists(x):
    return x[[0, 2]], x[[0, 1], [2, 3]], x[:, [1]], x[[True, False, True, False]]


@program(rand(4), torch.tensor([True, False, True, False]))
def index_with_mask(x, mask):
    return x[mask]


@program(rand(3, 4), ints(3, 2, high=4))
def gathers(x, index):
    return x.gather(1, index), torch.take_along_dim(x, index, 1), x.take(index)


@program(rand(3, 4), ints(2, high=3))
def selects(x, index):
    return x.index_select(0, index), x.select(1, 2), x.narrow(1, 1, 2), x.take(index)


@program(rand(3, 4), 1).then(rand(3, 4), 2).then(rand(3, 4), -1)
def index_by_argument(x, i):
    return x[i], x[:, i], x[i:], x[:i]


@program(rand(3, 4))
def index_with_computed_slices(x):
    n = x.shape[1]
    return x[:, : n // 2], x[:, n // 2 :], x[: x.size(0) - 1]


@program(rand(2, 3))
def repeats(x):
    return x.repeat(2, 1), x.repeat_interleave(2, dim=1), x.tile(2), x.expand(4, 2, 3)


@program(rand(2, 3))
def pads(x):
    pad = torch.nn.functional.pad
    return pad(x, (1, 2)), pad(x, (0, 0, 1, 0), value=3.0), pad(x, (-1, 0))


@program(rand(2, 3), rand(3), rand(2, 1))
def broadcasts(x, row, column):
    return x + row, x * column, row + column, torch.broadcast_tensors(row, column)


@program(rand(2, 3))
def factories_from_shape(x):
    made = torch.zeros(x.shape), torch.ones(x.size(0), 2), torch.full((x.shape[1],), 7)
    return x.new_zeros(x.shape), torch.arange(x.shape[1]), made, torch.eye(x.size(1))


@program(rand(2, 3))
def factories_alike(x):
    made = (
        torch.zeros_like(x),
        torch.full_like(x, 3),
        torch.ones_like(x, dtype=torch.int32),
    )
    return made, x.new_ones(2), x.new_full((2,), 5.0), x.new_tensor([1, 2])


@program(5).then(7)
def factories(n):
    made = (
        torch.arange(n),
        torch.arange(1, n, 2),
        torch.linspace(0, 1, n),
        torch.ones(n),
    )
    return made, torch.tensor([1.0, n]), torch.tensor(n), torch.tril(torch.ones(n, n))


@program(rand(3))
def tensor_from_lists(x):
    n = x.shape[0]
    return (
        torch.tensor([[1, 2], [3, n]]),
        torch.tensor([1.5, 2]),
        torch.as_tensor([True]),
    )


@program(rand(3, 4))
def loops_over_dims(x):
    for dim in range(x.dim()):
        x = x - x.mean(dim, keepdim=True)
    return x


@program(rand(4, 3))
def unpacked_rows(x):
    a, b, c, d = x
    first, *rest = x
    return a + b * c - d, first, len(rest)


@program(rand(3, 2))
def iterated(x):
    return [row * i for i, row in enumerate(x)], sum(row.sum() for row in x)


@program(rand(3, 4), rand(4, 5), rand(5, 2))
def chain_of_products(a, b, c):
    return torch.linalg.multi_dot([a, b, c]), a.matmul(b).matmul(c).shape


@program(rand(2, 3), (3, 2)).then(rand(2, 3), (6,)).then(rand(2, 3), (1, -1))
def shape_argument(x, shape):
    return x.view(shape), x.reshape(*shape)


@program(rand(2, 3, 4, 4))
def window_functions(x):
    return torch.nn.functional.max_pool2d(x, 2), torch.nn.functional.unfold(x, 2).shape


@program(rand(8))
def odd_sizes_in_python(x):
    n = x.numel()
    padded = -(-n // 3) * 3
    y = torch.nn.functional.pad(x, (0, padded - n))
    return y.view(-1, 3), n % 3, divmod(n, 3)


@program(rand(2, 3)).then(rand(2, 4)).then(rand(2, 5)).then(rand(2, 6))
def growing_dimension(x):
    return torch.cat([x, x.new_zeros(x.size(0), 1)], dim=1), x.size(1)


@program(rand(2, 3))
def bad_view(x):
    return x.view(4, 2)


@program(rand(2, 3))
def bad_index(x):
    return x[2]


@program(rand(2, 3))
def too_many_indices(x):
    return x[0, 0, 0]


@program(rand(2, 3), rand(4))
def bad_broadcast(x, y):
    return x + y


@program(rand(2, 3), rand(4, 5))
def bad_matmul(x, y):
    return x @ y


@program(rand(2, 3))
def meshes(x):
    a, b = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
    return x * a + b, torch.cartesian_prod(torch.arange(2), torch.arange(2))
