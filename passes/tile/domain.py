"""The iteration domain of a kernel: refined until views vanish, then made compact.

``analyze`` reads the kernel as formulas over coordinates. Where a view leaves a
quotient of a coordinate, that coordinate is split in two and the kernel is read
again; then the coordinates are put in the order of the output's memory, and
neighbours that every access walks through in one stride are merged, so that a
contiguous pointwise kernel of any rank has one coordinate.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from girih.dialects.definition import has
from girih.dialects.traits import ACCUMULATES
from girih.passes.tile.access.evaluator import (
    Evaluator,
    broadcast,
    domain_coordinates,
    has_access_rule,
    offset_in,
)
from girih.passes.tile.elements import I64
from girih.passes.tile.index import (
    Affine,
    Coordinate,
    Dynamic,
    Quotient,
    Remainder,
    affine,
    coordinates_of,
    dynamic_nodes,
    leftover_divisions,
    of,
    quotient,
    remainder,
)
from girih.passes.tile.kernel import KernelSource, WriteRecord
from girih.passes.tile.nodes import (
    CheckedIndexNode,
    Node,
    NodeTable,
    ScanNode,
    index_of,
    sources_of,
)
from girih.passes.tile.sizes import Size, exact_quotient, is_constant, known, product

# More rounds of splitting than this are not worth their analysis time; what is left
# is computed with divisions.
MAX_REFINEMENTS = 6
# Stands for a symbolic size where sizes are compared to order loops.
GUESSED_SIZE = 512


@dataclass(frozen=True, slots=True)
class Store:
    """One output: the value, and where it goes.

    What ``accumulates`` is added to what lies there, once for each point of the domain.
    """

    buffer: int
    offset: Affine
    node: Node
    location: object
    accumulates: bool = False

    @property
    def coordinates(self) -> frozenset[Coordinate]:
        """What the stored value or its place depends on."""
        return self.node.coordinates | coordinates_of(self.offset)


@dataclass(frozen=True, slots=True)
class Formula:
    """A kernel as stores of nodes over coordinates.

    Attributes:
        parallel: the coordinates of independent points, outermost first.
        reduced: the coordinates that reductions run over, outermost first.
        closing: those that closing reductions run over.
    """

    parallel: tuple[Coordinate, ...]
    reduced: tuple[Coordinate, ...]
    closing: tuple[Coordinate, ...]
    stores: tuple[Store, ...]
    table: NodeTable

    @property
    def coordinates(self) -> "Coordinates":
        """All coordinates: parallel, reduced and closing ones."""
        return (self.parallel, self.reduced, self.closing)


Coordinates = tuple[
    tuple[Coordinate, ...], tuple[Coordinate, ...], tuple[Coordinate, ...]
]


def analyze(source: KernelSource) -> Formula:
    """Reads a kernel as formulas over a refined and compact domain."""
    return collapse(reorder(refine(source)))


def refine(source: KernelSource) -> Formula:
    """Splits coordinates until no view leaves an avoidable division."""
    parts = {
        dim: [] if is_constant(size, 1) else [Coordinate((dim, 0), size)]
        for dim, size in enumerate(source.domain)
    }
    formula = _evaluate(source, parts)
    for _ in range(MAX_REFINEMENTS):
        if not _split_leftovers(parts, formula):
            break
        formula = _evaluate(source, parts)
    return formula


def _evaluate(source: KernelSource, parts: dict[int, list[Coordinate]]) -> Formula:
    reduced = tuple(c for dim in sorted(source.reduced) for c in parts[dim])
    closing = tuple(c for dim in sorted(source.closing) for c in parts[dim])
    table = NodeTable(frozenset(reduced), frozenset(closing))
    domain = domain_coordinates(parts)
    evaluator = Evaluator(source, domain, table)
    # In program order, so that long chains need no deep recursion.
    for tensor, record in source.records.items():
        plain = not (
            record.name == "tile.read"
            or has_access_rule(record.name)
            or has(record.name, ACCUMULATES)
        )
        if plain and _spans(record.shape, source.domain):
            evaluator.value(tensor, broadcast(domain, record.shape))
    stores = []
    for write in source.writes:
        if has(source.records[write.tensor].name, ACCUMULATES):
            stores.append(_accumulated(evaluator, write))
            continue
        at = broadcast(domain, source.records[write.tensor].shape)
        offset = offset_in(source.buffers[write.buffer].strides, at)
        node = evaluator.value(write.tensor, at)
        stores.append(Store(write.buffer, offset, node, write.location))
    others = source.reduced | source.closing
    parallel = tuple(
        c for dim in range(len(parts)) if dim not in others for c in parts[dim]
    )
    return Formula(parallel, reduced, closing, tuple(stores), table)


def _accumulated(evaluator: Evaluator, write: WriteRecord) -> Store:
    """The store of an op that adds to elements of what its buffer holds."""
    record = evaluator.source.records[write.tensor]
    _, place, source = record.operands
    at = broadcast(evaluator.domain, evaluator.shape(source))
    elements = product(record.shape)
    offset = index_of(evaluator.value(place, at))
    if offset is None:
        check = CheckedIndexNode(I64, (evaluator.value(place, at),), size=elements)
        offset = of(Dynamic(evaluator.add(check, record), elements))
    node = evaluator.value(source, at)
    return Store(write.buffer, offset, node, write.location, accumulates=True)


def _spans(shape: tuple[Size, ...], domain: tuple[Size, ...]) -> bool:
    """Tells whether a tensor of this shape has a value at each point of the domain."""
    if len(shape) > len(domain):
        return False
    aligned = domain[len(domain) - len(shape) :]
    return all(
        is_constant(size, 1) or size == outer
        for size, outer in zip(shape, aligned, strict=True)
    )


def _split_leftovers(parts: dict[int, list[Coordinate]], formula: Formula) -> bool:
    """Splits one coordinate per dim where a division is left; False if none is."""
    changed = False
    for coordinate, divisor in _divisions(formula):
        dim = coordinate.key[0]
        outer = exact_quotient(coordinate.size, divisor)
        if coordinate not in parts[dim] or outer is None:
            continue
        place = parts[dim].index(coordinate)
        halves = [outer, divisor]
        sizes = [c.size for c in parts[dim]]
        sizes[place : place + 1] = halves
        parts[dim] = [Coordinate((dim, k), size) for k, size in enumerate(sizes)]
        changed = True
    return changed


def _divisions(formula: Formula) -> list[tuple[Coordinate, Size]]:
    found = {}
    for index in all_indices(formula):
        for request in leftover_divisions(index):
            found[request] = None
    return list(found)


def reachable(stores: Iterable[Store]) -> list[Node]:
    """The nodes that the stores need, operands first."""
    seen: dict[int, Node] = {}
    pending = []
    for store in stores:
        pending.append(store.node)
        pending += dynamic_nodes(store.offset)
    while pending:
        node = pending.pop()
        if node.number not in seen:
            seen[node.number] = node
            pending += sources_of(node)
    return [seen[number] for number in sorted(seen)]


def all_indices(formula: Formula) -> list[Affine]:
    """Every index expression of the formula, without repetition."""
    found = {store.offset: None for store in formula.stores}
    for node in reachable(formula.stores):
        for index in node.indices():
            found[index] = None
    return list(found)


def reorder(formula: Formula) -> Formula:
    """Orders the loops as memory is laid out: outputs first, then inputs.

    Where all outputs are updates, indices that are computed say nothing.
    """
    indices = [store.offset for store in formula.stores if not store.accumulates]
    indices.sort(key=lambda index: -len(index.terms))
    is_known = bool(indices)
    for index in all_indices(formula):
        if len(index.terms) > 1 and (is_known or not dynamic_nodes(index)):
            indices.append(index)
    parallel, reduced, closing = (
        _by_stride(group, indices) for group in formula.coordinates
    )
    if any(isinstance(node, ScanNode) for node in formula.table.nodes):
        reduced = formula.reduced
    return Formula(parallel, reduced, closing, formula.stores, formula.table)


def _by_stride(
    coordinates: tuple[Coordinate, ...], indices: list[Affine]
) -> tuple[Coordinate, ...]:
    """Sorts by falling stride in the first index that tells two coordinates apart."""

    def strides(coordinate: Coordinate) -> list[int]:
        found = (known(i.coefficient(coordinate), GUESSED_SIZE) for i in indices)
        return [-abs(stride) for stride in found]

    return tuple(sorted(coordinates, key=strides))


def collapse(formula: Formula) -> Formula:
    """Merges neighbouring coordinates that all accesses walk in one stride."""
    indices = all_indices(formula)
    merged: dict[Coordinate, Affine] = {}
    parallel, reduced, closing = (
        _merge_neighbours(group, indices, merged) for group in formula.coordinates
    )
    if not merged:
        return formula
    return substitute(formula, (parallel, reduced, closing), merged)


def _merge_neighbours(
    coordinates: tuple[Coordinate, ...],
    indices: list[Affine],
    merged: dict[Coordinate, Affine],
) -> tuple[Coordinate, ...]:
    """Merges runs of coordinates; notes what each merged one becomes."""
    runs: list[list[Coordinate]] = []
    for coordinate in coordinates:
        if runs and _walk_together(runs[-1][-1], coordinate, indices):
            runs[-1].append(coordinate)
        else:
            runs.append([coordinate])
    result = []
    for run in runs:
        size: Size = 1
        for coordinate in run:
            size = size * coordinate.size
        whole = run[0] if len(run) == 1 else Coordinate((*run[0].key, len(run)), size)
        result.append(whole)
        if len(run) > 1:
            merged.update(dict.fromkeys(run[:-1], affine({})))
            merged[run[-1]] = affine({whole: 1})
    return tuple(result)


def _walk_together(outer: Coordinate, inner: Coordinate, indices: list[Affine]) -> bool:
    for index in indices:
        step = index.coefficient(inner)
        if index.coefficient(outer) != step * inner.size:
            return False
        if _is_nested(index, outer) or _is_nested(index, inner):
            return False
    return True


def _is_nested(index: Affine, coordinate: Coordinate) -> bool:
    """True where the coordinate stands inside a quotient or remainder."""
    return any(
        isinstance(atom, (Quotient, Remainder))
        and coordinate in coordinates_of(atom.value)
        for atom, _ in index.terms
    )


def rebuild(formula: Formula, renew: Callable[[Node, NodeTable], Node]) -> Formula:
    """The kernel with some nodes replaced.

    Args:
        formula: the kernel.
        renew: gives what stands for a node whose operands have been replaced; it may
            add nodes to the table.
    """
    return substitute(formula, formula.coordinates, {}, renew)


def substitute(
    formula: Formula,
    coordinates: Coordinates,
    merged: dict[Coordinate, Affine],
    renew: Callable[[Node, NodeTable], Node] | None = None,
    *,
    rejoin: Callable[[Affine], Affine] | None = None,
    table: NodeTable | None = None,
) -> Formula:
    """Rebuilds the nodes over other coordinates.

    Args:
        formula: the kernel.
        coordinates: the parallel, reduced and closing ones that there are then.
        merged: what each coordinate that is no more becomes.
        renew: as for ``rebuild``.
        rejoin: simplifies index expressions.
        table: takes the nodes, None for a new one.
    """
    _, reduced, closing = coordinates
    table = table or NodeTable(frozenset(reduced), frozenset(closing))
    renewed: dict[int, Node] = {}

    def rewrite(index: Affine) -> Affine:
        replaced = _replace_atoms(index, merged, renewed)
        return rejoin(replaced) if rejoin else replaced

    for node in reachable(formula.stores):
        copy = node.with_indices(rewrite)
        copy.operands = tuple(renewed[o.number] for o in node.operands)
        copy = table.add(copy, node.location)
        renewed[node.number] = renew(copy, table) if renew else copy
    stores = tuple(
        replace(s, offset=rewrite(s.offset), node=renewed[s.node.number])
        for s in formula.stores
    )
    return Formula(*coordinates, stores, table)


def _replace_atoms(
    index: Affine, merged: dict[Coordinate, Affine], renewed: dict[int, Node]
) -> Affine:
    result = affine({}, index.const)
    for atom, coefficient in index.terms:
        match atom:
            case Coordinate():
                new = merged.get(atom) or affine({atom: 1})
            case Dynamic(node, size):
                new = affine({Dynamic(renewed[node.number], size): 1})
            case Quotient(value, divisor):
                new = quotient(_replace_atoms(value, merged, renewed), divisor)
            case Remainder(value, divisor):
                new = remainder(_replace_atoms(value, merged, renewed), divisor)
        result = result + new * coefficient
    return result
