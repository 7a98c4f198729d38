"""Recording of CUDA graphs through torch: `CaptureApi` for CUDA devices.

torch's own context manager waits for the device, collects garbage and empties the
allocator's cache, each of which costs more than the recording; what of this is needed
is done here.
"""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from . import _addresses
from .addresses import SpansLike, TorchSpans, is_layout_known, span_of


@functools.cache
def cuda_api(device: torch.device) -> CudaApi:
    """The one for a CUDA device."""
    return CudaApi(device)


class CudaApi:
    """`CaptureApi` of a CUDA device.

    Attributes:
        device: with its index.
    """

    def __init__(self, device: torch.device):
        self.device = device
        self._index = device.index
        self._side = torch.cuda.Stream(device)  # the default one can't be recorded

    def capture(self, function: Callable, pool: Any) -> tuple[Any, Any]:
        """Records what a function does; see `CaptureApi`."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self._side), _no_collection(), _own_workspaces():
            # Other threads may go on allocating meanwhile.
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                result = function()
                graph.capture_end()
            except BaseException:
                self._abandon(graph, pool)
                raise
        return graph, result

    def _abandon(self, graph: Any, pool: Any) -> None:
        """Ends a capture that failed.

        Where the driver has given it up already, torch raises before it has told its
        allocator and its generator: that is made up for here.
        """
        with suppress(RuntimeError):
            graph.capture_end()
            return
        with suppress(RuntimeError):
            torch._C._cuda_endAllocateToPool(self._index, pool)
            torch._C._cuda_releasePool(self._index, pool)
        with suppress(RuntimeError):
            graph.reset()
        generator = torch.cuda.default_generators[self._index]
        state = generator.get_state()
        generator.graphsafe_set_state(torch.Generator(self.device))
        generator.set_state(state)

    def new_pool(self) -> Any:
        """Memory for graphs."""
        return torch.cuda.graph_pool_handle()

    def is_capturing(self) -> bool:
        """Whether somebody records the current stream."""
        return torch._C._cuda_isCurrentStreamCapturing()

    def stream(self) -> int:
        """The handle of the current stream."""
        return torch._C._cuda_getCurrentRawStream(self._index)

    def current(self) -> torch.cuda.Stream:
        """The current stream."""
        return torch.cuda.current_stream(self.device)

    def wait(self, stream: torch.cuda.Stream) -> None:
        """Has the current stream wait for all that is queued on another one."""
        self.current().wait_stream(stream)

    def spans(self, tensors: list[torch.Tensor]) -> SpansLike:
        """What copies memory of tensors like these, on the current stream."""
        by_torch = TorchSpans(tensors)
        copy = _copy_function() if is_layout_known() else None
        if copy is None or by_torch.are_together:
            return by_torch
        sizes = [(tensor, tensor.element_size()) for tensor in tensors]
        items = [(span_of(tensor) * size, size) for tensor, size in sizes]
        return _DriverSpans(self, _addresses.Spans(tuple(items)), copy, by_torch)

    def reserved_bytes(self) -> int:
        """Memory that torch holds."""
        return torch.cuda.memory_reserved(self.device)

    def free_bytes(self) -> int:
        """Memory that the device has left, with what torch would reuse."""
        unused = self.reserved_bytes() - torch.cuda.memory_allocated(self.device)
        return torch.cuda.mem_get_info(self.device)[0] + unused


class _DriverSpans:
    """Copies by the driver: 5 us for each, where torch's own take 7."""

    def __init__(self, api: CudaApi, spans: Any, function: int, by_torch: TorchSpans):
        self._spans, self._function = spans, function
        self._stream, self._index = api.stream, api.device.index
        self._by_torch = by_torch

    def copy(self, targets: list[torch.Tensor], sources: list[torch.Tensor]) -> None:
        """Copies each span, from the first element of a tensor on."""
        if torch._C._cuda_getDevice() != self._index:
            self._by_torch.copy(targets, sources)
        else:
            self._spans.copy(self._function, self._stream(), targets, sources)


@functools.cache
def _copy_function() -> int | None:
    """The address of the driver's function that copies on a device."""
    if torch.version.hip:
        return None
    try:
        function = ctypes.CDLL("libcuda.so.1").cuMemcpyDtoDAsync_v2
    except (OSError, AttributeError):
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


@contextmanager
def _no_collection() -> Iterator[None]:
    """Garbage may free what must not be freed while a stream is recorded."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _own_workspaces() -> Iterator[None]:
    """cuBLAS takes its workspaces from the graph's pool, where they stay."""
    torch._C._cuda_clearCublasWorkspaces()
    try:
        yield
    finally:
        torch._C._cuda_clearCublasWorkspaces()
