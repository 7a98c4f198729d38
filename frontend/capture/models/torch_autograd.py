"""Autograd inside of a program: gradients and checkpoints."""

from __future__ import annotations

import torch

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models, models_named
from girih.frontend.capture.subgraph import results_of, trace_call
from girih.frontend.capture.values.base import Value
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
