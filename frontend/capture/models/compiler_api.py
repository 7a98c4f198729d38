"""Models of functions that talk to the compiler: ours, ``torch.compiler``'s, Dynamo's.

Those that only mark functions are in ``marked``.
"""

from __future__ import annotations

import sys

import torch

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models, models_named
from girih.frontend.capture.values.tensor import TensorValue

_DECORATORS = "torch._dynamo.decorators"


@models_named("girih.control", "graph_break")
@models_named(_DECORATORS, "graph_break")
@models_named(_DECORATORS, "skip_frame")
@models_named(_DECORATORS, "step_unsupported")
def _graph_break(tracer, msg=None):
    unsupported(
        kind="graph_break()",
        context="" if msg is None else str(msg.as_python()),
        explanation="The program asks for a graph break here.",
        hints=("Remove the call.",),
    )


@models_named("girih.api", "reset")
@models_named("torch._dynamo", "reset")
@models_named("torch.compiler", "reset")
def _reset(tracer):
    unsupported(
        kind="reset() of the compiler",
        explanation="It drops what was compiled, so Python has to run it.",
        hints=("Call it outside of compiled code.",),
    )


@models_named("girih.control", "is_compiling")
def _is_compiling(tracer):
    tracer.told_compiling |= tracer.says_compiling
    return tracer.constant(tracer.says_compiling)


def _register_is_compiling() -> None:
    functions = (
        torch.compiler.is_compiling,
        torch.compiler.is_dynamo_compiling,
        torch._utils.is_compiling,
    )
    for function in dict.fromkeys(functions):
        models(function)(_is_compiling)


_register_is_compiling()


@models_named("girih.dynamic", "mark_static")
@models_named(_DECORATORS, "mark_static")
def _mark_static(tracer, tensor, index=None):
    """Inside compiled code: sizes become what they are at this call."""
    if not isinstance(tensor, TensorValue):
        unsupported(
            kind="mark_static() of a class",
            context=repr(tensor),
            explanation="Inside compiled code only tensors can be marked.",
            hints=("Mark the class where it is defined.",),
        )
    dims = range(tensor.fake.ndim)
    if index is not None:
        chosen = index.as_python()
        dims = [chosen] if isinstance(chosen, int) else list(chosen)
    for dim in dims:
        tracer.known(tracer.graph.metadata(tensor, "size", [tracer.constant(dim)]))
    return tracer.constant(None)


@models(torch.compiler.cudagraph_mark_step_begin)
def _mark_step_begin(tracer):
    """A hint for CUDA graphs of torch's compiler: none of it runs here."""
    return tracer.constant(None)


@models_named("torch._higher_order_ops.invoke_subgraph", "invoke_subgraph_placeholder")
def _nested_region(tracer, /, function, *args, **kwargs):
    """``torch.compiler.nested_compile_region``: the region is followed."""
    return tracer.call(function, list(args), kwargs)


def breaks_are_errors(tracer) -> bool:
    """Whether the program is inside ``torch._dynamo.error_on_graph_break(True)``."""
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return False
    name, namespace = "_error_on_graph_break", vars(utils)
    changed = tracer.effects.globals.get((id(namespace), name))
    if changed is not None and changed[1] is not None:
        return bool(changed[1].as_python())
    return bool(namespace.get(name, False))
