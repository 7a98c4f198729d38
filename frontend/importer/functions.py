"""``torch.autograd.Function`` in a graph: its forward, and its backward as a region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.function import Function

from girih.dialects.attributes import INTS, UNIT
from girih.dialects.bindings import ir
from girih.errors import unsupported
from girih.frontend.capture.models.torch_functions import (
    check_class,
    has_setup,
    refuse_absent_gradients,
    refuse_kept,
    refuse_writes,
)
from girih.frontend.fake import fake_like
from girih.frontend.importer.builder import Operand
from girih.frontend.importer.differentiation import is_differentiable
from girih.frontend.importer.recorder import Recorder, tensors_of

# So often a backward can be derived that applies its own function.
_ORDERS = 3


class FunctionContext:
    """Stands for ``ctx`` in the methods of a function.

    Attributes:
        needs_input_grad: For each argument whether it requires a gradient.
        saved_tensors: What ``save_for_backward`` was given.
        materializes: Whether a gradient that is not there is given as zeros.
        constants: Results that have no gradient.
    """

    def __init__(self, name: str, needs_input_grad: tuple[bool, ...]):
        self._name = name
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple = ()
        self.materializes = True
        self.constants: tuple = ()

    def save_for_backward(self, *tensors: torch.Tensor | None) -> None:
        """Keeps tensors for the backward."""
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: torch.Tensor | None) -> None:
        """Keeps nothing: there is no forward mode."""

    def __getattr__(self, name: str) -> Any:
        """What was not put there."""
        refuse_kept(name)
        raise AttributeError(f"'{self._name}' object has no attribute {name!r}")

    def mark_non_differentiable(self, *tensors: torch.Tensor) -> None:
        """Says which results have no gradient."""
        self.constants = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a gradient that is not there is given as zeros."""
        self.materializes = value

    def mark_dirty(self, *tensors: torch.Tensor) -> None:
        """Refuses a forward that writes its arguments."""
        refuse_writes(self._name)


def apply_function(recorder: Recorder, cls: type[Function], args: tuple) -> Any:
    """Runs ``cls.apply(*args)``: records the forward, and the backward in a region."""
    check_class(cls, len(args))
    needed = [_requires(recorder, arg) for arg in args]
    context = FunctionContext(f"{cls.__name__}Backward", tuple(needed))
    result = _forward(cls, context, args)
    inputs = [arg for arg, need in zip(args, needed, strict=True) if need]
    outputs = [t for t in tensors_of(result) if _has_gradient(t, context)]
    if not inputs or not outputs or not torch.is_grad_enabled():
        return result
    if len(outputs) > 1 and not context.materializes:
        refuse_absent_gradients(cls)
    call = _key_of(cls, args)
    if recorder.derivatives.applied.count(call) == _ORDERS:
        _end(recorder, inputs, outputs)
        return result
    recorder.derivatives.applied.append(call)
    try:
        _Region(recorder, context, outputs).record(cls, args, result)
    finally:
        recorder.derivatives.applied.pop()
    return result


def _key_of(cls: type[Function], args: tuple) -> tuple:
    """What two calls have in common whose backward is the same.

    torch.func makes a class for each call of a function under vmap.
    """
    known = [repr(arg) for arg in args if not isinstance(arg, torch.Tensor)]
    return cls.__name__, getattr(_backward_of(cls), "__code__", cls), known


def _backward_of(cls: type[Function]) -> Any:
    return cls.backward if cls.vjp is Function.vjp else cls.vjp


def _end(recorder: Recorder, inputs: list, outputs: list) -> None:
    """Has results give no derivative: asking for one is refused."""
    sources = [recorder.operand(tensor) for tensor in inputs]
    for output in outputs:
        value = recorder.derivatives.once(recorder.operand(output), sources)
        recorder.tracked(output).give_history(value)


