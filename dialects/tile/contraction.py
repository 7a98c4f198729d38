"""Products of blocks: what tensor cores compute."""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.fields import operand, result
from girih.dialects.rules import expect
from girih.dialects.tile.base import TileOp, element_and_shape


class DotOp(TileOp, name="dot"):
    """value = a @ b + acc, products and sums in f32 (GPUs only).

    a: vector<m x k>, b: vector<k x n>, both f16, bf16 or f32; acc, value: f32,
    vector<m x n>. Whether f32 operands are rounded to tf32 is the target's choice.
    """

    a = operand()
    b = operand()
    acc = operand()
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: object) -> list[ir.Type]:
        """The type of ``acc``."""
        a, b, acc = types
        element, left = element_and_shape(a)
        is_float = str(element) in ("f16", "bf16", "f32")
        rule = "be a vector<m x k> of f16, bf16 or f32"
        expect(is_float and len(left) == 2, "a", rule, a)
        own, right = element_and_shape(b)
        fits = own == element and len(right) == 2 and right[0] == left[1]
        expect(fits, "b", f"be a vector<{left[1]} x n> of {element}", b)
        wanted = ty.vector_type((left[0], right[1]), ir.F32Type.get())
        expect(acc == wanted, "acc", f"have type {wanted}", acc)
        return [wanted]
