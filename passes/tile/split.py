"""Splits reductions with few results over programs.

Each round of reductions becomes two grids: programs that each reduce a part of one
coordinate and leave partial results in a workspace, and one that combines them. The
number of parts depends on sizes only, so results are the same on every run and for
every number of threads. Later rounds load the finished results.
"""

from dataclasses import dataclass, replace

from girih.dialects.definition import has
from girih.dialects.dims import ceildiv, maximum
from girih.dialects.graph.folds import OWN_RESULT, Part
from girih.dialects.traits import FINDS_PLACE
from girih.passes.tile.domain import Store
from girih.passes.tile.elements import I64, Element
from girih.passes.tile.index import Affine, Coordinate, Dynamic, affine, of
from girih.passes.tile.node_functions import NodeFunctions
from girih.passes.tile.nodes import ConstantNode, LoadNode, Node, ReduceNode
from girih.passes.tile.options import TileOptions
from girih.passes.tile.plan import Axis, Grid, Local, Pass
from girih.passes.tile.sizes import Size, known, product
from girih.passes.tile.subject import Subject

# Fewer programs than this leave cores idle.
WANTED_PROGRAMS = 8
# At most so many parts, and so many partial results in all (the workspace is small).
MAX_PARTS = 64
MAX_PARTIALS = 32768
# Stands for a symbolic size where the largest coordinate is looked for.
GUESSED_SIZE = 1 << 20

_PARTS = Coordinate((-1, 0), 0)

Substitutes = dict[int, tuple[Node, Node]]


def should_split(grid: Grid, options: TileOptions) -> bool:
    """True where a grid that reduces has work for more programs than it makes."""
    programs = product(axis.programs for axis in grid.axes)
    if not isinstance(programs, int) or programs >= WANTED_PROGRAMS:
        return False
    if grid.in_registers or not grid.reduced or not _results(grid):
        return False
    return known(grid.work, options.parallel_grain * 4) >= options.parallel_grain * 4


def _results(grid: Grid) -> int | None:
    """The number of results, where it is static and small enough."""
    results = product(c.size for c in parallel_of(grid))
    fits = isinstance(results, int) and results * WANTED_PROGRAMS <= MAX_PARTIALS
    return results if fits else None


def parallel_of(grid: Grid) -> tuple[Coordinate, ...]:
    """The parallel coordinates of a grid, outermost first."""
    bound = [axis.coordinate for axis in grid.axes]
    return (*(c for c in bound if c not in grid.loops), *grid.loops)


def kept_element(node: ReduceNode) -> Element:
    """What parts of a reduction are stored as: extremes are elements of the operand."""
    is_extreme = node.fold.joins.chooses
    return node.element if is_extreme else node.element.computing


@dataclass(slots=True)
class _Workspace:
    """Hands out workspaces and numbers them."""

    next_number: int
    locals: list[Local]

    def take(self, element, elements: int) -> int:
        number = self.next_number
        self.next_number += 1
        self.locals.append(Local(number, element, elements, is_shared=True))
        return number


def split_grid(
    grid: Grid, subject: Subject, locals_: tuple[Local, ...] = ()
) -> tuple[tuple[Grid, ...], tuple[Local, ...]]:
    """Replaces one grid by grids of partial and combined reductions.

    Args:
        grid: The grid.
        subject: The kernel.
        locals_: Buffers of the grid; those are kept that accumulators lie in.
    """
    if grid.columns is None:
        locals_ = ()
    splitter = Splitter(grid, subject, _cut(grid, subject.options))
    splitter.workspace.next_number += len(locals_)
    return splitter.grids(), (*locals_, *splitter.workspace.locals)


@dataclass(frozen=True, slots=True)
class Cut:
    """How a reduction is split.

    Attributes:
        parallel: the coordinates of the results.
        results: how many results there are.
        along: the reduced coordinate that is split.
        chunk: values of it in a part.
        parts_limit: parts that there are at most.
    """

    parallel: tuple[Coordinate, ...]
    results: int
    along: Coordinate
    chunk: Size
    parts_limit: int


