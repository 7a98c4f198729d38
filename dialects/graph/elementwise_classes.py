"""Classes of elementwise ops: what operands may hold, and the types of results.

Each says what its operands' elements may be in ``ELEMENTS``, a key of the table below.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.fields import operand, result
from girih.dialects.graph.base import (
    GraphOp,
    broadcast,
    element_of,
    expect_same_element,
    with_element,
)
from girih.dialects.graph.formulas import (
    HAS_STEPS,
    NO_REAL_NUMBERS,
    Promotes,
    Sample,
)
from girih.dialects.rules import expect
from girih.dialects.traits import COMPARES, ELEMENTWISE, JUMPS, KEEPS_DIGITS, Cost


class Unary(GraphOp, traits={ELEMENTWISE}):
    """One operand; the result has its type. ``ELEMENTS`` says what it may hold."""

    ATEN = "default"
    ELEMENTS = "any"

    x = operand()
    y = result()

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        _check_elements(cls)

    @classmethod
    def infer_types(cls, types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        expect_elements(types[0], "x", cls.ELEMENTS)
        return [types[0]]


class Binary(GraphOp, traits={ELEMENTWISE}):
    """Two operands that broadcast; the result has their element type."""

    ATEN = "Tensor"
    ELEMENTS = "any"

    lhs = operand()
    rhs = operand()
    y = result()

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        _check_elements(cls)

    @classmethod
    def infer_types(cls, types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The broadcast shape with the operands' element type."""
        lhs, rhs = types
        expect_elements(lhs, "lhs", cls.ELEMENTS)
        if lhs == rhs:
            return [lhs]
        expect_same_element(rhs, "rhs", element_of(lhs, "lhs"))
        shape = broadcast(types, ("lhs", "rhs"))
        return [ty.tensor_type(shape, lhs.element_type)]


def _is_number(element: ir.Type) -> bool:
    return not ty.is_bool(element)


# What ``ELEMENTS`` may be: name -> (predicate on the element type, for messages).
_ELEMENT_RULES = {
    "any": (lambda element: True, "any element type"),
    "number": (_is_number, "a numeric element type other than i1"),
    "real": (
        lambda element: _is_number(element) and not ty.is_complex(element),
        "a real element type other than i1",
    ),
    "ordered": (lambda element: not ty.is_complex(element), "a real element type"),
    "float": (
        lambda element: ty.is_float(element) or ty.is_complex(element),
        "a float element type",
    ),
    "real float": (ty.is_float, "a real float element type"),
    "integer": (ty.is_integer, "an integer element type"),
    "bits": (
        lambda element: isinstance(element, ir.IntegerType),
        "an integer element type or i1",
    ),
    "bool": (ty.is_bool, "element type i1"),
}


def _check_elements(cls: type[GraphOp]) -> None:
    if cls.ELEMENTS not in _ELEMENT_RULES:
        known = ", ".join(map(repr, _ELEMENT_RULES))
        raise ValueError(f"ELEMENTS of an op is one of {known}, got {cls.ELEMENTS!r}")


def expect_elements(type_: ir.Type, name: str, rule: str) -> None:
    """Checks that an operand's elements are what a key of the table says."""
    predicate, text = _ELEMENT_RULES[rule]
    element = element_of(type_, name)
    expect(predicate(element), name, f"have {text}", element)


class NumericUnary(Unary):
    """Any elements but bool."""

    ELEMENTS = "number"


class FloatUnary(Unary):
    """Real or complex floating point."""

    PROMOTES = Promotes.TO_FLOAT
    SAMPLE = Sample(0.1, 0.9)

    ELEMENTS = "float"


class RealFloatUnary(Unary):
    """Real floating point."""

    PROMOTES = Promotes.TO_FLOAT
    SAMPLE = Sample(0.1, 0.9)

    ELEMENTS = "real float"


class Rounding(RealFloatUnary, traits={JUMPS, KEEPS_DIGITS}):
    """Floats to whole numbers; integers are whole already."""

    PROMOTES = Promotes.WHOLE
    COST = Cost.CHEAP
    GRADIENT = HAS_STEPS


class FloatFunction(RealFloatUnary):
    """A function of torch's of one float operand; integers are computed as floats.

    ``EMIT``, ``GRADIENT`` and ``ATEN`` are all that girih needs to know of it: import
    and evaluation go by the ATen operator. Attributes are numbers among its arguments.
    ``SAMPLE`` says with what the tests try it.
    """

    SAMPLE: ClassVar[Sample]

    @classmethod
    def arguments(cls, x: Any, numbers: Sequence) -> tuple:
        """The operator's arguments: the operand, then the attributes."""
        return (x, *numbers)

    @classmethod
    def takes(cls, number: Any) -> bool:
        """Whether kernels are made for such an attribute."""
        return False


class Predicate(Unary):
    """The result is ``i1``."""

    COST = Cost.CHEAP
    ELEMENTS = "ordered"
    GRADIENT = NO_REAL_NUMBERS

    @classmethod
    def infer_types(cls, types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's shape with bools."""
        expect_elements(types[0], "x", cls.ELEMENTS)
        return [with_element(types[0], ty.i1())]


class NumericBinary(Binary):
    """Any elements but bool."""

    ELEMENTS = "number"


class RealBinary(Binary):
    """Integers and real floating point."""

    ELEMENTS = "real"


class Comparison(Binary, traits={COMPARES, JUMPS}):
    """The result is ``i1``."""

    COST = Cost.CHEAP
    PROMOTES = Promotes.COMPARES
    ELEMENTS = "ordered"
    GRADIENT = NO_REAL_NUMBERS

    @classmethod
    def infer_types(cls, types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The broadcast shape with bools."""
        return [with_element(super().infer_types(types, attributes)[0], ty.i1())]


class LogicalBinary(Binary, traits={JUMPS}):
    """Bools to bools."""

    ATEN = "default"
    PROMOTES = Promotes.TRUTHS
    COST = Cost.CHEAP
    ELEMENTS = "bool"
    GRADIENT = NO_REAL_NUMBERS


class BitwiseBinary(Binary):
    """Integers and bools."""

    COST = Cost.CHEAP
    ELEMENTS = "bits"
    GRADIENT = NO_REAL_NUMBERS
