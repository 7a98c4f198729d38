"""Views: identities, pairs of one kind, views of constants and counters."""

from girih.dialects import types as ty
from girih.dialects.attributes import Dim
from girih.dialects.bindings import ir
from girih.dialects.definition import rule_name
from girih.passes.canonicalize_graph.rules import Simplifier, canonicalizes
from girih.passes.graph_builder import has_one_use


def _shape(value: ir.Value) -> tuple:
    return ty.shape_of(value.type)


@canonicalizes("broadcast_to", "flip", "permute", "reshape", "slice", "window")
def fold_view_of_number(op, b: Simplifier) -> ir.Value | None:
    """A view of equal elements has these elements."""
    number = b.number(op.x)
    return None if number is None else b.filled(number, op.y.type)


@canonicalizes("broadcast_to", "reshape")
def drop_identity_view(op, b: Simplifier) -> ir.Value | None:
    """A view that gives the same shape."""
    return op.x if op.x.type == op.y.type else None


@canonicalizes("broadcast_to", "reshape")
def merge_views(op, b: Simplifier) -> ir.Value | None:
    """A reshape of a reshape, a broadcast of a broadcast: the last one counts."""
    name = rule_name(op)
    inner = b.producer(op.x, name)
    if inner is None:
        return None
    return b.typed(name, [inner.x], _shape(op.y), op.y.type.element_type)


@canonicalizes("permute")
def drop_identity_permute(op, b: Simplifier) -> ir.Value | None:
    """A permutation that moves only dims of size 1 is a reshape."""
    shape, order = _shape(op.x), op.permutation
    moved = [dim for dim in order if shape[dim] != 1]
    if moved != sorted(moved):
        return None
    return b.reshape(op.x, _shape(op.y))


@canonicalizes("permute")
def merge_permutes(op, b: Simplifier) -> ir.Value | None:
    """A permutation of a permutation."""
    inner = b.producer(op.x, "permute")
    if inner is None:
        return None
    order = tuple(inner.permutation[dim] for dim in op.permutation)
    return b.op("permute", inner.x, permutation=order)


@canonicalizes("slice")
def drop_identity_slice(op, b: Simplifier) -> ir.Value | None:
    """A slice of everything."""
    is_all = op.x.type == op.y.type and all(start == 0 for start in op.starts)
    return op.x if is_all else None


@canonicalizes("slice")
def merge_slices(op, b: Simplifier) -> ir.Value | None:
    """A slice of a slice."""
    inner = b.producer(op.x, "slice")
    if inner is None:
        return None
    pairs = zip(inner.starts, inner.steps, op.starts, strict=True)
    starts = tuple(start + step * offset for start, step, offset in pairs)
    steps = tuple(x * y for x, y in zip(inner.steps, op.steps, strict=True))
    return _slice(b, inner.x, _shape(op.y), starts, steps)


@canonicalizes("slice")
def slice_of_concat(op, b: Simplifier) -> ir.Value | None:
    """A slice that lies within one operand of a concat is a slice of that operand."""
    concat = b.producer(op.x, "concat")
    if concat is None:
        return None
    dim, starts = concat.dim, op.starts
    found = _operand_around(concat, starts[dim], op.steps[dim], _shape(op.y)[dim])
    if found is None:
        return None
    operand, offset = found
    inside = (*starts[:dim], starts[dim] - offset, *starts[dim + 1 :])
    return _slice(b, operand, _shape(op.y), inside, op.steps)


@canonicalizes("slice")
def slice_of_insert(op, b: Simplifier) -> ir.Value | None:
    """The slice that was replaced is what has replaced it."""
    insert = b.producer(op.x, "insert")
    if insert is None or insert.part.type != op.y.type:
        return None
    is_same = _box(insert, op.y) == _box(op, op.y)
    return insert.part if is_same else None


@canonicalizes("insert")
def replace_what_was_inserted(op, b: Simplifier) -> ir.Value | None:
    """The first of two inserts at one place is gone."""
    inner = b.producer(op.x, "insert")
    # What others read stays, and would then be a copy of the whole.
    if inner is None or not has_one_use(op.x) or inner.part.type != op.part.type:
        return None
    if _box(inner, op.part) != _box(op, op.part):
        return None
    box = {"starts": tuple(op.starts), "steps": tuple(op.steps)}
    return b.op("insert", inner.x, op.part, **box)


