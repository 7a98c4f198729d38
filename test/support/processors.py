"""Code for other processors than the host's, which is made but can't be run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import girih
from girih.codegen.cpu.compile import compile_module
from girih.codegen.cpu.errors import CodegenError
from girih.compiler import cpu_code
from girih.dialects.bindings import ir

PROCESSORS = ("ivybridge", "haswell", "icelake-server", "sapphirerapids", "znver4")
"""One of each: AVX, AVX2, VPERMB without bfloat16, float16 too, AMD's choices."""

_SECONDS = 20.0


def failures(function: Callable, arguments: tuple[Any, ...], bits: int) -> list[str]:
    """What goes wrong where a function's kernels are compiled for each processor."""
    found: list[str] = []

    def compile_for_all(module: ir.Module, **ignored: Any) -> Any:
        text = module.operation.get_asm(enable_debug_info=True)
        for processor in PROCESSORS:
            with module.context:
                copy = ir.Module.parse(text)
            cpu_code.mark_processor(copy, processor)
            try:
                compile_module(copy, seconds=_SECONDS)
            except CodegenError as error:
                found.append(f"{processor}, {bits} bits: {error}")
        return compile_module(module)

    options = {"cache": False, "vector_bits": bits, "fallback": False}
    with mock.patch.object(cpu_code, "compile_module", compile_for_all):
        girih.compile(function, fullgraph=True, options=options)(*arguments)
    return found
