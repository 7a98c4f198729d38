"""Results of compiled functions in torch's autograd: backward, hooks, accumulation."""

import pytest
import torch
from torch import nn
from training_scenario import Scenarios, check, leaf, outcome_of

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


def product(x, y):
    return (x.sin() * y).sum()


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()


@scenarios.add
def backward_fills_grad(compile):
    x, y = leaf(3, 4), leaf(4, seed=1)
    loss = compile(product)(x, y)
    loss.backward()
    return loss, x.grad, y.grad


@scenarios.add
def results_know_their_graph(compile):
    x, y = leaf(3), leaf(3, seed=1, grad=False)
    result = compile(product)(x, y)
    return result.grad_fn is not None, result.requires_grad, result.is_leaf


@scenarios.add
def inputs_without_gradients_give_results_without(compile):
    x, y = leaf(3, grad=False), leaf(3, seed=1, grad=False)
    result = compile(product)(x, y)
    return result, result.grad_fn is None, outcome_of(result.backward)


@scenarios.add
def gradients_need_not_be_wanted(compile):
    function = compile(product)
    observed = []
    for wanted in ((True, False), (False, True), (True, True)):
        x, y = leaf(3, grad=wanted[0]), leaf(3, seed=1, grad=wanted[1])
        function(x, y).backward()
        observed.append((x.grad, y.grad))
    return observed


@scenarios.add
def a_state_that_the_loss_does_not_touch(compile):
    weight, other = leaf(3), leaf(3, seed=1)
    step = compile(lambda x, h: ((x * weight).sin().sum(), (h * other).tanh()))
    state, observed = leaf(3, seed=2, grad=False), []
    for _ in range(3):
        loss, state = step(leaf(3, seed=3, grad=False), state)
        loss.backward()
        observed.append((loss, state, weight.grad.clone(), other.grad))
    return observed


@scenarios.add
def an_attribute_that_each_call_writes(compile):
    torch.manual_seed(3)
    layer = nn.utils.spectral_norm(nn.Linear(4, 4).double())
    compiled, observed = compile(layer), []
    for seed in range(3):
        result = compiled(leaf(2, 4, seed=seed, grad=False))
        result.sin().sum().backward()
        observed.append((result, layer.weight_orig.grad.clone(), layer.weight_u))
    return observed


@scenarios.add
def grad_of_chosen_inputs(compile):
    x, y = leaf(3, 4), leaf(4, seed=1)
    result = compile(lambda x, y: x.exp() * y)(x, y)
    cotangent = leaf(3, 4, seed=2, grad=False)
    (only_y,) = torch.autograd.grad(result, [y], cotangent, retain_graph=True)
    both = torch.autograd.grad(result, [x, y], cotangent)
    return only_y, both, x.grad


@scenarios.add
def grad_of_an_unused_input(compile):
    x, y, z = leaf(3), leaf(3, seed=1), leaf(3, seed=2)
    result = compile(lambda x, y, z: (x * y).sum())(x, y, z)
    found = torch.autograd.grad(result, [x, z], allow_unused=True, retain_graph=True)
    error = outcome_of(lambda: torch.autograd.grad(result, [z]))
    return found, error


@scenarios.add
def unused_inputs_get_no_gradient(compile):
    x, z = leaf(3), leaf(3, seed=2)
    compile(lambda x, z: x.cos().sum())(x, z).backward()
    return x.grad, z.grad


@scenarios.add
def some_results_have_no_cotangent(compile):
    function = compile(lambda x, y: (x.sin() * y, x.cos(), (x * y).exp()))
    observed = []
    for chosen in ((0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)):
        x, y = leaf(3), leaf(3, seed=1)
        results = function(x, y)
        sum(results[i].sum() * (i + 1) for i in chosen).backward()
        observed.append((x.grad, y.grad))
    return observed


@scenarios.add
def gradients_accumulate(compile):
    x, y = leaf(3), leaf(3, seed=1)
    function = compile(product)
    for _ in range(3):
        function(x, y).backward()
    return x.grad, y.grad


