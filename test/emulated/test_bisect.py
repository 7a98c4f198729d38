"""``girih.bisect`` names the pass that makes a program for a GPU wrong."""

from functools import partial

import planted_faults
import pytest
import torch

import girih
from girih.passes import write_out_scatters

LATE = "convert-tile-to-tt or hoist-loads or hint-eviction or llvm"
"""Kernels in Triton IR are not evaluated."""
STAGES = {
    name: name
    for name in (
        "write-out-scatters",
        "cancel-permutes",
        "separate-reductions",
        "fuse",
        "fuse-contractions",
        "fuse-closing-reductions",
        "narrow-intermediates",
        "convert-graph-to-host",
        "launch-products",
        "group-launches",
        "batch-launches",
        "plan-memory",
        "mark-aligned-arguments",
        "tile",
    )
} | dict.fromkeys(("convert-tile-to-tt", "hoist-loads", "hint-eviction"), LATE)


@pytest.fixture
def plant(monkeypatch):
    """Has a pass spoil what it leaves."""
    return partial(planted_faults.plant, monkeypatch)


def program(x, w, index):
    y = torch.softmax(x @ w, -1).exp() * 2 + 1
    return (torch.zeros(9, 6).index_add(0, index, y, alpha=3) * 3).sum()


def operands():
    index = torch.tensor([0, 3, 3, 1, 8])
    return torch.randn(5, 8), torch.randn(8, 6, requires_grad=True), index


@pytest.mark.parametrize("name", STAGES)
def test_a_wrong_pass_is_named(name, plant, tmp_path):
    plant(name)
    found = girih.bisect(program, folder=tmp_path)(*operands())
    assert not found.ok
    assert (found.culprit.stage, found.culprit.kind) == (STAGES[name], "forward")
    assert 1 <= found.culprit.ops <= 10


def test_a_wrong_rule_of_a_pass(monkeypatch, tmp_path):
    def wrong(op, b):
        """Takes alpha for 1."""
        x, index, source = (op.operands[op.args[place].index] for place in (0, 2, 3))
        write_out_scatters._replace(op, b, x, {0: b.reshape(index, (5, 1))}, source)
        return True

    name = "aten.index_add.default"
    monkeypatch.setitem(write_out_scatters._WRITERS, name, wrong)
    found = girih.bisect(program, folder=tmp_path)(*operands())
    assert found.culprit.stage == "write-out-scatters"
    assert found.culprit.ops == 1


def test_a_right_program():
    found = girih.bisect(program)(*operands())
    assert found.ok and "nothing differs" in str(found)
