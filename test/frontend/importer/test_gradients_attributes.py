"""What an imported function says about gradients, and what is left to eager."""

import pytest
import torch
from importing import graph_of, op_names
from program_gradients import assert_same_gradients, leaf
from torch.autograd import Function, grad
from torch.autograd.functional import jacobian

from girih.frontend.importer import import_graph


def attributes(function, *inputs, gradients=True):
    """The attributes of arguments and results, as text."""
    imported = import_graph(
        graph_of(function, len(inputs)), inputs, gradients=gradients
    )
    made = imported.module.body.operations[0]
    tables = [made.attributes["arg_attrs"], made.attributes["res_attrs"]]
    return [[str(entry) for entry in table] for table in tables]


def test_arguments_that_require_a_gradient_are_marked():
    arguments, _ = attributes(torch.mul, leaf(3), leaf(3, grad=False))
    assert "graph.requires_grad" in arguments[0]
    assert "graph.requires_grad" not in arguments[1]


def test_nothing_is_marked_where_no_gradients_are_wanted():
    given, results = attributes(torch.mul, leaf(3), leaf(3), gradients=False)
    assert not any("requires_grad" in text for text in given)
    assert not any("detached" in text for text in results)


def test_integers_are_not_marked():
    arguments, results = attributes(
        lambda x, i: (x[i], i + 1), leaf(3), torch.tensor([0, 2])
    )
    assert "requires_grad" not in arguments[1]
    assert not any("detached" in text for text in results)


def test_writes_without_grad_mode_are_detached():
    def update(p, g):
        with torch.no_grad():
            p.sub_(g)

    _, (written,) = attributes(update, leaf(3), leaf(3, grad=False))
    assert "graph.writes" in written
    assert "graph.detached" in written


def test_writes_with_grad_mode_are_not():
    write = lambda x, y: x.mul_(y)  # noqa: E731
    _, (written,) = attributes(write, leaf(3, grad=False), leaf(3))
    assert "graph.writes" in written
    assert "graph.detached" not in written


def test_the_owner_of_a_storage_carries_the_gradient():
    def run(x):
        y = x * 2
        return y.detach(), y[1:]

    _, (base, alias, view) = attributes(run, leaf(3))
    assert "graph.detached" not in base
    assert "graph.detached" in alias and '"out0"' in alias
    assert "graph.detached" not in view and '"out0"' in view


def test_without_gradients_no_grad_regions_cost_nothing():
    def run(x):
        with torch.no_grad():
            y = x.exp()
        return y.detach() * x

    imported = import_graph(graph_of(run, 1), [leaf(3, grad=False)])
    assert op_names(imported) == ["exp", "mul"]


def test_parameters_of_the_graph_module_are_marked():
    layer = torch.nn.Linear(2, 2).double()
    graph = torch.fx.symbolic_trace(layer)
    imported = import_graph(graph, [leaf(3, 2, grad=False)], gradients=True)
    given = imported.module.body.operations[0].attributes["arg_attrs"]
    assert ["graph.requires_grad" in str(entry) for entry in given] == [
        any(x is p for p in layer.parameters()) for x in [None, *imported.lifted]
    ]


# What is left to eager ------------------------------------------------------------


class Dirty(Function):
    """Writes its argument."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


def batched_gradients(x, w):
    y = x * w
    (g,) = grad(y, x, torch.eye(3, dtype=torch.float64), is_grads_batched=True)
    return g * w.detach()


def batched_and_recorded(x, w):
    y = (x * w).sin()
    rows = torch.arange(6, dtype=torch.float64).view(2, 3)
    g, h = grad(y, (x, w), rows, is_grads_batched=True, create_graph=True)
    return g * h


def jacobian_in_one_call(x, w):
    return jacobian(lambda x, w: (x * w).tanh(), (x, w), vectorize=True)[1]


@pytest.mark.parametrize(
    "program", [batched_gradients, batched_and_recorded, jacobian_in_one_call]
)
def test_batched_gradients(program):
    assert_same_gradients(program, [leaf(3), leaf(3, seed=1)])


def large_batch(x, w):
    rows = torch.ones(33, 3, dtype=torch.float64)
    return grad(x * w, x, rows, is_grads_batched=True)[0] * w.detach()


def history_of_a_detached_view(x, w):
    y = x * 2
    d = y.detach()
    d.mul_(w)
    return d, y


@pytest.mark.parametrize(
    "program, reason",
    [
        (large_batch, "batched gradients"),
        (history_of_a_detached_view, "history of a detached view"),
    ],
)
def test_left_to_eager(program, reason):
    inputs = [leaf(3), leaf(3, seed=1)]
    reasons = assert_same_gradients(program, inputs, order=1, is_native=False)
    assert [text for text in reasons if text and reason in text], reasons


def test_functions_that_write_their_arguments_break_the_graph():
    inputs = [leaf(3), leaf(3, seed=1)]
    program = lambda x, w: Dirty.apply(x * w).sin()  # noqa: E731
    assert_same_gradients(program, inputs, fullgraph=False, is_native=False)
