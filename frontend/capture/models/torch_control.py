"""Control flow that is an operation: ``torch.cond``, ``torch.while_loop``.

The branches are graph modules of their own. What runs is plain Python over them, so
gradients, devices and errors are those of the operations inside.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._higher_order_ops.while_loop import while_loop as _while_loop

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.subgraph import (
    Body,
    BodyTracer,
    operand,
    results_of,
    trace_call,
)
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.tensor import TensorValue


class Conditional:
    """Calls one of two branches.

    Args:
        counts: How many lifted values each branch takes.
    """

    __name__ = "cond"

    def __init__(self, counts: tuple[int, int]):
        self.counts = counts

    def __call__(self, on_true, on_false, predicate, *lifted) -> tuple:
        """The results of the branch that the predicate chooses."""
        middle = self.counts[0]
        if predicate:
            return on_true(*lifted[:middle])
        return on_false(*lifted[middle:])


@models(torch.cond)
def _cond(tracer, pred, true_fn, false_fn, operands=None):
    given = [] if operands is None else list(tracer.iterate(operands))
    if not isinstance(pred, TensorValue):
        chosen = true_fn if pred.truth(tracer) else false_fn
        return tracer.call(chosen, given, {})
    bodies = [trace_call(tracer, branch, given) for branch in (true_fn, false_fn)]
    _check_alike(*bodies)
    for body in bodies:
        _check_fresh(body)
    target = Conditional(tuple(len(body.lifted) for body in bodies))
    lifted = [node for body in bodies for node in body.lifted]
    modules = [body.node for body in bodies]
    node = tracer.graph.add_call(target, (*modules, pred.node, *lifted))
    return results_of(tracer, node, bodies[0])


class Loop:
    """Calls a body as long as a condition holds.

    Args:
        carried: How many values go from one trip to the next.
        lifted: How many lifted values the condition takes.
    """

    __name__ = "while_loop"

    def __init__(self, carried: int, lifted: int):
        self.carried = carried
        self.lifted = lifted

    def __call__(self, condition, body, *values) -> tuple:
        """The values that the last trip left."""
        carried, rest = values[: self.carried], values[self.carried :]
        mine, others = rest[: self.lifted], rest[self.lifted :]
        while condition(*carried, *mine)[0]:
            carried = body(*carried, *others)
        return tuple(carried)


@models(_while_loop)
def _traced_while_loop(tracer, cond_fn, body_fn, carried_inputs):
    carried = list(tracer.iterate(carried_inputs))
    if not all(isinstance(value, TensorValue) for value in carried):
        unsupported(
            kind="loop over values that are no tensors",
            context="torch.while_loop",
            explanation="Only tensors can go from one trip of the loop to the next.",
        )
    _check_without_gradients(carried)
    condition = _with_operands(tracer, cond_fn, carried)
    body = _with_operands(tracer, body_fn, carried)
    if len(carried) != len(body.results):
        _differ(carried, body.results)
    for before, after in zip(carried, body.results, strict=True):
        _check_same_facts(before, after)
    target = Loop(len(carried), len(condition.lifted))
    modules = (condition.node, body.node)
    nodes = [value.node for value in carried]
    args = (*modules, *nodes, *condition.lifted, *body.lifted)
    node = tracer.graph.add_call(target, args)
    return results_of(tracer, node, body)


def _with_operands(tracer, function: Value, values: list[Value]) -> Body:
    """Traces a function on tensors that look like some values."""
    body = BodyTracer(tracer, [function, *values])
    with body:
        made = [operand(tracer, _twin(tracer, value)) for value in values]
        result = tracer.call(function, list(made), {})
    return body.finish(result)


def _twin(tracer, value: TensorValue) -> torch.Tensor:
    with tracer.graph.evaluator.mode, torch.no_grad():
        return torch.empty_like(value.fake)


def _check_without_gradients(values: list[Value]) -> None:
    if torch.is_grad_enabled() and any(v.fake.requires_grad for v in values):
        unsupported(
            kind="loop that needs gradients",
            context="torch.while_loop",
            explanation="How often the loop runs is not known while tracing.",
        )


def _check_alike(first: Body, second: Body) -> None:
    same = len(first.results) == len(second.results)
    if not same or str(first.template) != str(second.template):
        _differ(first.template, second.template)
    for left, right in zip(first.results, second.results, strict=True):
        _check_same_facts(left, right)


def _check_same_facts(left: Value, right: Value) -> None:
    are_tensors = isinstance(left, TensorValue) and isinstance(right, TensorValue)
    if not are_tensors or _facts(left.fake) != _facts(right.fake):
        _differ(left, right)


def _differ(left: Any, right: Any) -> None:
    unsupported(
        kind="branches with different results",
        context=f"{left} and {right}",
        explanation="All ways through the operation have to give the same structure, "
        "and tensors of the same size, stride, type, device and need of gradients.",
    )


def _facts(fake: torch.Tensor) -> tuple[Any, ...]:
    layout = fake.size(), fake.stride(), fake.dtype, fake.device
    return (*layout, fake.requires_grad)


def _check_fresh(body: Body) -> None:
    """Which tensor is returned must not depend on the branch."""
    if any(value.node in body.lifted for value in body.results):
        unsupported(
            kind="branch that returns a tensor from outside",
            explanation="A branch of torch.cond has to return new tensors.",
        )
