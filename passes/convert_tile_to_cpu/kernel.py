"""The function around a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects.bindings import ir, llvm
from girih.passes.convert_tile_to_cpu import builder as b
from girih.passes.convert_tile_to_cpu.lowering import Lowering

Value = ir.Value

# Of an index of `llvm.getelementptr` that is an operand.
_IN_OPERAND = -(2**31)


def convert_kernel(
    kernel: ir.OpView, *, exported: bool, vector_bits: int, threshold: int
) -> None:
    """Turn a `tile.kernel` into a function of (buffers, symbols, status)."""
    body = kernel.block
    buffers = len(kernel.buffers)
    with kernel.location, ir.InsertionPoint(kernel):
        function = make_function(kernel.sym_name, exported, vector_bits)
    with kernel.location:
        parameters = _take_parameters(body, buffers)
        with ir.InsertionPoint(body):
            b.make("llvm.return", [], [])
    body.append_to(function.regions[0])
    Lowering(threshold, parameters[2], body, body).lower_block(body)
    kernel.operation.erase()


def make_function(name: str, exported: bool, vector_bits: int) -> ir.Operation:
    """Makes an `llvm.func` without a body.

    Its vectors may fill whole registers: left to itself, LLVM uses half of an
    AVX-512 register on some processors, and splits our vectors.

    It is not inlined: not into the wrappers that the execution engine adds, where it
    would be compiled twice, and not into a run, whose stack would have to hold the
    local buffers of all its kernels.
    """
    pointer = b.pointer()
    type = llvm.FunctionType.get(ir.Type.parse("!llvm.void"), [pointer] * 3)
    linkage = "external" if exported else "internal"
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(type),
        "linkage": ir.Attribute.parse(f"#llvm.linkage<{linkage}>"),
        "no_inline": ir.UnitAttr.get(),
        "no_unwind": ir.UnitAttr.get(),
        "prefer_vector_width": ir.StringAttr.get(str(vector_bits)),
    }
    return b.make("llvm.func", [], [], attributes, regions=1)


def _take_parameters(body: ir.Block, buffers: int) -> list[Value]:
    """Replace the kernel's arguments by what the function's three arrays hold."""
    old = list(body.arguments)
    location = ir.Location.current
    new = [body.add_argument(b.pointer(), location) for _ in range(3)]
    with ir.InsertionPoint.at_block_begin(body):
        for position, argument in enumerate(old):
            argument.replace_all_uses_with(_parameter(new, position, buffers))
    for position in reversed(range(len(old))):
        body.erase_argument(position)
    return list(body.arguments)


def _parameter(arrays: Sequence[Value], position: int, buffers: int) -> Value:
    if position < buffers:
        return load_word(arrays[0], position, b.pointer())
    return b.to_index(load_word(arrays[1], position - buffers, b.integer(64)))


def word(array: Value, position: int | Value, type: ir.Type) -> Value:
    """The address of an entry of an array, at a number or an `i64`."""
    is_known = isinstance(position, int)
    if is_known and position == 0:
        return array
    attributes = {
        "rawConstantIndices": ir.DenseI32ArrayAttr.get(
            [position if is_known else _IN_OPERAND]
        ),
        "elem_type": ir.TypeAttr.get(type),
    }
    operands = [array] if is_known else [array, position]
    return b.value("llvm.getelementptr", b.pointer(), operands, attributes)


def load_word(array: Value, position: int | Value, type: ir.Type) -> Value:
    """Loads an entry of an array of pointers or integers."""
    attributes = {"alignment": b.number(8), "ordering": b.number(0)}
    return b.value("llvm.load", type, [word(array, position, type)], attributes)
