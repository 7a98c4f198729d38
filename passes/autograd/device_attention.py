"""Derivatives of ATen's attention on GPUs: its kernels, and the formula beyond.

Each kernel has a backward kernel, which takes what the forward one kept for it. The
second derivative is that of the formula, which has no dropout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from girih.dialects import attributes as attr
from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.passes.autograd.attention import formula_gradients, positions_first
from girih.passes.autograd.extern import calls
from girih.passes.autograd.rules import NotDifferentiable, VjpBuilder

FLASH = "aten._scaled_dot_product_flash_attention.default"
EFFICIENT = "aten._scaled_dot_product_efficient_attention.default"
CUDNN = "aten._scaled_dot_product_cudnn_attention.default"
FLASH_BACKWARD = "aten._scaled_dot_product_flash_attention_backward.default"
EFFICIENT_BACKWARD = "aten._scaled_dot_product_efficient_attention_backward.default"
CUDNN_BACKWARD = "aten._scaled_dot_product_cudnn_attention_backward.default"

# The arguments of the forward calls after query, key and value, with defaults.
_ARGUMENTS: dict[str, dict[str, Any]] = {
    FLASH: {"dropout": 0.0, "causal": False},
    EFFICIENT: {"bias": None, "logsumexp": True, "dropout": 0.0, "causal": False},
    CUDNN: {"bias": None, "logsumexp": True, "dropout": 0.0, "causal": False},
}


@dataclass
class _Call:
    """A forward call and what its backward call is made of."""

    op: Any
    g: ir.Value
    b: VjpBuilder

    def __post_init__(self) -> None:
        names = _ARGUMENTS[self.op.op]
        given = self.op.args[3 : 3 + len(names)]
        self.named = dict(names) | dict(zip(names, given, strict=False))
        self.operands: list[ir.Value] = []
        self._strides: list[tuple] = []
        known = _operand_strides(self.op)
        self._known = dict(zip(self.op.inputs, known, strict=True))
        results = self.op.strides or [
            ty.contiguous_strides(ty.shape_of(value.type)) for value in self.op.results
        ]
        self._known |= dict(zip(self.op.results, results, strict=True))
        self._known[self.g] = self._known[self.op.results[0]]

    def place(self, value: ir.Value) -> OperandRef:
        """An operand of the backward call."""
        self.operands.append(value)
        self._strides.append(self._known[value])
        return OperandRef(len(self.operands) - 1)

    def inputs(self) -> list[OperandRef]:
        """The gradient of the result, then query, key, value."""
        return [self.place(value) for value in (self.g, *self.op.inputs[:3])]

    def results(self, *numbers: int) -> list[OperandRef]:
        """Results of the forward call."""
        return [self.place(self.op.results[number]) for number in numbers]

    def bias(self) -> OperandRef | None:
        """The bias, if there is one."""
        bias = self.named.get("bias")
        return None if bias is None else self.place(self.op.inputs[bias.index])

    def lengths(self) -> list:
        """How many queries and keys there are."""
        return [ty.shape_of(value.type)[2] for value in self.op.inputs[:2]]

    def backward(self, name: str, args: list, results: list, strides: list) -> list:
        """The results of the backward call; a gradient for each input."""
        made = self.b.make(
            "extern",
            [self.operands],
            {
                "op": name,
                "args": args,
                "kwargs": {"scale": self.op.kwargs.get("scale")},
                "strides": strides,
                "operand_strides": attr.LAYOUTS.encode(self._strides),
            },
            results=[value.type for value in results],
        )
        missing = len(self.op.inputs) - len(made.results)
        return [*made.results, *[None] * missing]

    def preserved(self) -> list[tuple]:
        """The layouts of gradients that lie as their operands do."""
        return [self._known[value] for value in self.op.inputs[:3]]


@calls(FLASH)
def vjp_flash_attention(op, cotangents, b: VjpBuilder) -> list:
    """By FlashAttention's backward kernels."""
    call = _call(op, cotangents, b)
    args = [*call.inputs(), *call.results(0, 1), None, None, *call.lengths()]
    args += [call.named["dropout"], call.named["causal"], *call.results(2, 3)]
    return call.backward(FLASH_BACKWARD, args, op.inputs[:3], call.preserved())


