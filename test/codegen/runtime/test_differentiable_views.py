"""Views, aliases and regions without gradients in functions that train."""

import pytest
import torch
from training_scenario import Scenarios, check, leaf, outcome_of

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


# Views ------------------------------------------------------------------------------


@scenarios.add
def a_view_of_an_input(compile):
    x = leaf(3, 4)
    result = compile(lambda x: x.t())(x)
    result.exp().sum().backward()
    return result, result.stride(), result._is_view(), result._base is x, x.grad


@scenarios.add
def views_of_an_input_and_a_value(compile):
    x = leaf(3, 4)
    first, second, third = compile(lambda x: (x[1:], x * 2, x.reshape(-1)))(x)
    (first.sum() + second.exp().sum() + third.sin().sum()).backward()
    return first, second, third, x.grad


@scenarios.add
def views_of_a_result(compile):
    x = leaf(3, 4)

    def program(x):
        y = x.exp()
        return y, y[0], y.t()

    y, row, turned = compile(program)(x)
    (y.sum() + (row * 2).sum() + (turned * turned).sum()).backward()
    return y, row, turned, x.grad, row._base is y


@scenarios.add
def views_of_what_the_program_made(compile):
    x = leaf(3, 4)

    def program(x):
        made = [x.exp() + n for n in range(7)]
        return (
            made[0].t(),
            made[1][1:],
            made[2].reshape(-1),
            made[3].expand(2, 3, 4),
            made[4].unflatten(1, (2, 2)),
            made[5].t().reshape(-1),
            made[6].contiguous(),
            x.detach(),
            x.detach()[1:],
            x[1:].detach(),
        )

    results = compile(program)(x)
    sum(y.square().sum() for y in results[:7]).backward()
    return results, x.grad, [(y._is_view(), y.stride()) for y in results]


@scenarios.add
def views_without_their_base(compile):
    x = leaf(4, 4)

    def program(x):
        y = x.exp()
        return y[:2], y[1:]

    upper, lower = compile(program)(x)
    (upper.sum() + (lower * lower).sum()).backward()
    return upper, lower, x.grad


@scenarios.add
def writing_to_a_returned_view(compile):
    """Changes the base, and the gradient of what follows."""
    x = leaf(3, 4)
    base = x * 1
    view = compile(lambda b: b[1])(base)
    view.mul_(3)
    base.sin().sum().backward()
    return base, x.grad


@scenarios.add
def writing_to_a_result(compile):
    x = leaf(3)
    y = compile(lambda x: x * 2)(x)
    y.mul_(3)
    y.sum().backward()
    return y, x.grad


VIEWS = {
    "view": lambda y: y.view(-1),
    "t": lambda y: y.t(),
    "row": lambda y: y[0],
    "rest": lambda y: y[1:, 1:],
    "unsqueeze": lambda y: y.unsqueeze(0),
    "reshape": lambda y: y.reshape(4, 3),
    "diagonal": lambda y: y.diagonal(),
}


def _written_views(compile, function):
    """Writes to a view of what a function makes, and the gradients after that."""
    found = {}
    for name, view in VIEWS.items():
        x = leaf(3, 4)
        y = compile(lambda x, view=view: view(function(x)))(x)
        y.mul_(y.detach() + 2)
        y += 1
        version = y._version
        y.sin().sum().backward()
        found[name] = y, version, x.grad
    return found


@scenarios.add
def writing_to_a_result_that_is_a_view(compile):
    return _written_views(compile, torch.sin)


@scenarios.add
def writing_to_a_view_of_a_library_result(compile):
    linear = torch.nn.Linear(4, 4).double()
    return _written_views(compile, linear), linear.weight.grad


@scenarios.add
def writing_to_views_without_gradients(compile):
    """What is written to them has a gradient."""
    x = leaf(4)

    def program(x):
        y = torch.zeros(3, 4, dtype=torch.float64)
        return y, y[0], x.sin().detach().view(2, 2).t()

    y, row, alone = compile(program)(x)
    row.copy_(x)
    alone.mul_(x[:2])
    (y.sin().sum() + alone.sin().sum()).backward()
    return y, row, alone, x.grad


