"""Training under torch's modes: autocast, random numbers, checkpoints, threads."""

import copy
import io
import pickle
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint
from training_scenario import Scenarios, check, leaf, outcome_of

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


class Block(nn.Module):
    """A layer with dropout, at module level so that it can be pickled."""

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        torch.manual_seed(1)
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 4)
        self.norm = nn.LayerNorm(4)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.norm(x + self.dropout(self.second(F.gelu(self.first(x)))))


def gradients(model):
    return [p.grad for p in model.parameters()]


def data(*shape, seed=5):
    return leaf(*shape, seed=seed, grad=False, dtype=torch.float32)


# Mixed precision --------------------------------------------------------------------


@scenarios.add
def autocast_outside(compile):
    model = Block()
    compiled = compile(model)
    with torch.autocast("cpu", torch.bfloat16):
        result = compiled(data(6, 4))
    result.square().mean().backward()
    return result.dtype, [g.dtype for g in gradients(model)]


@scenarios.add
def autocast_inside(compile):
    model = nn.Linear(4, 4)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(p.mul(8).round().div(8))

    def program(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = model(x)
        return y, y.float().sum()

    y, loss = compile(program)(data(2, 4).mul(4).round().div(4))
    loss.backward()
    return y, loss, gradients(model)


@scenarios.add
def scaled_gradients(compile):
    model = nn.Linear(4, 2)
    nn.init.constant_(model.weight, 0.5)
    nn.init.zeros_(model.bias)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    compiled = compile(model)
    scales = []
    for step in range(4):
        optimizer.zero_grad()
        factor = float("inf") if step == 2 else 1.0
        loss = compiled(data(6, 4) * factor).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales, list(model.parameters())


# Random numbers ---------------------------------------------------------------------


@scenarios.add
def dropout_is_eagers_under_a_seed(compile):
    x = leaf(40, 3)
    function = compile(lambda x: F.dropout(x.exp(), 0.4))
    torch.manual_seed(7)
    first, second = function(x), function(x)
    torch.manual_seed(7)
    again = function(x)
    first.sum().backward()
    return first, second, torch.equal(first, again), x.grad


@scenarios.add
def dropout_in_the_backward_pass_is_the_same(compile):
    x = leaf(500, grad=True)
    result = compile(lambda x: F.dropout(x * 0 + 1, 0.5) * x)(x)
    result.sum().backward()
    dropped = result == 0
    return torch.equal(dropped, x.grad == 0), bool(dropped.any()), result, x.grad


@scenarios.add
def the_generator_advances_as_in_eager(compile):
    x = leaf(10)
    compile(lambda x: F.dropout(x, 0.5).sum())(x).backward()
    return torch.rand(4)


@scenarios.add
def random_leaves(compile):
    x = leaf(10)
    result = compile(lambda x: (x * torch.rand_like(x) + torch.randn(10)).sum())(x)
    result.backward()
    return result, x.grad


@scenarios.add
def evaluation_after_training(compile):
    model = Block(0.3)
    compiled = compile(model)
    trained = compiled(data(3, 4))
    model.eval()
    evaluated = compiled(data(3, 4))
    model.train()
    again = compiled(data(3, 4))
    (trained.sum() + again.square().sum()).backward()
    return trained, evaluated, again, gradients(model)


# Checkpoints and saved tensors ------------------------------------------------------


@scenarios.add
def checkpoint_inside(compile):
    model = Block()

    def program(x):
        y = checkpoint(model, x, use_reentrant=False)
        return checkpoint(model, y, use_reentrant=False).square().mean()

    loss = compile(program)(data(3, 4))
    loss.backward()
    return loss, gradients(model)


@scenarios.add
def checkpoint_with_dropout_inside(compile):
    model = Block(0.5)

    def program(x):
        return checkpoint(model, x, use_reentrant=False).square().mean()

    torch.manual_seed(11)
    loss = compile(program)(data(3, 4))
    loss.backward()
    return loss, gradients(model)


@scenarios.add
def checkpoint_outside(compile):
    model = Block(0.5)
    compiled = compile(model)
    torch.manual_seed(11)
    loss = checkpoint(compiled, data(3, 4), use_reentrant=False).square().mean()
    loss.backward()
    return loss, gradients(model)


@scenarios.add
def saved_on_the_cpu(compile):
    model = Block()
    compiled = compile(model)
    with torch.autograd.graph.save_on_cpu():
        loss = compiled(data(3, 4)).square().mean()
    loss.backward()
    return loss, gradients(model)


@scenarios.add
def saved_tensors_pass_the_hooks(compile):
    x, log = leaf(3), []
    function = compile(lambda x: x.exp().sin())

    def pack(tensor):
        log.append("packed")
        return tensor.detach().clone()

    def unpack(tensor):
        log.append("unpacked")
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        result = function(x)
    result.sum().backward()
    return x.grad, "packed" in log, log.count("packed") == log.count("unpacked")


@scenarios.add(eager="a dispatch mode is active")
def saved_tensors_may_change_under_copies(compile):
    x = leaf(3)
    inner = x * 1
    function = compile(lambda x: x.sin())
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        result = function(inner)
        inner.detach().zero_()
        result.sum().backward()
    return x.grad


# Anomaly mode -----------------------------------------------------------------------


@scenarios.add
def anomaly_mode_without_an_anomaly(compile):
    x = leaf(3)
    with torch.autograd.detect_anomaly():
        compile(lambda x: x.sin().sum())(x).backward()
    return x.grad


@scenarios.add
def anomaly_mode_finds_nan(compile):
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    with torch.autograd.detect_anomaly():
        loss = compile(lambda x: (x.sqrt() * 0).sum())(x)
        text = outcome_of(loss.backward)
    return text.split(" ")[0], "nan" in text


# Sizes ------------------------------------------------------------------------------


@scenarios.add
def inference_tensors_that_are_not_kept(compile):
    weight = leaf(4, 3)
    with torch.inference_mode():
        given = weight.detach() * 2

    def program(x, w):
        return x.sin() * w, x[1:]

    product, view = compile(program)(given, weight)
    (found,) = torch.autograd.grad(product.exp().sum(), weight, create_graph=True)
    found.exp().sum().backward()
    return product, view, found, weight.grad


@scenarios.add
def inference_tensors_that_would_be_kept(compile):
    weight = leaf(4, 3)
    with torch.inference_mode():
        given = weight.detach() * 2
    product = compile(lambda x, w: x * w)
    product(weight.detach(), weight)  # the next call is not captured: it raises
    try:
        return product(given, weight)
    except RuntimeError as error:
        return str(error).partition(".")[0]


@scenarios.add
def writes_and_views_in_a_region_with_grad_mode(compile):
    written, factor = leaf(4, 3, grad=False), leaf(4, 3)

    def program(x, w):
        with torch.enable_grad():
            x.mul_(w)
            return x[1:], x * w

    with torch.no_grad():
        view, product = compile(program)(written, factor)
    (written.sum() + view.exp().sum() + product.sum()).backward()
    return written, view, product, factor.grad


@scenarios.add
def sizes_that_change(compile):
    model = Block()
    compiled = compile(model, dynamic=None)
    observed = []
    for rows in (3, 5, 8, 2, 3):
        model.zero_grad()
        loss = compiled(data(rows, 4)).square().mean()
        loss.backward()
        observed.append((loss, [g.clone() for g in gradients(model)]))
    return observed


@scenarios.add
def symbolic_sizes(compile):
    function = compile(
        lambda x, y: (torch.softmax(x @ y, -1) * x.shape[0]).log().sum(), dynamic=True
    )
    observed = []
    for n, m in ((3, 4), (7, 4), (5, 9)):
        x, y = leaf(n, m), leaf(m, n, seed=1)
        first = torch.autograd.grad(function(x, y), [x, y], create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), [x, y])
        observed.append((first, second))
    return observed