@calls(EFFICIENT)
def vjp_efficient_attention(op, cotangents, b: VjpBuilder) -> list:
    """By the kernels of memory-efficient attention, which derive by the bias too."""
    call = _call(op, cotangents, b)
    args = [*call.inputs(), call.bias(), *call.results(0, 1, 2, 3)]
    bias = call.named["bias"]
    values, strides = list(op.inputs[:3]), []
    strides = [positions_first(value) for value in values]
    wants_bias = bias is not None and b.needs(op.inputs[bias.index])
    if wants_bias:
        values.append(op.inputs[bias.index])
        strides.append(ty.contiguous_strides(ty.shape_of(values[-1].type)))
    mask = (True, True, True, wants_bias)
    args += [call.named["dropout"], mask, call.named["causal"]]
    return call.backward(EFFICIENT_BACKWARD, args, values, strides)


@calls(CUDNN)
def vjp_cudnn_attention(op, cotangents, b: VjpBuilder) -> list:
    """By cuDNN's kernels, which give no gradient of the bias."""
    call = _call(op, cotangents, b)
    bias = call.named["bias"]
    if bias is not None and b.needs(op.inputs[bias.index]):
        raise NotDifferentiable("cuDNN's attention gives no gradient of its bias")
    args = [*call.inputs(), *call.results(0, 1, 2, 3), call.bias(), None, None]
    args += [*call.lengths(), call.named["dropout"], call.named["causal"]]
    return call.backward(CUDNN_BACKWARD, args, op.inputs[:3], call.preserved())


def _call(op, cotangents: list, b: VjpBuilder) -> _Call:
    g, *others = cotangents
    if g is None or any(other is not None for other in others):
        raise NotDifferentiable(
            f"girih can differentiate only the first result of {op.op}, and the "
            "program needs the gradient of another one"
        )
    return _Call(op, g, b)


def _operand_strides(op) -> list[tuple]:
    if "operand_strides" in op.attributes:
        return list(attr.LAYOUTS.decode(op.attributes["operand_strides"]))
    return [ty.contiguous_strides(ty.shape_of(value.type)) for value in op.inputs]


# Second order -----------------------------------------------------------------------


@calls(FLASH_BACKWARD)
def vjp_flash_attention_backward(op, cotangents, b: VjpBuilder) -> list:
    """That of the formula."""
    return _second_order(op, cotangents, b, None, op.args[10], op.args[11])


@calls(EFFICIENT_BACKWARD)
def vjp_efficient_attention_backward(op, cotangents, b: VjpBuilder) -> list:
    """That of the formula."""
    return _second_order(op, cotangents, b, op.args[4], op.args[9], op.args[11])


@calls(CUDNN_BACKWARD)
def vjp_cudnn_attention_backward(op, cotangents, b: VjpBuilder) -> list:
    """That of the formula."""
    return _second_order(op, cotangents, b, op.args[8], op.args[13], op.args[14])


def _second_order(
    op,
    cotangents: list,
    b: VjpBuilder,
    bias: OperandRef | None,
    dropout: float,
    causal: bool,
) -> list:
    """The gradients of a backward call's operands: the first four, and the bias."""
    if dropout:
        raise NotDifferentiable(f"{op.op} with dropout has no second derivative")
    mask = None if bias is None else op.inputs[bias.index]
    depth = ty.shape_of(op.inputs[1].type)[3]
    scale = op.kwargs.get("scale")
    if scale is None:
        if not isinstance(depth, int):
            raise NotDifferentiable(
                f"{op.op} has no second derivative if its head size is symbolic and no "
                "scale is given. Pass scale="
            )
        scale = 1 / math.sqrt(depth)
    found = formula_gradients(
        b, [*op.inputs[:4], mask], cotangents, scale=scale, causal=causal
    )
    gradients: list[ir.Value | None] = [None] * len(op.inputs)
    gradients[:4] = found[:4]
    if bias is not None:
        gradients[bias.index] = found[4]
    return gradients
