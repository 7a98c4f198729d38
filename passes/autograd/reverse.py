"""The backward sweep: cotangents of outputs become cotangents of inputs."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, role_of, rule_name
from girih.dialects.fields import Group
from girih.dialects.rule_table import RuleMistake
from girih.passes.autograd.accumulation import accumulated
from girih.passes.autograd.following import following
from girih.passes.autograd.rules import (
    FOLLOWED,
    INACTIVE,
    NARROW,
    NOT_DIFFERENTIABLE,
    RULES,
    NotDifferentiable,
    VjpBuilder,
)
from girih.passes.autograd.zeros import is_zero_for_zeros


def can_be_active(type_: ir.Type) -> bool:
    """Whether values of a type have derivatives: those of real or complex numbers."""
    if not isinstance(type_, ir.RankedTensorType):
        return False
    element = type_.element_type
    return ty.is_float(element) or isinstance(element, ir.ComplexType)


def differentiable_operands(op: ir.OpView) -> list[ir.Value]:
    """The operands that derivatives of an op's results go to."""
    name = _name(op)
    if name in INACTIVE:
        return []
    if name == "substitute":
        return [op.original]
    if name == "custom_vjp":
        return op.inputs
    return [value for value in op.operands if can_be_active(value.type)]


def _derived_operands(op: ir.OpView) -> list[ir.Value]:
    """Those of them that get a gradient, as a rule all."""
    return op.derived if _name(op) == "custom_vjp" else differentiable_operands(op)


def _behind(op: ir.OpView, value: ir.Value, operands: list[ir.Value]) -> list[ir.Value]:
    """The operands that one result depends on."""
    for result, operand in NARROW.get(_name(op), {}).items():
        if value == getattr(op, result):
            return [getattr(op, operand)]
    return operands


def _followed(op: ir.OpView) -> ir.Value | None:
    """What the gradients by an op's operands follow."""
    name = _name(op)
    if name == "alias":
        return op.x if op.followed else None
    if name == "extern":
        return op.inputs[0] if op.op in FOLLOWED else None
    return getattr(op, FOLLOWED[name]) if name in FOLLOWED else None


def _materializes(op: ir.OpView) -> bool:
    return _name(op) == "custom_vjp" and op.materializes is not None


def active_values(
    ops: Iterable[ir.OpView], inputs: Iterable[ir.Value]
) -> set[ir.Value]:
    """The inputs, and the values that depend on them as autograd sees it."""
    active = set(inputs)
    for op in ops:
        if len(op.results) and any(v in active for v in differentiable_operands(op)):
            active.update(v for v in op.results if can_be_active(v.type))
    return active


class Reached(NamedTuple):
    """What some outputs depend on.

    Attributes:
        visited: The active values that they depend on.
        derived: Those of them that get a gradient.
    """

    visited: set[ir.Value]
    derived: set[ir.Value]


def reached_values(
    ops: Sequence[ir.OpView], outputs: Iterable[ir.Value], active: set[ir.Value]
) -> Reached:
    """The active values that some output depends on."""
    visited = {value for value in outputs if value in active}
    derived = set(visited)
    for op in reversed(ops):
        for value in op.results:
            if value in visited:
                found = _behind(op, value, differentiable_operands(op))
                visited.update(v for v in found if v in active)
                if _materializes(op) or value in derived:
                    found = _behind(op, value, _derived_operands(op))
                    derived.update(v for v in found if v in active)
    return Reached(visited, derived)


class Reaching(NamedTuple):
    """For values, a bit for the number of each output that depends on them.

    Attributes:
        visited: For all active values.
        derived: For those that get gradients, where these come from.
    """

    visited: dict[ir.Value, int]
    derived: dict[ir.Value, int]

    def of(self, op: ir.OpView) -> int:
        """The outputs for whose cotangents eager calls the derivative of an op."""
        bits = self.visited if _materializes(op) else self.derived
        return reduce(or_, (bits.get(value, 0) for value in op.results))


