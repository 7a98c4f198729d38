"""Inputs of all kinds on an emulated GPU: empty, strided, misaligned, written."""

import pytest
import torch
import torch.nn.functional as F
from closeness import assert_like_eager
from samples import precisely
from tensors import LAYOUTS, normal
from ttir_interpreter import DeviceAssertion

import girih


def compiled(function, **options):
    return girih.compile(
        function, fullgraph=True, options={"fallback": False}, **options
    )


def check(function, *inputs):
    with torch.no_grad():
        actual, expected = compiled(function)(*inputs), function(*inputs)
    assert_like_eager(actual, expected, precisely(function, inputs), sums=True)


FUNCTIONS = {
    "elementwise": lambda x, y: torch.tanh(x) * y + x,
    "broadcast": lambda x, y: x * y[:1] + x.sum(-1, keepdim=True),
    "softmax": lambda x, y: torch.softmax(x + y, -1),
    "columns": lambda x, y: (x * y).sum(0),
    "all": lambda x, y: (x - y).amax(),
    "transposed": lambda x, y: x.t() * y.t() + x.t(),
    "variance": lambda x, y: torch.var(x + y, -1),
}
functions = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


@functions
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(function, layout):
    x, y = (layout(normal((34, 67), torch.float32, scale=1.0)) for _ in range(2))
    check(function, x, y)


@functions
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_dtypes(function, dtype):
    check(function, *(normal((19, 130), dtype, scale=1.0) for _ in range(2)))


@functions
@pytest.mark.parametrize("shape", [(1, 1), (1, 1031), (1031, 1), (2, 3)])
def test_small_shapes(function, shape):
    check(function, *(normal(shape, torch.float32, scale=1.0) for _ in range(2)))


@pytest.mark.parametrize("name", ["elementwise", "broadcast", "softmax", "columns"])
@pytest.mark.parametrize("shape", [(0, 7), (7, 0), (0, 0)])
def test_nothing(name, shape):
    check(FUNCTIONS[name], torch.empty(shape), torch.empty(shape))


@functions
def test_special_values(function):
    x, y = (normal((33, 65), torch.float32, special=True) for _ in range(2))
    with torch.no_grad():
        actual, expected = compiled(function)(x, y), function(x, y)
    torch.testing.assert_close(actual, expected, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8])
@pytest.mark.parametrize("start", [0, 1, 2, 3])
def test_misaligned_memory(device, dtype, start):
    """Pointers that are not a multiple of 16: another kernel, or a copy."""

    def function(x, y):
        return (x + y).sum(-1), x * 2

    program = compiled(function, dynamic=False)
    for first in (0, start, 0):
        flat = torch.arange(64 * 48 + 4).remainder(7).to(dtype)
        x = flat[first : first + 64 * 48].view(64, 48)
        y = torch.ones(64, 48).to(dtype)
        assert_like_eager(program(x, y), function(x, y))
    assert len(device.launched) >= 3


@pytest.mark.parametrize("start", [0, 1])
def test_misaligned_memory_that_is_written(start):
    def function(x, y):
        x.add_(y)
        return x * 2

    program = girih.compile(function)  # eager writes what begins elsewhere
    for first in (0, start):
        ours, eagers = (torch.arange(101.0)[first : first + 90] for _ in range(2))
        assert_like_eager(program(ours, ours + 1), function(eagers, eagers + 1))
        assert torch.equal(ours, eagers)


def test_new_sizes_of_one_program(device):
    def function(x, weight):
        return F.layer_norm(x, (x.shape[-1],), weight).sum(0)

    program = compiled(function, dynamic=True)
    for rows, columns in [(2, 3), (129, 65), (7, 5000), (4099, 16), (1, 1)]:
        x, weight = torch.randn(rows, columns), torch.randn(columns)
        precise = precisely(function, (x, weight))
        assert_like_eager(program(x, weight), function(x, weight), precise, sums=True)
    assert len(device.launched) >= 5


def test_integers_wrap_and_shift():
    x = torch.randint(-(2**31), 2**31, (257,), dtype=torch.int32)

    def function(x):
        return x * 1664525 + 1013904223, (x << 5) ^ (x >> 3), -x, x // 7, x % 13

    check(function, x)


def test_booleans():
    x, y = torch.randn(100) > 0, torch.randn(100) > 0

    def function(x, y):
        return x & ~y, (x | y).sum(), x.to(torch.float32) + y, x.any(), y.all()

    check(function, x, y)


def test_rows_are_looked_up():
    weight, ids = torch.randn(50, 33), torch.randint(50, (4, 9))
    check(lambda weight, ids: F.embedding(ids, weight) * 2, weight, ids)


def test_an_index_out_of_range_stops_the_device(device):
    program = compiled(lambda weight, ids: weight[ids] * 2)
    weight, ids = torch.randn(50, 3), torch.tensor([3, 49, 7])
    assert torch.equal(program(weight, ids), weight[ids] * 2)
    with pytest.raises(IndexError):  # eager, called where a launch fails, says why
        program(weight, torch.tensor([3, 50, 7]))
    assert isinstance(device.failure, DeviceAssertion)
    assert "index out of range" in str(device.failure)
    device.failure = None


def test_writes_in_place():
    def function(x, y):
        x.mul_(2).add_(y)
        y[1:] += x[:-1]
        return x.sum()

    ours = [torch.randn(65, 3) for _ in range(2)]
    eagers = [x.clone() for x in ours]
    assert_like_eager(compiled(function)(*ours), function(*eagers))
    for x, expected in zip(ours, eagers, strict=True):
        assert_like_eager(x, expected)
