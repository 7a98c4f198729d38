"""Builds scheduled kernels for tests, one statement for each op.

k = KernelBuilder(["f32", "f32"], symbols=["s0"])
with k.grid(k.symbol(0)) as program: ...
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from girih.dialects import context, tile
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.emit.indices import Indices


class KernelBuilder:
    """A module with one kernel `k`, whose last buffer is written."""

    def __init__(self, elements: Sequence[str], symbols: Sequence[str] = ()) -> None:
        self._names = tuple(symbols)
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(context.current())
        self._stack.enter_context(ir.Location.unknown())
        self.module = ir.Module.create()
        attributes = {"sym_name": "k", "symbols": symbols, "outputs": 1, "domain": (1,)}
        with ir.InsertionPoint(self.module.body):
            kernel = tile.build("kernel", [], attributes)
        types = [ty.buffer_type((1,), (1,), ty.element_type(e)) for e in elements]
        types += [ir.IndexType.get()] * len(symbols)
        locations = [ir.Location.unknown()] * len(types)
        block = kernel.regions[0].blocks.append(*types, arg_locs=locations)
        self.buffers = list(block.arguments)[: len(elements)]
        self.symbols = list(block.arguments)[len(elements) :]
        self._stack.enter_context(ir.InsertionPoint(block))

    def op(self, name: str, type_: str, *operands: ir.Value, **attributes) -> ir.Value:
        """An upstream op with one result; attributes as text."""
        parsed = {key: ir.Attribute.parse(text) for key, text in attributes.items()}
        return ir.Operation.create(
            name,
            results=[ir.Type.parse(type_)],
            operands=operands,
            attributes=parsed,
        ).result

    def constant(self, text: str, type_: str) -> ir.Value:
        """`arith.constant`."""
        return self.op("arith.constant", type_, value=f"{text} : {type_}")

    def index(self, number: int) -> ir.Value:
        """A constant of type index."""
        return self.constant(str(number), "index")

    def size(self, size: Size) -> ir.Value:
        """A size of symbols, as `tile` computes it."""
        here = ir.InsertionPoint.current
        frames = FrameStack(here.block)
        builder = Builder(lambda: here, ir.Location.unknown())
        symbols = dict(zip(self._names, self.symbols, strict=True))
        return Indices(builder, frames, symbols).size(size)

    def load(self, type_: str, buffer, offset, strides=(), masks=(), other=None):
        """`tile.load`."""
        operands = [buffer, offset, list(strides), list(masks), other]
        return tile.build("load", operands, results=[ir.Type.parse(type_)]).result

    def store(self, value, buffer, offset, strides=(), masks=()) -> None:
        """`tile.store`."""
        tile.build("store", [value, buffer, offset, list(strides), list(masks)])

    def local(self, kind: str, element: str, elements: int) -> ir.Value:
        """`tile.scratch` or `tile.workspace`."""
        type_ = ty.buffer_type((elements,), (1,), ty.element_type(element))
        return tile.build(kind, [], {"elements": elements}, results=[type_]).result

    @contextlib.contextmanager
    def grid(self, count, work=None, **attributes: int) -> Iterator[ir.Value]:
        """The body of a `tile.grid`; gives the program id."""
        work = work or self.index(1)
        grid = tile.build("grid", [count, work], attributes)
        block = grid.regions[0].blocks.append(ir.IndexType.get())
        with ir.InsertionPoint(block):
            yield block.arguments[0]

    @contextlib.contextmanager
    def loop(self, low, high, width: int, inits=(), results=None) -> Iterator[tuple]:
        """The body of a `tile.loop`: index, mask, carried values.

        The body puts what it yields into the list `results`, which then holds the
        loop's results.
        """
        carried = [value.type for value in inits]
        loop = tile.build(
            "loop", [low, high, list(inits)], {"width": width}, results=carried
        )
        mask = ir.Type.parse(f"vector<{width}xi1>")
        block = loop.regions[0].blocks.append(ir.IndexType.get(), mask, *carried)
        results = [] if results is None else results
        with ir.InsertionPoint(block):
            yield tuple(block.arguments)
            tile.build("yield", [list(results)])
        results[:] = loop.results

    def finish(self) -> ir.Module:
        """The module; nothing can be added afterwards."""
        self._stack.close()
        return self.module
