"""Control flow that is an operation: ``torch.cond``, ``while_loop``, ``map``, ``scan``.

The branches are graph modules of their own. What runs is plain Python over them, see
``frontend/control_flow.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._higher_order_ops.map import MapImpl
from torch._higher_order_ops.scan import ScanOp
from torch._higher_order_ops.while_loop import while_loop as _while_loop
from torch.fx import Node

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.subgraph import (
    Body,
    BodyTracer,
    fill,
    operand,
    results_of,
    trace_call,
)
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.tensor import TensorValue
from girih.frontend.control_flow import (
    choose,
    has_gradient,
    linked,
    map_rows,
    repeat,
    scan_rows,
)
from girih.frontend.importer.nodes import value_of


class Operation:
    """An operation on bodies; the values that they take follow them."""


class Conditional(Operation):
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
        return choose(
            lambda: linked(on_true(*lifted[:middle]), lifted),
            lambda: linked(on_false(*lifted[middle:]), lifted),
            predicate,
        )


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
    _note_gradients(tracer, bodies[0], lifted)
    return results_of(tracer, node, bodies[0])


class Loop(Operation):
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
        results = repeat(
            lambda *trip: condition(*trip, *mine),
            lambda *trip: body(*trip, *others),
            carried,
        )
        return linked(results, values)


class Rows(Operation):
    """Calls a body for each row of some arrays, one after the other.

    Args:
        carried: How many values go from one row to the next, or None: it is a ``map``.
        arrays: How many arrays there are.
    """

    def __init__(self, carried: int | None, arrays: int):
        self.carried = carried
        self.arrays = arrays
        self.__name__ = "map_impl" if carried is None else "scan"

    def __call__(self, body, *values) -> tuple:
        """What the last row left, then what is made of all rows, stacked."""
        first = self.carried or 0
        last = first + self.arrays
        carried, arrays, lifted = values[:first], values[first:last], values[last:]
        if self.carried is None:
            return map_rows(body, arrays, lifted)
        return scan_rows(body, carried, arrays, lifted)


@models(_while_loop)
def _traced_while_loop(tracer, cond_fn, body_fn, carried_inputs):
    carried = list(tracer.iterate(carried_inputs))
    if not all(isinstance(value, TensorValue) for value in carried):
        unsupported(
            kind="loop over values that are no tensors",
            context="torch.while_loop",
            explanation="Only tensors can go from one iteration of the loop to the "
            "next.",
        )
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
    _note_gradients(tracer, body, args[2:])
    return results_of(tracer, node, body)


@models(MapImpl.__call__)
def _traced_map(tracer, operator, f, xs, pos_args):
    arrays, others = list(tracer.iterate(xs)), list(tracer.iterate(pos_args))
    body = _body_of_rows(tracer, f, [], arrays, others)
    fakes = [_stacked_fake(tracer, arrays[0], value) for value in body.results]
    return _rows(tracer, Rows(None, len(arrays)), arrays, body, fakes)


@models(ScanOp.__call__)
def _traced_scan(tracer, operator, combine_fn, init, xs, additional_inputs):
    carried, arrays = list(tracer.iterate(init)), list(tracer.iterate(xs))
    others = list(tracer.iterate(additional_inputs))
    body = _body_of_rows(tracer, combine_fn, carried, arrays, others)
    after, made = body.results[: len(carried)], body.results[len(carried) :]
    if len(after) != len(carried):
        _differ(carried, after)
    for before, value in zip(carried, after, strict=True):
        _check_same_facts(before, value)
    fakes = [value.fake for value in after]
    fakes += [_stacked_fake(tracer, arrays[0], value) for value in made]
    values = [*carried, *arrays]
    return _rows(tracer, Rows(len(carried), len(arrays)), values, body, fakes)


def _body_of_rows(tracer, function, carried, arrays, others) -> Body:
    """Traces a function on what is carried, a row of each array, and the rest."""
    if not all(isinstance(value, TensorValue) for value in (*carried, *arrays)):
        unsupported(
            kind="rows of a value that is not a tensor",
            context="map or scan",
            explanation="Only tensors have rows, or go from one row to the next.",
        )
    body = BodyTracer(tracer, [function, *carried, *arrays, *others])
    with body:
        made = [operand(tracer, _twin(tracer, value.fake)) for value in carried]
        made += [operand(tracer, _twin(tracer, value.fake[0])) for value in arrays]
        result = tracer.call(function, [*made, *others], {})
    return body.finish(result)


def _stacked_fake(tracer, array: TensorValue, value: TensorValue) -> torch.Tensor:
    row, count = value.fake, array.fake.size(0)
    with tracer.graph.evaluator.mode, torch.no_grad():
        return torch.empty((count, *row.shape), dtype=row.dtype, device=row.device)


def _rows(tracer, target: Rows, values: list, body: Body, fakes: list) -> Value:
    nodes = [*(value.node for value in values), *body.lifted]
    node = tracer.graph.add_call(target, (body.node, *nodes))
    fakes = tuple(_as_required(tracer, fake, nodes) for fake in fakes)
    made = tracer.graph.wrap_result(node, fakes)
    return tracer.from_python(fill(body.template, list(made.items)))


def _with_operands(tracer, function: Value, values: list[Value]) -> Body:
    """Traces a function on tensors that look like some values."""
    body = BodyTracer(tracer, [function, *values])
    with body:
        made = [operand(tracer, _twin(tracer, value.fake)) for value in values]
        result = tracer.call(function, list(made), {})
    return body.finish(result)


def _twin(tracer, fake: torch.Tensor) -> torch.Tensor:
    with tracer.graph.evaluator.mode, torch.no_grad():
        made = torch.empty_like(fake)
        return made.requires_grad_(fake.requires_grad)


def _note_gradients(tracer, body: Body, nodes: Sequence[Node]) -> None:
    """Results require a gradient where anything does that the operation takes."""
    for result in body.results:
        if isinstance(result, TensorValue):
            result.fake = _as_required(tracer, result.fake, nodes)


def _as_required(tracer, fake: torch.Tensor, nodes: Sequence[Node]) -> torch.Tensor:
    """What stands for a result of an operation that takes these."""
    operands = [value_of(node) for node in nodes]
    required = [x for x in operands if isinstance(x, torch.Tensor) and x.requires_grad]
    if not required or not torch.is_grad_enabled() or not has_gradient(fake):
        return fake
    with tracer.graph.evaluator.mode, torch.no_grad():
        return fake.detach().requires_grad_()


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
        "and tensors of the same size, stride, type and device.",
    )


def _facts(fake: torch.Tensor) -> tuple[Any, ...]:
    return fake.size(), fake.stride(), fake.dtype, fake.device


def _check_fresh(body: Body) -> None:
    """Which tensor is returned must not depend on the branch."""
    if any(value.node in body.lifted for value in body.results):
        unsupported(
            kind="branch that returns a tensor from outside",
            explanation="A branch of torch.cond has to return new tensors.",
        )