def reaching(
    ops: Sequence[ir.OpView], outputs: Sequence[ir.Value], active: set[ir.Value]
) -> Reaching:
    """Which outputs depend on which values."""
    visited = dict.fromkeys(outputs, 0)
    for number, value in enumerate(outputs):
        visited[value] |= 1 << number
    found = dict(visited)
    for op in reversed(ops):
        for result in op.results:
            seen = visited.get(result, 0)
            bits = seen if _materializes(op) else found.get(result, 0)
            for table, operands, reaches in (
                (visited, differentiable_operands, seen),
                (found, _derived_operands, bits),
            ):
                if reaches:
                    for value in _behind(op, result, operands(op)):
                        if value in active:
                            table[value] = table.get(value, 0) | reaches
    return Reaching(visited, found)


class Sweep:
    """Cotangents by value, from the outputs backwards.

    Attributes:
        cotangents: What has been found so far.
        nonzero: Of derivatives that are not known to be zero for cotangents of zero
            the outputs that come to them, as bits. Without a cotangent of any of these
            there is no derivative.
    """

    def __init__(
        self,
        ops: Sequence[ir.OpView],
        seeds: Iterable[tuple[ir.Value, ir.Value]],
        inputs: Sequence[ir.Value],
        ip: ir.InsertionPoint,
        is_derived: bool,
        reaching: Reaching | None = None,
    ):
        """As ``gradients_of`` takes them."""
        seeds = list(seeds)
        active = active_values(ops, inputs)
        self._ops = ops
        reached = reached_values(ops, [value for value, _ in seeds], active)
        self._visited, self._reached = reached
        self._inputs = set(inputs)
        self._is_derived = is_derived
        self.builder = VjpBuilder(ip, self._reached)
        self.cotangents: dict[ir.Value, ir.Value] = {}
        self.nonzero: set[int] = set()
        self._reaching = reaching
        self._everything = (1 << len(seeds)) - 1
        self._given = {value for op in ops for value in op.results}
        for value, cotangent in seeds:
            if value in self._reached:
                self._accumulate(value, cotangent)

    def run(self) -> "Sweep":
        """Goes through the ops, last first."""
        for op in reversed(self._ops):
            if len(op.results):
                self._differentiate(op)
        return self

    def gradient(self, value: ir.Value) -> ir.Value | None:
        """The cotangent of an input; None where no output depends on it."""
        if value not in self._reached:
            return None
        found = self.cotangents.get(value)
        return self.builder.zeros(value.type) if found is None else found

    def _differentiate(self, op: ir.OpView) -> None:
        cotangents = [self._take(value) for value in op.results]
        if all(cotangent is None for cotangent in cotangents) and not (
            _materializes(op) and any(value in self._visited for value in op.results)
        ):
            return
        targets = [v for v in _derived_operands(op) if v in self._reached]
        name = _name(op)
        if not targets:
            return
        self.builder.loc = op.location
        if name in NOT_DIFFERENTIABLE:
            self._go_on_with_zeros(targets)
            return
        if name not in RULES:
            raise NotDifferentiable(_without_rule(op, name))
        gradients = RULES[name](op, cotangents, self.builder)
        self._check(op, gradients)
        flat = _flat(op, gradients)
        self._note_nonzero(op, cotangents, flat)
        followed = _followed(op) if self._is_derived else None
        for operand, gradient in zip(op.operands, flat, strict=True):
            _check_gradient(op, operand, gradient)
            if gradient is not None and operand in self._reached:
                if followed is not None:
                    gradient = following(gradient, followed, self.builder)
                self._accumulate(operand, gradient)

    def _note_nonzero(
        self,
        op: ir.OpView,
        cotangents: Iterable[ir.Value | None],
        gradients: Iterable[ir.Value | None],
    ) -> None:
        """Has it known where only some outputs come to a derivative that is no zero."""
        reaches = self._everything if self._reaching is None else self._reaching.of(op)
        if reaches == self._everything or reaches in self.nonzero:
            return
        pairs = zip(op.operands, gradients, strict=True)
        made = [
            gradient
            for operand, gradient in pairs
            if operand in self._reached and isinstance(gradient, ir.Value)
        ]
        known = [value for value in cotangents if value is not None]
        if not is_zero_for_zeros(made, known, self._given):
            self.nonzero.add(reaches)

    def _go_on_with_zeros(self, targets: list[ir.Value]) -> None:
        """Has the derivative of the gradients come to what zeros are multiplied by."""
        if self._is_derived:
            for value in targets:
                self._accumulate(value, self.builder.zeros(value.type))

    def _take(self, value: ir.Value) -> ir.Value | None:
        if value in self._inputs:
            return self.cotangents.get(value)
        return self.cotangents.pop(value, None)

    def _accumulate(self, value: ir.Value, gradient: ir.Value) -> None:
        if gradient.type != value.type:
            raise AssertionError(
                f"girih bug: a gradient of type {gradient.type} for {value.type}"
            )
        known = self.cotangents.get(value)
        if known is not None:
            gradient = accumulated(self.builder, known, gradient)
        self.cotangents[value] = gradient

    def _check(self, op: ir.OpView, gradients: Any) -> None:
        declared = len(OPS[op.operation.name].OPERANDS)
        is_list = isinstance(gradients, list | tuple)
        if not is_list or len(gradients) != declared:
            got = len(gradients) if is_list else type(gradients).__name__
            raise RuleMistake(
                f"expected the derivative of {op.operation.name} to return a list of "
                f"{declared} gradients, one for each operand, got {got}",
                _name(op),
            )


