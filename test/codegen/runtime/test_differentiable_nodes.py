"""What a backward pass visits and frees: the nodes that eager has on its way."""

import copy
from functools import partial

import pytest
import torch
from torch import nn
from training_scenario import Scenarios, check, leaf, outcome_of

import girih
from girih.codegen.runtime import nodes

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


class Watched(torch.autograd.Function):
    """The same numbers; notes in a list that its backward pass was called."""

    @staticmethod
    def forward(ctx, x, seen):
        ctx.seen = seen
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        ctx.seen.append("function")
        return gradient * 2, None


def watched(seed, seen):
    """A leaf whose hooks note that they were called, and what is made of it."""
    x = leaf(3, 3, seed=seed)
    x.register_hook(lambda gradient: seen.append((seed, gradient * 1)))
    x.register_post_accumulate_grad_hook(lambda x: seen.append((seed, "accumulated")))
    return x, Watched.apply(x, seen)


PROGRAMS = {
    "apart": lambda a, b, c: (a.sin(), (b * c).exp(), c.cos()),
    "common": lambda a, b, c: ((h := a.sin() * b), h.exp() * c, h.sum() + b.mean()),
    "one inside the other": lambda a, b, c: (a.sin(), a.cos() * b, a.exp() * b * c),
    "zeros": lambda a, b, c: (a.sign() + b, b.sign() * 2, a * c),
}


