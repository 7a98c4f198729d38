"""Reports belong to what ``girih.compile`` returned, whatever its kind."""

import copy
import pickle

import pytest
import torch

import girih


class Scale(torch.nn.Module):
    """A module with a method that is compiled by itself."""

    def forward(self, x):
        """Called by the tests."""
        return self.twice(x) + 1

    def twice(self, x):
        """Called by the tests."""
        return x * 2


def _kinds():
    module = torch.nn.Sequential(torch.nn.ReLU())
    compiled = girih.compile(module)
    return {
        "function": girih.compile(lambda x: x * 2),
        "method": girih.compile(Scale().twice),
        "module": compiled,
        "deep copy": copy.deepcopy(girih.compile(Scale())),
        "unpickled": pickle.loads(pickle.dumps(compiled)),
    }


@pytest.mark.parametrize(
    "kind", ["function", "method", "module", "deep copy", "unpickled"]
)
def test_every_kind_has_a_report(kind):
    compiled = _kinds()[kind]
    assert str(girih.report(compiled)) == "girih has compiled nothing yet"
    compiled(torch.randn(3))
    report = girih.report(compiled)
    assert (len(report.graphs), report.kernels, report.externs) == (1, 1, 0)
    assert report.compile_seconds > 0


def test_other_objects_have_none():
    with pytest.raises(TypeError, match="what girih.compile returned"):
        girih.report(print)


def test_what_disable_returned_is_said_to_be_uncompiled():
    function = girih.compile(torch.sin, disable=True)
    with pytest.raises(TypeError, match="not compiled .with disable=True"):
        girih.report(function)
