"""Gradients of compiled functions against eager's, in every float dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from closeness import assert_like_eager
from torch import Tensor

import girih


def gradients(
    function: Callable, inputs: Sequence[Tensor], dtype: torch.dtype
) -> list[Tensor]:
    """Gradients of all float inputs, for seeded cotangents of all float results.

    Args:
        function: Of tensors; gives tensors.
        inputs: Its arguments.
        dtype: What the cotangents can be written in, whatever the results are.
    """
    leaves = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]
    results = function(*leaves)
    results = results if isinstance(results, tuple) else (results,)
    sources = [result for result in results if result.requires_grad]
    generator = torch.Generator().manual_seed(0)
    cotangents = [
        torch.randn(s.shape, generator=generator).to(dtype).to(s.dtype) for s in sources
    ]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    found = torch.autograd.grad(sources, wanted, cotangents, materialize_grads=True)
    return [gradient.contiguous() for gradient in found]


def check_gradients(
    function: Callable, inputs: Sequence[Tensor], *, sums: bool = False
) -> None:
    """Asserts that gradients of the compiled function are as good as eager's.

    Small floats are compared with float64 where eager's own gradient is not close: a
    fused backward pass rounds less often.

    Args:
        function: What is compiled; all of it has to be.
        inputs: Its arguments.
        sums: Whether gradients are sums, of which errors grow.
    """
    compiled = girih.compile(function, fullgraph=True)
    dtype = min((x.dtype for x in inputs if x.is_floating_point()), key=_bits)
    actual, expected = (gradients(f, inputs, dtype) for f in (compiled, function))
    graphs = girih.report(compiled).graphs
    assert graphs and all(graph.fallback is None for graph in graphs), graphs
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    assert_like_eager(
        actual, expected, lambda: gradients(function, wide, dtype), sums=sums
    )


def _bits(dtype: torch.dtype) -> int:
    return torch.finfo(dtype).bits
