"""Reads a kernel of attention into plain records."""

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.passes.tile.kernel import (
    Buffer,
    KernelSource,
    OpRecord,
    read_arguments,
    read_op,
)
from girih.passes.tile.sizes import Size

FORWARD = "graph.flash_attention"
BACKWARD = "graph.flash_attention_backward"
# The record of a value that the kernel computes and gives to the score function.
GIVEN = "tile.given"
# The attribute of an op that says how it runs best.
TUNING = "girih.tuning"
# What comes before the score function's operands.
_INPUTS = {
    FORWARD: ("query", "key", "value"),
    BACKWARD: ("gradient", "query", "key", "value", "largest", "total", "delta"),
}
_OUTPUTS = {
    FORWARD: ("y", "largest", "total"),
    BACKWARD: ("of_query", "of_key", "of_value"),
}
# The score function's arguments that stand in no buffer.
_GIVEN = {FORWARD: 1, BACKWARD: 2}


@dataclass(frozen=True, slots=True)
class AttentionSource:
    """A kernel that is one attention op.

    Attributes:
        kernel: buffers and symbols; its records are those of the score function.
        inputs: number of the buffer of each input, by name.
        outputs: number of the buffer of each result that is written, by name.
        given: the score function's arguments that are computed, not loaded.
        yields: the values that the score function gives.
        shape: [b, h, s, t].
        groups: heads of keys.
        widths: elements of a head of queries and keys, and of values.
        tuning: sizes that were measured to be best, by name.
    """

    kernel: KernelSource
    inputs: dict[str, int]
    outputs: dict[str, int]
    given: tuple[ir.Value, ...]
    yields: tuple[ir.Value, ...]
    shape: tuple[Size, ...]
    groups: Size
    widths: tuple[int, int]
    tuning: dict[str, int]

    def buffer(self, name: str) -> Buffer:
        """The buffer of an input."""
        return self.kernel.buffers[self.inputs[name]]

    @property
    def is_backward(self) -> bool:
        """Whether the kernel computes gradients."""
        return "gradient" in self.inputs


def attention_op(kernel: ir.Operation) -> ir.Operation | None:
    """The attention op of an unscheduled kernel, or None if it has none."""
    for op in kernel.regions[0].blocks[0].operations:
        if op.operation.name in _INPUTS:
            return op.operation
    return None


def read_attention(kernel: ir.Operation, op: ir.Operation) -> AttentionSource:
    """Copies a kernel and its attention op out of the IR."""
    buffers, symbols = read_arguments(kernel)
    numbers = [_number(value) for value in op.operands]
    names = _INPUTS[op.name]
    inputs = dict(zip(names, numbers, strict=False))
    read = [buffers[number] for number in numbers[len(names) :]]
    block, given = op.regions[0].blocks[0], _GIVEN[op.name]
    *body, last = block.operations
    records = {value: _given_record(value) for value in list(block.arguments)[:given]}
    loaded = list(block.arguments)[given:]
    records |= {v: _read_record(v, b) for v, b in zip(loaded, read, strict=True)}
    records |= {inner.results[0]: read_op(inner.operation) for inner in body}
    query, key, value = (buffers[inputs[n]].shape for n in ("query", "key", "value"))
    shape = (*query[:3], key[2])
    source = KernelSource(
        name=kernel.attributes["sym_name"].value,
        buffers=buffers,
        symbols=symbols,
        domain=shape,
        reduced=frozenset(),
        closing=frozenset(),
        records=records,
        writes=(),
    )
    return AttentionSource(
        kernel=source,
        inputs=inputs,
        outputs=_outputs(op),
        given=tuple(block.arguments)[:given],
        yields=tuple(last.operands),
        shape=shape,
        groups=key[1],
        widths=(query[3], value[3]),
        tuning=_tuning(op),
    )


def _tuning(op: ir.Operation) -> dict[str, int]:
    if TUNING not in op.attributes:
        return {}
    given = op.attributes[TUNING]
    entries = (given[index] for index in range(len(given)))
    return {entry.name: entry.attr.value for entry in entries}


def _number(value: ir.Value) -> int:
    """The number of the buffer that a value is read from."""
    return ir.BlockArgument(value.owner.operands[0]).arg_number


def _outputs(op: ir.Operation) -> dict[str, int]:
    found = {}
    for name, result in zip(_OUTPUTS[op.name], op.results, strict=True):
        for use in result.uses:
            target = use.owner.operation.operands[1]
            found[name] = ir.BlockArgument(target).arg_number
    return found


def _given_record(value: ir.Value) -> OpRecord:
    record = OpRecord.of(GIVEN, (), value)
    number = ir.BlockArgument(value).arg_number
    record.attributes["number"] = number
    return record


def _read_record(value: ir.Value, buffer: Buffer) -> OpRecord:
    return OpRecord.of("tile.read", (buffer.value,), value)
