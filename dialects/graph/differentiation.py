"""What programs say about derivatives; gone when ``decompose`` has run.

``autograd`` resolves ``gradient``; the other ops keep their meaning for derivatives of
higher order. Source: https://docs.pytorch.org/docs/stable/notes/autograd.html
"""

from collections.abc import Mapping
from typing import Any

from girih.dialects.attributes import INTS, UNIT
from girih.dialects.bindings import ir
from girih.dialects.fields import (
    operand,
    optional_attribute,
    region,
    result,
    variadic_operand,
    variadic_result,
)
from girih.dialects.graph.base import DerivativeOp, expect_tensor
from girih.dialects.graph.structure import YieldOp
from girih.dialects.regions import expect_arguments, only_block
from girih.dialects.rules import expect
from girih.dialects.traits import MAY_ALIAS, VIEW


class _Identity(DerivativeOp, traits={VIEW, MAY_ALIAS}):
    """y = x."""

    ZERO_IF = (("x",),)

    x = operand()
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        expect_tensor(types[0], "x")
        return [types[0]]


class DetachOp(_Identity, name="detach"):
    """y = x, which no derivative goes through."""


class AliasOp(_Identity, name="alias"):
    """y = x, a value of its own: the gradient with respect to y is not that of x.

    With ``once`` there is no derivative: asking for one is an error of the program.
    With ``followed`` the gradient with respect to x has a derivative by x, zeros.
    With ``fresh`` it stands for a copy: a write to the tensor that x is does not change
    y.
    """

    followed = optional_attribute(UNIT)
    fresh = optional_attribute(UNIT)
    once = optional_attribute(UNIT)


class SubstituteOp(DerivativeOp, name="substitute"):
    """y = value; its derivative is that of ``original``.

    What a tensor is worth after a write that autograd did not see.
    """

    ZERO_IF = (("value",),)

    value = operand()
    original = operand()
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The type of both."""
        value, original = types
        expect_tensor(value, "value")
        expect(original == value, "original", f"have type {value}", original)
        return [value]


class CustomVjpOp(DerivativeOp, name="custom_vjp"):
    """outputs = values; the region says how gradients go from them to ``inputs``.

    The block takes a cotangent for each value, then maybe the outputs themselves. It
    yields a gradient for each input: of the input's type, or a tensor without dims of
    its elements that stands for zeros. Values from outside may be used in it. Inputs
    with numbers in ``absent`` get no gradient, which is not the same as zeros. With
    ``materializes`` what is computed behind values that get none is given zeros.
    """

    values = variadic_operand()
    inputs = variadic_operand()
    absent = optional_attribute(INTS)
    materializes = optional_attribute(UNIT)
    body = region(ends_in=YieldOp.OPERATION_NAME)
    outputs = variadic_result()

    @property
    def derived(self) -> list[ir.Value]:
        """The inputs that get a gradient."""
        absent = self.absent or ()
        return [value for n, value in enumerate(self.inputs) if n not in absent]

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The types of the values."""
        return list(types[0])

    def verify_invariants(self) -> None:
        """Checks the region against the operands."""
        block = only_block(self)
        types = [value.type for value in self.values]
        has_outputs = len(block.arguments) > len(types)
        expect_arguments(block, types * 2 if has_outputs else types)
        last = list(block.operations)[-1].operation if len(block.operations) else None
        name = last.name if last else "nothing"
        terminator = YieldOp.OPERATION_NAME
        expect(name == terminator, "body", f"end in {terminator}", name)
        gradients, inputs = list(last.operands), self.inputs
        count = len(inputs)
        for number in self.absent or ():
            expect(0 <= number < count, "absent", "hold positions of inputs", number)
        expect(len(gradients) == count, "body", f"yield {count} values", len(gradients))
        for gradient, given in zip(gradients, inputs, strict=True):
            zero = ir.RankedTensorType.get([], given.type.element_type)
            fits = gradient.type in (given.type, zero)
            expect(fits, "body", f"yield {given.type} or {zero}", gradient.type)


class GradientOp(DerivativeOp, name="gradient"):
    """gradients = the derivative of ``outputs`` by ``inputs``, times ``cotangents``.

    One cotangent for each output, one gradient for each input: zeros where no output
    depends on it. Without ``create_graph`` no derivative goes through the gradients.
    """

    outputs = variadic_operand()
    inputs = variadic_operand()
    cotangents = variadic_operand()
    create_graph = optional_attribute(UNIT)
    gradients = variadic_result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The types of the inputs."""
        outputs, inputs, cotangents = types
        count = len(outputs)
        one_each = len(cotangents) == count
        expect(one_each, "cotangents", f"have {count} entries", len(cotangents))
        for number, pair in enumerate(zip(outputs, cotangents, strict=True)):
            name = f"cotangents[{number}]"
            expect(pair[0] == pair[1], name, f"have type {pair[0]}", pair[1])
        return list(inputs)
