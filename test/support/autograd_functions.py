"""Functions of autograd beside eager: results, gradients and effects."""

import torch
from torch.autograd import Function, grad
from torch.utils._pytree import tree_leaves

import girih

# What methods of functions put here is compared, too.
LOG: list = []


class Old(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Sine(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * Cosine.apply(*ctx.saved_tensors)


class Cosine(Sine):
    @staticmethod
    def forward(x):
        return x.cos()

    @staticmethod
    def backward(ctx, g):
        return -g * Sine.apply(*ctx.saved_tensors)


def outcome(function, x, requires_grad, count=None):
    """Results, gradients by the last ``count`` of them, effects; or an error."""
    LOG.clear()
    x = x.clone().requires_grad_(requires_grad)
    try:
        results = tree_leaves(function(x))
        needed = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
        if needed:
            chosen = needed if count is None else needed[-count:]
            total = sum(result.sin().sum() for result in chosen)
            results += grad(total, x, create_graph=True, allow_unused=True)
        second = results[-1]
        if needed and second is not None and second.requires_grad:
            results += grad(second.sum(), x, allow_unused=True)
    except Exception as error:
        return [], [type(error).__name__, str(error).split("\n")[0], *LOG]
    tensors = [result for result in results if isinstance(result, torch.Tensor)]
    facts = [x.requires_grad if isinstance(x, torch.Tensor) else x for x in results]
    return [tensor.detach() for tensor in tensors], [*facts, *LOG]


def assert_like_eager(function, x, count=None, grads=(False, True)):
    """Two calls give what eager gives."""
    for requires_grad in grads:
        expected = outcome(function, x, requires_grad, count)
        compiled = girih.compile(function)
        for _ in range(2):
            found = outcome(compiled, x, requires_grad, count)
            torch.testing.assert_close(found[0], expected[0])
            assert found[1] == expected[1]
