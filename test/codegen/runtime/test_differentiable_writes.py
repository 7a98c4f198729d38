"""Writes to values, inputs and parts of them in functions that train."""

import itertools
from functools import partial

import pytest
import torch
from training_scenario import Scenarios, check, leaf, outcome_of

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


@scenarios.add
def writes_to_values(compile):
    x = leaf(3, 4)

    def program(x):
        y = x.clone()
        y[0] = y[1] * 2
        y.mul_(x)
        y[:, 1:].add_(1)
        return y.sum()

    compile(program)(x).backward()
    return x.grad


@scenarios.add
def a_write_through_a_view(compile):
    x, y = leaf(3, 4), leaf(4, seed=1)

    def program(x, y):
        z = x * 2
        view = z[1]
        view.copy_(y)
        return z.sin() + view

    compile(program)(x, y).sum().backward()
    return x.grad, y.grad


@scenarios.add
def writes_to_an_input(compile):
    x, y = leaf(3), leaf(3, seed=1)

    def program(z, y):
        z.mul_(y)
        return z.sin()

    inner = x * 3
    result = compile(program)(inner, y)
    (result.sum() + inner.square().sum()).backward()
    return inner, result, x.grad, y.grad


@scenarios.add
def writes_to_an_input_that_is_returned(compile):
    x = leaf(3)

    def program(z):
        z.add_(1)
        return z.mul_(2)

    inner = x * 3
    result = compile(program)(inner)
    result.square().sum().backward()
    return result is inner, inner, x.grad


@scenarios.add
def writes_to_an_input_without_gradient(compile):
    """The input gets a gradient by what is written to it."""
    x, buffer = leaf(3), torch.zeros(3, dtype=torch.float64)

    def program(x, buffer):
        buffer.add_(x * 2)
        return x.sum()

    compile(program)(x, buffer)
    buffer.square().sum().backward()
    return buffer, x.grad


@scenarios.add
def running_statistics(compile):
    x, total = leaf(3), torch.zeros((), dtype=torch.float64)

    def program(x, total):
        with torch.no_grad():
            total.mul_(0.9).add_(x.mean(), alpha=0.1)
        return (x - total).square().sum()

    function = compile(program)
    for _ in range(2):
        function(x, total).backward()
    return total, x.grad


@scenarios.add(eager="the program raises")
def writes_to_a_leaf(compile):
    x = leaf(3)
    return outcome_of(lambda: compile(lambda x: x.mul_(2).sum())(x))


@scenarios.add(broken=True)
def writes_to_a_leaf_without_grad_mode(compile):
    x = leaf(3)

    def program(x):
        with torch.no_grad():
            x.mul_(2)
        return x.square().sum()

    compile(program)(x).backward()
    return x, x.grad


@scenarios.add
def writes_to_part_of_an_input(compile):
    x, y = leaf(4), leaf(2, seed=1)

    def program(z, y):
        z[1:3] = y
        return (z * 2).sum()

    inner = x * 3
    loss = compile(program)(inner, y) + inner.sin().sum()
    loss.backward()
    return inner, x.grad, y.grad


PARTS = {
    "rows": lambda b: b[1:],
    "columns": lambda b: b[:, :2],
    "turned": lambda b: b[:, 1:3].t(),
    "middle": lambda b: b[1:, 1:3],
    "steps": lambda b: b[::2],
    "strided": lambda b: b.as_strided((2, 2), (8, 3), 1),
    "expanded": lambda b: b[:1].expand(1, 4)[:, :1].expand(1, 3),
}


def _written_parts(compile, made):
    """Writes arguments that start within their storage, or have gaps."""

    def program(w, y):
        row = w[0]
        w[:1].mul_(y[:1])
        return row, w[:, 0], w * y

    found = {}
    for name, part in PARTS.items():
        x = leaf(4, 4)
        base = made(x)
        w = part(base)
        y = leaf(*w.shape, seed=1)
        call = compile(program)
        outcome = outcome_of(lambda call=call, w=w, y=y: call(w, y))
        if outcome == "no error":
            row, column, product = call(w, y * 2)
            (row.sum() + column.exp().sum() + product.sin().sum()).backward()
            offsets = row.storage_offset(), column.storage_offset()
            outcome = row, column, product, offsets
        found[name] = outcome, base.detach(), x.grad, y.grad
    return found


@scenarios.add
def writes_to_parts_of_a_tensor(compile):
    return _written_parts(compile, lambda x: x.detach().clone())


@scenarios.add
def writes_to_parts_of_a_tensor_with_gradients(compile):
    return _written_parts(compile, lambda x: x * 2)


SHARED = {
    "t": lambda v: (v, v.t()),
    "slices": lambda v: (v[:3], v[1:]),
    "rows": lambda v: (v[:2], v[2:]),
    "detached": lambda v: (v, v.detach()),
    "detached_rows": lambda v: (v[:2], v.detach()[2:]),
    "base": lambda v: (v[1:], v),
    "numpy": lambda v: (v, torch.from_numpy(v.detach().numpy())),
}


def _shared_writes(compile, made):
    """A program writes what requires a gradient to memory that it reads elsewhere."""

    def program(v, w, y):
        w[0] = y[1]
        return v * v

    found = {}
    for name, share in SHARED.items():
        x, y = leaf(4, 4), leaf(4, 4, seed=1)
        v, w = share(made(x))
        result = compile(program)(v, w, y)
        if result.requires_grad:
            result.sum().backward()
        flags = v.requires_grad, w.requires_grad
        found[name] = result, flags, v.detach(), w.detach(), x.grad, y.grad
    return found


