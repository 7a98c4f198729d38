"""The rule table: graph op -> call of an ATen op.

A rule is a function `rule(op) -> AtenCall` under `@calls_aten("graph.name")`. Families
register their rules in files of their own; `rule_for` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from girih.dialects.attributes import Argument, OperandRef, TorchConstant
from girih.dialects.bindings import ir
from girih.dialects.fields import Group
from girih.dialects.rule_table import RuleTable
from girih.dialects.types import element_of

DTYPE_NAMES = {
    "bf16": "bfloat16",
    "complex<f16>": "complex32",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2": "float8_e5m2",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "i1": "bool",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "i8": "int8",
    "ui16": "uint16",
    "ui32": "uint32",
    "ui64": "uint64",
    "ui8": "uint8",
}
"""Element type -> name of the torch dtype."""


class NoRule(ValueError):
    """A graph op can neither become generated code nor a call of ATen."""


@dataclass(frozen=True)
class AtenCall:
    """A call of an ATen overload.

    Attributes:
        op: name of the overload.
        args: positional arguments; `OperandRef(i)` is operand i of the graph op.
        kwargs: keyword arguments.
        results: which results of the graph op the call returns; None means all.
    """

    op: str
    args: tuple[Argument, ...]
    kwargs: Mapping[str, Argument] = field(default_factory=dict)
    results: tuple[int, ...] | None = None


Rule = Callable[[ir.OpView], AtenCall]
_RULES: dict[str, Rule] = RuleTable(
    "call of a torch operator for ", "plugin.calls({name!r}, ...)"
)


def calls_aten(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule for graph ops; an op with two rules is an error."""
    return _RULES.registering(*names)


def calls_same_arguments(table: Mapping[str, str]) -> None:
    """Registers rules for ops whose operands are the ATen op's arguments."""
    for name, aten in table.items():
        calls_aten(name)(lambda op, aten=aten: AtenCall(aten, operands(op)))


def calls_with_attributes(name: str, overload: str) -> None:
    """Registers a rule for an op whose operands, then attributes, are the arguments."""

    def call(op: ir.OpView) -> AtenCall:
        attributes = (getattr(op, field) for field in type(op).ATTRIBUTES)
        return AtenCall(overload, (*declared(op), *attributes))

    calls_aten(name)(call)


def rule_for(name: str) -> Rule | None:
    """The rule for the graph op called `name`."""
    return _RULES.get(name)


def ops_with_rules() -> frozenset[str]:
    """Names of the graph ops that have a rule."""
    return frozenset(_RULES)


def operands(op: ir.OpView) -> tuple[OperandRef, ...]:
    """All operands in order, as arguments."""
    return tuple(OperandRef(index) for index in range(len(op.operands)))


def declared(op: ir.OpView) -> tuple[Argument, ...]:
    """Declared operands as arguments: None for one left out, several as a group."""
    position, arguments = 0, []
    for each in type(op).OPERANDS:
        value = getattr(op, each.name)
        is_group = each.group is Group.VARIADIC
        count = len(value) if is_group else int(value is not None)
        found = tuple(OperandRef(position + index) for index in range(count))
        arguments.append(found if is_group else found[0] if found else None)
        position += count
    return tuple(arguments)


def optional(op: ir.OpView, names: Sequence[str]) -> tuple[OperandRef | None, ...]:
    """Declared operands as arguments, None for those that are left out."""
    position, arguments = 0, []
    for name in names:
        if getattr(op, name) is None:
            arguments.append(None)
        else:
            arguments.append(OperandRef(position))
            position += 1
    return tuple(arguments)


def is_used(value: ir.Value) -> bool:
    """Whether anything reads the value."""
    return next(iter(value.uses), None) is not None


def dtype_of(value: ir.Value) -> TorchConstant:
    """The dtype of a tensor, as an argument."""
    return TorchConstant("dtype", DTYPE_NAMES[str(element_of(value.type))])


# Where rules say that new tensors are made; see `on_device`.
CPU = TorchConstant("device", "cpu")


def on_device(call: AtenCall, device: str) -> AtenCall:
    """The call in a program that computes on another device."""
    if call.kwargs.get("device") != CPU:
        return call
    there = TorchConstant("device", device)
    return replace(call, kwargs={**call.kwargs, "device": there})
