"""Gradients through captured code."""

import torch
from torch import nn

from differential.program import program, rand


@program(rand(3, requires_grad=True))
def result_requires_grad(x):
    y = x * 2
    return y, y.requires_grad, y.is_leaf, y.detach()


@program(rand(3, requires_grad=True))
def backward_inside(x):
    y = (x * x).sum()
    y.backward()
    return y.detach(), x.grad


@program(rand(3, requires_grad=True))
def grad_inside(x):
    (g,) = torch.autograd.grad((x**3).sum(), x)
    return g


@program(rand(3, requires_grad=True))
def second_derivative(x):
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return h


@program(rand(3), rand(3, requires_grad=True))
def one_input_requires_grad(x, w):
    y = x * w
    return y, x + 1, y.requires_grad


@program(rand(3, requires_grad=True))
def detached(x):
    y = x.detach() * 2
    return y, x.data * 2, y.requires_grad


@program(rand(3))
def requires_grad_is_set(x):
    y = (x * 2).requires_grad_()
    return y, y.is_leaf, y.requires_grad


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.factor + 0 * x, None


@program(rand(3, requires_grad=True))
def custom_function(x):
    return Double.apply(x, 3)


@program(rand(3, requires_grad=True))
def custom_function_with_backward(x):
    y = Double.apply(x, 3).sum()
    y.backward()
    return x.grad


@program(nn.Linear(3, 2), rand(4, 3))
def training_step(net, x):
    loss = net(x).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
            p.grad = None
    return loss.detach()


def optimised():
    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    return net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


@program(rand(4, 3))
def optimiser_step(x):
    net, optimiser = optimised()
    for _ in range(2):
        optimiser.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimiser.step()
    return loss.detach(), net.weight.detach()


@program(rand(3, requires_grad=True))
def hook_on_a_tensor(x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    return x.grad


@program(rand(3, requires_grad=True))
def checkpointed(x):
    def block(y):
        return torch.sin(y) * 2

    return torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)


@program(rand(3))
def func_grad(x):
    return torch.func.grad(lambda y: (y**2).sum())(x)


@program(rand(2, 3))
def func_vmap(x):
    return torch.func.vmap(lambda row: row * row.sum())(x)


@program(rand(3), rand(3))
def func_jvp(x, t):
    return torch.func.jvp(torch.sin, (x,), (t,))


@program(rand(3))
def func_jacobian(x):
    return torch.func.jacrev(lambda y: y**2)(x)


@program(rand(3, requires_grad=True))
def gradient_is_cleared(x):
    x.grad = torch.ones(3)
    y = x.grad * 2
    x.grad = None
    return y


@program(rand(3, requires_grad=True))
def no_grad_result_is_used(x):
    with torch.no_grad():
        scale = x.abs().max()
    return x / scale


@program(rand(2, 2, requires_grad=True), rand(2, 2))
def loss_with_penalty(w, x):
    loss = (x @ w).pow(2).sum() + 0.1 * w.norm()
    return loss, loss.requires_grad


@program(rand(3, requires_grad=True))
def in_place_on_result(x):
    y = x * 2
    y.add_(1).relu_()
    y[0] = 0
    return y


@program(rand(4, requires_grad=True))
def views_of_result(x):
    y = x * 2
    return y[:2], y.view(2, 2), y


@program(rand(3, requires_grad=True))
def retained_gradient(x):
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    return y.grad


@program(rand(3, requires_grad=True))
def backward_fails_without_graph(x):
    y = x.detach().sum()
    y.backward()
    return y
