"""NumPy arrays and numbers."""

import numpy as np
import torch

from differential.program import program, rand

TABLE = np.array([1.0, 2.0, 3.0], dtype=np.float32)


@program(rand(3))
def to_numpy(x):
    return (x + 1).numpy() * 2


@program(rand(3))
def from_numpy(x):
    return x + torch.from_numpy(np.ones(3, dtype=np.float32)), torch.from_numpy(
        TABLE
    ) * x


@program(rand(3))
def shares_memory(x):
    a = x.numpy()
    a[0] = 100
    return x + 1, a


@program(np.array([1.0, 2.0], dtype=np.float32), rand(2))
def array_argument(a, x):
    return a * 2, x + torch.as_tensor(a), a.sum()


@program(np.arange(3), rand(3))
def array_is_changed(a, x):
    a[0] = 7
    a += 1
    return x, a


@program(np.float32(2.5), rand(3)).then(np.float32(3.5), rand(3))
def scalar_argument(f, x):
    return x * f, f + 1, type(f + 1).__name__


@program(np.int64(2), rand(3)).then(np.int64(1), rand(3))
def integer_argument(n, x):
    return x[n], x + n, n // 2, [1, 2, 3][n]


@program(rand(3))
def numpy_functions(x):
    return x * np.sqrt(2.0), np.prod([2, 3]), np.pi, np.maximum(1, 2)


@program(rand(4))
def shape_from_numpy(x):
    return x.view(tuple(np.array([2, 2]))), x.reshape(np.int64(2), -1)


@program(rand(3))
def tensor_of_array(x):
    return torch.tensor(np.arange(3.0)), torch.tensor(np.float64(2.0)), x + 1


@program(rand(3))
def dtype_of_numpy(x):
    return x, np.float32 == np.dtype("float32"), x.numpy().dtype.name


@program(rand(2, 2))
def array_methods(x):
    a = x.numpy()
    return a.T, a.reshape(-1), a.mean(), a.shape, a[0, 1]


@program(rand(3))
def branch_on_array(x):
    return x + 1 if np.any(np.array([0, 1])) else x


@program(np.bool_(True), rand(3)).then(np.bool_(False), rand(3))
def boolean_argument(flag, x):
    return x + 1 if flag else x - 1


@program({"w": np.ones(3, dtype=np.float32)}, rand(3))
def array_in_a_dict(table, x):
    return x * torch.from_numpy(table["w"])


@program(rand(3))
def random_of_numpy(x):
    generator = np.random.default_rng(3)
    return x + float(generator.normal()), generator.integers(10)


@program(rand(3))
def mixed_arithmetic(x):
    return x * np.float32(2), x + np.ones(3, dtype=np.float32)


@program(rand(3, requires_grad=True))
def numpy_of_tensor_with_grad(x):
    return x.numpy()
