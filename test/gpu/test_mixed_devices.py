"""Programs that take tensors of the CPU too: their host part runs first."""

import pytest
import torch
from gpu_device import DEVICE, HAS_CUDA, compiled, normal
from torch import nn
from torch.nn import functional as F

import girih
from girih import backend

CLOSE = {"rtol": 2e-5, "atol": 2e-6}


def here(*values, dtype=torch.float32):
    """A tensor of the CPU: a number, or a vector."""
    values = values[0] if len(values) == 1 else values
    return torch.tensor(values, dtype=dtype, device="cpu")


def check(function, inputs, **settings):
    """Asserts that results and inputs are eager's afterwards; gives the function."""
    run = compiled(function, **settings)
    for _ in range(3):
        mine, theirs = ([x.clone() for x in inputs] for _ in range(2))
        actual, expected = run(*mine), function(*theirs)
        for one, other in zip((*actual, *mine), (*expected, *theirs), strict=True):
            assert one.device == other.device
            torch.testing.assert_close(one, other, **CLOSE)
    assert all(graph.fallback is None for graph in girih.report(run).graphs)
    return run


def has_host_part(run):
    (graph,) = girih.report(run).graphs
    return graph.host is not None and graph.host.fallback is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_numbers(dtype):
    check(
        lambda x, a, b: (x * a + b, a), (normal(33, 5), here(3, dtype=dtype), here(2))
    )


def test_what_the_host_computes():
    def program(x, count, scale):
        count.add_(1)
        before = x / (1 - 0.9**count)
        count.mul_(2)
        return before, x * count * scale.exp(), count + scale

    run = check(program, (normal(33, 5), here(3.0), here(-0.5)))
    assert has_host_part(run) or not HAS_CUDA


def test_constants_of_a_module():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(5, 7, device=DEVICE)
            self.scale = here(0.3)

        def forward(self, x):
            return F.gelu(self.layer(x)) * self.scale

    module = Scaled()
    run, x = compiled(module), normal(3, 5)
    gradients = []
    for function in (run, module):
        loss = function(x).square().mean()
        gradients.append([loss, *torch.autograd.grad(loss, [*module.parameters()])])
    for mine, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, theirs, **CLOSE)
    assert girih.report(run).graphs[0].fallback is None


def test_sizes_that_vary():
    def program(x, a):
        return (x * a.sin(),)

    run = compiled(program, dynamic=True)
    for size in (3, 7, 1, 0, 1000):
        x, a = normal(size, 5), here(0.1 * size)
        torch.testing.assert_close(run(x, a), program(x, a), **CLOSE)
    assert len(girih.report(run).graphs) <= 3


def test_batches_are_sent():
    def program(x, batch, mask):
        first, second = batch.to(x.device), batch.to(x.device, non_blocking=True)
        first.add_(1)
        return x @ first, second.float().mean(), torch.where(mask.to(x.device), x, 0.0)

    mask = torch.ones(4, 5, dtype=torch.bool, device="cpu").tril()
    check(program, (normal(4, 5), normal(5, 3).to("cpu"), mask))


def test_pinned_memory():
    if not HAS_CUDA:
        pytest.skip("pins memory for a CUDA device")
    batch = normal(1 << 20).to("cpu").pin_memory()
    run = compiled(lambda x, batch: x + batch.to(x.device))
    x = normal(1 << 20)
    expected = x + batch.to(x.device)
    actual = run(x, batch)
    batch.zero_()  # the copy has been made
    torch.testing.assert_close(actual, expected)


def test_results_go_to_the_cpu():
    def program(x, a):
        y = (x * a).sum(0)
        return y.cpu(), y, y.to("cpu", torch.float64)

    check(program, (normal(33, 5), here(2.0)))


def test_only_results_are_on_the_cpu():
    def program(x):
        return x.sum().cpu(), torch.ones(3, device="cpu"), x + 1

    check(program, (normal(33, 5),))


def test_gradients_of_results_on_the_cpu():
    weight = normal(5).requires_grad_()
    run = compiled(lambda w: (w * w).sum().cpu())
    (gradient,) = torch.autograd.grad(run(weight), weight)
    torch.testing.assert_close(gradient, 2 * weight.detach())


