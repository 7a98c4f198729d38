"""Derivatives of attention: ATen's kernel, and formulas beyond the first order."""

from collections.abc import Sequence

from girih.dialects import attributes as attr
from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import product
from girih.passes.autograd.extern import calls
from girih.passes.autograd.rules import NotDifferentiable, VjpBuilder, vjp

BACKWARD = "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"


@vjp("attention")
def vjp_attention(op, cotangents, b: VjpBuilder) -> list:
    """By the kernel, or written out where the kernel gives no gradient.

    That is: of a mask, with a mask of bools, with fewer heads of keys than of queries.
    The sums' logarithms are for the kernel's use: no gradient comes through them.
    """
    g, by_logsumexp = cotangents
    if by_logsumexp is not None:
        raise NotDifferentiable(
            "girih can differentiate only the first result of "
            f"'{op.operation.name}', and the program needs the gradient of another one"
        )
    if op.dropout:
        raise NotDifferentiable(
            f"girih has no derivative of '{op.operation.name}' with dropout"
        )
    heads = [ty.shape_of(value.type)[1] for value in (op.query, op.key)]
    is_flag = op.mask is not None and ty.is_bool(op.mask.type.element_type)
    if is_flag or b.needs(op.mask) or heads[0] != heads[1]:
        return _written_out(op, g, b)
    results = [op.query, op.key, op.value]
    operands = [g, *results, op.y, op.logsumexp]
    keywords = {"scale": op.scale}
    if op.mask is not None:
        keywords["attn_mask"] = OperandRef(len(operands))
        operands.append(op.mask)
    made = b.make(
        "extern",
        [operands],
        {
            "op": BACKWARD,
            "args": [*map(OperandRef, range(6)), 0.0, op.causal],
            "kwargs": keywords,
            "strides": [positions_first(value) for value in results],
            "operand_strides": attr.LAYOUTS.encode(_operand_strides(op)),
        },
        results=[value.type for value in results],
    )
    return [*made.results, None]


def positions_first(value: ir.Value) -> tuple:
    """The strides that the kernel gives: heads inside of positions."""
    batch, heads, positions, width = ty.shape_of(value.type)
    outer, middle, inner, last = ty.contiguous_strides((batch, positions, heads, width))
    return (outer, inner, middle, last)


def _operand_strides(op: ir.OpView) -> list[tuple]:
    """Those of the forward call; the gradient lies as the result does."""
    inputs = [ty.contiguous_strides(ty.shape_of(v.type)) for v in op.operands]
    if "operand_strides" in op.attributes:
        inputs = list(attr.LAYOUTS.decode(op.attributes["operand_strides"]))
    results = op.strides or [
        ty.contiguous_strides(ty.shape_of(value.type)) for value in op.results
    ]
    return [results[0], *inputs[:3], *results, *inputs[3:]]


# Written out ------------------------------------------------------------------------


def _written_out(op, g: ir.Value, b: VjpBuilder) -> list:
    """The gradients of the operands by those of the formula."""
    operands = [None if v is None else b.op("alias", v) for v in _operands(op)]
    y = _attention(b, *operands, causal=op.causal, scale=op.scale)
    return gradients(b, [(y, g)], operands)


def _operands(op) -> list[ir.Value | None]:
    return [op.query, op.key, op.value, op.mask]


@calls(BACKWARD)
def vjp_attention_backward(op, cotangents, b: VjpBuilder) -> list:
    """The derivative of the formula's derivative.

    The kernel's result is a function of the gradient, query, key, value and mask;
    y and the sums' logarithms only save it work.
    """
    mask = op.kwargs.get("attn_mask")
    mask = None if mask is None else op.inputs[mask.index]
    given = [*op.inputs[:4], mask]
    scale, causal = op.kwargs["scale"], op.args[7]
    found = formula_gradients(b, given, cotangents, scale=scale, causal=causal)
    return [*found[:4], None, None] + ([] if mask is None else [found[4]])


def formula_gradients(
    b: VjpBuilder,
    given: Sequence[ir.Value | None],
    cotangents: Sequence[ir.Value | None],
    *,
    scale: float,
    causal: bool,
) -> list[ir.Value | None]:
    """The gradients of attention's gradients, by the formula.

    Args:
        b: makes the ops.
        given: the gradient of the result, query, key, value, and a mask or None.
        cotangents: of the gradients by query, key, value and, if it has one, the mask.
        scale: of the products of queries and keys.
        causal: whether columns beyond the row are masked.

    Returns:
        A gradient for each of ``given``.
    """
    g, *operands = [None if v is None else b.op("alias", v) for v in given]
    y = _attention(b, *operands, causal=causal, scale=scale)
    first = gradients(b, [(y, g)], operands)
    seeds = [
        (value, cotangent)
        for value, cotangent in zip(first, cotangents, strict=False)
        if cotangent is not None
    ]
    return gradients(b, seeds, [g, *operands])


