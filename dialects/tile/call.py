"""Calls of functions from inside of kernels."""

from girih.dialects.attributes import SYMBOL
from girih.dialects.bindings import ir
from girih.dialects.definition import Op
from girih.dialects.fields import attribute, result, variadic_operand
from girih.dialects.rules import expect
from girih.dialects.tile.base import TileOp


class CallOp(TileOp, name="call"):
    """value = the function of values that the module declares as ``callee``.

    [Note: calls in kernels] MLIR doesn't know whether a ``tile.kernel`` holds a table
    of symbols of its own, as it knows nothing of our ops, so its own calls are invalid
    there: their verifiers find no declaration. This op stands for one until the kernel
    is a function.
    """

    arguments = variadic_operand()
    callee = attribute(SYMBOL)
    value = result()

    def verify_invariants(self) -> None:
        """Checks that the callee is declared, for these types."""
        function = _declared(self, self.callee)
        rule = "be declared by an llvm.func of the module"
        expect(function is not None, "callee", rule, f"@{self.callee}")
        given = ", ".join(str(value.type) for value in self.operands)
        wanted = f"!llvm.func<{self.results[0].type} ({given})>"
        actual = function.attributes["function_type"]
        expect(str(actual) == wanted, "callee", f"have type {wanted}", actual)


def _declared(op: Op, name: str) -> ir.OpView | None:
    top = op.operation
    while top.parent is not None:
        top = top.parent.operation
    for candidate in top.regions[0].blocks[0].operations:
        if candidate.operation.name == "llvm.func":
            if ir.StringAttr(candidate.attributes["sym_name"]).value == name:
                return candidate
    return None
