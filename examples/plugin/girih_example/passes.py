"""Two passes: one rewrites ops, one fuses two ops into a call of a kernel."""

from dataclasses import dataclass

import girih
import girih_example.operators  # noqa: F401  (an operator is there before its rule)
from girih.plugins import (
    FLOAT,
    attribute,
    functions_of,
    operand,
    result,
    rewriter,
    shape_of,
    tensor_type,
)

example = girih.plugin("example")


@dataclass(frozen=True)
class FastGeluOptions:
    """Options of the pass ``fast-gelu``."""

    min_elements: int = 0
    """Tensors with fewer elements keep the exact formula."""


@example.compiler_pass("fast-gelu")
def use_fast_gelu(module, options: FastGeluOptions):
    """Every exact GELU of a large tensor becomes the approximation by tanh."""
    for body in functions_of(module):
        for op in list(body.operations):
            if _is_exact_gelu(op) and _elements(op.x) >= options.min_elements:
                b = rewriter(op)
                b.replace(op, b.op("gelu", op.x, approximate="tanh"))


def _is_exact_gelu(op):
    return op.operation.name == "graph.gelu" and op.approximate == "none"


def _elements(value):
    count = 1
    for size in shape_of(value.type):
        if not isinstance(size, int):
            return 0  # a symbolic size: nobody knows
        count *= size
    return count


class MmSoftclipOp(example.Library, name="mm_softclip"):
    """y = softclip(x @ w, limit)."""

    x = operand()
    w = operand()
    limit = attribute(FLOAT)
    y = result()

    @staticmethod
    def infer_types(types, attributes):
        """A matrix with the rows of x and the columns of w."""
        x, w = types
        shape = (shape_of(x)[0], shape_of(w)[1])
        return [tensor_type(shape, x.element_type)]


example.calls(MmSoftclipOp, "example::mm_softclip")


@example.compiler_pass("fuse-mm-softclip", place="after:clean-up")
def fuse_mm_softclip(module):
    """A product that only a softclip reads becomes one call of a kernel with it.

    Derivatives have been taken by then, so the new op needs none.
    """
    for body in functions_of(module):
        for op in list(body.operations):
            if op.operation.name == "example.softclip":
                _fuse(op)


def _fuse(op):
    product = op.x.owner
    is_product = getattr(product, "name", "") == "graph.mm"
    if not is_product or len(list(op.x.uses)) != 1:
        return
    b = rewriter(op)
    lhs, rhs = product.operands
    b.replace(op, b.op("example.mm_softclip", lhs, rhs, limit=op.limit))
    product.erase()
