"""Models of ``heapq`` and ``bisect``, which are written in C."""

from __future__ import annotations

import bisect
import heapq
import operator

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import Value

# Above this size ``heapify`` takes another way, which gives another heap.
_LARGEST_HEAP = 2500


def _sift(tracer, function, heap: Value, *positions: int) -> None:
    """Calls one of the helpers that ``heapq`` has in Python only."""
    args = [heap, *(tracer.constant(position) for position in positions)]
    tracer.call(tracer.held(function), args, {})


def _item(tracer, heap: Value, index: int) -> Value:
    return tracer.get_item(heap, tracer.constant(index))


@models(heapq.heappush)
def _heappush(tracer, heap, item):
    tracer.call_method(heap, "append", [item])
    _sift(tracer, heapq._siftdown, heap, 0, heap.length(tracer) - 1)
    return tracer.constant(None)


def _pop_model(sift_up):
    def model(tracer, heap):
        last = tracer.call_method(heap, "pop", [])
        if not heap.length(tracer):
            return last
        first = _item(tracer, heap, 0)
        heap.set_item(tracer, tracer.constant(0), last)
        _sift(tracer, sift_up, heap, 0)
        return first

    return model


def _replace_model(sift_up):
    def model(tracer, heap, item):
        first = _item(tracer, heap, 0)
        heap.set_item(tracer, tracer.constant(0), item)
        _sift(tracer, sift_up, heap, 0)
        return first

    return model


def _heapify_model(sift_up):
    def model(tracer, heap):
        count = heap.length(tracer)
        if count > _LARGEST_HEAP:
            unsupported(
                kind="heapify of a long list",
                context=f"{count} items",
                explanation="Python's C code orders a long heap differently from the "
                "code that girih traces.",
            )
        for index in reversed(range(count // 2)):
            _sift(tracer, sift_up, heap, index)
        return tracer.constant(None)

    return model


models(heapq.heappop)(_pop_model(heapq._siftup))
models(heapq._heappop_max)(_pop_model(heapq._siftup_max))
models(heapq.heapreplace)(_replace_model(heapq._siftup))
models(heapq._heapreplace_max)(_replace_model(heapq._siftup_max))
models(heapq.heapify)(_heapify_model(heapq._siftup))
models(heapq._heapify_max)(_heapify_model(heapq._siftup_max))


@models(heapq.heappushpop)
def _heappushpop(tracer, heap, item):
    if not heap.length(tracer):
        return item
    first = _item(tracer, heap, 0)
    if not tracer.compare(operator.lt, first, item).truth(tracer):
        return item
    heap.set_item(tracer, tracer.constant(0), item)
    _sift(tracer, heapq._siftup, heap, 0)
    return first


def _position(tracer, items, item, lo, hi, key, to_right: bool) -> int:
    low = 0 if lo is None else tracer.index_of(lo)
    if low < 0:
        tracer.throw(ValueError, "lo must be non-negative")
    given = hi is not None and not tracer.is_none(hi)
    high = tracer.index_of(hi) if given else items.length(tracer)
    has_key = key is not None and not tracer.is_none(key)
    while low < high:
        middle = (low + high) // 2
        found = _item(tracer, items, middle)
        found = tracer.call(key, [found], {}) if has_key else found
        pair = (item, found) if to_right else (found, item)
        if tracer.compare(operator.lt, *pair).truth(tracer) is to_right:
            high = middle
        else:
            low = middle + 1
    return low


def _bisect_model(to_right: bool):
    def model(tracer, a, x, lo=None, hi=None, *, key=None):
        return tracer.constant(_position(tracer, a, x, lo, hi, key, to_right))

    return model


def _insort_model(to_right: bool):
    def model(tracer, a, x, lo=None, hi=None, *, key=None):
        has_key = key is not None and not tracer.is_none(key)
        wanted = tracer.call(key, [x], {}) if has_key else x
        place = _position(tracer, a, wanted, lo, hi, key, to_right)
        tracer.call_method(a, "insert", [tracer.constant(place), x])
        return tracer.constant(None)

    return model


models(bisect.bisect_right)(_bisect_model(to_right=True))
models(bisect.bisect_left)(_bisect_model(to_right=False))
models(bisect.insort_right)(_insort_model(to_right=True))
models(bisect.insort_left)(_insort_model(to_right=False))