def _box(op, part: ir.Value) -> tuple:
    """Where a part lies; a step of one element does not count."""
    sizes = zip(op.steps, _shape(part), strict=True)
    return tuple(op.starts), tuple(1 if size == 1 else step for step, size in sizes)


def _operand_around(concat, start, step: int, count):
    """Returns the operand in which all of a slice lies, and where it begins."""
    offset = 0
    for operand in concat.operands:
        size = _shape(operand)[concat.dim]
        if start == offset and count == size and step == 1:
            return operand, offset
        sizes = (start, count, size, offset)
        if any(isinstance(value, Dim) for value in sizes):
            offset = offset + size
            continue
        last = start + step * max(count - 1, 0)
        if offset <= start and last < offset + size:
            return operand, offset
        offset += size
    return None


def _slice(b: Simplifier, x: ir.Value, shape, starts, steps) -> ir.Value:
    if shape == _shape(x) and all(start == 0 for start in starts):
        return x
    element = x.type.element_type
    return b.typed("slice", [x], shape, element, starts=starts, steps=steps)


@canonicalizes("slice")
def slice_of_iota(op, b: Simplifier) -> ir.Value | None:
    """A slice of a counter is a counter."""
    counter = b.producer(op.x, "iota")
    if counter is None or not isinstance(op.starts[0], int):
        return None
    element = op.y.type.element_type
    numbers = (counter.start, counter.step)
    if not ty.is_integer(element) or not all(isinstance(n, int) for n in numbers):
        return None
    start = counter.start + counter.step * op.starts[0]
    step = counter.step * op.steps[0]
    return b.typed("iota", [], _shape(op.y), element, start=start, step=step)


@canonicalizes("window")
def windows_side_by_side(op, b: Simplifier) -> ir.Value | None:
    """Windows that have each element of x once are x with a dim split."""
    shape, dim = _shape(op.y), op.dim
    count, length = shape[dim], shape[-1]
    if op.step != length or count * length != _shape(op.x)[dim]:
        return None
    split = b.reshape(op.x, (*shape[:dim], count, length, *shape[dim + 1 : -1]))
    order = (*range(dim + 1), *range(dim + 2, len(shape)), dim + 1)
    return b.op("permute", split, permutation=order)


@canonicalizes("concat")
def drop_empty_operands(op, b: Simplifier) -> ir.Value | None:
    """Operands without elements add nothing; a single operand is the result."""
    kept = [x for x in op.operands if _shape(x)[op.dim] != 0]
    if len(kept) == len(op.operands) > 1:
        return None
    if len(kept) <= 1:
        return kept[0] if kept else op.operands[0]
    return b.op("concat", kept, dim=op.dim)


@canonicalizes("concat")
def concat_of_numbers(op, b: Simplifier) -> ir.Value | None:
    """Equal elements one after the other."""
    first = b.number(op.operands[0])
    if first is None or isinstance(first, float) and not first:
        return None
    if any(b.number(operand) != first for operand in op.operands):
        return None
    return b.filled(first, op.y.type)


@canonicalizes("pad")
def drop_empty_pad(op, b: Simplifier) -> ir.Value | None:
    """Padding by nothing."""
    return op.x if all(width == 0 for width in (*op.low, *op.high)) else None


@canonicalizes("flip")
def drop_identity_flip(op, b: Simplifier) -> ir.Value | None:
    """Flipping dims of size 1 at most."""
    shape = _shape(op.x)
    moved = [dim for dim in op.dims if shape[dim] not in (0, 1)]
    return None if moved else op.x


@canonicalizes("flip")
def merge_flips(op, b: Simplifier) -> ir.Value | None:
    """A flip of a flip: dims flipped twice are not flipped."""
    inner = b.producer(op.x, "flip")
    if inner is None:
        return None
    dims = tuple(sorted({*inner.dims} ^ {*op.dims}))
    return b.op("flip", inner.x, dims=dims) if dims else inner.x