@scenarios.add
def writing_to_results_that_are_views(compile):
    x = leaf(3, 4)
    y, z = compile(lambda x: (x.sin().view(-1), x.cos().t()))(x)
    y.mul_(2)
    z += 1
    (y.sum() + (z * z).sum()).backward()
    return y, z, x.grad


@scenarios.add
def writing_to_views_of_one_value(compile):
    x = leaf(3, 4)

    def program(x):
        y = x.sin()
        return y[:2], y[1:]

    upper, lower = compile(program)(x)
    upper.mul_(2)
    (upper.sum() + (lower * lower).sum()).backward()
    return upper, lower, x.grad


SEVERAL = {
    "chunk": lambda y: y.chunk(2)[0],
    "split": lambda y: y.split([1, 2])[1],
    "unbind": lambda y: y.unbind(1)[2],
    "iteration": lambda y: next(iter(y)),
    "a part of one": lambda y: y.chunk(2, 1)[0][1:],
    "turned": lambda y: y.tensor_split(2)[0].t(),
    "of a detached one": lambda y: y.detach().chunk(2)[0],
    "of what was written before": lambda y: y.mul_(2).chunk(2)[0],
}


@scenarios.add
def writing_to_one_of_several_views(compile):
    """Of those that one operation gives at once; eager refuses where one is needed."""
    found = {}
    for name, view in SEVERAL.items():
        for is_made in (False, True):
            x = leaf(3, 4)
            made = (lambda x: x * 2) if is_made else (lambda x: x)
            y = compile(lambda x, f=made, g=view: g(f(x)))(x * 2)
            said = outcome_of(lambda y=y: y.mul_(2))
            with torch.no_grad():
                found[name, is_made] = said[:12], y + 0, y._is_view()
    return found


@scenarios.add
def writing_to_the_base_of_several_views(compile):
    x = leaf(3, 4)
    inner = x * 2
    first, second = compile(lambda x: x.chunk(2))(inner)
    inner.mul_(3)
    return outcome_of(lambda: first + 1)[:12], outcome_of(lambda: second.sum())[:12]


@scenarios.add(eager="a result is a view whose use raises", broken=True)
def writing_to_the_base_of_several_views_in_the_program(compile):
    """The use of the view breaks the graph, and it becomes a result of the graph."""
    x = leaf(3, 4)

    def program(x, use):
        y = x * 2
        first, second = y.chunk(2)
        y.mul_(3)
        return use(first), second

    uses = (torch.sin, lambda y: y.mul_(2), torch.Tensor.detach)
    compiled = compile(program)
    return [outcome_of(lambda use=use: compiled(x, use))[:12] for use in uses]


@scenarios.add(broken=True)
def writing_to_a_view_behind_a_graph_break(compile):
    x = leaf(3, 4)

    def program(x):
        y = x.sin().view(-1)
        print(end="")
        y.mul_(2)
        return y.cos()

    y = compile(program)(x)
    y.sum().backward()
    return y, x.grad


@scenarios.add
def an_in_place_view_of_a_result(compile):
    x = leaf(3, 4)
    y = compile(lambda x: x.sin()[1:])(x)
    y.t_()
    y[0] *= 2
    (y * y).sum().backward()
    return y, x.grad


@scenarios.add
def a_saved_view_is_changed(compile):
    x = leaf(3, 4)
    y = compile(lambda x: x.softmax(1).view(-1))(x)
    y.mul_(3)
    return outcome_of(y.sum().backward)[:60]


@scenarios.add
def another_view_of_what_is_saved_is_changed(compile):
    x = leaf(3, 4)
    y = compile(lambda x: x.exp().view(2, 6).view(-1))(x)
    y.mul_(3)
    return outcome_of(y.sum().backward)[:60]


@scenarios.add
def a_saved_result_is_changed(compile):
    """exp keeps its result: eager's backward finds that it was changed."""
    x = leaf(3)
    y = compile(lambda x: x.exp())(x)
    y.mul_(3)
    return outcome_of(y.sum().backward)[:60]


