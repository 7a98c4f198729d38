"""The tables of derivatives, and the builder that rules are written with."""

from collections.abc import Callable, Sequence, Set
from typing import Any

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import op_named
from girih.dialects.dims import Dim, Size
from girih.dialects.rule_table import RuleTable
from girih.passes.graph_builder import GraphBuilder

Gradients = list["ir.Value | list | None"]
Rule = Callable[[Any, list["ir.Value | None"], "VjpBuilder"], Gradients]

# The rules; and op -> why no derivative goes through it. Float results are active all
# the same.
RULES, NOT_DIFFERENTIABLE = RuleTable.several(
    "derivative of the op graph.", 2, "@plugin.vjp({name!r})"
)

# Op -> the field of what its gradient follows: eager's derivative of that gradient
# comes to this value and gives it zeros, where there is only a comparison with it.
FOLLOWED: dict[str, str] = {}

# Op -> those of its results that depend on one operand alone, and that operand.
NARROW: dict[str, dict[str, str]] = {}

# Op -> why its results depend on no operand, as far as derivatives go.
INACTIVE: dict[str, str] = {}


class NotDifferentiable(Exception):
    """A function has no derivative in ``graph``; where it is needed, eager runs.

    Not an error of the program, nor a bug: its text says which op, and why.
    """

    is_refusal = True


class VjpBuilder(GraphBuilder):
    """Makes the ops of gradients, with the location of the op they belong to."""

    def __init__(self, ip: ir.InsertionPoint, active: Set[ir.Value]):
        """Args: where ops go, and the values whose gradients are used."""
        self.loc = ir.Location.unknown()
        self.ip = ip
        self._active = active

    def needs(self, value: ir.Value | None) -> bool:
        """Whether the gradient of an operand is used; false for one left out."""
        return value is not None and value in self._active

    def make(
        self,
        name: str,
        operands: Sequence[Any],
        attributes: dict[str, Any] | None = None,
        results: Sequence[ir.Type] | None = None,
    ) -> ir.Operation:
        """Makes an op with any number of results; operands as ``Op.build`` takes."""
        return op_named(name).build(
            operands, attributes or {}, results=results, loc=self.loc, ip=self.ip
        )

    # Arithmetic -------------------------------------------------------------------

    def add(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """lhs + rhs."""
        return self.op("add", lhs, rhs)

    def sub(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """lhs - rhs."""
        return self.op("sub", lhs, rhs)

    def mul(self, lhs: ir.Value, rhs: ir.Value | float) -> ir.Value:
        """lhs * rhs; rhs may be a number."""
        return self.op("mul", lhs, self._number(rhs, lhs))

    def div(self, lhs: ir.Value, rhs: ir.Value | float) -> ir.Value:
        """lhs / rhs; rhs may be a number."""
        return self.op("div", lhs, self._number(rhs, lhs))

    def neg(self, x: ir.Value) -> ir.Value:
        """-x."""
        return self.op("neg", x)

    def where(self, condition: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        """x where the condition holds, else y."""
        return self.op("where", condition, x, y)

    def masked(self, condition: ir.Value, x: ir.Value) -> ir.Value:
        """x where the condition holds, else 0."""
        return self.op("where", condition, x, self.like(0.0, x))

    def _number(self, value: ir.Value | float, x: ir.Value) -> ir.Value:
        if isinstance(value, ir.Value):
            return value
        return self.like(value if isinstance(value, Dim) else float(value), x)

    def zeros(self, type_: ir.Type) -> ir.Value:
        """A tensor of zeros."""
        return self.filled(0, type_)

    def filled(self, value: Any, type_: ir.Type) -> ir.Value:
        """A tensor with one number everywhere, which may be a symbolic size."""
        shape, element = ty.shape_of(type_), type_.element_type
        if isinstance(value, Dim):
            return self.broadcast_to(self.constant(value, element), shape)
        value = _as_number_of(value, element)
        if not shape:
            return self.constant(value, element)
        return self.typed("full", [], shape, element, value=value)

    # Shape ------------------------------------------------------------------------

    def permute(self, x: ir.Value, permutation: Sequence[int]) -> ir.Value:
        """Dim i of the result is dim ``permutation[i]`` of x."""
        if list(permutation) == list(range(len(permutation))):
            return x
        return self.op("permute", x, permutation=tuple(permutation))

    def transpose(self, x: ir.Value) -> ir.Value:
        """x with its last two dims exchanged."""
        rank = len(ty.shape_of(x.type))
        return self.permute(x, [*range(rank - 2), rank - 1, rank - 2])

    def broadcast_to(self, x: ir.Value, shape: Sequence[Size]) -> ir.Value:
        """x repeated along new dims and dims of size 1."""
        if ty.shape_of(x.type) == tuple(shape):
            return x
        return self.typed("broadcast_to", [x], shape, x.type.element_type)

    def sum(self, x: ir.Value, dims: Sequence[int]) -> ir.Value:
        """The sum over dims, which stay with size 1."""
        return self.op("reduce_sum", x, dims=tuple(sorted(dims))) if dims else x

    def sum_to(self, x: ir.Value, shape: Sequence[Size]) -> ir.Value:
        """x summed over what broadcasting ``shape`` to x's shape repeats."""
        actual, shape = ty.shape_of(x.type), tuple(shape)
        if actual == shape:
            return x
        extra = len(actual) - len(shape)
        dims = [*range(extra)]
        for dim, size in enumerate(shape, extra):
            if size == 1 and actual[dim] != 1:
                dims.append(dim)
        return self.reshape(self.sum(x, dims), shape)

    def unbroadcast(self, gradient: ir.Value, operand: ir.Value) -> ir.Value:
        """The gradient of an operand that an elementwise op broadcast."""
        return self.sum_to(gradient, ty.shape_of(operand.type))


def _as_number_of(value: Any, element: ir.Type) -> Any:
    text = str(element)
    if text.startswith("complex"):
        return complex(value)
    if text == "i1":
        return bool(value)
    return float(value) if ty.is_float(element) else int(value)


def vjp(*names: str) -> Callable[[Rule], Rule]:
    """Registers the rule for the ops ``graph.name``.

    A rule takes the op, a cotangent for each of its results (None where there is none;
    the only result of an op always has one) and a builder, and returns what the op's
    declared operands are to get, in order: a gradient of the operand's type, or None;
    for a variadic operand a list of them.
    """
    return RULES.registering(*names)


def follows(field: str, *names: str) -> None:
    """Says that eager's gradients of ops have a derivative by a value, which is zero.

    ``relu`` has such a gradient: its second backward pass comes to the operand. That of
    ``clamp`` does not, and leaves None there.

    Args:
        field: The operand or result.
        names: The ops ``graph.name``, or ATen ops that have a rule.
    """
    for name in names:
        FOLLOWED[name] = field


def narrow(name: str, **operands: str) -> None:
    """Says which results of an op depend on one of its operands alone."""
    NARROW[name] = operands


def not_differentiable(reason: str, *names: str, inactive: bool = False) -> None:
    """Says that no derivative goes through ops, and why.

    Args:
        reason: One sentence.
        names: The ops ``graph.name``.
        inactive: Whether eager's results don't require a gradient either.
    """
    for name in names:
        NOT_DIFFERENTIABLE.add(name, reason)
        if inactive:
            INACTIVE[name] = reason
