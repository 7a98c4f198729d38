"""What moves, converts, selects or sums the parts, each by itself.

Views and copies of tensors whose parts nobody has made stay what they are: they cost
nothing, or as much as they would cost here.
"""

from collections.abc import Callable
from typing import Any

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import product
from girih.passes.write_out_complex.rules import (
    VIEW_AS_COMPLEX,
    VIEW_AS_REAL,
    Parts,
    PartsBuilder,
    part_of,
    writes_out,
)

# Borders --------------------------------------------------------------------------


@writes_out(VIEW_AS_COMPLEX)
def write_view_as_complex(op, b: PartsBuilder) -> Parts:
    """The parts are the elements of the last dim."""
    return b.halves(op.inputs[0])


@writes_out(VIEW_AS_REAL)
def write_view_as_real(op, b: PartsBuilder) -> ir.Value | None:
    """Both parts beside each other."""
    (x,) = op.inputs
    return b.pairs(b.parts(x, part_of(x))) if b.is_known(x) else None


# Views and copies -----------------------------------------------------------------


@writes_out("broadcast_to", "reshape")
def write_reshape(op, b: PartsBuilder) -> Parts | None:
    """A view of each part."""
    shape = ty.shape_of(op.results[0].type)
    name = op.operation.name.removeprefix("graph.")
    return _each(op, b, lambda part: b.typed(name, [part], shape, _element(part)))


@writes_out("flip", "permute", "slice")
def write_view(op, b: PartsBuilder) -> Parts | None:
    """A view of each part."""
    return _each(op, b, lambda part: _like(op, b, [part]))


@writes_out("gather", "take")
def write_take(op, b: PartsBuilder) -> Parts | None:
    """Elements of each part, at the same places."""
    return _each(op, b, lambda part: _like(op, b, [part, op.index]))


@writes_out("aten.clone.default", "aten.alias.default")
def write_clone(op, b: PartsBuilder) -> Parts | None:
    """The same values."""
    return _each(op, b, lambda part: part)


def _each(op, b: PartsBuilder, rebuild: Callable[[ir.Value], ir.Value]) -> Parts | None:
    """The parts of the first operand, rebuilt, if an op before made them."""
    x = op.operands[0]
    if not b.is_known(x):
        return None
    return Parts(*map(rebuild, b.parts(x, part_of(x))))


def _element(value: ir.Value) -> ir.Type:
    return value.type.element_type


def _like(op, b: PartsBuilder, operands: list[ir.Value]) -> ir.Value:
    """The same op of real operands."""
    attributes = {name: getattr(op, name) for name in type(op).ATTRIBUTES}
    shape = ty.shape_of(op.results[0].type)
    name = op.operation.name.removeprefix("graph.")
    return b.typed(name, operands, shape, _element(operands[0]), **attributes)


@writes_out("concat")
def write_concat(op, b: PartsBuilder) -> Parts | None:
    """The parts after each other."""
    return _joined(b, list(op.inputs), op.results[0], op.dim)


@writes_out("aten.cat.default")
def write_cat(op, b: PartsBuilder) -> Parts | None:
    """The parts after each other."""
    values = b.arguments()
    if values is None:
        return None
    tensors, dim = values if len(values) == 2 else (values[0], 0)
    rank = len(ty.shape_of(op.results[0].type))
    same = all(len(ty.shape_of(x.type)) == rank for x in tensors)
    return _joined(b, tensors, op.results[0], dim % rank) if same and rank else None


@writes_out("aten.stack.default")
def write_stack(op, b: PartsBuilder) -> Parts | None:
    """The parts after each other, in a new dim."""
    values = b.arguments()
    if values is None or not b.is_known(*values[0]):
        return None
    tensors, dim = values if len(values) == 2 else (values[0], 0)
    dim %= len(ty.shape_of(op.results[0].type))
    element = part_of(op.results[0])
    rows = []
    for x in tensors:
        shape = ty.shape_of(x.type)
        wide = (*shape[:dim], 1, *shape[dim:])
        rows.append(Parts(*(b.reshape(part, wide) for part in b.parts(x, element))))
    return _concatenated(b, rows, dim)


def _joined(
    b: PartsBuilder, tensors: list[ir.Value], result: ir.Value, dim: int
) -> Parts | None:
    if not b.is_known(*tensors):
        return None
    rows = [b.parts(x, part_of(result)) for x in tensors]
    return _concatenated(b, rows, dim)


def _concatenated(b: PartsBuilder, rows: list[Parts], dim: int) -> Parts:
    columns = zip(*rows, strict=True)
    return Parts(*(b.concat(list(column), dim) for column in columns))


# Values ---------------------------------------------------------------------------


@writes_out("constant", "full")
def write_number(op, b: PartsBuilder) -> Parts:
    """A number in each part."""
    return b.parts(op.value, part_of(op.results[0]))


@writes_out("cast", "aten._to_copy.default")
def write_cast(op, b: PartsBuilder) -> Parts | None:
    """A cast of each part; of real numbers, which have no imaginary part."""
    values = b.arguments("dtype", "memory_format")
    result = op.results[0]
    if values is None or not ty.is_complex(_element(result)):
        return None
    (x,) = values
    if _element(x) == _element(result) and not b.is_known(x):
        return None
    return b.parts(x, part_of(result))


@writes_out("where", "aten.where.self")
def write_where(op, b: PartsBuilder) -> Parts | None:
    """A selection of each part."""
    values = b.arguments()
    if values is None:
        return None
    condition, *operands = values
    element = part_of(op.results[0])
    first, second = (b.parts(x, element) for x in operands)
    pairs = zip(first, second, strict=True)
    return Parts(*(b.op("where", condition, *pair) for pair in pairs))


# Sums -----------------------------------------------------------------------------


@writes_out("reduce_sum")
def write_reduce_sum(op, b: PartsBuilder) -> Parts:
    """A sum of each part."""
    parts = b.parts(op.operands[0], part_of(op.results[0]))
    return Parts(*(b.op("reduce_sum", part, dims=op.dims) for part in parts))


@writes_out("aten.sum.default", "aten.sum.dim_IntList")
def write_sum(op, b: PartsBuilder) -> Parts | None:
    """A sum of each part."""
    found = _summed(op, b)
    return None if found is None else found[0]


@writes_out("aten.mean.default", "aten.mean.dim")
def write_mean(op, b: PartsBuilder) -> Parts | None:
    """The sum of each part over the number of elements."""
    found = _summed(op, b)
    if found is None:
        return None
    parts, count = found
    divisor = b.count([count], part_of(op.results[0]))
    return Parts(*(b.op("div", part, divisor) for part in parts))


def _summed(op, b: PartsBuilder) -> tuple[Parts, Any] | None:
    """The sums, and how many elements each is of."""
    values = b.arguments()
    if values is None or not ty.is_complex(_element(values[0])):
        return None
    x, dims, *_ = (*values, None)
    shape = ty.shape_of(x.type)
    rank, result = len(shape), op.results[0]
    dims = sorted({dim % rank for dim in dims}) if dims else [*range(rank)]
    if _element(x) != _element(result):
        return None
    parts = b.parts(x, part_of(x))
    if dims:
        parts = [b.op("reduce_sum", part, dims=tuple(dims)) for part in parts]
    sums = Parts(*(b.reshape(part, ty.shape_of(result.type)) for part in parts))
    return sums, product([shape[dim] for dim in dims])
