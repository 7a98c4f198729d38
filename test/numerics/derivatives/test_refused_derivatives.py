"""Derivatives by all operands, those that eager refuses too: its error or its value.

The long form tries all operators of torch's table.
"""

import operator_calls
import pytest
import refused_derivatives
import torch
import torch.nn.functional as F
from extent import IS_LONG, extent
from varied_numbers import observed

import girih

TABLE = operator_calls.table()
SHORT = ("floor_divide", "heaviside", "lerp", "nn.functional.rrelu")
NAMES = [name for name in TABLE if name not in refused_derivatives.KNOWN]


@pytest.mark.parametrize("entrance", operator_calls.COMPILERS if IS_LONG else ["girih"])
@pytest.mark.parametrize("name", extent(SHORT, long=tuple(NAMES)))
def test_as_in_eager(name, entrance):
    found = []
    for case in refused_derivatives.derived(name, TABLE[name], 1):
        for dynamic in extent((None,), long=(None, True)):
            if problem := refused_derivatives.difference(case, entrance, dynamic):
                found.append(f"{case.label}, dynamic={dynamic}: {problem}")
    assert not found, "\n".join(found)


def _errors(name):
    cases = refused_derivatives.derived(name, TABLE[name], 1)
    return [observed(case.function, list(case.tensors)).error for case in cases]


def test_the_short_form_has_what_eager_refuses():
    refused = {name for name in SHORT if any(_errors(name))}
    assert refused == {"floor_divide", "heaviside"}


def test_the_comparison_finds_a_derivative_that_is_not_refused(monkeypatch):
    case = next(refused_derivatives.derived("heaviside", TABLE["heaviside"], 1))
    wrong = lambda *_: lambda *tensors: [sum(tensors)]  # noqa: E731
    monkeypatch.setattr(refused_derivatives, "compiled", wrong)
    assert refused_derivatives.difference(case, "girih", None)


COMPILED = {
    "compile": girih.compile,
    "dynamic": lambda f: girih.compile(f, dynamic=True),
    "torch.compile": lambda f: torch.compile(f, backend="girih"),
    "torch.compile, dynamic": lambda f: torch.compile(f, backend="girih", dynamic=True),
}


def error_of(call, *arguments):
    with pytest.raises(RuntimeError) as error:
        call(*arguments)
    return str(error.value)


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_backward_pass_of_a_maximum_of_nothing(rank, compiled):
    pool = getattr(F, f"adaptive_max_pool{rank}d")

    def gradient(function, leading, size):
        x = torch.rand(*leading, *(4,) * rank, requires_grad=True)
        function(x, size).sum().backward()
        return x.grad

    torch._dynamo.reset()  # it takes these functions, whose code is one, for the same
    for leading in ((2, 3), (3,)):
        made = COMPILED[compiled](lambda x, size: pool(x, size))
        gradient(made, leading, 2)
        for size in (0, (0,) + (2,) * (rank - 1)):
            expected = error_of(gradient, pool, leading, size)
            assert error_of(gradient, made, leading, size) == expected


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("power", [1, 2])
def test_a_margin_loss_is_derived_once_and_takes_margins_that_are_nan(power, compiled):
    target = torch.tensor([1, 0])

    def function(x, margin):
        return F.multi_margin_loss(x, target, p=power, margin=margin)

    def second(function):
        x = torch.rand(2, 3, requires_grad=True)
        [first] = torch.autograd.grad(function(x, 1.5), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)

    made = COMPILED[compiled](function)
    assert error_of(second, made) == error_of(second, function)
    x = torch.rand(2, 3)
    for margin in (1.5, 2.5, float("nan")):
        torch.testing.assert_close(made(x, margin), function(x, margin))
