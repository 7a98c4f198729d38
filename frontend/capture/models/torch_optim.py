"""torch's optimizers: one graph for a whole step.

Their Python is followed as any other. Models stand for what makes it more than one
graph, or a worse one: the graph breaks that ask TorchDynamo for them, the number of
steps read from a tensor, and implementations with a kernel of their own or one
parameter at a time, in whose place the one on lists of tensors is followed. So the
trace has a node for each operation on all parameters.
"""

from __future__ import annotations

import importlib
import inspect
import types

import torch
from torch.optim import lr_scheduler
from torch.optim import optimizer as _optimizer

from girih.frontend.capture.models.registry import (
    before_tracing,
    models,
    models_named,
    models_of_code,
)
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.sequence import ListValue, TupleValue
from girih.frontend.capture.values.tensor import TensorValue


def _named(code: types.CodeType, name: str) -> types.CodeType:
    """The code of a function that a function defines."""
    return next(c for c in code.co_consts if getattr(c, "co_name", None) == name)


@models_of_code(_named(_optimizer._use_grad_for_differentiable.__code__, "_use_grad"))
def _step_with_grad_mode(tracer, /, function, optimizer, *args, **kwargs):
    """``step`` without gradients, unless the optimizer is to be differentiated.

    The original breaks the graph around the call, to please another compiler.
    """
    _make_state(tracer, optimizer)
    step = _cells(tracer, function)["func"].content
    defaults = tracer.get_attr(optimizer, "defaults")
    wanted = tracer.get_item(defaults, tracer.constant("differentiable"))
    before = torch.is_grad_enabled()
    tracer.state.set_grad(wanted.truth(tracer))
    try:
        return tracer.call(step, [optimizer, *args], kwargs)
    finally:
        tracer.state.set_grad(before)


def _cells(tracer, function) -> dict[str, Value]:
    names = function.code.co_freevars
    return dict(zip(names, function.closure(tracer), strict=True))


def _make_state(tracer, optimizer: Value) -> None:
    """Makes the state that the first step would make, so that it is like all others.

    A step that finds it made does the same, also where this one is not captured: there
    are zeros in it. So it may be made before the step runs, unless that is about to see
    other gradients than those that are there.
    """
    real = getattr(optimizer, "real", None)
    if not isinstance(real, torch.optim.Optimizer) or _changes_gradients(tracer):
        return
    make = getattr(real, "_init_group", None)
    if make is None or not make.__func__.__module__.startswith("torch.optim."):
        return
    lists = list(inspect.signature(make).parameters)[1:]
    try:
        with torch.no_grad():
            for group in real.param_groups:
                make(group, *([] for _ in lists))
    except Exception:  # the traced step comes to it, too
        return


def _changes_gradients(tracer) -> bool:
    changes = tracer.effects.objects.values()
    return any(isinstance(change.owner, TensorValue) for change in changes)


def _of_scheduler() -> types.CodeType:
    """The code of what a scheduler puts around ``step``, to know that it was called."""
    code = inspect.unwrap(lr_scheduler.LRScheduler.__init__).__code__
    for name in ("patch_track_step_called", "wrap_step", "wrapper"):
        code = _named(code, name)
    return code


@before_tracing(_of_scheduler())
def _note_call(step: types.FunctionType) -> None:
    """Notes now that ``step`` was called, so that the first call is like all others."""
    cells = dict(zip(step.__code__.co_freevars, step.__closure__, strict=True))
    optimizer = cells["opt_ref"].cell_contents()
    if optimizer is not None:
        optimizer._opt_called = True


def _unmarked(function: types.FunctionType) -> types.FunctionType:
    """A function that torch keeps away from TorchDynamo, under a name of its own."""
    original = inspect.unwrap(function)
    copy = types.FunctionType(
        original.__code__, original.__globals__, original.__name__
    )
    copy.__defaults__, copy.__kwdefaults__ = (
        original.__defaults__,
        original.__kwdefaults__,
    )
    copy.__qualname__ = f"{original.__qualname__} of torch"
    return copy


