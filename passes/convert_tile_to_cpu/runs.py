"""Functions that run several kernels in a row.

A function takes the buffers and symbols of all its launches, each once, and hands every
kernel an array of those that are its own. A few launches are written one after the
other. Many of them, as an optimizer makes for all parameters of a model, are rows of a
constant table that one loop goes through: their code would take longer to compile than
that of the kernels.

The third argument, which kernels set where a check fails, may hold the address of a
function as its second word. It is called with the argument and the number of the launch
before each of several launches: profilers see the kernels that way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from girih.dialects.bindings import ir, llvm
from girih.passes.convert_tile_to_cpu import builder as b
from girih.passes.convert_tile_to_cpu.kernel import load_word, make_function, word

Value = ir.Value


def make_run(native: ir.OpView, name: str, vector_bits: int, many: int) -> None:
    """Adds the function that makes a run's launches; inserts at the module's end.

    Its buffers and symbols are `native.buffers` and `native.symbols`.

    Args:
        native: the run.
        name: name of the function.
        vector_bits: width of the processor's vector registers.
        many: launches from which on a table is made.
    """
    calls = _calls_of(native)
    table = _Table.of(calls) if len(calls) >= many else None
    if table is not None:
        _make_constant(f"{name}_table", table.words)
    function = make_function(name, True, vector_bits)
    location = ir.Location.current
    body = function.regions[0].blocks.append(
        *[b.pointer()] * 3, arg_locs=[location] * 3
    )
    with ir.InsertionPoint(body):
        if table is not None:
            _Loop(table, body).emit(f"{name}_table")
        else:
            _emit_calls(calls, body)
        b.make("llvm.return", [], [])


@dataclass(frozen=True)
class _Call:
    """A launch: its kernel, and where its buffers and symbols are among all."""

    kernel: str
    buffers: tuple[int, ...]
    symbols: tuple[int, ...]
    location: ir.Location


def _calls_of(native: ir.OpView) -> list[_Call]:
    launches = native.launches
    places = {value: i for i, value in enumerate(native.buffers)}
    names = {str(size): i for i, size in enumerate(native.symbols)}
    return [
        _Call(
            launch.kernel,
            tuple(places[value] for value in launch.operands),
            tuple(names[str(size)] for size in launch.symbols),
            launch.location,
        )
        for launch in launches
    ]


# One after the other


def _emit_calls(calls: Sequence[_Call], body: ir.Block) -> None:
    buffers, symbols, status = body.arguments
    observer = _Observer(status) if len(calls) > 1 else None
    for number, call in enumerate(calls):
        with call.location:
            if observer is not None:
                observer.announce(b.splat(b.integer(64), number))
            pointers = _selection(body, buffers, call.buffers, b.pointer())
            sizes = _selection(body, symbols, call.symbols, b.integer(64))
            b.call(call.kernel, [], [pointers, sizes, status])


class _Observer:
    """What is called before each launch, where somebody watches."""

    def __init__(self, status: Value):
        self._status = status
        self._function = load_word(status, 1, b.pointer())
        null = b.value("llvm.mlir.zero", b.pointer(), [])
        self._is_there = b.value(
            "llvm.icmp",
            b.integer(1),
            [self._function, null],
            {"predicate": b.number(1)},  # not equal
        )

    def announce(self, launch: Value) -> None:
        """Calls it with the number of a launch."""
        branch = b.make("scf.if", [], [self._is_there], regions=2)
        with ir.InsertionPoint(branch.regions[0].blocks.append()):
            b.call_address(self._function, [self._status, launch])
            b.yield_()


def _selection(
    entry: ir.Block, array: Value, positions: Sequence[int], type: ir.Type
) -> Value:
    """An array of some entries; the array itself where these are its first ones."""
    if list(positions) == list(range(len(positions))):
        return array
    selected = _local_array(entry, len(positions), type)
    for target, source in enumerate(positions):
        value = load_word(array, source, type)
        llvm.StoreOp(value, word(selected, target, type))
    return selected


def _local_array(entry: ir.Block, count: int, type: ir.Type) -> Value:
    with ir.InsertionPoint.at_block_begin(entry):
        size = b.splat(b.integer(64), count)
        return llvm.AllocaOp(b.pointer(), size, type).result


# A table


@dataclass(frozen=True)
class _Table:
    """Launches as rows: number of the kernel, places of buffers, places of symbols.

    Shorter launches have the place 0 at the end of each part.

    Attributes:
        kernels: Names of the kernels, by number.
        rows: How many there are.
        buffers: Places of buffers in a row.
        symbols: Places of symbols in a row.
        words: All rows, one after the other.
    """

    kernels: tuple[str, ...]
    rows: int
    buffers: int
    symbols: int
    words: tuple[int, ...]

    @classmethod
    def of(cls, calls: Sequence[_Call]) -> _Table:
        """The table of some launches."""
        kernels = tuple(dict.fromkeys(call.kernel for call in calls))
        buffers = max(len(call.buffers) for call in calls)
        symbols = max(len(call.symbols) for call in calls)
        words: list[int] = []
        for call in calls:
            words.append(kernels.index(call.kernel))
            words += _padded(call.buffers, buffers)
            words += _padded(call.symbols, symbols)
        return cls(kernels, len(calls), buffers, symbols, tuple(words))

    @property
    def width(self) -> int:
        """Words in a row."""
        return 1 + self.buffers + self.symbols


def _padded(places: tuple[int, ...], count: int) -> tuple[int, ...]:
    return places + (0,) * (count - len(places))


def _make_constant(name: str, words: Sequence[int]) -> None:
    """A constant array of `i64` in the module."""
    type = ir.Type.parse(f"!llvm.array<{len(words)} x i64>")
    elements = ir.RankedTensorType.get([len(words)], b.integer(64))
    attributes = [ir.IntegerAttr.get(b.integer(64), number) for number in words]
    b.make(
        "llvm.mlir.global",
        [],
        [],
        {
            "sym_name": ir.StringAttr.get(name),
            "global_type": ir.TypeAttr.get(type),
            "linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
            "constant": ir.UnitAttr.get(),
            "value": ir.DenseElementsAttr.get(attributes, elements),
            "addr_space": b.number(0, 32),
            "alignment": b.number(8),
        },
        regions=1,
    )


class _Loop:
    """The loop over a table's rows."""

    def __init__(self, table: _Table, body: ir.Block):
        self.table = table
        self.buffers, self.symbols, self.status = body.arguments
        self.pointers = _local_array(body, table.buffers, b.pointer())
        self.sizes = _local_array(body, max(table.symbols, 1), b.integer(64))
        self.observer = _Observer(self.status)

    def emit(self, name: str) -> None:
        """Emits it, given the name of the table's constant."""
        symbol = {"global_name": ir.FlatSymbolRefAttr.get(name)}
        words = b.value("llvm.mlir.addressof", b.pointer(), [], symbol)
        width = b.index(self.table.width)
        _counted(self.table.rows, lambda row: self._row(words, row, width))

    def _row(self, words: Value, row: Value, width: Value) -> None:
        self.observer.announce(b.to_i64(row))
        start = b.mul(row, width)
        kernel = b.to_index(load_word(words, b.to_i64(start), b.integer(64)))
        first = b.add(start, b.index(1))
        self._select(words, first, self.buffers, self.pointers, b.pointer())
        if self.table.symbols:
            first = b.add(first, b.index(self.table.buffers))
            self._select(words, first, self.symbols, self.sizes, b.integer(64))
        self._call(kernel)

    def _select(
        self, words: Value, first: Value, source: Value, target: Value, type: ir.Type
    ) -> None:
        """Copies what a part of a row names."""
        count = self.table.buffers if target == self.pointers else self.table.symbols

        def copy(place: Value) -> None:
            position = b.to_i64(b.add(first, place))
            chosen = load_word(words, position, b.integer(64))
            value = load_word(source, chosen, type)
            llvm.StoreOp(value, word(target, b.to_i64(place), type))

        _counted(count, copy)

    def _call(self, kernel: Value) -> None:
        """Calls the kernel with this number; the last one for any other."""
        *others, last = self.table.kernels
        cases = {"cases": ir.DenseI64ArrayAttr.get(list(range(len(others))))}
        regions = 1 + len(others)
        switch = b.make("scf.index_switch", [], [kernel], cases, regions=regions)
        for region, name in zip(switch.regions, (last, *others), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                b.call(name, [], [self.pointers, self.sizes, self.status])
                b.yield_()


def _counted(count: int, body: Callable[[Value], None]) -> None:
    """A loop from 0 to a number."""
    bounds = [b.index(0), b.index(count), b.index(1)]
    loop = b.make("scf.for", [], bounds, regions=1)
    block = loop.regions[0].blocks.append(b.index_type())
    with ir.InsertionPoint(block):
        body(block.arguments[0])
        b.yield_()
