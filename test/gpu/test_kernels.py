"""The kernels of the benchmarks, forward and backward, against float64.

compute-sanitizer runs this file: ``make test-gpu-memory``.
"""

import pytest
import torch
from gpu_device import (
    DEVICE,
    FLOATS,
    HAS_CUDA,
    assert_as_good_as_eager,
    compiled,
    normal,
)
from torch.nn import functional as F

import girih
from benchmarks import cases
from benchmarks.gpu.cases import CASES

SHAPES = ((1,), (5,), (1024,), (1025,), (3, 1), (17, 33), (64, 64), (2, 3, 130))
BY_NAME = {case.name: case for case in CASES if not case.is_training}


def check(function, inputs, **settings):
    run = compiled(function, **settings)
    with torch.no_grad():
        assert_as_good_as_eager(function, inputs, run(*inputs))
    for graph in girih.report(run).graphs:
        assert graph.fallback is None


@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_cases_in_cache(case, dtype):
    with torch.device(DEVICE):
        inputs = case.make_inputs(cases.IN_CACHE, dtype)
    check(case.function, inputs)


@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
@pytest.mark.parametrize("name", BY_NAME)
def test_cases_of_the_gpu(name, dtype):
    case = BY_NAME[name]
    sizes = {dim: min(size, 136) for dim, size in case.sizes.items()}
    with torch.device(DEVICE):
        inputs = [spec.make(sizes, dtype) for spec in case.inputs]
    check(case.function, inputs)


def gradients_of(function, inputs, constant):
    """The result and all gradients, for a cotangent that is the result scaled to 1."""
    leaves = [x.detach().clone() for x in inputs]
    for number, leaf in enumerate(leaves):
        leaf.requires_grad_(leaf.is_floating_point() and number not in constant)
    result = function(*leaves)
    sources = [leaf for leaf in leaves if leaf.requires_grad]
    cotangent = result.detach() / result.detach().abs().max()
    return [result.detach(), *torch.autograd.grad(result, sources, cotangent)]


@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_gradients(case, dtype):
    with torch.device(DEVICE):
        inputs = case.make_inputs(cases.IN_CACHE, dtype)
    # Batch norm has no derivatives by its running statistics.
    constant = (1, 2) if case.name == "batch-norm-relu" else ()

    def first(*inputs):
        result = case.function(*inputs)
        return result[0] if isinstance(result, tuple) else result

    actual = gradients_of(compiled(first), inputs, constant)

    def reference(*inputs):
        return gradients_of(first, inputs, constant)

    assert_as_good_as_eager(reference, inputs, actual, 1e-6, has_layout=False)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape):
    def program(x, y):
        z = F.gelu(x) * y + 1
        return z, z.sum(-1), F.softmax(z, -1), z.amax(0), z.mean(), z.argmax(-1)

    check(program, (normal(*shape), normal(*shape)))


@pytest.mark.parametrize(
    "sizes", [(67, 67, 65), (65, 66, 67), (33, 70, 95), (67, 1, 3)]
)
def test_products_of_odd_sizes(sizes):
    rows, inner, columns = sizes
    check(torch.matmul, (normal(15, rows, inner), normal(15, inner, columns)))


@pytest.mark.parametrize("columns", [1, 7, 1000, 4097, 16385, 50257])
@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
def test_rows(columns, dtype):
    def program(x, weight):
        return F.softmax(x, -1), F.layer_norm(x, x.shape[-1:], weight), x.sum(-1)

    check(program, (normal(9, columns, dtype=dtype), normal(columns, dtype=dtype)))


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("shape", [(2048, 50257), (4096, 20000), (3, 300000)], ids=str)
def test_logarithms_of_long_rows(shape, scale):
    """One walk over each, whose exponentials are the device's approximations."""

    def program(x, target):
        return x.logsumexp(1), F.cross_entropy(x, target, reduction="none")

    x = normal(*shape) * scale
    check(program, (x, torch.arange(shape[0], device=x.device)))


@pytest.mark.parametrize("rows", [1, 2, 1000, 70001])
def test_columns(rows):
    check(lambda x: (x.sum(0), x.amax(0), x.var(0)), (normal(rows, 67),))


@pytest.mark.parametrize("sizes", [(300, 5, 7), (270, 31, 130), (300, 16, 64)], ids=str)
@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
def test_sums_that_close_rows(sizes, dtype):
    """Rows that one program holds, then sums along the other dim; aligned and not."""
    x, scale = normal(*sizes, dtype=dtype), normal(sizes[1], 1, dtype=dtype)
    check(lambda x: F.softmax(x, 1).sum(2), (x,))
    check(lambda x: F.softmax(x, 2).sum(1), (x,))
    check(lambda x, s: ((x - x.amax(1, True)).exp() * s).sum(-1), (x, scale))


