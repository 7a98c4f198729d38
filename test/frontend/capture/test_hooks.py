"""Hooks that are registered and removed in each call: each has another number."""

import itertools
import logging

import pytest
import torch
from capture_differential import assert_same, compile_eagerly
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

CALLS = 6


class Keeper:
    """Keeps what a layer gives, as captures of activations do."""

    def hook(self, module, args, output):
        self.kept = output.detach() + 1


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def bound_method(net, x):
    keeper = Keeper()
    handle = net[1].register_forward_hook(keeper.hook)
    try:
        y = net(x)
    finally:
        handle.remove()
    return y, keeper.kept


def closure(net, x):
    kept = []
    handle = net[1].register_forward_hook(lambda m, i, o: kept.append(o * 2))
    y = net(x)
    handle.remove()
    return y, kept


def as_manager(net, x):
    kept = []
    with net[1].register_forward_hook(lambda m, i, o: kept.append(o)):
        y = net(x)
    return y, kept, net(x)


def on_each_layer(net, x):
    sizes = []
    handles = [
        m.register_forward_hook(lambda m, i, o: sizes.append((type(m), o.numel())))
        for m in net
    ]
    y = net(x)
    for handle in handles:
        handle.remove()
    return y, sizes


def before(net, x):
    handle = net[0].register_forward_pre_hook(lambda m, i: (i[0] * 2,))
    y = net(x)
    handle.remove()
    return y


def with_keywords(net, x):
    plain = net[0].register_forward_hook(lambda m, i, o: o + 1)
    named = net[0].register_forward_hook(lambda m, i, k, o: o * 2, with_kwargs=True)
    y = net(x)
    plain.remove()
    named.remove()
    return y


def prepended(net, x):
    last = net[0].register_forward_hook(lambda m, i, o: o * 2)
    first = net[0].register_forward_hook(lambda m, i, o: o + 2, prepend=True)
    y = net(x)
    first.remove()
    last.remove()
    return y


def of_gradients(net, x):
    norms = []
    handle = net[2].register_full_backward_hook(lambda m, i, o: norms.append(o[0] * 2))
    net(x).sum().backward()
    handle.remove()
    return norms


def of_a_tensor(net, x):
    norms = []
    y = net[0](x)
    handle = y.register_hook(lambda g: norms.append(g * 2))
    net[2](y).sum().backward()
    handle.remove()
    return norms


def of_all_modules(net, x):
    kept = []
    handle = register_module_forward_hook(lambda m, i, o: kept.append(o + 1))
    before = register_module_forward_pre_hook(lambda m, i: (i[0] + 1,))
    y = net(x)
    handle.remove()
    before.remove()
    return y, kept


def on_a_new_module(net, x):
    kept = []
    made = nn.ReLU()
    made.register_forward_hook(lambda m, i, o: kept.append(o))
    return made(x), kept


def of_an_optimizer(net, x):
    steps = []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    handle = optimizer.register_step_pre_hook(lambda o, a, k: steps.append(len(a)))
    net(x).sum().backward()
    optimizer.step()
    handle.remove()
    return steps


def of_a_buffer(net, x):
    made = nn.ReLU()
    made.register_buffer("twice", x * 2)
    return made(x) + made.twice


def attached(net, x, hook):
    handle = net[1].register_forward_hook(hook)
    try:
        return net(x)
    finally:
        handle.remove()


def in_a_helper(net, x):
    kept = []
    return attached(net, x, lambda m, i, o: kept.append(o)), kept


numbers = itertools.count()
seen = []


def of_a_counter(net, x):
    number = next(numbers)
    seen.append(number)
    return x + 1


@pytest.mark.parametrize(
    "program",
    [
        bound_method,
        closure,
        as_manager,
        on_each_layer,
        before,
        with_keywords,
        prepended,
        of_gradients,
        of_a_tensor,
        of_all_modules,
        on_a_new_module,
        of_an_optimizer,
        of_a_buffer,
        in_a_helper,
        of_a_counter,
    ],
)
def test_registered_in_each_call(program, caplog):
    net = network()
    compiled = compile_eagerly(program, fullgraph=False)
    caplog.set_level(logging.INFO, "girih.recompiles")
    for step in range(CALLS):
        x = torch.randn(2, 3)
        assert_same(compiled(net, x), program(net, x))
        if step == 1:  # gradients were None before the first call
            caplog.clear()
    assert not caplog.messages


