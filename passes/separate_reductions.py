"""``separate-reductions``: sums over other dims compute themselves what they sum.

The gradients of a normalisation sum one product along rows, for x, and along columns,
for the weight. One kernel reduces one set of dims, so the product, or what it is made
of, would be computed by one of the two kernels and stored for the other. Here the sums
that nothing large depends on, unless through other sums, get copies of the arithmetic
before them, where reading its operands again costs no more than storing and reading its
results.

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

from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has_any, rule_name
from girih.dialects.dims import Size, product
from girih.dialects.traits import ASSEMBLES, GATHERS, Cost
from girih.passes.choices import ChoiceOptions, Choices, place_text
from girih.passes.fuse.program import Kind
from girih.passes.fuse.reader import primitive_kind
from girih.passes.graph_builder import function_bodies
from girih.passes.registry import register_pass

# Pointwise for ``fuse``, but more than arithmetic on the elements of one place.
_GATHERING = (ASSEMBLES, GATHERS)


@dataclass(frozen=True)
class SeparateOptions(ChoiceOptions):
    """What a copy may cost."""

    max_ops: int = 32
    """Most ops that the pass copies for one sum."""

    max_expensive_ops: int = 2
    """Most divisions, exponentials and the like among these ops."""


@register_pass("separate-reductions", options=SeparateOptions)
def run(op: ir.Operation, options: SeparateOptions) -> None:
    """Copies the arithmetic before a sum, so that no other kernel need store it."""
    choices = Choices(options)
    for block in function_bodies(op):
        program = _Program(list(block.operations))
        for family in program.closing_families():
            _separate(program, family, options, choices)


def _name(op: ir.OpView) -> str:
    return rule_name(op)


def _kind(op: ir.OpView) -> Kind | None:
    return primitive_kind(_name(op)) if "graph." in op.operation.name else None


def _is_arithmetic(op: ir.OpView) -> bool:
    return _kind(op) in (Kind.POINTWISE, Kind.VIEW) and not has_any(op, *_GATHERING)


def _elements(value: ir.Value) -> Size:
    return product(ty.shape_of(value.type))


def _users(value: ir.Value) -> list[ir.OpView]:
    return [use.owner.opview for use in value.uses]


def _dims_of(op: ir.OpView) -> tuple:
    dims = op.dims if hasattr(op, "dims") else (op.dim,)
    return ty.shape_of(op.operands[0].type), tuple(dims)


class _Program:
    """The ops of a block, and what depends on reductions."""

    def __init__(self, ops: list[ir.OpView]):
        self._place = {op.operation: place for place, op in enumerate(ops)}
        self._producers = {value: op for op in ops for value in op.results}
        self._reductions = [op for op in ops if _kind(op) is Kind.REDUCTION]
        self._inner = {op.operation for op in self._reductions if _is_inner(op)}
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

    def closing_families(self) -> list[list[ir.OpView]]:
        """Reductions that nothing large depends on, those of the same dims together."""
        families: dict[tuple, list[ir.OpView]] = {}
        for op in self._reductions:
            if op.operation not in self._inner:
                families.setdefault(_dims_of(op), []).append(op)
        return list(families.values())

    def arithmetic_before(self, reduction: ir.OpView) -> list[ir.OpView]:
        """The ops that compute what it reduces from what is stored, in order."""
        found: dict[ir.Operation, ir.OpView] = {}
        pending = [reduction.operands[0]]
        while pending:
            op = self._producers.get(pending.pop())
            if op is None or op.operation in found or not self._is_open(op):
                continue
            found[op.operation] = op
            pending.extend(op.operands)
        return sorted(found.values(), key=lambda op: self._place[op.operation])

    def _is_open(self, op: ir.OpView) -> bool:
        if not _is_arithmetic(op):
            return False
        (result,) = op.results
        return result not in self._after and not _is_stored(result)

    def has_rival(self, reduction: ir.OpView, shared: list[ir.OpView]) -> bool:
        """Whether another kernel reads them: one of other dims, or one that is later.

        That is where a reduction of other dims, which something large needs, reads
        them, or something that depends on this reduction through another one.

        Args:
            reduction: What they are shared with.
            shared: Ops that compute something of the size of its operand.
        """
        dims, elements = _dims_of(reduction), _elements(reduction.operands[0])
        later = _depending_on(reduction)
        pending = [value for op in shared for value in op.results]
        seen: set[ir.Operation] = set()
        while pending:
            for user in _users(pending.pop()):
                if user.operation in self._inner:
                    if _dims_of(user) != dims:
                        return True
                elif user.operation in later:
                    return True
                elif user.operation not in seen and _is_arithmetic(user):
                    seen.add(user.operation)
                    pending += [v for v in user.results if _elements(v) == elements]
        return False


def _is_inner(reduction: ir.OpView) -> bool:
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


def _depending_on(reduction: ir.OpView) -> set[ir.Operation]:
    """The arithmetic as large as its operand that depends on a reduction."""
    elements = _elements(reduction.operands[0])
    pending, seen = list(reduction.results), set()
    large: set[ir.Operation] = set()
    while pending:
        for user in _users(pending.pop()):
            is_known = user.operation in seen
            if is_known or not (_is_arithmetic(user) or _kind(user) is Kind.REDUCTION):
                continue
            seen.add(user.operation)
            if _is_arithmetic(user) and _elements(user.results[0]) == elements:
                large.add(user.operation)
            else:
                pending.extend(user.results)
    return large


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
    program: _Program,
    family: list[ir.OpView],
    options: SeparateOptions,
    choices: Choices,
) -> None:
    """Looks at reductions of the same dims, which may share their copies."""
    before = [program.arithmetic_before(op) for op in family]
    members = {op.operation for ops in (family, *before) for op in ops}
    copies: dict[ir.Value, ir.Value] = {}
    for reduction, own in zip(family, before, strict=True):
        cost = _Cost.of(reduction, own, members)
        is_gain = cost.is_at_most(options) and program.has_rival(reduction, cost.shared)
        if is_gain and choices.takes(lambda op=reduction: _decision(op)):
            _copy(reduction, own, copies)


def _decision(op: ir.OpView) -> str:
    return f"separate-reductions: copies for {_name(op)}{place_text(op.location)}"


@dataclass(frozen=True)
class _Cost:
    """What it takes to compute again what would be stored.

    Attributes:
        shared: Ops whose large results others read too.
        twice: The ops that these take.
        sources: Large values that they read and others would not.
    """

    shared: list[ir.OpView]
    twice: list[ir.OpView]
    sources: set[ir.Value]

    @classmethod
    def of(
        cls, reduction: ir.OpView, own: list[ir.OpView], members: set[ir.Operation]
    ) -> "_Cost":
        """Args: the arithmetic before a reduction; what is of reductions like it."""
        elements = _elements(reduction.operands[0])

        def is_large(value: ir.Value) -> bool:
            return _elements(value) == elements

        def is_read_elsewhere(value: ir.Value) -> bool:
            return any(user.operation not in members for user in _users(value))

        results = {op.results[0]: op for op in own}
        shared = [
            op for v, op in results.items() if is_large(v) and is_read_elsewhere(v)
        ]
        twice = _leading_to(shared, own)
        read = {value for op in twice for value in op.operands}
        sources = {v for v in read if v not in results and is_large(v)}
        return cls(shared, twice, {v for v in sources if not is_read_elsewhere(v)})

    def is_at_most(self, options: SeparateOptions) -> bool:
        """Whether that is cheaper than to store and read it."""
        computed = [op for op in self.twice if _kind(op) is Kind.POINTWISE]
        expensive = [op for op in computed if op.COST is not Cost.CHEAP]
        return (
            len(computed) <= options.max_ops
            and len(expensive) <= options.max_expensive_ops
            and len(self.sources) <= 2 * len(self.shared)
        )


def _leading_to(ops: list[ir.OpView], among: list[ir.OpView]) -> list[ir.OpView]:
    """Those of ``among``, in order, that some of ``ops`` need, and these."""
    needed = {value for op in ops for value in op.results}
    found = []
    for op in reversed(among):
        if any(value in needed for value in op.results):
            found.append(op)
            needed.update(op.operands)
    return found


def _copy(
    reduction: ir.OpView, own: list[ir.OpView], copies: dict[ir.Value, ir.Value]
) -> None:
    """Gives a reduction copies; what nobody else reads of the originals is dead."""
    for op in own:
        if op.results[0] in copies:
            continue
        copy = op.operation.clone(ip=ir.InsertionPoint.after(op))
        for place, value in enumerate(copy.operands):
            copy.operands[place] = copies.get(value, value)
        copies[op.results[0]] = copy.results[0]
    (source,) = reduction.operands
    reduction.operation.operands[0] = copies.get(source, source)
