"""Recorded graphs of ATen calls on the processor: what a device's graphs are to tests.

As on a device, nothing is computed while a graph is recorded, and each replay reads and
writes the memory of that time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from girih.codegen.runtime.addresses import TorchSpans

GARBAGE = 77
"""What results of recorded calls are before the first replay."""


class FakeGraph(TorchDispatchMode):
    """A list of ATen calls."""

    def __init__(self):
        super().__init__()
        self.calls: list[tuple] = []
        self.replays = 0
        self._before: list[tuple[Tensor, Tensor]] = []

    def add(self, function: Callable, arguments: tuple) -> None:
        """Takes what is no call of ATen, such as the launch of a kernel."""
        self.calls.append((function, arguments, {}, None))

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self._remember(func, args)
        result = func(*args, **kwargs)
        known = {_storage(value) for value in _tensors((args, kwargs))}
        made = [v if _storage(v) not in known else None for v in _tensors(result)]
        self.calls.append((func, args, kwargs, made))
        return result

    def _remember(self, func, args) -> None:
        """Writes are taken back when the recording ends."""
        for value, argument in zip(args, func._schema.arguments, strict=False):
            if argument.alias_info is not None and argument.alias_info.is_write:
                values = [value] if isinstance(value, Tensor) else value
                self._before += [(v.detach(), v.detach().clone()) for v in values]

    def finish(self, result: Any) -> None:
        """Makes the recording leave no trace, and own no inputs and results."""
        for tensor, before in reversed(self._before):
            tensor.copy_(before)
        for *_, made in self.calls:
            for tensor in made or ():
                if tensor is not None and tensor.numel():
                    tensor.detach().fill_(GARBAGE)
        self._before.clear()
        made = _tensors([made for *_, made in self.calls])
        own = set(map(_storage, made)) - set(map(_storage, _tensors(result)))
        self.calls = tree_map_only(
            Tensor, lambda t: t if _storage(t) in own else _unowned(t), self.calls
        )

    @torch.no_grad()
    def replay(self) -> None:
        """Does all calls again."""
        self.replays += 1
        for func, args, kwargs, made in self.calls:
            if made is None:
                func(*args, **kwargs)
                continue
            if "empty" in func.name():
                continue
            found = _tensors(func(*args, **kwargs))
            # Some calls return fewer tensors where no gradient is wanted.
            for old, new in zip(made, found, strict=False):
                if old is not None:
                    old.detach().copy_(new)


class FakeApi:
    """`CaptureApi` on the processor.

    Args:
        device: an emulated one, whose launches are recorded too.

    Attributes:
        graphs: all that were recorded.
        streams: the handle of the current stream, to be set.
        waits: streams that were waited for.
        capturing: whether somebody else records the current stream, to be set.
        free: bytes that the device has left.
    """

    device = torch.device("cpu")

    def __init__(self, device: Any = None):
        self._emulated = device
        self.graphs: list[FakeGraph] = []
        self.pools: list[Any] = []
        self.handle = 1
        self.waits: list[int] = []
        self.capturing = False
        self.free = 1 << 40

    def capture(self, function: Callable, pool: Any) -> tuple[FakeGraph, Any]:
        """Records what a function does."""
        graph = FakeGraph()
        self.pools.append(pool)
        generator = torch.get_rng_state()
        with torch.no_grad():
            result = None
            try:
                with graph, self._launches_into(graph):
                    result = function()
            finally:
                graph.finish(result)
                torch.set_rng_state(generator)
        self.graphs.append(graph)
        return graph, result

    @contextmanager
    def _launches_into(self, graph: FakeGraph) -> Iterator[None]:
        if self._emulated is not None:
            self._emulated.graph = graph
        try:
            yield
        finally:
            if self._emulated is not None:
                self._emulated.graph = None

    def new_pool(self) -> object:
        """Memory for graphs."""
        return object()

    def is_capturing(self) -> bool:
        """Whether somebody records the current stream."""
        return self.capturing

    def stream(self) -> int:
        """The handle of the current stream."""
        return self.handle

    def current(self) -> int:
        """The current stream."""
        return self.handle

    def wait(self, stream: int) -> None:
        """Has the current stream wait for another one."""
        self.waits.append(stream)

    def spans(self, tensors: list[Tensor]) -> TorchSpans:
        """What copies memory of tensors like these."""
        return TorchSpans(tensors)

    def reserved_bytes(self) -> int:
        """Memory that torch holds."""
        return 1000 * len(self.graphs)

    def free_bytes(self) -> int:
        """Memory that the device has left."""
        return self.free


def _unowned(tensor: Tensor) -> Tensor:
    """A tensor on the same memory, which counts as nobody's."""
    whole = tensor.untyped_storage()
    start, count = whole.data_ptr(), whole.nbytes()
    storage = torch._C._construct_storage_from_data_pointer(start, tensor.device, count)
    made = torch.empty(0, dtype=tensor.dtype)
    return made.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())


def _tensors(values: Any) -> list[Tensor]:
    return [value for value in tree_leaves(values) if isinstance(value, Tensor)]


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
