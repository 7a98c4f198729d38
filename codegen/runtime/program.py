"""Host function to program: one pass over the launch program, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects.attributes import ItemRef, OperandRef, TorchConstant
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size, parse, product
from girih.dialects.types import (
    BufferParts,
    buffer_parts,
    contiguous_strides,
    is_buffer,
)

from . import (  # noqa: F401  (programs call some of them)
    folding,
    torch_entry,
    vjp,
    windows,
    writing_calls,
)
from ._runtime import Program
from .assembler import Assembler, Constant, Item, Register, Value, ValueItem, group
from .buffers import Buffer, Buffers
from .device import Device, DeviceRuns
from .drawn import StateBefore, draws
from .events import Events
from .mutation import written_arguments
from .sizes import Sizes

UNLOCK_BYTES = 1 << 18
"""Generated code that touches more than this runs without the GIL: releasing and taking
it costs 0.1 us, 256 KiB take about 10 us."""

ROW_MAJOR_OPS = frozenset(
    {
        "aten.addmm.default",
        "aten.baddbmm.default",
        "aten.bmm.default",
        "aten.mm.default",
    }
)
"""ATen ops whose results are row-major whatever they are given: not checked again."""


def build_program(
    module: ir.Module,
    addresses: Mapping[str, int],
    *,
    fallback: Callable | None = None,
    owner: object = None,
    device: Device | None = None,
    name: str = "",
) -> Program:
    """Builds the callable of a compiled graph.

    Args:
        module: a module with the host function `@main` after `plan-memory`.
        addresses: for each function that a `host.native` names, its address. A call
            without a name (from code that was compiled before) is the n-th, `run<n>`.
            Not used for programs on a device.
        fallback: called with the kind of what failed and the same inputs where a check
            fails: ``kernel check``, ``number``, ``overlap``, ``alignment``.
            Not for functions with arguments that are `graph.donated`.
        owner: whatever has to live as long as the generated code is called.
        device: where the buffers are, and what launches the kernels there; None where
            that is the processor.
        name: what profilers call it; "" has them see its kernels alone.

    Returns:
        A callable from the input tensors (and integers) to the tuple of results. The
        arguments that are `graph.donated` come first, in one list, which is emptied:
        each is dropped when nothing needs it any more.

    Raises:
        LookupError: torch has no operator that the program calls, or an address is
            missing.
    """
    linked = link_program(
        module, addresses, fallback=fallback, owner=owner, device=device, name=name
    )
    return linked.program


class Linked(NamedTuple):
    """A program, and what it was made of.

    Attributes:
        program: What is called.
        assembled: Its instructions.
        owner: What has to live as long as it.
        before: What notes the state of the generator, if the program draws numbers.
    """

    program: Program
    assembled: Assembled
    owner: Any
    before: StateBefore | None


def link_program(
    module: ir.Module,
    addresses: Mapping[str, int],
    *,
    fallback: Callable | None = None,
    owner: object = None,
    device: Device | None = None,
    name: str = "",
) -> Linked:
    """Builds the callable of a compiled graph, with its parts; see `build_program`."""
    operations = _operations(module)
    before = None
    if device is None and fallback is not None and draws(operations):
        before = StateBefore()
        fallback = before.restoring(fallback)
    assembled = assemble(module, addresses, device=device, name=name, before=before)
    program = assembled.assembler.program(
        fallback=fallback, owner=owner, **assembled.details
    )
    return Linked(program, assembled, owner, before)


class Assembled(NamedTuple):
    """A program that is written, and not made yet.

    Attributes:
        assembler: Its instructions.
        details: Keywords of `_runtime.Program`: what reports and profilers see.
    """

    assembler: Assembler
    details: dict[str, object]


def assemble(
    module: ir.Module,
    addresses: Mapping[str, int],
    *,
    device: Device | None = None,
    name: str = "",
    before: StateBefore | None = None,
) -> Assembled:
    """Writes the instructions of a program; see `build_program`.

    Args:
        module: as there.
        addresses: as there.
        device: as there.
        name: as there.
        before: notes the state of the generator before anything else happens.
    """
    builder = _Builder(_main_function(module), addresses, device)
    operations = _operations(module)
    if before is not None:
        builder.assembler.call(before.note, [])
    if any(op.operation.name == "host.extern" for op in operations):
        # Held to the end of the program.
        builder.assembler.call(torch_entry.without_autocast, [])
    for op in operations:
        builder.visit(op)
    details = {
        "kernels": len(builder.kernels),
        "launches": builder.launches,
        "externs": builder.externs,
        "workspace_bytes": builder.workspace_bytes,
        "event": builder.events.of_program(name) if name else None,
    }
    return Assembled(builder.assembler, details)


def _operations(module: ir.Module) -> list[ir.OpView]:
    return list(_main_function(module).regions[0].blocks[0].operations)


def _main_function(module: ir.Module) -> ir.OpView:
    for op in module.body.operations:
        if (
            op.operation.name == "func.func"
            and op.attributes["sym_name"].value == "main"
        ):
            return op
    raise AssertionError(f"girih bug: the module has no function @main:\n{module}")


class _Builder:
    def __init__(
        self,
        function: ir.OpView,
        addresses: Mapping[str, int],
        device: Device | None = None,
    ):
        arguments = function.regions[0].blocks[0].arguments
        donated = _donated(function)
        boxes = 1 if donated else 0
        self.assembler = Assembler(boxes + len(arguments) - len(donated))
        self.sizes = Sizes(self.assembler, self._bind_symbol)
        self.events = Events()
        self.device = device and DeviceRuns(
            device, self.assembler, self.sizes, self.events
        )
        self.buffers = Buffers(
            self.assembler,
            self.sizes,
            device and torch_entry.full_on(device.device),
            aligned=device is not None,
        )
        self._empty_strided = (
            torch_entry.empty_strided
            if device is None
            else torch_entry.empty_strided_on(device.device)
        )
        self.integers: dict[ir.Value, Size] = {}
        self.launches = self.externs = self.workspace_bytes = 0
        self.kernels: set[str] = set()
        self._addresses = addresses
        self._native_calls = 0
        self._constants: set[int] = set()
        self._symbol_sources: dict[str, tuple[Value, int | None]] = {}
        self._written = written_arguments(function)
        self._workspace: Register | None = None
        self._is_of_a_step = keys.TRAINING in function.attributes
        self._is_differentiable = keys.DIFFERENTIABLE in function.attributes
        slots = self._slots(len(arguments), donated)
        for index, argument in enumerate(arguments):
            self._add_argument(function, index, argument, slots[index])
        self._bind_symbols_of({slots[index] for index in donated})
        self._uncounted = {arguments[n] for n in self._written.uncounted}
        self._check_written_arguments(arguments)

    # Arguments and symbols

    def _slots(self, count: int, donated: list[int]) -> list[Value]:
        """Where each argument is found: donated ones are taken out of their list."""
        taken = {
            index: self.assembler.call(list.pop, [ValueItem(0)])
            for index in reversed(donated)
        }
        given = iter(range(1 if donated else 0, count))
        return [taken[i] if i in taken else next(given) for i in range(count)]

    def _add_argument(
        self, function: ir.OpView, index: int, argument: ir.Value, slot: Value
    ) -> None:
        attributes = function.attributes
        given = attributes["arg_attrs"][index] if "arg_attrs" in attributes else {}
        if not is_buffer(argument.type):
            if keys.SYMBOL in given:  # others turned out to be constants
                name = given[keys.SYMBOL].value
                self._symbol_sources.setdefault(name, (slot, None))
            return
        parts = buffer_parts(argument.type)
        if keys.CONSTANT in given:
            self._constants.add(index)
        if keys.NUMBER in given:
            buffer = self.buffers[argument] = Buffer(parts, number=slot)
            self.buffers.pointer(buffer)  # it may fail, so before anything is written
            return
        self.buffers[argument] = Buffer(
            parts,
            tensor=slot,
            is_input=keys.DONATED not in given,
            is_written=index in self._written.all,
        )
        for dim, size in enumerate(parts.shape):
            if isinstance(size, Dim) and str(size).isidentifier():
                self._symbol_sources.setdefault(str(size), (slot, dim))

    def _check_written_arguments(self, arguments: Sequence[ir.Value]) -> None:
        """Has eager run where a written argument shares memory with another one.

        The graph was captured as if each argument had memory of its own, and each of
        its elements, too: one that overlaps itself counts as another argument as well.
        One that nothing reads does not count, unless a backward pass may read it.
        """
        if not self._written.all:
            return
        ranges = {
            index: self.buffers.range(self.buffers[argument])
            for index, argument in enumerate(arguments)
            if argument in self.buffers
            and self.buffers[argument].number is None
            and index not in self._constants
            and (index in self._written.all or self._may_be_read(argument))
        }
        written = {index: ranges.pop(index) for index in sorted(self._written.all)}
        others = list(ranges.values())
        others += [
            memory
            for index, memory in written.items()
            if _overlaps_itself(buffer_parts(arguments[index].type))
        ]
        self.assembler.check_disjoint(list(written.values()), others)

    def _may_be_read(self, argument: ir.Value) -> bool:
        return self._is_differentiable or next(iter(argument.uses), None) is not None

    def _bind_symbols_of(self, slots: set[Value]) -> None:
        """Reads sizes while the tensors that have them are there."""
        for name, (slot, _) in self._symbol_sources.items():
            if slot in slots:
                self.sizes.register(parse(name))

    def _bind_symbol(self, name: str) -> Register:
        if name not in self._symbol_sources:
            raise AssertionError(f"girih bug: no argument binds the symbol {name}")
        value, dim = self._symbol_sources[name]
        if dim is None:
            return self.assembler.load_int(value)
        return self.assembler.call_int(
            torch_entry.size, [ValueItem(value), Constant(dim)]
        )

    # Ops

    def visit(self, op: ir.OpView) -> None:
        """Emits the instructions of one op of the host function."""
        if op.name not in VISITORS:
            raise AssertionError(f"girih bug: no instruction for {op.name}")
        VISITORS[op.name](self, op)

    def alloc(self, op: ir.OpView) -> None:
        """A fresh tensor, or a place in the workspace."""
        parts = buffer_parts(op.result.type)
        buffer = self.buffers[op.result] = Buffer(parts, is_own=True)
        if op.workspace_offset is not None:
            assert self._workspace is not None, "girih bug: no workspace is open"
            buffer.pointer = self.buffers.advance(self._workspace, op.workspace_offset)
            return
        buffer.tensor = self.assembler.call(
            self._empty_strided,
            [
                self.sizes.items(parts.shape),
                self.sizes.items(parts.strides),
                Constant(torch_entry.dtype(str(parts.element_type))),
            ],
        )

    def view(self, op: ir.OpView) -> None:
        """Nothing yet: see `tensor` and `pointer`."""
        base = self.buffers[op.operands[0]]
        parts = buffer_parts(op.result.type)
        self.buffers[op.result] = Buffer(parts, base=base, offset=op.offset)

    def native(self, op: ir.OpView) -> None:
        """One call of generated code: the buffers and symbols of all its launches."""
        launches = op.launches
        self.launches += len(launches)
        self.kernels.update(launch.kernel for launch in launches)
        if self.device is not None:
            self.device.launch(launches, self.buffers)
            return
        name = f"run{self._native_calls}" if op.function is None else op.function
        self._native_calls += 1
        if name not in self._addresses:
            raise LookupError(f"girih bug: no generated code is called {name}")
        buffers = [self.buffers[value] for value in op.buffers]
        self.assembler.run(
            self._addresses[name],
            [self.buffers.pointer(buffer) for buffer in buffers],
            [self.sizes.register(size) for size in op.symbols],
            unlock=_touches_more_than(buffers, UNLOCK_BYTES),
            events=self.events.of_launches(launches),
        )

    def extern(self, op: ir.OpView) -> None:
        """A call of an ATen op."""
        operands = [self.buffers[value] for value in op.operands]
        items = [self._argument(argument, operands) for argument in op.args]
        keywords = [
            (name, self._argument(argument, operands))
            for name, argument in op.kwargs.items()
        ]
        entry = torch_entry.entry(op.op)
        self.externs += 1
        event = self.events.of_call(op)
        if not op.results:
            self.assembler.call(entry, items, keywords, discard=True, event=event)
            return
        value = self.assembler.call(entry, items, keywords, event=event)
        for result, slot in zip(op.results, self._results(op, value), strict=True):
            if slot >= 0:
                self._add_result(op, result, slot)

    def _results(self, op: ir.OpView, value: Value) -> list[Value]:
        if torch_entry.returns_one_tensor(op.op):
            return [value]
        if not torch_entry.returns_tensors(op.op, len(op.results)):
            returned = value
            value = self.assembler.call(
                torch_entry.flatten_tensors, [ValueItem(returned)]
            )
            self.assembler.free(returned)
        used = [not _is_unused(result) for result in op.results]
        slots = self.assembler.unpack(value, used)
        self.assembler.free(value)
        return slots

    def _add_result(self, op: ir.OpView, result: ir.Value, slot: Value) -> None:
        parts = buffer_parts(result.type)
        if not op.op.startswith(("aten.", "girih.", "mkldnn.")):
            self._check_made(op, parts, slot)
        self.buffers[result] = Buffer(parts, tensor=slot)
        is_known = op.op in ROW_MAJOR_OPS and _is_contiguous(parts)
        if not is_known and self._layout_matters(result):
            self.assembler.check_layout(
                slot,
                torch_entry.stride,
                torch_entry.restride,
                self.sizes.items(parts.strides),
            )

    def _check_made(self, op: ir.OpView, parts: BufferParts, slot: Value) -> None:
        """Checks what an operator made: kernels read as far as its fake says."""
        dtype = torch_entry.dtype(str(parts.element_type))
        check = torch_entry.check_made(op.op, dtype)
        shape = self.sizes.items(parts.shape)
        self.assembler.call(check, [ValueItem(slot), shape], [], discard=True)

    def _layout_matters(self, value: ir.Value) -> bool:
        """Whether anything but ATen itself relies on the strides of an ATen result.

        Backward programs rely on those of what the forward program returns: it is saved
        for them, and cotangents are laid out like it.
        """
        relies = {"host.launch", "host.view", "host.copy"}
        if self._is_differentiable:
            relies.add("host.return")
        return any(use.owner.name in relies for use in value.uses)

    def _argument(self, argument: attr.Argument, operands: list[Buffer]) -> Item:
        match argument:
            case OperandRef(index):
                return ValueItem(self.buffers.tensor(operands[index]))
            case ItemRef(index):
                return self.buffers.item(operands[index])
            case Dim():
                return self.sizes.item(argument)
            case TorchConstant(kind, name):
                return Constant(torch_entry.constant(kind, name))
            case tuple():
                items = [self._argument(item, operands) for item in argument]
                return group(items, list)
        return Constant(argument)

    def copy(self, op: ir.OpView) -> None:
        """Writes one buffer's content into another."""
        buffers = [self.buffers[value] for value in op.operands]
        source, target = [ValueItem(self.buffers.tensor(b)) for b in buffers]
        if op.operands[1] in self._uncounted:
            target = ValueItem(self.buffers.shown(buffers[1]))
        self.assembler.call(torch_entry.copy_, [target, source], discard=True)

    def size(self, op: ir.OpView) -> None:
        """An integer result."""
        self.integers[op.result] = op.expr

    def workspace(self, op: ir.OpView) -> None:
        """Scratch memory for the allocations that follow; no bytes give it up."""
        count = op.bytes
        if count == 0 and isinstance(count, int):
            self._release_workspace()
            return
        if self.device is not None:
            self._release_workspace()
            self._workspace = self.device.open_workspace(count)
        else:
            self._workspace = self.assembler.workspace(self.sizes.register(count))
        if isinstance(count, Dim) or self.workspace_bytes < 0:
            self.workspace_bytes = -1
        else:
            self.workspace_bytes = max(self.workspace_bytes, count)

    def _release_workspace(self) -> None:
        if self.device is not None:
            self.device.close_workspace()
        else:
            self.assembler.release(kept=not self._is_of_a_step)
        self._workspace = None

    def free(self, op: ir.OpView) -> None:
        """Drops a tensor that was made; views and pointers cost nothing."""
        buffer = self.buffers.get(op.operands[0])
        if buffer is not None and buffer.tensor is not None and not buffer.is_input:
            self.assembler.free(buffer.tensor)

    def return_(self, op: ir.OpView) -> None:
        """The tuple of results."""
        views = op.views or ()
        returned = [self.buffers.get(value) for value in op.operands]
        items = [
            self._returned(value, returned if place in views else None)
            for place, value in enumerate(op.operands)
        ]
        if counted := self._written.by_kernels - self._written.uncounted:
            written = group([ValueItem(i) for i in sorted(counted)])
            self.assembler.call(torch_entry.increment_version, [written], discard=True)
        self.assembler.return_(group(items))

    def _returned(self, value: ir.Value, owners: list | None) -> Item:
        """A result; a view of one of its owners, or of another tensor, if it is one."""
        if value not in self.buffers:
            return self.sizes.item(self.integers[value])
        buffer = self.buffers[value]
        if owners is None:
            return ValueItem(self.buffers.tensor(buffer))
        return ValueItem(self.buffers.aliased(buffer, owners))