def _check_gradient(op: ir.OpView, operand: ir.Value, gradient: Any) -> None:
    """Checks that a rule gives a gradient of the operand's type, or None."""
    if (
        gradient is None
        or isinstance(gradient, ir.Value)
        and (gradient.type == operand.type)
    ):
        return
    number = list(op.operands).index(operand)
    got = gradient.type if isinstance(gradient, ir.Value) else repr(gradient)
    raise RuleMistake(
        f"expected the derivative of {op.operation.name} to give operand {number} a "
        f"gradient of its type {operand.type}, or None, got {got} (b.unbroadcast sums "
        f"over what an operand was broadcast along)",
        _name(op),
    )


def _name(op: ir.OpView) -> str:
    return rule_name(op)


def _without_rule(op: ir.OpView, name: str) -> str:
    """What is said of an op that has no derivative."""
    text = f"'{op.operation.name}' has no derivative"
    if "." not in name:
        return text
    if role_of(op) is None:
        text += (
            "; a pass with the place 'after:import' can lower it before one is taken"
        )
    return f"{text}; @plugin.vjp({name!r}) adds one"


def _flat(op: ir.OpView, gradients: list) -> list[ir.Value | None]:
    """One gradient or None for each operand that is there."""
    fields = OPS[op.operation.name].OPERANDS
    flat: list[ir.Value | None] = []
    for field, value in zip(fields, gradients, strict=True):
        given = getattr(op, field.name)
        if field.group is Group.VARIADIC:
            flat.extend(value if value is not None else [None] * len(given))
        elif given is not None:
            flat.append(value)
    return flat


def gradients_of(
    ops: Sequence[ir.OpView],
    seeds: Iterable[tuple[ir.Value, ir.Value]],
    inputs: Sequence[ir.Value],
    ip: ir.InsertionPoint,
    *,
    is_derived: bool = False,
) -> list[ir.Value | None]:
    """The gradient for each input, None where no output depends on it.

    Args:
        ops: The ops of the block that stand before ``ip``, in order.
        seeds: Outputs, each with its cotangent.
        inputs: Values to derive by.
        ip: Where the ops of the gradients go.
        is_derived: Whether the gradients may be derived again. Then they depend on all
            that eager's depend on, also where the derivative is zero.
    """
    sweep = Sweep(ops, seeds, inputs, ip, is_derived).run()
    return [sweep.gradient(value) for value in inputs]
