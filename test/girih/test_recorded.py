"""Modes with CUDA graphs, from end to end, on an emulated device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
import torch
from emulated_device import emulated_device
from fake_graphs import FakeApi
from torch import nn

import girih
from girih.compiler import recorded


@contextmanager
def recording_device() -> Iterator[FakeApi]:
    """An emulated device that records graphs."""
    girih.reset()
    with emulated_device() as device:
        api = FakeApi(device)
        with mock.patch.object(recorded, "emulator", api):
            yield api
    girih.reset()


@pytest.fixture
def api():
    with recording_device() as made:
        yield made


def products(x, w):
    y = torch.tanh(x @ w)
    z = torch.sigmoid(y @ w) + x
    return torch.relu(z @ w).sum(1)


def replays(api) -> int:
    return sum(graph.replays for graph in api.graphs)


def test_calls_are_replayed(api):
    compiled = girih.compile(products, mode="reduce-overhead")
    w = torch.randn(4, 4)
    for _ in range(5):
        x = torch.randn(3, 4)
        torch.testing.assert_close(compiled(x, w), products(x, w))
    assert replays(api) == 4
    (report,) = girih.report(compiled).graphs
    assert report.recordings >= 1
    assert report.not_recorded == []


def test_the_log_tells_of_recordings_once(api, capsys):
    girih.set_logs(cudagraphs=True)
    try:
        compiled = girih.compile(products, mode="reduce-overhead", dynamic=True)
        w = torch.randn(4, 4)
        for size in (3, 3, 3, 5, 5, 5, 3, 5):
            compiled(torch.ones(size, 4), w)
        short = girih.compile(lambda x: x + 1, mode="reduce-overhead")
        short(w)
    finally:
        girih.set_logs()
    (reason,) = girih.report(short).graphs[0].not_recorded
    assert capsys.readouterr().err.splitlines() == [
        "[girih.cudagraphs] graph0: recorded, as CUDA graph 1",
        "[girih.cudagraphs] graph0: CUDA graph 1 is replayed",
        "[girih.cudagraphs] graph0: recorded, as CUDA graph 2",
        "[girih.cudagraphs] graph0: CUDA graph 2 is replayed",
        f"[girih.cudagraphs] graph0: not recorded: {reason}",
    ]


def test_torchs_option(api):
    compiled = girih.compile(products, options={"triton.cudagraphs": True})
    x, w = torch.randn(3, 4), torch.randn(4, 4)
    for _ in range(3):
        torch.testing.assert_close(compiled(x, w), products(x, w))
    assert replays(api) == 2


def test_the_default_mode_records_nothing(api):
    compiled = girih.compile(products)
    x, w = torch.randn(3, 4), torch.randn(4, 4)
    for _ in range(3):
        compiled(x, w)
    assert not api.graphs


def test_sizes_that_vary(api):
    compiled = girih.compile(products, mode="reduce-overhead", dynamic=True)
    w = torch.randn(4, 4)
    for _ in range(3):
        for size in (3, 5, 6):
            x = torch.randn(size, 4)
            torch.testing.assert_close(compiled(x, w), products(x, w))
    assert replays(api) == 6


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count += 1
        return self.second(torch.nn.functional.gelu(self.first(x)))


def make_pair():
    torch.manual_seed(0)
    model = Model()
    torch.manual_seed(0)
    return model, Model()


def test_training(api):
    model, expected = make_pair()
    compiled = girih.compile(model, mode="reduce-overhead")
    optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (model, expected)]
    losses = []
    for _ in range(5):
        x = torch.randn(3, 4)
        for optimizer, function in zip(optimizers, (compiled, expected), strict=True):
            optimizer.zero_grad()
            loss = function(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss)
    for ours, eagers in zip(losses[::2], losses[1::2], strict=True):
        torch.testing.assert_close(ours, eagers)
    for ours, eagers in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(ours, eagers)
    assert float(model.count) == 5
    reports = [r for g in girih.report(compiled).graphs for r in g.and_derived()]
    assert [report.recordings > 0 for report in reports] == [True, True]


def test_accumulated_gradients_and_two_forwards(api):
    model, expected = make_pair()
    compiled = girih.compile(model, mode="reduce-overhead")
    for _ in range(3):
        xs = [torch.randn(3, 4) for _ in range(3)]
        for function in (compiled, expected):
            first, second = function(xs[0]), function(xs[1])
            second.square().sum().backward()
            first.sum().backward()
            function(xs[2]).sum().backward()
        for ours, eagers in zip(model.parameters(), expected.parameters(), strict=True):
            torch.testing.assert_close(ours.grad, eagers.grad)


def test_retained_graphs(api):
    compiled = girih.compile(products, mode="reduce-overhead")
    for _ in range(4):
        x, w = torch.randn(3, 4), torch.randn(4, 4, requires_grad=True)
        loss = compiled(x, w).sum()
        loss.backward(retain_graph=True)
        first = w.grad.clone()
        loss.backward()
        torch.testing.assert_close(w.grad, 2 * first)
        (expected,) = torch.autograd.grad(products(x, w).sum(), w)
        torch.testing.assert_close(first, expected)


def test_few_launches_are_not_recorded(api):
    compiled = girih.compile(lambda x: x + 1, mode="reduce-overhead")
    for _ in range(3):
        compiled(torch.ones(3))
    assert not api.graphs
    (report,) = girih.report(compiled).graphs
    assert "than replaying" in report.not_recorded[0]
    assert "not recorded" in str(report)


def test_reset_frees_the_graphs(api):
    compiled = girih.compile(products, mode="reduce-overhead")
    x, w = torch.randn(3, 4), torch.randn(4, 4)
    kept = [compiled(x, w) for _ in range(3)]
    girih.reset()
    kept += [compiled(x, w) for _ in range(3)]
    for result in kept:
        torch.testing.assert_close(result, products(x, w))
    assert len(api.graphs) == 4  # all results are kept


def test_explain_says_why(api):
    explained = girih.explain(lambda x: x + 1, options={"cudagraphs": True})
    assert "not recorded in a CUDA graph" in str(explained(torch.ones(3)))
