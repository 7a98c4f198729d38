"""CUDA graphs on a device: memory, streams, threads, failures; see also test_modes."""

import gc
import random
import threading

import pytest
import torch
from gpu_device import DEVICE, HAS_CUDA, normal
from torch import nn
from torch.nn import functional as F

import girih
from girih.compiler import recorded

pytestmark = pytest.mark.skipif(not HAS_CUDA, reason="CUDA graphs need a CUDA device")
CLOSE = {"rtol": 1e-3, "atol": 1e-3}


@pytest.fixture(autouse=True)
def _all_are_recorded(monkeypatch):
    monkeypatch.setenv("GIRIH_FALLBACK", "0")
    monkeypatch.setattr(recorded, "REPLAY", 0)
    girih.reset()
    yield
    girih.reset()


def compiled(function, **settings):
    settings.setdefault("dynamic", False)
    return girih.compile(function, mode="reduce-overhead", **settings)


def recordings(function) -> int:
    graphs = girih.report(function).graphs
    return sum(report.recordings for g in graphs for report in g.and_derived())


def reasons(function) -> list[str]:
    graphs = girih.report(function).graphs
    return [why for g in graphs for r in g.and_derived() for why in r.not_recorded]


def products(x, weight):
    y = torch.tanh(x @ weight)
    return torch.relu((y @ weight + x) @ weight)


def test_programs_that_share_memory_and_results_that_are_kept():
    weights = {size: normal(size, size) / size**0.5 for size in (32, 256, 640)}
    functions = {
        size: [compiled(lambda x, w, k=k: products(x, w) * k) for k in (1, 2)]
        for size in weights
    }
    chooser, kept = random.Random(0), []
    for _ in range(120):
        size, k = chooser.choice(list(weights)), chooser.choice((1, 2))
        x = normal(size, size)
        result = functions[size][k - 1](x, weights[size])
        kept.append((result, products(x, weights[size]) * k))
        if chooser.random() < 0.7:
            kept.pop(chooser.randrange(len(kept)))
        for mine, theirs in kept:
            torch.testing.assert_close(mine, theirs, **CLOSE)
    assert all(recordings(f) for group in functions.values() for f in group)


def test_training_steps_in_any_order():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512))
    layers.to(DEVICE)
    run, chooser = compiled(layers), random.Random(0)
    open_calls = []
    for _ in range(60):
        if len(open_calls) < 4 and chooser.random() < 0.6:
            x = normal(64, 512)
            open_calls.append((x, run(x)))
        elif open_calls:
            x, result = open_calls.pop(chooser.randrange(len(open_calls)))
            torch.testing.assert_close(result, layers(x), **CLOSE)
            parameters = list(layers.parameters())
            mine = torch.autograd.grad(result.square().mean(), parameters)
            theirs = torch.autograd.grad(layers(x).square().mean(), parameters)
            for one, other in zip(mine, theirs, strict=True):
                torch.testing.assert_close(one, other, **CLOSE)
    assert recordings(run) >= 2


def test_an_optimizer_that_is_recorded():
    torch.manual_seed(0)
    models = [nn.Linear(64, 64, device=DEVICE) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    optimizers = [torch.optim.AdamW(m.parameters(), 1e-2) for m in models]
    steps = [compiled(optimizers[0].step), optimizers[1].step]
    for _ in range(8):
        x = normal(16, 64)
        for model, optimizer, step in zip(models, optimizers, steps, strict=True):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            step()
    for mine, theirs in zip(*[m.parameters() for m in models], strict=True):
        torch.testing.assert_close(mine, theirs, **CLOSE)


def test_random_numbers_are_those_of_the_default_mode():
    def draw(x):
        return F.dropout(torch.relu(x), 0.5) * torch.rand_like(x)

    x, drawn = normal(64, 64), []
    for run in (compiled(draw), girih.compile(draw, dynamic=False)):
        run(x)
        torch.manual_seed(3)
        drawn.append([run(x).clone() for _ in range(4)])
    for mine, theirs in zip(*drawn, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=0)


@pytest.fixture(scope="module")
def waiting_op():
    """An op that waits for the device, so that it can't be recorded."""

    @torch.library.custom_op("girih_test::waiting", mutates_args=())
    def waiting(x: torch.Tensor) -> torch.Tensor:
        torch.cuda.synchronize()
        return x + 1

    waiting.register_fake(torch.empty_like)
    return waiting


def test_a_failed_recording_leaves_all_usable(waiting_op):
    def program(x, weight):
        return products(waiting_op(x), weight)

    run, other = compiled(program), compiled(products)
    x, weight = normal(64, 64), normal(64, 64) / 8
    for _ in range(4):
        torch.testing.assert_close(run(x, weight), program(x, weight), **CLOSE)
    (reason,) = reasons(run)
    assert "girih_test.waiting" in reason
    assert "test_recordings.py" in reason
    assert recordings(run) == 0
    assert torch.rand(10, device=DEVICE).unique().numel() > 1
    for _ in range(4):
        torch.testing.assert_close(other(x, weight), products(x, weight), **CLOSE)
    assert recordings(other) == 1


def test_streams_take_turns():
    run, weight = compiled(products), normal(512, 512) / 22
    streams = [torch.cuda.Stream() for _ in range(3)]
    for number in range(30):
        x, stream = normal(512, 512), streams[number % 3]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = run(x, weight)
        torch.cuda.current_stream().wait_stream(stream)
        torch.testing.assert_close(result, products(x, weight), **CLOSE)


def test_threads_with_streams_of_their_own():
    run, weight = compiled(products), normal(256, 256) / 16
    errors = []

    def work(seed):
        try:
            generator = torch.Generator(DEVICE).manual_seed(seed)
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(20):
                    x = torch.randn(256, 256, device=DEVICE, generator=generator)
                    result, expected = run(x, weight), products(x, weight)
                    torch.cuda.current_stream().synchronize()
                    torch.testing.assert_close(result, expected, **CLOSE)
        except Exception as error:
            errors.append(error)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_calls_under_somebody_elses_capture():
    run, x, weight = compiled(products), normal(64, 64), normal(64, 64) / 8
    for _ in range(3):
        run(x, weight)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = run(x, weight)
    x.copy_(normal(64, 64))
    graph.replay()
    torch.testing.assert_close(result, products(x, weight), **CLOSE)


def test_reset_gives_memory_back():
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    run, weight = compiled(products), normal(2048, 2048) / 45
    for _ in range(4):
        run(normal(2048, 2048), weight)
    del weight
    girih.reset()
    gc.collect()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() - before < 64 << 20
