"""Runs kernels of the tile dialect on tensors, through ctypes.

kernels = compile_kernels(text)                # unscheduled or scheduled
status = kernels.call("k", [x, y], [size])     # torch tensors or NumPy arrays
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from girih.codegen.cpu.compile import compile_module
from girih.codegen.cpu.link import Library
from girih.codegen.cpu.object_code import ObjectCode
from girih.codegen.cpu.target import host_target
from girih.dialects import context
from girih.dialects.bindings import ir
from girih.passes import pipelines
from girih.passes.registry import run_pipeline

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Kernels:
    """Compiled kernels, and the IR they came from."""

    def __init__(self, module: ir.Module, code: ObjectCode, library: Library) -> None:
        self.module = module
        self.code = code
        self.library = library

    def call(
        self, name: str, tensors: Sequence[Any], symbols: Sequence[int] = ()
    ) -> int:
        """Run a kernel on its buffers and symbols, in order; its status word."""
        buffers = (ctypes.c_void_p * len(tensors))(*map(_address, tensors))
        sizes = (ctypes.c_int64 * max(len(symbols), 1))(*symbols)
        status = ctypes.c_int32(0)
        function = _FUNCTION(self.library.address(name))
        function(buffers, sizes, ctypes.byref(status))
        return status.value


def _address(tensor: Any) -> int:
    data_ptr = getattr(tensor, "data_ptr", None)
    return data_ptr() if data_ptr else tensor.ctypes.data


def compile_kernels(
    source: str | ir.Module,
    *,
    vector_bits: int | None = None,
    options: dict[str, str] | None = None,
) -> Kernels:
    """Compile the kernels of a module.

    Args:
        source: a module or its text; kernels that read whole tensors are scheduled
            first.
        vector_bits: width of vector registers; by default the host's.
        options: more options of passes, as text: {"tile": "parallel-grain=64"}.
    """
    with context.current(), ir.Location.unknown():
        module = ir.Module.parse(source) if isinstance(source, str) else source
        bits = f"vector-bits={vector_bits or host_target().vector_bits}"
        given = {name: bits for name in ("tile", "expand-math", "convert-tile-to-cpu")}
        for name, text in (options or {}).items():
            given[name] = f"{given.get(name, '')} {text}".strip()
        steps = pipelines.with_options("cpu", given)
        if "tile.read" not in str(module):
            steps = [step for step in steps if not step.startswith("tile{")]
        # Some tests call what is lowered already, or use ops of two levels.
        run_pipeline(module, steps, checks_input=False)
        code, library = compile_module(module)
    return Kernels(module, code, library)
