"""Elementwise functions that are neither in ``arith`` nor in ``math``."""

from girih.dialects.attributes import BOOL, STRING
from girih.dialects.bindings import ir
from girih.dialects.fields import attribute, operand, result, variadic_operand
from girih.dialects.rules import expect
from girih.dialects.tt.base import INT32, TtOp, element_of, expect_type, shape_of


def _expect_equal_sizes(arguments: list[ir.Value], value: ir.Value) -> None:
    wanted = shape_of(value.type)
    actual = [argument.type for argument in arguments]
    fits = all(shape_of(type_) == wanted for type_ in actual)
    expect(fits, "arguments", f"have sizes {list(wanted)}", actual)


class ExternElementwiseOp(TtOp, name="extern_elementwise"):
    """The function ``symbol`` of the device's library, in each lane."""

    arguments = variadic_operand()
    libname = attribute(STRING, default="")
    libpath = attribute(STRING, default="")
    symbol = attribute(STRING)
    pure = attribute(BOOL, default=True)
    value = result()

    def verify_invariants(self) -> None:
        """Checks that all have the same sizes."""
        _expect_equal_sizes(self.arguments, self.value)


class ElementwiseInlineAsmOp(TtOp, name="elementwise_inline_asm"):
    """An instruction of the device, in each lane; ``$0`` is its result."""

    arguments = variadic_operand()
    asm_string = attribute(STRING)
    constraints = attribute(STRING)
    packed_element = attribute(INT32, default=1)
    pure = attribute(BOOL, default=True)
    value = result()

    def verify_invariants(self) -> None:
        """Checks that all have the same sizes."""
        _expect_equal_sizes(self.arguments, self.value)


def _expect_f32(type_: ir.Type, name: str) -> None:
    is_f32 = element_of(type_) == ir.F32Type.get()
    expect(is_f32, name, "have elements f32", type_)


class PreciseDivfOp(TtOp, name="precise_divf"):
    """x / y rounded to nearest; ``arith.divf`` is off by up to 2 ulp in f32."""

    x = operand()
    y = operand()
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """The type of both operands."""
        _expect_f32(types[0], "x")
        expect_type(types[1], "y", types[0])
        return [types[0]]


class PreciseSqrtOp(TtOp, name="precise_sqrt"):
    """The square root rounded to nearest; ``math.sqrt`` is approximate in f32."""

    x = operand()
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """The operand's type."""
        _expect_f32(types[0], "x")
        return [types[0]]
