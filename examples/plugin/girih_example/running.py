"""A library op: a call of a torch operator, with a derivative by rule."""

import girih
import girih_example.operators  # noqa: F401  (an operator is there before its rule)
from girih.plugins import INT, attribute, expect, operand, result, shape_of

example = girih.plugin("example")


class RunningSumOp(example.Library, name="running_sum"):
    """y[..., i, ...] = x[..., 0, ...] + ... + x[..., i, ...] along a dim."""

    x = operand()
    dim = attribute(INT)
    y = result()

    @staticmethod
    def infer_types(types, attributes):
        """The operand's type."""
        return [types[0]]

    def verify_invariants(self):
        """The dim must be one of the operand."""
        rank = len(shape_of(self.x.type))
        expect(0 <= self.dim < rank, "dim", f"be below the rank {rank}", self.dim)


# The call's arguments are the op's operands, then its attributes, in order.
example.calls(RunningSumOp, "example::running_sum")


@example.imports("example::running_sum")
def import_running_sum(b, x, dim):
    """Imports a call of the torch operator."""
    return b.op("example.running_sum", [x], {"dim": dim % len(x.shape)})


@example.vjp(RunningSumOp)
def derive_running_sum(op, cotangents, b):
    """Element i is part of all sums from i on: ``sum(dy) - running_sum(dy) + dy``."""
    (dy,) = cotangents
    total = b.broadcast_to(b.sum(dy, [op.dim]), shape_of(dy.type))
    running = b.op("example.running_sum", dy, dim=op.dim)
    return [b.add(b.sub(total, running), dy)]
