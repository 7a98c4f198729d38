"""The driver: from a captured graph to a callable. Only it sees every stage.

::

    gm ── import_graph ──► graph ── lowering ──► program                  inference
                             └── training ──► forward, backward ...       with gradients

* ``lowering``    a ``graph`` module becomes a program; ``runner`` runs its stages,
  ``kernel_code`` those from fusions on, ``tuning`` measures
* ``training``    derivatives: joint functions, backward programs, higher orders;
  ``interface`` what they are to autograd, ``gradient_function`` the next order,
  ``modules`` how they wait
* ``target``      what the driver asks of a target: ``cpu_code`` for the processor,
  ``gpu_code`` for a GPU; ``targets`` and ``devices`` say which
* ``hints``       logs which operations are library calls
* ``rest``        a module of any level, such as dumped IR, becomes a program
* ``failures``    what becomes of an error; ``mistakes`` where it is not girih's
* ``decisions``   decisions of passes that the user limits, or draws
* ``overrides``   edited files that take the place of what is compiled
* ``first_inputs``  what a program is called with first, beside its dumped IR
* ``diagram``     draws the fused graph
* ``convention``  the program's inputs and outputs become the function's
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import torch

from girih import collector, exclusive, signals, tally
from girih.codegen.runtime import release_memory
from girih.codegen.runtime.cuda_graphs import forget_recordings
from girih.compiler import keeping
from girih.compiler.aliases import aliases_of, shown_as_another_dtype
from girih.compiler.convention import (
    as_results,
    owners_of,
    with_calling_convention,
    without_grad,
)
from girih.compiler.cpu_code import forget_libraries
from girih.compiler.devices import CPU, device_of, example_results, why_not_on
from girih.compiler.eager_graph import Eager, read_eager_graph
from girih.compiler.failures import kind_of, leave
from girih.compiler.frozen import freezes, frozen_program
from girih.compiler.inference import (
    inside_inference_mode,
    made_in_another_mode,
    with_results_made_anew,
    writes_inference_tensors,
)
from girih.compiler.lowering import Lowering
from girih.compiler.mistakes import raises_in_eager, told_after_eager
from girih.compiler.pieces import compile_pieces, may_be_broken, needs_pieces
from girih.compiler.training import compile_differentiable
from girih.dialects import bindings
from girih.errors import SourceLocation, UnsupportedError
from girih.fallbacks import Site, counted, for_now, with_reasons
from girih.frontend.importer import ImportedGraph, import_graph
from girih.frontend.importer.execution import source_of
from girih.frontend.importer.functions import has_traced_backwards
from girih.frontend.importer.host_part import Part, Split, split_host_part, whole
from girih.frontend.importer.levels import eager_run
from girih.frontend.importer.masks import simplify_masks
from girih.frontend.importer.nodes import value_of
from girih.log import logger
from girih.options import Options
from girih.passes import stages
from girih.passes.registry import expand_pipeline, find_pass, is_own
from girih.passes.user_passes import with_plugins
from girih.reports import Ran, Report

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


@exclusive.compilation()
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
        UnsupportedError: The program is not supported, likewise.
    """
    if options.passes is not None:
        report.places = options.passes.places()
    keeping.note_graph(gm.graph)
    site = site_of(gm, options, report)
    if kind := _why_eager(gm, example_inputs, site, report):
        return _run_eagerly(gm, report, kind)
    if needs_pieces(gm):
        keeping.refuse("the graph is split, since Python needs a value in it")
        return compile_pieces(gm, example_inputs, options, report, compile_graph)
    anew = made_in_another_mode(gm, _made_by(gm)) or ()
    try:
        with collector.paused(), signals.in_steps():
            compiled = _compile(gm, example_inputs, options, report, site)
            compiled = with_results_made_anew(compiled, anew)
    except Warning:  # the program made errors of warnings
        raise
    except Exception as error:
        if may_be_broken(gm, error) and not anew:
            return compile_pieces(
                gm, example_inputs, options, report, compile_graph, error
            )
        return _left(gm, example_inputs, site, error, report)
    tally.add("graphs")
    _log.info("%s", report)
    return compiled


def _left(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    site: Site,
    error: Exception,
    report: Report,
) -> Callable:
    """What runs in place of a graph that can't be compiled.

    Where eager raises, too, the graph is wrong, and that is all there is to say.

    Raises:
        CompileError: A stage failed, and falling back is switched off.
        UnsupportedError: The program is not supported, likewise.
    """
    tell = partial(leave, site, error, report)
    if not site.is_allowed and not raises_in_eager(gm, example_inputs):
        tell()
    kind = kind_of(error)
    run = told_after_eager(_run_eagerly(gm, report, kind), tell)
    return for_now(run) if kind == "resources" else run


def site_of(gm: torch.fx.GraphModule, options: Options, report: Report) -> Site:
    """What is asked where the graph, or a call of it, is left to eager."""
    return Site("this graph", options.falls_back(), _place(gm), report.fallbacks)


def _place(gm: torch.fx.GraphModule) -> SourceLocation | None:
    """The user's line with which a graph begins, where known."""
    calls = (node for node in gm.graph.nodes if node.op.startswith("call_"))
    return next(filter(None, map(source_of, calls)), None)


def _compile(
    gm, example_inputs, options: Options, report: Report, site: Site
) -> Callable:
    device = device_of(gm, example_inputs)
    split = split_host_part(gm, example_inputs, device)
    if split is not None:
        return _compile_parts(split, options, report, site)
    return _compile_for(device, whole(gm, example_inputs), options, report, site)


