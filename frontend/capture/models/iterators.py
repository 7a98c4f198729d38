"""Models of iterators: builtin ones and itertools."""

from __future__ import annotations

import itertools

from girih.errors import unsupported
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.iterator.base import IteratorValue
from girih.frontend.capture.values.iterator.builtin import (
    CallableIterator,
    EnumerateIterator,
    FilterIterator,
    MapIterator,
    ZipIterator,
)
from girih.frontend.capture.values.iterator.grouping import (
    AccumulateIterator,
    BatchIterator,
    CycleIterator,
    GroupByIterator,
    PairIterator,
    RowsIterator,
    SharedItems,
    TeeIterator,
)
from girih.frontend.capture.values.iterator.library import (
    ChainIterator,
    CompressIterator,
    CountIterator,
    DropWhileIterator,
    LongestIterator,
    RepeatIterator,
    SliceIterator,
    StarMapIterator,
    TakeWhileIterator,
)
from girih.frontend.capture.values.iterator.making import reverse_iterator_of
from girih.frontend.capture.values.lookup import MISSING
from girih.frontend.capture.values.sequence import TupleValue


def _iterators(tracer, iterables) -> list[Value]:
    return [tracer.iterator(items) for items in iterables]


@models(iter)
def _iter(tracer, value, sentinel=None):
    if sentinel is None:
        return tracer.iterator(value)
    return CallableIterator(value, sentinel)


@models(enumerate)
def _enumerate(tracer, iterable, start=None):
    first = 0 if start is None else tracer.index_of(start)
    return EnumerateIterator(tracer.iterator(iterable), tracer.constant(first))


@models(zip)
def _zip(tracer, *iterables, strict=None):
    is_strict = strict is not None and strict.truth(tracer)
    return ZipIterator(_iterators(tracer, iterables), is_strict)


@models(map)
def _map(tracer, function, *iterables):
    if not iterables:
        tracer.throw(TypeError, "map() must have at least two arguments.")
    return MapIterator(function, _iterators(tracer, iterables))


@models(filter)
def _filter(tracer, function, items):
    return FilterIterator(function, tracer.iterator(items), filter)


@models(reversed)
def _reversed(tracer, items):
    return reverse_iterator_of(tracer, items)


# itertools


@models(itertools.chain)
def _chain(tracer, *iterables):
    return ChainIterator(tracer.iterator(TupleValue(list(iterables))))


@models(itertools.chain.from_iterable)
def _chain_from(tracer, iterables):
    return ChainIterator(tracer.iterator(iterables))


def _is_number(cls: type) -> bool:
    """What ``PyNumber_Check`` says of objects of a class."""
    names = ("__index__", "__int__", "__float__")
    return issubclass(cls, complex) or any(hasattr(cls, name) for name in names)


@models(itertools.count)
def _count(tracer, start=None, step=None):
    start = tracer.constant(0) if start is None else start
    for number in (start, step):
        if number is not None and not _is_number(number.python_type()):
            tracer.throw(TypeError, "a number is required")
    return CountIterator(start, tracer.constant(1) if step is None else step)


@models(itertools.repeat)
def _repeat(tracer, object, times=None):  # noqa: A002  the name of the keyword
    return RepeatIterator(object, None if times is None else tracer.index_of(times))


@models(itertools.islice)
def _islice(tracer, items, *bounds):
    limits = [tracer.known(bound).as_python() for bound in bounds]
    tracer.fold_raw(itertools.islice, (), *limits)  # bad bounds raise
    if len(limits) == 1:
        limits = [0, *limits]
    start, stop, step = (limits + [None])[:3]
    part = tracer.iterator(items)
    return SliceIterator(part, start or 0, stop, 1 if step is None else step)


@models(itertools.takewhile)
def _takewhile(tracer, predicate, items):
    return TakeWhileIterator(predicate, tracer.iterator(items))


@models(itertools.dropwhile)
def _dropwhile(tracer, predicate, items):
    return DropWhileIterator(predicate, tracer.iterator(items))


@models(itertools.filterfalse)
def _filterfalse(tracer, function, items):
    part = tracer.iterator(items)
    return FilterIterator(function, part, itertools.filterfalse, is_negated=True)


@models(itertools.starmap)
def _starmap(tracer, function, items):
    return StarMapIterator(function, tracer.iterator(items))


@models(itertools.compress)
def _compress(tracer, data, selectors):
    return CompressIterator(tracer.iterator(data), tracer.iterator(selectors))


@models(itertools.zip_longest)
def _zip_longest(tracer, *iterables, fillvalue=None):
    fill = tracer.constant(None) if fillvalue is None else fillvalue
    return LongestIterator(_iterators(tracer, iterables), fill)


@models(itertools.cycle)
def _cycle(tracer, items):
    return CycleIterator(tracer.iterator(items))


@models(itertools.accumulate)
def _accumulate(tracer, iterable, func=None, *, initial=None):
    function = tracer.constant(None) if func is None else func
    if initial is not None and tracer.is_none(initial):
        initial = None
    return AccumulateIterator(tracer.iterator(iterable), function, initial)


@models(itertools.pairwise)
def _pairwise(tracer, items):
    return PairIterator(tracer.iterator(items))


@models(itertools.groupby)
def _groupby(tracer, iterable, key=None):
    function = tracer.constant(None) if key is None else key
    return GroupByIterator(tracer.iterator(iterable), function)


@models(itertools.tee)
def _tee(tracer, items, n=None):
    count = 2 if n is None else tracer.index_of(n)
    if count < 0:
        tracer.throw(ValueError, "n must be >= 0")
    if isinstance(items, TeeIterator) and count:
        return TupleValue(items.split(count))
    if count == 0:
        return TupleValue([])
    return TupleValue(list(SharedItems(_part_of_tee(tracer, items), count).tees))


def _part_of_tee(tracer, items) -> Value:
    """The iterator that a ``tee`` reads, which calls ``iter`` of what it gave, too."""
    part = tracer.iterator(items)
    if isinstance(part, IteratorValue):
        return part
    if tracer.lookup(part.python_type(), "__copy__")[0] is not MISSING:
        unsupported(
            kind="tee of an iterator that copies itself",
            context=part.python_type().__qualname__,
            explanation="The function tee calls its __copy__, and keeps no items.",
        )
    return tracer.iterator(part)


@models(itertools.product)
def _product(tracer, *iterables, repeat=None):
    keywords = {} if repeat is None else {"repeat": tracer.index_of(repeat)}
    pools = [tracer.listed(items) for items in iterables]
    return RowsIterator(itertools.product, pools, [], keywords)


def _choices(cls: type):
    def model(tracer, iterable, r=None):
        pool = tracer.listed(iterable)
        size = len(pool) if r is None or tracer.is_none(r) else tracer.index_of(r)
        if size < 0:
            tracer.throw(ValueError, "r must be non-negative")
        return RowsIterator(cls, [pool], [size], {})

    return model


for _cls in (
    itertools.permutations,
    itertools.combinations,
    itertools.combinations_with_replacement,
):
    models(_cls)(_choices(_cls))


def _batched(cls: type):
    def model(tracer, iterable, n, *, strict=None):
        size = tracer.index_of(n)
        if size < 1:
            tracer.throw(ValueError, "n must be at least one")
        is_strict = strict is not None and strict.truth(tracer)
        return BatchIterator(tracer.iterator(iterable), size, is_strict, cls)

    return model


if hasattr(itertools, "batched"):  # since CPython 3.12
    models(itertools.batched)(_batched(itertools.batched))
