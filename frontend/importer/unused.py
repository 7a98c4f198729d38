"""Operations of whose results not all is used, and whose data eager would look at.

Eager raises where an index is out of range or an integer is divided by zero, whether or
not anything is made of the result. A kernel computes only the elements that something
is made of: a slice of ``x[i]`` would look at some of the indices. So a result that is
not needed in full is one of the function, too, which the caller does not see.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import Role, role_of
from girih.frontend.importer.ranges import is_within

_LOOKUPS = frozenset(
    f"graph.{name}" for name in ("embedding", "gather", "index", "take")
)
_INDEXING = _LOOKUPS | frozenset(
    f"graph.{name}"
    for name in ("index_put", "scatter", "scatter_add", "scatter_reduce")
)
_OF_INTEGERS = frozenset(
    f"graph.{name}"
    for name in ("floor_divide", "fmod", "pow", "remainder", "trunc_divide")
)
# Parts of the names of ATen's operations that look at their data, and may raise.
_OF_ATEN = (
    *("index", "scatter", "unpool", "_loss", "segment_", "searchsorted"),
    *("repeat_interleave", "embedding_bag", "cross_entropy"),
)


def unused_checks(block: ir.Block, used: Iterable[ir.Value]) -> Iterator[ir.Value]:
    """Results of operations that may raise, of which not all is needed.

    Args:
        block: Of the function, without its end.
        used: What the function returns.
    """
    operations = list(block.operations)
    needed = _Needed(used, operations)
    for op in reversed(operations):
        if not needed.in_full(op) and _may_raise(op.operation):
            yield op.results[0]
            needed.full.update(op.results)
        needed.add_operands_of(op)


class _Needed:
    """What the function's results are made of, followed from the end.

    Attributes:
        full: Values of which each element is needed.
        parts: Values of which some are.
    """

    def __init__(self, used: Iterable[ir.Value], operations: list):
        self.full = set(used)
        self.parts: set[ir.Value] = set()
        self._slices: dict[ir.Value, list] = defaultdict(list)
        # Passes may find the elements of these out.
        self._constants: set[ir.Value] = set()
        for op in operations:
            if self._constants.issuperset(op.operands):
                self._constants.update(op.results)

    def in_full(self, op) -> bool:
        """Whether all elements that an op computes are needed, of one result at least.

        The users of the op have been added.
        """
        return any(
            result in self.full or _cover(result, self._slices.get(result, ()))
            for result in op.results
        )

    def add_operands_of(self, op) -> None:
        """What is needed for an op, if it is needed itself."""
        is_full = self.in_full(op)
        has_effects = "effects" in op.operation.attributes
        if not (is_full or has_effects or not self.parts.isdisjoint(op.results)):
            return
        self.parts.update(op.operands)
        if has_effects or _runs_as_one(op):
            self.full.update(op.operands)
        elif is_full:
            self._add_elements(op)

    def _add_elements(self, op) -> None:
        """What all elements of an op are computed from."""
        name, operands = op.operation.name, list(op.operands)
        if name == "graph.slice":
            self._slices[operands[0]].append(op)
        elif name in _LOOKUPS:
            self.full.update(operands[1:])
        elif name == "graph.where" and operands[0] in self._constants:
            pass  # one side alone may be left of it
        elif name != "graph.window" and not all(map(_is_empty, op.results)):
            self.full.update(operands)


def _runs_as_one(op) -> bool:
    """Whether an op is a call of a library, which computes all elements or none."""
    return op.operation.name == "graph.extern" or role_of(op) is Role.LIBRARY


def _is_empty(value: ir.Value) -> bool:
    is_tensor = isinstance(value.type, ir.RankedTensorType)
    return is_tensor and 0 in ty.shape_of(value.type)


def _cover(value: ir.Value, slices: Iterable) -> bool:
    """Whether slices along one dim are side by side and leave nothing out."""
    if not slices:
        return False
    shape = ty.shape_of(value.type)
    found = {}
    for op in slices:
        sizes = ty.shape_of(op.results[0].type)
        cut = [n for n, size in enumerate(shape) if sizes[n] != size]
        if any(step != 1 for step in op.steps) or len(cut) > 1:
            return False
        dim = cut[0] if cut else 0
        found.setdefault(dim, {})[op.starts[dim]] = sizes[dim]
    return any(_reaches(ends, shape[dim]) for dim, ends in found.items())


def _reaches(sizes: dict, end) -> bool:
    """Whether parts, of sizes by where they start, lead from 0 to the end."""
    place = 0
    while place != end:
        size = sizes.pop(place, 0)
        if size == 0:
            return False
        place = place + size
    return True


def _may_raise(op: ir.Operation) -> bool:
    if op.name == "graph.extern":
        name = op.attributes["op"].value
        return "effects" not in op.attributes and any(p in name for p in _OF_ATEN)
    if op.name in _OF_INTEGERS:
        return not ty.is_float(op.results[0].type.element_type)
    return op.name in _INDEXING and not _indices_are_known(op.opview)


def _indices_are_known(op) -> bool:
    """Whether no index of a look-up can be out of range."""
    if op.operation.name not in ("graph.index", "graph.take"):
        return False
    is_take = op.operation.name == "graph.take"
    dims, sizes = [op.dim] if is_take else op.dims, ty.shape_of(op.x.type)
    below = 0 if is_take and op.from_end is None else -1
    return all(
        isinstance(sizes[dim], int) and is_within(index, below * sizes[dim], sizes[dim])
        for dim, index in zip(dims, list(op.operands)[1:], strict=True)
    )
