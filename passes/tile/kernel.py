"""Reads an unscheduled ``tile.kernel`` into plain Python records, once.

Properties of ops cost microseconds each through the bindings, and an evaluation asks
for them many times, so everything that the analysis needs is copied out here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from girih.dialects.attributes import SIZES
from girih.dialects.bindings import ir
from girih.dialects.types import buffer_parts, element_of, shape_of
from girih.passes.tile.elements import Element, element
from girih.passes.tile.sizes import Size


@dataclass(frozen=True, slots=True)
class Buffer:
    """A kernel argument: element type, sizes, strides in elements."""

    element: Element
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    value: ir.Value


@dataclass(frozen=True, slots=True)
class OpRecord:
    """One op of the kernel's body that has a tensor result."""

    name: str
    operands: tuple[ir.Value, ...]
    attributes: dict[str, ir.Attribute]
    shape: tuple[Size, ...]
    element: Element
    location: ir.Location

    @classmethod
    def of(
        cls, name: str, operands: tuple[ir.Value, ...], value: ir.Value
    ) -> "OpRecord":
        """The record of an op without attributes that has this result."""
        own = element(str(element_of(value.type)))
        return cls(name, operands, {}, shape_of(value.type), own, value.location)


@dataclass(frozen=True, slots=True)
class WriteRecord:
    """One ``tile.write``: a tensor and the number of the buffer it goes to."""

    tensor: ir.Value
    buffer: int
    location: ir.Location


@dataclass(frozen=True, slots=True)
class KernelSource:
    """An unscheduled kernel, copied out of the IR.

    Attributes:
        symbols: name of each symbol and the ``index`` argument that holds it.
        domain: the sizes of the iteration domain.
        reduced: the dims of the domain that the reductions remove.
        closing: the dims that the last ones remove, where these are others.
        records: the op behind each tensor value, in program order.
        tuning: sizes that a measurement chose for this kernel (``girih.tuning``);
            policies have them stand for their own.
    """

    name: str
    buffers: tuple[Buffer, ...]
    symbols: dict[str, ir.Value]
    domain: tuple[Size, ...]
    reduced: frozenset[int]
    closing: frozenset[int]
    records: dict[ir.Value, OpRecord]
    writes: tuple[WriteRecord, ...]
    tuning: Mapping[str, int] = field(default_factory=dict)

    def buffer_of(self, record: OpRecord) -> int:
        """The number of the buffer that a ``tile.read`` reads."""
        return self.number_of(record.operands[0])

    def number_of(self, value: ir.Value) -> int:
        """The number of a buffer argument."""
        return ir.BlockArgument(value).arg_number


def read_kernel(kernel: ir.Operation) -> KernelSource:
    """Copies an unscheduled kernel out of the IR.

    Raises:
        ValueError: for an element type that kernels do not compute on.
    """
    body = kernel.regions[0].blocks[0]
    attributes = kernel.attributes
    buffers, symbols = read_arguments(kernel)
    records: dict[ir.Value, OpRecord] = {}
    writes = []
    for op in body.operations:
        operation = op.operation
        if operation.name == "tile.write":
            tensor, target = operation.operands
            number = ir.BlockArgument(target).arg_number
            writes.append(WriteRecord(tensor, number, operation.location))
        elif len(operation.results):
            records[operation.results[0]] = read_op(operation)
    return KernelSource(
        name=attributes["sym_name"].value,
        buffers=buffers,
        symbols=symbols,
        domain=SIZES.decode(attributes["domain"]),
        reduced=frozenset(SIZES.decode(attributes["reduced"])),
        closing=_closing(attributes),
        records=records,
        writes=tuple(writes),
        tuning=_tuning(attributes),
    )


def _closing(attributes: ir.OpAttributeMap) -> frozenset[int]:
    if "closing" not in attributes:
        return frozenset()
    return frozenset(SIZES.decode(attributes["closing"]))


def _tuning(attributes: ir.OpAttributeMap) -> dict[str, int]:
    if "girih.tuning" not in attributes:
        return {}
    return {entry.name: entry.attr.value for entry in attributes["girih.tuning"]}


def read_arguments(
    kernel: ir.Operation,
) -> tuple[tuple[Buffer, ...], dict[str, ir.Value]]:
    """The buffers of a kernel, and the values of its symbols."""
    names = [entry.value for entry in kernel.attributes["symbols"]]
    arguments = list(kernel.regions[0].blocks[0].arguments)
    split = len(arguments) - len(names)
    buffers = tuple(_buffer(value) for value in arguments[:split])
    return buffers, dict(zip(names, arguments[split:], strict=True))


def _buffer(value: ir.Value) -> Buffer:
    parts = buffer_parts(value.type)
    return Buffer(element(str(parts.element_type)), parts.shape, parts.strides, value)


def read_op(operation: ir.Operation) -> OpRecord:
    """The record of an op that has one result."""
    type_ = operation.results[0].type
    return OpRecord(
        name=operation.name,
        operands=tuple(operation.operands),
        attributes={name: operation.attributes[name] for name in operation.attributes},
        shape=shape_of(type_),
        element=element(str(element_of(type_))),
        location=operation.location,
    )
