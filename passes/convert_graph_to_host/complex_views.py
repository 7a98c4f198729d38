"""Complex tensors and their parts share memory where nobody can tell.

``graph`` has calls that copy: ``view_as_real_copy`` and ``view_as_complex_copy``. Such
a call becomes the view that it is named after, if no result of the program may share
memory then that it would not share in eager. Where a kernel makes the parts of a
complex tensor, the program allocates that, and the kernel writes to a view of it: a
result that is a view itself would be another thing to autograd.
"""

from __future__ import annotations

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import MAY_ALIAS
from girih.passes.fresh_results import has_fresh_results
from girih.passes.graph_builder import has_one_use

VIEW_AS_REAL = "aten.view_as_real.default"
_AS_REAL = "aten.view_as_real_copy.default"
_AS_COMPLEX = "aten.view_as_complex_copy.default"


def view_complex_tensors(block: ir.Block) -> None:
    """Replaces copying calls by views of the same memory."""
    for op in list(block.operations)[:-1]:
        name = op.op if op.name == "graph.extern" else None
        if name in (_AS_REAL, _AS_COMPLEX) and not _is_returned(op.results[0]):
            if whole_of(op.operands[0]) is None:
                view = ir.StringAttr.get(name.replace("_copy.", "."))
                op.operation.attributes["op"] = view


def whole_of(parts: ir.Value) -> ir.Value | None:
    """The complex tensor that a fusion makes the parts of, and that alone reads them.

    Args:
        parts: both parts beside each other, in the last dim.
    """
    maker = parts.owner
    is_made = not isinstance(maker, ir.Block) and maker.name == "graph.fusion"
    if not is_made or not has_one_use(parts):
        return None
    (use,) = parts.uses
    op = use.owner.opview
    is_call = op.operation.name == "graph.extern" and op.op == _AS_COMPLEX
    return op.results[0] if is_call else None


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
