"""On which device what of a program has to be: fake tensors of a GPU need none."""

import pytest
import torch
from importing import op_names

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