@scenarios.add
def a_saved_input_is_changed(compile):
    x = leaf(3)
    inner = x * 1
    y = compile(lambda x: x.sin())(inner)
    with torch.no_grad():
        inner.zero_()
    return outcome_of(y.sum().backward)[:60]


@scenarios.add
def an_unsaved_input_is_changed(compile):
    x = leaf(3)
    inner = x * 1
    y = compile(lambda x: x + 1)(inner)
    with torch.no_grad():
        inner.zero_()
    y.sum().backward()
    return y, x.grad


@scenarios.add
def unsaved_inputs_of_functions_are_changed(compile):
    """Eager keeps places, masks, or nothing."""
    functions = (
        lambda x: x.max(1).values,
        lambda x: x.min(0, keepdim=True).values,
        lambda x: x.median(1).values,
        lambda x: x.sort(1).values,
        lambda x: x.topk(2).values,
        torch.deg2rad,
        torch.rad2deg,
        torch.neg,
    )
    found = []
    for function in functions:
        x = leaf(3, 4)
        inner = x * 1
        y = compile(function)(inner)
        with torch.no_grad():
            inner.zero_()
        (y * y).sum().backward()
        found.append((y, x.grad))
    return found


@scenarios.add
def a_saved_input_that_is_not_needed_is_changed(compile):
    """Only what leads to the wanted gradient counts."""
    x, y = leaf(3), leaf(3, seed=1)
    inner = y * 1

    def program(x, y):
        return x.sin(), y.sin()

    first, second = compile(program)(x, inner)
    inner.mul_(2)
    gradient = torch.autograd.grad(first.sum(), [x], retain_graph=True)
    again = torch.autograd.grad(first.square().sum(), [x], retain_graph=True)
    needed = outcome_of((first + second).sum().backward)[:60]
    return gradient, again, needed, inner


@scenarios.add
def a_saved_result_that_is_not_needed_is_changed(compile):
    x, y = leaf(3), leaf(3, seed=1)

    def program(x, y):
        return x.exp(), y.exp(), x * 2 + y

    first, second, third = compile(program)(x, y)
    second.mul_(2)
    found = [
        torch.autograd.grad(first.sum(), [x], retain_graph=True),
        torch.autograd.grad(third.sum(), [x, y], retain_graph=True),
        outcome_of(lambda: second.sum().backward(retain_graph=True))[:60],
    ]
    (first + third).sum().backward()
    found.append(outcome_of(first.sum().backward)[:60])
    return found, x.grad, y.grad


@scenarios.add
def a_saved_value_is_changed_with_hooks(compile):
    x, y = leaf(3), leaf(3, seed=1)
    inner = y * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        first, second = compile(lambda x, y: (x.exp(), y.sin()))(x, inner)
    inner.mul_(2)
    (first * second).sum().backward()
    return x.grad, y.grad


@scenarios.add
def detached_view_of_a_result(compile):
    x = leaf(3, 4)

    def program(x):
        y = x.exp()
        return y, y.detach()[0]

    y, view = compile(program)(x)
    y.sum().backward()
    return y, view, x.grad


# Regions ----------------------------------------------------------------------------


@scenarios.add
def detach_inside(compile):
    x = leaf(3)
    compile(lambda x: (x * x.detach()).sum())(x).backward()
    return x.grad


@scenarios.add
def detached_results(compile):
    x = leaf(3)
    first, second = compile(lambda x: (x.sin(), x.cos().detach()))(x)
    first.sum().backward()
    return first, second, x.grad


@scenarios.add
def all_results_are_detached(compile):
    x = leaf(3)
    return compile(lambda x: x.sin().detach())(x)


@scenarios.add
def a_region_without_grad_mode(compile):
    x = leaf(3)

    def program(x):
        with torch.no_grad():
            scale = x.abs().max()
        return x / scale, scale

    result, scale = compile(program)(x)
    result.square().sum().backward()
    return result, scale, x.grad


