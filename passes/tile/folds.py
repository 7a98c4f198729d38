"""Folds that only kernels have: those of what ``gpu/one_pass`` finds.

- sum of exponentials: the largest element so far and the sum of ``exp(x - largest)``.
  The largest starts at the lowest finite number, so that a row which begins with
  ``-inf`` has no ``inf - inf``.
- sum of squared deviations: the lane's first element ``k``, the sums of ``x - k`` and
  ``(x - k)**2``, and how many elements there were. As ``k`` is one of the lane's own
  elements, the error is at most as many roundings of the result as there were elements.
"""

import math
from typing import Any

from girih.dialects.graph.folds import ADD, MAX, OWN_RESULT, Fold, Part, Start


def _with_exponential(f: Any, largest: Any, total: Any, x: Any) -> tuple:
    """One exponential an element: of the smaller one relative to the larger."""
    one = f.number(1.0)
    distance = x - largest
    power = f.rough_exp(-f.abs(distance))
    grows = distance > 0.0
    scaled = total * power + one
    added = total + power
    return f.where(grows, x, largest), f.where(grows, scaled, added)


def _with_exponentials(f: Any, largest: Any, total: Any, x: Any) -> tuple:
    x = f.inside(x, -math.inf)
    grown = f.join(MAX, largest, f.over(MAX, x))
    factor = f.rough_exp(largest - grown)
    powers = f.over(ADD, f.rough_exp(x - f.everywhere(grown, x)))
    return grown, f.fma(total, factor, powers)


def _exponentials(f: Any, largest: Any, total: Any) -> Any:
    """Sums relative to each lane's maximum, relative to that of all."""
    of_all = f.everywhere(f.over(MAX, largest), largest)
    return f.over(ADD, total * f.exp(largest - of_all))


def _with_deviation(
    f: Any, first: Any, total: Any, squares: Any, count: Any, x: Any
) -> tuple:
    first = f.where(count.equals(0.0), x, first)
    distance = x - first
    square = distance * distance
    return first, total + distance, squares + square, count + 1.0


def _with_deviations(
    f: Any, first: Any, total: Any, squares: Any, count: Any, x: Any
) -> tuple:
    """About the largest element of the group in its first block."""
    x = f.inside(x, -math.inf)
    largest, more = f.over(MAX, x), f.count()
    is_first = f.both(count.equals(0.0), more > 0.0)
    first = f.where(is_first, largest, first)
    distance = f.inside(x - f.everywhere(first, x), 0.0)
    sums = f.over(ADD, distance)
    powers = f.over(ADD, distance * distance)
    return first, total + sums, squares + powers, count + more


def _deviations(f: Any, first: Any, total: Any, squares: Any, count: Any) -> Any:
    """Each lane's own deviations, and those of the lanes' means, by their counts."""
    one, zero = f.number(1.0), f.number(0.0)
    shift = total / f.join(MAX, count, one)
    mean = first + shift
    own = f.join(MAX, squares - total * shift, zero)
    sums = f.over(ADD, mean * count)
    counts = f.join(MAX, f.everywhere(f.over(ADD, count), count), one)
    apart = mean - f.everywhere(sums, count) / counts
    between = count * (apart * apart)
    return f.over(ADD, own + between)


def _deviations_of_parts(f: Any, squares: Any, sums: Any, counts: Any) -> Any:
    """Deviations in the parts, and those of the parts' means."""
    mean = f.over(ADD, sums) / f.over(ADD, counts)
    apart = sums / counts - mean
    return f.over(ADD, squares + counts * (apart * apart))


EXPONENTIALS = "sum_of_exponentials"
DEVIATIONS = "sum_of_squared_deviations"

KERNEL_FOLDS = {
    EXPONENTIALS: Fold(
        joins=ADD,
        start=(Start.LOWEST_FINITE, 0.0),
        take=_with_exponential,
        take_group=_with_exponentials,
        join=lambda f, *state: state,
        finish=_exponentials,
        is_element=False,
        parts=(OWN_RESULT, Part(MAX)),
        of_parts=lambda f, total, largest: _exponentials(f, largest, total),
    ),
    DEVIATIONS: Fold(
        joins=ADD,
        start=(0.0,) * 4,
        take=_with_deviation,
        take_group=_with_deviations,
        join=lambda f, *state: state,
        finish=_deviations,
        is_element=False,
        parts=(OWN_RESULT, Part(ADD), Part(ADD, is_count=True)),
        of_parts=_deviations_of_parts,
    ),
}
"""By the name of the node. Lanes are joined where the result is made."""
