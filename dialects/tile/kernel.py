"""Kernels: functions over buffers, the grids of programs that they run, loops.

An unscheduled kernel reads whole tensors, computes with ``graph`` primitives and
writes whole tensors. A scheduled one consists of grids.
"""

from collections.abc import Sequence
from typing import TypeVar

from girih.dialects import types as ty
from girih.dialects.attributes import BOOLS, INT, INTS, SIZES, STRING, STRINGS
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects
from girih.dialects.fields import (
    attribute,
    operand,
    optional_attribute,
    region,
    result,
    variadic_operand,
    variadic_result,
)
from girih.dialects.regions import (
    expect_arguments,
    expect_yield,
    only_block,
    types_text,
)
from girih.dialects.rules import expect
from girih.dialects.tile.base import TileOp, expect_buffer, expect_index
from girih.dialects.traits import TRANSFERS

T = TypeVar("T")


class KernelOp(TileOp, name="kernel"):
    """A kernel called ``sym_name``: its block takes buffers, then symbols' values.

    The last ``outputs`` buffers are written. ``symbols`` names the values of the
    trailing ``index`` arguments. ``domain``, ``reduced`` and ``closing`` are those of
    the fusion that the kernel was made of; ``schedule`` says in words how it was
    scheduled. Where it has ``sets``, a launch gives so many sets of arguments, each as
    the block takes them, and the programs of all are one grid: the inputs of all sets,
    their outputs, then their symbols. The block has no terminator.
    """

    EFFECTS = Effects.ORDERED

    sym_name = attribute(STRING)
    symbols = attribute(STRINGS, default=())
    outputs = attribute(INT)
    domain = attribute(SIZES)
    reduced = attribute(INTS, default=())
    closing = optional_attribute(INTS)
    schedule = optional_attribute(STRING)
    sets = optional_attribute(INT)
    aligned = optional_attribute(BOOLS)
    body = region()

    @property
    def block(self) -> ir.Block:
        """The kernel's only block."""
        return self.regions[0].blocks[0]

    @property
    def buffers(self) -> list[ir.Value]:
        """The arguments that are buffers, inputs before outputs."""
        arguments = list(self.block.arguments)
        return arguments[: len(arguments) - len(self.symbols)]

    @property
    def symbol_values(self) -> dict[str, ir.Value]:
        """The ``index`` argument that holds each symbol's value."""
        values = list(self.block.arguments)[len(self.buffers) :]
        return dict(zip(self.symbols, values, strict=True))

    @property
    def launch_symbols(self) -> list[str]:
        """Names of the symbols that a launch gives, in order."""
        if self.sets is None:
            return list(self.symbols)
        return [f"{name}_{n}" for n in range(self.sets) for name in self.symbols]

    def sets_of(self, buffers: Sequence[T]) -> list[list[T]]:
        """The buffers of a launch, or what is said of them, set by set."""
        count, outputs = self.sets or 1, self.outputs
        inputs = len(self.buffers) - outputs
        first = inputs * count
        return [
            [
                *buffers[n * inputs : (n + 1) * inputs],
                *buffers[first + n * outputs : first + (n + 1) * outputs],
            ]
            for n in range(count)
        ]

    def verify_invariants(self) -> None:
        """Checks the arguments against the attributes."""
        only_block(self)
        types = [argument.type for argument in self.block.arguments]
        count = len(types) - len(self.symbols)
        rule = f"take {len(self.symbols)} symbols after the buffers"
        expect(count >= 0, "body", rule, f"{len(types)} arguments")
        for position, type_ in enumerate(types[:count]):
            expect_buffer(type_, f"argument {position}")
        for position, type_ in enumerate(types[count:], start=count):
            expect_index(type_, f"argument {position}")
        rule = f"be at least 1 and at most the {count} buffers"
        expect(1 <= self.outputs <= count, "outputs", rule, self.outputs)
        if self.sets is not None:
            expect(self.sets >= 1, "sets", "be positive", self.sets)