@scenarios.add(overlaps=True)
def writes_to_shared_inputs(compile):
    return _shared_writes(compile, lambda x: x.detach().clone())


@scenarios.add(overlaps=True)
def writes_to_shared_inputs_with_gradients(compile):
    return _shared_writes(compile, lambda x: x * 2)


@scenarios.add(overlaps=True)
def writes_to_two_shared_inputs(compile):
    x, y = leaf(4), leaf(3, seed=1)
    base = x * 2

    def program(v, w, y):
        v.mul_(y)
        w.add_(y * y)
        return v * w

    result = compile(program)(base[1:], base[:3], y)
    (result.sum() + base.sin().sum()).backward()
    return result, base, x.grad, y.grad


@scenarios.add(broken=True, overlaps=True)
def a_write_to_a_row_behind_a_graph_break(compile):
    x, linear = leaf(2), torch.nn.Linear(2, 2).double()

    def program(x):
        buffer = torch.zeros(3, 2, dtype=torch.float64)
        row = buffer[0]
        print(end="")
        row.copy_(linear(x))
        return buffer * 2

    result = compile(program)(x)
    result.exp().sum().backward()
    return result, x.grad, linear.weight.grad


@scenarios.add
def a_view_of_a_written_input(compile):
    x = leaf(4, 3)

    def program(z):
        z.mul_(2)
        return z[1]

    inner = x * 3
    row = compile(program)(inner)
    row.mul_(5)
    inner.sin().sum().backward()
    return inner, row, x.grad


def _writes_what_is_kept(write):
    def program(x, w):
        y = (x * w).exp()
        other = w.sin()
        write(y)
        return y.sum(), other.sum(), y

    return program


def _in_place(y):
    y.add_(1)


def _through_a_view(y):
    y.view(-1)[2:4].mul_(2)


def _without_grad_mode(y):
    with torch.no_grad():
        y.zero_()


def _of_a_detached_one(y):
    y.detach().neg_()


@scenarios.add
def writes_to_what_is_kept(compile):
    """Eager raises in a backward pass that comes to it, and in no other."""
    observed = []
    for write in (_in_place, _through_a_view, _without_grad_mode, _of_a_detached_one):
        function = compile(_writes_what_is_kept(write))
        for chosen in (0, 1, 2):
            x, w = leaf(3, 4), leaf(3, 4, seed=1)
            result = function(x, w)[chosen].sum()
            observed.append(outcome_of(result.backward))
            observed.append([x.grad, w.grad])
            again = function(x, w)[chosen].sum()
            for create_graph in (False, True):
                derive = partial(
                    torch.autograd.grad,
                    again,
                    [w],
                    retain_graph=True,
                    create_graph=create_graph,
                )
                observed.append(outcome_of(derive))
    return observed


@scenarios.add
def writes_to_an_argument_that_is_kept(compile):
    def program(x, other):
        y = (x * other).sum()
        other[0] = 0
        return y + (x * other.clone()).sum(), (x * other).sum()

    observed = []
    for chosen in (0, 1):
        x, other = leaf(3), leaf(3, seed=1, grad=False)
        results = compile(program)(x, other)
        observed.append(outcome_of(results[chosen].backward))
        observed += [x.grad, other]
    return observed


@scenarios.add
def views_of_a_whole_that_is_transposed_later(compile):
    """Their nodes lead to the whole as it lies in memory, whatever its shape is now."""

    def program(x, write):
        whole = x * 2
        flat, some, row = whole.view(-1), whole.view(-1)[::2], whole[1:]
        if write == "flat":
            flat.mul_(3)
        whole.t_()
        if write == "whole":
            whole.add_(1)
        return whole, flat, some, row

    observed = []
    writes = [*itertools.product((False, True), (None, "flat", "whole"))]
    for dynamic, write in writes:
        x = leaf(3, 4)
        results = compile(program, dynamic=dynamic)(x, write)
        sum((y.sin() * n).sum() for n, y in enumerate(results, 2)).backward()
        observed.append([*results, x.grad])
    return observed


@scenarios.add
def name_of_what_was_written(compile):
    """Of two nodes that keep it, the one that was made last raises."""

    def program(x):
        y = x.exp()
        z = y.sin()
        y.add_(1)
        return z

    result = compile(program)(leaf(3))
    try:
        result.sum().backward()
    except RuntimeError as error:
        return str(error).partition("Hint")[0]


@scenarios.add
def detached_tensors_that_are_written(compile):
    """One that gets nothing with a derivative has no history, also as a result."""

    def of_an_argument(x, w):
        whole, data = x.detach(), x.data
        whole[1:] = 3
        data += 1
        return x * w, whole, data[1:]

    def of_a_value(x, w):
        y = x * w
        whole = y.detach()
        whole.clamp_(0)
        return y.sin(), whole, whole[1:]

    observed = []
    for program in (of_an_argument, of_a_value):
        x, w = leaf(3), leaf(3, seed=1)
        first, *others = compile(program)(x, w)
        first.exp().sum().backward()
        wanted = [y.requires_grad for y in others]
        observed.append([x, first, *others, wanted, x.grad, w.grad])
    return observed
