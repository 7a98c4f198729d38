"""Builds unscheduled kernels, schedules and compiles them, calls them on tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from girih.codegen.cpu.compile import compile_module
from girih.codegen.cpu.target import host_target
from girih.dialects import context, graph, tile
from girih.dialects.bindings import ir
from girih.dialects.dims import Size, parse
from girih.dialects.types import (
    buffer_type,
    contiguous_strides,
    element_of,
    element_type,
    shape_of,
    tensor_type,
)
from girih.passes.pipelines import with_options
from girih.passes.registry import run_pipeline

VECTOR_BITS = host_target().vector_bits
"""LLVM may use instructions for wider ones that the processor does not have."""
TILE = f"tile{{vector-bits={VECTOR_BITS}}}"
_BITS = f"vector-bits={VECTOR_BITS}"
LOWERING = tuple(
    with_options("cpu", {"expand-math": _BITS, "convert-tile-to-cpu": _BITS})[1:]
)

DTYPES = {
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i1": torch.bool,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "i8": torch.int8,
    "ui8": torch.uint8,
}

Shape = Sequence[int | str]


def sizes(shape: Shape) -> tuple[Size, ...]:
    """Sizes of ints and dim expressions."""
    return tuple(parse(s) if isinstance(s, str) else s for s in shape)


def build_kernel(
    inputs: Sequence[tuple],
    domain: Shape,
    body: Callable,
    *,
    reduced: Sequence[int] = (),
    closing: Sequence[int] = (),
    symbols: Sequence[str] = (),
    output_strides: Sequence[Shape | None] | None = None,
) -> ir.Module:
    """A module with one unscheduled kernel ``k``.

    Args:
        inputs: (shape, element type's name) or (shape, name, strides) of each.
        domain: the iteration domain.
        body: called with ``build(name, *operands, **attributes)`` and the tensors
            read; returns the tensors to write.
        reduced: dims that reductions remove.
        closing: dims that the last ones remove, where these are others.
        symbols: the symbols of sizes, in the order of the trailing arguments.
        output_strides: strides of outputs that are not contiguous.
    """
    with context.current() as ctx, ir.Location.unknown(ctx):
        module = ir.Module.create()
        types = [_input_type(*each) for each in inputs]
        attributes = {
            "sym_name": "k",
            "symbols": list(symbols),
            "domain": sizes(domain),
            "reduced": list(reduced),
            "outputs": 1,
        }
        if closing:
            attributes["closing"] = list(closing)
        op = tile.build(
            "kernel", [], attributes, results=[], ip=ir.InsertionPoint(module.body)
        )
        block = op.regions[0].blocks.append(*types)
        point = ir.InsertionPoint(block)

        def build(name: str, *operands, results=None, **attributes):
            op = graph.build(
                name, list(operands), attributes, results=results, ip=point
            )
            return op.results[0]

        tensors = [
            tile.build("read", [b], ip=point).results[0] for b in block.arguments
        ]
        outputs = list(body(build, *tensors))
        for tensor, strides in zip(
            outputs, output_strides or [None] * len(outputs), strict=True
        ):
            type_ = _buffer(shape_of(tensor.type), strides, element_of(tensor.type))
            target = block.add_argument(type_, ir.Location.unknown())
            tile.build("write", [tensor, target], results=[], ip=point)
        op.attributes["outputs"] = ir.IntegerAttr.get(
            ir.IntegerType.get_signless(64), len(outputs)
        )
        for _ in symbols:
            block.add_argument(ir.IndexType.get(), ir.Location.unknown())
    return module


def _input_type(shape: Shape, name: str, strides: Shape | None = None) -> ir.Type:
    return _buffer(sizes(shape), strides, element_type(name))


def _buffer(shape, strides: Shape | None, element: ir.Type) -> ir.Type:
    steps = contiguous_strides(shape) if strides is None else sizes(strides)
    return buffer_type(shape, steps, element)


def with_element(tensor: ir.Value, name: str) -> ir.Type:
    """The tensor's type with another element type."""
    return tensor_type(shape_of(tensor.type), element_type(name))


def schedule(module: ir.Module, options: str = TILE) -> str:
    """Schedules the module's kernel; returns its ``schedule`` attribute."""
    with context.current() as ctx, ir.Location.unknown(ctx):
        run_pipeline(module, options)
        return module.body.operations[0].attributes["schedule"].value


class CompiledKernel:
    """A kernel compiled for this host."""

    def __init__(self, module: ir.Module, options: str = TILE) -> None:
        self.schedule = schedule(module, options)
        with context.current() as ctx, ir.Location.unknown(ctx):
            run_pipeline(module, list(LOWERING))
            _, self.library = compile_module(module)
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)
        self.function = prototype(self.library.address("k"))

    def __call__(self, tensors: Sequence[Tensor], symbols: Sequence[int] = ()) -> int:
        """Runs the kernel on inputs and outputs; returns its status."""
        pointers = (ctypes.c_void_p * len(tensors))(*(t.data_ptr() for t in tensors))
        values = (ctypes.c_int64 * max(len(symbols), 1))(*symbols)
        status = ctypes.c_int32(0)
        self.function(
            ctypes.addressof(pointers),
            ctypes.addressof(values),
            ctypes.addressof(status),
        )
        return status.value
