"""Import rules of operations on lists of tensors: the rule for one tensor, on each."""

from __future__ import annotations

from girih.frontend.fake.foreach import Call, calls, overloads, takes_numbers
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.registry import RULES, imports
from girih.frontend.importer.scalars import apply_rule


def _rule(name: str):
    def rule(b: Builder, *args, **kwargs):
        given = calls(*_unpacked(b, name, args, kwargs))
        specs, values = b.out, []
        try:
            for call, spec in zip(given, specs, strict=True):
                b.out = [spec]
                values.append(_value(b, call))
        finally:
            b.out = specs
        known = all(value is not NotImplemented for value in values)
        return values if known else NotImplemented

    return rule


def _value(b: Builder, call: Call):
    rule = RULES.get(call.name)
    if rule is None:
        return NotImplemented
    args, kwargs = list(call.args), dict(call.kwargs)
    return apply_rule(b, rule, call.name, args, kwargs)


@imports("_foreach_zero")
def zero(b: Builder, tensors):
    """Zeros."""
    return [b.full(spec.shape, 0, spec.dtype) for spec in b.out]


@imports("_foreach_copy")
def copy(b: Builder, tensors, sources, non_blocking=False):
    """The sources, cast and broadcast to fit."""
    pairs = zip(sources, b.out, strict=True)
    return [b.broadcast_to(b.cast(x, spec.dtype), spec.shape) for x, spec in pairs]


def _unpacked(b: Builder, name: str, args: tuple, kwargs: dict):
    """A factor for each tensor, where they come as a vector, named or as the fourth."""
    if not takes_numbers(name):
        return name, args, kwargs
    packed = kwargs["scalars"] if "scalars" in kwargs else args[3]
    parts = _parts_of(b, packed)
    return name.replace(".Tensor", ".ScalarList"), (*args[:3], parts), {}


def _parts_of(b: Builder, packed: Operand) -> list[Operand]:
    """The elements of a vector, each without dims."""
    owner = packed.value.owner
    stacked = getattr(owner, "name", "") == "graph.concat"
    if stacked and len(owner.operands) == packed.shape[0]:
        parts = [Operand(value, (1,), packed.dtype) for value in owner.operands]
    else:
        parts = [b.slice(packed, 0, i, 1) for i in range(packed.shape[0])]
    return [b.reshape(part, ()) for part in parts]


for _name in overloads():
    if _name not in RULES:
        imports(_name)(_rule(_name))
