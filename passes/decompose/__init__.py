"""``decompose``: replaces composite ops by primitives.

Softmax subtracts the maximum, variances are means of squared differences, and whatever
has bf16 or f16 operands and more than one rounding is computed in f32, as ATen does.

Requires: functions of ``graph`` ops; derivatives have been taken.
Establishes: the functions hold primitives, library ops and fusions only.

Before::

    %1 = "graph.silu"(%0) : (tensor<8xf32>) -> tensor<8xf32>

After::

    %1 = "graph.sigmoid"(%0) : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "graph.mul"(%0, %1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>

It does not simplify what it makes: ``canonicalize-graph`` follows.

Read ``rules`` first, then a family: ``activation``, ``reduction``, ``normalization``,
``indexing``, ``interpolation``, ``pooling``, ``scan``, ``windows``,
``differentiation``, ``linear_algebra``, ``convolution``, ``insertion``. ``calls`` lists
the calls of ATen that are written out.
"""

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.dialects.definition import role_of, rule_name
from girih.dialects.rule_table import RuleMistake
from girih.dialects.traits import Role
from girih.passes.decompose import (
    activation,
    calls,
    convolution,
    differentiation,
    indexing,
    insertion,
    interpolation,
    linear_algebra,
    normalization,
    pooling,
    reduction,
    scan,
    windows,
)
from girih.passes.decompose.rules import RULES
from girih.passes.graph_builder import GraphBuilder, erase_dead_ops, function_bodies
from girih.passes.registry import register_pass

__all__ = [
    "RULES",
    "activation",
    "calls",
    "convolution",
    "differentiation",
    "indexing",
    "insertion",
    "interpolation",
    "linear_algebra",
    "normalization",
    "pooling",
    "reduction",
    "run",
    "scan",
    "windows",
]


@dataclass(frozen=True)
class DecomposeOptions:
    """Options of the pass."""

    target: str = ""
    """``cpu`` writes out the positions of maxima over windows, too."""


@register_pass("decompose", options=DecomposeOptions)
def run(op: ir.Operation, options: DecomposeOptions) -> None:
    """Replaces composite ops by primitives."""
    for block in function_bodies(op):
        composites = [o for o in block.operations if _is_composite(o)]
        for composite in composites:
            _replace(composite, options.target)
        if composites:
            erase_dead_ops(block)


def _is_composite(op: ir.OpView) -> bool:
    return _rule_name(op) in RULES or role_of(op) is Role.COMPOSITE


def _rule_name(op: ir.OpView) -> str:
    return rule_name(op)


def _replace(op: ir.OpView, target: str) -> None:
    builder, name = GraphBuilder(op, target), _rule_name(op)
    values = RULES[name](op, builder)
    if values is None and role_of(op) is Role.LIBRARY:
        return
    if not isinstance(values, list | tuple):
        got = type(values).__name__
        text = f"expected the decomposition of {op.operation.name} to return a list"
        raise RuleMistake(f"{text} of values, one for each result, got {got}", name)
    try:
        builder.replace(op, *values)
    except (TypeError, ValueError) as error:
        text = f"the decomposition of {op.operation.name} returns other values"
        raise RuleMistake(f"{text}: {error}", name) from error
