"""What written-out attention consists of."""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.dialects.dims import Size


@dataclass(frozen=True)
class ScorePlan:
    """What the region consists of.

    Attributes:
        ops: what is copied into it, in order.
        operands: what it reads from outside, besides the scores.
    """

    ops: tuple[ir.OpView, ...]
    operands: tuple[ir.Value, ...]


@dataclass(frozen=True)
class Match:
    """A written-out attention.

    Attributes:
        product: weights @ values.
        scores: queries @ keys, transposed.
        softmax: the softmax between.
        shape: [b, h, s, t] of the scores; b, or both, are 1 where there is no such dim.
        score: what lies between the scores and softmax.
        element: what queries, keys and values consist of, once narrowed.
        factor: what scores have to be multiplied by, once those are.
    """

    product: ir.OpView
    scores: ir.OpView
    softmax: ir.OpView
    shape: tuple[Size, ...]
    score: ScorePlan
    element: str
    factor: float
