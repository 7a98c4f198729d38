"""Sums at computed places on an emulated GPU, against eager on the processor."""

import math

import pytest
import torch
from emulated_device import emulated_device
from ttir_interpreter import DeviceAssertion

import girih
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes.registry import PassError, run_pipeline


def checked(f, *inputs, dynamic=False, calls=0):
    """Compares results, arguments and gradients; gives the launches."""
    own = [x.clone() if not x.requires_grad else x for x in inputs]
    with emulated_device() as device:
        compiled = girih.compile(f, dynamic=dynamic, options={"fallback": False})
        got, expected = compiled(*own), f(*inputs)
        if expected.requires_grad:
            leaves = [x for x in inputs if x.requires_grad]
            actual = torch.autograd.grad(got.cos().sum(), leaves)
            wanted = torch.autograd.grad(expected.cos().sum(), leaves)
            torch.testing.assert_close(actual, wanted, rtol=1e-5, atol=1e-5)
        for x, y in zip(own, inputs, strict=True):
            torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert got.stride() == expected.stride()
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert girih.report(compiled).externs == calls
    return device.launched


N, D = 11, 5


def rows(count=37, high=N):
    """An index, and what is added at it."""
    return torch.randint(0, high, (count,)), torch.randn(count, D)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 37, 700])
def test_rows(count, dynamic):
    index, source = rows(count)
    launched = checked(
        lambda x, i, s: x.index_add(0, i, s.sin()) + 1,
        torch.randn(N, D),
        index,
        source,
        dynamic=dynamic,
    )
    assert len(launched) == (3 if count else 2)  # a copy, the sum, what follows


def test_columns_and_factors():
    index, source = rows()
    f = lambda x, i, s: x.index_add(1, i, s.t(), alpha=3)  # noqa: E731
    checked(f, torch.randn(D, N), index, source)
    checked(f, torch.randn(N, D).t(), index, source)
    checked(f, torch.randn(D, N), index.int(), source, dynamic=True)


def test_each_element_has_its_place():
    x, source = torch.randn(N, D), torch.randn(40, D + 2)
    index = torch.randint(0, N, (37, D))
    checked(lambda x, i, s: x.scatter_add(0, i, s * 2), x, index, source)
    checked(lambda x, i, s: x.scatter_reduce(0, i, s, "sum"), x, index, source)
    index = torch.randint(0, D, (N - 2, 30))
    source = torch.randn(N, 31)
    checked(lambda x, i, s: x.scatter_add(-1, i, s), x, index, source)


def test_several_indices():
    x, i = torch.randn(N, 3, 4), torch.randint(-N, N, (6, 1))
    j, value = torch.randint(-3, 3, (2,)), torch.randn(6, 2, 4)
    f = lambda x, i, j, v: x.index_put((i, j), v, accumulate=True)  # noqa: E731
    for dynamic in (False, True):
        checked(f, x, i, j, value, dynamic=dynamic)
        checked(f, x, i, j, value[0, 0], dynamic=dynamic)
    g = lambda x, j, v: torch.ops.aten.index_put(x, [None, j], v, True)  # noqa: E731
    checked(g, x, j, torch.randn(N, 2, 4))


def test_indices_apart_are_a_call():
    x, i = torch.randn(N, 3, N), torch.randint(0, N, (6,))

    def f(x, i):
        return torch.ops.aten.index_put(x, [i, None, i], x[0, 0, 0], True)

    with emulated_device():
        compiled = girih.compile(f, options={"fallback": False})
        torch.testing.assert_close(compiled(x, i), f(x, i))
        assert girih.report(compiled).externs == 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.int64])
