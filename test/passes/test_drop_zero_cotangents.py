"""Without cotangents that are zero, gradients are what they are with zeros."""

import pytest
import torch
from joint_graphs import attributes_of, random_gradients, run_split

from girih.dialects import verifier
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.evaluation.reference import evaluate, function_of
from girih.passes.registry import run_pipeline

BEFORE = "decompose,canonicalize-graph,eliminate-common-subexpressions,partition"


def saved_and_cotangents(module: ir.Module) -> tuple[list[int], list[int]]:
    """Positions of saved arguments, and numbers of the cotangents, of ``@backward``."""
    given = attributes_of(function_of(module, "backward"), "arg_attrs")
    saved = [n for n, a in enumerate(given) if "graph.saved" in a]
    return saved, [a["graph.cotangent"].value for a in given if "graph.cotangent" in a]


def gradient_numbers(module: ir.Module) -> list[int]:
    """The arguments whose gradients ``@backward`` returns."""
    given = attributes_of(function_of(module, "backward"), "res_attrs")
    return [attributes["graph.gradient"].value for attributes in given]


def check(seed: int, count: int, symbolic: bool) -> int:
    """Drops the first cotangent; returns how many saved values that spares."""
    module, inputs = random_gradients(seed, count, symbolic=symbolic)
    run_pipeline(module, BEFORE)
    saved, numbers = saved_and_cotangents(module)
    if not numbers:
        return 0
    plain = len(inputs) - len(numbers)
    zeroed = [*inputs[:plain], torch.zeros_like(inputs[plain]), *inputs[plain + 1 :]]
    _, expected = run_split(module, zeroed)
    wanted_numbers = gradient_numbers(module)
    run_pipeline(module, f"drop-zero-cotangents{{cotangents={numbers[0]}}}")
    verifier.verify(module)
    module.operation.verify()
    left, cotangents = saved_and_cotangents(module)
    assert cotangents == numbers[1:]
    _, actual = run_split(module, [*inputs[:plain], *inputs[plain + 1 :]])
    gradients = dict(zip(gradient_numbers(module), actual, strict=True))
    for number, wanted in zip(wanted_numbers, expected, strict=True):
        one = gradients.get(number, torch.zeros_like(wanted))
        # 0 * inf is NaN, a structural zero times infinity is nothing at all.
        known = ~wanted.isnan()
        torch.testing.assert_close(one[known], wanted[known], rtol=1e-12, atol=1e-12)
    return len(saved) - len(left)


@pytest.mark.parametrize("symbolic", [False, True])
def test_random_gradients(symbolic: bool) -> None:
    spared = 0
    for seed in range(60):
        with make_context(), ir.Location.unknown():
            spared += check(seed, 5 + seed % 30, symbolic)
    assert spared > 5


MATRIX, INDICES = "tensor<2x2xf64>", "tensor<2x2xi64>"

# Ops on %x, %g and %h (a cotangent that is not there), and whether they become zeros.
CASES = {
    "mm": ("mm", "%h, %x", "", True),
    "mm_rhs": ("mm", "%x, %h", "", True),
    "addmm": ("addmm", "%h, %h, %x", "{alpha = 1, beta = 1}", True),
    "addmm_bias": ("addmm", "%h, %g, %x", "{alpha = 1, beta = 1}", False),
    "addmm_scaled": ("addmm", "%h, %g, %x", "{alpha = 3, beta = 1}", False),
    "addmm_product": ("addmm", "%g, %h, %x", "{alpha = 3, beta = 1}", False),
    "addmm_beta": ("addmm", "%g, %h, %x", "{alpha = 1, beta = 2}", False),
    "linear": ("linear", "%h, %x", "", True),
    "linear_weight": ("linear", "%x, %h", "", True),
    "linear_none": ("linear", "%g, %x", "", False),
    "add": ("add", "%h, %g", "", False),
    "sub": ("sub", "%g, %h", "", False),
    "sub_from": ("sub", "%h, %g", "", False),
    "add_both": ("add", "%h, %h", "", True),
    "div": ("div", "%h, %x", "", True),
    "maximum": ("maximum", "%h, %x", "", False),
    "cos": ("cos", "%h", "", False),
    "neg": ("neg", "%h", "", True),
    "cumsum": ("cumsum", "%h", "{dim = 0}", True),
    "scatter_add": ("scatter_add", "%h, %i, %h", "{dim = 0}", True),
    "scatter_add_to": ("scatter_add", "%g, %i, %h", "{dim = 0}", False),
    "scatter_add_from": ("scatter_add", "%h, %i, %g", "{dim = 0}", False),
    "scatter": ("scatter", "%g, %i, %h", "{dim = 0}", False),
    "gather": ("gather", "%h, %i", "{dim = 1}", True),
}


