"""Which library multiplies matrices on a GPU, and its plans."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from girih.codegen.gpu.products import Plan, plan_product
from girih.dialects.types import BufferParts


def product_library() -> str:
    """For the option of `launch-products`: ``cublaslt``, or ``aten``.

    ATen's calls obey settings that plans do not know: accumulation in full precision,
    other libraries, tunable ops, deterministic algorithms.
    """
    matmul = torch.backends.cuda.matmul
    is_plain = (
        torch.version.cuda is not None
        and matmul.allow_bf16_reduced_precision_reduction is True
        and matmul.allow_fp16_reduced_precision_reduction is True
        and not getattr(matmul, "allow_fp16_accumulation", False)
        and not torch.are_deterministic_algorithms_enabled()
        and not torch.cuda.tunable.is_enabled()
    )
    return "cublaslt" if is_plain else "aten"


def allows_tf32() -> bool:
    """Whether the user lets products of float32 be rounded; captures guard it."""
    return torch.get_float32_matmul_precision() != "highest"


class ProductPlanner:
    """Plans products for one device; equal ones once.

    Args:
        device: of torch, with its index.
        library: the file to use, else torch's.
    """

    def __init__(self, device: torch.device, library: str | None = None):
        self._device = device
        self._library = library
        self._tf32 = allows_tf32()
        self._plans: dict[tuple, Plan] = {}

    def __call__(
        self,
        a: BufferParts,
        b: BufferParts,
        result: BufferParts,
        *,
        has_bias: bool,
        adds: bool,
    ) -> Plan:
        """The plan of result = a @ b, plus a bias, plus the result where it `adds`."""
        key: tuple[Any, ...] = (*map(str, (a, b, result)), has_bias, adds)
        if key not in self._plans:
            with self._entered():
                self._plans[key] = plan_product(
                    self._device.index or 0,
                    a,
                    b,
                    result,
                    has_bias=has_bias,
                    adds=adds,
                    tf32=self._tf32,
                    library=self._library,
                )
        return self._plans[key]

    def _entered(self) -> AbstractContextManager:
        """The library plans for the device that is current."""
        if self._device.type == "cuda":
            return torch.cuda.device(self._device)
        return nullcontext()
