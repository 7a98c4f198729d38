"""Complex tensors and their parts share memory where nobody can tell.

``graph`` has calls that copy: ``view_as_real_copy`` and ``view_as_complex_copy``. Each
becomes the view that it is named after, if the operand stays what it is and no result
of the program shares memory that eager would not share.
"""

from __future__ import annotations

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import MAY_ALIAS, VIEW
from girih.passes.fresh_results import has_fresh_results
from girih.passes.graph_builder import has_one_use

_AS_REAL = "aten.view_as_real_copy.default"
_AS_COMPLEX = "aten.view_as_complex_copy.default"


def view_complex_tensors(block: ir.Block) -> None:
    """Replaces copying calls by views of the same memory."""
    for op in list(block.operations)[:-1]:
        name = op.op if op.name == "graph.extern" else None
        if name not in (_AS_REAL, _AS_COMPLEX):
            continue
        (x,), (y,) = op.operands, op.results
        if not _is_returned(y) or (_is_own(x) and has_one_use(x)):
            op.operation.attributes["op"] = ir.StringAttr.get(
                name.replace("_copy.", ".")
            )


def _is_returned(value: ir.Value) -> bool:
    """Whether a result of the function may share the memory of a value."""
    for use in value.uses:
        op = use.owner.opview
        if op.operation.name == "func.return":
            return True
        may_share = has(op, MAY_ALIAS) and not has_fresh_results(op)
        if may_share and any(_is_returned(result) for result in op.results):
            return True
    return False


def _is_own(value: ir.Value) -> bool:
    """Whether a kernel made a value, which nothing else can reach."""
    op = value.owner
    if isinstance(op, ir.Block):
        return False
    if has(op.opview, VIEW):
        source = op.operands[0]
        return has_one_use(source) and _is_own(source)
    return op.name == "graph.fusion"
