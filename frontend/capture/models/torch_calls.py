"""What calls of torch's functions become: nodes, constants, or state changes."""

from __future__ import annotations

import types
from typing import Any

import torch
from torch import overrides
from torch.amp import autocast_mode

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models, models_named
from girih.frontend.capture.values.tensor import TensorValue

# Python functions of these modules are operations; all others of torch are followed.
_OPERATION_MODULES = frozenset(
    """torch.functional torch.nn.functional torch._tensor torch.special torch.linalg
    torch.fft torch._C._nn torch._C._linalg torch._C._special torch._C._fft
    torch._lobpcg torch.signal.windows.windows""".split()
)


def is_operation(function: Any) -> bool:
    """Whether a callable computes tensors, as a node of the graph."""
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return True
    if isinstance(function, types.FunctionType):
        return function.__module__ in _OPERATION_MODULES
    if isinstance(function, types.BuiltinFunctionType):
        return _is_builtin_operation(function)
    return False


def _is_builtin_operation(function: types.BuiltinFunctionType) -> bool:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, type):  # torch.relu is a static method of a class
        return owner.__module__.startswith("torch._C")
    module = getattr(function, "__module__", None) or getattr(owner, "__name__", "")
    if module in _OPERATION_MODULES:
        return True
    return module.startswith("torch") and hasattr(
        torch._C._VariableFunctions, function.__name__
    )


def is_tensor_method(function: Any) -> bool:
    """Whether a callable is a method of tensors, taken from the class."""
    owner = getattr(function, "__objclass__", None)
    return owner is not None and issubclass(torch.Tensor, owner)


def _always(value: Any):
    return lambda tracer, *args, **kwargs: tracer.constant(value)


_CONSTANT_RESULTS = {
    torch.compiler.is_compiling: True,
    torch.compiler.is_dynamo_compiling: True,
    torch.compiler.is_exporting: False,
    torch._utils.is_compiling: True,
    torch.jit.is_scripting: False,
    torch.jit.is_tracing: False,
    torch._jit_internal.is_scripting: False,
    torch._C._get_tracing_state: None,
    overrides.has_torch_function: False,
    overrides.has_torch_function_unary: False,
    overrides.has_torch_function_variadic: False,
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

# Functions of torch's global state: asked while tracing, and guarded together.
_STATE_READS = (
    torch.is_grad_enabled,
    torch.is_inference_mode_enabled,
    torch.get_default_dtype,
    torch.get_default_device,
    torch.is_autocast_enabled,
    torch.get_autocast_dtype,
    torch.is_autocast_cache_enabled,
    torch.are_deterministic_algorithms_enabled,
    torch.is_anomaly_enabled,
    torch.cuda.is_available,
    torch.cuda.device_count,
    torch.cuda.get_device_capability,
    torch.finfo,
    torch.iinfo,
    torch.promote_types,
    torch.can_cast,
    torch.amp.is_autocast_available,
    torch.backends.cuda.is_flash_attention_available,
    torch._C._get_privateuse1_backend_name,
    torch._C._is_tracing,
)


def _register_reads() -> None:
    for function in _STATE_READS:
        models(function)(_folding(function))


def _folding(function):
    def model(tracer, *args, **kwargs):
        items = [arg.as_python() for arg in args]
        named = {name: value.as_python() for name, value in kwargs.items()}
        return tracer.held(tracer.fold_raw(function, *items, **named))

    return model


_register_reads()


@models(torch.device)
def _device(tracer, *args, **kwargs):
    items = [tracer.known(arg).as_python() for arg in args]
    named = {name: value.as_python() for name, value in kwargs.items()}
    return tracer.constant(tracer.fold_raw(torch.device, *items, **named))


@models(torch.is_tensor)
def _is_tensor(tracer, value):
    return tracer.constant(isinstance(value, TensorValue))


@models(torch.numel)
def _numel(tracer, value):
    return value.call_method(tracer, "numel", [], {})


@models(torch._C._set_grad_enabled)
def _set_grad_enabled(tracer, enabled):
    tracer.state.set_grad(enabled.as_python())
    return tracer.constant(None)


@models(autocast_mode.autocast.__enter__)
def _enter_autocast(tracer, manager):
    names = ("device", "fast_dtype", "_enabled", "_cache_enabled")
    settings = [tracer.get_attr(manager, name).as_python() for name in names]
    tracer.state.enter_autocast(manager, settings)
    return manager


@models(autocast_mode.autocast.__exit__)
def _exit_autocast(tracer, manager, *exception):
    tracer.state.exit_autocast(manager)
    return tracer.constant(False)


@models(torch._assert, torch._check)
def _assert(tracer, condition, message=None):
    if isinstance(condition, TensorValue):
        unsupported(
            kind="assertion about a tensor's data",
            explanation="The condition is known only when the graph runs.",
        )
    if not condition.truth(tracer):
        tracer.throw(AssertionError, "assertion failed")
    return tracer.constant(None)


@models(torch.broadcast_shapes)
def _broadcast_shapes(tracer, *shapes):
    known = [tracer.known_shape(shape) for shape in shapes]
    return tracer.held(tracer.fold_raw(torch.broadcast_shapes, *known))


_STATEFUL = (
    torch.manual_seed,
    torch.seed,
    torch.initial_seed,
    torch.get_rng_state,
    torch.set_rng_state,
    torch.set_default_dtype,
    torch.set_default_device,
    torch.use_deterministic_algorithms,
    torch.save,
    torch.load,
    torch.set_num_threads,
    torch.autograd.grad,
    torch.autograd.backward,
    torch.from_numpy,
    torch.frombuffer,
    torch.utils.checkpoint.checkpoint,
    torch.cuda.synchronize,
)


def _unsupported_call(function):
    name = getattr(function, "__name__", repr(function))

    def model(tracer, *args, **kwargs):
        unsupported(
            kind="torch function with an effect outside the graph",
            context=f"torch function {name}",
            explanation="The call changes or reads state that is not in the graph.",
        )

    return model


for _function in dict.fromkeys(_STATEFUL):
    models(_function)(_unsupported_call(_function))


@models_named("torch._dynamo.mutation_guard", "GenerationTracker.tag")
def _tag_generation(tracer, *args):
    """TorchDynamo, once loaded, notes each module that is made; traced ones are not."""
    return tracer.constant(None)
