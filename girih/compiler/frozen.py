"""Programs without gradients whose weights stay: what depends on these is kept.

::

    graph ── "constants" ──► @main ──────► program ──► with constants
                        └──► @constants ──► program ──┘
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from girih.codegen.runtime.constants import WithConstants
from girih.compiler.lowering import Lowering
from girih.compiler.modules import alone, functions_of
from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.options import Options
from girih.passes.split_constants import NAME
from girih.reports import Report


def freezes(options: Options, device: torch.device) -> bool:
    """Whether a compilation keeps what depends on weights alone."""
    is_there = torch.backends.mkldnn.is_available()
    return options.freezing and device.type == "cpu" and is_there


def frozen_program(lowering: Lowering, module: ir.Module, fallback: Callable) -> Any:
    """Compiles the function ``@main`` of a module, and what it needs of weights.

    Args:
        lowering: Of ``@main``.
        module: A module of ``graph``; it is changed.
        fallback: Called with the same inputs where a check of a kernel fails.
    """
    with module.context, ir.Location.unknown():
        operation = module.operation
        lowering.dump("whole", operation, lambda: lowering.steps("constants"))
        lowering.run("constants", operation)
    return program_with_constants(lowering, module, fallback)


def program_with_constants(
    lowering: Lowering, module: ir.Module, fallback: Callable
) -> Any:
    """Compiles ``@main``, and ``@constants`` if there is such a function.

    Args:
        lowering: Of ``@main``.
        module: A module of ``graph`` as the pipeline ``constants`` leaves it; it is
            changed.
        fallback: Called with the same inputs where a check of a kernel fails.
    """
    options, report = lowering.options, lowering.report
    with module.context, ir.Location.unknown():
        function = functions_of(module).get(NAME)
        if function is None:
            return lowering.program(module, "graph", fallback)
        count = len(ir.FunctionType(function.type).results)
        given = function.attributes["arg_attrs"]
        places = [attr.INT.decode(each[keys.ARGUMENT]) for each in given]
        constants = alone(function)
        function.operation.erase()
    report.constants = Report(name=f"{report.name}.constants")
    device = lowering.target.device
    computing = Lowering(options, report.constants, device, "constants")
    compute = computing.program(constants, "graph", None)

    def without_constants(kind, *arguments):
        return fallback(kind, *arguments[:-count])

    program = lowering.program(module, "graph", without_constants)
    return WithConstants(program, compute, places)
