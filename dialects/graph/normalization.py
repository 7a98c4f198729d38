"""Normalisations and softmax: composites that stay whole until derivatives are taken.

Statistics of ``layer_norm`` and ``group_norm`` have x's element type, or ``f32`` where
x is of a smaller float type (eager's choice depends on the weight's type).
Source: https://docs.pytorch.org/docs/stable/nn.functional.html#normalization-functions
"""

from collections.abc import Mapping
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import FLOAT, INT
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.dialects.fields import attribute, operand, optional_operand, result
from girih.dialects.graph.base import (
    CompositeOp,
    expect_dim,
    expect_float,
    expect_tensor,
    shape_text,
)
from girih.dialects.rules import expect


class _Softmax(CompositeOp):
    """A normalisation along ``dim``."""

    x = operand()
    dim = attribute(INT)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The operand's type."""
        expect_float(types[0], "x")
        expect_dim(attributes["dim"], max(len(ty.shape_of(types[0])), 1))
        return [types[0]]


class SoftmaxOp(_Softmax, name="softmax"):
    """y = exp(x - max x) / sum(exp(x - max x)) along ``dim``."""


class LogSoftmaxOp(_Softmax, name="log_softmax"):
    """y = x - max x - log(sum(exp(x - max x))) along ``dim``."""


class _StatisticsOp(CompositeOp):
    """A normalisation that also returns mean and rstd = 1 / sqrt(var + eps)."""

    @classmethod
    def check_result(cls, index: int, inferred: ir.Type, actual: ir.Type) -> None:
        """Accepts statistics in f32."""
        in_f32 = ty.tensor_type(ty.shape_of(inferred), ir.F32Type.get())
        if index == 0 or actual != in_f32:
            super().check_result(index, inferred, actual)


def _expect_parameter(type_: ir.Type | None, name: str, shape: tuple) -> None:
    if type_ is None:
        return
    expect_float(type_, name)
    actual = ty.shape_of(type_)
    expect(actual == shape, name, f"have shape {shape_text(shape)}", type_)


def _expect_normalized_rank(rank: int, shape: tuple[Size, ...]) -> None:
    rule = f"be at least 1 and at most the rank {len(shape)}"
    expect(1 <= rank <= len(shape), "normalized_rank", rule, rank)


class LayerNormOp(_StatisticsOp, name="layer_norm"):
    """y = (x - mean) * rstd * weight + bias over the last ``normalized_rank`` dims.

    weight, bias: x's last dims. mean, rstd: x's shape with 1 in the last dims.
    """

    x = operand()
    weight = optional_operand()
    bias = optional_operand()
    normalized_rank = attribute(INT)
    eps = attribute(FLOAT, default=1e-5)
    y = result()
    mean = result()
    rstd = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """x's type, and twice its leading sizes."""
        x, weight, bias = types
        expect_float(x, "x")
        shape, rank = ty.shape_of(x), attributes["normalized_rank"]
        _expect_normalized_rank(rank, shape)
        kept, normalized = shape[:-rank], shape[-rank:]
        _expect_parameter(weight, "weight", normalized)
        _expect_parameter(bias, "bias", normalized)
        statistics = ty.tensor_type(kept + (1,) * rank, x.element_type)
        return [x, statistics, statistics]


class RmsNormOp(CompositeOp, name="rms_norm"):
    """y = x / sqrt(mean(x**2) + eps) * weight, means over the last dims."""

    x = operand()
    weight = optional_operand()
    normalized_rank = attribute(INT)
    eps = attribute(FLOAT)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """x's type."""
        x, weight = types
        expect_float(x, "x")
        shape, rank = ty.shape_of(x), attributes["normalized_rank"]
        _expect_normalized_rank(rank, shape)
        _expect_parameter(weight, "weight", shape[-rank:])
        return [x]


class GroupNormOp(_StatisticsOp, name="group_norm"):
    """y = (x - mean) * rstd * weight + bias within ``groups`` groups of channels.

    x: [n, c, ...]; weight, bias: [c]; mean, rstd: [n, groups].
    """

    x = operand()
    weight = optional_operand()
    bias = optional_operand()
    groups = attribute(INT)
    eps = attribute(FLOAT, default=1e-5)
    y = result()
    mean = result()
    rstd = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """x's type, and twice [n, groups]."""
        x, weight, bias = types
        shape, groups = _expect_channels(x), attributes["groups"]
        channels = shape[1]
        divides = groups >= 1 and (
            not isinstance(channels, int) or channels % groups == 0
        )
        expect(divides, "groups", f"divide the {channels} channels", groups)
        _expect_parameter(weight, "weight", (channels,))
        _expect_parameter(bias, "bias", (channels,))
        statistics = ty.tensor_type((shape[0], groups), x.element_type)
        return [x, statistics, statistics]


def _expect_channels(x: ir.Type) -> tuple[Size, ...]:
    expect_float(x, "x")
    shape = expect_tensor(x, "x")
    expect(len(shape) >= 2, "x", "have rank 2 or more", x)
    return shape


class BatchNormOp(CompositeOp, name="batch_norm"):
    """y = (x - running_mean) / sqrt(running_var + eps) * weight + bias, by channel.

    x: [n, c, ...]; the others: [c]. The form for inference.
    """

    x = operand()
    weight = optional_operand()
    bias = optional_operand()
    running_mean = operand()
    running_var = operand()
    eps = attribute(FLOAT, default=1e-5)
    y = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """x's type."""
        shape = _expect_channels(types[0])
        names = ("weight", "bias", "running_mean", "running_var")
        for name, type_ in zip(names, types[1:], strict=True):
            _expect_parameter(type_, name, (shape[1],))
        return [types[0]]


class BatchNormTrainingOp(_StatisticsOp, name="batch_norm_training"):
    """y = (x - mean) * rstd * weight + bias, with the batch's own statistics.

    x: [n, c, ...]; weight, bias, mean, rstd: [c].
    """

    x = operand()
    weight = optional_operand()
    bias = optional_operand()
    eps = attribute(FLOAT, default=1e-5)
    y = result()
    mean = result()
    rstd = result()

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """x's type, and twice [c]."""
        x, weight, bias = types
        shape = _expect_channels(x)
        _expect_parameter(weight, "weight", (shape[1],))
        _expect_parameter(bias, "bias", (shape[1],))
        statistics = ty.tensor_type((shape[1],), x.element_type)
        return [x, statistics, statistics]
