"""Module classes of ``torch.nn`` against eager; ``make modules`` tries all of them."""

import itertools
import os

import pytest
import torch
from module_calls import ENTRANCES, MODULES, Case, cases, differences
from torch import nn

IS_LONG = bool(os.environ.get("GIRIH_TEST_LONG"))
# With buffers, with layers in it, and with weights made in the call.
SHORT = [
    ("nn.BatchNorm1d", "girih.compile"),
    ("nn.MultiheadAttention", "girih.compile"),
    ("nn.LazyConv1d", "torch.compile"),
]


@pytest.fixture(autouse=True)
def _many_recompilations():
    """All modules of a class have the same code, by which TorchDynamo counts."""
    many = dict.fromkeys(("recompile_limit", "accumulated_recompile_limit"), 1 << 20)
    with torch._dynamo.config.patch(many):
        yield


@pytest.mark.parametrize(
    ("name", "entrance"), itertools.product(MODULES, ENTRANCES) if IS_LONG else SHORT
)
def test_as_in_eager(name, entrance):
    found = []
    for case in cases(name, limit=3 if IS_LONG else 1):
        for dynamic in (None, True) if IS_LONG else (True,):
            found += differences(case, entrance, dynamic)
    assert not [one for one in found if one.is_wrong], "\n".join(map(str, found))


class _Counting(nn.Module):
    """Differs from one module to the next in what its class counts."""

    made = 0

    def __init__(self, wrong: str):
        super().__init__()
        number = type(self).made = type(self).made + 1
        self.wrong = wrong if number % 2 == 0 else ""
        self.register_buffer("seen", torch.zeros(2))
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x):
        if self.wrong == "buffer":
            self.seen += 1
        if self.wrong == "generator":
            torch.rand(1)
        if self.wrong == "error":
            raise ValueError("refused")
        weight = self.weight.detach() if self.wrong == "gradient" else self.weight
        return x * weight + (self.wrong == "value")


@pytest.mark.parametrize("wrong", ["value", "buffer", "generator", "error", "gradient"])
def test_the_comparison_finds_what_differs(wrong):
    given = torch.ones(3, 2, requires_grad=True)
    case = Case("", lambda: _Counting(wrong), True, (given,), lambda x: (x, {}))
    assert [one for one in differences(case, "girih.compile", None) if one.is_wrong]
