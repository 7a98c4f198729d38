"""Library ops that go through a dim in order: running sums, sorting, selecting.

Source: https://docs.pytorch.org/docs/stable/torch.html#other-operations
"""

from collections.abc import Mapping
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import BOOL, INT, LAYOUTS, SIZE
from girih.dialects.bindings import ir
from girih.dialects.fields import attribute, operand, optional_attribute, result
from girih.dialects.graph.base import LibraryOp, expect_dim, expect_tensor, with_element


class CumsumOp(LibraryOp, name="cumsum"):
    """y[i] = x[0] + ... + x[i] along ``dim``."""

    ZERO_IF = (("x",),)

    x = operand()
    dim = attribute(INT)
    strides = optional_attribute(LAYOUTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        rank = len(expect_tensor(types[0], "x"))
        expect_dim(attributes["dim"], max(rank, 1))
        return [types[0]]


class TopkOp(LibraryOp, name="topk"):
    """values = the k largest (or smallest) along ``dim``; indices = where they are."""

    x = operand()
    k = attribute(SIZE)
    dim = attribute(INT)
    largest = attribute(BOOL, default=True)
    sorted = attribute(BOOL, default=True)
    strides = optional_attribute(LAYOUTS)
    values = result()
    indices = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """x's shape with k in ``dim``; of x's elements and of ``i64``."""
        shape, dim = list(expect_tensor(types[0], "x")), attributes["dim"]
        expect_dim(dim, max(len(shape), 1))
        if shape:
            shape[dim] = attributes["k"]
        element = types[0].element_type
        return [ty.tensor_type(shape, element), ty.tensor_type(shape, ty.i64())]


class SortOp(LibraryOp, name="sort"):
    """values = x sorted along ``dim``; indices = where each came from."""

    x = operand()
    dim = attribute(INT)
    descending = attribute(BOOL, default=False)
    stable = attribute(BOOL, default=False)
    strides = optional_attribute(LAYOUTS)
    values = result()
    indices = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """x's shape; of x's elements and of ``i64``."""
        rank = len(expect_tensor(types[0], "x"))
        expect_dim(attributes["dim"], max(rank, 1))
        return [types[0], with_element(types[0], ty.i64())]
