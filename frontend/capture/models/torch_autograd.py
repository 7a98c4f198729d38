"""Autograd inside of a program: gradients, checkpoints, functions with a backward."""

from __future__ import annotations

import torch
from torch.autograd.function import Function

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models, models_named
from girih.frontend.capture.subgraph import (
    BodyTracer,
    flat_leaves,
    operand,
    results_of,
    template_of,
    trace_call,
)
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.sequence import TupleValue
from girih.frontend.capture.values.tensor import TensorValue
from girih.frontend.checkpoint import Checkpoint

_FROM_OUTSIDE = (
    "An argument of the function is the result of earlier operations, "
    "and the gradient would flow back into these."
)


@models(torch.autograd.grad)
def _grad(tracer, /, outputs, inputs, *args, **kwargs):
    """A node, where nothing that the gradient passes lies outside of the graph."""
    _check_leaves(tracer)
    return tracer.graph.call_function(
        torch.autograd.grad, [outputs, inputs, *args], kwargs
    )


def _check_leaves(tracer) -> None:
    for given in tracer.graph.inputs:
        real = given.real
        is_tensor = isinstance(real, torch.Tensor)
        if is_tensor and real.requires_grad and not real.is_leaf:
            unsupported(
                kind="gradient that may leave the graph",
                context=str(given.source),
                explanation=_FROM_OUTSIDE,
            )
        if is_tensor:
            given.value.guard_leaf(tracer)


@models(torch.autograd.backward)
def _backward(tracer, /, *args, **kwargs):
    unsupported(
        kind="backward pass inside of the program",
        context="torch.autograd.backward",
        explanation="It writes the gradients of tensors that are not in the graph.",
        hints=("Use torch.autograd.grad, or call backward() outside.",),
    )


def needs_gradient(args) -> bool:
    """Whether a call with these values would be recorded by autograd."""
    if not torch.is_grad_enabled():
        return False
    return any(isinstance(a, TensorValue) and a.fake.requires_grad for a in args)


# Checkpoints


_OPTIONS = ("preserve_rng_state", "determinism_check", "debug", "early_stop")


# By name: torch wraps it to keep TorchDynamo away.
@models_named("torch.utils.checkpoint", "checkpoint")
def _traced_checkpoint(tracer, /, function, *args, use_reentrant=None, **kwargs):
    given = {name: kwargs.pop(name) for name in _OPTIONS if name in kwargs}
    options = {name: tracer.known(v).as_python() for name, v in given.items()}
    contexts = kwargs.pop("context_fn", None)
    if not torch.is_grad_enabled():
        return tracer.call(function, list(args), kwargs)
    if contexts is not None or kwargs or _is_reentrant(use_reentrant):
        unsupported(
            kind="form of torch.utils.checkpoint",
            context="reentrant, or with context_fn or keywords",
            explanation="Only checkpoints with use_reentrant=False and positional "
            "arguments are in a graph.",
            hints=("Give use_reentrant=False.",),
        )
    body = trace_call(tracer, function, list(args))
    target = Checkpoint(options)
    node = tracer.graph.add_call(target, (body.node, *body.lifted))
    return results_of(tracer, node, body)


def _is_reentrant(value: Value | None) -> bool:
    return value is None or value.as_python() is not False


# Functions with a backward of their own


class Context:
    """Stands for ``ctx`` while ``forward`` and ``backward`` are traced."""

    def __init__(self, needs_input_grad):
        self.needs_input_grad = needs_input_grad
        self.saved_tensors = ()

    def save_for_backward(self, *tensors):
        """Keeps them."""
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors):
        """Keeps nothing."""

    def mark_dirty(self, *tensors):
        """Without gradients a write is a write."""

    def mark_non_differentiable(self, *tensors):
        """Nothing is differentiable."""

    def set_materialize_grads(self, value):
        """There are no gradients."""


class ApplyFunction:
    """An operation: ``cls.apply`` of an ``autograd.Function``.

    Args:
        cls: The class.
    """

    def __init__(self, cls: type):
        self.__name__ = cls.__name__
        self.cls = cls

    def __call__(self, *args):
        """Runs its forward, and lets autograd know its backward."""
        return self.cls.apply(*args)


@models(Function.apply.__func__)
def _apply(tracer, /, cls, *args, **kwargs):
    if not isinstance(cls, ClassValue) or kwargs:
        unsupported(
            kind="call of an autograd.Function",
            context=repr(cls),
            explanation="Only positional arguments can be given to a graph.",
        )
    if not needs_gradient(args):
        return _forward(tracer, cls, args)[1]
    body, grad = BodyTracer(tracer, list(args)), torch.is_grad_enabled()
    with body:  # shows that it has no effect, which evaluating it would have now
        try:
            torch._C._set_grad_enabled(False)
            context, result = _forward(tracer, cls, args)
            flat_leaves(template_of(tracer, result, []))
            torch._C._set_grad_enabled(True)
            _backward_of(tracer, cls, context, result)
        finally:
            torch._C._set_grad_enabled(grad)
    body.discard()
    return tracer.graph.call_function(ApplyFunction(cls.cls), list(args), {})


def _backward_of(tracer, cls: ClassValue, context: Value, result: Value) -> None:
    """Calls ``backward``: a compiler may call it once, not whenever autograd does."""
    name = "backward" if cls.cls.vjp is Function.vjp else "vjp"
    results = result.items if isinstance(result, TupleValue) else [result]
    cotangents = [_cotangent(tracer, item) for item in results]
    tracer.call(tracer.get_attr(cls, name), [context, *cotangents], {})


def _cotangent(tracer, result: Value) -> Value:
    if not isinstance(result, TensorValue):
        return tracer.constant(None)
    with tracer.graph.evaluator.mode:
        return operand(tracer, result.fake.detach())


def _forward(tracer, cls: ClassValue, args) -> tuple[Value, Value]:
    """The context and what ``forward`` gives, without gradients."""
    forward = tracer.get_attr(cls, "forward")
    needs = [isinstance(a, TensorValue) and a.fake.requires_grad for a in args]
    needed = tracer.constant(tuple(needs))
    context = tracer.call(tracer.held(Context), [needed], {})
    has_setup = cls.cls.setup_context is not Function.setup_context
    if not has_setup:
        result = tracer.call(forward, [context, *args], {})
    else:
        result = tracer.call(forward, list(args), {})
        setup = tracer.get_attr(cls, "setup_context")
        given = tracer.from_python(tuple(args))
        tracer.call(setup, [context, given, result], {})
    _check_new(tracer, result, args)
    return context, result


def _check_new(tracer, result: Value, args) -> None:
    """autograd gives a view of an input that ``forward`` returns as it is."""
    leaves: list[Value] = []
    template_of(tracer, result, leaves)
    given = {arg.node for arg in args if isinstance(arg, TensorValue)}
    if any(leaf.node in given for leaf in leaves):
        unsupported(
            kind="autograd.Function that returns its input",
            explanation="The result is a view that autograd makes.",
            hints=("Return a new tensor, or a view of the input.",),
        )