def _cut(grid: Grid, options: TileOptions) -> Cut:
    """Splits the longest coordinate, where several are equal the outermost."""
    results: int = _results(grid)
    limit = max(min(MAX_PARTS, MAX_PARTIALS // results), 1)
    sizes = [(known(c.size, GUESSED_SIZE), -k) for k, c in enumerate(grid.reduced)]
    along = grid.reduced[-max(sizes)[1]]
    chunk = _chunk(grid, along, results, (limit, options.parallel_grain))
    return Cut(parallel_of(grid), results, along, chunk, limit)


def _chunk(
    grid: Grid, along: Coordinate, results: int, limits: tuple[int, int]
) -> Size:
    """Values of the split coordinate per part: enough work, not too many parts."""
    most, grain = limits
    others = product(c.size for c in grid.reduced if c != along)
    enough = -(-grain // max(known(others, 1) * results, 1))
    chunk = maximum(enough, ceildiv(along.size, most))
    if isinstance(along.size, int):
        chunk = max(enough, -(-along.size // most))
    unit = 1
    if along == grid.lanes:
        unit = max(walk.width for walk in grid.passes)
    elif grid.columns is not None:
        unit = grid.columns.rows
    return ceildiv(chunk, unit) * unit


class Splitter:
    """Makes grids of partial and combined reductions of one grid.

    Targets differ in how a grid is made over: ``partial_grid``, ``combining_grid``.
    """

    def __init__(self, grid: object, subject: Subject, cut: Cut) -> None:
        self.grid = grid
        self.cut = cut
        self.table = subject.formula.table
        self.source = subject.source
        self.workspace = _Workspace(subject.buffers, [])
        self.parallel = cut.parallel
        self.results = cut.results
        self.part = replace(_PARTS, size=ceildiv(cut.along.size, cut.chunk))
        self.table.reduced = self.table.reduced | {self.part}
        self.known: Substitutes = {}

    def grids(self) -> tuple[Grid, ...]:
        """All grids of the kernel, in order."""
        result = []
        rounds = [walk for walk in self.grid.passes if walk.reductions]
        for walk in self.grid.passes:
            is_last = walk is rounds[-1]
            partials = {r.number: self._partials_of(r) for r in walk.reductions}
            result.append(self.partial_grid(walk, partials))
            if walk.reductions:
                result.append(self.combining_grid(walk, partials, is_last))
        return tuple(result)

    # Partial results ------------------------------------------------------------

    def _partials_of(self, node: ReduceNode) -> list[tuple[ReduceNode, int]]:
        """What is stored of each part of a reduction, and the workspace it goes to."""
        size = self.results * self.cut.parts_limit
        return [
            (n, self.workspace.take(kept_element(n), size))
            for n in self._stored_of(node)
        ]

    def _stored_of(self, node: ReduceNode) -> list[ReduceNode]:
        """What is stored of each part of a reduction."""
        return [
            node if part is OWN_RESULT else self._beside(node, part)
            for part in node.fold.parts
        ]

    def _beside(self, node: ReduceNode, part: Part) -> ReduceNode:
        """What a part leaves beside the reduction's own result."""
        (x,) = node.operands
        if part.is_count:
            operand = self.table.add(ConstantNode(x.element, value=1.0))
        else:
            operand = x
        value = ReduceNode(x.element, (operand,), name=part.join.over)
        return self.table.add(value, node.location)

    def _linear(self) -> Affine:
        """The number of a result among the results."""
        terms, stride = {}, 1
        for coordinate in reversed(self.parallel):
            terms[coordinate] = stride
            stride = stride * coordinate.size
        return affine(terms)

    def _place(self) -> Affine:
        """Where a result's part lies in its workspace."""
        return self._linear() + affine({self.part: self.results})

    def _from(self, node: ReduceNode, place: Affine) -> Affine:
        """Where a node's result is loaded: at 0 of the coordinates it is equal along.

        What is computed of it does not vary along these, either.
        """
        equal = frozenset(self.parallel) - node.coordinates
        return affine({atom: n for atom, n in place.terms if atom not in equal})

    def partial_stores(self, walk: Pass, partials) -> tuple[Pass, tuple[Store, ...]]:
        """The pass over one part, and the stores of its results."""
        stored = [each for own in partials.values() for each in own]
        reductions = {n.number: n for n, _ in stored}
        stores = tuple(
            Store(number, self._place(), node, node.location) for node, number in stored
        )
        walk = replace(walk, reductions=tuple(reductions.values()), keeps=())
        return walk, stores

    def partial_grid(self, walk: Pass, partials) -> Grid:
        """A program for each part."""
        own, stores = self.partial_stores(walk, partials)
        return replace(
            self.grid,
            axes=(Axis(self.cut.along, self.cut.chunk, self.part),),
            loops=self.parallel,
            passes=(own,),
            stores=stores,
            substitutes=tuple(self.known.values()),
        )

    # Combined results -----------------------------------------------------------

    def combine(
        self, walk: Pass, partials, is_last: bool
    ) -> tuple[Pass, tuple[Store, ...], tuple[tuple[Node, Node], ...]]:
        """The pass over the parts' results, what is stored, what stands for what."""
        combined: Substitutes = {}
        for node in walk.reductions:
            combined[node.number] = (node, self._combined(node, partials[node.number]))
        stores = self.grid.stores if is_last else ()
        substitutes = (*self.known.values(), *combined.values())
        finished = [
            self._finished(node, *combined[node.number]) for node in walk.reductions
        ]
        reductions = tuple(other for _, other in combined.values())
        return Pass(reductions, (), (), 0), (*stores, *finished), substitutes

    def combining_grid(self, walk: Pass, partials, is_last: bool) -> Grid:
        """One program that combines the results of the parts."""
        combined, stores, substitutes = self.combine(walk, partials, is_last)
        lanes = self.grid.lanes if self.grid.lanes in self.parallel else self.part
        if self.parallel and lanes == self.part:
            lanes = self.parallel[-1]
        ordered = (*(c for c in self.parallel if c != lanes),)
        return replace(
            self.grid,
            axes=(),
            loops=(*ordered, lanes) if lanes in self.parallel else ordered,
            reduced=(self.part,),
            lanes=lanes,
            passes=(replace(combined, width=self.grid.width),),
            stores=stores,
            substitutes=substitutes,
            work=self.part.size * self.results,
            columns=None,
        )

    def _combined(self, node: ReduceNode, partials) -> Node:
        """The reduction of the parts' results, loaded."""
        loads = [
            self.table.add(
                LoadNode(
                    kept_element(n), buffer=number, offset=self._from(n, self._place())
                )
            )
            for n, number in partials
        ]
        return self._combined_loads(node, loads)

    def _combined_loads(self, node: ReduceNode, loads: list[Node]) -> Node:
        """The reduction of the parts' results."""
        if node.fold.of_parts is not None:
            f = NodeFunctions(self.table)
            return node.fold.of_parts(f, *map(f.value, loads)).value
        position = None
        if has(node.op, FINDS_PLACE):
            position = of(Dynamic(loads[1], 1 << 62))
        result = ReduceNode(
            node.element, (loads[0],), name=node.name, position=position
        )
        return self.table.add(result, node.location)

    def _finished(self, node: ReduceNode, _: Node, combined: Node) -> Store:
        """The store of a finished result; later grids load it from there."""
        element = I64 if has(node.op, FINDS_PLACE) else kept_element(node)
        number = self.workspace.take(element, self.results)
        load = LoadNode(element, buffer=number, offset=self._from(node, self._linear()))
        self.known[node.number] = (node, self.table.add(load, node.location))
        return Store(number, self._linear(), combined, node.location)
