"""Ops that every reader computes itself, because storing their result costs more.

That is cheap arithmetic on one stored tensor (or on none, as in masks) that is not
larger than the result, or where both are small.
"""

from dataclasses import dataclass

from girih.dialects.definition import full_name, has_any
from girih.dialects.dims import Size, product
from girih.dialects.traits import ASSEMBLES, GATHERS, REINDEXES
from girih.passes.fuse.program import Kind, Node, Program
from girih.passes.fuse.shapes import exact_quotient

# These are more than arithmetic, or are made for one reader.
_NEVER_FREE = (ASSEMBLES, GATHERS, REINDEXES)

# Ops (count) that every reader may compute again, and the elements (count) up to which
# it does not matter that it reads more bytes.
_DEPTH = 4
_ELEMENTS = 16384


def free_cheap_ops(program: Program) -> None:
    """Makes the cheap ops of ``program`` free, as creation ops are."""
    stored = {
        read.value
        for node in program.nodes
        if node.kind is Kind.BARRIER
        for read in node.reads
    }
    recipes: dict[int, _Recipe] = {}
    for node in program.nodes:
        if node.kind is Kind.POINTWISE and node.results[0] not in stored:
            recipe = _recipe(program, node, recipes)
            if recipe is not None:
                node.kind = Kind.FREE
                recipes[node.position] = recipe


@dataclass(frozen=True)
class _Recipe:
    """What computing a value again takes.

    Attributes:
        ops: how many ops.
        sources: ids of the stored values that are read.
    """

    ops: int
    sources: frozenset[int]


def _recipe(
    program: Program, node: Node, recipes: dict[int, _Recipe]
) -> _Recipe | None:
    """Returns what computing ``node`` takes, None if it should be stored."""
    if node.is_expensive or has_any(full_name(node.name), *_NEVER_FREE):
        return None
    if node.name == "philox":
        # Of its operands only a number is stored; a mask that is drawn, cast and
        # scaled is free, what it is multiplied with makes one op too many.
        return _Recipe(1, frozenset())
    ops, sources = 1, frozenset()
    for read in node.reads:
        producer = program.producer(read.value)
        if producer is not None and program.is_computed(producer):
            return None
        if producer is None or producer.kind is not Kind.FREE:
            sources |= {read.value}
        elif producer.position in recipes:
            ops += recipes[producer.position].ops
            sources |= recipes[producer.position].sources
    if len(sources) > 1 or ops > _DEPTH:
        return None
    reads_little = all(_is_small(program, node, source) for source in sources)
    return _Recipe(ops, sources) if reads_little else None


def _is_small(program: Program, node: Node, source: int) -> bool:
    """Returns whether reading the source instead of the result costs no more."""
    value, result = program.values[source], program.values[node.results[0]]
    elements, count = product(result.shape), product(value.shape)
    if _is_few(elements) and _is_few(count):
        return True
    narrow = value.bytes_per_element <= result.bytes_per_element
    return narrow and exact_quotient(elements, count) is not None


def _is_few(count: Size) -> bool:
    return isinstance(count, int) and count <= _ELEMENTS
