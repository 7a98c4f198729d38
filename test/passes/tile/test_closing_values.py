"""Closing reductions: kernels that reduce along two sets of dims, interpreted."""

import pytest
import torch
from tile_kernels import build_kernel, schedule

from girih.dialects import context, verifier
from girih.evaluation.kernels import run_kernel
from girih.passes.registry import PassError

GPU = "tile{target=gpu}"


def flat(tensor):
    """All memory of a dense tensor as an array."""
    return torch.as_strided(tensor, (tensor.numel(),), (1,)).numpy()


def closing_kernel(x, row, dims, closing, body):
    """What makes a kernel over x and something that broadcasts to it."""
    return build_kernel(
        [(x.shape, "f32", x.stride()), (row.shape, "f32")],
        x.shape,
        body,
        reduced=dims,
        closing=closing,
    )


def interpreted(module, inputs, outputs):
    """The schedule of a module's kernel, which is run."""
    text = schedule(module, GPU)
    with context.current():
        verifier.verify(module)
        arrays = [flat(t) for t in (*inputs, *outputs)]
        assert run_kernel(module, arrays)
    return text


ORDERS = ((0, 1, 2), (0, 2, 1), (1, 2, 0), (2, 1, 0))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "shape", [(3, 5, 7), (2, 31, 130), (1, 3, 2), (5, 2, 1000), (2, 300, 3)]
)
def test_closing_reductions(shape, order):
    """A softmax along one dim, whose rows along another are summed."""
    base = torch.randn([shape[d] for d in order])
    x, row = base.permute([order.index(d) for d in range(3)]), torch.randn(shape[1], 1)

    def softmax(build, a, b):
        a = build("mul", a, b)
        power = build("exp", build("sub", a, build("reduce_max", a, dims=[1])))
        y = build("div", power, build("reduce_sum", power, dims=[1]))
        return [y, build("reduce_sum", y, dims=[2]), build("argmax", y, dim=2)]

    y = torch.softmax(x * row, 1)
    expected = [y, y.sum(2, keepdim=True), y.argmax(2, keepdim=True)]
    outputs = [torch.empty(shape), *(torch.empty_like(t) for t in expected[1:])]
    module = closing_kernel(x, row, [1], [2], softmax)
    assert interpreted(module, [x, row], outputs).startswith("closing")
    for own, wanted in zip(outputs, expected, strict=True):
        torch.testing.assert_close(own, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("closing", [(0, 1), (0, 3), (1, 3), (0, 1, 3), (3,)])
def test_several_closing_dims(closing):
    x, row = torch.randn(3, 6, 5, 4), torch.randn(4)

    def body(build, a, b):
        y = build("sub", a, build("reduce_max", a, dims=[2]))
        total = build("reduce_sum", build("mul", y, b), dims=list(closing))
        return [build("tanh", total)]

    y = (x - x.amax(2, keepdim=True)) * row
    wanted = y.sum(closing, keepdim=True).tanh()
    output = torch.empty_like(wanted)
    interpreted(closing_kernel(x, row, [2], closing, body), [x, row], [output])
    torch.testing.assert_close(output, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("special", [float("inf"), float("-inf"), float("nan")])
def test_special_numbers_in_closing_reductions(special):
    """What lies outside of the last blocks is not summed; what is inside counts."""
    x, row = torch.randn(4, 5, 70), torch.ones(5, 1)
    x[1, 2, 68] = special

    def body(build, a, b):
        y = build("sub", a, build("reduce_max", a, dims=[1]))
        return [build("reduce_min", build("mul", y, b), dims=[2])]

    wanted = (x - x.amax(1, keepdim=True)).amin(2, keepdim=True)
    output = torch.empty_like(wanted)
    interpreted(closing_kernel(x, row, [1], [2], body), [x, row], [output])
    torch.testing.assert_close(output, wanted, equal_nan=True)


def test_closing_reductions_are_not_for_cpus():
    x, row = torch.randn(2, 3, 4), torch.randn(4)

    def body(build, a, b):
        y = build("sub", a, build("reduce_max", a, dims=[1]))
        return [build("reduce_sum", build("mul", y, b), dims=[2])]

    with pytest.raises(PassError, match=r"closing dims \[2\], .* only on GPUs"):
        schedule(closing_kernel(x, row, [1], [2], body))