def test_elements(dtype):
    index, source = rows()
    x = (torch.randn(N, D) * 9).to(dtype)
    checked(lambda x, i, s: x.index_add(0, i, s), x, index, (source * 9).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_elements(dtype):
    index = torch.randint(0, N, (37,))
    x, source = torch.zeros(N, D, dtype=dtype), torch.ones(37, D, dtype=dtype)
    checked(lambda x, i, s: x.index_add(0, i, s * 2), x, index, source)
    # Added in 32 bits by eager.
    f = lambda x, i, s: x.index_put((i,), s, accumulate=True)  # noqa: E731
    checked(f, x, index, source, calls=1)


def test_other_elements_are_a_call():
    index, x = torch.randint(0, N, (37,)), torch.zeros(N, D, dtype=torch.uint8)
    source = torch.ones(37, D, dtype=torch.uint8)
    checked(lambda x, i, s: x.index_add(0, i, s), x, index, source, calls=1)


def test_one_place_for_all():
    """What is the same at all points is added as often as there are points."""
    f = lambda i: torch.zeros(N).index_add(0, i * 0 + 2, torch.ones(37))  # noqa: E731
    checked(f, rows()[0])
    f = lambda x: x.index_add(0, torch.full((37,), 3), x[:1].expand(37))  # noqa: E731
    checked(f, torch.randn(N))


def test_what_is_added_reads_the_tensor():
    index, _ = rows()
    x = torch.randn(N, D)
    checked(lambda x, i: x.index_add(0, i, x[i] * 2) + x, x, index)
    checked(lambda x, i: (x * 2).index_add(0, i, (x * 2)[i]), x, index)
    checked(lambda x, i: (x * 2).index_add(0, i, x[i]).cumsum(0) - x, x, index)


def test_sums_of_one_tensor():
    index, source = rows()
    x = torch.randn(N, D)
    f = lambda x, i, s: x.index_add(0, i, s) * x.index_add(0, i, s * 2)  # noqa: E731
    checked(f, x, index, source)

    def follows(x, i, s):
        zeros = torch.zeros_like(x)
        return zeros.index_add(0, i, s).index_add(0, (i + 1) % N, s) - zeros

    launched = checked(follows, x, index, source)
    assert "copy" not in " ".join(launched)


def test_a_mean_of_neighbours():
    def mean(x, a, b):
        total = torch.zeros_like(x).index_add(0, b, x[a] * 2)
        ones = torch.ones(b.shape[0])
        count = torch.zeros(x.shape[0]).index_add(0, b, ones)
        return total / count.clamp(min=1)[:, None]

    x = torch.randn(N, D, requires_grad=True)
    checked(mean, x, rows()[0], rows()[0])
    checked(mean, x, rows()[0], rows()[0], dynamic=True)


def test_parts_and_wholes():
    index, source = rows()
    x = torch.randn(N, D)
    checked(lambda x, i, s: torch.cat([x.index_add(0, i, s), x]), x, index, source)
    checked(lambda x, i, s: x[2:].index_add(0, i % 9, s), x, index, source)
    checked(lambda x, i, s: x.t().index_add(1, i, s.t()), x, index, source)
    checked(lambda x, i, s: x.index_add(0, i, s).t().contiguous(), x, index, source)

    def part(x, i, s):
        x[1:3] = x.index_add(0, i, s)[:2]
        return x * 1

    checked(part, x, index, source, calls=1)


def test_an_argument_is_written_in_place():
    index, source = rows()
    x = torch.randn(N, D)
    checked(lambda x, i, s: x.index_add_(0, i, s) * 1, x, index, source, calls=1)


def test_gradients_of_lookups():
    table = torch.randn(N, D, requires_grad=True)
    checked(lambda t, i: t[i].exp(), table, rows()[0])
    checked(lambda t, i: t.gather(0, i), table, torch.randint(0, N, (7, D)))


def test_gradients_of_selections():
    """No two elements come from one place, so they might as well be added."""
    x = torch.randn(7, 11, requires_grad=True)
    for select in (torch.topk, torch.kthvalue):
        checked(lambda x, f=select: f(x, 3).values * 2, x, calls=1)  # the selection
    checked(lambda x: x.softmax(0).sort(0).values.exp(), x, calls=1)


def test_nan_and_infinity():
    source = torch.tensor([1.0, math.nan, math.inf, -math.inf, math.inf])
    index = torch.tensor([0, 1, 2, 3, 3])
    checked(lambda i, s: torch.zeros(5).index_add(0, i, s), index, source)


@pytest.mark.parametrize("bad", [4, -1])
def test_an_index_out_of_range(bad):
    with pytest.raises(DeviceAssertion, match="index out of range"):
        with emulated_device():
            f = girih.compile(lambda x, i: x.index_add(0, i, x[:2] * 2))
            f(torch.randn(4), torch.tensor([1, 3]))
            with pytest.raises(IndexError):  # of eager, on the processor
                f(torch.randn(4), torch.tensor([1, bad]))


def test_processors_have_no_updates():
    text = """
    func.func @main(%x: tensor<4xf32>, %p: tensor<3xi64>, %s: tensor<3xf32>)
        -> tensor<4xf32> {
      %0 = "graph.accumulate"(%x, %p, %s)
          : (tensor<4xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    with make_context(), pytest.raises(PassError, match="on GPUs alone"):
        run_pipeline(ir.Module.parse(text), "fuse,convert-graph-to-host,tile")


def test_deterministic_sums_are_calls():
    index, source = rows()
    torch.use_deterministic_algorithms(True)
    try:
        x = torch.randn(N, D)
        checked(lambda x, i, s: x.index_add(0, i, s), x, index, source, calls=1)
    finally:
        torch.use_deterministic_algorithms(False)
