"""The driver: from a captured graph to a callable. Only it sees every stage.

::

    gm ── import_graph ──► graph ── lowering ──► program                  inference
                             └── training ──► forward, backward ...       with gradients

* ``lowering``    a ``graph`` module becomes a program
* ``training``    derivatives: joint functions, backward programs, higher orders;
  ``interface`` what they are to autograd, ``gradient_function`` the next order,
  ``modules`` how they wait
* ``cpu_code``    code for the processor; ``gpu_code`` for a GPU; ``devices`` which
* ``failures``    what becomes of an error
* ``convention``  the program's inputs and outputs become the function's
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import torch

from girih import collector, exclusive
from girih.codegen.runtime import release_memory
from girih.codegen.runtime.cuda_graphs import forget_recordings
from girih.compiler.convention import (
    as_results,
    calls_aten_writes,
    with_calling_convention,
    without_grad,
)
from girih.compiler.cpu_code import forget_libraries
from girih.compiler.devices import CPU, device_of, example_results, why_not_on
from girih.compiler.failures import why_eager
from girih.compiler.lowering import Lowering
from girih.compiler.training import compile_differentiable
from girih.dialects import bindings
from girih.frontend.importer import ImportedGraph, import_graph
from girih.frontend.importer.host_part import Part, Split, split_host_part, whole
from girih.frontend.importer.levels import eager_run
from girih.frontend.importer.masks import simplify_masks
from girih.log import logger
from girih.options import Options
from girih.passes.registry import expand_pipeline, find_pass, is_own
from girih.reports import Report

_log = logger("compiler")

# These are imported lazily elsewhere, for programs that never compile.
_FIRST_USED_IN_A_CALL = (
    "girih.frontend.capture.bytecode.families",
    "girih.frontend.capture.models.python",
    "girih.frontend.capture.rebuilding.families",
    "girih.frontend.capture.targets",
)
# The bindings import a dialect's module when they first meet one of its ops.
_UPSTREAM_DIALECTS = ("arith", "builtin", "cf", "math", "memref", "scf", "ub", "vector")


def preload() -> None:
    """Imports what a compilation uses, so that no call waits for an import."""
    for name in _FIRST_USED_IN_A_CALL:
        import_module(name)
    for dialect in _UPSTREAM_DIALECTS:
        getattr(bindings, dialect)
    for step in (*expand_pipeline("default"), *expand_pipeline("derivatives")):
        if is_own(step.name):
            find_pass(step.name)


def reset() -> None:
    """Forgets the code that is loaded; what is in use stays alive with its users."""
    forget_libraries()
    forget_recordings()
    release_memory()


def compile_graph(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    report: Report,
) -> Callable:
    """Compiles a captured graph.

    Args:
        gm: Torch-level calls, as capture or Dynamo make them.
        example_inputs: Tensors (real or fake) and integers, one per placeholder.
        options: Options of this compilation.
        report: Filled with what is done.

    Returns:
        A callable that takes the inputs and returns the outputs, which autograd can go
        back through where eager's need a gradient. Where the program is not supported,
        or girih fails and ``options`` allow it, the graph itself, which runs eager.

    Raises:
        CompileError: A stage failed, and falling back is switched off.
    """
    if reason := _why_eager(gm, example_inputs):
        return _run_eagerly(gm, report, reason)
    try:
        with exclusive.compilation(), collector.paused():
            compiled = _compile(gm, example_inputs, options, report)
    except Exception as error:
        reason = why_eager(error, options, report, "this graph")
        return _run_eagerly(gm, report, reason)
    _log.info("%s", report)
    return compiled


def _compile(gm, example_inputs, options: Options, report: Report) -> Callable:
    device = device_of(gm, example_inputs)
    split = split_host_part(gm, example_inputs, device)
    if split is not None:
        return _compile_parts(split, options, report)
    return _compile_for(device, whole(gm, example_inputs), options, report)


def _compile_parts(split: Split, options: Options, report: Report) -> Callable:
    """Compiles a graph with tensors of the CPU and of a device."""
    device = _compile_for(split.there, split.device, options, report)
    return split.joined(_compile_host_part(split.host, options, report), device)


def _compile_host_part(part: Part, options: Options, report: Report) -> Callable:
    """Compiles what a graph computes on the CPU; what it can't compile runs eager."""
    if not any(node.op.startswith("call_") for node in part.gm.graph.nodes):
        return part.eager
    report.host = Report(name=f"{report.name}.host")
    try:
        return _compile_for(CPU, part, options, report.host)
    except Exception as error:
        report.host.fallback = why_eager(error, options, report.host, "its host part")
        return part.eager