def test_reads_by_index():
    def program(x, index, a):
        return x[index.to(x.device)] * a, x[index]

    check(program, (normal(33, 5), here(3, 1, 32, dtype=torch.int64), here(2.0)))


def programs_left_to_eager():
    """The CPU waits for the device, or its tensors have gradients."""

    def waits(x, a):
        return x.sum().cpu() * a, x + 1

    def writes(x, a):
        return (a.copy_(x.sum()),)

    return [waits, writes]


@pytest.mark.parametrize("program", programs_left_to_eager(), ids=lambda f: f.__name__)
def test_left_to_eager(program):
    run = girih.compile(program)
    mine, theirs = ((normal(5), here(2.0)) for _ in range(2))
    theirs[0].copy_(mine[0])
    for one, other in zip(
        (*run(*mine), *mine), (*program(*theirs), *theirs), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_gradients_of_numbers():
    """By a number of the CPU: eager, with its gradients."""
    run, x = girih.compile(lambda x, a: (x * a).sum()), normal(5)
    a = here(2.0).requires_grad_()
    run(x, a).backward()
    torch.testing.assert_close(a.grad.to(x.device), x.sum())


OPTIMIZERS = (
    ("Adam", {"lr": 0.01, "amsgrad": True}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "maximize": True, "foreach": False}),
    ("NAdam", {"lr": 0.01}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    ("Adamax", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.001, "momentum": 0.9}),
)


def give_gradients(weights):
    for weight in weights:
        weight.grad = weight.detach().cos()


def started(name, options, weights):
    """An optimizer whose first step is done: its counters are on the CPU, as usual."""
    give_gradients(weights)
    with torch.device("cpu"):
        optimizer = getattr(torch.optim, name)(weights, **options)
        optimizer.step()
    return optimizer


def trained(name, options, compile_, dtype, **settings):
    """Parameters and state after some steps, and the step."""
    torch.manual_seed(0)
    shapes = [(33, 5), (64,), (64,), (33, 5), (), (1000, 3)]
    weights = [normal(*shape, dtype=dtype).requires_grad_() for shape in shapes]
    optimizer = started(name, options, weights)
    step = compile_(optimizer.step, **settings)
    for _ in range(4):
        give_gradients(weights)
        optimizer.param_groups[0]["lr"] *= 0.9
        step()
    values = [value for w in weights for value in optimizer.state[w].values()]
    states = [value for value in values if isinstance(value, torch.Tensor)]
    return [*[weight.detach() for weight in weights], *states], step


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_optimizers(name, options, dtype):
    mine, step = trained(name, options, compiled, dtype, dynamic=None)
    theirs, _ = trained(name, options, lambda step: step, dtype)
    assert {x.device.type for x in theirs} == {"cpu", DEVICE.type}
    rounding = 5e-5 if dtype == torch.float32 else 1e-6
    for one, other in zip(mine, theirs, strict=True):
        assert one.device == other.device
        torch.testing.assert_close(one, other, rtol=rounding, atol=rounding)
    (graph,) = girih.report(step).graphs
    assert graph.fallback is None
    assert graph.host is not None or not HAS_CUDA


def test_parameters_of_a_shape_share_kernels():
    def kernels(count):
        weights = [normal(64, 3).requires_grad_() for _ in range(count)]
        step = compiled(started("AdamW", {}, weights).step)
        step()
        return girih.report(step).kernels

    assert kernels(12) == kernels(3)


def test_many_parameters():
    """A launch has as many sets of arguments as it may."""
    results = []
    for compile_ in (compiled, lambda step: step):
        torch.manual_seed(0)
        weights = [normal(n % 7, n + 1).requires_grad_() for n in range(100)]
        step = compile_(started("AdamW", {}, weights).step)
        step()
        results.append([weight.detach() for weight in weights])
        if compile_ is compiled:
            assert girih.report(step).launches < 30
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


def test_recorded():
    """Numbers of the CPU are new at each replay."""
    run = girih.compile(lambda x, a: x * (a + 1), mode="reduce-overhead")
    x = normal(33, 5)
    for number in range(6):
        torch.testing.assert_close(run(x, here(float(number))), x * (number + 1.0))


def test_dynamo_door():
    run = torch.compile(lambda x, a: x * (a + 1), backend=backend.girih)
    x = normal(33, 5)
    torch.testing.assert_close(run(x, here(2.0)), x * 3)
