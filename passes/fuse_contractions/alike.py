"""Products of one left operand that share a kernel though nothing reads them together.

The projections of keys and values, say. Where there are few rows, half of a product's
time passes before its kernel is at work. In bf16 (H200, 2026-11-28, weights not in the
cache): a row of 2048 by two of 2048 x 512 4.4 us, apart 5.5, by three of 2048 x 2048
10.4 (15.0), a row of 4096 by three of 4096 x 4096 32.7 (36.6). Of 8 rows, by two of
2048 x 512 6.5 (9.7), of 4096 x 1024 10.8 (15.8), by three of 768 x 768 7.2 (10.9). But
8 rows by three of 2048 x 2048 21.7 (17.5): one of them occupies all processors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import VIEW
from girih.passes.fuse_contractions.choice import (
    LIBRARY,
    TUNING,
    ContractionOptions,
    is_chosen,
)
from girih.passes.fuse_contractions.epilogue import Group, group_of, is_alike
from girih.passes.fuse_contractions.products import Product, product_of
from girih.passes.tile.sizes import known

MOST_COLUMNS = 2304
"""Of products of several rows that share a kernel, in all."""


def with_alike(
    group: Group, others: Iterable[ir.OpView], options: ContractionOptions
) -> Group:
    """The group of a product that stands alone, with those of the ops like it.

    What they read is moved before the first one, where their kernel stands.
    """
    (first, *more) = group.products
    if more or group.fusion is not None or not _may_join(first, options):
        return group
    most, joined = _most(first, options), [first]
    for op in others:
        product = product_of(op)
        is_joined = (
            len(joined) < most
            and product.lhs == first.lhs
            and is_alike(product, first)
            and _may_join(product, options)
            and group_of(product).fusion is None
            and is_chosen(Group((product,)), options)
        )
        if is_joined and _move_before(first.op, product):
            joined.append(product)
    return replace(group, products=tuple(joined))


def _most(product: Product, options: ContractionOptions) -> int:
    """How many products like this one share a kernel."""
    *_, rows, columns = product.shape
    if rows == 1:
        return options.most_alike
    return min(options.most_alike, MOST_COLUMNS // known(columns, MOST_COLUMNS))


def _may_join(product: Product, options: ContractionOptions) -> bool:
    """Whether nobody has measured a product, and it has few rows."""
    *batch, rows, _ = product.shape
    is_narrow = isinstance(rows, int) and rows <= options.narrow_rows
    attributes = product.op.attributes
    is_measured = TUNING in attributes or LIBRARY in attributes
    return is_narrow and not batch and not is_measured


def _move_before(place: ir.OpView, product: Product) -> bool:
    """Has all that a product reads made before an op, if views are all it takes."""
    views: list[ir.OpView] = []
    pending = [product.rhs, *([] if product.bias is None else [product.bias])]
    while pending:
        value = pending.pop()
        if isinstance(value.owner, ir.Block):
            continue
        maker = value.owner.opview
        if maker.operation.is_before_in_block(place.operation):
            continue
        if not has(maker, VIEW):
            return False
        views.append(maker)
        pending += maker.operands
    for view in reversed(views):
        if not view.operation.is_before_in_block(place.operation):
            view.operation.move_before(place.operation)
    return True
