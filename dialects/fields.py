"""The fields of an op: operands, results, attributes, regions.

Fields are descriptors: on an op they read what they stand for, as Python values.
``girih.dialects.definition`` shows how they are declared.
"""

import enum
from collections.abc import Sequence
from typing import Any

from girih.dialects.attributes import Kind
from girih.dialects.bindings import ir


class Group(enum.Enum):
    """How many values a declared operand or result stands for."""

    SINGLE = "single"
    OPTIONAL = "optional"
    VARIADIC = "variadic"


class ValueField:
    """An operand or a result, or a group of them."""

    def __init__(self, group: Group):
        self.group = group
        self.name = ""
        self.index = 0

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def _select(self, values: Sequence, sizes: Sequence[int]) -> Any:
        start = sum(sizes[: self.index])
        group = list(values[start : start + sizes[self.index]])
        if self.group is Group.VARIADIC:
            return group
        return group[0] if group else None


class OperandField(ValueField):
    """An operand or a group of operands."""

    def __get__(self, op: Any, owner: type) -> Any:
        if op is None:
            return self
        if owner.ALL_OPERANDS_SINGLE:
            return op.operands[self.index]
        return self._select(op.operands, operand_groups(op))


class ResultField(ValueField):
    """A result or a group of results."""

    def __get__(self, op: Any, owner: type) -> Any:
        if op is None:
            return self
        if owner.ALL_RESULTS_SINGLE:
            return op.results[self.index]
        return self._select(op.results, group_sizes(owner.RESULTS, len(op.results)))


REQUIRED = object()


class AttributeField:
    """An attribute: its kind, and its default or that it may be absent."""

    def __init__(self, kind: Kind, default: Any, is_optional: bool):
        self.kind = kind
        self.default = default
        self.is_optional = is_optional
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, op: Any, owner: type) -> Any:
        if op is None:
            return self
        attributes = op.attributes
        if self.is_optional and self.name not in attributes:
            return None
        return self.kind.decode(attributes[self.name])


class RegionField:
    """A region.

    Attributes:
        ends_in: the op that its block ends in, None where no terminator is needed.
    """

    def __init__(self, ends_in: str | None) -> None:
        self.ends_in = ends_in
        self.index = 0

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, op: Any, owner: type) -> Any:
        return self if op is None else op.regions[self.index]


def operand() -> Any:
    """Declares an operand."""
    return OperandField(Group.SINGLE)


def optional_operand() -> Any:
    """Declares an operand that may be left out (None)."""
    return OperandField(Group.OPTIONAL)


def variadic_operand() -> Any:
    """Declares any number of operands, of any types."""
    return OperandField(Group.VARIADIC)


def result() -> Any:
    """Declares a result."""
    return ResultField(Group.SINGLE)


def variadic_result() -> Any:
    """Declares any number of results, of any types."""
    return ResultField(Group.VARIADIC)


def attribute(kind: Kind, *, default: Any = REQUIRED) -> Any:
    """Declares an attribute; the builder fills in the default."""
    return AttributeField(kind, default, is_optional=False)


def optional_attribute(kind: Kind) -> Any:
    """Declares an attribute that may be absent (None)."""
    return AttributeField(kind, None, is_optional=True)


def region(*, ends_in: str | None = None) -> Any:
    """Declares a region whose block ends in this op, or has no terminator."""
    return RegionField(ends_in)


SEGMENTS = "operandSegmentSizes"


def group_sizes(fields: Sequence[ValueField], count: int) -> list[int]:
    """Returns the sizes of groups of which at most one is not single."""
    rest = count - sum(field.group is Group.SINGLE for field in fields)
    return [1 if field.group is Group.SINGLE else rest for field in fields]


def operand_groups(op: ir.OpView) -> list[int]:
    """Returns how many operands each declared operand of the op stands for."""
    if type(op).HAS_SEGMENTS:
        return list(op.attributes[SEGMENTS])
    return group_sizes(type(op).OPERANDS, len(op.operands))