def gradients(
    b: VjpBuilder,
    seeds: Sequence[tuple[ir.Value, ir.Value]],
    inputs: Sequence[ir.Value | None],
) -> list[ir.Value | None]:
    """Derives values that rules have just made, by others of these.

    Args:
        b: makes the ops.
        seeds: values, each with its cotangent.
        inputs: what to derive by; None gives None.
    """
    # The sweep is what calls the rules: it can't be imported before them.
    from girih.passes.autograd.reverse import can_be_active, gradients_of

    wanted = [v for v in inputs if v is not None and can_be_active(v.type)]
    ops = _ops_between(wanted, [value for value, _ in seeds])
    found = dict(zip(wanted, gradients_of(ops, seeds, wanted, b.ip), strict=True))
    return [None if value is None else found.get(value) for value in inputs]


def _ops_between(
    inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]
) -> list[ir.OpView]:
    """The ops that outputs are computed by, from inputs and constants, in order."""
    known, ordered = set(inputs), []

    def visit(value: ir.Value) -> None:
        if value in known or isinstance(value, ir.BlockArgument):
            return
        known.add(value)
        op = value.owner.opview
        for operand in op.operands:
            visit(operand)
        if op not in ordered:
            ordered.append(op)

    for value in outputs:
        visit(value)
    return ordered


def _attention(
    b: VjpBuilder,
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    mask: ir.Value | None,
    *,
    causal: bool,
    scale: float,
) -> ir.Value:
    """softmax(scale * query @ key^T + mask) @ value; 0 for rows that are all masked."""
    heads = ty.shape_of(query.type)[1]
    key, value = _repeated(b, key, heads), _repeated(b, value, heads)
    batch, _, rows, _ = ty.shape_of(query.type)
    columns, width = ty.shape_of(value.type)[2:]
    logits = b.op("bmm", _matrices(b, query), b.transpose(_matrices(b, key)))
    logits = b.reshape(b.mul(logits, scale), (batch, heads, rows, columns))
    if causal:
        visible = _lower_triangle(b, rows, columns)
        logits = b.where(visible, logits, b.like(float("-inf"), logits))
    if mask is not None:
        logits = _masked(b, logits, mask)
    weights = _safe_softmax(b, logits)
    y = b.op("bmm", _matrices(b, weights), _matrices(b, value))
    return b.reshape(y, (batch, heads, rows, width))


def _matrices(b: VjpBuilder, x: ir.Value) -> ir.Value:
    batch, heads, rows, columns = ty.shape_of(x.type)
    return b.reshape(x, (product((batch, heads)), rows, columns))


def _repeated(b: VjpBuilder, x: ir.Value, heads) -> ir.Value:
    """Each head as often as there are query heads for it."""
    batch, groups, positions, width = ty.shape_of(x.type)
    if groups == heads:
        return x
    each = heads // groups
    column = b.reshape(x, (batch, groups, 1, positions, width))
    spread = b.broadcast_to(column, (batch, groups, each, positions, width))
    return b.reshape(spread, (batch, heads, positions, width))


def _lower_triangle(b: VjpBuilder, rows, columns) -> ir.Value:
    row = b.typed("iota", [], (rows,), ty.i64(), start=0, step=1)
    column = b.typed("iota", [], (columns,), ty.i64(), start=0, step=1)
    return b.op("ge", b.reshape(row, (rows, 1)), column)


def _masked(b: VjpBuilder, logits: ir.Value, mask: ir.Value) -> ir.Value:
    if ty.is_bool(mask.type.element_type):
        return b.where(mask, logits, b.like(float("-inf"), logits))
    return b.add(logits, b.cast(mask, logits.type.element_type))


def _safe_softmax(b: VjpBuilder, logits: ir.Value) -> ir.Value:
    """Zeros, and not NaN, for rows of -inf."""
    last = len(ty.shape_of(logits.type)) - 1
    highest = b.op("reduce_max", logits, dims=(last,))
    is_empty = b.op("eq", highest, b.like(float("-inf"), highest))
    zero = b.like(0.0, logits)
    weights = b.op("softmax", b.where(is_empty, zero, logits), dim=last)
    return b.where(is_empty, zero, weights)
