"""From fusions to a program: launches, kernels, code.

::

    fusions ── launch stages ──► launch program, kernels
      kernels ── kernel stages, code ──┐
      launch program ──────────────────┴► link ──► a C object, called with tensors
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from girih.codegen.runtime._runtime import Program
from girih.compiler.modules import cloned, erase_host_program
from girih.compiler.runner import Runner
from girih.dialects import tile
from girih.dialects.bindings import ir
from girih.passes import stages


def launch(runner: Runner, module: ir.Module) -> None:
    """Makes a launch program and unscheduled kernels of a module of fusions."""
    runner.run(runner.target.stages.launch_pipeline, module.operation)


def program_of(runner: Runner, module: ir.Module, fallback: Callable | None) -> Program:
    """Makes the program of a module with a launch program and unscheduled kernels.

    Args:
        runner: Runs the stages.
        module: The module; it is not changed.
        fallback: Called with the same inputs where a check of a kernel fails.
    """
    code = _code(runner, module) if tile.kernels(module) else None
    with runner.act(stages.PROGRAM):
        return runner.target.link(module, code, fallback, runner.report.name)


def program_of_lowered(
    runner: Runner, module: ir.Module, kernels: ir.Module, fallback: Callable | None
) -> Program:
    """Makes the program of kernels that have come through all stages before code.

    Args:
        runner: Runs the stages that make code.
        module: The launch program; it is not changed.
        kernels: The kernels, and maybe the launch program once more.
        fallback: Called with the same inputs where a check of a kernel fails.
    """
    names = {op.operation.name for op in kernels.body.operations}
    has_code = names != {"func.func"}
    code = _compiled(runner, module, cloned(kernels), "") if has_code else None
    with runner.act(stages.PROGRAM):
        return runner.target.link(module, code, fallback, runner.report.name)


def lowered_kernels(runner: Runner, module: ir.Module) -> ir.Module:
    """A copy of a program's kernels, through all stages before code."""
    target = runner.target
    # What is dumped is what the dump before it becomes.
    whole = runner.dumps or target.takes_launches
    kernels = cloned(module, only=None if whole else "tile.kernel")
    runner.run(target.stages.kernel_pipeline, kernels.operation)
    runner.dump(target.level, kernels.operation)
    return kernels


def _code(runner: Runner, module: ir.Module) -> Any:
    """The loaded code of a program's kernels, made now unless it is kept."""
    target, options, report = runner.target, runner.options, runner.report
    key = runner.code_key = target.key(module, runner.kernel_key())
    if runner.takes_kept_code:
        if (found := target.find(key, options, report)) is not None:
            return found
    code = _compiled(runner, module, lowered_kernels(runner, module), key)
    if key:
        report.cache = "compiled"
    return code


def _compiled(runner: Runner, module: ir.Module, kernels: ir.Module, key: str) -> Any:
    """The loaded code of lowered kernels, which is kept under a key, if there is one.

    The module with the kernels is changed.
    """
    target, options = runner.target, runner.options
    compilation, *loading, _ = target.stages.code
    with runner.act(compilation, kernels.operation):
        erase_host_program(kernels)
        code = target.compile(kernels, options)
    for stage in loading:
        with runner.act(stage):
            code = target.load(module, code)
    return target.keep(key, options, code)
