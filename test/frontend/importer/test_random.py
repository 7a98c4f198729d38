"""Where random numbers of an imported program come from."""

import pytest
import torch
from importing import op_names

from girih.dialects import verifier
from girih.frontend.fake import make_fake_mode
from girih.frontend.importer import import_graph

CUDA = torch.device("cuda", 0)

DRAWS = [
    lambda x: torch.rand_like(x),
    lambda x: torch.randn_like(x),
    lambda x: torch.bernoulli(x),
    lambda x: torch.randint_like(x, 7),
    lambda x: torch.native_dropout(x, 0.5, True)[0],
    lambda x: torch.empty_like(x).uniform_(),
    lambda x: torch.empty_like(x).normal_(),
    lambda x: torch.empty_like(x).exponential_(),
    lambda x: torch.empty_like(x).bernoulli_(0.5),
]


def calling(function):
    graph = torch.fx.Graph()
    graph.output(graph.call_function(function, (graph.placeholder("x"),)))
    return graph


def imported(function, random=None, device=CUDA):
    with make_fake_mode():
        x = torch.empty(6, 4, device=device)
    gm = torch.fx.GraphModule({}, calling(function))
    program = import_graph(gm, [x], device=device, random=random)
    verifier.verify(program.module)
    return program


@pytest.mark.parametrize("function", DRAWS)
def test_devices_make_them_of_seeds(function):
    names = op_names(imported(function))
    assert "philox" in names
    assert "extern" not in names
    assert names.count("randint") == 1


@pytest.mark.parametrize("function", DRAWS)
@pytest.mark.parametrize(
    ("random", "device"), [("eager", CUDA), (None, torch.device("cpu"))]
)
def test_others_draw_as_eager_does(function, random, device):
    names = op_names(imported(function, random, device))
    assert "extern" in names
    assert "philox" not in names


def test_the_processor_may_use_seeds_too():
    assert "philox" in op_names(imported(DRAWS[0], "philox", torch.device("cpu")))


def test_all_seeds_are_drawn_at_once():
    program = imported(lambda x: torch.rand_like(x) + torch.rand_like(x) * x.tanh())
    function = program.module.body.operations[0]
    first = function.regions[0].blocks[0].operations[0]
    assert first.operation.name == "graph.randint"
    assert str(first.y.type) == "tensor<2xi64>"
    assert [op.index for op in program_ops(function, "graph.seed")] == [0, 1]


def program_ops(function, name):
    ops = function.regions[0].blocks[0].operations
    return [op for op in ops if op.operation.name == name]


def test_small_tensors_have_short_indices():
    text = str(imported(lambda x: torch.rand_like(x.expand(1 << 10, 6, 4))).module)
    assert "tensor<24576xi32>" in text
    text = str(imported(lambda x: torch.rand_like(x.expand(1 << 26, 6, 4))).module)
    assert "tensor<1610612736xi64>" in text


def test_wide_ranges_are_left_to_aten():
    names = op_names(imported(lambda x: torch.randint_like(x, 2**40)))
    assert "extern" in names
