"""The function around a kernel, and those that run several kernels in a row."""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects.bindings import ir, llvm
from girih.passes.convert_tile_to_cpu import builder as b
from girih.passes.convert_tile_to_cpu.lowering import Lowering

Value = ir.Value


def convert_kernel(
    kernel: ir.OpView, *, exported: bool, vector_bits: int, threshold: int
) -> None:
    """Turn a `tile.kernel` into a function of (buffers, symbols, status)."""
    body = kernel.block
    buffers = len(kernel.buffers)
    with kernel.location, ir.InsertionPoint(kernel):
        function = _make_function(kernel.sym_name, exported, vector_bits)
    with kernel.location:
        parameters = _take_parameters(body, buffers)
        with ir.InsertionPoint(body):
            b.make("llvm.return", [], [])
    body.append_to(function.regions[0])
    Lowering(threshold, parameters[2], body, body).lower_block(body)
    kernel.operation.erase()


def _make_function(name: str, exported: bool, vector_bits: int) -> ir.Operation:
    """An `llvm.func` without a body.

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
        return _load_word(arrays[0], position, b.pointer())
    return b.to_index(_load_word(arrays[1], position - buffers, b.integer(64)))


def _word(array: Value, position: int, type: ir.Type) -> Value:
    """The address of an entry of an array of pointers or integers."""
    if position == 0:
        return array
    attributes = {
        "rawConstantIndices": ir.DenseI32ArrayAttr.get([position]),
        "elem_type": ir.TypeAttr.get(type),
    }
    return b.value("llvm.getelementptr", b.pointer(), [array], attributes)


def _load_word(array: Value, position: int, type: ir.Type) -> Value:
    attributes = {"alignment": b.number(8), "ordering": b.number(0)}
    return b.value("llvm.load", type, [_word(array, position, type)], attributes)


def make_run(native: ir.OpView, name: str, vector_bits: int) -> None:
    """Add the function that makes a run's launches; insert at the module's end.

    Its buffers and symbols are `native.buffers` and `native.symbols`; each kernel
    gets an array of those that are its own.
    """
    function = _make_function(name, True, vector_bits)
    location = ir.Location.current
    body = function.regions[0].blocks.append(
        *[b.pointer()] * 3, arg_locs=[location] * 3
    )
    buffers, symbols, status = body.arguments
    places = {value: i for i, value in enumerate(native.buffers)}
    names = {str(size): i for i, size in enumerate(native.symbols)}
    with ir.InsertionPoint(body):
        for launch in native.launches:
            with launch.location:
                wanted = [places[value] for value in launch.operands]
                pointers = _selection(body, buffers, wanted, b.pointer())
                wanted = [names[str(size)] for size in launch.symbols]
                sizes = _selection(body, symbols, wanted, b.integer(64))
                _call(launch.kernel, [pointers, sizes, status])
        b.make("llvm.return", [], [])


def _selection(
    entry: ir.Block, array: Value, positions: Sequence[int], type: ir.Type
) -> Value:
    """An array of some entries; the array itself where these are its first ones."""
    if list(positions) == list(range(len(positions))):
        return array
    with ir.InsertionPoint.at_block_begin(entry):
        count = b.splat(b.integer(64), len(positions))
        selected = llvm.AllocaOp(b.pointer(), count, type).result
    for target, source in enumerate(positions):
        value = _load_word(array, source, type)
        llvm.StoreOp(value, _word(selected, target, type))
    return selected


def _call(name: str, operands: Sequence[Value]) -> None:
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(name),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    b.make("llvm.call", [], operands, attributes)
