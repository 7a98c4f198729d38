"""Products of all elements but one, which are the derivative of a product."""

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, product
from girih.passes.autograd.rules import VjpBuilder

Pair = tuple[ir.Value, ir.Value]


def products_of_others(
    b: VjpBuilder, x: ir.Value, y: ir.Value, dims: Sequence[int]
) -> ir.Value:
    """For each element of x the product of the others along ``dims``.

    [Note: derivatives of products] One pass over x tells it: y / x, but for a zero the
    product of what is not zero, if it is the only one. As a formula that is right only
    where it stands: its own derivative would lose what two zeros give. So the op
    carries a derivative in which nothing is divided; it is used at second order only.

    Args:
        b: The builder.
        x: What is multiplied.
        y: The product over ``dims``.
        dims: Dims of x.
    """
    shape = ty.shape_of(x.type)
    if 0 in shape:
        return x
    if any(isinstance(shape[dim], Dim) for dim in dims):
        return _from_running_products(b, x, dims)
    value = _from_quotients(b, x, y, dims)
    made = b.make("custom_vjp", [[value], [x]])
    block = made.regions[0].blocks.append(x.type, arg_locs=[b.loc])
    inner = VjpBuilder(ir.InsertionPoint(block), frozenset())
    inner.loc = b.loc
    rows = Rows(inner, x, dims)
    _, tangent = _dual_products(inner, rows.of(x), rows.of(block.arguments[0]))
    inner.make("yield", [[rows.back(tangent)]])
    return made.results[0]


def _from_quotients(
    b: VjpBuilder, x: ir.Value, y: ir.Value, dims: Sequence[int]
) -> ir.Value:
    is_zero = b.op("eq", x, b.like(0.0, x))
    zeros = b.sum(b.cast(is_zero, x.type.element_type), dims)
    nonzero = b.where(is_zero, b.like(1.0, x), x)
    others = b.op("reduce_prod", nonzero, dims=tuple(dims))
    is_only = b.op("eq", zeros, b.like(1.0, x))
    return b.where(is_zero, b.masked(is_only, others), b.div(y, nonzero))


class Rows:
    """The dims of a product as the last dim of two, and back."""

    def __init__(self, b: VjpBuilder, x: ir.Value, dims: Sequence[int]):
        """Args: a builder; a tensor and those of its dims that are multiplied."""
        shape = ty.shape_of(x.type)
        kept = [dim for dim in range(len(shape)) if dim not in dims]
        self._builder = b
        self._order = [*kept, *dims]
        self._ordered = [shape[dim] for dim in self._order]
        counts = ([shape[dim] for dim in part] for part in (kept, dims))
        self._shape = tuple(product(sizes) for sizes in counts)

    def of(self, x: ir.Value) -> ir.Value:
        """The rows of a tensor."""
        return self._builder.reshape(self._builder.permute(x, self._order), self._shape)

    def back(self, rows: ir.Value) -> ir.Value:
        """The tensor of rows."""
        ordered = self._builder.reshape(rows, self._ordered)
        inverse = sorted(range(len(self._order)), key=self._order.__getitem__)
        return self._builder.permute(ordered, inverse)


def _delayed(b: VjpBuilder, x: ir.Value, count: int, value: float) -> ir.Value:
    """The elements ``count`` places later in their row, ``value`` before them."""
    rows, size = ty.shape_of(x.type)
    attributes = {"starts": (0, 0), "steps": (1, 1)}
    shape = (rows, size - count)
    kept = b.typed("slice", [x], shape, x.type.element_type, **attributes)
    return b.op("pad", kept, low=(0, count), high=(0, 0), value=value)


def _dual_product(b: VjpBuilder, lhs: Pair, rhs: Pair) -> Pair:
    tangent = b.add(b.mul(lhs[0], rhs[1]), b.mul(lhs[1], rhs[0]))
    return b.mul(lhs[0], rhs[0]), tangent


def _dual_prefixes(b: VjpBuilder, x: ir.Value, direction: ir.Value) -> Pair:
    """The products of what stands before each element, and their change."""
    size = ty.shape_of(x.type)[1]

    def delayed(pair: Pair, count: int) -> Pair:
        return _delayed(b, pair[0], count, 1.0), _delayed(b, pair[1], count, 0.0)

    found, step = delayed((x, direction), min(size, 1)), 1
    while step < size:
        found = _dual_product(b, found, delayed(found, step))
        step *= 2
    return found


def _dual_products(b: VjpBuilder, x: ir.Value, direction: ir.Value) -> Pair:
    """The products of the others, and how they change if x moves in a direction.

    Their Jacobian is symmetric, so the change is also the gradient of
    sum(direction * products).
    """
    before = _dual_prefixes(b, x, direction)
    backwards = [b.op("flip", value, dims=(1,)) for value in (x, direction)]
    behind = _dual_prefixes(b, *backwards)
    turned = [b.op("flip", value, dims=(1,)) for value in behind]
    return _dual_product(b, before, (turned[0], turned[1]))


def _from_running_products(b: VjpBuilder, x: ir.Value, dims: Sequence[int]) -> ir.Value:
    """The same of rows whose size is not known: a scan multiplies step by step."""
    rows = Rows(b, x, dims)
    ordered = rows.of(x)
    before = _running_product(b, ordered)
    behind = _running_product(b, b.op("flip", ordered, dims=(1,)))
    return rows.back(b.mul(before, b.op("flip", behind, dims=(1,))))


def _running_product(b: VjpBuilder, x: ir.Value) -> ir.Value:
    return b.op("cumprod", _delayed(b, x, 1, 1.0), dim=1)
