"""``pack-convolutions``: oneDNN gets weights in its own layout, and what comes after.

ATen's convolution copies weights into the layout that oneDNN chooses, at each call, and
activations and sums after it read and write its result again. Of weights that do not
change oneDNN takes a copy once, and it applies both while a tile is in cache.

Requires: functions for the CPU, on level ``graph`` before ``decompose``.
Establishes: no ``graph.convolution`` of images of float32 has a weight that depends on
``graph.static`` alone; a ``graph.extern`` computes it, with channels innermost. Where
only one op reads it, that takes in a sum with a tensor of the same type, then one
activation. Maxima over windows in such a function have their channels innermost, too.
A ``graph.convolution`` of pixels has weights with the results' channels innermost, in
panels where there are many.

Before::

    %0 = "graph.convolution"(%x, %w, %b) {...} : ...
    %1 = "graph.add"(%0, %y) : ...
    %2 = "graph.relu"(%1) : ...

After::

    %packed = "graph.extern"(%w)
        {op = "mkldnn._reorder_convolution_weight.default", ...}
    %2 = "graph.extern"(%x, %y, %packed, %b)
        {op = "mkldnn._convolution_pointwise.binary", ...}

``%packed`` has the type of ``%w``, and only oneDNN can read it. It leaves transposed
convolutions, and those with which oneDNN would write outside of its memory
(``convolution_errors``).
"""

from collections.abc import Callable
from math import prod
from typing import Any

from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.definition import rule_name
from girih.dialects.dims import Dim
from girih.dialects.rule_table import RuleTable
from girih.passes.choose_convolution_layouts import (
    channels_innermost,
    choose_layouts,
    choose_pooled_layouts,
)
from girih.passes.constant_values import constant_values
from girih.passes.convolution_errors import overruns_channels_last
from girih.passes.graph_builder import GraphBuilder, has_one_use
from girih.passes.panels import LARGE, PanelOptions, as_matrix, columns_of, in_panels
from girih.passes.registry import register_pass
from girih.passes.write_out_convolutions import is_of_channels, is_of_few, is_of_pixels

PACK = "mkldnn._reorder_convolution_weight.default"
_CALL = "mkldnn._convolution_pointwise.default"
_CALL_WITH_SUM = "mkldnn._convolution_pointwise.binary"

# What oneDNN applies to a result: its name, numbers, and the name of an algorithm.
_Activation = tuple[str, tuple, str | None]
_Rule = Callable[[Any], _Activation]
ACTIVATIONS: dict[str, _Rule] = RuleTable("activation of oneDNN for graph.")


def _activates(*names: str) -> Callable[[_Rule], _Rule]:
    """Registers what oneDNN has for an op of ``graph``."""
    return ACTIVATIONS.registering(*names)


@_activates("hardsigmoid", "hardswish", "relu", "sigmoid", "tanh")
def _same_name(op: ir.OpView) -> _Activation:
    return rule_name(op), (), None


@_activates("silu")
def _swish(op: ir.OpView) -> _Activation:
    return "swish", (), None


@_activates("gelu")
def _gelu(op: ir.OpView) -> _Activation:
    return "gelu", (), op.approximate


@_activates("hardtanh")
def _hardtanh(op: ir.OpView) -> _Activation:
    return "hardtanh", (float(op.min_value), float(op.max_value)), None


@_activates("leaky_relu")
def _leaky_relu(op: ir.OpView) -> _Activation:
    return "leaky_relu", (float(op.negative_slope),), None


@register_pass("pack-convolutions", options=PanelOptions)
def run(op: ir.Operation, options: PanelOptions) -> None:
    """Gives oneDNN packed weights, activations and sums after convolutions."""
    for function in op.regions[0].blocks[0].operations:
        is_function = function.operation.name == "func.func"
        if is_function and keys.DEVICE not in function.attributes:
            _pack_in(function, options)


def _pack_in(function: ir.OpView, options: PanelOptions) -> None:
    if not len(function.regions[0].blocks):
        return
    block, constants = function.regions[0].blocks[0], constant_values(function)
    found = [op for op in block.operations if _is_packed(op, constants)]
    own = [op for op in block.operations if _is_own(op)]
    for op in own if found or any(map(is_of_channels, own)) else ():
        if "operand_strides" not in op.attributes:
            choose_layouts(op, turn_weight=False)
        is_turned = op.weight in constants and not is_of_few(op)
        if is_turned and _has_channels_innermost(op):
            _turn_weight(op, options)
    for op in found:
        _pack(op)
    for op in list(block.operations) if found else ():
        choose_pooled_layouts(op, ("f32",))


def _is_own(op: ir.OpView) -> bool:
    """Whether an op becomes a kernel."""
    return is_of_pixels(op) or is_of_channels(op) or is_of_few(op)


