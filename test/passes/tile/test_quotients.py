"""Divisions by one number for a row: schedules for GPUs make products of them."""

import pytest
import torch
from tile_kernels import build_kernel, schedule

from girih.dialects import context
from girih.evaluation.kernels import run_kernel

LEAST = 2.0**-100
"""Quotients of smaller numbers may be off by one unit in the last place."""


def quotients(x, name="reduce_max"):
    """``x / reduction(x)`` along the last dim, and the schedule's module."""
    result = torch.full_like(x, 7)

    def body(build, t):
        return [build("div", t, build(name, t, dims=[1]))]

    module = build_kernel([(x.shape, "f32", x.stride())], x.shape, body, reduced=[1])
    schedule(module, "tile{target=gpu}")
    with context.current():
        assert run_kernel(module, [x.numpy().ravel(), result.view(-1).numpy()], ())
    return result, str(module)


def ordered(x):
    """Floats as integers whose difference counts the floats between them."""
    bits = x.view(torch.int32).to(torch.int64)
    return torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def assert_divided(actual, x, divisor):
    """The results are those of a division, zeros' signs included."""
    expected = x / divisor
    assert torch.equal(actual.isnan(), expected.isnan())
    numbers = ~expected.isnan()
    apart = (ordered(actual) - ordered(expected)).abs()[numbers]
    normal = (x.abs() >= LEAST) & (expected.abs() >= 2.0**-126)
    assert not apart[normal[numbers]].any()
    assert not apart.numel() or apart.max() <= 1
    assert torch.equal(actual.signbit()[numbers], expected.signbit()[numbers])


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_all_exponents(name):
    exponents = torch.arange(-126, 128, 3, dtype=torch.float32)
    x = torch.randn(len(exponents), 131) * torch.exp2(exponents)[:, None]
    actual, text = quotients(x, name)
    assert "math.fma" in text
    divisor = x.amax(1, True) if name == "reduce_max" else x.amin(1, True)
    assert_divided(actual, x, divisor)


def test_mantissas_next_to_powers_of_two():
    bits = torch.tensor([0x3F800000, 0x3F800001, 0x3FFFFFFF, 0x3FFFFFFE, 0x3FC00000])
    x = torch.cartesian_prod(bits, bits).to(torch.int32).view(torch.float32)
    actual, _ = quotients(x)
    assert_divided(actual, x, x.amax(1, True))


SPECIAL = [0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan")]
SPECIAL += [2.0**-149, -(2.0**-149), 2.0**-126, 2.0**127, -(2.0**127)]


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_special_values(name):
    numbers = torch.tensor(SPECIAL)
    x = torch.cartesian_prod(numbers, numbers)
    actual, _ = quotients(x, name)
    divisor = x.amax(1, True) if name == "reduce_max" else x.amin(1, True)
    expected = x / divisor
    assert torch.equal(actual.isnan(), expected.isnan())
    assert torch.equal(actual.nan_to_num(), expected.nan_to_num())


def test_a_divisor_of_each_element_stays():
    x = torch.randn(5, 70)

    def body(build, t):
        total = build("reduce_sum", t, dims=[1])
        return [build("div", total, t)]

    module = build_kernel([(x.shape, "f32", x.stride())], x.shape, body, reduced=[1])
    schedule(module, "tile{target=gpu}")
    assert "arith.divf" in str(module) and "math.fma" not in str(module)


def test_a_divisor_of_the_whole_tensor():
    x, scale = torch.randn(37, 130), torch.tensor([0.37])
    result = torch.full_like(x, 7)

    def body(build, t, s):
        return [build("div", t, s)]

    inputs = [(x.shape, "f32", x.stride()), (scale.shape, "f32", (1,))]
    module = build_kernel(inputs, x.shape, body)
    schedule(module, "tile{target=gpu}")
    assert "math.fma" in str(module)
    arrays = [t.view(-1).numpy() for t in (x, scale, result)]
    with context.current():
        assert run_kernel(module, arrays, ())
    assert torch.equal(result, x / scale)


@pytest.mark.parametrize(("rows", "elements"), [(4, 1), (80, 2), (128, 4), (16384, 16)])
def test_few_points_have_more_threads(rows, elements):
    shape = (rows, 2880)

    def body(build, t):
        for _ in range(4):
            t = build("tanh", t)
        return [t]

    text = schedule(build_kernel([(shape, "f32")], shape, body), "tile{target=gpu}")
    assert f"{elements} elements a thread" in text