@pytest.mark.parametrize("chosen", [(0,), (1,), (2,), (0, 1), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_only_what_a_result_depends_on_is_visited(name, chosen):
    def run(compile):
        seen: list = []
        pairs = [watched(seed, seen) for seed in range(3)]
        results = compile(PROGRAMS[name])(*[argument for _, argument in pairs])
        sum(results[n].sum() * (n + 1) for n in chosen).backward()
        leaves = [x for x, _ in pairs]
        return sorted(seen, key=lambda entry: str(entry[:1])), [x.grad for x in leaves]

    check_scenario(run)


def check_scenario(run):
    """Checks a scenario that has no name of its own."""
    table = Scenarios()
    table.add(run)
    check(table.table["run"])


@scenarios.add
def hooks_of_other_results(compile):
    x, seen = leaf(3), []
    first, second = compile(lambda x: (x.sin(), x.cos()))(x)
    first.register_hook(lambda gradient: seen.append(gradient * 2))
    second.register_hook(lambda gradient: seen.append(gradient * 3))
    first.sum().backward(retain_graph=True)
    second.sum().backward()
    return seen, x.grad


@scenarios.add
def leaves_that_an_optimizer_moves(compile):
    used, other = torch.nn.Parameter(leaf(3)), torch.nn.Parameter(leaf(3, seed=1))
    optimizer = torch.optim.AdamW([used, other], weight_decay=0.5)
    step = compile(lambda x: ((x * used).sum(), (x * other).sum()))
    for _ in range(3):
        optimizer.zero_grad()
        step(leaf(3, seed=2, grad=False))[0].backward()
        optimizer.step()
    return used, other, other.grad


@scenarios.add
def a_chain_that_is_cut(compile):
    weight = leaf(3)
    step = compile(lambda x, h: ((h * weight).sin() + x, (x * weight).sum()))
    state, observed = leaf(3, seed=1), []
    for _ in range(3):
        state, loss = step(leaf(3, seed=2, grad=False), state)
        loss.backward(retain_graph=True)
        observed.append(weight.grad.clone())
        state.sum().backward()
        state = state.detach()
    return observed, weight.grad


@scenarios.add
def results_of_two_calls_in_one_pass(compile):
    x, y = leaf(3), leaf(3, seed=1)
    function = compile(lambda x, y: (x.sin(), x * y))
    a, b = function(x, y)
    c, d = function(a, b)
    (c.sum() + d.sum() + a.sum()).backward()
    return x.grad, y.grad


@scenarios.add
def gradients_of_parts_with_derivatives(compile):
    x, y = leaf(3), leaf(3, seed=1)
    a, b = compile(lambda x, y: (x.sin() * y, y.exp()))(x, y)
    found = torch.autograd.grad(
        (a.sum(), b.sum()), (x, y), create_graph=True, retain_graph=True
    )
    (found[0].sum() + (found[1] ** 2).sum()).backward()
    return found, x.grad, y.grad


@scenarios.add
def passes_that_go_to_some_arguments(compile):
    x, y = leaf(3), leaf(3, seed=1)
    a, b = compile(lambda x, y: (x.sin() + y, y.exp()))(x, y)
    (a.sum() + b.sum()).backward(inputs=[x], retain_graph=True)
    first = x.grad, y.grad
    (a.sum() + b.sum()).backward(inputs=[y])
    return first, x.grad, y.grad


# A second pass ------------------------------------------------------------------------

KEEP_NOTHING = {
    "sum": lambda x: (x + 1).sum(),
    "mean": lambda x: x.mean(0),
    "views": lambda x: x.t()[1:].reshape(-1),
    "joined": lambda x: torch.cat([x, -x]),
    "weighted": lambda x: torch.add(x, x, alpha=2),
    "sign": lambda x: x.sign() + x,
    "running sum": lambda x: x.cumsum(0),
    "widened": lambda x: x.double().float(),
}
KEEP_SOMETHING = {
    "number": lambda x: x * 2,
    "quotient": lambda x: x / 2,
    "square": lambda x: x**2,
    "choice": lambda x: torch.where(x > 0, x, 0.0),
    "greatest": lambda x: x.amax(0),
    "rows": lambda x: x[torch.tensor([0, 1])],
    "largest": lambda x: x.max(0).values,
    "product": lambda x: x @ torch.ones(3, 2, dtype=x.dtype),
    "in place": lambda x: x.clone().mul_(3),
    "no difference": lambda x: x * 1,
}


@pytest.mark.parametrize("name", [*KEEP_NOTHING, *KEEP_SOMETHING])
@pytest.mark.parametrize("is_inner", [False, True], ids=["leaf", "inner"])
def test_a_second_pass(name, is_inner):
    """What keeps nothing can be derived twice; what eager can't, raises."""

    def run(compile):
        x = leaf(3, 3)
        argument = x + 1 if is_inner else x
        result = compile((KEEP_NOTHING | KEEP_SOMETHING)[name])(argument)
        result.backward(torch.ones_like(result))
        outcome = outcome_of(lambda: result.backward(torch.ones_like(result)))
        assert (outcome == "no error") == (name in KEEP_NOTHING)
        return outcome, x.grad

    check_scenario(run)


@scenarios.add
def second_passes_from_other_results(compile):
    """They raise where they share a node that keeps something, and only there."""
    observed = []
    for program in (
        lambda x, y: (x.sin(), y.cos()),
        lambda x, y: ((h := x.sin()) + y, h * 2),
        lambda x, y: ((h := x + y).exp(), h.cos()),
        lambda x, y: (x * y, x * y),
    ):
        x, y = leaf(3), leaf(3, seed=1)
        first, second = compile(program)(x, y)
        first.sum().backward()
        observed.append((outcome_of(second.sum().backward), x.grad, y.grad))
    return observed


@scenarios.add
def a_pass_after_one_to_another_argument(compile):
    x, y = leaf(3) + 1, leaf(3, seed=1) + 1
    result = compile(lambda x, y: x.sin() + y)(x, y)
    result.sum().backward(inputs=[y])
    return outcome_of(lambda: result.sum().backward(inputs=[x])), x.grad, y.grad


# Writes -------------------------------------------------------------------------------

# What eager keeps the result of, the argument, or neither.
KEPT = {
    "exp": lambda x: x.exp(),
    "sqrt": lambda x: x.abs().sqrt(),
    "rsqrt": lambda x: x.abs().rsqrt(),
    "norm": lambda x: x.norm(),
    "norms": lambda x: torch.linalg.vector_norm(x, dim=0),
    "logsumexp": lambda x: x.logsumexp(0),
    "prod": lambda x: x.prod(0),
    "cumprod": lambda x: x.cumprod(0),
    "amax": lambda x: x.amax(0),
    "inverse": lambda x: torch.linalg.inv(x),
    "deviation": lambda x: x.std(0),
    "softmax": lambda x: x.softmax(-1),
    "view of a root": lambda x: x.abs().sqrt().t(),
    "detached root": lambda x: (y := x.abs().sqrt(), y.detach())[1] + y * 0 + y,
    "relu": lambda x: x.relu(),
    "sine": lambda x: x.sin(),
    "sum": lambda x: x.sum(0),
    "mean square": lambda x: torch.nn.functional.mse_loss(x, torch.zeros_like(x)),
    "choice": lambda x: torch.where(x > 0, x, x * 2),
    "root that is written": lambda x: x.abs().sqrt().mul_(2),
}


# The derivative that ATen computes takes the argument again: writes to it are an error.
WRITTEN = [("argument", name) for name in KEPT if name != "inverse"]
WRITTEN += [("result", name) for name in KEPT]


@pytest.mark.parametrize(("what", "name"), WRITTEN)
def test_writes_are_noticed_where_eager_keeps_the_tensor(what, name):
    """Although the compiled program may keep another one."""

    def run(compile):
        x = leaf(3, 3)
        argument = x + 1
        result = compile(KEPT[name])(argument)
        with torch.no_grad():
            (argument if what == "argument" else result).add_(1)
        outcome = outcome_of(lambda: result.backward(torch.ones_like(result)))
        return outcome, x.grad

    check_scenario(run)


@scenarios.add
def writes_to_what_another_result_keeps(compile):
    observed = []
    for written in range(3):
        for derived in range(3):
            x = leaf(3)
            results = compile(lambda x: ((y := x.abs().sqrt()), y.sin(), x.cos()))(
                x + 1
            )
            with torch.no_grad():
                results[written].zero_()
            outcome = outcome_of(results[derived].sum().backward)
            observed.append((outcome, x.grad))
    return observed


@scenarios.add
def writes_of_buffers_after_the_call(compile):
    """The program writes one itself: what counts is what comes later."""
    observed = []
    for is_written_again in (False, True):
        x, buffer = leaf(3), leaf(3, seed=1, grad=False)

        def program(x, buffer):
            buffer.add_(1)
            return (x * buffer).sum()

        result = compile(program)(x, buffer)
        if is_written_again:
            buffer.mul_(2)
        observed.append((outcome_of(result.backward), x.grad))
    return observed


class Turned(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2)


@pytest.mark.parametrize("calls", [2, 3])
@pytest.mark.parametrize(
    "norm", [nn.BatchNorm1d, partial(nn.InstanceNorm1d, track_running_stats=True)]
)
def test_norms_are_called_several_times_before_the_backward_pass(norm, calls):
    """As discriminators are: the statistics that a call writes are not read again."""
    module = nn.Sequential(nn.Linear(4, 6), nn.Unflatten(0, (2, 5)), Turned(), norm(6))
    module.double()
    other = copy.deepcopy(module)
    compiled = girih.compile(other)
    found = []
    for function, own in ((module, module), (compiled, other)):
        torch.manual_seed(0)
        results = [function(torch.randn(10, 4).double()) for _ in range(calls)]
        sum(result.pow(2).sum() for result in results).backward()
        found.append([p.grad for p in own.parameters()] + [*own.buffers()])
    torch.testing.assert_close(*found)


def test_autograd_grad_of_one_leaf_asks_nothing(monkeypatch):
    """Of a leaf that autograd.grad asks for, autograd answers by an exception."""
    asked = []
    monkeypatch.setattr(nodes, "_is_executed", asked.append)
    x = leaf(3, 3)
    y = girih.compile(lambda x: x.sin() * 2)(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradient, x.cos() * 2)
    assert asked == []
