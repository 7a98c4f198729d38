"""One recorded graph of a program: inputs at fixed addresses, results to lend or copy.

[Note: results of recorded graphs] A graph writes its results to the same memory each
time. They are *lent*: the caller gets tensors on that memory, and the graph runs again
only when nobody has any of them: the count of references of their storage says so. Or
they are copied when they are returned: 7 us for each, so only what callers keep and
what is small beside other results. A graph that lends has memory of its own; all others
share theirs, one after the other, as nothing of theirs outlives a call.

[Note: inputs of recorded graphs] Each input is *pinned* (the graph reads it where it
lies, and fits only calls that have it there) or copied into a buffer. What is written
is pinned always, and what is copied must not share memory with that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import Any, NamedTuple, Protocol
from weakref import ref

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from . import torch_entry
from .addresses import SpansLike, loans, own_count, pins, use_count
from .recordable import NotRecordable, Recordable, with_place
from .recorded_inputs import Copies, Ranges
from .recorded_results import analysed, choose_clones


class Graph(Protocol):
    """A recorded graph."""

    def replay(self) -> None:
        """Runs it on the current stream."""


class CaptureApi(Protocol):
    """What recording needs of a device; for CUDA see `cuda_capture`.

    Attributes:
        device: where all tensors of the graphs are.
    """

    device: torch.device

    def capture(self, function: Callable, pool: Any) -> tuple[Graph, Any]:
        """Records what a function does, and returns that with its result.

        Memory comes from the pool. Where the function raises or does what can't be
        recorded, the exception goes on, and nothing is left of the attempt.
        """

    def new_pool(self) -> Any:
        """Memory for graphs."""

    def is_capturing(self) -> bool:
        """Whether somebody records the current stream."""

    def stream(self) -> int:
        """The handle of the current stream."""

    def current(self) -> Any:
        """The current stream."""

    def wait(self, stream: Any) -> None:
        """Has the current stream wait for all that is queued on another one."""

    def spans(self, tensors: list[Tensor]) -> SpansLike:
        """What copies memory of tensors like these, on the current stream."""

    def reserved_bytes(self) -> int:
        """Memory that torch holds."""

    def free_bytes(self) -> int:
        """Memory that the device has left."""


class Pool:
    """Memory of graphs that never run at the same time."""

    def __init__(self, api: CaptureApi):
        self.api = api
        self.handle = api.new_pool()
        self._stream: int | None = None
        self._last: Any = None

    def enter(self) -> None:
        """Orders what comes on the current stream after what used the pool before."""
        stream = self.api.stream()
        if stream != self._stream:
            if self._last is not None:
                self.api.wait(self._last)
            self._stream, self._last = stream, self.api.current()


class Shared:
    """What the recordings on one device have in common.

    Attributes:
        api: of the device.
        lock: held while a graph is recorded or started.
        lent: starts of storages that belong to recordings, with how many.
    """

    def __init__(self, api: CaptureApi):
        self.api = api
        self.lock = RLock()
        self.lent: dict[int, int] = {}
        self._pool: Callable[[], Pool | None] = lambda: None

    def pool(self) -> Pool:
        """The memory of graphs that lend nothing."""
        pool = self._pool()
        if pool is None:  # torch takes no more graphs for one whose graphs have died
            pool = Pool(self.api)
            self._pool = ref(pool)
        return pool

    def is_lent(self, tensor: Tensor) -> bool:
        """Whether a tensor lies in the memory of a recording."""
        return tensor.untyped_storage().data_ptr() in self.lent


class Plan(NamedTuple):
    """How inputs and results are handled.

    Attributes:
        pinned: positions of inputs that are read where they lie.
        guessed: of others that are, as they seem to stay there.
        copied: positions of inputs that are copied.
        cloned: results that are copied whatever their size.
        small: results of the user of up to so many bytes are copied.
        lends: whether there may be results that are not copied.
    """

    pinned: tuple[int, ...]
    guessed: tuple[int, ...]
    copied: tuple[int, ...]
    cloned: frozenset[int]
    small: int
    lends: bool

    def is_copied(self, place: int, count: int, facts: Recordable) -> bool:
        """Whether a result of so many bytes is copied."""
        return place in self.cloned or (place in facts.returned and count <= self.small)


class Recording:
    """A graph of a program, for calls whose pinned inputs are where they were.

    Attributes:
        key: numbers and sizes that it holds for.
        plan: how inputs and results are handled.
        bytes: memory that was taken for it.
    """

    def __init__(
        self,
        key: tuple,
        shared: Shared,
        program: Callable,
        facts: Recordable,
        inputs: tuple,
        plan: Plan,
    ):
        self.key, self.plan = key, plan
        self._shared = shared
        api = shared.api
        self._pool = Pool(api) if plan.lends else shared.pool()
        before = api.reserved_bytes()
        self._copies = Copies(inputs, plan.copied, api.spans)
        given = self._copies.in_place_of(inputs)
        self._graph, results = _captured(self._pool, program, facts, given)
        self._results = analysed(results, given, api.device)
        choose_clones(self._results, partial(plan.is_copied, facts=facts))
        self._results.copies = api.spans(self._results.sources)
        self._empty_strided = torch_entry.empty_strided_on(api.device)
        del results
        self.bytes = api.reserved_bytes() - before
        self._pins = pins(inputs, (*plan.pinned, *plan.guessed))
        self._guesses = {i: inputs[i].data_ptr() for i in plan.guessed}
        self._written = _counting_writes(inputs, facts)
        self._writes = bool(facts.written)
        self._apart = Ranges([inputs[i] for i in sorted(facts.written)])
        self._lend()

    def _lend(self) -> None:
        """Takes stock of the memory that callers get."""
        cloned = set(map(id, self._results.sources))
        items, self._lent_places, self._starts = [], [], []
        for storage, tensors in self._results.held.items():
            count = own_count(len(tensors))
            if use_count(tensors[0]) != count:
                raise NotRecordable("other tensors share the memory of a result")
            if id(tensors[0]) in cloned:
                continue
            items.append((storage, count))
            self._lent_places.append(self._places_on(storage))
            self._starts.append(tensors[0].untyped_storage().data_ptr())
        self._loans = loans(items)
        for start in self._starts:
            self._shared.lent[start] = self._shared.lent.get(start, 0) + 1

    def _places_on(self, storage: int) -> list[int]:
        """Which results lie in a storage."""
        tensors = {id(tensor) for tensor in self._results.held[storage]}
        return [place for place, args in self._results.lent if id(args[0]) in tensors]

    @property
    def lends(self) -> bool:
        """Whether callers get memory of the graph."""
        return bool(self._starts)

    def fits(self, inputs: tuple) -> bool:
        """Whether the inputs are where the graph reads and writes them."""
        return self._pins.hold(inputs) and (
            not self._writes or self._apart.are_apart(inputs, self.plan.copied)
        )

    def moved(self, inputs: tuple) -> set[int]:
        """Guessed inputs that are elsewhere."""
        guesses = self._guesses.items()
        return {i for i, address in guesses if inputs[i].data_ptr() != address}

    def is_free(self) -> bool:
        """Whether nobody has results of an earlier call."""
        return self._loans.are_back()

    def out(self) -> list[int]:
        """Results that somebody has of an earlier call."""
        return [i for number in self._loans.out() for i in self._lent_places[number]]

    def run(self, inputs: tuple) -> tuple:
        """Starts the graph on the current stream; the inputs must fit."""
        self._pool.enter()
        self._copies.fill(inputs)
        self._graph.replay()
        if self._written:
            torch_entry.increment_version([inputs[i] for i in self._written])
        return self._results.made(inputs, self._empty_strided)

    def result_bytes(self, place: int) -> int:
        """Bytes of a result, for those that have memory of their own."""
        for held in self._results.held.values():
            for found, args in self._results.lent:
                if found == place and args[0] is held[0]:
                    return held[0].untyped_storage().nbytes()
        return 0

    def close(self) -> None:
        """Forgets its memory, which stays as long as callers have some of it."""
        for start in self._starts:
            self._shared.lent[start] -= 1
            if not self._shared.lent[start]:
                del self._shared.lent[start]
        self._starts = []


def _counting_writes(inputs: tuple, facts: Recordable) -> tuple[int, ...]:
    """Written inputs whose version torch counts."""
    counted = sorted(facts.written - facts.uncounted)
    return tuple(i for i in counted if not inputs[i].is_inference())


def _captured(
    pool: Pool, program: Callable, facts: Recordable, given: list
) -> tuple[Graph, tuple]:
    watch = _Watch(pool.api.device, facts)

    def run() -> Any:
        box = [given[: facts.donated]] if facts.donated else []
        with watch:
            return program(*box, *given[facts.donated :])

    try:
        graph, results = pool.api.capture(run, pool.handle)
    except NotRecordable:
        raise
    except Exception as error:
        raise NotRecordable(watch.blamed(error)) from error
    if not isinstance(results, tuple):
        raise NotRecordable(
            "a check of a kernel failed, so this call runs in eager mode"
        )
    return graph, results


class _Watch(TorchDispatchMode):
    """Sees each ATen call of a capture: which was the last, and on what memory."""

    def __init__(self, device: torch.device, facts: Recordable):
        super().__init__()
        self._device, self._facts = device, facts
        self._counts: dict[str, int] = {}
        self._last: str | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else each instance imports Dynamo

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = str(func)
        self._counts[name] = self._counts.get(name, -1) + 1
        self._last = name
        self._check(args, kwargs)
        result = func(*args, **(kwargs or {}))
        self._check((result,), None)
        return result

    def _check(self, args, kwargs) -> None:
        for value in torch.utils._pytree.arg_tree_leaves(*args, **(kwargs or {})):
            if isinstance(value, Tensor) and value.device != self._device:
                reason = (
                    f"{self._last} uses a tensor on {value.device}, and a CUDA graph "
                    "can use only its own device"
                )
                raise NotRecordable(with_place(reason, self._place()))

    def _place(self) -> str:
        if self._last is None:
            return ""
        return self._facts.place_of(self._last, self._counts[self._last])

    def blamed(self, error: Exception) -> str:
        """The reason that an error gives, with the user's line."""
        text = str(error).strip().partition("\n")[0] or type(error).__name__
        where = f" in or after {self._last}" if self._last else ""
        return with_place(f"recording failed{where}: {text}", self._place())