def _is_packed(op: ir.OpView, constants: set[ir.Value]) -> bool:
    if op.operation.name != "graph.convolution" or op.transposed:
        return False
    if len(ty.shape_of(op.x.type)) != 4 or str(op.x.type.element_type) != "f32":
        return False
    if op.weight not in constants:
        return False
    if "operand_strides" in op.attributes and not _has_channels_innermost(op):
        return False
    if _is_own(op):
        return False
    weight = ty.shape_of(op.weight.type)
    if any(isinstance(size, Dim) for size in (*op.padding, *weight)) or 0 in weight:
        return False
    return not overruns_channels_last(weight, op.stride)


def _has_channels_innermost(op: ir.OpView) -> bool:
    """Whether images that a convolution reads and makes lie so."""
    images = (op.x, op.results[0])
    if any(isinstance(size, Dim) for each in images for size in ty.shape_of(each.type)):
        return False
    given, made = (
        attr.LAYOUTS.decode(op.attributes[name])[0] if name in op.attributes else None
        for name in ("operand_strides", "strides")
    )
    own = tuple(channels_innermost(ty.shape_of(each.type)) for each in images)
    return (given, made) == own


def _turn_weight(op: ir.OpView, options: PanelOptions) -> None:
    """Gives a convolution of pixels its weights with the results' channels innermost.

    They are the lanes of the kernel that ``write-out-convolutions`` leads to. Weights
    of many channels lie in panels of as many as a kernel computes at a time, each of
    them one piece of memory: so they are fetched ahead as fast as memory gives them.
    """
    b, shape = GraphBuilder(op), ty.shape_of(op.weight.type)
    results, *others = shape
    weight = b.reshape(op.weight, (results, prod(others)))
    columns = results
    if results * prod(others) >= LARGE:
        columns = columns_of(results, prod(others), options) or results
    panels = in_panels(b, weight, columns)
    op.operation.operands[1] = b.reshape(as_matrix(b, panels), shape)


def _pack(op: ir.OpView) -> None:
    b = GraphBuilder(op)
    images = ty.shape_of(op.x.type)
    sizes = None if any(isinstance(size, Dim) for size in images) else images
    geometry = (op.padding, op.stride, op.dilation, op.groups)
    weight = b.typed(
        "extern",
        [[op.weight]],
        ty.shape_of(op.weight.type),
        op.x.type.element_type,
        op=PACK,
        args=(OperandRef(0), *geometry, sizes),
    )
    end, other = _sum_after(op)
    last, activation = _activation_after(end)
    if other is not None and activation is not None and activation[0] != "relu":
        last, activation = end, None  # of a sum torch's call applies no other one
    inputs = [op.x, weight]
    strides = [channels_innermost(images), _contiguous(weight)]
    result = channels_innermost(ty.shape_of(op.results[0].type))
    if other is not None:
        inputs.insert(1, other)
        strides.insert(1, result)
    if op.bias is not None:
        inputs.append(op.bias)
        strides.append(_contiguous(op.bias))
    operands = tuple(map(OperandRef, range(len(inputs))))
    bias = (None,) if op.bias is None else ()
    if other is None:
        name, numbers, algorithm = activation or ("none", (), "")
        args = (*operands, *bias, *geometry, name, numbers, algorithm or "")
    else:
        name, numbers, algorithm = activation or (None, (), None)
        args = (*operands, *bias, *geometry, "add", None, name, numbers, algorithm)
    b = GraphBuilder(last)
    y = b.typed(
        "extern",
        [inputs],
        ty.shape_of(op.results[0].type),
        op.x.type.element_type,
        op=_CALL if other is None else _CALL_WITH_SUM,
        args=args,
        strides=(result,),
        operand_strides=attr.LAYOUTS.encode(tuple(strides)),
    )
    b.replace(last, y)
    if end is not last:
        end.operation.erase()
    if op is not end:
        op.operation.erase()


def _contiguous(value: ir.Value) -> tuple:
    return ty.contiguous_strides(ty.shape_of(value.type))


def _reader(op: ir.OpView) -> ir.OpView | None:
    """The only op that reads an op's only result."""
    if not has_one_use(op.results[0]):
        return None
    return next(iter(op.results[0].uses)).owner.opview


def _sum_after(op: ir.OpView) -> tuple[ir.OpView, ir.Value | None]:
    """The sum that an op's result goes into and its other operand, if there is one."""
    reader, made = _reader(op), op.results[0]
    if reader is None or rule_name(reader) != "add":
        return op, None
    lhs, rhs = reader.operands
    other = rhs if lhs == made else lhs
    if other == made or other.type != made.type or reader.results[0].type != made.type:
        return op, None
    return reader, other


def _activation_after(op: ir.OpView) -> tuple[ir.OpView, _Activation | None]:
    """The activation that an op's result goes into, if there is one."""
    reader = _reader(op)
    if reader is None or rule_name(reader) not in ACTIVATIONS:
        return op, None
    if reader.results[0].type != op.results[0].type:
        return op, None
    return reader, ACTIVATIONS[rule_name(reader)](reader)
