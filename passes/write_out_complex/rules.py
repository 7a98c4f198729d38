"""The table of rules, and the builder that knows the parts of complex values."""

from collections.abc import Callable
from typing import Any, NamedTuple

from girih.dialects import types as ty
from girih.dialects.attributes import Argument, OperandRef
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, rule_name
from girih.dialects.dims import Size
from girih.dialects.rule_table import RuleTable
from girih.passes.graph_builder import GraphBuilder

VIEW_AS_REAL = "aten.view_as_real_copy.default"
VIEW_AS_COMPLEX = "aten.view_as_complex_copy.default"


class Parts(NamedTuple):
    """A complex tensor: its real and its imaginary part, tensors of real numbers."""

    real: ir.Value
    imaginary: ir.Value


Rule = Callable[[Any, "PartsBuilder"], Parts | ir.Value | None]

RULES: dict[str, Rule] = RuleTable("rule that writes out the complex op ")


def writes_out(*names: str) -> Callable[[Rule], Rule]:
    """Registers the rule for ops ``graph.name``, or calls such as ``aten.mul.Tensor``.

    A rule takes the op and a builder before it. It returns the parts of a complex
    result, which are broadcast to its shape, or a real result; None leaves the op.
    """
    return RULES.registering(*names)


def call_name(op: ir.OpView) -> str:
    """What rules are registered for: the name of the op, or of what it calls."""
    return op.op if op.operation.name == "graph.extern" else rule_name(op)


class PartsBuilder(GraphBuilder):
    """Makes ops before ``op``, and knows the parts of complex values."""

    def __init__(self, op: ir.OpView, known: dict[ir.Value, Parts]):
        super().__init__(op)
        self._op = op
        self._known = known

    # Operands -------------------------------------------------------------------------

    def arguments(self, *keywords: str) -> list[Any] | None:
        """The positional arguments of the op: values, lists of them, or numbers.

        None where an argument is no such thing, or where there are other keyword
        arguments than ``keywords``.
        """
        if self._op.operation.name != "graph.extern":
            return list(self._op.operands)
        if not set(self._op.kwargs) <= set(keywords):
            return None
        found = [self._argument(argument) for argument in self._op.args]
        return None if NotImplemented in found else found

    def keyword(self, name: str, default: Any = None) -> Any:
        """A keyword argument of a call."""
        is_call = self._op.operation.name == "graph.extern"
        return self._op.kwargs.get(name, default) if is_call else default

    def _argument(self, argument: Argument) -> Any:
        match argument:
            case OperandRef(index):
                return self._op.operands[index]
            case bool() | int() | float() | complex() | None:
                return argument
            case tuple() | list():
                found = [self._argument(item) for item in argument]
                return NotImplemented if NotImplemented in found else found
        return NotImplemented

    def is_known(self, *values: ir.Value) -> bool:
        """Whether an op before made the parts of one of these values."""
        return any(value in self._known for value in values)

    def parts(self, x: Any, element: ir.Type) -> Parts:
        """The parts of a value or a number, as eager converts it to a complex type.

        Args:
            x: A complex or real tensor, or a number.
            element: The element type of the parts.
        """
        if not isinstance(x, ir.Value):
            number = complex(x)
            numbers = (number.real, number.imag)
            return Parts(*(self.constant(value, element) for value in numbers))
        if not ty.is_complex(x.type.element_type):
            return Parts(self.cast(x, element), self.constant(0.0, element))
        if x not in self._known:
            self._known[x] = self._taken_apart(x)
        return Parts(*(self.cast(part, element) for part in self._known[x]))

    def _taken_apart(self, x: ir.Value) -> Parts:
        pairs = self.call(VIEW_AS_REAL, [x], (*ty.shape_of(x.type), 2), part_of(x))
        return self.halves(pairs)

    def halves(self, pairs: ir.Value) -> Parts:
        """What the two elements of the last dim hold."""
        *shape, _ = ty.shape_of(pairs.type)
        element, rank = pairs.type.element_type, len(shape)
        parts = []
        for place in range(2):
            column = self.typed(
                "slice",
                [pairs],
                (*shape, 1),
                element,
                starts=(*(0,) * rank, place),
                steps=(1,) * (rank + 1),
            )
            parts.append(self.reshape(column, tuple(shape)))
        return Parts(*parts)

    # Results --------------------------------------------------------------------------

    def pairs(self, parts: Parts) -> ir.Value:
        """Both parts beside each other, in a last dim."""
        shape = ty.shape_of(parts.real.type)
        columns = [self.reshape(part, (*shape, 1)) for part in parts]
        return self.concat(columns, len(shape))

    def concat(self, values: list[ir.Value], dim: int) -> ir.Value:
        """Tensors after each other."""
        made = OPS["graph.concat"].build(
            [values], {"dim": dim}, loc=self.loc, ip=self.ip
        )
        self.mark(made)
        return made.results[0]

    def joined(self, parts: Parts, type_: ir.Type) -> ir.Value:
        """The complex tensor that has these parts."""
        shape, element = ty.shape_of(type_), type_.element_type
        return self.call(VIEW_AS_COMPLEX, [self.pairs(parts)], shape, element)

    def fitted(self, parts: Parts, type_: ir.Type) -> Parts:
        """The parts in the shape of a result."""
        shape = ty.shape_of(type_)
        return Parts(*(self.broadcast_to(part, shape) for part in parts))

    def broadcast_to(self, x: ir.Value, shape: tuple[Size, ...]) -> ir.Value:
        """x repeated along new dims and dims of size 1; x itself in its own shape."""
        if ty.shape_of(x.type) == tuple(shape):
            return x
        return self.typed("broadcast_to", [x], shape, x.type.element_type)

    def call(
        self,
        name: str,
        operands: list[ir.Value],
        shape: tuple[Size, ...],
        element: ir.Type,
    ) -> ir.Value:
        """A call of an ATen op that takes its operands alone."""
        references = tuple(OperandRef(index) for index in range(len(operands)))
        made = OPS["graph.extern"].build(
            [operands],
            {"op": name, "args": references},
            results=[ty.tensor_type(shape, element)],
            loc=self.loc,
            ip=self.ip,
        )
        self.mark(made)
        return made.results[0]


def part_of(x: ir.Value) -> ir.Type:
    """The element type of a tensor's parts."""
    return ty.real_part(x.type.element_type)
