"""``drop-zero-cotangents``: a backward function for cotangents that are not there.

A result of the program that nobody derived has no cotangent: it is zero by its
structure, whatever it is multiplied by (infinities too), as in eager.

Requires: backward functions as ``partition`` makes them: ``index`` arguments bind all
symbols. ``cotangents`` are numbers of results of the program.
Establishes: no function has an argument for these cotangents; of the saved tensors only
those are arguments that something reads. Gradients of arguments on which no other
result depends are no results: eager has None for them.

Before (cotangents=1)::

    func.func @backward(%x: tensor<4xf32> {graph.saved = "arg0"},
        %y: tensor<4xf32> {graph.saved = "out2"},
        %g: tensor<4xf32> {graph.cotangent = 0},
        %h: tensor<4xf32> {graph.cotangent = 1})
        -> (tensor<4xf32> {graph.gradient = 0}) {
      %0 = "graph.mul"(%g, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %1 = "graph.mul"(%h, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %2 = "graph.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %2

After::

    func.func @backward(%x: tensor<4xf32> {graph.saved = "arg0"},
        %g: tensor<4xf32> {graph.cotangent = 0})
        -> (tensor<4xf32> {graph.gradient = 0}) {
      %0 = "graph.mul"(%g, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %0

A cotangent of which a derivative is not zero by structure has ``graph.nonzero``. The
pass computes that with zeros; ``are_derivatives_zero`` says whether eager does, too.

It does not look at numbers: a tensor that happens to be full of zeros is computed with.
Only where an op adds or chooses is a 0 in the text of the program as good as a zero by
structure, if there is one beside it: ``where(x > 0, h, 0)``.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, effects_of, rule_name
from girih.dialects.rule_table import RuleTable
from girih.passes.autograd.joint import Attributes, Signature
from girih.passes.autograd.zeros import Zeros
from girih.passes.graph_builder import GraphBuilder, erase_dead_ops
from girih.passes.registry import register_pass


@dataclass(frozen=True)
class DropZeroCotangentsOptions:
    """Which cotangents there are none of."""

    cotangents: tuple[int, ...] = ()
    """Indices of the forward function's results that have no cotangent."""


@register_pass("drop-zero-cotangents", options=DropZeroCotangentsOptions)
def run(op: ir.Operation, options: DropZeroCotangentsOptions) -> None:
    """Specializes backward functions for cotangents that are zero."""
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name == "func.func" and len(function.regions[0].blocks):
            _specialize(function, frozenset(options.cotangents))


def _specialize(function: ir.OpView, absent: frozenset[int]) -> None:
    signature = Signature.of(function)
    block = function.regions[0].blocks[0]
    dropped = {
        number
        for number, given in enumerate(signature.arguments)
        if keys.COTANGENT in given and attr.INT.decode(given[keys.COTANGENT]) in absent
    }
    if not dropped:
        return
    zeros = _Zeros(block.arguments[number] for number in dropped)
    *ops, last = block.operations
    for op in ops:
        zeros.visit(op)
    _drop_results(signature, zeros, last, absent)
    signature.apply(function)
    erase_dead_ops(block)
    _drop_arguments(block, signature, dropped)
    signature.values = list(list(block.operations)[-1].operands)
    signature.apply(function)


def are_derivatives_zero(function: ir.OpView, absent: Collection[int]) -> bool:
    """Whether what a backward function computes of these cotangents is zero.

    If not, it is another function without them: ``graph.nonzero`` says of what.
    """
    left, gone = set(), set()
    for given in Signature.of(function).arguments:
        if keys.NONZERO in given:
            is_absent = attr.INT.decode(given[keys.COTANGENT]) in absent
            (gone if is_absent else left).update(attr.INTS.decode(given[keys.NONZERO]))
    return gone <= left


def _drop_results(
    signature: Signature, zeros: "_Zeros", last: ir.OpView, absent: frozenset[int]
) -> None:
    """Leaves the gradients of what other results depend on, zeros among them."""
    kept = [
        number
        for number, given in enumerate(signature.results)
        if _is_reached(given, absent)
    ]
    zeros.materialize(last, kept)
    signature.values = [last.operands[number] for number in kept]
    signature.results = [signature.results[number] for number in kept]


