"""Finds written-out attention, from its last product backwards."""

from collections.abc import Iterator, Set

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.dims import Dim, Size, product
from girih.dialects.traits import PRODUCT
from girih.passes.graph_builder import has_one_use
from girih.passes.recognize_attention.attention import Match
from girih.passes.recognize_attention.halves import half_behind, is_narrowed_to
from girih.passes.recognize_attention.score import (
    is_passed,
    keeps_order,
    moves_nothing,
    plan_score,
)

# Heads that wide have blocks that fit into a processor's shared memory.
WIDEST_HEAD = 256
# A program has about so many queries and walks over all keys: fewer programs than
# that, with more keys each, leave a GPU idle in part; the library's products do not.
_QUERIES = 64
_FEWEST_PROGRAMS = 64
_FEW_KEYS = 1024


def is_plain_product(op: ir.OpView) -> bool:
    """Whether an op multiplies two matrices, or batches of them, and adds nothing."""
    return has(op, PRODUCT) and len(op.operands) == 2


def match_product(op: ir.OpView, elements: Set[str]) -> Match | None:
    """The attention whose last product is ``op``, a plain product, if it is that.

    Args:
        op: a product of matrices.
        elements: what its operands may consist of.
    """
    element = _element_of(op)
    if element not in elements or not _is_narrow(op.rhs):
        return None
    softmax = _softmax_of(op.lhs)
    if softmax is None:
        return None
    shape = _score_shape(ty.shape_of(softmax.x.type))
    if not _is_worthwhile(shape):
        return None
    if _stacked(op.lhs) != (product(shape[:2]), *shape[2:]):
        return None
    for scores in _products_behind(softmax.x, shape):
        factor = _factor_of(scores, element)
        if scores is op or factor is None:
            continue
        plan = plan_score(scores, softmax, shape)
        if plan is not None:
            return Match(op, scores, softmax, shape, plan, element, factor)
    return None


def _element_of(last: ir.OpView) -> str:
    """The elements that the product of weights and values is for."""
    own = str(last.lhs.type.element_type)
    found = half_behind(last.rhs) if own == "f32" else None
    if found is None or found[1] != 1.0:
        return own
    return found[0] if is_narrowed_to(last.results[0], found[0]) else own


def _factor_of(scores: ir.OpView, element: str) -> float | None:
    """What scores of such elements have to be multiplied by; None for other scores."""
    if not _is_narrow(scores.lhs):
        return None
    own = str(scores.lhs.type.element_type)
    if own == element:
        return 1.0
    found = [half_behind(value) for value in (scores.lhs, scores.rhs)]
    if own != "f32" or None in found or any(half[0] != element for half in found):
        return None
    return found[0][1] * found[1][1]


def _is_worthwhile(shape: tuple[Size, ...]) -> bool:
    """Whether scores of this shape are for a kernel; those of symbolic sizes are."""
    if any(isinstance(size, int) and size == 0 for size in shape):
        return False
    if any(isinstance(size, Dim) for size in shape):
        return True
    batch, heads, rows, columns = shape
    programs = batch * heads * -(-rows // _QUERIES)
    return programs >= _FEWEST_PROGRAMS or columns <= _FEW_KEYS


def _stacked(matrices: ir.Value) -> tuple[Size, ...]:
    """The shape of a stack of matrices, also of one alone."""
    shape = ty.shape_of(matrices.type)
    return shape if len(shape) == 3 else (1, *shape)


def _is_narrow(matrices: ir.Value) -> bool:
    width = ty.shape_of(matrices.type)[-1]
    return not isinstance(width, Dim) and 1 <= width <= WIDEST_HEAD


def _softmax_of(weights: ir.Value) -> ir.OpView | None:
    """The softmax along the last dim behind casts and reshapes, if it has one use."""
    while has_one_use(weights) and not isinstance(weights, ir.BlockArgument):
        op = weights.owner.opview
        name = op.operation.name
        if name == "graph.softmax":
            rank = len(ty.shape_of(op.x.type))
            return op if rank >= 2 and op.dim == rank - 1 else None
        before = _before_two_turns(op)
        if before is not None:
            weights = before
            continue
        is_cast = name == "graph.cast" and ty.is_float(op.x.type.element_type)
        if not is_cast and not keeps_order(op):
            return None
        weights = op.operands[0]
    return None


def _before_two_turns(op: ir.OpView) -> ir.Value | None:
    """What was permuted, if ``op`` permutes it back."""
    if op.operation.name != "graph.permute" or isinstance(op.x, ir.BlockArgument):
        return None
    first = op.x.owner.opview
    if first.operation.name != "graph.permute" or not has_one_use(op.x):
        return None
    both = [first.permutation[dim] for dim in op.permutation]
    return first.x if moves_nothing(ty.shape_of(first.x.type), both) else None


def _score_shape(shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """As [b, h, s, t]."""
    *outer, rows, columns = shape
    batch, *heads = outer if len(outer) > 1 else [1, *outer]
    return (batch, product(heads), rows, columns)


def _products_behind(value: ir.Value, shape: tuple[Size, ...]) -> Iterator[ir.OpView]:
    """The products that elementwise ops make a value of, of this shape as scores."""
    seen, pending = set(), [value]
    while pending:
        current = pending.pop()
        if current in seen or isinstance(current, ir.BlockArgument):
            continue
        seen.add(current)
        op = current.owner.opview
        if is_plain_product(op):
            if _stacked(current) == (product(shape[:2]), *shape[2:]):
                yield op
        elif is_passed(op):
            pending.extend(reversed(list(op.operands)))
