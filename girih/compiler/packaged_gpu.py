"""A graph as a program for a GPU that need not be here: see ``packaged``.

::

    graph ── Lowering ──► launch program ──► instructions, launch tables as data
                     └──► kernels ─────────► binaries of Triton
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from girih.codegen.gpu.binary import Binary
from girih.codegen.gpu.cards import Card
from girih.codegen.gpu.link import device_facts
from girih.codegen.gpu.products import MAX_WORKSPACE_BYTES, Plan, describe_product
from girih.codegen.gpu.tables import PlannedProduct, TableWriter
from girih.codegen.runtime.device import Device, GridKernel
from girih.codegen.runtime.program import Assembled, assemble
from girih.compiler import gpu_code
from girih.compiler.gpu_code import CompiledGrid, GpuTarget
from girih.compiler.gpu_products import (
    ProductPlanner,
    allows_tf32,
    product_library,
)
from girih.dialects import dims
from girih.dialects.bindings import ir
from girih.dialects.types import BufferParts
from girih.errors import unsupported
from girih.options import Options


def card_of(device: torch.device) -> Card:
    """The card that a CUDA device is.

    Raises:
        UnsupportedError: It is one of AMD.
    """
    if torch.version.hip is not None:
        unsupported(
            kind="a package for a GPU of AMD",
            context=str(device),
            explanation="Packages hold code for GPUs of NVIDIA, and for processors.",
        )
    facts = device_facts("cuda", device.index or 0)
    return Card(
        facts["major"],
        facts["minor"],
        facts["multiprocessors"],
        facts["shared_bytes_per_block"],
    )


def check_options(options: Options) -> None:
    """Refuses options that a package for a GPU can't follow.

    Raises:
        UnsupportedError: One is set.
    """
    for name, why in (
        ("cudagraphs", "A graph of CUDA is recorded where the program runs."),
        ("max_autotune", "Schedules are measured where the program runs."),
        ("freezing", "It concerns programs for the CPU alone."),
    ):
        if getattr(options, name):
            unsupported(
                kind=f"a package for a GPU with {name}",
                explanation=why,
                hints=(f"Leave the option {name} out.",),
            )


class WrittenGpuTarget(GpuTarget):
    """A GPU, for a program that is written to a file.

    Args:
        device: Where the graph's tensors are: it stands for the GPU.
        card: What code is made for.

    Attributes:
        binaries: The kernels; launch tables name them by their numbers.
    """

    def __init__(self, device: torch.device, card: Card):
        self.device = device
        self.backend = "cuda"
        self.architecture, self.facts = card.target, card.facts
        self.products = _library()
        self.binaries: list[Binary] = []
        self._card = card

    def assembled(self, module: ir.Module, code: Any, name: str) -> Assembled:
        """The instructions of a program, with descriptions of launch tables."""
        device = Device(self.device, TableWriter(), code or {}, self._planner())
        return assemble(module, {}, device=device, name=name)

    def _planner(self) -> Callable:
        tf32, plan = allows_tf32(), self._plan_here()

        def planned(
            a: BufferParts, b: BufferParts, result: BufferParts, **flags: bool
        ) -> Plan:
            product = describe_product(a, b, result, tf32=tf32, **flags)
            # What the library needs on a card that is not here is not known.
            count = MAX_WORKSPACE_BYTES
            if plan is not None:
                count = plan(a, b, result, **flags).workspace_bytes
            return Plan(PlannedProduct(product, count), count)

        return planned

    def _plan_here(self) -> ProductPlanner | None:
        """What plans products on the card that code is made for, if it is here."""
        if gpu_code.emulator is not None:
            return super()._planner()
        is_here = self.device.type == "cuda" and torch.cuda.is_available()
        if is_here and card_of(self.device) == self._card:
            return super()._planner()
        return None

    def _loaded(
        self, grids: list[CompiledGrid], symbols: tuple[str, ...]
    ) -> list[GridKernel]:
        return [self._numbered(grid, symbols) for grid in grids]

    def _numbered(self, grid: CompiledGrid, symbols: tuple[str, ...]) -> GridKernel:
        binary = grid.binary
        if binary is None:
            binary = gpu_code.emulator.binary(grid.text)
        self.binaries.append(binary)
        return GridKernel(
            function=len(self.binaries) - 1,
            grid=dims.parse(grid.launch["grid"].value),
            symbols=symbols,
            threads=binary.threads,
            workspace_bytes=grid.launch["workspace_bytes"].value,
            null_pointers=binary.null_pointers,
        )


def _library() -> str:
    """Which library multiplies matrices there, as settings here say."""
    if gpu_code.emulator is not None:
        return "cublaslt" if gpu_code.emulator.products else "aten"
    if torch.version.cuda is None:  # there are no settings of libraries
        is_plain = not torch.are_deterministic_algorithms_enabled()
        return "cublaslt" if is_plain else "aten"
    return product_library()
