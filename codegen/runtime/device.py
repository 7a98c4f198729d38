"""Programs whose buffers and kernels are on a device.

What the processor does through addresses of generated code, a device does through
launches: all those of a `host.native` are one instruction. Workspaces are tensors, so
that torch's caching allocator knows which stream uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from girih.dialects import host
from girih.dialects.bindings import ir
from girih.dialects.dims import Size, substitute
from girih.dialects.types import buffer_parts

from . import torch_entry
from .assembler import Assembler, Constant, Register, Value, ValueItem
from .buffers import Buffers
from .events import Events
from .sizes import Sizes

NULL = -1
"""The word of an argument that is a null pointer."""


@dataclass(frozen=True)
class GridKernel:
    """A grid of a kernel, loaded on a device.

    Its function takes the kernel's pointers, then its symbols, then a workspace if the
    kernel has one, and at last the null pointers that the compiler adds.

    Attributes:
        function: what the loader returned.
        grid: how many programs, in terms of `symbols`.
        symbols: names of the kernel's symbols, in order.
        threads: how many run a program.
        workspace_bytes: scratch memory that the kernel's grids share, 0 for none.
        null_pointers: how many of them follow the arguments.
    """

    function: Any
    grid: Size
    symbols: tuple[str, ...]
    threads: int
    workspace_bytes: Size = 0
    null_pointers: int = 0


class TableMaker(Protocol):
    """Makes launch tables: the driver of `codegen/gpu`."""

    def table(self, device: int, launches: tuple, words: int) -> object:
        """A capsule for `Assembler.launch`."""


class ProductPlan(Protocol):
    """A product of matrices that launch tables can call."""

    call: Any
    workspace_bytes: int


Planner = Callable[..., ProductPlan]
"""`(a, b, result, has_bias=, adds=)`, of buffers' parts, to a plan."""


@dataclass(frozen=True)
class Device:
    """A device and the kernels that a program launches there.

    Attributes:
        device: of torch, with its index.
        driver: makes launch tables.
        kernels: the grids of each kernel, in order.
        plan_product: plans the products that `launch-products` made launches.
    """

    device: torch.device
    driver: TableMaker
    kernels: Mapping[str, Sequence[GridKernel]]
    plan_product: Planner | None = None


@dataclass
class _Words:
    """The words of one launch table: registers, each once."""

    registers: list[Register] = field(default_factory=list)
    _places: dict[Register, int] = field(default_factory=dict)

    def place(self, register: Register) -> int:
        """Which word holds a register."""
        if register not in self._places:
            self._places[register] = len(self.registers)
            self.registers.append(register)
        return self._places[register]


class DeviceRuns:
    """Emits what a program does on its device."""

    def __init__(
        self, device: Device, assembler: Assembler, sizes: Sizes, events: Events
    ):
        self._device = device
        self._assembler = assembler
        self._sizes = sizes
        self._events = events
        self._empty_strided = torch_entry.empty_strided_on(device.device)
        self._stream: Register | None = None
        self._workspace: Value | None = None

    def launch(self, launches: Sequence[ir.OpView], buffers: Buffers) -> None:
        """Launches the kernels of one native run, on the stream that is current."""
        words = _Words()
        entries: list[tuple] = []
        scratch: list[Value] = []
        for launch in launches:
            entries += self._entries(launch, buffers, words, scratch)
        if not entries:
            return  # nothing has elements
        table = self._device.driver.table(
            self._device.device.index, tuple(entries), len(words.registers)
        )
        self._assembler.launch(
            table,
            self._stream_register(),
            words.registers,
            self._events.of_table(launches),
        )
        for value in scratch:
            self._assembler.free(value)

    def _entries(
        self, launch: ir.OpView, buffers: Buffers, words: _Words, scratch: list[Value]
    ) -> list[tuple]:
        """The table's entries for the grids of one kernel."""
        if launch.kernel in (host.MATMUL, host.MATMUL_ADD):
            return [self._product(launch, buffers, words, scratch)]
        if launch.kernel not in self._device.kernels:
            raise LookupError(f"girih bug: no kernel is called {launch.kernel}")
        grids = self._device.kernels[launch.kernel]
        if not grids:
            return []  # it has no elements
        pointers = [buffers.pointer(buffers[value]) for value in launch.operands]
        symbols = [self._sizes.register(size) for size in launch.symbols]
        arguments = [words.place(register) for register in (*pointers, *symbols)]
        values = dict(zip(grids[0].symbols, launch.symbols, strict=True))
        if grids[0].workspace_bytes != 0:
            count = substitute(grids[0].workspace_bytes, values)
            value, address = self._scratch(count)
            scratch.append(value)
            arguments.append(words.place(address))
        return [
            (
                grid.function,
                words.place(self._sizes.register(substitute(grid.grid, values))),
                grid.threads,
                (*arguments, *[NULL] * grid.null_pointers),
            )
            for grid in grids
        ]

    def _product(
        self, launch: ir.OpView, buffers: Buffers, words: _Words, scratch: list[Value]
    ) -> tuple:
        """The table's entry for a product of matrices."""
        parts = [buffer_parts(value.type) for value in launch.operands]
        plan = self._device.plan_product(
            parts[0],
            parts[1],
            parts[-1],
            has_bias=len(parts) == 4,
            adds=launch.kernel == host.MATMUL_ADD,
        )
        registers = [buffers.pointer(buffers[value]) for value in launch.operands]
        if plan.workspace_bytes:
            value, address = self._scratch(plan.workspace_bytes)
            scratch.append(value)
            registers.append(address)
        return plan.call, tuple(words.place(register) for register in registers)

    def open_workspace(self, count: Size) -> Register:
        """The address of scratch memory, until `close_workspace`."""
        self._workspace, address = self._scratch(count)
        return address

    def close_workspace(self) -> None:
        """Gives the workspace back to torch, which knows the stream that uses it."""
        if self._workspace is not None:
            self._assembler.free(self._workspace)
            self._workspace = None

    def _scratch(self, count: Size) -> tuple[Value, Register]:
        value = self._assembler.call(
            self._empty_strided,
            [self._sizes.items((count,)), Constant((1,)), Constant(torch.uint8)],
        )
        return value, self._assembler.call_int(torch_entry.data_ptr, [ValueItem(value)])

    def _stream_register(self) -> Register:
        if self._stream is None:
            self._stream = self._assembler.call_int(
                torch_entry.raw_stream, [Constant(self._device.device)]
            )
        return self._stream
