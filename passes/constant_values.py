"""Which values of a function are the same at each call: they depend on weights alone.

Parameters and buffers are arguments with ``graph.static``. A call gets the tensors that
the last call got, unless the program has replaced or written some, which the run time
looks at (``codegen/runtime/constants.py``).
"""

from collections.abc import Iterable, Iterator

from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, effects_of, has, has_any
from girih.dialects.dims import Size, product
from girih.dialects.traits import MAY_ALIAS, MAY_FAIL, RANDOM, VIEW
from girih.passes.autograd.joint import Signature
from girih.passes.fresh_results import has_fresh_results

MOST_GROWTH = 2
"""A constant has at most so many times the elements of the weights that it is of."""
FEW_ELEMENTS = 1 << 22
"""Constants with at most so many elements may have any number of them."""


def constant_values(function: ir.OpView) -> set[ir.Value]:
    """Returns the values that depend on parameters and buffers alone.

    Not among them are: what depends on nothing, which the program makes anew; results
    of ops with effects, and of those that may fail; buffers that the function writes;
    what has a symbolic size or takes much more memory than the weights; and whatever
    shares memory with a result of the function, which the caller may write.
    """
    block = function.regions[0].blocks[0]
    weights = {value: _elements(value) for value in _weights(function)}
    elements = dict(weights)
    *ops, last = block.operations
    fixed: set[ir.Value] = set()  # what is made of attributes alone
    for op in ops:
        operands = list(op.operands)
        is_pure = effects_of(op) is Effects.PURE and not has_any(op, MAY_FAIL, RANDOM)
        is_known = all(value in elements or value in fixed for value in operands)
        is_static = all(isinstance(_elements(value), int) for value in op.results)
        if not (is_pure and is_known and is_static):
            continue
        count = sum(elements.get(value, 0) for value in operands)
        if count == 0:
            fixed.update(op.results)
        elif has(op, VIEW) or _are_small(op.results, count):
            elements.update((result, count) for result in op.results)
    return set(elements) - _escaping(ops, last, set(elements))


def _weights(function: ir.OpView) -> Iterator[ir.Value]:
    signature = Signature.of(function)
    written = {
        attr.INT.decode(given[key])
        for given in signature.results
        for key in (keys.WRITES, keys.UPDATE)
        if key in given
    }
    arguments = function.regions[0].blocks[0].arguments
    for number, given in enumerate(signature.arguments):
        if keys.STATIC in given and number not in written:
            if isinstance(_elements(arguments[number]), int):
                yield arguments[number]


def _elements(value: ir.Value) -> Size:
    """The number of elements: at least 1, so that a weight counts."""
    if not isinstance(value.type, ir.RankedTensorType):
        return 1
    count = product(ty.shape_of(value.type))
    return max(count, 1) if isinstance(count, int) else count


def _are_small(values: Iterable[ir.Value], count: int) -> bool:
    return sum(map(_elements, values)) <= max(FEW_ELEMENTS, MOST_GROWTH * count)


def _may_share(op: ir.OpView) -> bool:
    return has(op, MAY_ALIAS) and not has_fresh_results(op)


def _escaping(
    ops: list[ir.OpView], last: ir.OpView, found: set[ir.Value]
) -> set[ir.Value]:
    """The values that results of the function may share memory with, or are made of."""
    pending = [value for value in last.operands if value in found]
    for op in ops:
        if _may_share(op) and not any(result in found for result in op.results):
            pending += [value for value in op.operands if value in found]
    escaping = set()
    while pending:
        value = pending.pop()
        if value not in escaping and not isinstance(value.owner, ir.Block):
            escaping.add(value)
            pending += [each for each in value.owner.operands if each in found]
    return escaping
