"""The functions of a kernel: one for each grid."""

from __future__ import annotations

from girih.dialects import dims, tt
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.convert_tile_to_tt import builder as b
from girih.passes.convert_tile_to_tt.index_width import index_bits
from girih.passes.convert_tile_to_tt.lowering import Lowering
from girih.passes.convert_tile_to_tt.sets import (
    choose_set,
    in_sets,
    launch_buffers,
    set_symbols,
)
from girih.passes.upstream import constant_of

Value = ir.Value

# Local buffers begin at this boundary: a line of the second-level cache.
_ALIGNMENT = 128

# Divisions of `tile` round down: what may be negative gets a remainder by
# `_floor_remainder`, and is divided less that, so nothing is rounded towards zero.
_SIZES = {
    "arith.addi": lambda lhs, rhs: lhs + rhs,
    "arith.ceildivsi": dims.ceildiv,
    "arith.ceildivui": dims.ceildiv,
    "arith.divsi": dims.floordiv,
    "arith.divui": dims.floordiv,
    "arith.floordivsi": dims.floordiv,
    "arith.maxsi": dims.maximum,
    "arith.minsi": dims.minimum,
    "arith.muli": lambda lhs, rhs: lhs * rhs,
    "arith.remsi": dims.mod,
    "arith.remui": dims.mod,
    "arith.subi": lambda lhs, rhs: lhs - rhs,
}


def convert_kernel(
    kernel: ir.OpView,
    library: str,
    defaults: dict[str, int],
    *,
    aligned: bool,
    allow_tf32: bool = False,
) -> None:
    """Replace a `tile.kernel` by its functions.

    Args:
        kernel: a scheduled kernel.
        library: whose functions of mathematics are called.
        defaults: warps and stages of grids that do not say theirs.
        aligned: whether each buffer begins at a multiple of 16 bytes.
        allow_tf32: whether products of float32 are rounded to tf32.
    """
    shared, grids = _parts(kernel)
    places, size = _workspaces(shared)
    for number, grid in enumerate(grids):
        lowering = Lowering(b.integer(index_bits(kernel)), library, aligned, places)
        lowering.allow_tf32 = allow_tf32
        launch = {
            "grid": ir.StringAttr.get(str(_programs(grid, kernel))),
            "workspace_bytes": ir.IntegerAttr.get(b.integer(64), size),
        }
        for name, default in defaults.items():
            given = grid.attributes[name] if name in grid.attributes else None
            launch[name] = given or ir.IntegerAttr.get(b.integer(64), default)
        with grid.location, ir.InsertionPoint(kernel):
            function = _make_function(kernel, number, lowering, launch, size)
        with grid.location, ir.InsertionPoint(function.block):
            program = b.make("get_program_id", [], {"axis": 0})
            program = b.resized(program, lowering.index)
            if kernel.sets is not None:
                program = choose_set(kernel, lowering, shared, grid, program)
            _lower_grid(lowering, shared, grid, program)
            tt.build("return")
    kernel.operation.erase()


def _parts(kernel: ir.OpView) -> tuple[list[ir.OpView], list[ir.OpView]]:
    """The ops that all grids share, and the grids."""
    shared, grids = [], []
    for op in kernel.block.operations:
        name = op.operation.name
        if name in ("tile.read", "tile.write", "tile.store", "tile.loop"):
            raise ValueError(f"expected a scheduled kernel with grids, got {name}")
        (grids if name == "tile.grid" else shared).append(op)
    return shared, grids


def _workspaces(ops: list[ir.OpView]) -> tuple[dict[Value, int], int]:
    """Where each local buffer begins, in bytes, and the bytes of all."""
    places, end = {}, 0
    for op in ops:
        if op.operation.name == "tile.workspace":
            places[op.buffer] = end
            element = ty.buffer_parts(op.buffer.type).element_type
            size = op.elements * ty.byte_width(element)
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
    return places, end


def _programs(grid: ir.OpView, kernel: ir.OpView) -> Size:
    """How many programs a grid has, those of all sets together."""
    count = _size(grid.count, kernel)
    if kernel.sets is None:
        return count
    return sum(dims.substitute(count, own) for own in set_symbols(kernel))


