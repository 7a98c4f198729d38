"""Tensors that a program makes, and at which derivatives end.

Views that are made without grad mode, of tensors that require a gradient; new leaves.
"""

import pytest
import torch
from training_scenario import Scenarios, check, leaf, outcome_of

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


def _facts(view):
    return view.requires_grad, view.is_leaf, view.grad_fn, view._is_view()


def _uses(view):
    """What becomes of a view that is used, and what of one that is written."""
    product = view * 2
    product.sum().backward()
    return product, view.grad, outcome_of(lambda: view.mul_(2))


@scenarios.add
def view_of_an_argument(compile):
    x = leaf(3, 4)

    def program(x):
        with torch.no_grad():
            view = x.t()
        return view, x * 2

    view, product = compile(program)(x)
    product.sum().backward()
    return view, _facts(view), view._base is x, _uses(view), x.grad


@scenarios.add
def view_of_a_view(compile):
    x = leaf(3, 4)
    inner = (x * 1)[1:]

    def program(x):
        with torch.no_grad():
            return x[:, 1:], x.view(-1)

    first, second = compile(program)(inner)
    return first, second, _facts(first), _facts(second), first._base is inner._base


@scenarios.add
def view_of_a_result(compile):
    x = leaf(3, 4)

    def program(x):
        y = x.exp()
        with torch.no_grad():
            return y, y[1:]

    y, view = compile(program)(x)
    found = view, _facts(view), view._base is y, _uses(view)
    y.sum().backward()
    return found, x.grad


@scenarios.add
def view_of_what_is_not_returned(compile):
    x = leaf(3, 4)

    def program(x):
        y = x.exp()
        with torch.no_grad():
            return y.t(), x.sin()[None]

    view, other = compile(program)(x)
    return view, _facts(view), _uses(view), other, _facts(other)


@scenarios.add
def several_views_of_what_is_not_returned(compile):
    x = leaf(3, 4)

    def program(x):
        y = x.exp()
        with torch.no_grad():
            first, second = y.t(), y[1:]
        return first, second, y[:, 1]

    first, second, third = compile(program)(x)
    third.sum().backward()
    facts = _facts(first), _facts(second), third.requires_grad
    return first, second, third, facts, first._base is second._base, x.grad


@scenarios.add
def what_is_computed_of_a_view(compile):
    x = leaf(3, 4)

    def program(x):
        with torch.no_grad():
            view = x.t()
        return view.clone(), view[1:] * 3, (view * x.t()).sum()

    first, second, total = compile(program)(x)
    total.backward()
    found = x.grad
    (first.sum() + second.sum()).backward()
    return first, second, first.requires_grad, first.is_leaf, first._is_view(), found


@scenarios.add
def what_is_computed_of_a_view_is_written(compile):
    x = leaf(3, 4)

    def program(x):
        with torch.no_grad():
            view = x.t()
        return view.clone()

    y = compile(program)(x)
    y.mul_(x.t())
    y.sum().backward()
    return y, x.grad


@scenarios.add
def gradients_that_nobody_gets(compile):
    x = leaf(3, 4)

    def program(x):
        with torch.no_grad():
            view = x.t()
        return view.exp()

    y = compile(program)(x)
    grad = torch.autograd.grad
    unused = grad(y.sum(), x, allow_unused=True, retain_graph=True)
    return y, unused, outcome_of(lambda: grad(y.sum(), x))


@scenarios.add
def a_view_and_what_is_computed_of_it(compile):
    x = leaf(3, 4)

    def program(x):
        with torch.no_grad():
            view = x.t()
        return view, view * 2

    view, product = compile(program)(x)
    product.sum().backward()
    return view.grad, x.grad


@scenarios.add
def several_views_and_what_is_computed_of_them(compile):
    x = leaf(3, 4)

    def program(x):
        y = x.exp()
        with torch.no_grad():
            view = y.t()
            parts = y.chunk(3)
            total = view.sum()
        row = view[1]
        return row, parts[0] * 2, parts[1], total, y * 3, view * y.t()

    results = compile(program)(x)
    (results[0] * 2).sum().backward()
    results[1].sum().backward()
    (results[4].sum() + results[5].sum()).backward()
    return results, results[2].grad, [_facts(r)[0] for r in results], x.grad


