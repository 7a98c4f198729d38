"""Products of matrices on tensor cores."""

from girih.dialects.bindings import ir
from girih.dialects.fields import attribute, operand, result
from girih.dialects.rules import expect
from girih.dialects.tt.base import INT32, TtOp, element_of, expect_type, shape_of
from girih.dialects.tt.base import with_shape as tensor


class DotOp(TtOp, name="dot"):
    """a @ b + c: [m, k], [k, n], [m, n].

    ``inputPrecision`` of f32 operands: 0 tf32, 1 three of these, 2 IEEE.
    """

    a = operand()
    b = operand()
    c = operand()
    inputPrecision = attribute(INT32, default=2)  # noqa: N815  (Triton's name)
    maxNumImpreciseAcc = attribute(INT32, default=0)  # noqa: N815  (Triton's name)
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """The type of c."""
        a, b, c = types
        left, right = shape_of(a), shape_of(b)
        fits = len(left) == len(right) == 2 and left[1] == right[0]
        expect(fits, "b", f"have as many rows as {a} has columns", b)
        expect_type(c, "c", tensor((left[0], right[1]), element_of(c)))
        return [c]
