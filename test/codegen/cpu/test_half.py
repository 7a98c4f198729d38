"""Conversions of halves without F16C are those of F16C's instructions."""

import numpy as np
import pytest
import torch

import girih
from girih.codegen.cpu.target import LEVELS, host_target

pytestmark = pytest.mark.skipif(
    not LEVELS["x86-64-v3"] <= host_target().flags, reason="needs F16C to compare with"
)


def of_level(level, function, x, path):
    girih.package(function, (x,), path=path, targets=(level,))
    return girih.load(path, target=level)(x)


def compared(function, x, path):
    """Both results, as bits."""
    found = [of_level(n, function, x, path) for n in ("x86-64-v2", "x86-64-v3")]
    return [each.numpy().view(f"i{each.element_size()}") for each in found]


def test_all_halves_become_floats(tmp_path):
    x = torch.from_numpy(np.arange(1 << 16, dtype=np.uint16).view(np.float16))
    one, other = compared(lambda x: x.float().mul(1.0), x, tmp_path / "p")
    np.testing.assert_array_equal(one, other)
    numbers, wanted = ~x.isnan().numpy(), x.float().numpy().view("i4")
    np.testing.assert_array_equal(one[numbers], wanted[numbers])


def test_floats_become_halves(tmp_path):
    """All halves, the middles between them, their neighbours, and any bits."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    halves = halves[np.isfinite(halves)]
    middles = (halves[1:].astype(np.float64) + halves[:-1]) / 2
    bits = np.concatenate([halves, middles.astype(np.float32)]).view(np.int32)
    bits = np.concatenate([bits, bits + 1, bits - 1])
    random = np.random.default_rng(0).integers(-(1 << 31), 1 << 31, 1 << 18)
    bits = np.concatenate([bits, random.astype(np.int32)])
    x = torch.from_numpy(bits.view(np.float32))
    one, other = compared(lambda x: x.half().mul(1.0), x, tmp_path / "p")
    np.testing.assert_array_equal(one, other)