@pytest.mark.parametrize("case", CASES)
def test_op(case: str) -> None:
    name, operands, attributes, becomes_zero = CASES[case]
    types = [INDICES if value == "%i" else MATRIX for value in operands.split(", ")]
    text = f"""
    func.func @backward(%x: {MATRIX} {{graph.saved = "arg0"}},
        %i: {INDICES} {{graph.saved = "arg1"}}, %g: {MATRIX} {{graph.cotangent = 0}},
        %h: {MATRIX} {{graph.cotangent = 1}}) -> ({MATRIX} {{graph.gradient = 0}}) {{
      %0 = "graph.{name}"({operands}) {attributes} : ({", ".join(types)}) -> {MATRIX}
      return %0 : {MATRIX}
    }}"""
    torch.manual_seed(0)
    x, g = (torch.randn(2, 2, dtype=torch.float64) for _ in range(2))
    i = torch.tensor([[0, 1], [1, 0]])
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (expected,) = evaluate(module, [x, i, g, torch.zeros_like(g)], name="backward")
        run_pipeline(module, "drop-zero-cotangents{cotangents=1}")
        verifier.verify(module)
        given = attributes_of(function_of(module, "backward"), "arg_attrs")
        sources = {"arg0": x, "arg1": i}
        places = [a["graph.saved"].value for a in given if "graph.saved" in a]
        inputs = [*(sources[place] for place in places), g]
        (actual,) = evaluate(module, inputs, name="backward")
        body = function_of(module, "backward").regions[0].blocks[0]
        left = [op.operation.name for op in body.operations]
    assert (left == ["graph.full", "func.return"] and not places) == becomes_zero
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


# What is done with a zero by structure, %h, and a written number, %n.
WRITTEN = {
    "where": ("0.0", '"graph.where"(%c, %n, %h)', "i1", True),
    "where_other": ("0.0", '"graph.where"(%c, %h, %n)', "i1", True),
    "where_one": ("1.0", '"graph.where"(%c, %n, %h)', "i1", False),
    "add": ("0.0", '"graph.add"(%n, %h)', "", True),
    "mul": ("0.0", '"graph.mul"(%n, %x)', "", False),
    "addmm": ("0.0", '"graph.addmm"(%h, %n, %x) {alpha = 1, beta = 1}', "", False),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_written_zero(case: str) -> None:
    number, op, condition, becomes_zero = WRITTEN[case]
    count = op.partition("(")[2].partition(")")[0].count(",") + 1
    types = ["tensor<2x2xi1>"] * bool(condition)
    types += [MATRIX] * (count - len(types))
    text = f"""
    func.func @backward(%x: {MATRIX} {{graph.saved = "arg0"}},
        %h: {MATRIX} {{graph.cotangent = 0}}, %g: {MATRIX} {{graph.cotangent = 1}})
        -> ({MATRIX} {{graph.gradient = 0}}) {{
      %c = "graph.isnan"(%x) : ({MATRIX}) -> tensor<2x2xi1>
      %s = "graph.constant"() {{value = {number} : f64}} : () -> tensor<f64>
      %n = "graph.broadcast_to"(%s) : (tensor<f64>) -> {MATRIX}
      %0 = {op} : ({", ".join(types)}) -> {MATRIX}
      %1 = "graph.mul"(%0, %x) : ({MATRIX}, {MATRIX}) -> {MATRIX}
      %2 = "graph.add"(%1, %g) : ({MATRIX}, {MATRIX}) -> {MATRIX}
      return %2 : {MATRIX}
    }}"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_pipeline(module, "drop-zero-cotangents{cotangents=0}")
        verifier.verify(module)
        saved, cotangents = saved_and_cotangents(module)
    assert cotangents == [1]
    assert (not saved) == becomes_zero
