"""Attention as one kernel: scores are made, used and forgotten block by block.

The score function is a region: it takes the scores ``query @ key^T`` of all positions
and the op's other operands, and yields what softmax is taken of. It consists of
elementwise primitives on tensors of the scores' shape; views and creation ops stand
only on what does not depend on the scores. Scores may be reshaped where their last two
dims stay.
Source: https://arxiv.org/abs/2307.08691 (FlashAttention-2).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size
from girih.dialects.fields import operand, region, result, variadic_operand
from girih.dialects.graph.base import (
    GraphOp,
    expect_float,
    expect_rank,
    expect_same_element,
)
from girih.dialects.graph.structure import YieldOp
from girih.dialects.regions import expect_arguments, only_block
from girih.dialects.rules import expect
from girih.dialects.traits import Role


def _expect_size(actual: Size, wanted: Size, name: str) -> None:
    """Checks a size where it is a number; symbolic ones are checked at run time."""
    known = not isinstance(actual, Dim) and not isinstance(wanted, Dim)
    expect(not known or actual == wanted, name, f"have size {wanted}", actual)


def score_shape(query: ir.Type, key: ir.Type) -> tuple[Size, ...]:
    """Returns [b, h, s, t]."""
    return (*ty.shape_of(query)[:3], ty.shape_of(key)[2])


def _expect_inputs(query: ir.Type, key: ir.Type, value: ir.Type) -> None:
    """Checks what attention reads: three tensors of one float type."""
    expect_float(query, "query")
    b, h, _, d = expect_rank(query, "query", 4)
    for name, type_ in (("key", key), ("value", value)):
        shape = expect_rank(type_, name, 4)
        expect_same_element(type_, name, query.element_type)
        _expect_size(shape[0], b, name)
        _expect_size(shape[1], ty.shape_of(key)[1], name)
        _expect_size(shape[2], ty.shape_of(key)[2], name)
        heads = shape[1]
        known = not isinstance(heads, Dim) and not isinstance(h, Dim)
        fits = not known or heads == h or (heads != 0 and h % heads == 0)
        expect(fits, name, f"have a number of heads that divides {h}", heads)
    _expect_size(ty.shape_of(key)[3], d, "key")


def statistics_type(query: ir.Type) -> ir.Type:
    """Returns the type of a number for each row: [b, h, s], at least f32."""
    wide = ty.byte_width(query.element_type) > 4
    element = query.element_type if wide else ir.F32Type.get()
    return ty.tensor_type(ty.shape_of(query)[:3], element)


def _expect_body(
    op: ir.OpView, arguments: Sequence[ir.Type], yields: Sequence[ir.Type | None]
) -> None:
    """Checks the score function's types; None stands for floats of scores' shape."""
    block = only_block(op)
    expect_arguments(block, arguments)
    operations = list(block.operations)
    name = operations[-1].operation.name if operations else "nothing"
    expect(name == YieldOp.OPERATION_NAME, "body", "end in graph.yield", name)
    actual = [value.type for value in operations[-1].operands]
    count = len(yields)
    expect(len(actual) == count, "body", f"yield {count} values", len(actual))
    scores = arguments[0]
    for type_, wanted in zip(actual, yields, strict=True):
        expect_float(type_, "body")
        shape = ty.shape_of(scores)
        fits = ty.shape_of(type_) == shape and wanted in (None, type_)
        expect(fits, "body", f"yield values of shape {list(shape)}", type_)


class FlashAttentionOp(GraphOp, name="flash_attention"):
    """y = softmax(score(query @ key^T, operands...)) @ value, and statistics of rows.

    query: [b, h, s, d]; key: [b, h_kv, t, d]; value: [b, h_kv, t, e]; y: [b, h, s, e];
    largest, total: [b, h, s], at least f32: the largest logit x of a row, and the sum
    of exp(x - largest). Head i of the query reads head i // (h / h_kv). ``score`` takes
    (scores: [b, h, s, t], operands...) and yields one tensor of floats.

    [Note: two statistics of rows] largest + log(total) would be one, but where logits
    are large, as in rows that are masked altogether, its rounding loses ``total``.

    Errors: operands of other shapes or types; a region with other types.
    """

    ROLE = Role.KERNEL

    query = operand()
    key = operand()
    value = operand()
    operands_of_score = variadic_operand()
    score = region(ends_in=YieldOp.OPERATION_NAME)
    y = result()
    largest = result()
    total = result()

    @property
    def block(self) -> ir.Block:
        """The score function's only block."""
        return self.regions[0].blocks[0]

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """[b, h, s, e], and [b, h, s] twice."""
        query, key, value, _ = types
        _expect_inputs(query, key, value)
        shape = (*ty.shape_of(query)[:3], ty.shape_of(value)[3])
        y = ty.tensor_type(shape, query.element_type)
        return [y, statistics_type(query), statistics_type(query)]

    def verify_invariants(self) -> None:
        """Checks the score function."""
        query, key = self.query.type, self.key.type
        scores = ty.tensor_type(score_shape(query, key), query.element_type)
        others = [value.type for value in self.operands_of_score]
        _expect_body(self, [scores, *others], [None])


class FlashAttentionBackwardOp(GraphOp, name="flash_attention_backward"):
    """The gradients of ``flash_attention`` by query, key and value.

    gradient: that of y, [b, h, s, e]; largest, total: of the forward op; delta: the
    sums of gradient * y over rows, [b, h, s]. The others are the forward op's.
    ``score`` takes (scores, its result's gradient, operands...) and yields its result
    and the gradient of the scores; the first does not depend on the gradient.

    Errors: as of ``flash_attention``.
    """

    ROLE = Role.KERNEL
    ZERO_IF = (("gradient",),)

    gradient = operand()
    query = operand()
    key = operand()
    value = operand()
    largest = operand()
    total = operand()
    delta = operand()
    operands_of_score = variadic_operand()
    score = region(ends_in=YieldOp.OPERATION_NAME)
    of_query = result()
    of_key = result()
    of_value = result()

    @property
    def block(self) -> ir.Block:
        """The score function's only block."""
        return self.regions[0].blocks[0]

    @staticmethod
    def infer_types(types: list, attributes: Mapping[str, Any]) -> list[ir.Type]:
        """The types of query, key and value."""
        gradient, query, key, value, largest, total, delta, _ = types
        _expect_inputs(query, key, value)
        shape = (*ty.shape_of(query)[:3], ty.shape_of(value)[3])
        wanted = ty.tensor_type(shape, query.element_type)
        expect(gradient == wanted, "gradient", f"have type {wanted}", gradient)
        rows = statistics_type(query)
        statistics = (("largest", largest), ("total", total), ("delta", delta))
        for name, type_ in statistics:
            expect(type_ == rows, name, f"have type {rows}", type_)
        return [query, key, value]

    def verify_invariants(self) -> None:
        """Checks the score function."""
        query, key = self.query.type, self.key.type
        scores = ty.tensor_type(score_shape(query, key), query.element_type)
        others = [value.type for value in self.operands_of_score]
        own = only_block(self).arguments
        count = 2 + len(others)
        expect(len(own) == count, "body", f"take {count} values", len(own))
        result = own[1].type
        _expect_body(self, [scores, result, *others], [result, scores])
