"""``separate-reductions``: sums over other dims compute themselves what they sum.

The gradients of a normalisation sum one product along rows, for x, and along columns,
for the weight. One kernel reduces one set of dims, so the product, or what it is made
of, would be computed by one of the two kernels and stored for the other. Here the sums
that nothing large depends on get copies of the arithmetic before them, where reading
its operands again costs no more than storing and reading its results.

Requires: functions of primitives and library ops (``decompose`` ran).
Establishes: nothing that a later pass relies on; ``fuse`` makes smaller groups of it.

Before::

    %z = "graph.sub"(%x, %mean)
    %w = "graph.reduce_sum"(%z) {dims = array<i64: 0>}
    %r = "graph.reduce_sum"(%z) {dims = array<i64: 1>}
    %y = "graph.sub"(%z, %r)

After::

    %z = "graph.sub"(%x, %mean)
    %c = "graph.sub"(%x, %mean)
    %w = "graph.reduce_sum"(%c) {dims = array<i64: 0>}
    ...

It copies nothing that is stored anyway (a result, an operand of a library op), and
nothing that depends on a reduction itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size, product
from girih.passes.fuse.program import Kind
from girih.passes.fuse.reader import CHEAP_OPS, primitive_kind
from girih.passes.graph_builder import function_bodies
from girih.passes.registry import register_pass

# Pointwise for ``fuse``, but more than arithmetic on the elements of one place.
_GATHERING = frozenset({"concat", "gather", "pad", "take"})


@dataclass(frozen=True)
class SeparateOptions:
    """What a copy may cost."""

    max_ops: int = 32
    """Ops that are computed twice."""

    max_expensive_ops: int = 2
    """Divisions, exponentials and the like among them."""


@register_pass("separate-reductions", options=SeparateOptions)
def run(op: ir.Operation, options: SeparateOptions) -> None:
    """Gives sums over other dims copies of what they sum."""
    for block in function_bodies(op):
        program = _Program(list(block.operations))
        for group in program.closing_groups():
            _separate(program, group, options)


def _kind(op: ir.OpView) -> Kind | None:
    name = op.operation.name
    return primitive_kind(name.removeprefix("graph.")) if "graph." in name else None


def _elements(value: ir.Value) -> Size:
    return product(ty.shape_of(value.type))


def _users(value: ir.Value) -> Iterable[ir.OpView]:
    return [use.owner.opview for use in value.uses]


class _Program:
    """The ops of a block, and what reductions depend on."""

    def __init__(self, ops: list[ir.OpView]):
        self._place = {op.operation: place for place, op in enumerate(ops)}
        self._producers = {value: op for op in ops for value in op.results}
        self.reductions = [op for op in ops if _kind(op) is Kind.REDUCTION]
        self._after: set[ir.Value] = set()
        for op in ops:
            self._note(op)

    def _note(self, op: ir.OpView) -> None:
        """Remembers what depends on a reduction without going through memory."""
        kind = _kind(op)
        follows = kind in (Kind.POINTWISE, Kind.VIEW) and any(
            value in self._after for value in op.operands
        )
        if kind is Kind.REDUCTION or follows:
            self._after.update(op.results)

    def closing_groups(self) -> list[list[ir.OpView]]:
        """Reductions that nothing large depends on, those of the same dims together."""
        groups: dict[tuple, list[ir.OpView]] = {}
        for op in self.reductions:
            if not self._is_inner(op):
                groups.setdefault(_dims_of(op), []).append(op)
        return list(groups.values())

    def rivals(self, group: list[ir.OpView]) -> list[ir.OpView]:
        """Reductions of other dims of as much data, which something large needs."""
        dims, elements = _dims_of(group[0]), _elements(group[0].operands[0])
        return [
            op
            for op in self.reductions
            if _dims_of(op) != dims
            and _elements(op.operands[0]) == elements
            and self._is_inner(op)
        ]

    def _is_inner(self, reduction: ir.OpView) -> bool:
        """Whether something as large as the operand is computed from the result."""
        elements = _elements(reduction.operands[0])
        pending, seen = list(reduction.results), set()
        while pending:
            for user in _users(pending.pop()):
                kind = _kind(user)
                if kind is Kind.POINTWISE and _elements(user.results[0]) == elements:
                    return True
                if kind in (Kind.POINTWISE, Kind.VIEW) and user.operation not in seen:
                    seen.add(user.operation)
                    pending.extend(user.results)
        return False

    def arithmetic_before(self, reductions: Iterable[ir.OpView]) -> list[ir.OpView]:
        """The ops that compute what reductions reduce from what is stored, in order."""
        found: dict[ir.Operation, ir.OpView] = {}
        pending = [op.operands[0] for op in reductions]
        while pending:
            op = self._producers.get(pending.pop())
            if op is None or op.operation in found or not self._is_open(op):
                continue
            found[op.operation] = op
            pending.extend(op.operands)
        return sorted(found.values(), key=lambda op: self._place[op.operation])

    def _is_open(self, op: ir.OpView) -> bool:
        if _kind(op) not in (Kind.POINTWISE, Kind.VIEW) or _name(op) in _GATHERING:
            return False
        (result,) = op.results
        return result not in self._after and not _is_stored(result)


def _dims_of(op: ir.OpView) -> tuple:
    dims = op.dims if hasattr(op, "dims") else (op.dim,)
    return ty.shape_of(op.operands[0].type), tuple(dims)


def _is_stored(value: ir.Value) -> bool:
    """Whether an op that works on memory reads a value, or a view of it."""
    for user in _users(value):
        kind = _kind(user)
        if kind is Kind.VIEW:
            if _is_stored(user.results[0]):
                return True
        elif kind not in (Kind.POINTWISE, Kind.REDUCTION):
            return True
    return False


def _separate(
    program: _Program, group: list[ir.OpView], options: SeparateOptions
) -> None:
    rivals = program.rivals(group)
    own = program.arithmetic_before(group)
    theirs = {op.operation for op in program.arithmetic_before(rivals)}
    if not any(op.operation in theirs for op in own):
        return
    if _is_worth_it(program, group, own, options):
        _copy(group, own)


def _is_worth_it(
    program: _Program,
    group: list[ir.OpView],
    own: list[ir.OpView],
    options: SeparateOptions,
) -> bool:
    members = {op.operation for op in (*own, *group)}
    elements = _elements(group[0].operands[0])

    def is_read_elsewhere(value: ir.Value) -> bool:
        return any(user.operation not in members for user in _users(value))

    shared = [
        op
        for op in own
        if _elements(op.results[0]) == elements and is_read_elsewhere(op.results[0])
    ]
    twice = _leading_to(shared, own)
    computed = {value for op in own for value in op.results}
    sources = {
        value
        for op in twice
        for value in op.operands
        if value not in computed
        and _elements(value) == elements
        and not is_read_elsewhere(value)
    }
    expensive = [op for op in twice if _name(op) not in CHEAP_OPS and not _is_view(op)]
    return (
        len(twice) <= options.max_ops
        and len(expensive) <= options.max_expensive_ops
        and len(sources) <= 2 * len(shared)
    )


def _name(op: ir.OpView) -> str:
    return op.operation.name.removeprefix("graph.")


def _is_view(op: ir.OpView) -> bool:
    return _kind(op) is Kind.VIEW


def _leading_to(ops: list[ir.OpView], among: list[ir.OpView]) -> list[ir.OpView]:
    """Those of ``among``, in order, that some of ``ops`` need, and these."""
    needed = {value for op in ops for value in op.results}
    found = []
    for op in reversed(among):
        if any(value in needed for value in op.results):
            found.append(op)
            needed.update(op.operands)
    return found


def _copy(group: list[ir.OpView], own: list[ir.OpView]) -> None:
    """Gives the reductions copies; what nobody else reads of the originals is dead."""
    copies: dict[ir.Value, ir.Value] = {}
    for op in own:
        copy = op.operation.clone(ip=ir.InsertionPoint.after(op))
        for place, value in enumerate(copy.operands):
            copy.operands[place] = copies.get(value, value)
        copies.update(zip(op.results, copy.results, strict=True))
    for op in group:
        op.operation.operands[0] = copies.get(op.operands[0], op.operands[0])
