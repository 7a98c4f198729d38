"""What runs in place of a node's target."""

import pytest
import torch
import torch.nn.functional as F
from importing import op_names

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
