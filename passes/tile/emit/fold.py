"""Formulas of folds as ops of MLIR; ``dialects/graph/folds.py`` says what these are."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from girih.dialects.graph.folds import FIRST, Join, Start
from girih.dialects.tile.base import element_and_shape
from girih.passes.tile.elements import Element
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.formula import LaneFunctions, Lanes
from girih.passes.tile.emit.rules import RULES
from girih.passes.tile.nodes import ComputeNode, Node

# Combines the lanes of a value, or the elements of groups.
Across = Callable[[Builder, Join, Element, Value], Value]

# The lowest finite number by the name of the type.
_LOWEST = {"f32": -3.4028234663852886e38, "f64": -1.7976931348623157e308}


def start_of(start: Start | float, element: Element) -> bool | int | float:
    """The number among elements of a type that joining changes nothing by."""
    match start:
        case Start.ZERO:
            return 0
        case Start.ONE:
            return 1
        case Start.NOWHERE:
            return -1
        case Start.LOWEST_FINITE:
            return _LOWEST[element.register_name]
        case Start.LOWEST:
            return _lowest(element)
        case Start.HIGHEST:
            return _highest(element)
    return start


def _lowest(element: Element) -> int | float:
    if element.is_float:
        return -math.inf
    return -(1 << (element.bits - 1)) if element.kind == "signed" else 0


def _highest(element: Element) -> int | float:
    if element.is_float:
        return math.inf
    unused = 1 if element.kind == "signed" else 0
    return (1 << (element.bits - unused)) - 1


def kind_of(join: Join, element: Element) -> str:
    """How the vector dialect names the combination of such elements."""
    of_floats, of_signed, of_others = join.kinds
    if element.is_float:
        return of_floats
    return of_signed if element.kind == "signed" else of_others


def joined(b: Builder, join: Join, element: Element, lhs: Value, rhs: Value) -> Value:
    """Two partial results of a reduction, or of a scan, as one."""
    if join.formula is not None:
        f = FoldFunctions(b, element)
        return join.formula(f, f.value(lhs), f.value(rhs)).value
    return RULES[join.op](b, _node_of(join.op, element), (lhs, rhs))


@lru_cache(maxsize=256)
def _node_of(name: str, element: Element) -> ComputeNode:
    """What an emission rule reads of the op that joins two elements."""
    return ComputeNode(element, (Node(element),) * 2, name=name)


class FoldFunctions(LaneFunctions):
    """The functions of a fold's formulas.

    Attributes:
        has_nan: Whether elements are floats.
    """

    def __init__(
        self,
        b: Builder,
        element: Element,
        across: Across | None = None,
        *,
        is_rough: bool = False,
    ):
        """Starts.

        Args:
            b: Makes ops.
            element: The type of the elements.
            across: Joins lanes; None where none are apart.
            is_rough: Whether ``rough_exp`` may be the device's approximation.
        """
        super().__init__(b, element.register_name)
        self._type = element
        self._across = across
        self._is_rough = is_rough
        self.has_nan = element.is_float

    def value(self, value: Value) -> Lanes:
        """A value as formulas take it."""
        return self._number(value)

    def number(self, number: float, like: Lanes | None = None) -> Lanes:
        """A number in each lane, of the elements' type or of another value's."""
        name = self._element
        if like is not None:
            name = str(element_and_shape(like.value.type)[0])
        return self._number(self._b.constant(number, name))

    def rough_exp(self, x: Lanes) -> Lanes:
        """``exp``, or the device's approximation where that does."""
        if not self._is_rough:
            return self.exp(x)
        flags = {"fastmath": self._b.parsed("#arith.fastmath<afn>")}
        return self._number(self._b.same("math.exp", x.value, **flags))

    # Joining ----------------------------------------------------------------------

    def join(self, join: Join, x: Lanes, y: Lanes) -> Lanes:
        """Two values as one."""
        return self._number(joined(self._b, join, self._type, x.value, y.value))

    def over(self, join: Join, x: Lanes) -> Lanes:
        """The values of all lanes as one."""
        if self._across is None:
            return x
        element = self._type if join is not FIRST else place_element(x.value)
        return self._number(self._across(self._b, join, element, x.value))

    def everywhere(self, x: Lanes, like: Lanes) -> Lanes:
        """A joined value in each lane again."""
        if x.value.type == like.value.type:
            return x
        value = self._b.op("vector.broadcast", like.value.type, x.value)
        return self._number(value)

    # Comparisons ------------------------------------------------------------------

    def compare(self, predicate: str, x: Lanes, y: Lanes) -> Lanes:
        """A comparison of elements; of floats an ordered one."""
        return self._number(self._b.compare(predicate, x.value, y.value, self._type))

    def isnan(self, x: Lanes) -> Lanes:
        """Whether a float is NaN."""
        return self._number(self._b.compare_floats("uno", x.value, x.value))

    def is_number(self, x: Lanes) -> Lanes:
        """Whether a float is not NaN."""
        return self._number(self._b.compare_floats("ord", x.value, x.value))

    def both(self, x: Lanes, y: Lanes) -> Lanes:
        """Whether both hold."""
        return self._number(self._b.same("arith.andi", x.value, y.value))

    def either(self, x: Lanes, y: Lanes) -> Lanes:
        """Whether one holds."""
        return self._number(self._b.same("arith.ori", x.value, y.value))

    # Places -----------------------------------------------------------------------

    def is_nowhere(self, place: Lanes) -> Lanes:
        """Whether no element has been seen."""
        zero = self._b.constant(0, place_element(place.value).name)
        return self._number(self._b.compare_ints("slt", place.value, zero))

    def nowhere(self, place: Lanes) -> Lanes:
        """The place of no element."""
        return self._number(self._b.constant(-1, place_element(place.value).name))


def place_element(place: Value) -> Element:
    """The type of a place."""
    name = str(element_and_shape(place.type)[0])
    return Element(name, "signed", int(name[1:]))
