"""torch's global state: what is read is guarded, what is switched is in the graph."""

from __future__ import annotations

import types

import torch
from torch.amp import autocast_mode
from torch.autograd import grad_mode
from torch.autograd.profiler import record_function

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.switches import DETERMINISTIC, READS, WRITES

# Facts that no program changes: asked while tracing.
_FACTS = (
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
    torch._C._is_flash_attention_available,
    torch._C._is_xnnpack_enabled,
    torch._C._get_cpu_capability,
    torch._C._has_distributed,
    torch._C._accelerator_getAccelerator,
)

# State that GlobalStateGuard checks at each call.
_COVERED = (
    torch.is_autocast_enabled,
    torch.is_autocast_cache_enabled,
    torch._C._is_any_autocast_enabled,
    torch.is_autocast_cpu_enabled,
    torch.is_autocast_xla_enabled,
)

# State that has a guard where it is read.
_GUARDED = (
    torch.is_inference_mode_enabled,
    torch.get_autocast_dtype,
    torch.get_autocast_cpu_dtype,
    torch.get_autocast_gpu_dtype,
)


def _register_reads() -> None:
    for function in (*_FACTS, *_COVERED):
        models(function)(_folding(function))
    for function in (*_GUARDED, *READS):
        models(function)(_reading(function))
    for function in WRITES:
        models(function)(_writing(function))


def _folding(function):
    def model(tracer, /, *args, **kwargs):
        items = [arg.as_python() for arg in args]
        named = {name: value.as_python() for name, value in kwargs.items()}
        return tracer.held(tracer.fold_raw(function, *items, **named))

    return model


def _reading(function):
    def model(tracer, *args):
        items = tuple(arg.as_python() for arg in args)
        return tracer.constant(tracer.state.read(function, *items))

    return model


def _writing(function):
    switch = WRITES[function]

    def model(tracer, *args):
        values = tuple(arg.as_python() for arg in args)
        tracer.fold_raw(tracer.state.switch, switch, values)  # it may refuse them
        return tracer.constant(None)

    return model


_register_reads()


@models(torch._C._set_deterministic_algorithms, torch.use_deterministic_algorithms)
def _set_deterministic(tracer, mode, *, warn_only=None):
    only = warn_only is not None and warn_only.as_python()
    tracer.fold_raw(
        tracer.state.switch, DETERMINISTIC, (bool(mode.as_python()), bool(only))
    )
    return tracer.constant(None)


@models(torch._C._set_grad_enabled)
def _set_grad_enabled(tracer, enabled):
    tracer.state.set_grad(enabled.as_python())
    return tracer.constant(None)


# Regions


@models(autocast_mode.autocast.__enter__)
def _enter_autocast(tracer, manager):
    names = ("device", "fast_dtype", "_enabled", "_cache_enabled")
    settings = [tracer.get_attr(manager, name).as_python() for name in names]
    tracer.state.enter_autocast(manager, settings)
    return manager


@models(autocast_mode.autocast.__exit__)
def _exit_autocast(tracer, manager, *exception):
    tracer.state.exit(manager)
    return tracer.constant(False)


@models(grad_mode.inference_mode.__enter__)
def _enter_inference_mode(tracer, manager):
    mode = tracer.get_attr(manager, "mode").as_python()
    tracer.state.enter_inference_mode(manager, mode)
    return tracer.constant(None)


@models(grad_mode.inference_mode.__exit__)
def _exit_inference_mode(tracer, manager, *exception):
    tracer.state.exit(manager)
    return tracer.constant(None)


@models(torch.device.__enter__)
def _enter_device(tracer, device):
    tracer.state.enter_device(device)
    return device


@models(torch.device.__exit__)
def _exit_device(tracer, device, *exception):
    tracer.state.exit(device)
    return tracer.constant(None)


@models(record_function.__enter__)
def _enter_record(tracer, record):
    name = tracer.get_attr(record, "name").as_python()
    tracer.state.enter_record(record, str(name))
    return record


@models(record_function.__exit__)
def _exit_record(tracer, record, *exception):
    tracer.state.exit(record)
    return tracer.constant(None)


@models(torch.get_default_device)
def _get_default_device(tracer):
    device = tracer.state.default_device
    if device is None:
        return tracer.constant(torch.device("cpu"))
    if device.index is None and device.type not in ("cpu", "meta"):
        device = torch.empty(0, device=device).device
    return tracer.constant(device)


def _unmodelled_switch(function: types.FunctionType):
    def model(tracer, /, *args, **kwargs):
        unsupported(
            kind="switch of torch's global state",
            context=f"torch.{function.__name__}",
            explanation=(
                "Python makes the switch between two graphs, so that each runs in "
                "the right state."
            ),
            hints=("Call it before the compiled function.",),
        )

    return model


_UNMODELLED = (torch.set_default_device, torch.set_default_tensor_type)
for _function in _UNMODELLED:
    models(_function)(_unmodelled_switch(_function))


def no_dispatch_modes(_) -> bool:
    """Whether no torch dispatch mode is active; nothing is captured under one."""
    return torch._C._len_torch_dispatch_stack() == 0


@models(torch._C._len_torch_dispatch_stack)
def _len_torch_dispatch_stack(tracer):
    # A call with tensors is checked for modes anyway, one without them is not.
    tracer.guards.add(tracer.roots.function, "call", no_dispatch_modes)
    return tracer.constant(0)