VISITORS: dict[str, Callable[[_Builder, ir.OpView], None]] = {
    "host.alloc": _Builder.alloc,
    "host.copy": _Builder.copy,
    "host.extern": _Builder.extern,
    "host.free": _Builder.free,
    "host.native": _Builder.native,
    "host.return": _Builder.return_,
    "host.size": _Builder.size,
    "host.view": _Builder.view,
    "host.workspace": _Builder.workspace,
}
"""Host op -> what emits its instructions."""


def _donated(function: ir.OpView) -> list[int]:
    """Numbers of the arguments that the program may drop."""
    if "arg_attrs" not in function.attributes:
        return []
    given = enumerate(function.attributes["arg_attrs"])
    return [index for index, attributes in given if keys.DONATED in attributes]


def _is_unused(value: ir.Value) -> bool:
    return all(use.owner.name == "host.free" for use in value.uses)


def _is_contiguous(parts: BufferParts) -> bool:
    return tuple(parts.strides) == tuple(contiguous_strides(parts.shape))


def _overlaps_itself(parts: BufferParts) -> bool:
    """Whether two elements may lie in one place, as far as constant strides tell.

    A stride that is not beyond all that smaller ones reach gives another way there. Of
    a symbolic size it is known that it is at least 2.
    """
    steps = [
        (stride, size)
        for size, stride in zip(parts.shape, parts.strides, strict=True)
        if isinstance(stride, int) and size != 1
    ]
    reach = 0
    for stride, size in sorted(steps, key=lambda step: step[0]):
        if stride <= reach:
            return True
        reach += stride * (1 if isinstance(size, Dim) else size - 1)
    return False


def _touches_more_than(buffers: list[Buffer], limit: int) -> bool:
    """Whether buffers take more than `limit` bytes in all; symbolic ones always do."""
    counts = [product(buffer.parts.shape) * buffer.itemsize for buffer in buffers]
    total = sum(counts)
    return isinstance(total, Dim) or total > limit
