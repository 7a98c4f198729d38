"""The ops of the launch program, which is the function ``@main`` over buffers."""

from collections.abc import Mapping
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import (
    ARGUMENTS,
    INT,
    INTS,
    KEYWORDS,
    LAYOUTS,
    SIZE,
    SIZES,
    STRING,
    SYMBOL,
    UNIT,
)
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, Op
from girih.dialects.dims import Dim, Size
from girih.dialects.fields import (
    attribute,
    operand,
    optional_attribute,
    region,
    result,
    variadic_operand,
    variadic_result,
)
from girih.dialects.graph.extern import verify_call
from girih.dialects.regions import only_block
from girih.dialects.rules import expect


class HostOp(Op):
    """The base of ops of the launch program."""

    DIALECT = "host"
    EFFECTS = Effects.ORDERED


def _expect_buffer(type_: ir.Type, name: str) -> ty.BufferParts:
    expect(ty.is_buffer(type_), name, "be a buffer", type_)
    return ty.buffer_parts(type_)


class AllocOp(HostOp, name="alloc"):
    """buffer = a fresh tensor of the result type's sizes and strides.

    ``workspace_offset`` (bytes) places it in the workspace instead.
    """

    workspace_offset = optional_attribute(SIZE)
    buffer = result()

    def verify_invariants(self) -> None:
        """Checks that the result is a buffer."""
        _expect_buffer(self.buffer.type, "buffer")


class ViewOp(HostOp, name="view"):
    """view = the same storage with other sizes and strides (the result type's).

    ``offset`` is where the view starts, in elements after the start of ``buffer``.
    """

    EFFECTS = Effects.PURE

    buffer = operand()
    offset = attribute(SIZE, default=0)
    view = result()

    def verify_invariants(self) -> None:
        """Checks that both are buffers of one element type."""
        element = _expect_buffer(self.buffer.type, "buffer").element_type
        actual = _expect_buffer(self.view.type, "view").element_type
        expect(actual == element, "view", f"have element type {element}", actual)


class LaunchOp(HostOp, name="launch"):
    """Runs the kernel with these buffers, the last ``outputs`` of which it writes.

    ``symbols`` are the values of the kernel's trailing ``index`` arguments.
    """

    buffers = variadic_operand()
    kernel = attribute(SYMBOL)
    outputs = attribute(INT)
    symbols = attribute(SIZES, default=())

    def verify_invariants(self) -> None:
        """Checks that operands are buffers and enough to be written."""
        for position, value in enumerate(self.operands):
            _expect_buffer(value.type, f"buffers[{position}]")
        count = len(self.operands)
        rule = f"be at least 1 and at most the {count} buffers"
        expect(1 <= self.outputs <= count, "outputs", rule, self.outputs)


class ExternOp(HostOp, name="extern"):
    """outputs = the ATen op called with args and kwargs, as in graph.extern."""

    inputs = variadic_operand()
    op = attribute(STRING)
    args = attribute(ARGUMENTS)
    kwargs = attribute(KEYWORDS, default={})
    strides = optional_attribute(LAYOUTS)
    effects = optional_attribute(UNIT)
    outputs = variadic_result()

    def verify_invariants(self) -> None:
        """Checks the call."""
        verify_call(self)


class CopyOp(HostOp, name="copy"):
    """Writes the elements of ``source`` into ``target``, as Tensor.copy_ does."""

    source = operand()
    target = operand()

    def verify_invariants(self) -> None:
        """Checks that both are buffers of one shape."""
        shape = _expect_buffer(self.source.type, "source").shape
        actual = _expect_buffer(self.target.type, "target").shape
        sizes = f"[{', '.join(map(str, shape))}]"
        expect(actual == shape, "target", f"have shape {sizes}", self.target.type)


class SizeOp(HostOp, name="size"):
    """value = a dim expression's value, an output of the program."""

    EFFECTS = Effects.PURE

    expr = attribute(SIZE)
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """An index."""
        return [ir.IndexType.get()]


class NativeOp(HostOp, name="native"):
    """A run of adjacent launches, made by one call of ``function``.

    The block holds ``host.launch`` ops only, and no terminator.
    """

    function = optional_attribute(SYMBOL)
    body = region()

    @property
    def launches(self) -> list[LaunchOp]:
        """The launches, in order."""
        return list(self.regions[0].blocks[0].operations)

    @property
    def buffers(self) -> list[ir.Value]:
        """What ``function`` takes as buffers: those launched with, each once."""
        launches = self.launches
        return list(dict.fromkeys(v for launch in launches for v in launch.operands))

    @property
    def symbols(self) -> list[Size]:
        """What ``function`` takes as symbols: those launched with, each once."""
        launches = self.launches
        return list(dict.fromkeys(s for launch in launches for s in launch.symbols))

    def verify_invariants(self) -> None:
        """Checks that there are only launches inside."""
        for op in only_block(self).operations:
            is_launch = op.operation.name == LaunchOp.OPERATION_NAME
            expect(is_launch, "body", "hold only host.launch", op.operation.name)


class WorkspaceOp(HostOp, name="workspace"):
    """Takes a block of memory for the allocations with a ``workspace_offset``.

    It serves those that follow, up to the next ``host.workspace``. A size of 0 gives
    the memory up.
    """

    bytes = attribute(SIZE)

    def verify_invariants(self) -> None:
        """Checks that the size is not negative."""
        size = self.bytes
        positive = isinstance(size, Dim) or size >= 0
        expect(positive, "bytes", "be at least 0", size)


class FreeOp(HostOp, name="free"):
    """Gives up the program's reference to the buffer."""

    buffer = operand()

    def verify_invariants(self) -> None:
        """Checks that the operand is a buffer, and that nothing reads it any more."""
        _expect_buffer(self.buffer.type, "buffer")
        for use in self.buffer.uses:
            reader = _ancestor_in(self.operation.block, use.owner.operation)
            if reader is None or reader == self.operation:
                continue
            if reader.is_before_in_block(self.operation):
                is_read = reader.name != self.OPERATION_NAME
                expect(is_read, "buffer", "be freed once", f"two {reader.name}")
            elif reader.name != self.OPERATION_NAME:
                place = f"'{reader.name}' at {reader.location}"
                expect(False, "buffer", "have no use after it is freed", place)


def _ancestor_in(block: ir.Block, op: ir.Operation) -> ir.Operation | None:
    """The op of a block that is an op, or has it inside; None where there is none."""
    while op is not None and op.block != block:
        op = op.parent and op.parent.operation
    return op


class ReturnOp(HostOp, name="return"):
    """Ends the program: its results, buffers and sizes.

    ``views`` are the places of results that are views to autograd: of the argument or
    of the other result whose memory they show, or of a tensor that is not returned.
    """

    IS_TERMINATOR = True

    views = optional_attribute(INTS)
    values = variadic_operand()

    def verify_invariants(self) -> None:
        """Checks that each value is a buffer or an index."""
        for position, value in enumerate(self.operands):
            is_size = isinstance(value.type, ir.IndexType)
            valid = is_size or ty.is_buffer(value.type)
            name = f"values[{position}]"
            expect(valid, name, "be a buffer or an index", value.type)