def _compile_parts(
    split: Split, options: Options, report: Report, site: Site
) -> Callable:
    """Compiles a graph with tensors of the CPU and of a device."""
    device = _compile_for(split.there, split.device, options, report, site)
    return split.joined(_compile_host_part(split.host, options, report), device)


def _compile_host_part(part: Part, options: Options, report: Report) -> Callable:
    """Compiles what a graph computes on the CPU; what it can't compile runs eager."""
    if not any(node.op.startswith("call_") for node in part.gm.graph.nodes):
        return part.eager
    host = report.host = Report(name=f"{report.name}.host")
    what = "what this graph computes on the CPU"
    site = Site(what, options.falls_back(), _place(part.gm), host.fallbacks)
    try:
        return _compile_for(CPU, part, options, host, site)
    except Exception as error:
        leave(site, error, host)
        return counted(site.found[-1].kind, part.eager)


def _compile_for(
    device: torch.device, part: Part, options: Options, report: Report, site: Site
) -> Callable:
    """Compiles a graph, or a part of one, whose tensors are all on one device."""
    gm, example_inputs = part.gm, part.examples
    gradients = needs_gradients(gm, example_inputs)
    start = time.perf_counter()
    with report.stage(stages.IMPORT.name):
        simplify_masks(gm)
        imported = import_graph(
            gm,
            example_inputs,
            gradients=gradients,
            device=device,
            random="eager" if options.fallback_random else None,
            shown=shown_as_another_dtype(gm),
        )
    kind = "joint" if gradients else "inference"
    spent = time.perf_counter() - start
    report.ran.append(Ran(kind, stages.IMPORT.name, spent))
    imported.lifted[:] = [constant.to(device) for constant in imported.lifted]
    eager = _eager(part, imported)
    module = imported.module
    known = (
        Eager(eager, read_eager_graph(gm, imported), not has_traced_backwards(gm))
        if gradients
        else None
    )
    if with_plugins(options.passes).steps:
        lowering = Lowering(options, report, device, kind)
        if steps := lowering.users.at(kind, "after", stages.IMPORT.name):
            lowering.dump("imported", module.operation, lambda: steps)
        lowering.run_users("after", stages.IMPORT, module.operation)
    is_inside = writes_inference_tensors(imported, example_inputs)
    if known is not None:
        program = compile_differentiable(module, options, report, known, device, site)
    else:
        fall_back = with_reasons(site, eager)
        lowering = Lowering(options, report, device)
        if freezes(options, device):
            program = frozen_program(lowering, module, fall_back)
        else:
            program = lowering.program(module, "graph", fall_back)
        if torch.is_grad_enabled() and _is_recorded(example_inputs, lowering):
            program = without_grad(program)
    program = with_calling_convention(program, imported, aliases_of(gm))
    if is_inside:
        return inside_inference_mode(program, gm, part.eager, site)
    return program


def _is_recorded(example_inputs: Sequence[Any], lowering: Lowering) -> bool:
    """Whether autograd would see what ATen does for a program without gradients."""
    needs = any(getattr(value, "requires_grad", False) for value in example_inputs)
    return needs or lowering.has_aten_write


def needs_gradients(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> bool:
    """Whether eager's run of a graph would be recorded by autograd."""
    tensors = [value for value in example_inputs if isinstance(value, torch.Tensor)]
    if any(tensor.requires_grad for tensor in example_results(gm)):
        return torch.is_grad_enabled() or _enables_grad(gm)
    return any(t.requires_grad for t in tensors) and _computes_with_grad(gm)


def _why_eager(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], site: Site, report: Report
) -> str | None:
    """The kind of fallback of a graph that is not even looked at, or None."""
    anew = made_in_another_mode(gm, _made_by(gm))
    if anew is None or (anew and needs_pieces(gm)):
        kind = "inference mode"
        why = "a result is made in another inference mode than that of the call"
    elif why := why_not_on(device_of(gm, example_inputs)):
        kind = "device"
    else:
        return None
    error = UnsupportedError(kind, why, location=site.place)
    report.fallback = site.leave(kind, error).reason
    return kind


def _made_by(gm: torch.fx.GraphModule) -> Iterator[torch.Tensor]:
    """The results whose memory is their own: the others are what their inputs are."""
    inputs = map(value_of, gm.graph.find_nodes(op="placeholder"))
    given = {_memory(value) for value in inputs if isinstance(value, torch.Tensor)}
    return (made for made in example_results(gm) if _memory(made) not in given)


def _memory(tensor: torch.Tensor) -> int:
    """What identifies a tensor's memory: a sparse one has several, and no storage."""
    if tensor.layout is not torch.strided:
        return id(tensor)
    return tensor.untyped_storage()._cdata


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


def _run_eagerly(gm, report: Report, kind: str) -> Callable:
    _log.info("%s", report)
    return counted(kind, eager_run(gm))


def _eager(part: Part, imported: ImportedGraph) -> Callable:
    """Runs the graph eager on the arguments of the program.

    A kernel that meets an index out of range stops there: the eager run raises
    eager's own error.
    """
    forward, indices = part.eager, imported.input_indices
    # The caller's tensors are not kept alive: those that nothing reads are left out.
    constants = [None if torch.is_tensor(x) else x for x in part.examples]
    for index in indices:
        constants[index] = None
    owners = {} if imported.is_plain else owners_of(imported)

    def run(*arguments):
        values = list(constants)
        for position, value in zip(indices, arguments, strict=False):
            values[position] = value
        for number, bits in imported.bits.items():
            values[indices[number]] = bits.toggled(arguments[number])
        outputs = forward(*values)
        return outputs if imported.is_plain else as_results(outputs, imported, owners)

    return run