@scenarios.add
def sizes_in_views_and_sums(compile):
    def program(x):
        n = x.shape[0]
        y = x.reshape(n * 2, -1).mean(1, keepdim=True)
        z = torch.cat([y, y[: n // 2]]).expand(-1, 3)
        return F.pad(z, (1, n)).sum()

    function = compile(program, dynamic=True)
    observed = []
    for n in (4, 6, 10):
        x = leaf(n, 4)
        function(x).backward()
        observed.append(x.grad)
    return observed


# Copies, files, threads -------------------------------------------------------------


@scenarios.add
def deep_copies_of_compiled_modules(compile):
    model = Block()
    compiled = compile(model)
    compiled(data(3, 4)).square().mean().backward()
    copied = copy.deepcopy(compiled)
    copied.zero_grad()
    copied(data(3, 4)).sum().backward()
    return gradients(model), [p.grad for p in copied.parameters()]


@scenarios.add
def state_of_compiled_modules(compile):
    model = Block()
    compiled = compile(model)
    compiled(data(3, 4)).square().mean().backward()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    with torch.no_grad():
        model.first.weight.zero_()
    model.load_state_dict(torch.load(file))
    model.zero_grad()
    compiled(data(3, 4)).square().mean().backward()
    return gradients(model)


@scenarios.add
def pickled_modules(compile):
    model = Block()
    compiled = compile(model)
    compiled(data(3, 4)).square().mean().backward()
    copied = pickle.loads(pickle.dumps(model))
    compiled_copy = compile(copied)
    copied.zero_grad()
    compiled_copy(data(3, 4)).square().mean().backward()
    return gradients(model), gradients(copied)


@scenarios.add
def threads_train_their_own_data(compile):
    function = compile(lambda x: (x.sin() * x.exp()).square().sum())
    found = {}

    def work(number):
        total = 0
        for step in range(20):
            x = leaf(50, seed=100 * number + step)
            function(x).backward()
            total = total + x.grad
        found[number] = total

    work(-1)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[number] for number in sorted(found)]


@scenarios.add
def backward_in_another_thread(compile):
    x = leaf(5)
    loss = compile(lambda x: x.sin().exp().sum())(x)
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()
    return x.grad


@scenarios.add
def default_dtype(compile):
    torch.set_default_dtype(torch.float64)
    try:
        x = leaf(3)
        compile(lambda x: (x * torch.ones(3)).sum())(x).backward()
    finally:
        torch.set_default_dtype(torch.float32)
    return x.grad
