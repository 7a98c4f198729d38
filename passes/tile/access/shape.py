"""Views: each one asks its operand at other coordinates.

Source: the meaning of the ops is that of their PyTorch namesakes,
https://pytorch.org/docs/stable/tensor_view.html.
"""

from girih.dialects.attributes import SCALAR, SIZE, SIZES
from girih.passes.tile.access.evaluator import (
    Coordinates,
    Evaluator,
    broadcast,
    reads,
)
from girih.passes.tile.index import Affine, constant, quotient, recombined, remainder
from girih.passes.tile.kernel import OpRecord
from girih.passes.tile.nodes import (
    ConstantNode,
    Guard,
    Guards,
    Node,
    SelectNode,
)
from girih.passes.tile.sizes import Size, exact_quotient, is_constant


@reads("graph.permute")
def read_permute(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """``y[i0, i1, ...]`` is x with coordinate k at place permutation[k]."""
    permutation = SIZES.decode(record.attributes["permutation"])
    source: list[Affine] = [constant(0)] * len(permutation)
    for coordinate, dim in zip(at, permutation, strict=True):
        source[dim] = coordinate
    return evaluator.value(record.operands[0], tuple(source), guards)


@reads("graph.broadcast_to")
def read_broadcast_to(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """Dims of size 1, and missing leading dims, are read at 0."""
    operand = record.operands[0]
    source = broadcast(at, evaluator.shape(operand))
    return evaluator.value(operand, source, guards)


@reads("graph.slice")
def read_slice(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """``y[i] = x[start + step * i]``."""
    starts = SIZES.decode(record.attributes["starts"])
    steps = SIZES.decode(record.attributes["steps"])
    source = tuple(
        coordinate * step + start
        for coordinate, start, step in zip(at, starts, steps, strict=True)
    )
    return evaluator.value(record.operands[0], source, guards)


@reads("graph.window")
def read_window(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """``y[..., i, ..., k] = x[..., i * step + k, ...]``."""
    dim = record.attributes["dim"].value
    step = SIZE.decode(record.attributes["step"])
    *source, within = at
    source[dim] = source[dim] * step + within
    return evaluator.value(record.operands[0], tuple(source), guards)


@reads("graph.flip")
def read_flip(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """``y[i] = x[size - 1 - i]`` along the dims."""
    dims = SIZES.decode(record.attributes["dims"])
    source = tuple(
        coordinate * -1 + (size - 1) if dim in dims else coordinate
        for dim, (coordinate, size) in enumerate(zip(at, record.shape, strict=True))
    )
    return evaluator.value(record.operands[0], source, guards)


@reads("graph.pad")
def read_pad(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """The operand inside, the constant value outside."""
    operand = record.operands[0]
    low = SIZES.decode(record.attributes["low"])
    source = tuple(c - start for c, start in zip(at, low, strict=True))
    inside = tuple(
        Guard(coordinate, 0, size)
        for coordinate, size, start, outer in zip(
            source, evaluator.shape(operand), low, record.shape, strict=True
        )
        if not (is_constant(start, 0) and size == outer)
    )
    if not inside:
        return evaluator.value(operand, source, guards)
    value = SCALAR.decode(record.attributes["value"])
    outside = evaluator.add(ConstantNode(record.element, value=value), record)
    content = evaluator.value(operand, source, guards + inside)
    node = SelectNode(record.element, (content, outside), guards=inside)
    return evaluator.add(node, record)


@reads("graph.concat")
def read_concat(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """The operand in whose part of the dim the coordinate lies."""
    dim = record.attributes["dim"].value
    pieces, start = [], 0
    for operand in record.operands:
        size = evaluator.shape(operand)[dim]
        shifted = at[dim] - start
        source = (*at[:dim], shifted, *at[dim + 1 :])
        inside = (Guard(shifted, 0, size),)
        pieces.append((inside, evaluator.value(operand, source, guards + inside)))
        start = start + size
    result = pieces.pop()[1]
    for inside, piece in reversed(pieces):
        node = SelectNode(record.element, (piece, result), guards=inside)
        result = evaluator.add(node, record)
    return result


@reads("graph.reshape")
def read_reshape(
    evaluator: Evaluator, record: OpRecord, at: Coordinates, guards: Guards
) -> Node:
    """The same linear position in the operand's shape."""
    operand = record.operands[0]
    source = reshape_coordinates(evaluator.shape(operand), record.shape, at)
    return evaluator.value(operand, source, guards)


def reshape_coordinates(
    source: tuple[Size, ...], result: tuple[Size, ...], at: Coordinates
) -> Coordinates:
    """Finds the coordinates in ``source`` of coordinates ``at`` in ``result``.

    The shapes are cut into the shortest groups of dims with equal products, so that
    linear positions stay as local, and quotients as simple, as they can.
    """
    found: dict[int, Affine] = {}
    for source_dims, result_dims in _groups(source, result):
        linear = constant(0)
        for dim in result_dims:
            linear = linear * result[dim] + at[dim]
        linear = recombined(linear)
        for dim in reversed(source_dims[1:]):
            found[dim] = remainder(linear, source[dim])
            linear = quotient(linear, source[dim])
        if source_dims:
            found[source_dims[0]] = linear
    return tuple(found.get(dim, constant(0)) for dim in range(len(source)))


def _groups(source: tuple[Size, ...], result: tuple[Size, ...]):
    """Yields (source dims, result dims) of equal product; dims of size 1 left out."""
    left = [d for d, size in enumerate(source) if not is_constant(size, 1)]
    right = [d for d, size in enumerate(result) if not is_constant(size, 1)]
    while left and right:
        taken_left, taken_right = [left.pop(0)], [right.pop(0)]
        left_size, right_size = source[taken_left[0]], result[taken_right[0]]
        while left_size != right_size and (left or right):
            if left and (_is_smaller(left_size, right_size) or not right):
                taken_left.append(left.pop(0))
                left_size = left_size * source[taken_left[-1]]
            else:
                taken_right.append(right.pop(0))
                right_size = right_size * result[taken_right[-1]]
        yield taken_left, taken_right


def _is_smaller(size: Size, other: Size) -> bool:
    """Guesses which product must grow for the two to become equal."""
    if isinstance(size, int) and isinstance(other, int):
        return size < other
    return exact_quotient(size, other) is None
