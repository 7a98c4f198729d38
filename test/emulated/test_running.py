"""girih.run on an emulated GPU: pipelines, first lines and kernels are a GPU's."""

import re

import pytest
import torch

import girih


def program(x, weight):
    return torch.softmax(x @ weight, -1).sum(0)


def test_every_level_before_triton_runs(device, tmp_path):
    inputs = torch.randn(8, 16), torch.randn(16, 4)
    options = {"dump_dir": str(tmp_path), "fallback": False}
    girih.compile(program, options=options, dynamic=True)(*inputs)
    *files, last = sorted(tmp_path.rglob("*.mlir"))
    assert last.stem == "5-tt"
    for file in files:
        text = re.sub(r"\A// .*\n", "", file.read_text())
        for source in (file, text):
            device.launched.clear()
            torch.testing.assert_close(girih.run(source, *inputs), program(*inputs))
            assert device.launched
    with pytest.raises(girih.UnsupportedError, match="Run the file of level tile"):
        girih.run(last, *inputs)


def test_moved_elements_of_many_are_one_launch(device):
    """Halves that are swapped, transposes, pads: each point is computed by itself."""

    def swapped(x):
        low, high = x.chunk(2, dim=-1)
        return torch.cat((-high, low), dim=-1) * 2 + x

    def turned(x):
        return torch.nn.functional.pad(x.mT, (1, 2)) + 1

    def many(x, y, z):
        moved = [swapped(each) for each in (x, y, z)]
        return *moved, *(turned(each) for each in (x, y, z))

    compiled = girih.compile(many, options={"fallback": False})
    inputs = [torch.randn(37, 70) for _ in range(3)]
    for actual, expected in zip(compiled(*inputs), many(*inputs), strict=True):
        assert torch.equal(actual, expected)
    assert len(device.launched) == 2


def test_products_side_by_side_are_one_launch(device):
    """Keys and values of one row, a kernel of sums, and of some, one of products."""

    def projections(x, key, value, bias):
        keys = torch.nn.functional.linear(x, key)
        values = torch.nn.functional.linear(x, value, bias)
        return torch.cat(keys.chunk(2, -1)[::-1], -1) * 2, values

    compiled = girih.compile(projections, options={"fallback": False}, dynamic=False)
    for rows in (1, 5):
        key, value = (torch.randn(600, 64, dtype=torch.bfloat16) for _ in range(2))
        inputs = torch.randn(rows, 64, dtype=torch.bfloat16), key, value, value[:, 0]
        device.launched.clear()
        pairs = zip(compiled(*inputs), projections(*inputs), strict=True)
        for actual, expected in pairs:
            torch.testing.assert_close(actual, expected, rtol=2e-2, atol=6e-2)
        assert len(device.launched) == 2
