"""Reductions. The reduced dims stay, with size 1, so ranks never change here.

``mean`` and ``var`` are composite. Sums and products are accumulated at least as
precisely as eager does. Source:
https://docs.pytorch.org/docs/stable/torch.html#reduction-ops
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from girih.dialects import types as ty
from girih.dialects.attributes import FLOAT, INT, INTS, STRING
from girih.dialects.bindings import ir
from girih.dialects.fields import attribute, operand, optional_attribute, result
from girih.dialects.graph import folds
from girih.dialects.graph.base import (
    GraphOp,
    element_of,
    expect_dim,
    expect_dims,
    expect_float,
    expect_same_element,
    expect_tensor,
)
from girih.dialects.graph.folds import Fold, first_of, fold_of
from girih.dialects.graph.formulas import NoGradient, of_operand
from girih.dialects.rules import expect
from girih.dialects.traits import CHOOSES, FINDS_PLACE, JUMPS, REDUCES, Cost, Role


def reduced_type(
    type_: ir.Type, dims: tuple[int, ...], element: ir.Type | None = None
) -> ir.Type:
    """Returns a tensor type with size 1 in ``dims`` and maybe other elements."""
    shape = [1 if d in dims else n for d, n in enumerate(ty.shape_of(type_))]
    return ty.tensor_type(shape, element or type_.element_type)


class Reduction(GraphOp, traits={REDUCES}):
    """y[..., 0, ...] = the combination of x over ``dims``; of x's element type.

    Errors: a dim out of range or named twice.
    """

    COST = Cost.CHEAP
    FOLD: ClassVar[Fold | None] = None
    """How elements are combined; None where the op is written with others."""

    x = operand()
    dims = attribute(INTS)
    y = result()

    @classmethod
    def infer_types(cls, types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type with size 1 in the reduced dims."""
        dims = attributes["dims"]
        expect_dims(dims, len(expect_tensor(types[0], "x")))
        cls.check_element(types[0])
        return [reduced_type(types[0], dims)]

    @classmethod
    def check_element(cls, type_: ir.Type) -> None:
        """Checks the operand's element type; here all but bool."""
        element = element_of(type_, "x")
        rule = "have a numeric element type other than i1"
        expect(not ty.is_bool(element), "x", rule, element)


class ReduceSumOp(Reduction, name="reduce_sum"):
    """y = the sum; 0 over no elements. Integers wrap around."""

    ZERO_IF = (("x",),)
    FOLD = fold_of(folds.ADD)


class ReduceProdOp(Reduction, name="reduce_prod"):
    """y = the product; 1 over no elements."""

    FOLD = fold_of(folds.MUL)


TIES = ("first", "nan")


class _Extremum(Reduction):
    """NaN if any is; over no elements the result is not defined.

    ``ties`` only matters for the derivative: the elements that equal y share it, but
    with "first" the first one of the only dim gets it all, and with "nan" a NaN equals
    NaN (otherwise a NaN makes all shares NaN). Errors: another word.
    """

    ties = optional_attribute(STRING)

    def verify_invariants(self) -> None:
        """Checks ``ties``, besides the types."""
        if self.ties is not None:
            expect(self.ties in TIES, "ties", "be 'first' or 'nan'", self.ties)
            one = self.ties != "first" or len(self.dims) == 1
            expect(one, "dims", "be one dim with ties 'first'", list(self.dims))

    @classmethod
    def check_element(cls, type_: ir.Type) -> None:
        """Checks that elements have an order."""
        element = element_of(type_, "x")
        ordered = not ty.is_complex(element)
        expect(ordered, "x", "have a real element type", element)


class ReduceMaxOp(_Extremum, name="reduce_max", traits={CHOOSES}):
    """y = the largest element; NaN if any is."""

    FOLD = fold_of(folds.MAX)


class ReduceMinOp(_Extremum, name="reduce_min", traits={CHOOSES}):
    """y = the smallest element; NaN if any is."""

    FOLD = fold_of(folds.MIN)


class _BoolReduction(Reduction):
    """Bools to bools."""

    GRADIENT = NoGradient("its result is bool")

    @classmethod
    def check_element(cls, type_: ir.Type) -> None:
        """Checks that elements are bools."""
        expect_same_element(type_, "x", ty.i1())


class ReduceAnyOp(_BoolReduction, name="reduce_any"):
    """y = whether any element is true; false over no elements."""

    FOLD = fold_of(folds.OR)


class ReduceAllOp(_BoolReduction, name="reduce_all"):
    """y = whether all elements are true; true over no elements."""

    FOLD = fold_of(folds.AND)


class _ArgExtremum(GraphOp, traits={REDUCES, FINDS_PLACE, JUMPS}):
    """The index of an extremal element along ``dim``, as ``i64``; first of equals."""

    COST = Cost.CHEAP
    FOLD: ClassVar[Fold]
    GRADIENT = NoGradient("its result is an index")

    x = operand()
    dim = attribute(INT)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's shape with size 1 in ``dim``, of ``i64``."""
        dim = attributes["dim"]
        expect_dim(dim, len(expect_tensor(types[0], "x")))
        return [reduced_type(types[0], (dim,), ty.i64())]


class ArgmaxOp(_ArgExtremum, name="argmax"):
    """y = the index of the largest element along ``dim``; NaN wins."""

    FOLD = first_of(folds.MAX)


class ArgminOp(_ArgExtremum, name="argmin"):
    """y = the index of the smallest element along ``dim``; NaN wins."""

    FOLD = first_of(folds.MIN)


class _FloatReduction(Reduction):
    """Real or complex floating point."""

    ROLE = Role.COMPOSITE

    @classmethod
    def check_element(cls, type_: ir.Type) -> None:
        """Checks that elements are floats."""
        if not ty.is_complex(element_of(type_, "x")):
            expect_float(type_, "x")


class MeanOp(_FloatReduction, name="mean"):
    """y = the sum over ``dims`` divided by their size; NaN over no elements."""

    GRADIENT = of_operand(lambda f, g, x, dims: g / f.count(x, dims))


def _var_gradient(f: Any, g: Any, x: Any, dims: tuple, correction: float) -> Any:
    centered = x - f.mean(x, dims=dims)
    return g * (2.0 / (f.count(x, dims) - correction)) * centered


class VarOp(_FloatReduction, name="var"):
    """y = sum((x - mean(x))**2) / max(n - correction, 0) over ``dims`` of size n."""

    GRADIENT = of_operand(_var_gradient)

    correction = attribute(FLOAT, default=1.0)
