"""The score function: the ops between scores and softmax, as a region."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, has, rule_name
from girih.dialects.dims import Size, product
from girih.dialects.graph.flash_attention import score_shape
from girih.dialects.traits import CREATES, ELEMENTWISE, RANDOM, VIEW
from girih.passes.canonicalize_graph import simplify
from girih.passes.decompose import RULES as DECOMPOSITIONS
from girih.passes.graph_builder import GraphBuilder
from girih.passes.recognize_attention.attention import Match, ScorePlan

# A score function with more ops, or more operands, is better computed once.
MOST_OPS = 64
MOST_OPERANDS = 8
_TRIANGLES = frozenset({"graph.tril", "graph.triu"})
_ELEMENTS = frozenset({"bf16", "f16", "f32", "i1", "i32", "i64"})


def keeps_order(op: ir.OpView) -> bool:
    """Whether an op is a view with the elements of its operand in the same order.

    Products are written with dims of size 1 that are moved about.
    """
    if op.operation.name == "graph.reshape":
        return True
    is_permute = op.operation.name == "graph.permute"
    return is_permute and moves_nothing(ty.shape_of(op.x.type), op.permutation)


def moves_nothing(shape: Sequence[Size], permutation: Sequence[int]) -> bool:
    """Whether a permutation leaves all dims in order that are not of size 1."""
    dims = [dim for dim in permutation if shape[dim] != 1]
    return dims == sorted(dims)


def is_passed(op: ir.OpView) -> bool:
    """Whether a score function may apply this op to scores."""
    return keeps_order(op) or (has(op, ELEMENTWISE) and not has(op, RANDOM))


def _is_computed_in_place(op: ir.OpView) -> bool:
    is_triangle = op.operation.name in _TRIANGLES
    return is_triangle or (has(op, ELEMENTWISE) and not has(op, RANDOM))


def plan_score(
    scores: ir.OpView, softmax: ir.OpView, shape: tuple[Size, ...]
) -> ScorePlan | None:
    """The region between scores and softmax; None where it can't be one."""
    reader = _Reader(scores.results[0], shape)
    inside = reader.depends(softmax.x)
    if not inside or not reader.is_closed(softmax):
        return None
    ops, operands = reader.collect()
    is_small = len(ops) <= MOST_OPS and len(operands) <= MOST_OPERANDS
    values = [*operands, *(result for op in ops for result in op.results)]
    known = all(str(v.type.element_type) in _ELEMENTS for v in values)
    return ScorePlan(tuple(ops), tuple(operands)) if is_small and known else None


class _Reader:
    """Sorts the values behind a softmax: of the scores, computed in place, read."""

    def __init__(self, scores: ir.Value, shape: tuple[Size, ...]):
        self._scores = scores
        self._shape = shape
        self._depends: dict[ir.Value, bool] = {scores: True}
        self._computed: dict[ir.Value, bool] = {}

    def depends(self, value: ir.Value) -> bool:
        """Whether ops that a score function may have make a value of the scores."""
        return _answered(value, self._depends, self._ask_dependence)

    def _ask_dependence(self, value: ir.Value) -> tuple[list[ir.Value], Callable]:
        if isinstance(value, ir.BlockArgument) or not is_passed(value.owner.opview):
            return [], lambda answers: False
        return list(value.owner.operands), any

    def is_closed(self, softmax: ir.OpView) -> bool:
        """Whether nobody else reads scores, and each value is as large as they are."""
        own = [value for value, depends in self._depends.items() if depends]
        inside = {v.owner.operation for v in own if v != self._scores}
        inside.add(softmax.operation)
        return all(
            self._is_like_scores(value)
            and all(use.owner.operation in inside for use in value.uses)
            for value in own
        )

    def _is_like_scores(self, value: ir.Value) -> bool:
        return product(ty.shape_of(value.type)) == product(self._shape)

    def collect(self) -> tuple[list[ir.OpView], list[ir.Value]]:
        """The ops of the region, in order, and what it reads."""
        own = [value for value, depends in self._depends.items() if depends]
        taken = {value.owner.operation for value in own if value != self._scores}
        operands: dict[ir.Value, None] = {}
        pending = [operand for op in taken for operand in op.operands]
        seen = set()
        while pending:
            value = pending.pop()
            if value in seen or self._depends.get(value):
                continue
            seen.add(value)
            if self._is_computed(value):
                taken.add(value.owner.operation)
                pending.extend(value.owner.operands)
            else:
                operands[value] = None
        block = self._scores.owner.operation.block
        return [op for op in block.operations if op.operation in taken], list(operands)

    def _is_computed(self, value: ir.Value) -> bool:
        """Whether the region computes a value that does not depend on scores.

        It does where all comes from constants and numbers of positions, and where that
        reads less: no tensor of positions by positions, or one instead of another.
        """
        return _answered(value, self._computed, self._ask_computed)

    def _ask_computed(self, value: ir.Value) -> tuple[list[ir.Value], Callable]:
        if isinstance(value, ir.BlockArgument) or value.owner.name not in OPS:
            return [], lambda answers: False
        op = value.owner.opview
        operands = list(op.operands)
        if has(op, CREATES):
            return [], lambda answers: True
        if has(op, VIEW):
            return operands, all
        if not _is_computed_in_place(op):
            return [], lambda answers: False
        is_wide = _is_wide(value)

        def decide(answers: list[bool]) -> bool:
            read = [v for v, own in zip(operands, answers, strict=True) if not own]
            wide = [v for v in read if _is_wide(v)]
            if len(wide) == 1:
                return is_wide and _bytes(wide[0]) <= _bytes(value)
            return not read or (is_wide and not wide)

        return operands, decide