# What the numbers decide


class Owner:
    """Has a dict that is named as torch names those of hooks."""

    def __init__(self, *hooks):
        self._hooks = dict(hooks)
        self._hooks_with_kwargs = {}


def called_in_order(owner, x):
    for number, hook in owner._hooks.items():
        x = hook(x, number) if number in owner._hooks_with_kwargs else hook(x)
    return x


def double(x, *number):
    return x * 2 + sum(number)


def shift(x, *number):
    return x + 3 - sum(number)


def make(factor):
    return lambda x, *number: x * factor - sum(number)


def check_all(program, owners):
    compiled = compile_eagerly(program, fullgraph=False)
    x = torch.randn(3)
    for owner in [*owners, *owners]:
        assert_same(compiled(owner, x), program(owner, x))


def test_order_and_number_of_hooks():
    flagged = [Owner((8, double), (9, shift)) for _ in range(3)]
    for owner, number in zip(flagged, (8, 9, 10), strict=True):
        owner._hooks_with_kwargs[number] = True
    moved = Owner((1, double), (2, shift))
    moved._hooks[1] = moved._hooks.pop(1)
    owners = [
        Owner((1, double), (2, shift)),
        Owner((3, double), (4, shift)),
        moved,
        Owner((3, shift), (4, double)),
        Owner((5, double)),
        Owner(),
        Owner((5, make(2))),
        Owner((6, make(3))),
        Owner((6, torch.neg)),
        *flagged,
    ]
    check_all(called_in_order, owners)


def test_numbers_that_are_read():
    def keys(owner, x):
        return [x * number for number in owner._hooks]

    def a_key(owner, x):
        found = [hook(x) for hook in owner._hooks.values()]
        return found, 2 in owner._hooks, owner._hooks.get(1) is not None

    def other(owner, x):
        taken = {number: hook(x) for number, hook in owner._hooks.items()}
        return taken, sum(taken), 2 in taken, list(owner._hooks)

    def unpacked(owner, x):
        (number, hook), *rest = owner._hooks.items()
        return hook(x) + number, len(rest)

    def backwards(owner, x):
        return [hook(x) for hook in reversed(owner._hooks.values())]

    owners = [
        Owner((1, double), (2, shift)),
        Owner((3, double), (4, shift)),
        Owner((2, double), (3, shift)),
        Owner((2, shift), (1, double)),
    ]
    for program in (keys, a_key, other, unpacked, backwards):
        check_all(program, owners)


def test_changed_while_iterated():
    def replaced(owner, x):
        for number, hook in owner._hooks.items():
            owner._hooks[number + 0] = shift
            x = hook(x)
        return x, list(owner._hooks)

    def swapped(owner, x):
        for hook in owner._hooks.values():
            owner._hooks[max(owner._hooks)] = shift
            x = hook(x)
        return x

    def extended(owner, x):
        try:
            for hook in owner._hooks.values():
                owner._hooks[len(owner._hooks) + 50] = hook
                x = hook(x)
        except RuntimeError as error:
            return x, str(error)
        return x

    for program in (replaced, swapped, extended):
        compiled = compile_eagerly(program, fullgraph=False)
        x = torch.randn(3)
        for first in (1, 4, 7):
            mine, theirs = (
                Owner((first, double), (first + 1, double)) for _ in range(2)
            )
            assert_same(compiled(mine, x), program(theirs, x))
            assert mine._hooks == theirs._hooks


def test_break_amid_hooks():
    def program(owner, x):
        for number, hook in owner._hooks.items():
            x = hook(x)
            if x.sum() > 0:
                x = x + number
        return x

    check_all(program, [Owner((n, double), (n + 1, shift)) for n in (1, 4, 9)])


def test_handle_that_stays():
    """A handle that is no local variable is removed in the graph."""
    net = network()

    def program(x):
        handles[0].remove()
        return net(x)

    handles = [net[0].register_forward_hook(lambda m, i, o: o * 2)]
    x = torch.randn(2, 3)
    compiled = compile_eagerly(program)
    actual = compiled(x)
    assert not net[0]._forward_hooks
    assert_same(actual, program(x))
