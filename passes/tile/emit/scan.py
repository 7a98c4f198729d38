"""Scans along vectors and across them: how one more element is taken in.

Running sums, products and logarithms of sums of f32 are accumulated in f64, as eager's
are. Along a vector the elements are combined in as many steps as its length has bits,
each with those that lie twice as far apart; what comes from the vectors before is added
at the end.
"""

from girih.passes.tile.elements import Element
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.fold import joined, start_of
from girih.passes.tile.nodes import ScanNode


def is_widened(node: ScanNode) -> bool:
    """Whether a scan is accumulated in f64, though its elements are f32."""
    return node.element.name == "f32" and not node.op.FOLD.joins.chooses


def accumulator_name(node: ScanNode) -> str:
    """The name of the type that a scan is accumulated in."""
    return "f64" if is_widened(node) else node.element.register_name


def initial(b: Builder, node: ScanNode) -> Value:
    """The accumulator before the first element, of the builder's width."""
    start = start_of(node.op.FOLD.joins.start, node.element)
    return b.constant(start, accumulator_name(node))


def take_in(
    b: Builder, node: ScanNode, accumulator: Value, value: Value, *, is_along: bool
) -> tuple[Value, Value]:
    """The scan at one more element, or along one more vector of them.

    Args:
        b: makes values of the accumulator's width.
        node: the scan.
        accumulator: all that comes before; the same in all lanes of a vector along the
            scan.
        value: the element, or one for each lane.
        is_along: whether the lanes lie along the scan.

    Returns:
        The scan's value and the next accumulator.
    """
    element, name = node.element, accumulator_name(node)
    is_wide = is_widened(node)
    if is_wide:
        value = b.op("arith.extf", name, value)
    if is_along:
        value = _along(b, node, value)
    result = following = _merged(b, node, accumulator, value)
    if is_along:
        last = [b.width - 1] * b.width
        if node.op.FOLD.joins.formula is not None:  # It takes longer than a shuffle.
            following = _shuffled(b, result, result, last)
        else:
            total = _shuffled(b, value, value, last)
            following = _merged(b, node, accumulator, total)
    if is_wide:
        result = b.op("arith.truncf", element.register_name, result)
    return result, following


def _along(b: Builder, node: ScanNode, value: Value) -> Value:
    """The scan of the lanes of a vector."""
    nothing, width, apart = initial(b, node), b.width, 1
    while apart < width:
        lanes = [i - apart if i >= apart else width for i in range(width)]
        value = _merged(b, node, _shuffled(b, value, nothing, lanes), value)
        apart *= 2
    return value


def _merged(b: Builder, node: ScanNode, lhs: Value, rhs: Value) -> Value:
    element: Element = node.element
    return joined(b, node.op.FOLD.joins, element, lhs, rhs)


def _shuffled(b: Builder, first: Value, second: Value, lanes: list[int]) -> Value:
    """Lanes of two vectors by number, those of the second after those of the first."""
    mask = b.parsed(f"array<i64: {', '.join(map(str, lanes))}>")
    return b.op("vector.shuffle", first.type, first, second, mask=mask)
