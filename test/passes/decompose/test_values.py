"""Decompositions give what the composite op gives in eager, special values included."""

import pytest
import torch

from girih.dialects import graph
from girih.dialects import types as ty
from girih.dialects.bindings import func, ir
from girih.dialects.context import make_context
from girih.evaluation.reference import evaluate
from girih.passes.decompose import RULES
from girih.passes.registry import run_pipeline

NAMES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.int64: "i64",
    torch.bool: "i1",
}
TOLERANCE = {
    torch.float64: 1e-12,
    torch.float32: 1e-5,
    torch.bfloat16: 1.6e-2,
    torch.float16: 2e-3,
}
FLOATS = tuple(TOLERANCE)
ACTIVATIONS = {
    "elu": {"alpha": 1.5, "scale": 1.1, "input_scale": 0.7},
    "gelu": {"approximate": "none"},
    "hardsigmoid": {},
    "hardswish": {},
    "hardtanh": {"min_value": -0.5, "max_value": 2.0},
    "leaky_relu": {"negative_slope": 0.1},
    "log_sigmoid": {},
    "mish": {},
    "silu": {},
    "softplus": {"beta": 2.0, "threshold": 5.0},
}


def tensor_type(tensor):
    return ty.tensor_type(tuple(tensor.shape), ty.element_type(NAMES[tensor.dtype]))


def before_and_after(name, operands, attributes):
    """Results of ``graph.name`` evaluated whole, and evaluated decomposed."""
    given = [t for t in operands if t is not None]
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([tensor_type(t) for t in given], []))
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            arguments = iter(block.arguments)
            values = [None if t is None else next(arguments) for t in operands]
            op = graph.build(name, values, attributes)
            func.ReturnOp(list(op.results))
        signature = ir.FunctionType.get(
            [tensor_type(t) for t in given], [r.type for r in op.results]
        )
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
        expected = evaluate(module, given)
        run_pipeline(module, "decompose", verify=True)
        assert f'"graph.{name}"' not in str(module)
        return expected, evaluate(module, given)


def check(name, operands, attributes=None):
    expected, actual = before_and_after(name, operands, attributes or {})
    for one, other in zip(actual, expected, strict=True):
        tolerance = TOLERANCE.get(other.dtype, 0.0)
        torch.testing.assert_close(
            one, other, rtol=tolerance, atol=tolerance, equal_nan=True
        )


def some(*shape, dtype=torch.float32):
    return (torch.randn(*shape, dtype=torch.float64) * 2).to(dtype)


def special(dtype):
    values = [0.0, -0.0, 1.0, -1.0, 30.0, -30.0, float("inf"), -float("inf")]
    return torch.tensor([*values, float("nan"), 1e-6, -1e-6, 100.0], dtype=dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=NAMES.get)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name, dtype):
    x = torch.cat([some(40, dtype=dtype), special(dtype)])
    if name == "gelu":
        x = x[~x.isinf()]  # eager's vectorised gelu(inf) is NaN, its scalar one is inf
    check(name, [x], ACTIVATIONS[name])


@pytest.mark.parametrize("dtype", FLOATS, ids=NAMES.get)
def test_gelu_tanh(dtype):
    check("gelu", [some(40, dtype=dtype)], {"approximate": "tanh"})


@pytest.mark.parametrize("low, high", [(True, True), (True, False), (False, True)])
def test_clamp(low, high):
    x = torch.cat([some(20), special(torch.float32)])
    bounds = [torch.tensor(1.0) if low else None, torch.tensor(0.5) if high else None]
    check("clamp", [x, *bounds])


@pytest.mark.parametrize("dtype", FLOATS, ids=NAMES.get)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, dtype):
    for dim in (0, 1):
        check(name, [some(5, 7, dtype=dtype) * 10], {"dim": dim})


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_special_rows(name):
    infinity = float("inf")
    rows = [[-infinity, -infinity], [infinity, 1.0], [float("nan"), 1.0], [1e30, -1e30]]
    check(name, [torch.tensor(rows)], {"dim": 1})
    check(name, [torch.tensor(3.0)], {"dim": 0})
    check(name, [torch.empty(0, 4)], {"dim": 1})


@pytest.mark.parametrize("dtype", FLOATS, ids=NAMES.get)
@pytest.mark.parametrize("rank", [1, 2])
def test_layer_norm(dtype, rank):
    x = some(3, 5, 8, dtype=dtype) + 10
    shape = x.shape[3 - rank :]
    weight, bias = some(*shape, dtype=dtype), some(*shape, dtype=dtype)
    check("layer_norm", [x, weight, bias], {"normalized_rank": rank})
    check("layer_norm", [x, None, None], {"normalized_rank": rank})
    check("rms_norm", [x, weight], {"normalized_rank": rank, "eps": 1e-6})
    check("rms_norm", [x, None], {"normalized_rank": rank, "eps": 1e-6})


def test_layer_norm_of_large_means_is_accurate():
    x = some(4, 512) + 1e4
    _, (y, _, _) = before_and_after(
        "layer_norm", [x, None, None], {"normalized_rank": 1}
    )
    precise = torch.nn.functional.layer_norm(x.double(), (512,))
    assert (y - precise).abs().max() < 1e-3


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 5), (2, 6, 3, 3), (0, 6, 5)])
def test_group_norm(shape):
    check("group_norm", [some(*shape), some(6), some(6)], {"groups": 3, "eps": 1e-5})
    check("group_norm", [some(*shape), None, None], {"groups": 6, "eps": 1e-5})


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 5), (2, 6, 3, 3)])
def test_batch_norm(shape):
    mean, variance = some(6), some(6).abs()
    check("batch_norm", [some(*shape), some(6), some(6), mean, variance])
    check("batch_norm", [some(*shape), None, None, mean, variance])
    check("batch_norm_training", [some(*shape), some(6), some(6)])


@pytest.mark.parametrize("dtype", FLOATS, ids=NAMES.get)
def test_moments(dtype):
    x = some(6, 7, dtype=dtype)
    for over in ((0,), (1,), (0, 1)):
        check("mean", [x], {"dims": over})
        check("var", [x], {"dims": over, "correction": 1.0})
        check("var", [x], {"dims": over, "correction": 0.0})


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_moments_of_too_few_elements():
    for shape in ((0, 3), (1, 3)):
        check("mean", [some(*shape)], {"dims": (0,)})
        check("var", [some(*shape)], {"dims": (0,), "correction": 1.0})


@pytest.mark.parametrize("diagonal", [-2, 0, 1, 9])
def test_triangles(diagonal):
    for x in (
        some(2, 4, 5),
        torch.ones(5, 3, dtype=torch.bool),
        torch.arange(6).view(2, 3),
    ):
        check("tril", [x], {"diagonal": diagonal})
        check("triu", [x], {"diagonal": diagonal})


def test_embedding():
    check("embedding", [some(5, 4), torch.tensor([[0, 4], [3, 2]])])


def test_every_composite_has_a_rule():
    # What says how a derivative is taken is a value as well.
    names = graph.COMPOSITES | graph.DIFFERENTIATION - {"graph.gradient"}
    # Rules of library ops may leave these as they are.
    others = {name for name in RULES if f"graph.{name}" not in graph.LIBRARY}
    assert {name.removeprefix("graph.") for name in names} == others