@scenarios.add
def several_calls_before_backward(compile):
    x, y = leaf(3), leaf(3, seed=1)
    function = compile(product)
    losses = [function(x * k, y) for k in (1, 2, 3)]
    for loss in reversed(losses):
        loss.backward()
    return x.grad, y.grad


@scenarios.add
def one_backward_of_several_calls(compile):
    x = leaf(3)
    function = compile(lambda x, k: (x * k).sin())
    y = function(function(function(x, 2.0), 2.0), 2.0)
    y.sum().backward()
    return y, x.grad


@scenarios.add
def second_backward_is_an_error(compile):
    x, y = leaf(3), leaf(3, seed=1)
    loss = compile(product)(x, y)
    loss.backward()
    return outcome_of(loss.backward)[:40], x.grad


@scenarios.add
def retained_graphs_can_go_backward_again(compile):
    x, y = leaf(3), leaf(3, seed=1)
    loss = compile(product)(x, y)
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)
    loss.backward()
    return x.grad, y.grad, outcome_of(loss.backward)[:40]


@scenarios.add
def several_backward_calls_of_parts(compile):
    x = leaf(4)
    first, second = compile(lambda x: (x.sin(), x.exp() * 2))(x)
    first.sum().backward(retain_graph=True)
    one = x.grad.clone()
    second.sum().backward()
    return one, x.grad


@scenarios.add
def hooks_of_inputs(compile):
    x, seen = leaf(3), []
    x.register_hook(lambda g: seen.append(g.clone()))
    x.register_hook(lambda g: g * 2)
    compile(product)(x, leaf(3, seed=1)).backward()
    return x.grad, seen


@scenarios.add
def hooks_of_results(compile):
    x, seen = leaf(3), []
    result = compile(lambda x: x.sin())(x)
    result.register_hook(lambda g: seen.append(g.clone()))
    result.register_hook(lambda g: g * 3)
    result.exp().sum().backward()
    return x.grad, seen


@scenarios.add
def hooks_of_inner_tensors_outside(compile):
    x, seen = leaf(3), []
    before = x * 2
    before.register_hook(lambda g: seen.append(g.clone()))
    compile(lambda x: x.sin())(before).sum().backward()
    return x.grad, seen


@scenarios.add
def hooks_of_parameters(compile):
    model, seen = network(), []
    for parameter in model.parameters():
        parameter.register_hook(lambda g: seen.append(g.shape) or g * 0.5)
        parameter.register_post_accumulate_grad_hook(lambda p: seen.append(len(seen)))
    compile(model)(leaf(2, 5, grad=False)).sum().backward()
    return [p.grad for p in model.parameters()], len(seen)


@scenarios.add
def retained_grad_of_results(compile):
    x = leaf(3)
    result = compile(lambda x: x.sin())(x)
    result.retain_grad()
    result.exp().sum().backward()
    return result.grad, x.grad


@scenarios.add
def retained_grad_of_inputs(compile):
    x = leaf(3)
    inner = x.exp()
    inner.retain_grad()
    compile(lambda x: x.sin().sum())(inner).backward()
    return inner.grad, x.grad


@scenarios.add
def expanded_cotangents(compile):
    x = leaf(3, 4)
    compile(lambda x: x.sin() * 2)(x).sum().backward()
    return x.grad, x.grad.stride()


@scenarios.add
def transposed_cotangents(compile):
    x = leaf(3, 4)
    result = compile(lambda x: x.sin() * 2)(x)
    cotangent = leaf(4, 3, seed=1, grad=False).t()
    result.backward(cotangent)
    sliced = leaf(6, 8, seed=1, grad=False)[::2, ::2]
    y = leaf(3, 4)
    compile(lambda x: x.sin() * 2)(y).backward(sliced)
    return x.grad, y.grad


@scenarios.add
def cotangents_of_another_dtype(compile):
    x = leaf(3)
    result = compile(lambda x: x.sin())(x)
    narrow = torch.ones(3, dtype=torch.float32)
    (found,) = torch.autograd.grad(result, [x], narrow)
    return found, found.dtype


