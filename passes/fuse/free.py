"""Ops that every reader computes itself, because storing their result costs more.

That is cheap arithmetic on one stored tensor (or on none, as in masks) that is not
larger than the result, or where both are small; and a few rows that are looked up in a
stored tensor, as the cosines of the positions of a rotary embedding.
"""

from collections.abc import Callable
from dataclasses import dataclass

from girih.dialects.definition import full_name, has_any
from girih.dialects.dims import Size, product
from girih.dialects.traits import ASSEMBLES, GATHERS, REINDEXES
from girih.passes.choices import USUAL, Choices
from girih.passes.fuse.program import Kind, Need, Node, Program
from girih.passes.fuse.shapes import exact_quotient

# These are more than arithmetic, or are made for one reader.
_NEVER_FREE = (ASSEMBLES, REINDEXES)

# Ops (count) that every reader may compute again, and the elements (count) up to which
# it does not matter that it reads more bytes.
_DEPTH = 4
# Of what reads no tensor, as the indices and weights of interpolation: storing it takes
# a kernel of its own. Ops count once for each path to them.
_DEPTH_OF_NOTHING = 512
_ELEMENTS = 16384
# Elements (count) next to each other from which on one index is little beside them.
_ROW = 16


def free_cheap_ops(
    program: Program,
    may_be_deep: Callable[[int], bool],
    choices: Choices = USUAL,
    *,
    stores_lookups: bool = False,
) -> None:
    """Makes the cheap ops of ``program`` free, as creation ops are.

    Args:
        program: the ops.
        may_be_deep: whether a value that reads no tensor, by its id, may take many ops.
        choices: whether an op that can be free is.
        stores_lookups: whether elements at a computed index are stored, unless gathers
            alone read them. On a GPU the index costs less than a kernel.
    """
    stored = {
        read.value
        for node in program.nodes
        for read in node.reads
        if read.need is Need.WHOLE
    }
    chained = _read_by_gathers_alone(program)
    recipes: dict[int, _Recipe] = {}
    for node in program.nodes:
        if node.kind is not Kind.POINTWISE or node.results[0] in stored:
            continue
        if has_any(full_name(node.name), GATHERS):
            # An index that is computed, of a stored tensor: a view of it.
            may_be_view = not stores_lookups or node.results[0] in chained
            is_view = may_be_view and _is_view(program, node, recipes)
            is_free = is_view or _looks_up_few_rows(program, node)
            if is_free and _is_chosen(program, node, choices):
                node.kind = Kind.FREE
        else:
            recipe = _recipe(program, node, recipes, may_be_deep)
            if recipe is not None and _is_chosen(program, node, choices):
                node.kind = Kind.FREE
                recipes[node.position] = recipe


def _is_chosen(program: Program, node: Node, choices: Choices) -> bool:
    """Returns whether every reader computes an op, and no kernel stores it."""
    return choices.takes(lambda: f"fuse: {program.label(node.position)} in each reader")


def _read_by_gathers_alone(program: Program) -> set[int]:
    """The values that nothing but a gather reads."""
    gathered, read = set(), set()
    for node in program.nodes:
        gathers = has_any(full_name(node.name), GATHERS) and bool(node.reads)
        for n, each in enumerate(node.reads):
            (gathered if gathers and n == 0 else read).add(each.value)
    return gathered - read


def _is_view(program: Program, node: Node, recipes: "dict[int, _Recipe]") -> bool:
    """Returns whether a gather finds its elements without reading an index.

    Where sizes are known, a gather of computed elements may share their kernel instead.
    """
    source, index = (program.producer(read.value) for read in node.reads)
    if index is None or index.kind is not Kind.FREE:
        return False
    if index.position in recipes and recipes[index.position].sources:
        return False
    is_known = all(isinstance(n, int) for n in program.values[node.results[0]].shape)
    return source is None or not (is_known and program.is_computed(source))


def _looks_up_few_rows(program: Program, node: Node) -> bool:
    """Returns whether a gather takes few elements, in rows, out of a stored tensor.

    A kernel that stores them takes longer than looking them up for each reader.
    """
    shape = program.values[node.results[0]].shape
    if not shape or not _is_few(product(shape)) or not _is_row(shape[-1]):
        return False
    if program.values[node.reads[0].value].shape[-1:] != shape[-1:]:
        return False
    producers = [program.producer(read.value) for read in node.reads]
    return all(p is None or not program.is_computed(p) for p in producers)


def _is_row(size: Size) -> bool:
    return isinstance(size, int) and size >= _ROW


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
    program: Program,
    node: Node,
    recipes: dict[int, _Recipe],
    may_be_deep: Callable[[int], bool],
) -> _Recipe | None:
    """Returns what computing ``node`` takes, None if it should be stored."""
    if has_any(full_name(node.name), *_NEVER_FREE):
        return None
    result = node.results[0]
    if node.is_expensive and product(program.values[result].shape) != 1:
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
    if sources and node.is_expensive:
        return None
    is_deep = not sources and may_be_deep(result)
    if len(sources) > 1 or ops > (_DEPTH_OF_NOTHING if is_deep else _DEPTH):
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
