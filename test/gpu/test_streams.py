"""Streams, threads and several devices."""

import threading

import pytest
import torch
from gpu_device import DEVICE, HAS_CUDA, compiled, normal
from torch.nn import functional as F

import girih

pytestmark = pytest.mark.skipif(
    not HAS_CUDA, reason="streams are those of a CUDA device"
)
SEVERAL = pytest.mark.skipif(
    torch.cuda.device_count() < 2, reason="needs two CUDA devices"
)


def program(x, weight):
    return F.softmax(F.gelu(x) @ weight, -1).sum(0)


def inputs():
    return normal(256, 256), normal(256, 256)


def test_the_current_stream_is_used():
    """What one stream makes late, another must not read early."""
    arguments, stream = inputs(), torch.cuda.Stream()
    run, expected = compiled(program), program(*arguments)
    run(*arguments)
    x = torch.zeros_like(arguments[0])
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.copy_(arguments[0])
        result = run(x, arguments[1])
    assert not stream.query(), "the call waited for the device"
    stream.synchronize()
    torch.testing.assert_close(result, expected)


def test_no_call_waits_for_the_device():
    run = compiled(program)
    arguments = inputs()
    run(*arguments)
    torch.cuda.set_sync_debug_mode("error")
    try:
        run(*arguments)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_no_call_waits_in_training():
    run = compiled(lambda x, weight: program(x, weight).square().mean())
    arguments = [x.requires_grad_() for x in inputs()]
    run(*arguments).backward()
    torch.cuda.synchronize()
    torch.cuda._sleep(100_000_000)
    done = torch.cuda.Event()
    done.record()
    run(*arguments).backward()
    assert not done.query(), "a step waited for the device"
    torch.cuda.synchronize()


def test_tensors_that_die_on_other_streams():
    """Their memory is not used again before the stream has read it."""
    run, stream = compiled(lambda x: x * 2 + 1), torch.cuda.Stream()
    run(normal(1 << 20))
    for number in range(10):
        x = torch.full((1 << 20,), float(number), device=DEVICE)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(2_000_000)
            result = run(x)
        x.record_stream(stream)
        del x
        torch.full((1 << 20,), -1.0, device=DEVICE)
        stream.synchronize()
        assert bool((result == 2 * number + 1).all())


def test_intermediates_belong_to_their_stream():
    """Two streams run the same program at once; workspaces stay apart."""
    run, streams = compiled(program), [torch.cuda.Stream() for _ in range(4)]
    arguments = [inputs() for _ in streams]
    expected = [program(*pair) for pair in arguments]
    run(*arguments[0])
    torch.cuda.synchronize()
    for _ in range(20):
        results = []
        for stream, pair in zip(streams, arguments, strict=True):
            with torch.cuda.stream(stream):
                results.append(run(*pair))
        torch.cuda.synchronize()
        for mine, theirs in zip(results, expected, strict=True):
            torch.testing.assert_close(mine, theirs)


def test_threads():
    run, failures = compiled(program, dynamic=True), []

    def work(seed):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for size in range(seed, seed + 5):
                    x, weight = normal(8 * size, 64), normal(64, 64)
                    torch.testing.assert_close(run(x, weight), program(x, weight))
        except Exception as error:  # noqa: BLE001  (the main thread raises it)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


@SEVERAL
def test_each_device_runs_its_own_program():
    run = girih.compile(program, dynamic=False)
    for _ in range(2):
        for number in range(torch.cuda.device_count()):
            x, weight = (t.to(f"cuda:{number}") for t in inputs())
            result = run(x, weight)
            assert result.device.index == number
            torch.testing.assert_close(result, program(x, weight))


@SEVERAL
def test_a_device_that_is_not_the_current_one():
    run = compiled(lambda x: x.sin() + 1)
    x = torch.randn(1000, device="cuda:1")
    with torch.cuda.device(0):
        torch.testing.assert_close(run(x), x.sin() + 1)
        assert torch.cuda.current_device() == 0