@scenarios.add
def mixed_dtypes(compile):
    x = leaf(3, 4, dtype=torch.float32)
    y, z = leaf(4, seed=1), leaf(3, 1, seed=2, dtype=torch.bfloat16)
    result = compile(lambda x, y, z: (x * y + z).sum())(x, y, z)
    result.backward()
    return result, x.grad, y.grad, z.grad


@scenarios.add
def layouts_of_gradients(compile):
    x, y = leaf(4, 3), leaf(2, 3, 4, 5, seed=1)
    x = x.detach().t().requires_grad_()
    y = y.detach().to(memory_format=torch.channels_last).requires_grad_()
    compile(lambda x, y: x.sin().sum() + (y * 2).exp().sum())(x, y).backward()
    return x.grad, x.grad.stride(), y.grad, y.grad.stride()


@scenarios.add
def inputs_with_gaps(compile):
    base = leaf(6, 8)
    compile(lambda x: (x.sin() * x).sum())(base[::2, 1::3]).backward()
    return base.grad


@scenarios.add
def expanded_inputs(compile):
    base = leaf(4)
    compile(lambda x: (x.sin() * 2).sum())(base.expand(3, 4)).backward()
    return base.grad


@scenarios.add
def the_same_tensor_twice(compile):
    x = leaf(3)
    compile(product)(x, x).backward()
    return x.grad


@scenarios.add
def inputs_that_share_memory(compile):
    x = leaf(6)
    compile(product)(x[:3], x[3:]).backward()
    y = leaf(6)
    compile(product)(y[:4], y[2:]).backward()
    return x.grad, y.grad


@scenarios.add
def integers_beside_floats(compile):
    x = leaf(4)
    result, order = compile(lambda x: (x.sin(), (x > 0).long().cumsum(0)))(x)
    result.sum().backward()
    return result, order, x.grad, outcome_of(lambda: order.sum().backward())


@scenarios.add
def integer_inputs(compile):
    weight, index = leaf(5, 3), torch.tensor([0, 2, 2, 4])
    compile(lambda w, i: w[i].exp().sum())(weight, index).backward()
    return weight.grad, index.grad


@scenarios.add
def complex_numbers(compile):
    x, y = leaf(3), leaf(3, seed=1)
    z = torch.complex(x.detach(), y.detach()).requires_grad_()
    compile(lambda z, x: ((z * z * x).abs()).sum())(z, x).backward()
    return z.grad, x.grad


@scenarios.add
def empty_tensors(compile):
    x = leaf(0, 3)
    result = compile(lambda x: x.sin() * 2)(x)
    result.sum().backward()
    return result, x.grad


def gradients_of_both(compile, function, empty, full):
    """A result with its gradients, None where it does not depend on an argument."""
    result = compile(function)(empty, full)
    weights = torch.arange(result.numel(), dtype=result.dtype).view(result.shape) + 1
    given = torch.autograd.grad(result, (empty, full), weights, allow_unused=True)
    return result, given


@scenarios.add
def joined_with_nothing(compile):
    def program(x, y):
        return torch.cat((x, y), 1)

    return [
        gradients_of_both(compile, program, leaf(1, 0, 4), leaf(1, 3, 4)),
        gradients_of_both(compile, program, leaf(0), leaf(1, 3, 4)),
    ]


@scenarios.add
def joined_with_nothing_of_something(compile):
    none = torch.zeros(0, dtype=torch.long)
    return [
        gradients_of_both(compile, program, leaf(3, 2), leaf(2, 2))
        for program in (
            lambda x, y: torch.cat((x[:0], y)),
            lambda x, y: torch.vstack((y, x[3:].exp())).amax(1),
            lambda x, y: torch.cat((torch.embedding(x, none), y)),
        )
    ]


@scenarios.add
def products_of_nothing(compile):
    return [
        gradients_of_both(compile, program, leaf(0, 4), leaf(4))
        for program in (lambda x, y: x.prod() + y, lambda x, y: x.prod(0) * y)
    ]


@scenarios.add
def results_that_are_inputs(compile):
    x, y = leaf(3), leaf(3, seed=1)
    first, second = compile(lambda x, y: (x, x * y))(x, y)
    (first.sum() * 2 + second.sum()).backward()
    return first is x, x.grad, y.grad


