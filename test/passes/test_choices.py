"""Decisions of passes: fuel, seeds, names, and the options that give them."""

import pytest
import torch

import girih
from girih.compiler.decisions import with_choices
from girih.dialects.assembly.parsing import generic_text
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.options import Options, make_options
from girih.passes import PASS_MODULES
from girih.passes.choices import CHOOSING, ChoiceOptions, Choices, recorded
from girih.passes.registry import find_pass, run_pipeline

PROGRAM = """
func.func @main(%x: tensor<6x40xf32>) -> (tensor<6xf32>, tensor<6x40xf32>) {
  %0 = "graph.exp"(%x) : (tensor<6x40xf32>) -> tensor<6x40xf32> loc("model.py":3:1)
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<6x40xf32>)
    -> tensor<6xf32> loc("model.py":12:1)
  %2 = "graph.sin"(%0) : (tensor<6x40xf32>) -> tensor<6x40xf32>
  return %1, %2 : tensor<6xf32>, tensor<6x40xf32>
}
"""


def compiled(pipeline, text=PROGRAM):
    """The IR that passes leave, and their decisions."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        with recorded() as found:
            run_pipeline(module, pipeline)
        return str(module), found


def test_without_options_nothing_is_asked():
    choices = Choices(ChoiceOptions())
    assert choices.are_usual

    def never():
        raise AssertionError("a name that nobody asked for")

    assert choices.takes(never) and not choices.takes(never, usual=False)
    assert choices.pick(never, 3, (1, 2, 3), 1) == 3


def test_fuel_limits_the_usual_decisions():
    choices = Choices(ChoiceOptions(fuel=2))
    assert [choices.takes(str) for _ in range(4)] == [True, True, False, False]
    assert choices.pick(str, 5, (5, 6), 6) == 6


def test_a_seed_draws_as_long_as_there_is_fuel():
    drawn = Choices(ChoiceOptions(seed=1))
    first = [drawn.takes(str) for _ in range(50)]
    assert {True, False} == set(first)
    again = Choices(ChoiceOptions(seed=1, fuel=20))
    assert [again.takes(str) for _ in range(50)] == first[:20] + [True] * 30


def test_passes_with_one_seed_answer_differently():
    options = [find_pass(name).options(seed=1) for name in ("fuse", "tile")]
    one, other = ([c.takes(str) for _ in range(50)] for c in map(Choices, options))
    assert one != other


def test_the_table_has_all_passes_that_choose():
    found = {
        name
        for name in PASS_MODULES
        if not name.startswith("print-")
        and issubclass(find_pass(name).options or object, ChoiceOptions)
    }
    assert found == set(CHOOSING)


def test_decisions_have_names():
    _, found = compiled("fuse")
    texts = [each.text for each in found]
    assert "fuse: %0 exp into %1 reduce_sum at model.py:12" in texts


def test_each_decision_of_fuse_counts():
    usual, found = compiled("fuse")
    assert compiled(f"fuse{{fuel={len(found)}}}")[0] == usual
    assert usual.count("graph.fusion") == 1
    assert compiled("fuse{fuel=0}")[0].count("graph.fusion") == 3


def test_the_same_seed_gives_the_same_program():
    names = [f"{name}{{seed=%d}}" for name in ("fuse", "convert-graph-to-host", "tile")]
    seen = set()
    for seed in range(8):
        pipeline = ",".join(names) % (seed, seed, seed)
        text, found = compiled(pipeline)
        assert compiled(pipeline) == (text, found)
        seen.add(text)
    assert len(seen) > 4


BLOCKS = """
func.func @main(%x: tensor<64x1000xf32>, %w: tensor<1000x64xf32>)
    -> (tensor<64x1xf32>, tensor<64x64xf32>, tensor<1000x64xf32>) {
  %0 = graph.reduce_sum %x dims [1] : (tensor<64x1000xf32>) -> tensor<64x1xf32>
  %1 = graph.mm %x, %w : (tensor<64x1000xf32>, tensor<1000x64xf32>) -> tensor<64x64xf32>
  %2 = graph.exp %w : tensor<1000x64xf32>
  return %0, %1, %2 : tensor<64x1xf32>, tensor<64x64xf32>, tensor<1000x64xf32>
}
"""


def test_blocks_of_kernels_for_a_gpu_are_decisions():
    with make_context():
        text = generic_text(BLOCKS)
    before = (
        "fuse,fuse-contractions{products=all},convert-graph-to-host,tile{target=gpu"
    )
    usual, found = compiled(f"{before}}}", text)
    assert compiled(f"{before} fuel=0}}", text)[0] == usual
    names = {each.text.partition(" in k")[0] for each in found}
    blocks = {"tile: elements of a block", "tile: warps, 0 by elements", "tile: tiling"}
    assert blocks <= names
    drawn = {compiled(f"{before} seed={seed}}}", text)[0] for seed in range(8)}
    assert len(drawn) == 8


def f(x, w):
    y = torch.softmax(torch.nn.functional.gelu(x) @ w, -1)
    return (y.exp() * 2 + y.sum(0)).t().contiguous(), y.cumsum(0)


@pytest.mark.parametrize("fuel", [0, 3, 11, None])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_any_decisions_give_the_same_result(fuel, seed):
    x, w = torch.randn(40, 9).double(), torch.randn(9, 7).double()
    x.requires_grad_()
    options = {"choices_fuel": fuel, "choices_seed": seed, "fallback": False}
    given = {name: value for name, value in options.items() if value is not None}
    results = []
    for function in (f, girih.compile(f, options=given)):
        made = function(x, w)
        (gradient,) = torch.autograd.grad(sum(each.sum() for each in made), x)
        results.append([*made, gradient])
    torch.testing.assert_close(results[1], results[0], atol=1e-12, rtol=1e-12)


def test_code_of_other_decisions_is_not_taken_from_a_cache(tmp_path):
    def g(x):
        return x.exp().sum(-1)

    x = torch.randn(7, 300)
    for fuel in (None, 0, 1, None, 0):
        options = {"cache_dir": tmp_path}
        options |= {} if fuel is None else {"choices_fuel": fuel}
        compiled_g = girih.compile(g, options=options)
        torch.testing.assert_close(compiled_g(x), g(x))
    objects = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(objects) >= 3


def test_the_options_reach_one_pass_or_all():
    one = with_choices({}, Options(choices_fuel=3, choices_pass="fuse"))
    assert {name: given.fuel for name, given in one.items()} == {"fuse": 3}
    all_ = with_choices({}, Options(choices_seed=4))
    assert set(all_) == set(CHOOSING)
    assert {(given.fuel, given.seed) for given in all_.values()} == {(-1, 4)}


def test_a_pass_without_decisions_is_an_error():
    with pytest.raises(ValueError, match="did you mean 'fuse'"):
        make_options({"choices_pass": "fus"})
    with pytest.raises(ValueError, match="at least 0"):
        make_options({"choices_fuel": -1})
