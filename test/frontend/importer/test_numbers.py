"""Python numbers that are inputs of a graph, compiled, against eager."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import fx
from torch.fx.experimental.symbolic_shapes import DimDynamic
from torch.utils._sympy.value_ranges import ValueRanges

from girih.compiler import compile_graph
from girih.frontend.capture.shapes import SizeSource, SymbolicEvaluator
from girih.options import Options
from girih.reports import Report

FLOATS = (0.37, -1.9, 2.0, math.inf, math.nan, 1e300)
POSITIVE = (5, 9, 1000)
NEGATIVE = (-5, -2, -1000)

IN_KERNELS = {
    "mul": lambda x, v: x * v,
    "sub": lambda x, v: v - x,
    "div": lambda x, v: x / v,
    "reciprocal": lambda x, v: v / x,
    "alpha": lambda x, v: torch.add(x, x, alpha=v),
    "pow": lambda x, v: x.abs() ** v,
    "clamp": lambda x, v: torch.clamp(x, v, 2.0),
    "full_like": lambda x, v: torch.full_like(x, v),
    "addcmul": lambda x, v: torch.addcmul(x, x, x, value=v),
    "compare": lambda x, v: x > v,
    "where": lambda x, v: torch.where(x > 0, x, v),
    "masked_fill": lambda x, v: x.masked_fill(x > 0, v),
    "floor_divide": lambda x, v: x // v,
    "remainder": lambda x, v: x % v,
    "lerp": lambda x, v: torch.lerp(x, x + 1, v),
    "in place": lambda x, v: x.clone().add_(x, alpha=v).mul_(v),
    "chain": lambda x, v: (x * v + v).sin() * v,
    "sum": lambda x, v: (x * v).sum(),
    "bfloat16": lambda x, v: x.bfloat16() * v,
    "float64": lambda x, v: x.double() * v,
}
IN_CALLS = {
    "full": lambda x, v: torch.full((3,), v),
    "leaky_relu": lambda x, v: F.leaky_relu(x, v),
    "softplus": lambda x, v: F.softplus(x, v),
    "elu": lambda x, v: F.elu(x, v),
    "threshold": lambda x, v: F.threshold(x, v, v),
    "complex": lambda x, v: x.to(torch.complex64) * v,
    "int8": lambda x, v: (x * 10).to(torch.int8) + v,
}
PROGRAMS = IN_KERNELS | IN_CALLS


def symbol_of(environment, value):
    """A SymInt or SymFloat that stands for an input."""
    source, positive = SizeSource("number"), True if value == abs(value) else None
    is_int = isinstance(value, int)
    symbol = environment.create_symbol(
        value,
        source,
        dynamic_dim=DimDynamic.DYNAMIC,
        constraint_dim=None,
        positive=positive if is_int else None,
        do_not_specialize_zero_one=not is_int or not positive,
    )
    if not is_int:
        return environment.create_symfloatnode(symbol, hint=value, source=source)
    if value < 0:
        environment.var_to_range[symbol] = ValueRanges(-(2**31), -1)
    return environment.create_symintnode(symbol, hint=value, source=source)


def compiled_for(program, x, value):
    """The compiled graph of one call, its report, and the guards that it took."""
    evaluator, graph = SymbolicEvaluator(), fx.Graph()
    examples = [
        evaluator.fake_of(x, "x", ()),
        symbol_of(evaluator.environment, value),
    ]
    nodes = [graph.placeholder("x"), graph.placeholder("v")]
    for node, example in zip(nodes, examples, strict=True):
        node.meta["val"] = example
    graph.output((graph.call_function(program, tuple(nodes)),))
    module, report = fx.GraphModule(torch.nn.Module(), graph), Report("numbers")
    compiled = compile_graph(module, examples, Options(), report)
    return compiled, report, evaluator.environment.guards


def outcome_of(function, *args):
    """What a call returns, or the type of what it raises."""
    try:
        result = function(*args)
    except RuntimeError as error:
        return type(error)
    return result[0] if isinstance(result, tuple) else result


OF_CONSTANTS = ("elu", "leaky_relu", "softplus")


@pytest.mark.parametrize("values", [FLOATS, POSITIVE, NEGATIVE])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_eager(name, values):
    program, x = PROGRAMS[name], torch.randn(6, 4)
    compiled, report, guards = compiled_for(program, x, values[0])
    if guards:  # its rule takes constants where it is given a size
        assert name in OF_CONSTANTS and values is POSITIVE
        values = values[:1]
    for value in values:
        expected = outcome_of(program, x, value)
        actual = outcome_of(compiled, x, value)
        if isinstance(expected, type):
            assert actual is expected, (value, actual)
        else:
            torch.testing.assert_close(
                actual, expected, equal_nan=True, rtol=1e-4, atol=1e-5
            )


@pytest.mark.parametrize("name", IN_KERNELS)
def test_floats_are_read_by_kernels(name):
    _, report, _ = compiled_for(PROGRAMS[name], torch.randn(6, 4), 0.37)
    assert report.fallback is None
    assert (report.kernels, report.externs) == (report.kernels, 0) != (0, 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bit_arithmetic_takes_the_number_as_float32(dtype):
    x = torch.randn(1000).to(dtype)
    compiled, _, _ = compiled_for(lambda x, v: x * v, x, 0.37)
    for value in (0.37, 0.1, 1 / 3):
        assert torch.equal(compiled(x, value)[0], x * value)


def test_a_number_that_python_needs_is_guarded():
    x = torch.randn(4)
    compiled, _, guards = compiled_for(lambda x, v: x * torch.tensor(v), x, 0.5)
    assert torch.equal(compiled(x, 0.5)[0], x * 0.5)
    assert len(guards) == 1


def test_floats_of_dynamo_are_inputs():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(lambda x, lr: (x * lr, x * (1 - lr)), backend="girih")
    x = torch.randn(3)
    for lr in (0.1, 0.2, 0.3, 0.4, 1e300):
        torch.testing.assert_close(compiled(x, lr), (x * lr, x * (1 - lr)))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 2
    torch._dynamo.reset()
