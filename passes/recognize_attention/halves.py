"""Products in float32 of what was bfloat16 or float16: kernels read that itself.

Programs widen queries, keys and values for precision. Products of 16-bit numbers are
exact in float32, which is what kernels add them up in.
"""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import VIEW
from girih.passes.graph_builder import GraphBuilder

HALVES = frozenset({"bf16", "f16"})


def half_behind(value: ir.Value) -> tuple[str, float] | None:
    """The 16-bit elements that a value was widened from, and a factor it has since.

    None where it is anything else.
    """
    factor = 1.0
    while not isinstance(value, ir.BlockArgument):
        op = value.owner.opview
        name = op.operation.name
        if name == "graph.cast":
            element = str(op.x.type.element_type)
            return (element, factor) if element in HALVES else None
        if name == "graph.mul":
            parts = [(x, _number(y)) for x, y in ((op.lhs, op.rhs), (op.rhs, op.lhs))]
            scaled = next(((x, n) for x, n in parts if n is not None), None)
            if scaled is None:
                return None
            value, factor = scaled[0], factor * scaled[1]
        elif has(op, VIEW):
            value = op.x
        else:
            return None
    return None


def _number(value: ir.Value) -> float | None:
    """The number that a tensor without dims is."""
    if isinstance(value, ir.BlockArgument) or value.owner.name != "graph.constant":
        return None
    return float(value.owner.opview.value)


def narrowed(b: GraphBuilder, value: ir.Value) -> ir.Value:
    """What a value was before it was widened and scaled, in the same views."""
    views = []
    while (op := value.owner.opview).operation.name != "graph.cast":
        if has(op, VIEW):
            views.append(op)
            value = op.x
        else:
            value = op.lhs if _number(op.rhs) is not None else op.rhs
    x = op.x
    for view in reversed(views):
        x = _same_view(b, view, x)
    return x


def _same_view(b: GraphBuilder, view: ir.OpView, x: ir.Value) -> ir.Value:
    made = view.operation.clone(ip=b.ip)
    made.operation.operands[0] = x
    (y,) = made.operation.results
    y.set_type(ty.tensor_type(ty.shape_of(y.type), x.type.element_type))
    return y


def is_narrowed_to(value: ir.Value, element: str) -> bool:
    """Whether all that is read of a value, seen through views, is a cast to these."""
    pending, is_read = [value], False
    while pending:
        for use in pending.pop().uses:
            op = use.owner
            if has(op, VIEW):
                pending.append(op.results[0])
            elif op.name != "graph.cast" or str(_element(op)) != element:
                return False
            else:
                is_read = True
    return is_read


def _element(op: ir.OpView) -> ir.Type:
    return op.results[0].type.element_type
