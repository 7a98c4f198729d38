"""``pack-products``: weights of large products lie in panels.

Requires: functions for the CPU, on level ``graph`` before ``decompose``.
Establishes: no ``graph.linear``, ``graph.mm`` or ``graph.addmm`` of f32 multiplies
several rows by a matrix that depends on ``graph.static`` alone, is larger than half of
the second-level cache, and has a multiple of 16 columns. A ``graph.bmm`` multiplies the
rows by each panel of it.

Before::

    %0 = "graph.linear"(%x, %w, %b) : (tensor<128x768xf32>, tensor<3072x768xf32>,
        tensor<3072xf32>) -> tensor<128x3072xf32>

After::

    %0 = "graph.reshape"(%w) : (tensor<3072x768xf32>) -> tensor<48x64x768xf32>
    %1 = "graph.permute"(%0) {permutation = array<i64: 0, 2, 1>} : ...
    %2 = "graph.extern"(%1) {op = "aten.clone.default", ...} : ...
    %3 = "graph.broadcast_to"(%x) : (tensor<128x768xf32>) -> tensor<48x128x768xf32>
    %4 = "graph.bmm"(%3, %2) : ... -> tensor<48x128x64xf32>
    %5 = "graph.permute"(%4) {permutation = array<i64: 1, 0, 2>} : ...
    %6 = "graph.reshape"(%5) : (tensor<128x48x64xf32>) -> tensor<128x3072xf32>
    %7 = "graph.add"(%6, %b) : ...

It leaves one row to ``write-out-vector-products``, and what the library multiplies in
less precision.
"""

from __future__ import annotations

from girih.dialects import keys
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, product
from girih.passes.constant_values import constant_values
from girih.passes.graph_builder import GraphBuilder
from girih.passes.panels import LARGE, PanelOptions, columns_of, in_panels, multiply
from girih.passes.registry import register_pass
from girih.passes.select_products import Product, product_of


@register_pass("pack-products", options=PanelOptions)
def run(op: ir.Operation, options: PanelOptions) -> None:
    """Gives large products their weights in panels."""
    for function in op.regions[0].blocks[0].operations:
        is_function = function.operation.name == "func.func"
        if is_function and keys.DEVICE not in function.attributes:
            _pack_in(function, options)


def _pack_in(function: ir.OpView, options: PanelOptions) -> None:
    if not len(function.regions[0].blocks):
        return
    block, constants = function.regions[0].blocks[0], constant_values(function)
    for op in list(block.operations):
        found = product_of(op)
        if found is not None and found.weight in constants:
            columns = _columns(found, options)
            if columns is not None:
                _replace(op, found, columns)


def _columns(found: Product, options: PanelOptions) -> int | None:
    """Columns of a panel, where panels are worth while."""
    *outer, depth = ty.shape_of(found.x.type)
    shape = ty.shape_of(found.weight.type)
    columns = shape[1 if found.turned else 0]
    if any(isinstance(size, Dim) for size in shape) or product(outer) in (0, 1):
        return None
    if columns * depth < LARGE:
        return None
    return columns_of(columns, depth, options)


def _replace(op: ir.OpView, found: Product, columns: int) -> None:
    b, weight = GraphBuilder(op), found.weight
    if found.turned:
        weight = b.op("permute", weight, permutation=(1, 0))
    shape = ty.shape_of(op.results[0].type)
    x = b.reshape(found.x, (product(shape[:-1]), ty.shape_of(found.x.type)[-1]))
    y = b.reshape(multiply(b, x, in_panels(b, weight, columns)), shape)
    b.replace(op, y if found.bias is None else b.op("add", y, found.bias))
