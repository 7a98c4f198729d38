"""Threads that compile and call at once; ``make stress`` does so for longer."""

import os
import threading
import time

import pytest
import torch
from capture_differential import compile_eagerly, run_graph
from thread_stress import Stress

import girih
from girih import exclusive


@pytest.mark.parametrize("backend", ["eager", "girih"])
def test_many_threads_and_functions(backend):
    stress = Stress(backend, seconds=3)
    stress.run()
    assert stress.failures == []
    assert min(stress.calls) > 0
    assert not girih.frontend.capture._frame.is_watching()


def together(count, function, *args):
    """Calls a function in several threads at the same time; returns the results."""
    barrier = threading.Barrier(count)
    results = []

    def work():
        barrier.wait()
        results.append(function(*args))

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == count
    return results


def test_threads_that_miss_at_once_share_an_entry():
    def slowly(gm, example_inputs):
        time.sleep(0.05)
        return run_graph(gm, example_inputs)

    compiled = compile_eagerly(lambda x: x + 1, backend=slowly)
    results = together(16, compiled, torch.ones(3))
    assert all(torch.equal(result, torch.full((3,), 2.0)) for result in results)
    assert compiled.cache_statistics() == {"captures": 1, "entries": 1}


def test_calls_do_not_wait_for_compilations():
    started, finish = threading.Event(), threading.Event()

    def waits(gm, example_inputs):
        started.set()
        assert finish.wait(60)
        return run_graph(gm, example_inputs)

    ready, failing = (
        compile_eagerly(torch_add),
        compile_eagerly(refused, fullgraph=False),
    )
    ready(torch.ones(2)), failing(torch.ones(2))
    results = []
    slow = compile_eagerly(lambda x: x * 2, backend=waits)
    thread = threading.Thread(target=lambda: results.append(slow(torch.ones(2))))
    thread.start()
    try:
        assert started.wait(60)
        assert ready(torch.ones(2))[0] == 2
        assert failing(torch.ones(2)) is None
    finally:
        finish.set()
        thread.join(60)
    # Where a call above waited, the compilation gave up, and with it this thread.
    assert [y.tolist() for y in results] == [[2, 2]]


def torch_add(x):
    return x + 1


def refused(x):
    globals().setdefault("_seen", object())


def test_resets_in_another_thread():
    compiled, stop = compile_eagerly(torch_add), threading.Event()

    def reset():
        while not stop.is_set():
            girih.reset()

    thread = threading.Thread(target=reset)
    thread.start()
    try:
        for size in range(1, 60):
            assert compiled(torch.ones(size)).sum() == 2 * size
    finally:
        stop.set()
        thread.join(60)


def test_an_exception_frees_the_lock():
    def fails(gm, example_inputs):
        raise RuntimeError("backend")

    compiled = compile_eagerly(torch_add, backend=fails)
    with pytest.raises(RuntimeError, match="backend"):
        compiled(torch.ones(2))
    (result,) = together(1, compile_eagerly(torch_add), torch.ones(2))
    assert result[0] == 2


def test_a_child_process_compiles_though_a_thread_of_the_parent_did():
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with exclusive.compilation():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(60)
    try:
        child = os.fork()
        if not child:
            with exclusive.compilation() as waited:
                os._exit(3 if waited else 0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        leave.set()
        thread.join(60)
