"""Outlining: a fusion, or an op on its own, becomes a `tile.kernel` of the module.

Kernels that are equal but for their name are one kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from girih.dialects import attributes as attr
from girih.dialects import tile
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, has_any
from girih.dialects.dims import Dim, Size, symbol, symbols_of
from girih.dialects.locations import location_of_all
from girih.dialects.traits import REDUCES, SCANS
from girih.dialects.types import buffer_parts, shape_of

from .kernel_names import kernel_name


@dataclass(frozen=True)
class KernelCall:
    """A kernel's name, and the values that its symbols have where it is launched."""

    name: str
    symbols: tuple[Size, ...]


class Kernels:
    """The kernels of a module.

    Args:
        before: where kernels are put, in the order in which they are made.
        has_symbols: whether sizes of the function are symbolic at all.
    """

    def __init__(self, before: ir.InsertionPoint, has_symbols: bool):
        self._before = before
        self._has_symbols = has_symbols
        self._names: dict[str, str] = {}
        self._fusions: dict[tuple, KernelCall] = {}

    def outline(
        self, op: ir.OpView, inputs: Sequence[ir.Type], outputs: Sequence[ir.Type]
    ) -> KernelCall:
        """Puts the op's computation into a kernel.

        Args:
            op: a fusion, whose body is moved, or a primitive, which is copied.
            inputs: buffer types of the operands.
            outputs: buffer types of the results.
        """
        is_fusion = op.name == "graph.fusion"
        known = None
        if is_fusion:
            known = (_text(op), _pattern(op), tuple(inputs), tuple(outputs))
            if known in self._fusions:
                return self._fusions[known]
        call = self._outline(op, inputs, outputs)
        if known is not None:
            self._fusions[known] = call
        return call

    def _outline(
        self, op: ir.OpView, inputs: Sequence[ir.Type], outputs: Sequence[ir.Type]
    ) -> KernelCall:
        is_fusion = op.name == "graph.fusion"
        body = list(op.regions[0].blocks[0].operations)[:-1] if is_fusion else [op]
        space = iteration_space(op)
        location = location_of_all(op)
        symbols = self._symbols([*inputs, *outputs], body)
        kernel = self._create(location, inputs, outputs, space, symbols)
        for name in ("closing", "girih.tuning"):
            if name in op.attributes:
                kernel.attributes[name] = op.attributes[name]
        reads = _reads(kernel, len(inputs), location)
        block = kernel.regions[0].blocks[0]
        fill = _move_body if is_fusion else _copy_op
        results = fill(op, reads, block)
        return self._finish(kernel, results, len(inputs), location, symbols)

    def outline_copy(
        self, source: ir.Type, target: ir.Type, location: ir.Location
    ) -> KernelCall:
        """Makes a kernel that copies one buffer into another."""
        symbols = self._symbols([source, target], [])
        space = (shape_of(source), ())
        kernel = self._create(location, [source], [target], space, symbols)
        reads = _reads(kernel, 1, location)
        return self._finish(kernel, reads, 1, location, symbols)

    def _symbols(
        self, buffers: Iterable[ir.Type], body: Iterable[ir.OpView]
    ) -> tuple[str, ...]:
        if not self._has_symbols:
            return ()
        found: set[str] = set()
        for size in _sizes_of(buffers, body):
            found.update(symbols_of(size))
        return tuple(sorted(found, key=lambda name: (len(name), name)))

    def _create(
        self,
        location: ir.Location,
        inputs: Sequence[ir.Type],
        outputs: Sequence[ir.Type],
        space: tuple[tuple[Size, ...], tuple[int, ...]],
        symbols: Sequence[str],
    ) -> ir.Operation:
        domain, reduced = space
        attributes = {
            "sym_name": "k",
            "symbols": symbols,
            "outputs": len(outputs),
            "domain": domain,
            "reduced": reduced,
        }
        kernel = tile.build("kernel", [], attributes, loc=location, ip=self._before)
        types = [*inputs, *outputs, *(ir.IndexType.get() for _ in symbols)]
        kernel.regions[0].blocks.append(*types, arg_locs=[location] * len(types))
        return kernel

    def _finish(
        self,
        kernel: ir.Operation,
        results: Sequence[ir.Value],
        inputs: int,
        location: ir.Location,
        symbols: Sequence[str],
    ) -> KernelCall:
        block = kernel.regions[0].blocks[0]
        targets = list(block.arguments)[inputs : inputs + len(results)]
        end = ir.InsertionPoint(block)
        for value, target in zip(results, targets, strict=True):
            tile.build("write", [value, target], loc=location, ip=end)
        name = self._share(kernel)
        return KernelCall(name, tuple(symbol(name) for name in symbols))

    def _share(self, kernel: ir.Operation) -> str:
        """Names the kernel, or erases it where an equal one exists."""
        text = _text(kernel)
        if text in self._names:
            kernel.erase()
            return self._names[text]
        body = kernel.regions[0].blocks[0].operations
        ops = [op for op in body if op.operation.name.startswith("graph.")]
        name = self._names[text] = kernel_name(len(self._names), ops)
        kernel.attributes["sym_name"] = ir.StringAttr.get(name)
        return name


