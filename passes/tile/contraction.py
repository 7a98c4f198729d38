"""Which kernels are products of matrices: sums of products of two operands.

A kernel is one where each reduction sums ``a * b``, a varies over rows, b over columns,
both over the reduced coordinates (and both over a batch, if there is one). What is
computed of the sums afterwards, and of the operands before, may be anything. Products
with a vector have no rows.
"""

from dataclasses import dataclass

from girih.passes.tile.cost import is_irregular
from girih.passes.tile.elements import Element
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import ComputeNode, LoadNode, Node, ReduceNode, sources_of
from girih.passes.tile.sizes import is_constant
from girih.passes.tile.subject import Subject

Coordinates = tuple[Coordinate, ...]
CHOSEN = "product"
"""An entry of ``girih.tuning``: the kernel was made of a product."""


@dataclass(frozen=True, slots=True)
class Product:
    """``sum`` is the sum of ``a * b`` over the reduced coordinates.

    Attributes:
        a: varies over rows, not over columns.
        b: varies over columns, not over rows.
    """

    sum: ReduceNode
    a: Node
    b: Node

    @property
    def element(self) -> Element:
        """The element type of both operands."""
        return self.a.element


@dataclass(frozen=True, slots=True)
class Contraction:
    """The products of a kernel, and what they vary over.

    Attributes:
        batch: coordinates of a and b, outermost first.
        rows: coordinates of a alone; none where a is a vector.
        columns: coordinates of b alone.
        depth: the reduced coordinates.
    """

    products: tuple[Product, ...]
    batch: Coordinates
    rows: Coordinates
    columns: Coordinates
    depth: Coordinates

    @property
    def bits(self) -> int:
        """The width of the operands' elements."""
        return self.products[0].element.bits

    def turned(self) -> "Contraction":
        """The transposed products: rows for columns."""
        swapped = tuple(Product(p.sum, p.b, p.a) for p in self.products)
        return Contraction(swapped, self.batch, self.columns, self.rows, self.depth)


def contraction_of(subject: Subject) -> Contraction | None:
    """The products that a kernel consists of; None where it does anything else."""
    formula, reductions = subject.formula, subject.reductions
    products = [_product(node, subject) for node in reductions]
    if not products or None in products:
        return None
    reduced = frozenset(formula.reduced)
    if any(store.coordinates & reduced for store in formula.stores):
        return None
    found = _space(products[0], subject)
    if found is None or not _share(products, found):
        return None
    products = [_aligned(each, found) for each in products]
    found = Contraction(tuple(products), *_parts(found))
    if not found.rows:
        return found
    is_turned = not found.columns or _is_turned(subject, found)
    return found.turned() if is_turned else found


def _parts(found: Contraction) -> tuple[Coordinates, ...]:
    return found.batch, found.rows, found.columns, found.depth


def _product(node: ReduceNode, subject: Subject) -> Product | None:
    """The product that a reduction sums up, if the target multiplies such elements."""
    operand = _unrounded(node.operands[0])
    is_product = isinstance(operand, ComputeNode) and operand.name == "mul"
    if node.name != "reduce_sum" or not is_product or node.level != 1:
        return None
    a, b = (_narrow(each) for each in operand.operands)
    if a.element != b.element and subject.options.target == "cpu":
        a, b = operand.operands
    is_precise = subject.options.allow_tf32 or CHOSEN in subject.source.tuning
    widths = (16, 32) if is_precise else (16,)
    if subject.options.target == "cpu":
        widths = (16, 32, 64)
    fits = a.element == b.element and a.element.is_float and a.element.bits in widths
    if not fits or any(_is_looked_up(each, subject) for each in (a, b)):
        return None
    return Product(node, a, b)


def _unrounded(node: Node) -> Node:
    """A sum's operand without a cast to a wider type, which changes nothing."""
    return node.operands[0] if _is_widening(node) else node


def _narrow(node: Node) -> Node:
    """The operand of a product before it was cast to a wider type."""
    while _is_widening(node):
        (node,) = node.operands
    return node


def _is_widening(node: Node) -> bool:
    if not isinstance(node, ComputeNode) or node.name != "cast":
        return False
    (source,) = node.operands
    both = source.element.is_float and node.element.is_float
    return both and node.element.bits > source.element.bits


def _is_looked_up(node: Node, subject: Subject) -> bool:
    """True where an operand is read at places that the program only finds."""
    pending = [node]
    while pending:
        node = pending.pop()
        if isinstance(node, LoadNode):
            along = subject.formula.parallel + subject.formula.reduced
            if any(is_irregular(node.offset, coordinate) for coordinate in along):
                return True
        pending += sources_of(node)
    return False


def _space(first: Product, subject: Subject) -> Contraction | None:
    """What the first product varies over; None where that is not a product's."""
    formula, own, other = subject.formula, first.a.coordinates, first.b.coordinates
    reduced = frozenset(formula.reduced)
    if not reduced or not reduced <= own & other:
        return None
    if frozenset(formula.parallel) != (own | other) - reduced:
        return None

    def among(coordinates: frozenset[Coordinate]) -> Coordinates:
        return tuple(c for c in formula.parallel if c in coordinates)

    rows, columns = among(own - other), among(other - own)
    if not rows and not columns:
        return None
    return Contraction((), among(own & other), rows, columns, formula.reduced)


def _share(products: list[Product], found: Contraction) -> bool:
    """True where all products have the rows and columns of the first."""
    outer = {frozenset(found.batch + found.depth + own) for own in _sides(found)}
    return all(
        {each.a.coordinates, each.b.coordinates} == outer
        and each.element == products[0].element
        for each in products
    )


def _sides(found: Contraction) -> tuple[Coordinates, Coordinates]:
    return found.rows, found.columns


def _aligned(each: Product, found: Contraction) -> Product:
    own = each.a.coordinates
    if frozenset(found.rows) <= own and not frozenset(found.columns) & own:
        return each
    return Product(each.sum, each.b, each.a)


def _is_turned(subject: Subject, found: Contraction) -> bool:
    """True where results lie along what a varies over."""
    columns = frozenset(found.columns)
    for store in subject.formula.stores:
        for coordinate in found.rows:
            if is_constant(store.offset.coefficient(coordinate), 1):
                return True
        if any(is_constant(store.offset.coefficient(c), 1) for c in columns):
            return False
    return False
