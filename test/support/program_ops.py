"""The lines that random programs are made of, as templates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Op:
    """A line of a program, as a template.

    Attributes:
        text: Python with ``{a}``, ``{b}``, ``{c}`` for values that broadcast with each
            other, and other names that ``_choices`` fills in.
        kinds: Kinds of ``a`` and ``b``; ``c`` is always bool.
        rounds: Whether the result counts as rounded even if it looks exact.
        exact: Whether it applies to exact values only.
        rank: Least rank of ``a``.
    """

    text: str
    kinds: tuple[str, ...] = ("float",)
    rounds: bool = False
    exact: bool = False
    rank: int = 0


_NUMBER = ("float", "int")
_ANY = ("float", "int", "bool")
_ROUNDING = (
    "torch.exp({a}.clamp(-4, 4))",
    "torch.log({a}.abs() + 1)",
    "torch.log1p({a}.abs())",
    "torch.expm1({a}.clamp(-2, 2))",
    "torch.sqrt({a}.abs() + 1)",
    "torch.rsqrt({a} * {a} + 1)",
    "torch.tanh({a})",
    "torch.sigmoid({a})",
    "torch.sin({a})",
    "torch.cos({a})",
    "torch.atan({a})",
    "torch.erf({a})",
    "F.gelu({a})",
    "F.silu({a})",
    "F.softplus({a})",
    "F.elu({a})",
    "F.mish({a})",
    "F.hardswish({a})",
    "{a} / ({b}.abs() + 1)",
    "1 / ({a}.abs() + 0.5)",
    "torch.lerp({a}, {a} + 1, 0.3)",
    "({a}.abs() + 0.5) ** 1.5",
)
_ROUNDING_OVER_DIM = (
    "torch.softmax({a}, {dim})",
    "torch.log_softmax({a}, {dim})",
    "torch.logsumexp({a}, {dim}, keepdim={keepdim})",
    "{a}.mean({dim}, keepdim={keepdim})",
    "{a}.var({dim}, correction=0, keepdim={keepdim})",
    "F.layer_norm({a}, {a}.shape[-1:], eps=0.1)",
)
_ARITHMETIC = (
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b}",
    "{a} * 2 - 1",
    "3 - {a}",
    "torch.maximum({a}, {b})",
    "torch.minimum({a}, {b})",
    "{a}.clamp(-2, 3)",
    "{a}.abs()",
    "torch.relu({a})",
)
_COMPARISONS = ("{a} < {b}", "{a} >= {b}", "{a} == {b}", "{a} > 1", "{a} != 0")
_SHAPES = (
    "{a}.permute({permutation})",
    "{a}.reshape(-1)",
    "{a}.flatten()",
    "{a}.unsqueeze({new_dim})",
    "{a}.contiguous()",
    "{a}[None]",
)
_SHAPES_OF_DIMS = (
    "{a}[{slices}]",
    "{a}.flip({dim})",
    "{a}.transpose({dim}, {other_dim})",
    "torch.cat([{a}, {a}], {dim})",
    "torch.cat([{a}, {a} + {a}], {dim})",
    "torch.stack([{a}, {a}], {dim})",
    "{a}.roll(1, {dim})",
    "F.pad({a}, (1, 2))",
    "{a}.narrow({dim}, 0, {a}.shape[{dim}] // 2)",
    "{a}.repeat({ones}, 2)",
    "{a}.expand(2, {minus_ones})",
)
_REDUCTIONS = ("{a}.sum({dim}, keepdim={keepdim})", "{a}.sum()")
_SELECTIONS = ("{a}.amax({dim}, keepdim={keepdim})", "{a}.amin({dim})")
_DISCONTINUOUS = ("torch.floor({a})", "torch.round({a})", "torch.sign({a})")
_PICKS = (
    "{a}.argmax({dim})",
    "{a}.argmin({dim}, keepdim={keepdim})",
    "{a}.cummax({dim}).indices",
)
_LOGIC = ("{a} & {b}", "{a} | {b}", "{a} ^ {b}", "~{a}")

OPS = (
    *(Op(text, rounds=True) for text in _ROUNDING),
    *(Op(text, rounds=True, rank=1) for text in _ROUNDING_OVER_DIM),
    *(Op(text, _NUMBER) for text in _ARITHMETIC),
    *(Op(text, _NUMBER, exact=True) for text in _COMPARISONS),
    *(Op(text, _ANY) for text in _SHAPES),
    *(Op(text, _NUMBER, rank=1) for text in _SHAPES_OF_DIMS),
    *(Op(text, _NUMBER, rank=1) for text in _REDUCTIONS + _SELECTIONS),
    *(Op(text, exact=True) for text in _DISCONTINUOUS),
    *(Op(text, _NUMBER, exact=True, rank=1) for text in _PICKS),
    *(Op(text, ("bool", "int")) for text in _LOGIC),
    Op("torch.where({c}, {a}, {b})", _NUMBER),
    Op("{a}.masked_fill({c}, 2)", _NUMBER),
    Op("{a}.to({float_dtype})", _ANY),
    Op("{a}.to({int_dtype})", _NUMBER, exact=True),
    Op("{a} // 3", ("int",)),
    Op("{a} % 5", ("int",)),
    Op("{a}.any({dim})", ("bool",), rank=1),
    Op("{a}.all({dim}, keepdim={keepdim})", ("bool",), rank=1),
    Op("{a}.sum({dim})", ("bool",), rank=1),
    Op("{a}.cumsum({dim})", _NUMBER, rank=1),
    Op("{a}.cumprod({dim})", _NUMBER, rank=1),
    Op("{a}.logcumsumexp({dim})", rank=1),
    Op("{a}.cummax({dim}).values", _NUMBER, rank=1),
    Op("{a}.cummin({dim}).values", _NUMBER, rank=1),
)