@scenarios.add
def a_result_returned_twice(compile):
    x = leaf(3)

    def program(x):
        y = x.sin()
        return y, y, y * 2

    first, second, third = compile(program)(x)
    (first + 2 * second + third).sum().backward()
    return first is second, x.grad


@scenarios.add
def constants_among_results(compile):
    x = leaf(3)
    ones, y, n = compile(lambda x: (torch.ones(2), x.exp(), 3))(x)
    y.sum().backward()
    return ones, y, n, x.grad


@scenarios.add
def parameters_and_buffers(compile):
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()).double()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_(leaf(*parameter.shape, seed=number, grad=False))
    compiled = compile(model)
    for seed in (1, 2):
        compiled(leaf(4, 2, 6, 6, seed=seed, grad=False)).square().sum().backward()
    return [p.grad for p in model.parameters()], dict(model.named_buffers())


@scenarios.add
def frozen_parameters(compile):
    model = network()
    compiled = compile(model)
    observed = []
    for frozen in ((), (0,), (0, 1, 2), (0, 1, 2, 3)):
        for number, parameter in enumerate(model.parameters()):
            parameter.requires_grad_(number not in frozen)
            parameter.grad = None
        result = compiled(leaf(2, 5, grad=False)).sum()
        if result.requires_grad:
            result.backward()
        observed.append([p.grad for p in model.parameters()])
    return observed


@scenarios.add
def gradients_by_the_input_of_a_frozen_model(compile):
    model = network().requires_grad_(False)
    x = leaf(2, 5)
    compile(model)(x).square().sum().backward()
    return x.grad, [p.grad for p in model.parameters()]


@scenarios.add
def an_optimizer_outside(compile):
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    compiled = compile(model)
    losses = []
    for step in range(6):
        optimizer.zero_grad()
        loss = compiled(leaf(4, 5, seed=step, grad=False)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses, list(model.parameters())


@scenarios.add
def zeroed_gradients_in_place(compile):
    model = network()
    compiled = compile(model)
    for _ in range(3):
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.zero_()
        compiled(leaf(4, 5, grad=False)).square().mean().backward()
    return [p.grad for p in model.parameters()]


@scenarios.add
def the_gradient_belongs_to_the_caller(compile):
    """Nothing of girih writes to a gradient that was given away."""
    x = leaf(3)
    function = compile(lambda x: x.exp().sum())
    (first,) = torch.autograd.grad(function(x), [x])
    kept = first.clone()
    first.add_(1)
    (second,) = torch.autograd.grad(function(x), [x])
    return kept, first, second


@scenarios.add
def identity_gradients_do_not_alias(compile):
    """x + y passes its cotangent to both: their gradients are added to later."""
    x, y = leaf(3), leaf(3, seed=1)
    result = compile(lambda x, y: x + y)(x, y)
    cotangent = torch.ones(3, dtype=torch.float64)
    result.backward(cotangent)
    x.grad.add_(5)
    return x.grad, y.grad, cotangent


@scenarios.add
def grad_mode_is_off_outside(compile):
    x, y = leaf(3), leaf(3, seed=1)
    function = compile(product)
    with torch.no_grad():
        plain = function(x, y)
    trained = function(x, y)
    trained.backward()
    with torch.no_grad():
        again = function(x, y)
    return plain, trained, again, x.grad


@scenarios.add
def a_python_number_as_input(compile):
    x = leaf(3)
    function = compile(lambda x, k: (x * k).sum())
    for k in (0.5, 1.5, 2.5):
        function(x, k).backward()
    return x.grad


@scenarios.add
def backward_in_another_order(compile):
    x = leaf(3)
    function = compile(lambda x: x.sin() * x)
    first = function(x)
    second = function(first)
    (g,) = torch.autograd.grad(second.sum(), [first], retain_graph=True)
    (h,) = torch.autograd.grad(first.sum(), [x], retain_graph=True)
    second.sum().backward()
    return g, h, x.grad