@scenarios.add
def a_region_with_grad_mode(compile):
    x = leaf(3)

    def program(x):
        with torch.enable_grad():
            y = x.sin() * 2
        return y, x.cos()

    function = compile(program)
    with torch.no_grad():
        inside, outside = function(x)
    inside.sum().backward()
    return inside, outside, x.grad


@scenarios.add
def a_write_without_grad_mode(compile):
    """The value changes, the derivative stays that of what was there."""
    x = leaf(3)

    def program(x):
        y = x * 2
        with torch.no_grad():
            y.clamp_(-1, 1)
        return y.square()

    result = compile(program)(x)
    result.sum().backward()
    return result, x.grad


@scenarios.add
def straight_through(compile):
    x = leaf(5)
    compile(lambda x: (x + (x.round() - x).detach()).square().sum())(x).backward()
    return x.grad


@scenarios.add
def inference_mode_outside(compile):
    x = leaf(3)
    function = compile(lambda x: x.sin())
    with torch.inference_mode():
        inferred = function(x)
    trained = function(x)
    trained.sum().backward()
    return inferred.is_inference(), trained.is_inference(), trained, x.grad


@scenarios.add
def an_inference_tensor_as_input(compile):
    with torch.inference_mode():
        data = torch.ones(3, dtype=torch.float64) * 2
    x = leaf(3)
    function = compile(lambda x, d: (x + d).sum())
    function(x, data).backward()
    product = compile(lambda x, d: (x * d).sum())
    return x.grad, outcome_of(lambda: product(x, data))[:50]


@scenarios.add(eager="a result is a leaf that the function makes")
def requires_grad_inside(compile):
    def program(x):
        y = x * 2
        y.requires_grad_()
        return y, y.sin()

    y, z = compile(program)(leaf(3, grad=False))
    z.sum().backward()
    return y, z, y.grad


@scenarios.add
def requires_grad_is_asked(compile):
    def program(x, y):
        z = x * y
        return z * 2 if z.requires_grad else z * 3

    function = compile(program)
    return [
        function(leaf(3, grad=g), leaf(3, seed=1, grad=h))
        for g, h in ((True, False), (False, False), (False, True))
    ]


@scenarios.add
def only_a_write_without_grad_mode(compile):
    """No result needs a gradient of the program: the input keeps its own."""
    x = leaf(3, 3)

    def program(x):
        x.sin()
        with torch.no_grad():
            x.t().mul_(0.7)
        return x

    inner = x * 3
    result = compile(program)(inner)
    (result + inner).sum().backward()
    return result is inner, inner, x.grad


@scenarios.add
def detached_results_of_calls_of_aten(compile):
    x = leaf(3, 3)
    result, view = compile(lambda x: (torch.linalg.inv(x).detach(), x.t()))(x)
    view.sin().sum().backward()
    return result, view, x.grad


# Leaves that the program makes -----------------------------------------------------


@scenarios.add
def result_of_a_leaf_that_nobody_has(compile):
    x = leaf(3, grad=False)
    result = compile(lambda x: x.detach().clone().requires_grad_() * 2)(x)
    return result, outcome_of(result.sum().backward)


@scenarios.add
def result_beside_its_gradient(compile):
    def program(x):
        y = x.detach().requires_grad_()
        z = (y * 3).sum()
        return torch.autograd.grad(z, y)[0], z

    return compile(program)(leaf(3, grad=False))


@scenarios.add
def results_of_a_leaf_and_of_an_argument(compile):
    w = leaf(3)

    def program(x, w):
        y = x.detach().clone().requires_grad_()
        return y.square().sum(), (w * x).sum()

    return compile(program)(leaf(3, seed=1, grad=False), w)


@scenarios.add
def result_of_a_leaf_and_an_argument(compile):
    w = leaf(3)

    def program(x, w):
        y = x.detach().clone().requires_grad_()
        return (y.square() * w).sum()

    result = compile(program)(leaf(3, seed=1, grad=False), w)
    result.backward()
    return result, w.grad