def _is_reached(given: Attributes, absent: frozenset[int]) -> bool:
    """Whether a result with a cotangent depends on the argument of a gradient."""
    if keys.REACHED_BY not in given:
        return True
    return not absent.issuperset(attr.INTS.decode(given[keys.REACHED_BY]))


def _drop_arguments(block: ir.Block, signature: Signature, dropped: set[int]) -> None:
    """Removes arguments: cotangents that are zero, saved tensors that nobody reads."""
    for number in reversed(range(len(block.arguments))):
        argument, given = block.arguments[number], signature.arguments[number]
        is_tensor = isinstance(argument.type, ir.RankedTensorType)
        is_idle = keys.SAVED in given and is_tensor and not _is_used(argument)
        if number in dropped or is_idle:
            block.erase_argument(number)
            del signature.arguments[number]


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None


class _Zeros(Zeros):
    """What is done with ops that read values known to be zero."""

    def visit(self, op: ir.OpView) -> None:
        """Decides what zero operands make of an op."""
        self.see(op)
        if not any(value in self for value in op.operands):
            return
        if all(value in self for value in op.results) and len(op.results):
            return
        found = self._simplified(op) if effects_of(op) is Effects.PURE else None
        if found is None:
            self.materialize(op)
        else:
            op.results[0].replace_all_uses_with(found)

    def _simplified(self, op: ir.OpView) -> Any:
        rule = _RULES.get(rule_name(op))
        return None if rule is None else rule(op, self, GraphBuilder(op))

    def materialize(self, op: ir.OpView, places: Collection[int] | None = None) -> None:
        """Lets an op read tensors of zeros, as these operands or as any."""
        b = GraphBuilder(op)
        made: dict[ir.Value, ir.Value] = {}
        for index, value in enumerate(op.operands):
            if value in self and (places is None or index in places):
                if value not in made:
                    made[value] = _filled(b, value.type)
                op.operation.operands[index] = made[value]


def _filled(b: GraphBuilder, type_: ir.RankedTensorType) -> ir.Value:
    element = type_.element_type
    return b.typed("full", [], ty.shape_of(type_), element, value=_zero_of(element))


def _zero_of(element: ir.Type) -> bool | int | float | complex:
    if isinstance(element, ir.ComplexType):
        return 0j
    if ty.is_float(element):
        return 0.0
    return False if str(element) == "i1" else 0


# Rules ------------------------------------------------------------------------------

# A rule returns the value that replaces the only result, or None where the op has to
# compute with zeros.
Rule = Callable[[Any, _Zeros, GraphBuilder], Any]

_RULES: dict[str, Rule] = RuleTable("rule for zeros in the op graph.")
_drops = _RULES.registering


def _as(op: Any, b: GraphBuilder, value: ir.Value) -> ir.Value:
    """A value broadcast to the type of the op's result."""
    type_ = op.results[0].type
    if value.type == type_:
        return value
    return b.typed("broadcast_to", [value], ty.shape_of(type_), type_.element_type)


@_drops("add")
def _add(op, zeros: _Zeros, b: GraphBuilder) -> Any:
    """The other operand."""
    return _as(op, b, op.rhs if op.lhs in zeros else op.lhs)


@_drops("sub")
def _sub(op, zeros: _Zeros, b: GraphBuilder) -> Any:
    """The left operand, or the right one with the other sign."""
    return _as(op, b, b.op("neg", op.rhs) if op.lhs in zeros else op.lhs)


@_drops("scatter_add")
def _scatter_add(op, zeros: _Zeros, b: GraphBuilder) -> Any:
    """What is added to, if nothing is added."""
    return op.x if op.src in zeros else None


@_drops("index_put")
def _index_put(op, zeros: _Zeros, b: GraphBuilder) -> Any:
    """What is added to, if nothing is added."""
    return op.x if op.values in zeros and op.accumulate else None


@_drops("addmm", "baddbmm")
def _add_matmul(op, zeros: _Zeros, b: GraphBuilder) -> Any:
    """The bias or the product."""
    if op.lhs in zeros or op.rhs in zeros:
        return _as(op, b, op.bias) if op.beta == 1 else None
    if op.alpha != 1 or "strides" in op.attributes:
        return None
    return b.op("mm" if _name(op) == "addmm" else "bmm", op.lhs, op.rhs)


def _name(op: Any) -> str:
    return rule_name(op)
