"""Functions, the programs that run them, assertions."""

from girih.dialects import types as ty
from girih.dialects.attributes import BOOL, DICTIONARIES, STRING, TYPE
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects
from girih.dialects.fields import attribute, operand, optional_attribute, region, result
from girih.dialects.regions import expect_arguments, only_block
from girih.dialects.rules import expect
from girih.dialects.tt.base import INT32, TtOp, element_of


class FuncOp(TtOp, name="func"):
    """A function that each program of a grid runs; it returns nothing.

    ``function_type`` is that of the block's arguments. ``arg_attrs`` holds
    what is known of them (``tt.divisibility``), ``girih.launch`` how to start it.
    """

    EFFECTS = Effects.ORDERED

    sym_name = attribute(STRING)
    function_type = attribute(TYPE)
    sym_visibility = attribute(STRING, default="public")
    noinline = attribute(BOOL, default=False)
    arg_attrs = optional_attribute(DICTIONARIES)
    body = region(ends_in="tt.return")

    @property
    def block(self) -> ir.Block:
        """The function's only block."""
        return self.regions[0].blocks[0]

    def verify_invariants(self) -> None:
        """Checks the function's type, arguments and terminator."""
        type_ = self.function_type
        is_function = isinstance(type_, ir.FunctionType) and not type_.results
        expect(is_function, "function_type", "be a function without results", type_)
        expect_arguments(only_block(self), list(type_.inputs))
        operations = list(self.block.operations)
        name = operations[-1].operation.name if operations else "nothing"
        expect(name == "tt.return", "body", "end in tt.return", name)


class ReturnOp(TtOp, name="return"):
    """Ends a function."""

    IS_TERMINATOR = True
    EFFECTS = Effects.ORDERED


class GetProgramIdOp(TtOp, name="get_program_id"):
    """The number of this program along ``axis``: 0, 1 or 2 for x, y, z."""

    axis = attribute(INT32, default=0)
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """An i32."""
        axis = attributes["axis"]
        expect(0 <= axis <= 2, "axis", "be 0, 1 or 2", axis)
        return [ir.IntegerType.get_signless(32)]


class AssertOp(TtOp, name="assert"):
    """Stops the device with a message unless the condition holds in each lane."""

    EFFECTS = Effects.ORDERED

    condition = operand()
    message = attribute(STRING)

    def verify_invariants(self) -> None:
        """Checks that the condition consists of bools."""
        type_ = self.condition.type
        expect(ty.is_bool(element_of(type_)), "condition", "have elements i1", type_)