def _follow_in_spite_of_marks(cls: type, name: str) -> None:
    """A method that torch, or TorchDynamo once it is loaded, marks as not traceable."""
    original = _unmarked(vars(cls)[name])

    @models_named(cls.__module__, f"{cls.__qualname__}.{name}")
    def model(tracer, /, *args, **kwargs):
        return tracer.call(tracer.held(original), list(args), kwargs)


_follow_in_spite_of_marks(_optimizer.Optimizer, "zero_grad")
for _cls in vars(torch.optim).values():
    if isinstance(_cls, type) and "_init_group" in vars(_cls):
        _follow_in_spite_of_marks(_cls, "_init_group")


@models(_optimizer._get_value)
def _get_value(tracer, value):
    """A number of steps stays a tensor, as wide as the Python number would be."""
    if not isinstance(value, TensorValue) or value.fake.dtype == torch.float64:
        return value
    return tracer.graph.call_method("double", [value], {})


# Implementations


_FAMILIES = "adadelta adagrad adam adamax asgd nadam radam rmsprop rprop sgd".split()
# Of SGD, lists with gradients of all parameters are written.
_WRITES_GRADS = "nesterov"


def _register_implementations() -> None:
    for family in _FAMILIES:
        module = importlib.import_module(f"torch.optim.{family}")
        together = getattr(module, f"_multi_tensor_{family}")
        for kind in ("single_tensor", "fused"):
            name = f"_{kind}_{family}"
            if hasattr(module, name):
                # By name: TorchDynamo, once it is loaded, wraps the fused ones.
                models_named(module.__name__, name)(_on_lists(together))


def _on_lists(function: types.FunctionType):
    """The model of an implementation: ``function``, that on lists of tensors.

    Its results are the same but for rounding, where it takes what it is given.
    """

    def model(tracer, params, grads, *lists, **options):
        given = [params, grads, *lists]
        if any(isinstance(v, TensorValue) for v in (*lists, *options.values())):
            return None  # GradScaler's tensors, or numbers that are tensors
        for name in _EXCLUDED:
            if name in options and options[name].truth(tracer):
                return None
        if _WRITES_GRADS in options and options[_WRITES_GRADS].truth(tracer):
            given[1] = _copies(tracer, grads)
        return tracer.call(tracer.held(function), given, options)

    return model


# Differentiable steps need autograd, which lists have none of.
_EXCLUDED = ("differentiable", "capturable", "has_sparse_grad")


def _takes_factors(function):
    """The model of an operation on lists whose factors may be tensors without dims.

    The number of steps is one, and so is what Python computes of it.
    """

    def model(tracer, /, tensors, *others, **kwargs):
        args = [tensors, *others]
        if len(args) == 4 and _holds_tensors(tracer, args[3]):
            args[3] = tracer.graph.call_function(torch.stack, [args[3]], {})
        return tracer.call_operation(function, args, kwargs)

    return model


def _holds_tensors(tracer, value: Value) -> bool:
    return isinstance(value, ListValue) and any(
        isinstance(item, TensorValue) for item in value.items
    )


for _function in (torch._foreach_addcdiv_, torch._foreach_addcmul_):
    models(_function)(_takes_factors(_function))


def _copies(tracer, tensors: Value) -> Value:
    made = [t.call_method(tracer, "clone", [], {}) for t in tracer.iterate(tensors)]
    return tracer.list_of(made)


_register_implementations()


@models(torch._C._group_tensors_by_device_and_dtype)
def _group_tensors(tracer, lists, with_indices=None):
    """Lists of tensors by the device and dtype of those in the first of them."""
    columns = [list(tracer.iterate(values)) for values in tracer.iterate(lists)]
    wants_indices = with_indices is not None and with_indices.truth(tracer)
    groups: dict[tuple, list[int]] = {}
    for index, tensor in enumerate(columns[0]):
        key = (tensor.fake.device, tensor.fake.dtype)
        groups.setdefault(key, []).append(index)
    pairs = []
    for key, indices in groups.items():
        chosen = [
            tracer.list_of([column[i] for i in indices] if column else [])
            for column in columns
        ]
        numbers = tracer.constant(indices if wants_indices else [])
        value = TupleValue([tracer.list_of(chosen), numbers])
        pairs.append((tracer.constant(key), value))
    return tracer.dict_of(pairs)
