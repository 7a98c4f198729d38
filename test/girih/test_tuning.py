"""max-autotune on an emulated device: what is measured, and what comes of it."""

import io
import random
from functools import partial

import pytest
import torch
from emulated_device import emulated_device

import girih
from girih.codegen.gpu.autotune import Tuner
from girih.compiler import tuning
from girih.passes.fuse_contractions import products

F = torch.nn.functional


def gelu(x, w, b):
    return F.gelu(F.linear(x, w, b))


@pytest.fixture
def device():
    with emulated_device() as device:
        yield device


@pytest.fixture
def prefer(monkeypatch, device):
    """Has the run of one number be the fastest; gives the launches of each run."""
    measured = []

    def use(number):
        def measure(run):
            device.launched.clear()
            run()
            measured.append(list(device.launched))
            return 1.0 if len(measured) == number else 2.0

        def make(device, folder):
            return Tuner(measure, ("emulated",), folder, output=io.StringIO())

        monkeypatch.setattr(tuning, "can_measure", lambda device: True)
        monkeypatch.setattr(tuning, "device_tuner", make)
        return measured

    return use


def compiled(function, *inputs, **options):
    girih.reset()
    options = {"max_autotune": True, "fallback": False} | options
    run = girih.compile(function, fullgraph=True, options=options)
    with torch.no_grad():
        return run(*inputs), girih.report(run)


def operands():
    x, w, b = torch.randn(32, 64), torch.randn(520, 64) / 8, torch.randn(520)
    return x.half(), w.half(), b.half()


def close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-2, atol=1e-2)


def test_a_kernel_that_wins_replaces_the_library(prefer, tmp_path):
    measured = prefer(2)
    inputs = operands()
    actual, report = compiled(gelu, *inputs, cache_dir=str(tmp_path))
    close(actual, gelu(*inputs))
    assert len(measured) > 2
    assert report.externs == 0
    assert report.kernels == 1


def test_the_library_stays_where_it_wins_and_that_is_kept(prefer, tmp_path):
    measured = prefer(1)
    inputs = operands()
    for _ in range(2):
        actual, report = compiled(gelu, *inputs, cache_dir=str(tmp_path))
        close(actual, gelu(*inputs))
        assert report.externs == 1
        count = len(measured)
    assert count == len(measured)


def test_large_kernels_are_measured_with_several_warps(prefer, tmp_path):
    measured = prefer(1)
    x = torch.randn(1 << 20)
    actual, _ = compiled(lambda x: torch.sin(x) + 1, x, cache_dir=str(tmp_path))
    torch.testing.assert_close(actual, torch.sin(x) + 1)
    assert len(measured) == 1 + len(tuning.KERNEL_SETTINGS)


def test_nothing_is_measured_unless_asked(prefer):
    measured = prefer(1)
    inputs = operands()
    compiled(gelu, *inputs, max_autotune=False)
    assert measured == []


def test_a_device_without_a_clock_is_not_measured(device, tmp_path):
    inputs = operands()
    actual, report = compiled(gelu, *inputs, cache_dir=str(tmp_path))
    close(actual, gelu(*inputs))
    assert "tune" not in report.graphs[0].stage_seconds


def test_transposed_weights_and_views_keep_their_strides(prefer, tmp_path):
    def heads(x, w):
        return torch.tanh((x.view(32, 64) @ w).view(4, 8, 65, 8))

    measured = prefer(1)
    x, w = torch.randn(4, 8, 64).half(), (torch.randn(520, 64) / 8).half().t()
    actual, _ = compiled(heads, x, w, cache_dir=str(tmp_path))
    close(actual, heads(x, w))
    assert len(measured) > 2


class Block(torch.nn.Module):
    """A block of a language model in little."""

    def __init__(self):
        super().__init__()
        self.norm, self.embedding = torch.nn.LayerNorm(32), torch.nn.Embedding(50, 32)
        self.up, self.down = torch.nn.Linear(32, 48), torch.nn.Linear(48, 32)

    def forward(self, index):
        x = self.embedding(index)
        x = x + self.down(F.gelu(self.up(self.norm(x))))
        return (x @ self.embedding.weight.t()).float().logsumexp(-1).mean()


def test_whatever_is_chosen_gradients_are_right(device, monkeypatch, tmp_path):
    numbers = random.Random(0)

    def measure(run):
        run()
        return numbers.random()

    monkeypatch.setattr(tuning, "LEAST_BYTES", 1000)
    monkeypatch.setattr(tuning, "can_measure", lambda device: True)
    sizes = dict.fromkeys(products.SMALL_SIZES, 8)
    monkeypatch.setattr(products, "SMALL_SIZES", sizes)
    make = partial(Tuner, measure, ("emulated",), output=io.StringIO())
    monkeypatch.setattr(tuning, "device_tuner", lambda device, folder: make(folder))
    block, reference = Block().half(), Block().half()
    reference.load_state_dict(block.state_dict())
    index = torch.randint(0, 50, (2, 10))
    girih.reset()
    options = {"max_autotune": True, "fallback": False, "cache_dir": str(tmp_path)}
    girih.compile(block, fullgraph=True, options=options)(index).backward()
    reference(index).backward()
    for own, wanted in zip(block.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(own.grad, wanted.grad, rtol=2e-2, atol=2e-3)
