"""On which device what of a program has to be: fake tensors of a GPU need none."""

import pytest
import torch
from importing import op_names

import girih
from girih.errors import UnsupportedError
from girih.frontend.fake import make_fake_mode
from girih.frontend.importer import import_graph

CUDA = torch.device("cuda", 0)


def moved(x, device):
    """`x.to(device)`, which would look for the device."""
    return torch.ops.aten._to_copy.default(x, device=torch.device(device))


def imported(function, *shapes, device=CUDA):
    with make_fake_mode():
        inputs = [torch.empty(shape, device=CUDA) for shape in shapes]
    gm = torch.fx.symbolic_trace(function)
    return import_graph(gm, inputs, device=device)


def attributes(program):
    function = program.module.body.operations[0]
    return function.attributes


def test_the_function_says_its_device():
    program = imported(lambda x: x + 1, (3,))
    assert attributes(program)["graph.device"].value == "cuda:0"


def test_numbers_of_the_cpu_are_computed_on_the_device():
    program = imported(lambda x: x + moved(x.new_ones(3, device="cpu") * 2, CUDA), (3,))
    assert "extern" not in op_names(program)


def test_aten_gets_the_programs_device():
    program = imported(lambda x: torch.linalg.inv(x) + moved(x, "cuda"), (3, 3))
    assert "extern" in op_names(program)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.cpu(),
        lambda x: (x, x.new_ones(3, device="cpu")),
        lambda x: x + moved(torch.rand_like(x, device="cpu"), CUDA),
        lambda x: moved(x, "cuda:1"),
    ],
)
def test_what_leaves_the_device_is_refused(function):
    with pytest.raises(UnsupportedError, match="several devices"):
        imported(function, (3,))


def test_an_input_elsewhere_is_refused():
    with pytest.raises(UnsupportedError, match="several devices"):
        imported(lambda x: x + 1, (3,), device=torch.device("cpu"))


META = {
    "made": lambda x: x.new_zeros(torch.empty(x.shape, device="meta").sum(0).shape) + x,
    "moved": lambda x: x.reshape(x.to("meta").transpose(0, 1).reshape(-1).shape) * 2,
    "joined": lambda x: x * torch.cat([torch.ones(2, 3, device="meta")] * 2).shape[0],
    "written": lambda x: x + torch.zeros(3, device="meta").add_(1).size(0),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", META)
def test_meta_tensors_that_only_give_sizes(name, dynamic):
    compiled = girih.compile(META[name], dynamic=dynamic, fullgraph=True)
    for shape in ((4, 3), (7, 5)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), META[name](x))


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
def test_meta_tensors_that_are_returned():
    def function(x):
        return x * 2, x.to("meta") + 1, torch.zeros_like(x.to("meta"), device="cpu")

    x = torch.randn(3)
    for made, expected in zip(girih.compile(function)(x), function(x), strict=True):
        assert made.device == expected.device
        assert made.is_meta or made.equal(expected)
