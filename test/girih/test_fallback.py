"""A kernel whose check fails hands the call over to eager."""

import pytest
import torch

import girih
from girih.compiler import compile_graph
from girih.options import Options
from girih.reports import Report


def _compile(function, *inputs):
    gm = torch.fx.symbolic_trace(function)
    options = Options(cache=False)
    return compile_graph(gm, inputs, options, Report("graph"))


def _nested(x, index):
    picked = x[index] * 2
    return {"picked": picked, "flipped": (picked.t(), 3, x)}


def test_an_index_out_of_range_raises_eagers_error():
    compiled = girih.compile(lambda x, index: x[index] * 2, options={"cache": False})
    x, good, bad = torch.arange(6.0), torch.tensor([1, -1]), torch.tensor([6])
    torch.testing.assert_close(compiled(x, good), x[good] * 2)
    with pytest.raises(IndexError) as eager:
        x[bad]
    with pytest.raises(IndexError) as ours:
        compiled(x, bad)
    assert str(ours.value) == str(eager.value)


def test_outputs_keep_their_nesting():
    """Where eager has no error of its own, its outputs are the call's outputs."""
    x, index = torch.arange(6.0).reshape(3, 2), torch.tensor([0, 2])
    compiled = _compile(_nested, x, index)
    wide = torch.arange(10.0).reshape(
        5, 2
    )  # no guard here: more rows than compiled for
    with pytest.warns(girih.FallbackWarning, match="a kernel refused the data"):
        results = compiled(wide, torch.tensor([0, 4]))
    torch.testing.assert_close(results["picked"], wide[[0, 4]] * 2)
    flipped, number, same = results["flipped"]
    torch.testing.assert_close(flipped, (wide[[0, 4]] * 2).t())
    assert (number, same is wide) == (3, True)
