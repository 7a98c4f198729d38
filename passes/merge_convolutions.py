"""``merge-convolutions``: one convolution does what several of one image did.

A network in the manner of RepVGG adds up convolutions of one image, and the image
itself behind a batch norm. That is a convolution whose weights are the sums: a smaller
window lies in the middle of a larger one, and the image itself is a window that is 0
but in the middle.

Requires: ``fold-batch-norms`` ran, so that convolutions did what norms after them did.
Establishes: no sum adds two convolutions of one image that have the same strides,
dilations and groups, static weights of float32 or float64 and no other reader, where
one window lies in the middle of the other; nor such a convolution and a batch norm in
evaluation of its image.

Results differ by rounding: the weights are added up instead of the results.

Before::

    %0 = "graph.convolution"(%x, %v) {padding = [1, 1], ...} : 3 x 3
    %1 = "graph.convolution"(%x, %w) {padding = [0, 0], ...} : 1 x 1
    %2 = "graph.add"(%0, %1)

After::

    %s = "graph.extern"(%v, %w) {op = "girih.add_windows.default", ...}
    %2 = "graph.convolution"(%x, %s) {padding = [1, 1], ...}

It leaves transposed convolutions and padding of a symbolic size.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS
from girih.dialects.dims import Dim
from girih.passes.constant_values import constant_values
from girih.passes.graph_builder import GraphBuilder, erase_dead_ops, has_one_use
from girih.passes.registry import register_pass

_ADD_WINDOWS = "girih.add_windows.default"
_ADD_IDENTITY = "girih.add_identity.default"
_ELEMENTS = ("f32", "f64")


@register_pass("merge-convolutions")
def run(op: ir.Operation, options: None) -> None:
    """Merges convolutions of one image that are added up."""
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name == "func.func" and len(function.regions[0].blocks):
            _merge_in(function)


def _merge_in(function: ir.OpView) -> None:
    constants, is_changed = constant_values(function), False
    for op in list(function.regions[0].blocks[0].operations):
        if op.operation.name != "graph.add":
            continue
        made = _merged(op, constants)
        if made is not None:
            GraphBuilder(op).replace(op, made)
            is_changed = True
    if is_changed:
        erase_dead_ops(function.regions[0].blocks[0])


def _merged(add: ir.OpView, constants: set[ir.Value]) -> ir.Value | None:
    """One convolution for a sum, where both terms are of one image."""
    if any(value.type != add.results[0].type for value in add.operands):
        return None
    terms = [_without_zero(value) for value in add.operands]
    for first, second in (terms, reversed(terms)):
        if not _is_convolution(first, constants):
            continue
        large = first.owner.opview
        if _is_convolution(second, constants):
            small = second.owner.opview
            if _contains(large, small):
                return _with_window(add, large, small, constants)
        elif _is_norm(second, constants) and _has_middle(large, second.owner.opview):
            return _with_identity(add, large, second.owner.opview, constants)
    return None


def _without_zero(value: ir.Value) -> ir.Value:
    """A term but for zeros that only it adds: a sum that began with the number 0."""
    while not isinstance(value.owner, ir.Block) and has_one_use(value):
        op = value.owner.opview
        if op.operation.name != "graph.add":
            break
        b = GraphBuilder(op)
        left = [each for each in op.operands if b.number(each) != 0]
        if len(left) != 1 or left[0].type != value.type:
            break
        (value,) = left
    return value


def _is_convolution(value: ir.Value, constants: set[ir.Value]) -> bool:
    if isinstance(value.owner, ir.Block) or not has_one_use(value):
        return False
    op, element = value.owner.opview, value.type.element_type
    if op.operation.name != "graph.convolution" or op.transposed:
        return False
    sizes = (*op.padding, *ty.shape_of(op.weight.type))
    if str(element) not in _ELEMENTS or any(isinstance(size, Dim) for size in sizes):
        return False
    return "strides" not in op.attributes and _are_weights(op, constants)


def _is_norm(value: ir.Value, constants: set[ir.Value]) -> bool:
    if isinstance(value.owner, ir.Block) or not has_one_use(value):
        return False
    op = value.owner.opview
    if op.operation.name != "graph.batch_norm":
        return False
    return str(value.type.element_type) in _ELEMENTS and _are_weights(op, constants)


def _are_weights(op: ir.OpView, constants: set[ir.Value]) -> bool:
    """Whether all operands but the image are constants of the image's type."""
    element = op.x.type.element_type
    return all(
        value in constants and value.type.element_type == element
        for value in list(op.operands)[1:]
    )


