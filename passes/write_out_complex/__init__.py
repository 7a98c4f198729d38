"""``write-out-complex``: pairs of real tensors replace complex ones.

Kernels compute with real numbers. So arithmetic on complex numbers would be calls of
ATen, and end each kernel around it. Here each complex tensor that an op with a rule
makes becomes two real ones, its parts. Arguments and results of library calls (FFT,
linear algebra) stay complex: a view of their memory has both parts in a last dim.

Requires: functions of ``graph`` ops; derivatives have been taken.
Establishes: no complex op with a rule is left, unless it only moves elements of
tensors whose parts nothing else asks for.

Before::

    %2 = "graph.extern"(%0, %1) {op = "aten.mul.Tensor", ...}
        : (tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>

After, with ``%a`` and ``%b`` the parts of ``%0``, ``%c`` and ``%d`` those of ``%1``::

    %2 = "graph.mul"(%a, %c) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %3 = "graph.mul"(%b, %d) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %4 = "graph.sub"(%2, %3) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ...

The formulas are eager's own, so infinities, NaN and the signs of zeros are the same,
and the last bits as far as eager has the same ones for all layouts. Complex numbers of
half precision stay calls, and so do functions whose special values would take more
arithmetic than the call (``sqrt``, ``log``, ``sin``).

Read ``rules`` first, then a family: ``arithmetic``, ``functions``, ``shape``.
"""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has, role_of
from girih.dialects.traits import VIEW, Role
from girih.passes.graph_builder import erase_dead_ops, function_bodies
from girih.passes.registry import register_pass
from girih.passes.write_out_complex import arithmetic, functions, shape
from girih.passes.write_out_complex.rules import RULES, Parts, PartsBuilder, call_name

__all__ = ["RULES", "arithmetic", "functions", "run", "shape"]

_ELEMENTS = ("complex<f32>", "complex<f64>")


@register_pass("write-out-complex")
def run(op: ir.Operation, options: None) -> None:
    """Replaces complex values by their parts."""
    for block in function_bodies(op):
        _write_out(block)


def _write_out(block: ir.Block) -> None:
    known: dict[ir.Value, Parts] = {}
    replaced = []
    for op in list(block.operations):
        rule = RULES.get(call_name(op))
        if rule is None or not _is_complex(op):
            continue
        builder = PartsBuilder(op, known)
        if _stands_alone(op, builder):
            continue
        found = rule(op, builder)
        if isinstance(found, Parts):
            known[op.results[0]] = builder.fitted(found, op.results[0].type)
            replaced.append(op)
        elif found is not None:
            builder.replace(op, found)
    for op in reversed(replaced):
        (result,) = op.results
        if any(True for _ in result.uses):
            whole = PartsBuilder(op, known).joined(known[result], result.type)
            result.replace_all_uses_with(whole)
        op.operation.erase()
    if known:
        erase_dead_ops(block)


def _stands_alone(op: ir.OpView, b: PartsBuilder) -> bool:
    """Whether no op beside it can share a kernel: the call is as fast then.

    Its operands are arguments and results of calls, and so is what reads its result.
    """
    (result,) = op.results
    if not ty.is_complex(result.type.element_type) or b.is_known(*op.operands):
        return False
    if any(_is_computed(x) for x in op.operands):
        return False
    users = [use.owner.opview for use in result.uses]
    return not any(_computes(user) for user in users)


def _is_computed(x: ir.Value) -> bool:
    """Whether kernels may compute an operand, which is real then."""
    if isinstance(x.owner, ir.Block) or ty.is_complex(x.type.element_type):
        return False
    return role_of(x.owner.opview) is not Role.LIBRARY


def _computes(op: ir.OpView) -> bool:
    """Whether the pass writes out an op that is more than a view."""
    return call_name(op) in RULES and not has(op, VIEW)


def _is_complex(op: ir.OpView) -> bool:
    """Whether an op has complex values, and none but of single or double precision."""
    if len(op.results) != 1 or "effects" in op.attributes:
        return False
    values = [*op.operands, *op.results]
    if not all(isinstance(value.type, ir.RankedTensorType) for value in values):
        return False
    elements = [value.type.element_type for value in values]
    found = [str(element) for element in elements if ty.is_complex(element)]
    return bool(found) and all(element in _ELEMENTS for element in found)
