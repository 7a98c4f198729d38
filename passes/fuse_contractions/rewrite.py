"""Replaces products, and the fusion that reads them, by one fusion."""

from __future__ import annotations

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS
from girih.passes.fuse_contractions.choice import TUNING
from girih.passes.fuse_contractions.epilogue import Group
from girih.passes.fuse_contractions.products import Product
from girih.passes.fuse_contractions.region import ContractionRegion
from girih.passes.graph_builder import make_fusion
from girih.passes.tile.contraction import CHOSEN


def replace_group(group: Group) -> None:
    """Replaces the products of a group and the fusion that follows them."""
    last = group.products[0].op if group.fusion is None else group.fusion
    prologues = group.prologues
    holder = ir.Operation.create(
        "graph.fusion", regions=1, loc=last.location, ip=ir.InsertionPoint(last)
    )
    block = holder.regions[0].blocks.append()
    region = ContractionRegion(group, block)
    yielded = region.build()
    attributes = {"domain": region.domain, "reduced": (0,)}
    fusion = make_fusion(holder, region.inputs, yielded, attributes, last)
    tuning = _tuning(group.products[0])
    if tuning is not None:
        fusion.attributes[TUNING] = tuning
    _redirect(group, fusion, last)
    for op in (group.fusion, *(product.op for product in group.products)):
        if op is not None:
            op.operation.erase()
    for each in prologues:
        each.erase()


def _tuning(product: Product) -> ir.Attribute | None:
    """What ``tile`` is told: what was measured; that it is to see a product.

    It would not of float32, nor with a vector: other sums of products are left alone.
    """
    if TUNING in product.op.attributes:
        return product.op.attributes[TUNING]
    if product.shape[-2] != 1 and product.is_half:
        return None
    i64 = ir.IntegerType.get_signless(64)
    return ir.DictAttr.get({CHOSEN: ir.IntegerAttr.get(i64, 1)})


def _redirect(group: Group, fusion: ir.Operation, last: ir.OpView) -> None:
    """Has everything read the new fusion's results, without the summands' dim."""
    old = [] if group.fusion is None else list(group.fusion.results)
    old += [p.result for p in group.products if p in group.shared]
    if group.fusion is None:
        old = [product.result for product in group.products]
    for value, result in zip(old, fusion.results, strict=True):
        shape = ty.shape_of(value.type)
        if ty.shape_of(result.type) != shape:
            result = (
                OPS["graph.reshape"]
                .build(
                    [result],
                    results=[ty.tensor_type(shape, value.type.element_type)],
                    loc=last.location,
                    ip=ir.InsertionPoint(last),
                )
                .results[0]
            )
        value.replace_all_uses_with(result)