@scenarios.add(broken=True)
def graph_break_behind_a_view(compile):
    x = leaf(3, 4)

    def program(x):
        y = x * 1
        with torch.no_grad():
            view = y.t()
            if bool(x.detach().sum() > 100):
                view = view[1:]
        z = view.clone()
        return y * z.t(), view

    product, view = compile(program)(x)
    product.sum().backward()
    return product, _facts(view), x.grad


@scenarios.add(broken=True)
def graph_break_between_two_uses(compile):
    x = leaf(3, 4)

    def program(x):
        y = x.sin()
        with torch.no_grad():
            y = y.t()
        torch._C._is_torch_function_enabled()
        if bool(x.detach().sum() > -100):
            y = y.exp()
        return y

    y = compile(program)(x)
    return y, y.requires_grad, torch.autograd.grad(y.sum(), x, allow_unused=True)


@scenarios.add(broken=True)
def view_and_its_base_behind_a_break(compile):
    """Eager refuses to use a view without history once its base was written."""

    def program(x):
        y = x * 1
        with torch.no_grad():
            view = y.t()
            if bool(x.detach().sum() > -100):
                view = view[1:]
        y.mul_(2)
        return view * 2

    return outcome_of(lambda: compile(program)(leaf(3, 4)))


@scenarios.add
def views_of_what_is_computed_of_a_view(compile):
    x = leaf(3, 4)

    def program(x):
        with torch.no_grad():
            view = x.t()
        y, z = view.exp(), view.sin()
        return y, y[1:], z.t(), view[1:].detach(), view[1:]

    results = compile(program)(x)
    facts = [(_facts(y)[0::3], y.is_leaf) for y in results]
    results[0].add_(1)
    outcomes = [outcome_of(lambda y=y: y.mul_(2))[:20] for y in results]
    return results[:4], facts, outcomes, results[1]._base is results[0]


@scenarios.add
def view_that_is_written_after_its_use(compile):
    x = leaf(3, 4)

    def program(x):
        y = x * 1
        with torch.no_grad():
            view = y.t()
        z = view.sin()
        with torch.no_grad():
            view[0] = view[1] * 1
            other = view.sin()
        return z, other

    z, other = compile(program)(x)
    return z, z.requires_grad, other, other.requires_grad


@scenarios.add(eager="eager's view may not be used any more")
def view_of_what_is_written_later(compile):
    x = leaf(3, 4)

    def program(x):
        y = x * 1
        with torch.no_grad():
            view = y.t()
        y.mul_(2)
        return view, y

    view, y = compile(program)(x)
    y.sum().backward()
    return view.detach(), outcome_of(view.clone), x.grad


# Leaves that the program makes ------------------------------------------------------


@scenarios.add
def leaf_that_is_returned(compile):
    def program(x):
        y = (x * 2).requires_grad_()
        return y, y.exp()

    y, z = compile(program)(leaf(3, grad=False))
    z.sum().backward()
    return y, y.is_leaf, y.grad


@scenarios.add
def leaf_that_is_created(compile):
    w = leaf(3)

    def program(w):
        z = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        return z, z * w

    z, product = compile(program)(w)
    product.sum().backward()
    return z, z.is_leaf, z.grad, w.grad


@scenarios.add
def leaf_beside_arguments(compile):
    w = leaf(3)

    def program(x, w):
        y = x.sin().requires_grad_()
        return y, y * w, w.exp()

    y, z, v = compile(program)(leaf(3, seed=1, grad=False), w)
    (z.sum() + v.sum()).backward()
    return y.is_leaf, y.grad, w.grad


@scenarios.add
def parts_of_views_without_history(compile):
    """Several views at once, of one that was made without grad mode."""

    def of_an_argument(x):
        with torch.no_grad():
            v = x.view(-1)
        return v.unbind()[1], v.chunk(2)[0]

    def of_a_result(x):
        y = x * 2
        with torch.no_grad():
            v = y.view(-1)
        return y, v.split(2)[1], v[1:]

    found = []
    for function in (of_an_argument, of_a_result):
        x = leaf(4)
        for result in compile(function)(x):
            (gradient,) = torch.autograd.grad(
                result.sum(), [x], allow_unused=True, retain_graph=True
            )
            found += [result.requires_grad, result.grad_fn is None, gradient]
    return found
