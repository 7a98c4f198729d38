"""torch's functions that are no operations and no state: constants, breaks."""

from __future__ import annotations

from typing import Any

import torch
from torch import overrides

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models, models_named
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.tensor import TensorValue


def _always(value: Any):
    return lambda tracer, *args, **kwargs: tracer.constant(value)


_CONSTANT_RESULTS = {
    torch.compiler.is_exporting: False,
    torch.jit.is_scripting: False,
    torch.jit.is_tracing: False,
    torch._jit_internal.is_scripting: False,
    torch._C._get_tracing_state: None,
    torch._C._is_torch_function_mode_enabled: False,
    torch.cuda.is_current_stream_capturing: False,
    torch._C._log_api_usage_once: None,
    torch.distributed.is_available: torch.distributed.is_available(),
}


def _register_constants() -> None:
    registered = set()
    for function, value in _CONSTANT_RESULTS.items():
        if function not in registered:
            registered.add(function)
            models(function)(_always(value))


_register_constants()


@models(torch.device)
def _device(tracer, /, *args, **kwargs):
    items = [tracer.known(arg).as_python() for arg in args]
    named = {name: value.as_python() for name, value in kwargs.items()}
    return tracer.constant(tracer.fold_raw(torch.device, *items, **named))


@models(torch.is_tensor)
def _is_tensor(tracer, obj):
    return tracer.constant(issubclass(obj.python_type(), torch.Tensor))


@models(overrides.has_torch_function)
def _has_torch_function(tracer, relevant_args):
    return tracer.constant(any(map(_overrides, tracer.iterate(relevant_args))))


@models(overrides.has_torch_function_unary, overrides.has_torch_function_variadic)
def _any_has_torch_function(tracer, *args):
    return tracer.constant(any(map(_overrides, args)))


def _overrides(value: Value) -> bool:
    """Whether an argument brings its own ``__torch_function__``."""
    if isinstance(value, TensorValue):
        return False
    override = getattr(value.python_type(), "__torch_function__", None)
    return override not in (None, torch._C._disabled_torch_function_impl)


@models(torch.numel)
def _numel(tracer, input):
    return input.call_method(tracer, "numel", [], {})


@models(torch._assert, torch._check)
def _assert(tracer, condition, message=None):
    if isinstance(condition, TensorValue):
        unsupported(
            kind="assertion about a tensor's data",
            explanation="The condition is known only when the graph runs.",
            hints=("Check it outside of compiled code.",),
        )
    if not condition.truth(tracer):
        tracer.throw(AssertionError, "assertion failed")
    return tracer.constant(None)


@models(torch.broadcast_shapes)
def _broadcast_shapes(tracer, *shapes):
    known = [tracer.known_shape(shape) for shape in shapes]
    return tracer.held(tracer.fold_raw(torch.broadcast_shapes, *known))


_STATEFUL = (
    torch.save,
    torch.load,
    torch.from_numpy,
    torch.frombuffer,
    torch.cuda.synchronize,
)


def _unsupported_call(function):
    name = getattr(function, "__name__", repr(function))

    def model(tracer, /, *args, **kwargs):
        unsupported(
            kind="torch function with an effect outside the graph",
            context=f"torch function {name}",
            explanation="The call changes or reads state that is not in the graph.",
            hints=("Call it outside of compiled code.",),
        )

    return model


for _function in dict.fromkeys(_STATEFUL):
    models(_function)(_unsupported_call(_function))


@models_named("torch._dynamo.mutation_guard", "GenerationTracker.tag")
def _tag_generation(tracer, *args):
    """TorchDynamo, once loaded, notes each module that is made; traced ones are not."""
    return tracer.constant(None)
