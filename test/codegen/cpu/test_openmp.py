"""Parallel kernels run on the threads of PyTorch's OpenMP runtime, and no others."""

import os
import re
import threading
from pathlib import Path

import pytest
import torch
from kernel_builder import KernelBuilder
from kernel_harness import compile_kernels

from girih.codegen.cpu import _openmp

PROGRAMS = 64


@pytest.fixture(scope="module")
def who():
    """A kernel that stores, for each program, an address on its thread's stack."""
    k = KernelBuilder(["i64"], ["s0"])
    (y,), (work,) = k.buffers, k.symbols
    with k.grid(k.index(PROGRAMS), work) as program:
        address = k.op("llvm.ptrtoint", "i64", k.local("scratch", "f32", 16))
        k.store(address, y, program)
    return compile_kernels(k.finish())


def _threads_used(kernels, work: int = 1 << 20) -> int:
    out = torch.zeros(PROGRAMS, dtype=torch.int64)
    assert kernels.call("k", [out], [work]) == 0
    assert (out != 0).all()
    return len(out.unique())


@pytest.fixture(autouse=True)
def _restore_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_obeys_the_number_of_threads(who, threads):
    torch.set_num_threads(threads)
    assert _threads_used(who) == threads


def test_small_grids_stay_on_the_calling_thread(who):
    torch.set_num_threads(2)
    assert _threads_used(who, work=10) == 1


def test_programs_are_divided_evenly_and_in_order(who):
    torch.set_num_threads(2)
    out = torch.zeros(PROGRAMS, dtype=torch.int64)
    who.call("k", [out], [1 << 20])
    assert len(out[: PROGRAMS // 2].unique()) == len(out[PROGRAMS // 2 :].unique()) == 1


def test_there_is_one_runtime_and_one_pool(who):
    torch.set_num_threads(2)
    x = torch.randn(1 << 20)
    x.exp()
    before = len(os.listdir("/proc/self/task"))
    for _ in range(5):
        _threads_used(who)
        x.exp()
    assert len(os.listdir("/proc/self/task")) <= before + 1
    maps = Path("/proc/self/maps").read_text()
    runtimes = set(re.findall(r"/\S*(?:gomp|iomp5|libomp)\S*", maps))
    assert len(runtimes) == 1
    assert os.path.realpath(_openmp.runtime_path()) in map(os.path.realpath, runtimes)


def test_called_from_several_threads_at_once(who):
    failures = []

    def run():
        torch.set_num_threads(2)
        for _ in range(50):
            if _threads_used(who) > 2:
                failures.append("too many threads")

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_symbols_cover_what_llvm_emits():
    names = set(_openmp.symbols())
    needed = {"fork_call", "fork_call_if", "for_static_init_8u", "for_static_fini"}
    assert {f"__kmpc_{name}" for name in needed} <= names