def _text(op: ir.Operation | ir.OpView) -> str:
    """What an op is, but for its location and the names of its operands."""
    # Inside of a module, printing would number all values of the module first.
    alone = op.operation.clone(ip=False)
    return alone.operation.get_asm(enable_debug_info=False, assume_verified=True)


def _pattern(op: ir.OpView) -> tuple[int, ...]:
    """Which operands are one value; from outside of its text they have no names."""
    operands = list(op.operands)
    return tuple(operands.index(value) for value in operands)


def iteration_space(op: ir.OpView) -> tuple[tuple[Size, ...], tuple[int, ...]]:
    """Domain and reduced dims of a fusion, or of a primitive on its own."""
    if op.name == "graph.fusion":
        return op.domain, op.reduced
    if has_any(op, REDUCES, SCANS):
        dims = attr.INTS if "dims" in op.attributes else None
        reduced = op.dims if dims else (op.dim,)
        return shape_of(op.operands[0].type), reduced
    return shape_of(op.results[0].type), ()


def _reads(kernel: ir.Operation, count: int, location: ir.Location) -> list[ir.Value]:
    block = kernel.regions[0].blocks[0]
    end = ir.InsertionPoint(block)
    return [
        tile.build("read", [argument], loc=location, ip=end).result
        for argument in list(block.arguments)[:count]
    ]


def _move_body(
    op: ir.OpView, reads: Sequence[ir.Value], block: ir.Block
) -> list[ir.Value]:
    """Moves a fusion's ops into a kernel's block; returns what it yielded."""
    source = op.regions[0].blocks[0]
    for argument, read in zip(source.arguments, reads, strict=True):
        argument.replace_all_uses_with(read)
    *body, last = source.operations
    results = list(last.operands)
    # The kernel may be erased as a duplicate: nothing may use its values then.
    last.operation.erase()
    for inner in body:
        block.append(inner)
    return results


def _copy_op(
    op: ir.OpView, reads: Sequence[ir.Value], block: ir.Block
) -> list[ir.Value]:
    """Copies an op into a kernel's block; returns its results."""
    copy = op.operation.clone(ip=ir.InsertionPoint(block))
    for index, read in enumerate(reads):
        copy.operation.operands[index] = read
    return list(copy.operation.results)


def _dims_in(value: object) -> Iterator[Dim]:
    """The symbolic sizes in an attribute, of whatever kind it is."""
    if isinstance(value, Dim):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _dims_in(item)


def _sizes_of(buffers: Iterable[ir.Type], body: Iterable[ir.OpView]) -> Iterator[Size]:
    """All sizes that types and attributes mention."""
    for type_ in buffers:
        parts = buffer_parts(type_)
        yield from parts.shape
        yield from parts.strides
    for op in body:
        for region in op.regions:
            yield from _sizes_of((), region.blocks[0].operations)
        for result in op.results:
            yield from shape_of(result.type)
        for name in OPS[op.name].ATTRIBUTES:
            yield from _dims_in(getattr(op, name))
