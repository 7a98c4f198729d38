"""Ops that go through a dim in order: scans, sorting, selecting.

Kernels compute scans where there are many of them, and a library the others.

Source: https://docs.pytorch.org/docs/stable/torch.html#other-operations
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from girih.dialects import types as ty
from girih.dialects.attributes import BOOL, INT, LAYOUTS, SIZE
from girih.dialects.bindings import ir
from girih.dialects.fields import attribute, operand, optional_attribute, result
from girih.dialects.graph import folds
from girih.dialects.graph.base import (
    GraphOp,
    LibraryOp,
    element_of,
    expect_dim,
    expect_float,
    expect_tensor,
    with_element,
)
from girih.dialects.graph.folds import Fold, fold_of
from girih.dialects.rules import expect
from girih.dialects.traits import CHOOSES, JUMPS, SCANS, Cost


class Scan(GraphOp, traits={SCANS}):
    """y[i] = the combination of x[0], ..., x[i] along ``dim``; of x's type.

    A ``dim`` of 0 is allowed where x has none; then y is x. Errors: a dim out of range;
    elements that are bools.
    """

    COST = Cost.FUNCTION
    FOLD: ClassVar[Fold]
    """How elements are combined, as by reductions; the state is one value."""
    IN_LIBRARY: ClassVar[bool] = True
    """Whether a library computes it where there are few rows; otherwise kernels do."""

    x = operand()
    dim = attribute(INT)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        rank = len(expect_tensor(types[0], "x"))
        expect_dim(attributes["dim"], max(rank, 1))
        element = element_of(types[0], "x")
        rule = "have a numeric element type other than i1"
        expect(not ty.is_bool(element), "x", rule, element)
        return [types[0]]


class CumsumOp(Scan, name="cumsum"):
    """y[i] = x[0] + ... + x[i] along ``dim``. Integers wrap around."""

    ZERO_IF = (("x",),)
    FOLD = fold_of(folds.ADD)


class CumprodOp(Scan, name="cumprod"):
    """y[i] = x[0] * ... * x[i] along ``dim``. Integers wrap around."""

    FOLD = fold_of(folds.MUL)


class LogcumsumexpOp(Scan, name="logcumsumexp"):
    """y[i] = log(e**x[0] + ... + e**x[i]) along ``dim``, without overflow.

    Errors, besides those of scans: elements that are not floats.
    """

    FOLD = fold_of(folds.LOGADDEXP)

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        expect_float(types[0], "x")
        return Scan.infer_types(types, attributes)


class _ScanExtremum(Scan):
    """Errors, besides those of scans: an x without dims; complex elements."""

    IN_LIBRARY = False

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        (type_,) = Scan.infer_types(types, attributes)
        expect_dim(attributes["dim"], len(ty.shape_of(type_)))
        ordered = not ty.is_complex(type_.element_type)
        expect(ordered, "x", "have a real element type", type_.element_type)
        return [type_]


class ScanMaxOp(_ScanExtremum, name="scan_max", traits={CHOOSES}):
    """y[i] = the largest of x[0], ..., x[i] along ``dim``; NaN from a NaN on."""

    FOLD = fold_of(folds.MAX)


class ScanMinOp(_ScanExtremum, name="scan_min", traits={CHOOSES}):
    """y[i] = the smallest of x[0], ..., x[i] along ``dim``; NaN from a NaN on."""

    FOLD = fold_of(folds.MIN)


class _RunningExtremum(LibraryOp):
    """The extreme element up to each place, and where it is: the last one of equals.

    Kernels compute it where there are many rows, see ``decompose``.
    """

    SCAN: ClassVar[str] = ""
    """The scan that gives the values."""

    x = operand()
    dim = attribute(INT)
    strides = optional_attribute(LAYOUTS)
    values = result()
    indices = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """x's shape; of x's elements and of ``i64``."""
        rank = len(expect_tensor(types[0], "x"))
        expect_dim(attributes["dim"], max(rank, 1))
        return [types[0], with_element(types[0], ty.i64())]


class CummaxOp(_RunningExtremum, name="cummax"):
    """values[i] = the largest of x[0], ..., x[i]; indices = where it was last."""

    SCAN = "scan_max"


class CumminOp(_RunningExtremum, name="cummin"):
    """values[i] = the smallest of x[0], ..., x[i]; indices = where it was last."""

    SCAN = "scan_min"


class TopkOp(LibraryOp, name="topk", traits={JUMPS}):
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


class SortOp(LibraryOp, name="sort", traits={JUMPS}):
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