@pytest.mark.parametrize("columns", [64, 67])
@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
def test_columns_of_what_is_stored(columns, dtype):
    """Sums in several grids, the last of which load what the first has stored."""

    def program(x, y, weight):
        z = F.gelu(x) * y + weight
        return z, (z * x).sum(0), z.sum(0)

    rows = [normal(5003, columns, dtype=dtype) for _ in range(2)]
    check(program, (*rows, normal(columns, dtype=dtype)))


@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
def test_maxima_over_windows(dtype):
    """Maxima and their gradients, channels innermost."""
    x = normal(3, 24, 17, 19, dtype=dtype).to(memory_format=torch.channels_last)

    def program(x):
        return F.max_pool2d(F.relu(x), 3, 2, 1)

    def reference(x):
        return gradients_of(program, [x], ())

    actual = gradients_of(compiled(program), [x], ())
    assert_as_good_as_eager(reference, [x], actual, 1e-6, has_layout=False)


def test_many_outputs():
    def program(x):
        return tuple(x * i + i for i in range(20))

    check(program, (normal(1000),))


def test_no_elements():
    check(lambda x: (x * 2, x.sum(0), F.softmax(x, 0)), (normal(0, 7),))


def test_integers_and_booleans():
    def program(i, mask):
        return i * 3 // 2, i % 5, i << 2, mask & (i > 2), mask.any(0), i.sum(0)

    integers = torch.randint(-50, 50, (33, 65), device=DEVICE)
    mask = torch.rand(33, 65, device=DEVICE) > 0.5
    run = compiled(program)
    for mine, theirs in zip(run(integers, mask), program(integers, mask), strict=True):
        assert mine.dtype == theirs.dtype and torch.equal(mine, theirs)


def test_many_elements():
    """Offsets that 32 bits can't hold, where the device has the memory."""
    count = 2**31 + 4097
    if not HAS_CUDA or torch.cuda.mem_get_info()[0] < 12 * count:
        pytest.skip("needs a device with 26 GB of free memory")
    x = torch.zeros(count, dtype=torch.int8, device=DEVICE)
    x[-5:] = 7
    result = compiled(lambda x: x * 2 + 1)(x)
    assert result[-6:].tolist() == [1, 15, 15, 15, 15, 15]
    assert int(result[: 2**31].amax()) == 1


def test_deterministic():
    """Sums don't depend on the order in which programs run."""
    x = normal(1000, 3000)
    run = compiled(lambda x: (x.sum(), x.sum(0), F.softmax(x, 0).sum(1)))
    first = run(x)
    for _ in range(5):
        for one, other in zip(first, run(x), strict=True):
            assert torch.equal(one, other)


LISTS = {
    "many": [(3, 4), (1,), (1024,), (1025,), (), (7, 11), (0, 3), (64, 64)] * 9,
    "equal": [(33, 5)] * 70,
    "large": [(1000, 1001), (5,), (300, 7), (2049,), (4096, 16)],
}


@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
@pytest.mark.parametrize("name", LISTS)
def test_lists_of_tensors(name, dtype):
    """Launches of one kernel for many tensors are few; tensors may begin anywhere."""
    xs = [normal(*shape, dtype=dtype) for shape in LISTS[name]]
    ys = [normal(*shape, dtype=dtype) for shape in LISTS[name]]
    size = sum(x.numel() + 1 for x in xs)
    if name == "many":  # from everywhere in one block of memory
        line, places = (
            normal(size, dtype=dtype),
            torch.tensor([0] + [x.numel() + 1 for x in xs]),
        )
        starts = places.cumsum(0).tolist()
        xs = [
            line[s:][: x.numel()].view(x.shape)
            for s, x in zip(starts, xs, strict=False)
        ]

    def program(*tensors):
        xs, ys = tensors[: len(tensors) // 2], tensors[len(tensors) // 2 :]
        scaled = torch._foreach_mul(xs, 0.5)
        torch._foreach_add_(scaled, ys)
        return scaled, torch._foreach_mul(torch._foreach_exp(ys), xs)

    run = compiled(program)
    with torch.no_grad():
        assert_as_good_as_eager(program, (*xs, *ys), run(*xs, *ys))
    (graph,) = girih.report(run).graphs
    assert graph.fallback is None
    assert graph.launches <= len(xs) // 10 + 4


@pytest.mark.parametrize("dim", [0, 1])
def test_many_tensors_become_one(dim):
    sizes = [1, 3, 0, 64, 17, 1, 1, 128] * 5
    xs = [normal(*((n, 6) if dim == 0 else (6, n))) for n in sizes]
    check(lambda *xs: torch.cat([x * 2 for x in xs], dim).sin(), xs)
    check(lambda *xs: torch.cat(xs, dim), xs)
    check(lambda *xs: torch.stack([x.sum() for x in xs]).square().sum().sqrt(), xs)


def test_exponentials_of_all_arguments():
    """Angles and positions are made of them: each place that is lost shows there."""
    x = torch.linspace(-87, 88, 5000, device=DEVICE)
    actual, expected = compiled(torch.exp)(x), x.double().exp()
    assert float((actual.double() / expected - 1).abs().max()) < 2.5e-7
