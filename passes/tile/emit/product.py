"""The body of a grid of products: panels of columns, blocks of rows, sums."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from girih.dialects.bindings import ir
from girih.passes.tile.emit import reduction
from girih.passes.tile.emit.ahead import Fetching, fetch_beside
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.emit.frame import Frame
from girih.passes.tile.emit.program import Body, Program
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import LoadNode, Node
from girih.passes.tile.plan import Pass
from girih.passes.tile.product import Panel, ProductGrid

SUM_STEPS = 128
"""Additions to one accumulator, before it begins afresh."""
SHORT = 4
"""Lanes of vectors of 128 bits, such as those of x86-64-v2, which has no FMA."""


@dataclass(slots=True)
class _Vector:
    """A vector of a panel.

    Attributes:
        start: the column of lane 0.
        mask: the lanes that are columns; None where all are.
        known: values that were computed for these columns, in the block at hand.
    """

    start: ir.Value
    mask: ir.Value | None
    known: dict[object, ir.Value] = field(default_factory=dict)


class ProductProgram(Program):
    """Emits a grid of products."""

    grid: ProductGrid

    def _passes(self) -> None:
        """Everything for a program's rows and columns."""
        grid = self.grid
        size, panel = grid.lanes.size, grid.vectors * grid.width
        low, high = self._range(grid.lanes)
        if grid.is_masked:
            self._steps((low, high, panel), self._masked_panel)
            return
        whole = size // panel * panel
        if whole:
            end = self._with_number("minsi", high, whole)
            self._steps((low, end, panel), lambda at: self._panel(at, grid.vectors))
        if whole == size:
            return
        start = self.indices.size(whole)
        vectors = -(-(size - whole) // grid.width)
        if grid.lanes not in self.ranges:
            self._panel(start, vectors, size - whole)
            return
        last = self.indices.size(size)
        is_last = self.indices.at(self.stack.depth).compare_ints("eq", high, last)
        with self._where(is_last):
            self._panel(start, vectors, size - whole)

    # Panels and blocks ----------------------------------------------------------

    def _panel(self, start: ir.Value, count: int, columns: int | None = None) -> None:
        """All rows of a program by some vectors of columns.

        Args:
            start: the first column.
            count: vectors.
            columns: how many columns there are; None where the vectors are full.
        """
        width = self.grid.width
        vectors = []
        for number in range(count):
            rest = width if columns is None else min(columns - number * width, width)
            mask = None if rest == width else self._first_lanes(rest)
            vectors.append(_Vector(self._plus(start, number * width), mask))
        self._copy_panels(vectors)
        self._loops(self.grid.repeats, lambda: self._rows(vectors))

    def _masked_panel(self, start: ir.Value) -> None:
        """As ``_panel``, where any panel may be the last one."""
        width, size = self.grid.width, self.indices.size(self.grid.lanes.size)
        left = self.indices.at(self.stack.depth).same("arith.subi", size, start)
        vectors = []
        for number in range(self.grid.vectors):
            rest = self._with_number("subi", left, number * width)
            numbers = self.indices.at(0, width).lane_numbers()
            b = self.indices.at(self.stack.depth)
            rest = b.op("arith.index_cast", "i64", rest)
            b = self.indices.at(self.stack.depth, width)
            mask = b.compare_ints("slt", numbers, b.splat(rest, "i64"))
            vectors.append(_Vector(self._plus(start, number * width), mask))
        self._copy_panels(vectors)
        self._loops(self.grid.repeats, lambda: self._rows(vectors))

    def _copy_panels(self, vectors: Sequence[_Vector]) -> None:
        """Copies operands' columns to private buffers, where the plan says so."""
        for each, panel in zip(self.grid.products, self.grid.panels, strict=True):
            if panel is None:
                continue
            if panel.along is not None:
                self._turn_panel(each.b, panel, vectors)
                continue
            (walk,) = (w for w in self.grid.passes if w.reductions)

            def copy(carried: list[ir.Value], each=each, panel=panel):
                for number, vector in enumerate(vectors):
                    value = self._in_lanes(each.b, vector)
                    self._store_in(panel, number, value)
                return carried

            self._reduced_loops(self.grid.reduced, walk, [], copy)

    def _store_in(self, panel: Panel, number: int, value: ir.Value) -> None:
        """Stores a vector into a panel's row."""
        offset = self.indices.scalar(panel.place + number * self.grid.width)
        one = self.indices.size(1)
        buffer, _ = self.values.buffers[panel.local.number]
        b = self.indices.at(self.stack.depth, self.grid.width)
        b.store(value, buffer, offset, one, None)

    def _turn_panel(
        self, load: LoadNode, panel: Panel, vectors: Sequence[_Vector]
    ) -> None:
        """Copies columns that lie along the depth, turned in registers."""
        others = [c for c in self.grid.reduced if c != panel.along]
        (walk,) = (w for w in self.grid.passes if w.reductions)

        for number, vector in enumerate(vectors):
            # One vector of columns after the other: so few rows of memory are read at a
            # time that the processor fetches them ahead.
            def turn(carried: list[ir.Value], number=number, vector=vector):
                rows = self.stack.top.mask
                with self.bound(self.grid.lanes, vector.start):
                    self._turn_square_of(load, panel, number, (vector.mask, rows))
                return carried

            def along(carried: list[ir.Value], turn=turn):
                self._lanes_loop(panel.along, self.grid.width, turn)
                return carried

            self._reduced_loops(others, walk, [], along)

    def _turn_square_of(self, load, panel: Panel, number: int, masks) -> None:
        width, lanes = self.grid.width, self.grid.lanes
        buffer, element = self.values.buffers[load.buffer]
        source = self.indices.scalar(load.offset)
        target = self.indices.scalar(panel.place + number * width)
        strides = (
            self.indices.size(load.offset.coefficient(lanes)),
            self.indices.size(1),
        )
        row = self.indices.size(panel.place.coefficient(panel.along))
        one = self.indices.size(1)
        self.builder.location = load.location
        masks = [self._all_lanes() if mask is None else mask for mask in masks]
        b = self.indices.at(self.stack.depth)
        square = b.load_square(buffer, source, strides, masks, element, width)
        turned = b.same(
            "vector.transpose", square, permutation=b.parsed("array<i64: 1, 0>")
        )
        own, _ = self.values.buffers[panel.local.number]
        b.store_square(turned, own, target, (row, one))

    def _all_lanes(self) -> ir.Value:
        return self.indices.at(0, self.grid.width).constant(True, "i1")

    def _rows(self, vectors: Sequence[_Vector]) -> None:
        grid = self.grid
        low, high = self._range(grid.rows)
        size, count = grid.rows.size, grid.block

        def block(start: ir.Value) -> None:
            self._block(start, count, vectors)

        if isinstance(size, int) and size % count == 0:
            self._steps((low, high, count), block)
            return
        b = self.indices.at(self.stack.depth)
        length = b.same("arith.subi", high, low)
        blocks = self._with_number("divui", length, count)
        whole = self._with_number("muli", blocks, count)
        end = self.indices.at(self.stack.depth).same("arith.addi", low, whole)
        self._steps((low, end, count), block)
        if not isinstance(size, int):
            self._steps((end, high, 1), lambda row: self._block(row, 1, vectors))
            return
        b = self.indices.at(self.stack.depth)
        with self._where(b.compare_ints("slt", end, high)):
            self._block(end, size % count, vectors)

    def _block(self, start: ir.Value, count: int, vectors: Sequence[_Vector]) -> None:
        """Some rows by the vectors of a panel: the sums, and what is made of them."""
        rows = [self._plus(start, number) for number in range(count)]
        (walk,) = (w for w in self.grid.passes if w.reductions)
        b = self.indices.at(self.stack.depth, self.grid.width)
        sums = [
            reduction.initial(b, each.sum)[0]
            for each in self.grid.products
            for _ in range(count * len(vectors))
        ]

        for load in self.grid.beside:
            for row in rows:
                fetch_beside(self, load, row, [vector.start for vector in vectors])
        fetching = self._fetching(start, vectors)

        def step(carried: list[ir.Value]) -> list[ir.Value]:
            if fetching is not None:
                fetching.step()
            return self._multiplied(rows, vectors, carried)

        sums = self._along_depth(walk, sums, step)
        self._store_sums(rows, vectors, sums)

    def _fetching(self, start: ir.Value, vectors: Sequence[_Vector]) -> Fetching | None:
        """What a block of rows fetches for the next panel."""
        if self.grid.ahead is None:
            return None
        low, _ = self._range(self.grid.rows)
        b = self.indices.at(self.stack.depth)
        number = b.same("arith.subi", start, low)
        number = self._with_number("divui", number, self.grid.block)
        return Fetching(self, self.grid.ahead, vectors[0].start, number)

    def _along_depth(self, walk: Pass, sums: list[ir.Value], step: Body):
        """The loops along the depth; long sums begin afresh now and then.

        A sum of ``SUM_STEPS`` partial sums has smaller rounding errors than one of all.
        """
        *outer, inner = self.grid.reduced
        if not isinstance(inner.size, int) or inner.size < 2 * SUM_STEPS:
            return self._reduced_loops(self.grid.reduced, walk, sums, step)

        def blocks(totals: list[ir.Value]) -> list[ir.Value]:
            return self._in_blocks(inner, walk, totals, (sums, step))

        return self._reduced_loops(outer, walk, sums, blocks)

    def _in_blocks(
        self, inner: Coordinate, walk: Pass, totals: list[ir.Value], afresh
    ) -> list[ir.Value]:
        zeros, step = afresh
        low, high, stride = map(self.indices.size, (0, inner.size, SUM_STEPS))
        types = [value.type for value in totals]
        b = self.indices.at(self.stack.depth)
        op = b.create("scf.for", types, [low, high, stride, *totals], regions=1)
        block = op.regions[0].blocks.append(b.index, *types)
        start, *carried = block.arguments
        self.stack.push(op, block)
        b = self.indices.at(self.stack.depth)
        end = b.same("arith.minsi", b.same("arith.addi", start, stride), high)
        self.ranges[inner] = (start, end)
        partial = self._reduced_loops((inner,), walk, zeros, step)
        del self.ranges[inner]
        b = self.indices.at(self.stack.depth, self.grid.width)
        pairs = zip(carried, partial, strict=True)
        results = [b.same("arith.addf", total, part) for total, part in pairs]
        self.indices.at(self.stack.depth).create("scf.yield", [], results)
        self.stack.pop()
        return list(op.results)

    def _multiplied(
        self, rows: Sequence[ir.Value], vectors: Sequence[_Vector], sums: list[ir.Value]
    ) -> list[ir.Value]:
        """The sums after one step along the depth."""
        results, left = [], iter(sums)
        if self.grid.is_by_lanes:
            return self._multiplied_by_lanes(rows, vectors, sums)
        for each, copy in zip(self.grid.products, self.grid.panels, strict=True):
            factors = [self._in_row(each.a, row) for row in rows]
            if copy is None:
                panel = [self._in_lanes(each.b, vector) for vector in vectors]
            else:
                panel = [self._load_from(copy, n) for n in range(len(vectors))]
            self.builder.location = each.sum.location
            b = self.indices.at(self.stack.depth, self.grid.width)
            results += [
                self._added(b, factor, other, next(left))
                for factor in factors
                for other in panel
            ]
        return results

    def _added(
        self, b: Builder, factor: ir.Value, other: ir.Value, total: ir.Value
    ) -> ir.Value:
        """``factor * other + total``; processors with short vectors round twice.

        They may have no instruction that rounds once, and girih would compute it with
        numbers of twice the width.
        """
        if self.grid.width > SHORT:
            return b.same("math.fma", factor, other, total)
        return b.same("arith.addf", b.same("arith.mulf", factor, other), total)

    def _multiplied_by_lanes(
        self, rows: Sequence[ir.Value], vectors: Sequence[_Vector], sums: list[ir.Value]
    ) -> list[ir.Value]:
        """As ``_multiplied``, of vectors by vectors."""
        (each,), (copy,) = self.grid.products, self.grid.panels
        if copy is None:
            others = [self._in_lanes(each.b, vector) for vector in vectors]
        else:
            others = [self._load_from(copy, n) for n in range(len(vectors))]
        results, left = [], iter(sums)
        for row in rows:
            for vector, other in zip(vectors, others, strict=True):
                with self.bound(self.grid.rows, row):
                    factor = self._in_lanes(each.a, vector)
                self.builder.location = each.sum.location
                b = self.indices.at(self.stack.depth, self.grid.width)
                results.append(self._added(b, factor, other, next(left)))
        return results

    def _load_from(self, panel: Panel, number: int) -> ir.Value:
        """A vector of a panel's row."""
        offset = self.indices.scalar(panel.place + number * self.grid.width)
        one = self.indices.size(1)
        buffer, element = self.values.buffers[panel.local.number]
        b = self.indices.at(self.stack.depth, self.grid.width)
        return b.load(buffer, offset, one, None, element)

    def _in_row(self, node: Node, row: ir.Value) -> ir.Value:
        """An element of a row, in each lane."""
        with self.bound(self.grid.rows, row):
            value = self.values.value(node)
        b = self.indices.at(self.stack.depth, self.grid.width)
        return b.splat(value, node.element.register_name)

    def _in_lanes(self, node: Node, vector: _Vector) -> ir.Value:
        """The elements of some columns."""
        with self._bound_lanes(_Vector(vector.start, vector.mask)):
            return self.values.lanes(node)

    def _store_sums(
        self, rows: Sequence[ir.Value], vectors: Sequence[_Vector], sums: list[ir.Value]
    ) -> None:
        """Computes and stores what is made of the sums."""
        if self.grid.sums is not None:
            self._store_from_memory(rows, vectors, sums)
            return
        columns = [_Vector(vector.start, vector.mask) for vector in vectors]
        size = len(rows) * len(columns)
        for number, row in enumerate(rows):
            for place, vector in enumerate(columns):
                own = sums[number * len(columns) + place :: size]
                with self._bound_lanes(vector), self.bound(self.grid.rows, row):
                    for each, value in zip(self.grid.products, own, strict=True):
                        self.stack.top.values[each.sum.number] = value
                    self._store_all(self.grid.stores)

    def _store_from_memory(
        self, rows: Sequence[ir.Value], vectors: Sequence[_Vector], sums: list[ir.Value]
    ) -> None:
        """Stores the sums for a loop over the rows, which goes on with them."""
        width, one = self.grid.width, self.indices.size(1)
        buffer, element = self.values.buffers[self.grid.sums.number]
        for number, value in enumerate(sums):
            offset = self.indices.size(number * width)
            b = self.indices.at(self.stack.depth, width)
            b.store(value, buffer, offset, one, None)
        size = len(rows) * len(vectors)

        def finish(number: ir.Value) -> None:
            own = self._with_number("muli", number, len(vectors) * width)
            b = self.indices.at(self.stack.depth)
            row = b.same("arith.addi", rows[0], number)
            self.stack.top.coordinates[self.grid.rows] = row
            for place, vector in enumerate(vectors):
                with self._bound_lanes(_Vector(vector.start, vector.mask)):
                    for which, each in enumerate(self.grid.products):
                        first = (which * size + place) * width
                        offset = self._plus(own, first)
                        b = self.indices.at(self.stack.depth, width)
                        value = b.load(buffer, offset, one, None, element)
                        self.stack.top.values[each.sum.number] = value
                    self._store_all(self.grid.stores)

        bounds = (self.indices.size(0), self.indices.size(len(rows)), 1)
        self._steps(bounds, finish)

    # Regions and frames -----------------------------------------------------------

    def _steps(self, bounds: tuple[ir.Value, ir.Value, int], body) -> None:
        """A loop whose body handles several values of a coordinate."""
        low, high, step = bounds
        operands = [low, high, self.indices.size(step)]
        b = self.indices.at(self.stack.depth)
        op = b.create("scf.for", [], operands, regions=1)
        block = op.regions[0].blocks.append(b.index)
        self.stack.push(op, block)
        body(block.arguments[0])
        self.indices.at(self.stack.depth).create("scf.yield", [], [])
        self.stack.pop()

    @contextmanager
    def _where(self, condition: ir.Value) -> Iterator[None]:
        """Enters a branch."""
        b = self.indices.at(self.stack.depth)
        op = b.create("scf.if", [], [condition], regions=2)
        self.stack.push(op, op.regions[0].blocks.append())
        yield
        self.indices.at(self.stack.depth).create("scf.yield", [], [])
        self.stack.pop()

    @contextmanager
    def bound(self, coordinate: Coordinate, value: ir.Value) -> Iterator[None]:
        """Binds a coordinate for what is made in between, in the region at hand."""
        top = self.stack.top
        self.stack.frames.append(Frame(top.block, top.point, {coordinate: value}))
        yield
        self.stack.frames.pop()

    @contextmanager
    def _bound_lanes(self, vector: _Vector) -> Iterator[None]:
        """Binds the lanes to some columns."""
        with self.bound(self.grid.lanes, vector.start):
            frame = self.stack.top
            frame.values, frame.mask = vector.known, vector.mask
            frame.width = self.grid.width
            yield

    def _plus(self, value: ir.Value, number: int) -> ir.Value:
        return self._with_number("addi", value, number) if number else value

    def _with_number(self, name: str, value: ir.Value, number: int) -> ir.Value:
        """An operation of an index and a number."""
        other = self.indices.size(number)
        return self.indices.at(self.stack.depth).same(f"arith.{name}", value, other)

    def _first_lanes(self, count: int) -> ir.Value:
        """The mask of the first lanes."""
        b = self.indices.at(0, self.grid.width)
        return b.compare_ints("slt", b.lane_numbers(), b.constant(count, "i64"))
