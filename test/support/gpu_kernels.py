"""Kernels that are scheduled for GPUs and interpreted, beside the same for the CPU."""

import torch
from tile_kernels import CompiledKernel, schedule

from girih.dialects import context, verifier
from girih.evaluation.kernels import run_kernel

GPU = "tile{target=gpu}"


def check(make, inputs, outputs, symbols=(), options=GPU):
    """Compares a kernel's results with those of the CPU; returns its schedule."""
    module = make()
    text = schedule(module, options)
    with context.current():
        verifier.verify(module)
        expected = [torch.full_like(t, 7) for t in outputs]
        actual = [torch.full_like(t, 7) for t in outputs]
        arrays = [flat(t) for t in (*inputs, *actual)]
        assert run_kernel(module, arrays, symbols)
    assert CompiledKernel(make())([*inputs, *expected], symbols) == 0
    for own, wanted in zip(actual, expected, strict=True):
        torch.testing.assert_close(own, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
    return text


def flat(tensor):
    """All memory of a dense tensor as an array."""
    return torch.as_strided(tensor, (tensor.numel(),), (1,)).numpy()