def _size(value: Value, kernel: ir.OpView) -> Size:
    """A number of programs as an expression of the kernel's symbols."""
    for name, argument in kernel.symbol_values.items():
        if argument == value:
            return dims.parse(name)
    known = constant_of(value)
    if known is not None:
        return known
    owner = value.owner
    if (remainder := _floor_remainder(owner)) is not None:
        return dims.mod(*(_size(operand, kernel) for operand in remainder.operands))
    if isinstance(owner, ir.Block) or owner.name not in _SIZES:
        raise ValueError(
            f"expected the number of programs to be an expression of sizes, got {value}"
        )
    return _SIZES[owner.name](*(_size(operand, kernel) for operand in owner.operands))


def _floor_remainder(owner: ir.Operation | ir.Block) -> ir.Operation | None:
    """The remsi of `remsi < 0 ? remsi + divisor : remsi`, else None."""
    if isinstance(owner, ir.Block) or owner.name != "arith.select":
        return None
    _, wrapped, plain = owner.operands
    remainder, sum_ = plain.owner, wrapped.owner
    if isinstance(remainder, ir.Block) or remainder.name != "arith.remsi":
        return None
    return remainder if list(sum_.operands) == [plain, remainder.operands[1]] else None


def memory_element(element: ir.Type) -> ir.Type:
    """What a buffer's elements are in memory: signless, a bool or float8 a byte."""
    if isinstance(element, ir.IntegerType) or ty.is_float8(element):
        return b.integer(max(element.width, 8))
    return element


def _make_function(
    kernel: ir.OpView,
    number: int,
    lowering: Lowering,
    launch: dict[str, ir.Attribute],
    workspace_bytes: int,
) -> tt.TtOp:
    """A function with its arguments: buffers, symbols, workspace."""
    aligned = _alignment(kernel, lowering.aligned)
    if kernel.sets is not None:
        aligned = in_sets(aligned, kernel)
    types = []
    for buffer in launch_buffers(kernel):
        element = ty.buffer_parts(buffer).element_type
        types.append(tt.pointer_type(memory_element(element)))
    types += [lowering.index] * len(kernel.launch_symbols)
    if workspace_bytes:
        types.append(tt.pointer_type(b.integer(8)))
    known = [ir.DictAttr.get({}) for _ in types]
    if workspace_bytes:
        known[-1] = _aligned()
    for place, is_aligned in enumerate(aligned):
        if is_aligned:
            known[place] = _aligned()
    attributes = {
        "sym_name": f"{kernel.sym_name}_{number}",
        "function_type": ir.FunctionType.get(types, []),
        "arg_attrs": ir.ArrayAttr.get(known),
        "girih.arguments": _arguments(kernel),
        "girih.launch": ir.DictAttr.get(launch),
    }
    function = tt.build("func", [], attributes).opview
    locations = [ir.Location.current] * len(types)
    block = function.regions[0].blocks.append(*types, arg_locs=locations)
    arguments = list(block.arguments)
    if kernel.sets is None:
        lowering.values.update(zip(kernel.block.arguments, arguments, strict=False))
    lowering.workspace = arguments[-1] if workspace_bytes else None
    return function


def _arguments(kernel: ir.OpView) -> ir.Attribute:
    """What pointers and integers stand for; an interpreter knows bounds from it."""
    texts = {
        "buffers": [str(type_) for type_ in launch_buffers(kernel)],
        "symbols": kernel.launch_symbols,
    }
    described: dict[str, ir.Attribute] = {
        name: ir.ArrayAttr.get([ir.StringAttr.get(text) for text in own])
        for name, own in texts.items()
    }
    outputs = kernel.outputs * (kernel.sets or 1)
    described["outputs"] = ir.IntegerAttr.get(b.integer(64), outputs)
    return ir.DictAttr.get(described)


def _alignment(kernel: ir.OpView, default: bool) -> list[bool]:
    """Which buffers are aligned, as `mark-aligned-arguments` notes it."""
    if "aligned" in kernel.attributes:
        return list(kernel.attributes["aligned"])
    return [default] * len(kernel.buffers)


def _aligned() -> ir.Attribute:
    number = ir.IntegerAttr.get(b.integer(32), 16)
    return ir.DictAttr.get({"tt.divisibility": number})


def _lower_grid(
    lowering: Lowering, shared: list[ir.OpView], grid: ir.OpView, program: Value
) -> None:
    for op in shared:
        lowering.lower(op)
    lowering.values[grid.block.arguments[0]] = program
    lowering.lower_block(grid.block)
