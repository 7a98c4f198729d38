"""What runs in place of a node's target."""

import pytest
import torch
import torch.nn.functional as F
from importing import op_names

import girih
from girih.frontend.importer import import_graph


@pytest.mark.parametrize("target", [F.pad, torch._C._nn.pad])
@pytest.mark.parametrize(
    ("widths", "ops"),
    [
        ((2, 1), ["slice", "slice", "concat"]),
        ((2, 1, 0, 3), ["slice", "slice", "concat", "slice", "concat"]),
        ((1, 1) * 3, ["take"] * 3),
    ],
)
def test_circular_padding_writes_nothing(target, widths, ops):
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(target, (x, widths, "circular")))
    shape = (2, 3, 4, 5, 6)[: len(widths) // 2 + 2]
    module = torch.fx.GraphModule({}, graph)
    names = op_names(import_graph(module, [torch.randn(shape)]))
    moved = [name for name in names if name in ("concat", "slice", "take", "where")]
    assert sorted(moved) == sorted(ops)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("compile", [girih.compile, torch.compile])
def test_classes_that_eager_refuses(compile, dynamic):
    def function(index, count):
        return torch.nn.functional.one_hot(index, count)

    options = {} if compile is girih.compile else {"backend": "girih"}
    nothing = torch.zeros(0, dtype=torch.int64)
    for index, count in ((nothing, 0), (torch.tensor([2], dtype=torch.int32), 3)):
        compiled = compile(function, dynamic=dynamic, **options)
        with pytest.raises(RuntimeError) as expected:
            function(index, count)
        with pytest.raises(RuntimeError) as found:
            compiled(index, count)
        assert str(found.value) == str(expected.value)
    assert compile(function, dynamic=dynamic, **options)(nothing, 2).shape == (0, 2)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_shuffle_of_channels_without_a_derivative(dynamic):
    compiled = girih.compile(torch.native_channel_shuffle, dynamic=dynamic)
    derived = girih.compile(torch.channel_shuffle, dynamic=dynamic)
    for size in (3, 5):
        x = torch.rand(2, 4, size, 3, requires_grad=True)
        with pytest.raises(RuntimeError) as expected:
            torch.native_channel_shuffle(x, 2).sum().backward()
        with pytest.raises(RuntimeError) as found:
            compiled(x, 2).sum().backward()
        assert str(found.value) == str(expected.value)
        derived(x, 2).square().sum().backward()
        torch.testing.assert_close(x.grad, 2 * x.detach())
        image = x.detach().to(memory_format=torch.channels_last)
        for y in (x.detach(), image):
            eager = torch.native_channel_shuffle(y, 2)
            torch.testing.assert_close(compiled(y, 2), eager)
            assert compiled(y, 2).stride() == eager.stride()