class ReadOp(TileOp, name="read", traits={TRANSFERS}):
    """value = the whole buffer as a tensor (unscheduled kernels only)."""

    EFFECTS = Effects.READS

    buffer = operand()
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: object) -> list[ir.Type]:
        """A tensor of the buffer's sizes and elements."""
        parts = expect_buffer(types[0], "buffer")
        return [ty.tensor_type(parts.shape, parts.element_type)]


class WriteOp(TileOp, name="write", traits={TRANSFERS}):
    """Writes a tensor into a whole buffer of its sizes (unscheduled kernels only)."""

    EFFECTS = Effects.WRITES

    value = operand()
    buffer = operand()

    def verify_invariants(self) -> None:
        """Checks that the sizes and elements agree."""
        parts = expect_buffer(self.buffer.type, "buffer")
        wanted = ty.tensor_type(parts.shape, parts.element_type)
        expect(
            self.value.type == wanted, "value", f"have type {wanted}", self.value.type
        )


class GridOp(TileOp, name="grid"):
    """Runs the body for each program id below ``count``, in any order, in parallel.

    ``work`` is the number of elements touched in all, so that a target can run small
    grids serially. The grids of a kernel run one after the other. The block takes the
    program id and has no terminator. On GPUs, ``num_warps`` is the number of warps of a
    program and ``num_stages`` how many loads its loops have in flight.
    """

    EFFECTS = Effects.ORDERED

    count = operand()
    work = operand()
    num_warps = optional_attribute(INT)
    num_stages = optional_attribute(INT)
    body = region()

    @property
    def block(self) -> ir.Block:
        """The grid's only block."""
        return self.regions[0].blocks[0]

    def verify_invariants(self) -> None:
        """Checks that operands and the block's argument are of type index."""
        expect_index(self.count.type, "count")
        expect_index(self.work.type, "work")
        for name in ("num_warps", "num_stages"):
            value = getattr(self, name)
            expect(value is None or value >= 1, name, "be at least 1", value)
        expect_arguments(only_block(self), [ir.IndexType.get()])


class YieldOp(TileOp, name="yield"):
    """Ends the body of a loop: the values carried to the next step."""

    IS_TERMINATOR = True
    EFFECTS = Effects.ORDERED

    values = variadic_operand()


class LoopOp(TileOp, name="loop"):
    """Goes from ``low`` to ``high`` in steps of ``width`` lanes, carrying values.

    The block takes the first index of the step, a mask ``vector<width x i1>`` of the
    lanes below ``high``, and the carried values; it ends in ``tile.yield``. The mask is
    all true but in the last step. Accumulation in the body selects on the mask.
    ``unroll`` (default 1) is a hint: how many steps to interleave; ``stages`` another,
    for GPUs: for how many steps loads are in flight.
    """

    EFFECTS = Effects.ORDERED

    low = operand()
    high = operand()
    inits = variadic_operand()
    width = attribute(INT)
    unroll = attribute(INT, default=1)
    stages = optional_attribute(INT)
    body = region(ends_in=YieldOp.OPERATION_NAME)
    outputs = variadic_result()

    @property
    def block(self) -> ir.Block:
        """The loop's only block."""
        return self.regions[0].blocks[0]

    def verify_invariants(self) -> None:
        """Checks the block's arguments, the yielded values and the results."""
        expect_index(self.low.type, "low")
        expect_index(self.high.type, "high")
        for name, value in (("width", self.width), ("unroll", self.unroll)):
            expect(value >= 1, name, "be at least 1", value)
        inits = [value.type for value in self.inits]
        mask = ty.vector_type([self.width], ty.i1())
        block = only_block(self)
        expect_arguments(block, [ir.IndexType.get(), mask, *inits])
        outputs = [value.type for value in self.outputs]
        rule = f"have types {types_text(inits)}"
        expect(outputs == inits, "outputs", rule, types_text(outputs))
        expect_yield(block, YieldOp.OPERATION_NAME, inits)