def _compile_for(
    device: torch.device, part: Part, options: Options, report: Report
) -> Callable:
    """Compiles a graph, or a part of one, whose tensors are all on one device."""
    gm, example_inputs = part.gm, part.examples
    gradients = needs_gradients(gm, example_inputs)
    with report.stage("import"):
        simplify_masks(gm)
        imported = import_graph(
            gm,
            example_inputs,
            gradients=gradients,
            device=device,
            random="eager" if options.fallback_random else None,
        )
    imported.lifted[:] = [constant.to(device) for constant in imported.lifted]
    eager = _fallback(part, imported)
    module = imported.module
    if gradients:
        program = compile_differentiable(module, options, report, eager, device)
    else:
        program = Lowering(options, report, device).program(module, "graph", eager)
        if torch.is_grad_enabled() and _is_recorded(example_inputs, imported):
            program = without_grad(program)
    return with_calling_convention(program, imported)


def _is_recorded(example_inputs: Sequence[Any], imported: ImportedGraph) -> bool:
    """Whether autograd would see what ATen does for a program without gradients."""
    needs = any(getattr(value, "requires_grad", False) for value in example_inputs)
    return needs or calls_aten_writes(imported.module)


def needs_gradients(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> bool:
    """Whether eager's run of a graph would be recorded by autograd."""
    tensors = [value for value in example_inputs if isinstance(value, torch.Tensor)]
    if any(tensor.requires_grad for tensor in example_results(gm)):
        return torch.is_grad_enabled() or _enables_grad(gm)
    return any(t.requires_grad for t in tensors) and _computes_with_grad(gm)


def _why_eager(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> str | None:
    """Why a graph is left to eager before it is looked at, or None."""
    mode = torch.is_inference_mode_enabled()
    if any(result.is_inference() != mode for result in example_results(gm)):
        return "a result is made in another inference mode than that of the call"
    return why_not_on(device_of(gm, example_inputs))


def _enables_grad(gm: torch.fx.GraphModule) -> bool:
    """Whether a graph that starts without grad mode switches it on."""
    nodes = gm.graph.find_nodes(op="call_function", target=torch._C._set_grad_enabled)
    return any(node.args[0] for node in nodes)


def _computes_with_grad(gm: torch.fx.GraphModule) -> bool:
    """Whether a graph calls anything in grad mode: an optimizer's step does not."""
    mode = torch.is_grad_enabled()
    for node in gm.graph.nodes:
        if node.target is torch._C._set_grad_enabled:
            mode = node.args[0]
        elif mode and node.op.startswith("call_"):
            return True
    return False


def _run_eagerly(gm, report: Report, reason: str) -> Callable:
    report.fallback = reason
    _log.info("%s", report)
    return eager_run(gm)


def _fallback(part: Part, imported: ImportedGraph) -> Callable:
    """Runs the graph eager on the arguments of the program.

    A kernel that meets an index out of range stops there: the eager run raises
    eager's own error.
    """
    forward, indices = part.eager, imported.input_indices
    constants = list(part.examples)
    for index in indices:
        constants[index] = None  # the caller's tensors are not kept alive

    def run(*arguments):
        values = list(constants)
        for position, value in zip(indices, arguments, strict=False):
            values[position] = value
        outputs = forward(*values)
        return outputs if imported.is_plain else as_results(outputs, imported)

    return run
