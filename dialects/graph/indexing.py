"""Reading and writing at indices that are data.

Indices are ``i64`` or ``i32``; one out of range raises eager's error, as do negative
ones, but for ``index``, and where ``from_end`` says that they count from the end.
``take`` and ``gather`` are primitives; ``embedding``, ``index``, ``tril`` and ``triu``
are composites; scatters and ``index_put`` are library ops.
Source: https://docs.pytorch.org/docs/stable/torch.html#indexing-slicing-joining-mutating-ops
"""

from collections.abc import Mapping
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import BOOL, INT, INTS, LAYOUTS, UNIT
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.dialects.fields import (
    attribute,
    operand,
    optional_attribute,
    result,
    variadic_operand,
)
from girih.dialects.graph.base import (
    CompositeOp,
    GraphOp,
    LibraryOp,
    broadcast,
    element_of,
    expect_dim,
    expect_dims,
    expect_index,
    expect_rank,
    expect_same_element,
    expect_tensor,
    shape_text,
)
from girih.dialects.rules import expect
from girih.dialects.traits import ACCUMULATES, GATHERS, MAY_FAIL, TAKES_FLOAT8, Cost


class TakeOp(GraphOp, name="take", traits={GATHERS, MAY_FAIL, TAKES_FLOAT8}):
    """y = x with dim ``dim`` replaced by the dims of ``index``: whole slices of x.

    y: x.shape[:dim] + index.shape + x.shape[dim + 1:].
    """

    COST = Cost.CHEAP
    ZERO_IF = (("x",),)

    x = operand()
    index = operand()
    dim = attribute(INT)
    from_end = optional_attribute(UNIT)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's shape with the index's shape in place of ``dim``."""
        x, index = types
        shape, dim = expect_tensor(x, "x"), attributes["dim"]
        expect_dim(dim, len(shape))
        expect_index(index, "index")
        taken = shape[:dim] + ty.shape_of(index) + shape[dim + 1 :]
        return [ty.tensor_type(taken, x.element_type)]


class GatherOp(GraphOp, name="gather", traits={GATHERS, MAY_FAIL, TAKES_FLOAT8}):
    """y[i, j, k] = x[index[i, j, k], j, k] for ``dim`` = 0, as torch.gather.

    y and index: one shape, of x's rank.
    """

    COST = Cost.CHEAP
    ZERO_IF = (("x",),)

    x = operand()
    index = operand()
    dim = attribute(INT)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The index's shape with the operand's elements."""
        x, index = types
        rank = len(expect_tensor(x, "x"))
        expect_index(index, "index")
        shape = expect_rank(index, "index", rank)
        expect_dim(attributes["dim"], max(rank, 1))
        return [ty.tensor_type(shape, x.element_type)]


class EmbeddingOp(CompositeOp, name="embedding"):
    """y[i..., :] = weight[index[i...], :].

    ``padding_idx`` (-1: none) only matters for the derivative.
    """

    ZERO_IF = (("weight",),)

    weight = operand()
    index = operand()
    padding_idx = attribute(INT, default=-1)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The index's shape and one more dim, the rows'."""
        weight, index = types
        _, width = expect_rank(weight, "weight", 2)
        expect_index(index, "index")
        return [ty.tensor_type((*ty.shape_of(index), width), weight.element_type)]


class IndexOp(CompositeOp, name="index"):
    """y = x[..., index, ...]: indices for ``dims``, as advanced indexing in torch.

    The indices broadcast. Their shape stands where the indexed dims stood if these
    are adjacent, else in front.
    """

    ZERO_IF = (("x",),)

    x = operand()
    indices = variadic_operand()
    dims = attribute(INTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The shape by the rule above."""
        x, indices = types
        shape = indexed_shape(x, indices, attributes["dims"])
        return [ty.tensor_type(shape, x.element_type)]


