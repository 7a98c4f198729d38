"""Guards on tensors: what changes of a parameter in place, and who it is."""

import copy

import pytest
import torch
from capture_differential import compile_eagerly
from processes import run_after_torch

from girih.frontend.capture import _frame, tensor_layout


class Stack(torch.nn.Module):
    """Parameters and buffers of several kinds; ``forward`` tells what they are."""

    def __init__(self, count=3):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(4, 4, bias=False) for _ in range(count)
        )
        self.register_buffer("offset", torch.ones(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.nn.functional.linear(x, layer.weight)
        return x + self.offset, self.layers[1].weight.requires_grad


@pytest.fixture
def compiled():
    """A module and its compiled twin, called often enough to be recognised."""
    module = Stack()
    twin = compile_eagerly(module)
    for _ in range(3):
        twin(torch.ones(2, 4))
    return module, twin


def captures(twin):
    return twin.girih_call.cache_statistics()["captures"]


def assert_agrees(module, twin, x):
    actual, expected = twin(x), module(x)
    assert torch.equal(actual[0], expected[0])
    assert actual[1] is expected[1]
    assert actual[0].requires_grad == expected[0].requires_grad


def test_the_layout_of_this_torch_is_known():
    assert tensor_layout.is_known()


@pytest.fixture
def claim(monkeypatch):
    """Changes what ``tensor_layout`` claims, for one test."""
    yield lambda name, value: monkeypatch.setattr(tensor_layout, name, value)
    monkeypatch.undo()
    assert tensor_layout._try_out()


@pytest.mark.parametrize(
    ("name", "offset"),
    [("_IMPL", 8), ("_FIRST", -8), ("_FIRST", 8), ("_LAST", -8), ("_LAST", -16)],
)
def test_a_wrong_layout_is_noticed(claim, name, offset):
    claim(name, getattr(tensor_layout, name) + offset)
    assert not tensor_layout._try_out()
    assert _frame.Guards.fingerprint(torch.ones(1)) is None


def test_another_torch_is_noticed(claim):
    claim("_REQUIRES_GRAD", "no_such_function")
    assert not tensor_layout._try_out()


def test_without_a_layout_every_check_is_torchs(monkeypatch):
    monkeypatch.setattr(tensor_layout, "is_known", lambda: False)
    module = Stack()
    twin = compile_eagerly(module)
    for _ in range(3):
        assert_agrees(module, twin, torch.ones(2, 4))
    module.layers[1].requires_grad_(False)
    assert_agrees(module, twin, torch.ones(2, 4))
    assert captures(twin) == 2


IN_PLACE = {
    "requires_grad": lambda m: m.layers[1].requires_grad_(False),
    "dtype": lambda m: m.double(),
    "values": lambda m: setattr(m.layers[1].weight, "data", torch.zeros(4, 4)),
    "strides": lambda m: setattr(m.layers[1].weight, "data", torch.zeros(4, 4).t()),
    "size of a buffer": lambda m: m.offset.resize_(1).fill_(3),
    "resized buffer": lambda m: m.offset.resize_(2, 4).fill_(3),
    "swapped": lambda m: torch.utils.swap_tensors(
        m.layers[1].weight, torch.nn.Parameter(torch.ones(4, 4), requires_grad=False)
    ),
    "set_": lambda m: m.offset.set_(torch.full((1,), 5.0)),
    "buffer with gradient": lambda m: m.offset.requires_grad_(),
    "tied": lambda m: setattr(m.layers[1], "weight", m.layers[0].weight),
}


@pytest.mark.parametrize("change", IN_PLACE.values(), ids=IN_PLACE)
def test_changes_in_place(compiled, change):
    module, twin = compiled
    change(module)
    x = torch.ones(2, 4, dtype=module.layers[0].weight.dtype)
    for _ in range(3):
        assert_agrees(module, twin, x)


def test_a_result_of_autograd_as_buffer(compiled):
    module, twin = compiled
    scale = torch.ones(4, requires_grad=True)
    module.offset.mul_(scale)  # the same object, no leaf any more
    assert_agrees(module, twin, torch.ones(2, 4))


def test_values_may_change(compiled):
    module, twin = compiled
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1)
    assert_agrees(module, twin, torch.ones(2, 4))
    assert captures(twin) == 1


def test_gradients_may_come_and_go(compiled):
    module, twin = compiled
    twin(torch.ones(2, 4))[0].sum().backward()
    assert_agrees(module, twin, torch.ones(2, 4))
    module.zero_grad()
    assert_agrees(module, twin, torch.ones(2, 4))
    assert captures(twin) == 1


def test_a_parameter_as_argument(compiled):
    module, twin = compiled
    x = torch.ones(4, 4)
    twin(x)
    before = captures(twin)
    assert_agrees(module, twin, module.layers[1].weight)
    assert captures(twin) == before + 1, "one tensor in the place of two"
    assert_agrees(module, twin, x)


def test_states_of_this_thread(compiled):
    module, twin = compiled
    for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with mode():
            assert_agrees(module, twin, torch.ones(2, 4))
    with torch.inference_mode():
        module = Stack()
        twin = compile_eagerly(module)
        for _ in range(2):
            assert_agrees(module, twin, torch.ones(2, 4))
    assert_agrees(module, twin, torch.ones(2, 4))


def test_functions_with_parameters_of_several_modules():
    def f(layer, x):
        return layer(x), layer.weight.requires_grad

    compiled, x = compile_eagerly(f), torch.ones(2, 4)
    layers = [torch.nn.Linear(4, 4) for _ in range(3)]
    layers += [copy.deepcopy(layers[0]).requires_grad_(False)]
    for _ in range(30):
        for layer in layers:
            actual, expected = compiled(layer, x), f(layer, x)
            assert torch.equal(actual[0], expected[0])
            assert actual[1] is expected[1]
    assert compiled.cache_statistics()["captures"] == 2


def test_high_ranks_have_no_fingerprint():
    assert _frame.Guards.fingerprint(torch.ones(1, 2, 1, 2, 1)) is not None
    assert _frame.Guards.fingerprint(torch.ones(1, 2, 1, 2, 1, 2)) is None

    class Deep(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1, 2, 1, 2, 1, 2))

        def forward(self, x):
            return x * self.weight

    module = Deep()
    twin, x = compile_eagerly(module), torch.ones(2)
    for size in ((1, 2, 1, 2, 1, 2), (1, 2, 1, 2, 2, 2)):
        module.weight.data = torch.ones(size)
        for _ in range(3):
            assert twin(x).shape == module(x).shape


def test_a_profiler_that_holds_tensors_is_no_error():
    """It holds what is tried out, too; later the layout is known all the same."""
    run_after_torch(
        """
        import torch
        import girih
        from torch.profiler import profile

        module = torch.nn.Linear(8, 8)
        compiled, x = girih.compile(module), torch.randn(4, 8)
        with profile(record_shapes=True):
            torch.testing.assert_close(compiled(x), module(x))
        from girih.frontend.capture import tensor_layout
        assert not tensor_layout._known
        assert tensor_layout.is_known()
        """
    )
