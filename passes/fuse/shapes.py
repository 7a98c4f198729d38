"""Arithmetic on shapes: products, alignment, common refinements of two shapes.

A shape is a tuple of sizes, a size an ``int`` or a symbolic ``Dim``. Sizes that can't
be proved equal or divisible count as different, so that every answer here is safe for
every value of the symbols.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from girih.dialects.dims import Size

Shape = tuple[Size, ...]


def exact_quotient(dividend: Size, divisor: Size) -> Size | None:
    """Returns ``dividend / divisor`` where it is provably whole, else None."""
    if dividend == divisor:
        return 1
    if isinstance(divisor, int) and divisor == 0:
        return None
    quotient = dividend // divisor
    return quotient if quotient * divisor == dividend else None


def align_right(shape: Shape, rank: int) -> Shape:
    """Returns ``shape`` with leading ones, so that it has ``rank`` sizes."""
    return (1,) * (rank - len(shape)) + tuple(shape)


def without_leading_ones(shape: Shape) -> Shape:
    """Returns ``shape`` from its first size that isn't 1."""
    for position, size in enumerate(shape):
        if size != 1:
            return tuple(shape[position:])
    return ()


def broadcast_shapes(shapes: Iterable[Shape]) -> Shape:
    """Returns the shape that ``shapes`` broadcast to (right-aligned, as NumPy)."""
    shapes = list(shapes)
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for position, size in enumerate(align_right(shape, rank)):
            if size != 1:
                result[position] = size
    return tuple(result)


def reduced_shape(domain: Shape, reduced: Iterable[int]) -> Shape:
    """Returns ``domain`` with 1 at the dims of ``reduced``."""
    return tuple(1 if dim in reduced else size for dim, size in enumerate(domain))


def is_empty(shape: Shape) -> bool:
    """Returns whether a size is 0."""
    return any(isinstance(size, int) and size == 0 for size in shape)


def matching_groups(
    left: Shape, right: Shape
) -> list[tuple[list[int], list[int]]] | None:
    """Splits a reshape into the smallest runs of dims with equal products.

    Args:
        left: the shape before the reshape.
        right: the shape after it.

    Returns:
        Pairs of dims of ``left`` and dims of ``right``, both in order; None where no
        split can be proved. A size of 1 joins the run on its left.
    """
    if is_empty(left) or is_empty(right):
        return None
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        mine, theirs = [i], [j]
        left_product, right_product = left[i], right[j]
        i, j = i + 1, j + 1
        while left_product != right_product:
            grow_left = _is_smaller(left_product, right_product)
            if grow_left and i < len(left):
                left_product, i = left_product * left[i], i + 1
                mine.append(i - 1)
            elif not grow_left and j < len(right):
                right_product, j = right_product * right[j], j + 1
                theirs.append(j - 1)
            else:
                return None
        groups.append((mine, theirs))
    return _with_trailing_ones(groups, left, right, i, j)


def _is_smaller(left: Size, right: Size) -> bool:
    """Returns whether the left product has to grow to become the right one."""
    if isinstance(left, int) and isinstance(right, int):
        return left < right
    return exact_quotient(right, left) is not None


def _with_trailing_ones(groups, left, right, i, j):
    rest_left, rest_right = left[i:], right[j:]
    if any(size != 1 for size in (*rest_left, *rest_right)):
        return None
    if not groups:
        return [(list(range(len(left))), list(range(len(right))))]
    groups[-1][0].extend(range(i, len(left)))
    groups[-1][1].extend(range(j, len(right)))
    return groups


@dataclass(frozen=True)
class Refinement:
    """A shape that splits the dims of a host shape.

    Attributes:
        shape: the refined shape.
        parts: for each dim of the host, the dims of ``shape`` that it became.
    """

    shape: Shape
    parts: tuple[tuple[int, ...], ...]

    def dims(self, host_dims: Iterable[int]) -> tuple[int, ...]:
        """Returns the refined dims that ``host_dims`` became."""
        return tuple(part for dim in sorted(host_dims) for part in self.parts[dim])


def common_refinement(host: Shape, guest: Shape) -> Refinement | None:
    """Splits the dims of ``host`` so that ``guest`` is a merging of the parts too.

    ``[N, G, M]`` with the guest ``[N, C, H, W]`` becomes ``[N, G, C/G, H, W]``. Sizes
    of 1 stay where the host has them.
    """
    if is_empty(host):
        return None
    pending = iter([size for size in guest if size != 1])
    shape: list[Size] = []
    parts: list[tuple[int, ...]] = []
    rest: Size | None = None
    for size in host:
        split, rest = _split(size, rest, pending)
        if split is None:
            return None
        parts.append(tuple(range(len(shape), len(shape) + len(split))))
        shape.extend(split)
    if rest is not None or next(pending, None) is not None:
        return None
    return Refinement(tuple(shape), tuple(parts))


def _split(
    size: Size, rest: Size | None, pending: Iterator[Size]
) -> tuple[list[Size] | None, Size | None]:
    """Splits one host size along the guest's sizes.

    Returns:
        The parts (None if there is no split) and what is left of the last guest size.
    """
    if size == 1:
        return [1], rest
    split: list[Size] = []
    while True:
        guest = rest if rest is not None else next(pending, None)
        if guest is None:
            return None, None
        if (quotient := exact_quotient(size, guest)) is not None:
            split.append(guest)
            rest, size = None, quotient
            if size == 1:
                return split, None
        elif (quotient := exact_quotient(guest, size)) is not None:
            return [*split, size], quotient
        else:
            return None, None


def reshape_before_broadcast(source: Shape, middle: Shape, target: Shape):
    """Moves a reshape before a broadcast.

    Args:
        source: the shape before the broadcast.
        middle: the shape after it.
        target: the shape that ``middle`` is reshaped to.

    Returns:
        The shape to reshape ``source`` to, which then broadcasts to ``target``; None
        where a run of merged dims is broadcast in part.
    """
    groups = matching_groups(middle, target)
    if groups is None:
        return None
    aligned = align_right(source, len(middle))
    result: list[Size] = [1] * len(target)
    for middle_dims, target_dims in groups:
        kept = [dim for dim in middle_dims if middle[dim] != 1]
        if all(aligned[dim] == middle[dim] for dim in kept):
            for dim in target_dims:
                result[dim] = target[dim]
        elif any(aligned[dim] != 1 for dim in kept):
            return None
    return tuple(result)


def ratio(dividend: Size, divisor: Size) -> float:
    """Returns the quotient of two products; infinite where it is not known."""
    if isinstance(dividend, int) and isinstance(divisor, int):
        return dividend / divisor if divisor else 0.0
    quotient = exact_quotient(dividend, divisor)
    if isinstance(quotient, int):
        return float(quotient)
    return 1.0 if exact_quotient(divisor, dividend) is not None else float("inf")
