"""``w.data += x``: the memory of a tensor is written, and then put where it is."""

from __future__ import annotations

import pytest
import torch

import girih


def _merged(w, left, right, x):
    w.data += left @ right
    return x @ w.T


def _merged_and_split(w, left, right, x):
    w.data += 2 * (left @ right)
    total = w.sum()
    w.data -= 2 * (left @ right)
    return x @ left + total


def _multiplied(w, left, right, x):
    w.data *= (left @ right).norm(dim=1, keepdim=True)
    return x @ w


def _of_a_result(w, left, right, x):
    twice = w * 2
    twice.data += left @ right
    return x @ twice


def _of_the_data(w, left, right, x):
    w.data.data += left @ right
    return x @ w


def _bound(w, left, right, x):
    memory = w.data
    memory += left @ right
    w.data = memory
    return x @ w


def _itself(w, left, right, x):
    w.data = w
    return x @ w + (left @ right).sum()


def _in_steps(w, left, right, x):
    with torch.no_grad():
        w.data.mul_(0.9).add_(left @ right, alpha=0.1)
        w.add_(left @ right)
    w.detach().add_(left @ right)
    return x @ w


FUNCTIONS = (
    _merged,
    _merged_and_split,
    _multiplied,
    _of_a_result,
    _of_the_data,
    _bound,
    _itself,
    _in_steps,
)


def _observed(function, requires_grad, parameter=False):
    torch.manual_seed(0)
    w, left, right, x = (torch.randn(3, 3, dtype=torch.float64) for _ in range(4))
    if parameter:
        w = torch.nn.Parameter(w, requires_grad=requires_grad)
    w.requires_grad_(requires_grad)
    address = w.data_ptr()
    for tensor in (left, right, x):
        tensor.requires_grad_()
    result = function(w, left, right, x)
    inputs = [t for t in (w, left, right, x) if t.requires_grad]
    gradients = torch.autograd.grad(result.sin().sum(), inputs, allow_unused=True)
    said = w.requires_grad, w.is_leaf, type(w), w.data_ptr() == address
    return result.detach(), w.detach(), gradients, said


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_data_is_written_within_a_graph(function, requires_grad, dynamic):
    options = {"fallback": False}
    compiled = girih.compile(function, dynamic=dynamic, fullgraph=True, options=options)
    for parameter in (False, True):
        found = _observed(compiled, requires_grad, parameter)
        wanted = _observed(function, requires_grad, parameter)
        torch.testing.assert_close(found[:2], wanted[:2])
        assert [g is None for g in found[2]] == [g is None for g in wanted[2]]
        for mine, eagers in zip(found[2], wanted[2], strict=True):
            torch.testing.assert_close(mine, eagers)
        assert found[3] == wanted[3]


OTHERS = {
    "another one": lambda w, x: x,
    "of another one": lambda w, x: x.data,
    "turned": lambda w, x: w.data.t(),
    "a part": lambda w, x: w.data[1:],
    "new": lambda w, x: w.data * 2,
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_memory_is_put_there_outside_of_a_graph(name):
    def function(w, x):
        w.data = OTHERS[name](w, x)
        return w * x.sum()

    results = []
    for run in (function, girih.compile(function)):
        w, x = torch.arange(9.0).view(3, 3), torch.arange(9.0).view(3, 3) + 1
        results.append((run(w, x), w, w.stride()))
        assert (w.data_ptr() == x.data_ptr()) == name.endswith("another one")
    torch.testing.assert_close(*results)


def test_a_transform_refuses_it():
    def function(w):
        def inner(w):
            w.data += 1
            return w.sum()

        return torch.func.grad(inner)(w)

    with pytest.raises(RuntimeError) as wanted:
        function(torch.ones(3))
    with pytest.raises(RuntimeError) as found:
        girih.compile(function)(torch.ones(3))
    assert str(found.value) == str(wanted.value)


def test_a_class_with_data_of_its_own():
    class Named(torch.Tensor):
        seen = []

        def __setattr__(self, name, value):
            self.seen.append(name)
            super().__setattr__(name, value)

    def function(w):
        w.data += 1
        return w.sum()

    w = torch.ones(3).as_subclass(Named)
    assert girih.compile(function)(w) == 6
    assert Named.seen == ["data"]


def test_in_inference_mode():
    def function(w):
        w.data += 1
        return w * 2

    compiled = girih.compile(function)
    for mode in (False, True):
        with torch.inference_mode(mode):
            ours, eagers = torch.ones(3), torch.ones(3)
            assert torch.equal(compiled(ours), function(eagers))
            assert torch.equal(ours, eagers)