def indexed_shape(
    x: ir.Type, indices: list[ir.Type], dims: tuple[int, ...]
) -> tuple[Size, ...]:
    """Returns the shape of ``x`` indexed along ``dims`` by broadcast ``indices``."""
    shape = expect_tensor(x, "x")
    expect_dims(dims, len(shape))
    expect(len(dims) > 0, "dims", "name a dim", "nothing")
    number = f"number {len(dims)}, one for each of dims"
    expect(len(indices) == len(dims), "indices", number, len(indices))
    ascending = list(dims) == sorted(dims)
    expect(ascending, "dims", "ascend", list(dims))
    names = [f"indices[{n}]" for n in range(len(indices))]
    for name, type_ in zip(names, indices, strict=True):
        expect_index(type_, name)
    broadcasted = broadcast(indices, names)
    rest = tuple(size for d, size in enumerate(shape) if d not in dims)
    adjacent = dims[-1] - dims[0] == len(dims) - 1
    start = dims[0] if adjacent else 0
    return rest[:start] + broadcasted + rest[start:]


class _Triangle(CompositeOp):
    """A triangle of the last two dims, zeros elsewhere."""

    ZERO_IF = (("x",),)

    x = operand()
    diagonal = attribute(INT, default=0)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        shape = expect_tensor(types[0], "x")
        expect(len(shape) >= 2, "x", "have rank 2 or more", types[0])
        return [types[0]]


class TrilOp(_Triangle, name="tril"):
    """y[..., i, j] = x[..., i, j] where j - i <= diagonal, else 0."""


class TriuOp(_Triangle, name="triu"):
    """y[..., i, j] = x[..., i, j] where j - i >= diagonal, else 0."""


class _Scatter(LibraryOp):
    """x with elements of ``src`` written along ``dim`` at ``index``."""

    ZERO_IF = (("x", "src"),)

    x = operand()
    index = operand()
    src = operand()
    dim = attribute(INT)
    strides = optional_attribute(LAYOUTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The type of x."""
        x, index, src = types
        rank = len(expect_tensor(x, "x"))
        expect_dim(attributes["dim"], max(rank, 1))
        expect_index(index, "index")
        expect_rank(index, "index", rank)
        expect_rank(src, "src", rank)
        expect_same_element(src, "src", element_of(x, "x"))
        return [x]


class ScatterOp(_Scatter, name="scatter"):
    """y = x, but y[index[i, j], j] = src[i, j] for ``dim`` = 0; later ones win.

    With ``unique`` no two elements go to one place.
    """

    unique = optional_attribute(UNIT)


class ScatterAddOp(_Scatter, name="scatter_add"):
    """y = x, with src[i, j] added to y[index[i, j], j] for ``dim`` = 0."""


class IndexPutOp(LibraryOp, name="index_put"):
    """y = x, but y[..., indices, ...] = values (added if ``accumulate``).

    Values broadcast to the shape that ``index`` would give.
    """

    ZERO_IF = (("x", "values"),)

    x = operand()
    values = operand()
    indices = variadic_operand()
    dims = attribute(INTS)
    accumulate = attribute(BOOL, default=False)
    strides = optional_attribute(LAYOUTS)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The type of x."""
        x, values, indices = types
        indexed_shape(x, indices, attributes["dims"])
        expect_same_element(values, "values", x.element_type)
        return [x]


class AccumulateOp(GraphOp, name="accumulate", traits={ACCUMULATES, MAY_FAIL}):
    """y = x, with source[i...] added to the element of y number place[i...].

    Elements are counted in row-major order. Several may be added to one, in any order.
    place and source: one shape; y: x's type.
    """

    COST = Cost.CHEAP

    x = operand()
    place = operand()
    source = operand()
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The type of x."""
        x, place, source = types
        expect_same_element(source, "source", element_of(x, "x"))
        expect_same_element(place, "place", ty.i64())
        shape = shape_text(expect_tensor(source, "source"))
        same = expect_tensor(place, "place") == ty.shape_of(source)
        expect(same, "place", f"have the shape {shape} of source", place)
        return [x]