def _contains(large: ir.OpView, small: ir.OpView) -> bool:
    """Whether one convolution's windows lie in the middle of the other's."""
    if large.x != small.x or large.groups != small.groups:
        return False
    if tuple(large.stride) != tuple(small.stride):
        return False
    sizes = (ty.shape_of(op.weight.type)[2:] for op in (large, small))
    geometry = zip(
        *sizes,
        *(large.padding, small.padding, large.dilation, small.dilation),
        strict=True,
    )
    return all(
        _is_inside(of_large, of_small, pads, dilations)
        for of_large, of_small, *both in geometry
        for pads, dilations in [(both[:2], both[2:])]
    )


def _is_inside(
    large: int, small: int, pads: Sequence[int], dilations: Sequence[int]
) -> bool:
    beside = (large - small) // 2
    if (large - small) % 2 or beside < 0:
        return False
    is_alike = small == 1 or dilations[0] == dilations[1]
    return is_alike and pads[0] - pads[1] == beside * dilations[0]


def _has_middle(op: ir.OpView, norm: ir.OpView) -> bool:
    """Whether a convolution's windows have its image's own element in the middle."""
    weight = ty.shape_of(op.weight.type)
    channels = ty.shape_of(op.x.type)[1]
    if op.x != norm.x or weight[0] != channels or any(s != 1 for s in op.stride):
        return False
    geometry = zip(weight[2:], op.padding, op.dilation, strict=True)
    return all(size % 2 and size // 2 * d == pad for size, pad, d in geometry)


# The rewrite ------------------------------------------------------------------------


def _with_window(
    add: ir.OpView, large: ir.OpView, small: ir.OpView, constants: set[ir.Value]
) -> ir.Value:
    b = GraphBuilder(add)
    inputs, args = _given(large.weight, small.weight)
    weight = _extern(b, _ADD_WINDOWS, inputs, args, [large.weight.type])[0]
    biases = [op.bias for op in (large, small) if op.bias is not None]
    bias = b.op("add", *biases) if len(biases) == 2 else next(iter(biases), None)
    constants.update(value for value in (weight, bias) if value is not None)
    return _convolution(b, large, weight, bias)


def _with_identity(
    add: ir.OpView, large: ir.OpView, norm: ir.OpView, constants: set[ir.Value]
) -> ir.Value:
    b = GraphBuilder(add)
    values = (
        *(large.weight, large.bias, norm.weight, norm.bias),
        *(norm.running_mean, norm.running_var),
    )
    inputs, args = _given(*values)
    types = [large.weight.type, norm.running_mean.type]
    made = _extern(b, _ADD_IDENTITY, inputs, (*args, norm.eps), types)
    constants.update(made)
    return _convolution(b, large, *made)


def _given(*values: ir.Value | None) -> tuple[list[ir.Value], tuple]:
    """The values that are there, and the arguments that stand for all."""
    inputs = [value for value in values if value is not None]
    numbers = iter(range(len(inputs)))
    args = tuple(None if v is None else OperandRef(next(numbers)) for v in values)
    return inputs, args


def _extern(
    b: GraphBuilder,
    name: str,
    inputs: Sequence[ir.Value],
    args: tuple,
    types: Sequence[ir.Type],
) -> list[ir.Value]:
    made = OPS["graph.extern"].build(
        [inputs], {"op": name, "args": args}, results=types, loc=b.loc, ip=b.ip
    )
    b.mark(made)
    return list(made.results)


def _convolution(
    b: GraphBuilder, model: ir.OpView, weight: ir.Value, bias: ir.Value | None
) -> ir.Value:
    """A convolution like another one, with other weights."""
    attributes = {name: getattr(model, name) for name in type(model).ATTRIBUTES}
    return b.typed(
        "convolution",
        [model.x, weight, bias],
        ty.shape_of(model.results[0].type),
        model.results[0].type.element_type,
        **{name: value for name, value in attributes.items() if value is not None},
    )
