"""Random numbers as ATen calls: the same draws from the same generator as eager's."""

from girih.dialects.attributes import Argument, OperandRef
from girih.dialects.bindings import ir
from girih.dialects.types import shape_of

from .rules import CPU, AtenCall, calls_aten, calls_same_arguments, dtype_of

calls_same_arguments({"graph.bernoulli": "aten.bernoulli.default"})


def _options(op: ir.OpView) -> dict[str, Argument]:
    return {"dtype": dtype_of(op.results[0]), "device": CPU}


@calls_aten("graph.rand", "graph.randn")
def call_sample(op: ir.OpView) -> AtenCall:
    """`rand` and `randn` of the result's shape."""
    name = op.name.removeprefix("graph.")
    shape = shape_of(op.results[0].type)
    return AtenCall(f"aten.{name}.default", (shape,), _options(op))


@calls_aten("graph.seed")
def call_seed(op: ir.OpView) -> AtenCall:
    """`select`, which makes a view too."""
    return AtenCall("aten.select.int", (OperandRef(0), 0, op.index))


@calls_aten("graph.randint")
def call_randint(op: ir.OpView) -> AtenCall:
    """`randint` between two bounds."""
    shape = shape_of(op.results[0].type)
    return AtenCall("aten.randint.low", (op.low, op.high, shape), _options(op))


@calls_aten("graph.dropout")
def call_dropout(op: ir.OpView) -> AtenCall:
    """`native_dropout` in training mode, which also returns the mask."""
    return AtenCall("aten.native_dropout.default", (OperandRef(0), op.p, True))
