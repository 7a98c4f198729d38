"""What follows a product: the pointwise fusion that reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has, role_of
from girih.dialects.traits import BIJECTIVE, ELEMENTWISE, Role
from girih.passes.fuse_contractions.products import Product, product_of
from girih.passes.fuse_contractions.prologue import Prologue, prologue_of


@dataclass(frozen=True)
class View:
    """How a fusion reads a product: ``steps`` give ``value``, of the domain's shape."""

    value: ir.Value
    steps: tuple[ir.OpView, ...]

    @property
    def keeps_order(self) -> bool:
        """Whether elements lie as in the product."""
        return all(step.operation.name == "graph.reshape" for step in self.steps)


@dataclass(frozen=True)
class Group:
    """Products that become one kernel, with what follows them.

    Attributes:
        products: of equal sizes, in the order of the fusion's operands.
        fusion: what reads them; None where nothing does that can be fused.
        views: how it reads each product; none where there is no fusion.
        shared: the products that others read too.
        computes_left: whether the kernel may compute left operands.
    """

    products: tuple[Product, ...]
    fusion: ir.OpView | None = None
    views: tuple[View, ...] = ()
    shared: frozenset[Product] = frozenset()
    computes_left: bool = True

    @property
    def prologues(self) -> list[Prologue]:
        """What makes operands of products, where that is fused too."""
        operands = [(p, v) for p in self.products for v in (p.lhs, p.rhs)]
        left = self.computes_left
        found = [prologue_of(p, v, computes_left=left) for p, v in operands]
        return [each for each in found if each is not None]


def group_of(product: Product) -> Group:
    """The product with what can be fused with it: a fusion, and its other products."""
    alone = Group((product,))
    fusion = _first_reader(product.result)
    if fusion is None or fusion.operation.name != "graph.fusion" or fusion.reduced:
        return alone
    products = [product_of(o) for o in _owners(fusion.operands)]
    products = [p for p in products if p is not None and is_alike(p, product)]
    products = [p for p in products if _first_reader(p.result) == fusion]
    views = [_view(p, fusion) for p in products]
    pairs = [(p, v) for p, v in zip(products, views, strict=True) if v is not None]
    shared = frozenset(p for p, v in pairs if _is_read_elsewhere(p, fusion))
    pairs = [(p, v) for p, v in pairs if p not in shared or v.keeps_order]
    if all(p.op != product.op for p, _ in pairs):
        return alone
    kept, views = zip(*pairs, strict=True)
    if not _all_depend(fusion, views):
        return alone
    return Group(kept, fusion, views, shared & set(kept))


def _owners(values: Iterable[ir.Value]) -> list[ir.OpView]:
    """The ops that make values, each once."""
    owners = {v.owner: None for v in values if not isinstance(v.owner, ir.Block)}
    return [owner.opview for owner in owners]


def is_alike(product: Product, other: Product) -> bool:
    """Whether two products have equal sizes and elements, and stand in one block."""
    return (
        product.shape == other.shape
        and product.depth == other.depth
        and product.element == other.element
        and product.op.operation.block == other.op.operation.block
    )


def _first_reader(value: ir.Value) -> ir.OpView | None:
    """The first op of the block that reads a value; None where there is none."""
    readers = [use.owner for use in value.uses]
    if not readers:
        return None
    if any(reader.operation.block != value.owner.operation.block for reader in readers):
        return None
    first = readers[0].operation
    for reader in readers[1:]:
        if reader.operation.is_before_in_block(first):
            first = reader.operation
    return first.opview


def _is_read_elsewhere(product: Product, fusion: ir.OpView) -> bool:
    return any(use.owner != fusion for use in product.result.uses)


def _view(product: Product, fusion: ir.OpView) -> View | None:
    """How a fusion reads a product, if it reads all of it, in one way."""
    places = [n for n, v in enumerate(fusion.operands) if v == product.result]
    block = fusion.regions[0].blocks[0]
    if len(places) != 1:
        return None
    value, steps = block.arguments[places[0]], []
    while True:
        readers = [use.owner.opview for use in value.uses]
        if all(map(_is_anchored, readers)):
            break
        if len(readers) != 1 or not has(readers[0], BIJECTIVE):
            return None
        steps.append(readers[0])
        value = readers[0].results[0]
    if ty.shape_of(value.type) != tuple(fusion.domain):
        return None
    return View(value, tuple(steps))


def _is_anchored(op: ir.OpView) -> bool:
    """Whether an op reads its operands at the points of the domain."""
    return has(op, ELEMENTWISE) or role_of(op) is Role.STRUCTURE


def _all_depend(fusion: ir.OpView, views: Iterable[View]) -> bool:
    """Whether all that a fusion yields is computed from the products."""
    known = {view.value for view in views}
    *body, last = fusion.regions[0].blocks[0].operations
    for op in body:
        if any(value in known for value in op.operands):
            known.update(op.results)
    return all(value in known for value in last.operands)