def _requires(recorder: Recorder, value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or not is_differentiable(value.dtype):
        return False
    return recorder.derivatives.is_active(recorder.operand(value).value)


def _has_gradient(tensor: torch.Tensor, context: FunctionContext) -> bool:
    if any(tensor is constant for constant in context.constants):
        return False
    return is_differentiable(tensor.dtype)


def _forward(cls: type, context: FunctionContext, args: tuple) -> Any:
    with torch.no_grad():
        if not has_setup(cls):
            return _apart(cls.forward(context, *args), args)
        result = cls.forward(*args)
        cls.setup_context(context, args, result)
        return _apart(result, args)


def _apart(result: Any, args: tuple) -> Any:
    """The results, with views for those that are arguments, as autograd makes them."""
    if isinstance(result, tuple):
        return tuple(_apart(item, args) for item in result)
    if isinstance(result, torch.Tensor) and any(result is arg for arg in args):
        return result.view_as(result)
    return result


def _is_once_differentiable(backward: Any) -> bool:
    code = getattr(backward, "__code__", None)
    return code is not None and code in _ONCE.co_consts


def _call(backward: Any, context: FunctionContext, cotangents: list) -> Any:
    """What a backward gives.

    The wrapper of ``once_differentiable`` asks whether its result is derived again.
    """
    if not _is_once_differentiable(backward):
        return backward(context, *cotangents)
    with torch.no_grad():
        return backward.__wrapped__(context, *cotangents)


# The wrapper that it makes is one of its constants.
_ONCE = torch.autograd.function.once_differentiable.__code__


def has_traced_backwards(gm: torch.fx.GraphModule) -> bool:
    """Whether TorchDynamo traced the backward of a function: see `_is_traced`."""
    names = (name.rpartition(".")[2] for name, _ in gm.named_modules())
    return any(name.startswith("bwd_body") for name in names)


def _is_traced(backward: Any) -> bool:
    """Whether TorchDynamo traced a backward: without grad mode, whatever eager does.

    Where the backward itself switches grad mode off is not in its graph, so what eager
    would derive again is not known.
    """
    name = getattr(backward, "__qualname__", "")
    return name.startswith("AutogradFunctionApply.")


class _Region:
    """The op ``graph.custom_vjp`` of one call."""

    def __init__(self, recorder: Recorder, context: FunctionContext, outputs: list):
        """Args: ``outputs`` are the results that have a gradient."""
        self._recorder = recorder
        self._context = context
        self._outputs = outputs

    def record(self, cls: type, args: tuple, result: Any) -> None:
        """Makes the op; its results are the values of the outputs."""
        backward = _backward_of(cls)
        recorder, builder = self._recorder, self._recorder.builder
        needed = self._context.needs_input_grad
        inputs = [arg for arg, need in zip(args, needed, strict=True) if need]
        values = [recorder.operand(tensor) for tensor in self._outputs]
        operands = [values, [recorder.operand(tensor) for tensor in inputs]]
        types = [(value.shape, value.dtype) for value in values]
        made, block = builder.region_op("custom_vjp", operands, types * 2, *types)
        arguments = [
            Operand(argument, *type_)
            for argument, type_ in zip(block.arguments, types * 2, strict=True)
        ]
        tensors, numbers = recorder.table.scope(), recorder.scalars.scope()
        with tensors, numbers, builder.inside(block), torch.enable_grad():
            for argument in arguments:
                recorder.derivatives.add_source(argument.value)
            self._put(arguments[len(values) :])
            recorder.derivatives.cotangents += arguments[: len(values)]
            cotangents = self._cotangents(result, arguments[: len(values)])
            given = _as_tuple(_call(backward, self._context, cotangents))
            gradients = self._gradients(cls, args, given)
            sources = arguments[: len(values)]
            is_traced = _is_traced(backward)
            if is_traced:  # derivatives by what the forward saved are not there, either
                sources = [*sources, *operands[1]]
            if is_traced or _is_once_differentiable(backward):
                once = recorder.derivatives.once
                gradients = [once(gradient, sources) for gradient in gradients]
            builder.finish(gradients)
        self._mark(made[0].value.owner, given)
        self._put(made)
        self._drop_outputs(block)

    def _mark(self, op: ir.OpView, given: tuple) -> None:
        """Says which inputs get no gradient, and that zeros are given for none."""
        needed = self._context.needs_input_grad
        found = [x for x, need in zip(given, needed, strict=False) if need]
        if absent := [n for n, gradient in enumerate(found) if gradient is None]:
            op.attributes["absent"] = INTS.encode(absent)
        if self._context.materializes:
            op.attributes["materializes"] = UNIT.encode(True)

    def _put(self, values: Sequence[Operand]) -> None:
        for tensor, value in zip(self._outputs, values, strict=True):
            self._recorder.tracked(tensor).give_history(value)

    def _drop_outputs(self, block: ir.Block) -> None:
        """Takes the arguments that stand for the outputs, where nothing uses them."""
        count = len(self._outputs)
        outputs = list(block.arguments)[count:]
        if not any(list(output.uses) for output in outputs):
            for output in reversed(outputs):
                self._recorder.derivatives.forget(output)
                block.erase_argument(output.arg_number)

    def _cotangents(self, result: Any, arguments: list[Operand]) -> list:
        """What ``backward`` gets for each result of ``forward``."""
        recorder, left = self._recorder, iter(arguments)
        cotangents: list[torch.Tensor | None] = []
        for item in _as_tuple(result):
            if any(item is output for output in self._outputs):
                fake = fake_like(recorder.fake_mode, item)
                recorder.table.add_base(fake, next(left))
                cotangents.append(fake)
            elif isinstance(item, torch.Tensor) and self._context.materializes:
                cotangents.append(torch.zeros_like(item))
            else:
                cotangents.append(None)
        return cotangents

    def _gradients(self, cls: type, args: tuple, given: tuple) -> list[Operand]:
        """A value for each input that needs a gradient, as autograd checks them."""
        needed = self._context.needs_input_grad
        if len(given) < len(args) or any(x is not None for x in given[len(args) :]):
            unsupported(
                kind="backward with another number of gradients",
                context=f"{cls.__name__}: {len(given)} for {len(args)} arguments",
                explanation="Eager raises autograd's own error.",
            )
        pairs = zip(args, given, needed, strict=False)
        return [self._gradient(arg, found) for arg, found, need in pairs if need]

    def _gradient(self, arg: torch.Tensor, found: torch.Tensor | None) -> Operand:
        if found is None:
            return self._recorder.builder.full((), 0.0, arg.dtype)
        if found.shape != arg.shape:
            found = found.sum_to_size(arg.shape)
        if found.is_complex() and not arg.is_complex():
            found = torch.real(found)
        return self._recorder.operand(found.to(arg.dtype))


def _as_tuple(value: Any) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)
