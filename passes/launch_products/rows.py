"""Products that are only copied: in blocks of rows, each copied at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from girih.dialects import host, tile
from girih.dialects.bindings import ir
from girih.dialects.types import buffer_parts, buffer_type, byte_width, tensor_type
from girih.passes.launch_products.blocks import (
    GROUP,
    block,
    launch_blocks,
    matrix_of,
)
from girih.passes.launch_products.product import (
    Layout,
    Matrix,
    Product,
    flattened,
    layout_of,
)

_ROWS = 128
"""Rows that a product's tiles have most often."""


@dataclass(frozen=True)
class Copy:
    """The copy of a product.

    Attributes:
        launch: of a kernel that copies and does nothing else.
        kernel: that kernel.
        module: in which it is.
        rows: of the product, in a block.
    """

    launch: ir.OpView
    kernel: ir.OpView
    module: ir.OpView
    rows: int


def find_copy(call: ir.OpView, module: ir.OpView, row_bytes: int) -> Copy | None:
    """The copy of a call's result, if that is all that reads it and it is large."""
    launch = _only_reader(call.results[0])
    if launch is None:
        return None
    kernel = _kernels(module).get(launch.kernel)
    if kernel is None or not _is_copy(kernel) or not _is_fresh(launch.operands[1]):
        return None
    result, (shape, strides) = matrix_of(call, call.results[0])
    if len(shape) != 2 or not _is_same(layout_of(launch.operands[0]), (shape, strides)):
        return None
    target = flattened(*layout_of(launch.operands[1]))
    if target is None or target[0] != shape:
        return None
    itemsize = byte_width(buffer_parts(result.type).element_type)
    rows = row_bytes // (strides[0] * itemsize)
    rows = rows // _ROWS * _ROWS or rows // GROUP * GROUP
    return Copy(launch, kernel, module, rows) if 0 < rows < shape[0] else None


def _only_reader(buffer: ir.Value) -> ir.OpView | None:
    """The launch that alone reads a buffer, maybe through views from its beginning."""
    while len(uses := list(buffer.uses)) == 1:
        op = uses[0].owner.opview
        if op.operation.name == "host.launch":
            return op
        if op.operation.name != "host.view" or op.offset != 0:
            return None
        buffer = op.operation.results[0]
    return None


def _is_same(layout: Layout, matrix: Layout) -> bool:
    """Whether a tensor has the rows of a matrix, one after the other."""
    return flattened(*layout) == flattened(*matrix) is not None


def _kernels(module: ir.OpView) -> dict[str, ir.OpView]:
    ops = module.regions[0].blocks[0].operations
    return {op.sym_name: op for op in ops if op.operation.name == "tile.kernel"}


def _is_copy(kernel: ir.OpView) -> bool:
    names = [op.operation.name for op in kernel.block.operations]
    return names == ["tile.read", "tile.write"]


def _is_fresh(buffer: ir.Value) -> bool:
    return isinstance(buffer, ir.OpResult) and buffer.owner.name == "host.alloc"


def launch_in_rows(call: ir.OpView, product: Product, copy: Copy) -> None:
    """Replaces a call and the copy of its result by launches for blocks of rows."""
    buffer = copy.launch.operands[1]
    buffer.owner.move_before(call.operation)
    _, (shape, strides) = matrix_of(call, call.results[0])
    target = (buffer, flattened(*layout_of(buffer)))
    names: dict[int, str] = {}
    with call.location, ir.InsertionPoint(call):
        for rows in _row_blocks(shape[0], copy.rows):
            part = (rows[1] - rows[0], shape[1])
            if part[0] not in names:
                names[part[0]] = _make_copy(copy, part, strides, target)
            _launch_rows(product, (part, strides), target, rows, names[part[0]])
    source = copy.launch.operands[0]
    copy.launch.operation.erase()
    while source.owner != call.operation:
        view, source = source.owner, source.owner.operands[0]
        view.erase()
    call.operation.erase()
    if not _is_launched(copy):
        copy.kernel.operation.erase()


def _row_blocks(count: int, rows: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, count, rows):
        yield begin, min(begin + rows, count)


def _launch_rows(
    product: Product, layout: Layout, target: Matrix, rows: tuple[int, int], name: str
) -> None:
    """A block of rows into a buffer of its own, and from there to where it belongs."""
    element = buffer_parts(target[0].type).element_type
    type_ = buffer_type(*layout, element)
    part = host.build("alloc", [], results=[type_]).results[0]
    launch_blocks(product, (part, layout), rows)
    place = block(target, rows, (0, layout[0][1]))
    host.build("launch", [[part, place]], {"kernel": name, "outputs": 1})


def _make_copy(
    copy: Copy, shape: tuple[int, int], strides: tuple[int, int], target: Matrix
) -> str:
    """A kernel that copies a block of rows; returns its name."""
    element = buffer_parts(target[0].type).element_type
    types = [
        buffer_type(shape, strides, element),
        buffer_type(shape, target[1][1], element),
    ]
    name = _fresh_name(copy, shape[0])
    attributes = {"sym_name": name, "symbols": (), "outputs": 1}
    attributes |= {"domain": shape, "reduced": ()}
    before = ir.InsertionPoint(copy.kernel)
    kernel = tile.build("kernel", [], attributes, ip=before).opview
    entry = kernel.regions[0].blocks.append(*types, arg_locs=[copy.kernel.location] * 2)
    with ir.InsertionPoint(entry):
        tensor = tensor_type(shape, element)
        read = tile.build("read", [entry.arguments[0]], results=[tensor]).results[0]
        tile.build("write", [read, entry.arguments[1]])
    return name


def _fresh_name(copy: Copy, rows: int) -> str:
    taken = _kernels(copy.module)
    name, number = f"{copy.kernel.sym_name}_rows{rows}", 0
    while name in taken:
        number += 1
        name = f"{copy.kernel.sym_name}_rows{rows}_{number}"
    return name


def _is_launched(copy: Copy) -> bool:
    """Whether the kernel is launched elsewhere."""
    name = copy.kernel.sym_name
    return any(
        op.operation.name == "host.launch" and op.kernel == name
        for function in copy.module.regions[0].blocks[0].operations
        if function.operation.name == "func.func"
        for op in function.operation.regions[0].blocks[0].operations
    )
