"""Derivatives of calls of ATen: rules by the op's name, else ATen's own derivative.

A call without a rule becomes the call ``girih.vjp.default`` of the same op with the
same arguments, at whose end the run time asks torch for the gradients
(``codegen/runtime/vjp.py``). That is a call itself, so it has derivatives of its own.
"""

from collections.abc import Callable, Iterator
from typing import Any

from girih.dialects import attributes as attr
from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.rule_table import RuleTable
from girih.passes.autograd.rules import NotDifferentiable, VjpBuilder, vjp

VJP = "girih.vjp.default"
UNDERIVABLE = "girih.underivable.default"

CALLS: dict[str, Callable] = RuleTable("derivative of ")

# What runs where nobody watches -> the same with a derivative.
WATCHED = {
    "aten._embedding_bag_forward_only.default": "aten._embedding_bag.default",
}

# What these draw or write depends on no operand.
CONSTANT = frozenset(
    f"aten.{name}"
    for name in (
        "bernoulli.Tensor",
        "bernoulli.default",
        "bernoulli.p",
        "cauchy.default",
        "exponential.default",
        "fill.Scalar",
        "geometric.default",
        "log_normal.default",
        "multinomial.default",
        "normal.Tensor_Tensor",
        "normal.Tensor_float",
        "normal.float_Tensor",
        "normal_functional.default",
        "poisson.default",
        "rand_like.default",
        "randint_like.default",
        "randint_like.low_dtype",
        "randn_like.default",
        "random.default",
        "random.from",
        "random.to",
        "uniform.default",
        "zero.default",
    )
)


def calls(*names: str) -> Callable:
    """Registers a rule for ATen ops, such as ``aten.index_add.default``.

    Called as ``rule(op, cotangents, b)``, it returns a gradient or None for each of the
    op's operands; or NotImplemented, then the run time asks ATen.
    """
    return CALLS.registering(*names)


@vjp("extern")
def vjp_extern(op, cotangents, b: VjpBuilder) -> list:
    """By the op's name, or the derivative that ATen defines."""
    if op.op in CONSTANT:
        return [None]
    rule = CALLS.get(op.op)
    gradients = NotImplemented if rule is None else rule(op, cotangents, b)
    if gradients is NotImplemented:
        gradients = _by_aten(op, cotangents, b)
    return [gradients]


def _by_aten(op, cotangents: list, b: VjpBuilder) -> list[ir.Value | None]:
    if op.effects or _is_in_place(op.op):
        raise NotDifferentiable(f"{op.op} draws random numbers, or has other effects")
    call = (*op.args, *op.kwargs.values())
    places = list(_tensors(call))
    wanted = [n for n, index in enumerate(places) if b.needs(op.inputs[index])]
    operands = list(op.inputs)
    given = tuple(_given(operands, cotangent) for cotangent in cotangents)
    names, values = tuple(op.kwargs), tuple(op.kwargs.values())
    name = WATCHED.get(op.op, op.op)
    arguments = [name, op.args, names, values, tuple(wanted), given]
    made = b.make(
        "extern",
        [operands],
        {"op": VJP, "args": arguments} | _layouts(op, operands),
        results=[op.inputs[places[n]].type for n in wanted],
    )
    gradients: list[ir.Value | None] = [None] * len(op.inputs)
    for n, gradient in zip(wanted, made.results, strict=True):
        known = gradients[places[n]]
        total = gradient if known is None else b.add(known, gradient)
        gradients[places[n]] = total
    return gradients


@calls("girih.written.default")
def raise_where_derived(op, cotangents, b: VjpBuilder) -> list[ir.Value | None]:
    """Eager records such operators, too, and raises when a derivative comes to them."""
    given = [cotangent for cotangent in cotangents if cotangent is not None]
    references = tuple(OperandRef(n) for n in range(len(given)))
    return [
        b.make(
            "extern",
            [given],
            {"op": UNDERIVABLE, "args": [op.args[0], references], "effects": True},
            results=[value.type],
        ).results[0]
        if b.needs(value)
        else None
        for value in op.inputs
    ]


def _is_in_place(name: str) -> bool:
    name = name.split(".")[1]
    return name.endswith("_") and not name.endswith("__")


def _tensors(argument: Any) -> Iterator[int]:
    """The operands that stand as tensors in arguments, in the order they are met."""
    if isinstance(argument, OperandRef):
        yield argument.index
    elif isinstance(argument, tuple):
        for item in argument:
            yield from _tensors(item)


def _given(operands: list[ir.Value], cotangent: ir.Value | None) -> OperandRef | None:
    if cotangent is None:
        return None
    operands.append(cotangent)
    return OperandRef(len(operands) - 1)


def _layouts(op, operands: list[ir.Value]) -> dict[str, Any]:
    """The layouts that the call was made with: they may be part of its meaning."""
    if "operand_strides" not in op.attributes:
        return {}
    known = attr.LAYOUTS.decode(op.attributes["operand_strides"])
    rest = operands[len(known) :]
    strides = [ty.contiguous_strides(ty.shape_of(value.type)) for value in rest]
    return {"operand_strides": attr.LAYOUTS.encode([*known, *strides])}
