"""Copies of memory on CUDA devices, with a driver's function that is played."""

from __future__ import annotations

import ctypes

import pytest
import torch

from girih.codegen.runtime import cuda_capture
from girih.codegen.runtime.addresses import MANY

KIND = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t
)


class Driver:
    """A driver that copies at once, and takes down what."""

    def __init__(self):
        self.copied: list[tuple[int, int]] = []
        self.function = KIND(self._copy)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value

    def _copy(self, target, source, count, stream):
        ctypes.memmove(target, source, count)
        self.copied.append((count, stream))
        return 0


@pytest.fixture
def driver(monkeypatch):
    made = Driver()
    monkeypatch.setattr(cuda_capture, "_copy_function", lambda: made.address)
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 1, raising=False)
    return made


def api_of(index):
    api = object.__new__(cuda_capture.CudaApi)
    api.device = torch.device("cuda", index)
    api.stream = lambda: 5
    return api


def copied(api, sources):
    targets = [torch.empty_strided(t.size(), t.stride()) for t in sources]
    api.spans(targets).copy(targets, sources)
    return all(map(torch.equal, targets, sources))


def test_few_tensors_are_copied_by_the_driver(driver):
    assert copied(api_of(1), [torch.randn(3, 4), torch.randn(4, 6).t(), torch.ones(())])
    assert driver.copied == [(48, 5), (96, 5), (4, 5)]


def test_many_tensors_are_copied_at_once(driver):
    assert copied(api_of(1), [torch.randn(3, 4) for _ in range(MANY)])
    assert driver.copied == []


def test_where_another_device_is_current_torch_copies(driver):
    assert copied(api_of(0), [torch.randn(3, 4), torch.randn(4, 6).t()])
    assert driver.copied == []


def test_without_the_drivers_function_torch_copies(monkeypatch):
    monkeypatch.setattr(cuda_capture, "_copy_function", lambda: None)
    assert copied(api_of(1), [torch.randn(3, 4), torch.randn(4, 6).t()])
