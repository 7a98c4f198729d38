"""Symbolic sizes on a GPU: one compilation for many shapes."""

import random

import pytest
import torch
from gpu_device import DEVICE, assert_as_good_as_eager, compiled, normal
from torch.nn import functional as F

import girih
from benchmarks import cases


def program(x, y):
    z = F.gelu(x * 2) + y
    return z, F.softmax(z, -1), z.sum(0), z.mean(), z.t() + 1


@pytest.mark.parametrize("grad", [False, True], ids=["no grad", "grad"])
def test_one_program_for_many_shapes(grad):
    run = compiled(program, dynamic=True)
    with torch.set_grad_enabled(grad):
        for shape in ((7, 9), (64, 128), (65, 127), (3, 5000), (1030, 2)):
            inputs = [normal(*shape) for _ in range(2)]
            assert_as_good_as_eager(program, inputs, run(*inputs))
    assert len(girih.report(run).graphs) == 1


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_random_shapes(case):
    """A few of those that ``test/gpu/random_shapes.py`` tries by the thousand."""
    generator = random.Random(case.name)
    settings = {"recompile_limit": 64}
    run = compiled(case.function, dynamic=True, options=settings)
    dims = {dim for spec in case.inputs for dim in spec.dims.split()}
    for _ in range(6):
        choices = (1, 2, 3, 16, 67, 130) if len(dims) < 4 else (1, 2, 3, 16, 33)
        sizes = {dim: generator.choice(choices) for dim in sorted(dims)}
        if "dim" in sizes:
            sizes["dim"] *= 2  # halves are rotated
        with torch.device(DEVICE):
            inputs = [spec.make(sizes, torch.float32) for spec in case.inputs]
        with torch.no_grad():
            assert_as_good_as_eager(case.function, inputs, run(*inputs), 1e-6)


def test_sizes_and_numbers_as_inputs():
    def scaled(x, factor, count):
        return x[:count] * factor + x.shape[0]

    run = compiled(scaled, dynamic=True)
    for arguments in ((0.5, 3), (2.5, 7), (-1.0, 4)):
        x = normal(9, 4)
        expected = scaled(x, *arguments)
        torch.testing.assert_close(run(x, *arguments), expected)