def _answered(value: ir.Value, known: dict, ask: Callable) -> bool:
    """A question about a value, answered from the answers for its operands."""
    pending = [value]
    while pending:
        current = pending[-1]
        if current in known:
            pending.pop()
            continue
        operands, decide = ask(current)
        missing = [operand for operand in operands if operand not in known]
        if missing:
            pending.extend(missing)
        else:
            known[current] = decide([known[operand] for operand in operands])
    return known[value]


def _bytes(value: ir.Value) -> int:
    """Bytes of an element."""
    return ty.byte_width(value.type.element_type)


def _is_wide(value: ir.Value) -> bool:
    """Whether a tensor has a value for each pair of positions."""
    shape = ty.shape_of(value.type)
    return len(shape) >= 2 and shape[-1] != 1 and shape[-2] != 1


def fill_score(op: ir.OpView, match: Match) -> None:
    """Makes the region of a ``flash_attention`` from what was matched."""
    plan, scores = match.score, match.scores.results[0]
    shape = score_shape(op.query.type, op.key.type)
    own = ty.tensor_type(shape, op.query.type.element_type)
    types = [own, *(value.type for value in plan.operands)]
    locations = [op.location] * len(types)
    block = op.operation.regions[0].blocks.append(*types, arg_locs=locations)
    values = dict(zip(plan.operands, list(block.arguments)[1:], strict=True))
    end = ir.InsertionPoint(block)
    values[scores] = _as_scores(block.arguments[0], match, op, end)
    for inner in plan.ops:
        copy = inner.operation.clone(ip=end).operation
        for index, operand in enumerate(inner.operands):
            copy.operands[index] = values[operand]
        values.update(zip(inner.results, copy.results, strict=True))
    result = _reshaped(values[match.softmax.x], shape, op, end)
    ir.Operation.create("graph.yield", operands=[result], loc=op.location, ip=end)
    _decompose_triangles(block)
    simplify(block)


def _as_scores(
    x: ir.Value, match: Match, op: ir.OpView, ip: ir.InsertionPoint
) -> ir.Value:
    """The region's scores as those of the program: of its type, with its factor."""
    wanted = match.scores.results[0].type
    shape, element = ty.shape_of(x.type), wanted.element_type
    if x.type.element_type != element:
        type_ = ty.tensor_type(shape, element)
        cast = OPS["graph.cast"]
        x = cast.build([x], results=[type_], loc=op.location, ip=ip).results[0]
    if match.factor != 1.0:
        number, scalar = OPS["graph.constant"], ty.tensor_type((), element)
        factor = number.build(
            [], {"value": match.factor}, results=[scalar], loc=op.location, ip=ip
        )
        operands = [x, factor.results[0]]
        x = OPS["graph.mul"].build(operands, loc=op.location, ip=ip).results[0]
    return _reshaped(x, ty.shape_of(wanted), op, ip)


def _reshaped(
    x: ir.Value, shape: tuple[Size, ...], op: ir.OpView, ip: ir.InsertionPoint
) -> ir.Value:
    if ty.shape_of(x.type) == shape:
        return x
    type_ = ty.tensor_type(shape, x.type.element_type)
    cls = OPS["graph.reshape"]
    return cls.build([x], results=[type_], loc=op.location, ip=ip).results[0]


def _decompose_triangles(block: ir.Block) -> None:
    for op in list(block.operations):
        if op.operation.name in _TRIANGLES:
            name = rule_name(op)
            (value,) = DECOMPOSITIONS[name](op, GraphBuilder(op))
            op.results[0].replace_all_uses_with(value)
            op.operation.erase()
