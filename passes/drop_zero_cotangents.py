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

It does not look at numbers: a tensor that happens to be full of zeros is computed with.
Only where an op adds or chooses is a 0 in the text of the program as good as a zero by
structure, if there is one beside it: ``where(x > 0, h, 0)``.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from girih.dialects import attributes as attr
from girih.dialects import graph, keys
from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, effects_of, rule_name
from girih.dialects.graph.creation import ConstantOp, FullOp
from girih.dialects.rule_table import RuleTable
from girih.passes.autograd.extern import VJP
from girih.passes.autograd.joint import Attributes, Signature
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


class _Zeros:
    """The values that are known to be zero, in program order.

    What the program itself writes out as 0 is not one of them, as that times infinity
    is NaN. It is remembered for ops that add or choose.
    """

    def __init__(self, values: Any):
        self._zeros = set(values)
        self._written: set[ir.Value] = set()

    def __contains__(self, value: ir.Value | None) -> bool:
        """Whether a value is zero; an operand that is left out is not."""
        return value is not None and value in self._zeros

    def visit(self, op: ir.OpView) -> None:
        """Decides what zero operands make of an op."""
        if not any(value in self._zeros for value in op.operands):
            if self._is_written_zero(op):
                self._written.update(op.results)
            return
        found = None
        if effects_of(op) is Effects.PURE:
            found = ZERO if self._makes_zero(op) else self._simplified(op)
        if found is None:
            self.materialize(op)
        elif found is ZERO:
            self._zeros.update(op.results)
        else:
            op.results[0].replace_all_uses_with(found)

    def _makes_zero(self, op: ir.OpView) -> bool:
        """Whether the result is zero, by what the op's class says of its operands."""
        cls = graph.OPS.get(op.operation.name)
        groups = () if cls is None else cls.ZERO_IF
        return any(self._are_nothing(op, group, len(groups)) for group in groups)

    def _are_nothing(self, op: ir.OpView, group: tuple[str, ...], count: int) -> bool:
        """Whether the operands of one of so many groups are left out or zero."""
        operands = []
        for name in group:
            found = getattr(op, name)
            operands.extend(found if isinstance(found, list | tuple) else [found])
        others = [v for v in operands if v is not None and v not in self._zeros]
        if not others:
            return True
        # An op with several groups multiplies: there a written zero is a number.
        is_linear = count == 1 and any(value in self for value in operands)
        return is_linear and self._written.issuperset(others)

    def _is_written_zero(self, op: ir.OpView) -> bool:
        """Whether an op makes a tensor of zeros of a number in the program, or a view.

        Views and conversions are the ops of one operand that is zero where they are.
        """
        if isinstance(op, ConstantOp | FullOp):
            return op.value == 0
        cls = graph.OPS.get(op.operation.name)
        is_alike = cls is not None and bool(cls.ZERO_IF) and len(op.operands) == 1
        return is_alike and op.operands[0] in self._written

    def _simplified(self, op: ir.OpView) -> Any:
        rule = _RULES.get(rule_name(op))
        return None if rule is None else rule(op, self, GraphBuilder(op))

    def materialize(self, op: ir.OpView, places: Collection[int] | None = None) -> None:
        """Lets an op read tensors of zeros, as these operands or as any."""
        b = GraphBuilder(op)
        made: dict[ir.Value, ir.Value] = {}
        for index, value in enumerate(op.operands):
            if value in self._zeros and (places is None or index in places):
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

# What a rule returns where all results are zero; else it returns the value that
# replaces the only result, or None where the op has to compute with zeros.
ZERO = object()

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


@_drops("pad")
def _pad(op, zeros: _Zeros, b: GraphBuilder) -> Any:
    """Zero where the padding is."""
    return ZERO if op.value == 0 else None


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


@_drops("extern")
def _extern(op, zeros: _Zeros, b: GraphBuilder) -> Any:
    """A derivative that ATen computes is linear in the cotangents that it is given."""
    cotangents = _cotangents(op.op, op.args)
    if not cotangents:
        return None
    operands = list(op.operands)
    return ZERO if all(operands[index] in zeros for index in cotangents) else None


def _cotangents(name: str, arguments: tuple) -> list[int]:
    """The operands of a call in all of which together it is linear, if that is known.

    Source: aten/src/ATen/native/native_functions.yaml
    """
    if name == VJP:
        return [item.index for item in arguments[-1] if isinstance(item, OperandRef)]
    known = name.removeprefix("aten.").removesuffix(".default") in _LINEAR_IN_THE_FIRST
    first = arguments[0] if known else None
    return [first.index] if isinstance(first, OperandRef) else []


_LINEAR_IN_THE_FIRST = frozenset(
    {
        "_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward",
        "_embedding_bag_backward", "_log_softmax_backward_data",
        "_scaled_dot_product_flash_attention_backward",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "_softmax_backward_data", "avg_pool2d_backward", "avg_pool3d_backward",
        "convolution_backward", "embedding_dense_backward", "grid_sampler_2d_backward",
        "grid_sampler_3d_backward", "masked_scatter_backward",
        "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward",
        "multi_margin_loss_backward", "multilabel_margin_loss_backward",
        "native_dropout_backward",
    }
)  # fmt: skip


def _name(op: Any) -> str:
    return rule_name(op)
