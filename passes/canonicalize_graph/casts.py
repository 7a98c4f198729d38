"""Casts: identities, chains, constants."""

from girih.dialects.bindings import ir
from girih.passes.canonicalize_graph.numbers import convert, holds_all, is_known
from girih.passes.canonicalize_graph.rules import Simplifier, canonicalizes


def _element(value: ir.Value) -> str:
    return str(value.type.element_type)


@canonicalizes("cast")
def drop_identity_cast(op, b: Simplifier) -> ir.Value | None:
    """A cast to the same type."""
    return op.x if op.x.type == op.y.type else None


@canonicalizes("cast")
def merge_casts(op, b: Simplifier) -> ir.Value | None:
    """A cast of a cast, where the type between holds every value."""
    inner = b.producer(op.x, "cast")
    if inner is None or not holds_all(_element(inner.x), _element(op.x)):
        return None
    return b.cast(inner.x, op.y.type.element_type)


@canonicalizes("cast")
def fold_cast_of_number(op, b: Simplifier) -> ir.Value | None:
    """A number in another type, rounded to the first type before."""
    number = b.number(op.x)
    source, target = _element(op.x), _element(op.y)
    if number is None or not is_known(source) or not is_known(target):
        return None
    value = convert(number, source)
    value = None if value is None else convert(value, target)
    return None if value is None else b.filled(value, op.y.type)


@canonicalizes("size")
def fold_known_size(op, b: Simplifier) -> ir.Value | None:
    """A size that is a number."""
    size = op.expr
    if not isinstance(size, int):
        return None
    return b.constant(size, op.y.type.element_type)
