"""Contractions as ATen calls."""

from girih.dialects.attributes import Argument
from girih.dialects.bindings import ir
from girih.dialects.types import shape_of

from .rules import (
    AtenCall,
    calls_aten,
    calls_same_arguments,
    is_used,
    operands,
    optional,
)

calls_same_arguments({"graph.bmm": "aten.bmm.default", "graph.mm": "aten.mm.default"})


@calls_aten("graph.addmm", "graph.baddbmm")
def call_add_matmul(op: ir.OpView) -> AtenCall:
    """`addmm` and `baddbmm`; factors of 1 are left to their defaults."""
    factors = {"beta": op.beta, "alpha": op.alpha}
    given = {name: factor for name, factor in factors.items() if factor != 1}
    name = op.name.removeprefix("graph.")
    return AtenCall(f"aten.{name}.default", operands(op), given)


@calls_aten("graph.linear")
def call_linear(op: ir.OpView) -> AtenCall:
    """`linear` with or without bias."""
    return AtenCall("aten.linear.default", operands(op))


@calls_aten("graph.convolution")
def call_convolution(op: ir.OpView) -> AtenCall:
    """`convolution`, which chooses oneDNN where it is faster."""
    arguments = (
        *optional(op, ("x", "weight", "bias")),
        op.stride,
        op.padding,
        op.dilation,
        op.transposed,
        op.output_padding,
        op.groups,
    )
    return AtenCall("aten.convolution.default", arguments)


@calls_aten("graph.attention")
def call_attention(op: ir.OpView) -> AtenCall:
    """Scaled dot product attention.

    The public op chooses the best kernel for shapes, strides and mask, but does not
    return the logarithms of the sums; the flash kernel does.
    """
    query, key, value, mask = optional(op, ("query", "key", "value", "mask"))
    y, logsumexp = op.results
    if is_used(logsumexp):
        return AtenCall(
            "aten._scaled_dot_product_flash_attention_for_cpu.default",
            (query, key, value, op.dropout, op.causal),
            {"attn_mask": mask, "scale": op.scale},
        )
    options: dict[str, Argument] = {"scale": op.scale}
    if shape_of(op.query.type)[1] != shape_of(op.key.type)[1]:
        options["enable_gqa"] = True
    return AtenCall(
        "aten.scaled_dot_product_attention.default",
        (query, key, value, mask, op.dropout, op.causal),
        options,
        results=(0,),
    )
