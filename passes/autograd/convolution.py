"""Derivatives of convolutions, by ATen's backward call: oneDNN computes it as a whole.

A convolution is linear in its input and in its weight, so the derivative of the call
is convolutions and calls of the same kind; it exists to every order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from girih.dialects import attributes as attr
from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.autograd.elementwise import refuse_complex
from girih.passes.autograd.extern import calls
from girih.passes.autograd.rules import VjpBuilder, vjp
from girih.passes.convolution_errors import overruns_channels_last

BACKWARD = "aten.convolution_backward.default"

_SETTINGS = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")


@dataclass(frozen=True)
class Setting:
    """What derivatives of a convolution have in common with it.

    Attributes:
        attributes: Strides, padding and so on.
        is_channels_last: Whether results have the channels innermost in memory.
        known: Strides of operands.
    """

    attributes: Mapping[str, Any]
    is_channels_last: bool
    known: Mapping[ir.Value, tuple[Size, ...]]

    @classmethod
    def of(cls, op: ir.OpView, attributes: Mapping[str, Any]) -> "Setting":
        """Reads the layouts of a call."""
        known = {}
        if "operand_strides" in op.attributes:
            strides = attr.LAYOUTS.decode(op.attributes["operand_strides"])
            known = dict(zip(op.operands, strides, strict=True))
        return cls(attributes, _is_channels_last(op), known)

    def strides(self, value: ir.Value) -> tuple[Size, ...]:
        """The strides of an operand."""
        return self.known[value] if value in self.known else self.fresh_strides(value)

    def fresh_strides(self, like: ir.Value) -> tuple[Size, ...]:
        """The strides of an image, a weight or a bias that ATen makes."""
        shape = ty.shape_of(like.type)
        if not self.is_channels_last or len(shape) == 1:
            return ty.contiguous_strides(shape)
        batch, channels, *space = shape
        outer, *inner = ty.contiguous_strides((batch, *space, channels))
        return (outer, inner[-1], *inner[:-1])


def _forward(
    b: VjpBuilder,
    x: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None,
    like: ir.Value,
    setting: Setting,
) -> ir.Value:
    """A convolution whose result has the type of ``like``."""
    layouts = _layouts(setting, [like], [x, weight] + ([bias] if bias else []))
    attributes = {**setting.attributes, **layouts}
    made = b.make("convolution", [x, weight, bias], attributes, results=[like.type])
    return made.results[0]


def _backward(
    b: VjpBuilder,
    g: ir.Value,
    x: ir.Value,
    weight: ir.Value,
    wanted: Mapping[str, ir.Value | None],
    setting: Setting,
) -> dict[str, ir.Value]:
    """The gradients ``wanted`` of x, weight and bias, each by what it is like."""
    found = {name: value for name, value in wanted.items() if value is not None}
    mask = tuple(name in found for name in ("x", "weight", "bias"))
    bias = found.get("bias")
    sizes = None if bias is None else ty.shape_of(bias.type)
    settings = (setting.attributes[name] for name in _SETTINGS)
    operands = [g, x, weight]
    stride = setting.attributes["stride"]
    if "weight" in found and overruns_channels_last(ty.shape_of(weight.type), stride):
        setting = replace(setting, is_channels_last=False)
    arguments = [*map(OperandRef, range(3)), sizes, *settings, mask]
    attributes = {"op": BACKWARD, "args": arguments}
    made = b.make(
        "extern",
        [operands],
        attributes | _layouts(setting, list(found.values()), operands),
        results=[value.type for value in found.values()],
    )
    return dict(zip(found, made.results, strict=True))


def _layouts(
    setting: Setting, results: list[ir.Value], operands: list[ir.Value]
) -> dict[str, ir.Attribute]:
    if not setting.is_channels_last:
        return {}
    made = [setting.fresh_strides(value) for value in results]
    given = [setting.strides(value) for value in operands]
    return {
        "strides": attr.LAYOUTS.encode(made),
        "operand_strides": attr.LAYOUTS.encode(given),
    }


@vjp("convolution")
def vjp_convolution(op, cotangents, b: VjpBuilder) -> list:
    """x * w: convolutions of the gradient with w, and of x with the gradient."""
    refuse_complex(op)
    setting = Setting.of(op, {name: getattr(op, name) for name in _SETTINGS})
    operands = {"x": op.x, "weight": op.weight, "bias": op.bias}
    wanted = {k: v if b.needs(v) else None for k, v in operands.items()}
    (g,) = cotangents
    if wanted["x"] is None and wanted["weight"] is None:
        return [None, None, _sum_of_channels(b, g, op.bias)]
    found = _backward(b, g, op.x, op.weight, wanted, setting)
    return [found.get(name) for name in operands]


def _is_channels_last(op: ir.OpView) -> bool:
    """Whether the first result has its channels innermost."""
    if op.strides is None:
        return False
    shape = ty.shape_of(op.results[0].type)
    return len(shape) > 3 and op.strides[0] != ty.contiguous_strides(shape)


def _sum_of_channels(b: VjpBuilder, g: ir.Value, bias: ir.Value) -> ir.Value:
    dims = [dim for dim in range(len(ty.shape_of(g.type))) if dim != 1]
    return b.reshape(b.sum(g, dims), ty.shape_of(bias.type))


@calls(BACKWARD)
def vjp_convolution_backward(op, cotangents, b: VjpBuilder) -> list:
    """Linear in the gradient g; in x through w's gradient, in w through x's.

    With cotangents u of x's gradient, v of w's and c of the bias': g gets u * w,
    x * v and c; x gets what v does as a weight; w gets what u does as an input.
    """
    g, x, weight = op.inputs
    setting = Setting.of(op, dict(zip(_SETTINGS, op.args[4:10], strict=True)))
    names = ("x", "weight", "bias")
    there = [name for name, used in zip(names, op.args[10], strict=True) if used]
    given = dict.fromkeys(names) | dict(zip(there, cotangents, strict=True))
    u, v, c = (given[name] for name in names)
    by_x = by_weight = None
    if v is not None and b.needs(x):
        by_x = _backward(b, g, x, v, {"x": x}, setting)["x"]
    if u is not None and b.needs(weight):
        by_weight = _backward(b, g, u, weight, {"weight": weight}, setting)["weight"]
    by_g = _by_gradient(b, op, (u, v, c), setting) if b.needs(g) else None
    return [by_g, by_x, by_weight]


def _by_gradient(
    b: VjpBuilder, op: ir.OpView, given: tuple, setting: Setting
) -> ir.Value:
    g, x, weight = op.inputs
    u, v, c = given
    parts = []
    if u is not None:
        parts.append(_forward(b, u, weight, None, g, setting))
    if v is not None:
        parts.append(_forward(b, x, v, c, g, setting))
    elif c is not None:
        parts.append(_along_channels(b, c, g))
    first, *rest = parts
    return b.add(first, rest[0]) if rest else first


def _along_channels(b: VjpBuilder, bias: ir.Value, like: ir.Value) -> ir.Value:
    shape = ty.shape_of(like.type)
    column = b.reshape(bias, (shape[1], *(1,) * (len(shape) - 2)))
    return b.broadcast_to(column, shape)
