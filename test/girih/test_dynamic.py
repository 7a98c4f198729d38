"""Marks on dims of tensors."""

import pytest
import torch

import girih
from girih.dynamic import DimRange


def test_marks_are_torchs_attributes():
    x = torch.ones(2, 3, 4)
    girih.mark_dynamic(x, -1, min=2, max=8, hint_override=5)
    girih.mark_dynamic(x, [0])
    girih.maybe_mark_dynamic(x, (0, 1))
    girih.mark_static(x, 1)
    assert x._dynamo_dynamic_indices == {0, 2}
    assert x._dynamo_dynamic_range == {DimRange(2, 2, 8), DimRange(0, None, None)}
    assert x._dynamo_hint_overrides == {2: 5}
    assert x._dynamo_weak_dynamic_indices == {0, 1}
    assert x._dynamo_static_indices == {1}
    assert x._has_dynamo_dim_marking


def test_all_dims_are_static():
    x = torch.ones(2, 3)
    assert girih.mark_static(x) is None
    assert x._dynamo_static_indices == {0, 1}


def test_a_class_of_modules_is_static():
    class Net(torch.nn.Module):
        pass

    assert girih.mark_static(Net) is Net
    assert Net._dynamo_marked_static


@pytest.mark.parametrize("mark", ["mark_dynamic", "maybe_mark_dynamic", "mark_static"])
def test_wrong_arguments(mark):
    mark = getattr(girih, mark)
    with pytest.raises(TypeError, match="expects a tensor, got int"):
        mark(3, 0)
    with pytest.raises(ValueError, match=r"of shape \(2,\) has no dim 1"):
        mark(torch.ones(2), 1)
    with pytest.raises(TypeError, match="numbers of dims, got '0'"):
        mark(torch.ones(2), ["0"])


def test_an_empty_range():
    with pytest.raises(ValueError, match="min=5 is larger than max=2"):
        girih.mark_dynamic(torch.ones(2), 0, min=5, max=2)


@pytest.mark.parametrize(
    ("mark", "expected"), [("mark_dynamic", 1), ("mark_static", 3)]
)
def test_sizes_that_vary(mark, expected):
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    compiled = girih.compile(lambda x: x.sin() * 2, backend=backend)
    for size in (4, 5, 6):
        x = torch.ones(size)
        getattr(girih, mark)(x, 0)
        torch.testing.assert_close(compiled(x), x.sin() * 2)
    assert len(graphs) == expected
