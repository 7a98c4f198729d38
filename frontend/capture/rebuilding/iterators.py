"""Writers of iterators.

Each gives a real iterator that goes on where the traced one stands. What an iterator
reads from is an iterator too, so most need their parts only.
"""

from __future__ import annotations

import ast
import functools
import itertools
import operator
from collections import deque
from collections.abc import Iterator
from typing import Any

from girih.errors import unsupported
from girih.frontend.capture.rebuilding.code import call, list_of, method, tuple_of
from girih.frontend.capture.rebuilding.registry import writes
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.iterator.base import ItemsIterator, IteratorValue
from girih.frontend.capture.values.iterator.builtin import (
    CallableIterator,
    EnumerateIterator,
    FilterIterator,
    MapIterator,
    ZipIterator,
)
from girih.frontend.capture.values.iterator.containers import (
    ConstantIterator,
    DequeIterator,
    DictIterator,
    IndexIterator,
    OrderIterator,
    SequenceIterator,
    SetIterator,
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
from girih.frontend.capture.values.lookup import c_method

# What the surrounding code calls


class Taken:
    """Gives an iterator to a function that asks for one.

    ``enumerate(Taken(x))`` goes on with ``x``, where ``enumerate(x)`` would run the
    ``__iter__`` of its class once more, and that may start it again.
    """

    def __init__(self, iterator: Iterator):
        self.iterator = iterator

    def __iter__(self) -> Iterator:
        return self.iterator


def advanced(iterator: Iterator, count: int) -> Iterator:
    """An iterator that has given some items."""
    deque(itertools.islice(iterator, count), maxlen=0)
    return iterator


def ended(iterable: Any) -> Iterator:
    """An iterator that has come to its end."""
    iterator = iter(iterable)
    deque(iterator, maxlen=0)
    return iterator


def shared(iterator: Iterator, places: tuple[int, ...]) -> list[Iterator]:
    """The iterators of a ``tee``, each at its place.

    ``tee`` calls ``iter`` of an iterator, too: the chain keeps that from it.
    """
    tees = itertools.tee(itertools.chain(iterator), len(places))
    return [advanced(t, place) for t, place in zip(tees, places, strict=True)]


def never(item: Any) -> bool:
    """A condition that does not hold."""
    return False


def _call(rebuilder, function, *args: ast.expr, **kwargs: ast.expr) -> ast.expr:
    made = call(rebuilder.constant(function), *args)
    made.keywords = [ast.keyword(name, item) for name, item in kwargs.items()]
    return made


def _all(rebuilder, values: list[Value]) -> list[ast.expr]:
    return [rebuilder.expression(value) for value in values]


def _part(rebuilder, part: Value | None) -> ast.expr:
    """An iterator, for a function that calls ``iter``; without one, an empty tuple."""
    if part is None:
        return tuple_of([])
    iterator = rebuilder.expression(part)
    if isinstance(part, IteratorValue):  # its own ``iter`` in C code
        return iterator
    return _call(rebuilder, Taken, iterator)


def _of_builtin(rebuilder, owner: Value, name: str) -> ast.expr:
    """A method of the builtin class of an object; its own class may override it."""
    function = c_method(owner.python_type(), name)
    return _call(rebuilder, function, rebuilder.expression(owner))


def _parts(rebuilder, parts: list[Value | None]) -> list[ast.expr]:
    return [_part(rebuilder, part) for part in parts]


def _ended(rebuilder, value: Value, iterator: ast.expr | None = None) -> ast.expr:
    """An iterator of a value's class that gives nothing more."""
    empty = tuple_of([]) if iterator is None else iterator
    return rebuilder.assign(value, _call(rebuilder, ended, empty))


# Over containers


@writes(SequenceIterator)
def _write_sequence_iterator(rebuilder, value: SequenceIterator) -> ast.expr:
    function = iter if value.step > 0 else reversed
    if value.sequence is None:
        empty = _empty_of(value.cls)
        return _ended(rebuilder, value, call(rebuilder.constant(function), empty))
    _check_settled(rebuilder, value.sequence)
    made = rebuilder.assign(value, _at_start(rebuilder, value))
    rebuilder.do(method(made, "__setstate__", ast.Constant(value.index)))
    return made


def _at_start(rebuilder, value: SequenceIterator) -> ast.expr:
    if value.cls is reversed:  # of a tuple, which has no method of its own
        return _call(rebuilder, reversed, rebuilder.expression(value.owner))
    name = "__iter__" if value.step > 0 else "__reversed__"
    return _of_builtin(rebuilder, value.owner, name)


def _empty_of(cls: type) -> ast.expr:
    is_list = cls.__name__.startswith("list")
    return list_of([]) if is_list else tuple_of([])


def _check_settled(rebuilder, container: Value) -> None:
    """Refuses a container from outside whose changes are still to be replayed."""
    if id(container) in rebuilder.pending:
        unsupported(
            kind="iterator over a container that is changed",
            context=repr(container),
            explanation=(
                "Another changed object holds the iterator. girih would have to make "
                "the iterator before the container has its new items."
            ),
        )


@writes(ItemsIterator)
def _write_items_iterator(rebuilder, value: ItemsIterator) -> ast.expr:
    items = _all(rebuilder, value.remaining())
    is_tuple = value.cls is type(iter(()))
    display = tuple_of(items) if is_tuple else list_of(items)
    return rebuilder.assign(value, _call(rebuilder, iter, display))


@writes(ConstantIterator)
def _write_constant_iterator(rebuilder, value: ConstantIterator) -> ast.expr:
    rest = value.value[value.index :]
    function = iter
    if value.cls is reversed:
        function, rest = reversed, rest[::-1]
    made = _call(rebuilder, function, rebuilder.constant(rest))
    return rebuilder.assign(value, made)


@writes(DictIterator, OrderIterator)
def _write_dict_iterator(rebuilder, value: DictIterator) -> ast.expr:
    _check_settled(rebuilder, value.mapping)
    view = _of_builtin(rebuilder, value.owner, value.kind)
    function = reversed if value.is_reversed else iter
    iterator = _call(rebuilder, function, view)
    if value.index < 0:
        return _ended(rebuilder, value, iterator)
    return _advanced(rebuilder, value, iterator)


@writes(SetIterator)
def _write_set_iterator(rebuilder, value: SetIterator) -> ast.expr:
    if value.owner is None:
        empty = rebuilder.constant(frozenset())
        return _ended(rebuilder, value, _call(rebuilder, iter, empty))
    _check_settled(rebuilder, value.owner)
    iterator = _of_builtin(rebuilder, value.owner, "__iter__")
    return _advanced(rebuilder, value, iterator)


def _advanced(rebuilder, value, iterator: ast.expr) -> ast.expr:
    """An iterator over a container that is as it was when the iterator was made."""
    if not value.is_unchanged:
        unsupported(
            kind="iterator over a container that has changed since",
            context=repr(value),
            explanation="The container changed after the iterator was made. Python's "
            "iterator raises an error at its next step, but the one that girih makes "
            "anew would not.",
        )
    count = ast.Constant(value.index)
    return rebuilder.assign(value, _call(rebuilder, advanced, iterator, count))


@writes(DequeIterator)
def _write_deque_iterator(rebuilder, value: DequeIterator) -> ast.expr:
    _check_settled(rebuilder, value.owner)
    name = "__reversed__" if value.is_reversed else "__iter__"
    iterator = _of_builtin(rebuilder, value.owner, name)
    return _advanced(rebuilder, value, iterator)


@writes(IndexIterator)
def _write_index_iterator(rebuilder, value: IndexIterator) -> ast.expr:
    if value.owner is None or value.step < 0:
        return _write_reversed_by_index(rebuilder, value)
    owner = rebuilder.expression(value.owner)
    made = rebuilder.assign(value, _call(rebuilder, iter, owner))
    rebuilder.do(method(made, "__setstate__", ast.Constant(value.index)))
    return made


def _write_reversed_by_index(rebuilder, value: IndexIterator) -> ast.expr:
    if value.owner is None or value.index < 0:
        return _ended(rebuilder, value)
    if not value.is_repeatable:
        unsupported(
            kind="reversed of an object whose __len__ changes something",
            context=repr(value.owner),
            explanation="girih cannot make the iterator again without calling __len__.",
        )
    owner = rebuilder.expression(value.owner)
    made = rebuilder.assign(value, _call(rebuilder, reversed, owner))
    rebuilder.do(method(made, "__setstate__", ast.Constant(value.index)))
    return made


# Builtin ones


@writes(EnumerateIterator)
def _write_enumerate(rebuilder, value: EnumerateIterator) -> ast.expr:
    part, count = _part(rebuilder, value.part), rebuilder.expression(value.count)
    return rebuilder.assign(value, _call(rebuilder, enumerate, part, count))


@writes(ZipIterator)
def _write_zip(rebuilder, value: ZipIterator) -> ast.expr:
    parts = _parts(rebuilder, value.parts)
    is_strict = ast.Constant(value.is_strict)
    return rebuilder.assign(value, _call(rebuilder, zip, *parts, strict=is_strict))


@writes(MapIterator)
def _write_map(rebuilder, value: MapIterator) -> ast.expr:
    function = rebuilder.expression(value.function)
    parts = _parts(rebuilder, value.parts)
    return rebuilder.assign(value, _call(rebuilder, map, function, *parts))


@writes(FilterIterator, StarMapIterator)
def _write_filter(rebuilder, value) -> ast.expr:
    function = rebuilder.expression(value.function)
    part = _part(rebuilder, value.part)
    return rebuilder.assign(value, _call(rebuilder, value.cls, function, part))


@writes(CallableIterator)
def _write_callable_iterator(rebuilder, value: CallableIterator) -> ast.expr:
    if value.function is None:
        unending = _call(rebuilder, iter, rebuilder.constant(int), ast.Constant(0))
        return _ended(rebuilder, value, unending)
    parts = _all(rebuilder, [value.function, value.sentinel])
    return rebuilder.assign(value, _call(rebuilder, iter, *parts))


# itertools


def _chained(rebuilder, items: list[ast.expr], part: Value) -> ast.expr:
    """``chain(items, part)``: the items, and then those of the part."""
    rest = _part(rebuilder, part)
    if not items:
        return rest
    return _call(rebuilder, itertools.chain, list_of(items), rest)


@writes(ChainIterator)
def _write_chain(rebuilder, value: ChainIterator) -> ast.expr:
    make = functools.partial(_call, rebuilder, itertools.chain.from_iterable)
    if value.outer is None:
        return rebuilder.assign(value, make(tuple_of([])))
    inner = [] if value.inner is None else [_part(rebuilder, value.inner)]
    return rebuilder.assign(value, make(_chained(rebuilder, inner, value.outer)))


@writes(CountIterator)
def _write_count(rebuilder, value: CountIterator) -> ast.expr:
    parts = _all(rebuilder, [value.value, value.step])
    return rebuilder.assign(value, _call(rebuilder, itertools.count, *parts))


@writes(RepeatIterator)
def _write_repeat(rebuilder, value: RepeatIterator) -> ast.expr:
    times = [] if value.times is None else [ast.Constant(value.times)]
    item = rebuilder.expression(value.item)
    return rebuilder.assign(value, _call(rebuilder, itertools.repeat, item, *times))


@writes(SliceIterator)
def _write_slice(rebuilder, value: SliceIterator) -> ast.expr:
    make = functools.partial(_call, rebuilder, itertools.islice)
    if value.part is None:
        return rebuilder.assign(value, make(tuple_of([]), ast.Constant(0)))
    place = value.place
    stop = None if value.stop is None else value.stop - place
    bounds = (value.wanted - place, stop, value.step)
    part = _part(rebuilder, value.part)
    return rebuilder.assign(value, make(part, *map(ast.Constant, bounds)))


@writes(TakeWhileIterator)
def _write_takewhile(rebuilder, value: TakeWhileIterator) -> ast.expr:
    function = rebuilder.expression(value.function)
    part = _part(rebuilder, value.part)
    made = _call(rebuilder, itertools.takewhile, function, part)
    return rebuilder.assign(value, made)


@writes(DropWhileIterator)
def _write_dropwhile(rebuilder, value: DropWhileIterator) -> ast.expr:
    if value.function is None:
        function = rebuilder.constant(never)
    else:
        function = rebuilder.expression(value.function)
    part = _part(rebuilder, value.part)
    made = _call(rebuilder, itertools.dropwhile, function, part)
    return rebuilder.assign(value, made)


@writes(CompressIterator)
def _write_compress(rebuilder, value: CompressIterator) -> ast.expr:
    parts = _parts(rebuilder, [value.part, value.selectors])
    return rebuilder.assign(value, _call(rebuilder, itertools.compress, *parts))


@writes(LongestIterator)
def _write_longest(rebuilder, value: LongestIterator) -> ast.expr:
    parts = _parts(rebuilder, value.parts)
    fill = rebuilder.expression(value.fill)
    made = _call(rebuilder, itertools.zip_longest, *parts, fillvalue=fill)
    return rebuilder.assign(value, made)


@writes(CycleIterator)
def _write_cycle(rebuilder, value: CycleIterator) -> ast.expr:
    make = functools.partial(_call, rebuilder, itertools.cycle)
    if value.part is None:
        items = value.saved[value.index :] + value.saved[: value.index]
        return rebuilder.assign(value, make(list_of(_all(rebuilder, items))))
    made = make(_chained(rebuilder, _all(rebuilder, value.saved), value.part))
    count = ast.Constant(len(value.saved))
    return rebuilder.assign(value, _call(rebuilder, advanced, made, count))


@writes(AccumulateIterator)
def _write_accumulate(rebuilder, value: AccumulateIterator) -> ast.expr:
    make = functools.partial(_call, rebuilder, itertools.accumulate)
    function = rebuilder.expression(value.function)
    first = [] if value.total is None else [rebuilder.expression(value.total)]
    source = _chained(rebuilder, first, value.part)
    if value.initial is not None:
        initial = rebuilder.expression(value.initial)
        return rebuilder.assign(value, make(source, function, initial=initial))
    made = make(source, function)
    if not first:
        return rebuilder.assign(value, made)
    return rebuilder.assign(value, _call(rebuilder, advanced, made, ast.Constant(1)))


@writes(PairIterator)
def _write_pairwise(rebuilder, value: PairIterator) -> ast.expr:
    make = functools.partial(_call, rebuilder, itertools.pairwise)
    if value.part is None:
        return rebuilder.assign(value, make(tuple_of([])))
    items = [] if value.previous is None else [value.previous]
    source = _chained(rebuilder, _all(rebuilder, items), value.part)
    return rebuilder.assign(value, make(source))


@writes(BatchIterator)
def _write_batched(rebuilder, value: BatchIterator) -> ast.expr:
    part = _part(rebuilder, value.part)
    strict = {"strict": ast.Constant(True)} if value.is_strict else {}
    made = _call(rebuilder, value.cls, part, ast.Constant(value.size), **strict)
    return rebuilder.assign(value, made)


@writes(RowsIterator)
def _write_rows(rebuilder, value: RowsIterator) -> ast.expr:
    pools = [tuple_of(_all(rebuilder, pool)) for pool in value.pools]
    rest = [ast.Constant(argument) for argument in value.arguments]
    named = {name: ast.Constant(item) for name, item in value.keywords.items()}
    made = _call(rebuilder, value.cls, *pools, *rest, **named)
    count = ast.Constant(value.count)
    return rebuilder.assign(value, _call(rebuilder, advanced, made, count))


@writes(SharedItems)
def _write_shared(rebuilder, value: SharedItems) -> ast.expr:
    start = min(tee.index for tee in value.tees)
    items = _all(rebuilder, value.items[start:])
    source = _chained(rebuilder, items, value.part)
    places = [ast.Constant(tee.index - start) for tee in value.tees]
    made = _call(rebuilder, shared, source, tuple_of(places))
    return rebuilder.assign(value, made)


@writes(TeeIterator)
def _write_tee(rebuilder, value: TeeIterator) -> ast.expr:
    group = rebuilder.expression(value.shared)
    index = operator.indexOf(map(id, value.shared.tees), id(value))
    made = ast.Subscript(group, ast.Constant(index), ast.Load())
    return rebuilder.assign(value, made)


@writes(GroupByIterator)
def _write_groupby(rebuilder, value: GroupByIterator) -> ast.expr:
    if value.wanted is not None:
        unsupported(
            kind="groupby that has started",
            explanation=(
                "girih cannot make the groupby again without computing its keys twice."
            ),
        )
    part = _part(rebuilder, value.part)
    function = rebuilder.expression(value.function)
    return rebuilder.assign(value, _call(rebuilder, itertools.groupby, part, function))
