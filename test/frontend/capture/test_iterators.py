"""Iterators: lazy as Python's while they are traced, rebuilt where they stand."""

import itertools
import os

import pytest
import torch
from capture_differential import Cases, check, compile_eagerly, rand

case = Cases()
left = Cases()


def broken():
    """A C function that nobody models: the graph breaks here."""
    return os.getpid() > 0


# Traced in one graph


@case(rand(3))
def list_grows_while_iterated(x):
    items = [x]
    for index, item in enumerate(items):
        if index < 3:
            items.append(item + 1)
    return items


@case(rand(3))
def list_iterator_that_ended_stays_ended(x):
    items = [1]
    iterator = iter(items)
    found = list(iterator)
    items.append(2)
    return x, found, list(iterator), type(iterator).__name__


@case(rand(3))
def map_is_lazy(x):
    seen = []
    mapped = map(lambda v: seen.append(v) or x * v, [1, 2, 3])
    first = next(mapped)
    return first, list(seen), list(mapped), seen


@case(rand(3))
def filter_with_none(x):
    return list(filter(None, [0, 1, "", "a", [], [x]]))


@case(rand(3))
def zip_reads_in_order(x):
    seen = []

    def tell(name, count):
        for index in range(count):
            seen.append((name, index))
            yield x + index

    rows = list(zip(tell("a", 2), tell("b", 1), strict=False))
    return rows, seen


@case(rand(3))
def zip_strict_is_shorter(x):
    return list(zip([x], [], strict=True))


@case(rand(3))
def zip_strict_is_longer(x):
    return list(zip([], [], [x], strict=True))


@case(rand(3))
def shared_iterator(x):
    iterator = iter(range(6))
    return x, list(zip(iterator, iterator, strict=False)), next(iterator, "end")


@case(rand(3))
def enumerate_from(x):
    return [x + i for i, _ in enumerate("abc", start=-1)]


@case(rand(2, 3))
def tensor_is_iterated(x):
    return [row + i for i, row in enumerate(x)], reversed(x), type(iter(x)).__name__


@case(rand(3))
def reversed_kinds(x):
    pairs = {"a": 1, "b": x}
    return (
        list(reversed([1, x])),
        list(reversed(range(3))),
        list(reversed("ab")),
        list(reversed(pairs)),
        list(reversed(pairs.items())),
    )


@case(rand(3))
def reversed_list_shrinks(x):
    items = [1, 2, 3, 4]
    found = []
    for item in reversed(items):
        found.append(item)
        items.pop(0)
    return x, found


@case(rand(3))
def dict_changes_size(x):
    pairs = {"a": x}
    for key in pairs:
        pairs[key + "b"] = x
    return pairs


@case(rand(3))
def dict_values_are_replaced(x):
    pairs = {"a": x, "b": x}
    for key, value in pairs.items():
        pairs[key] = value + 1
    return pairs


@case(rand(3))
def set_changes_size(x):
    members = {1}
    for member in members:
        members.add(member + 1)
    return x


class Row:
    def __init__(self, items):
        self.items = items

    def __getitem__(self, index):
        return self.items[index]


class Sized(Row):
    def __len__(self):
        return len(self.items)


@case(rand(3))
def iterated_by_index(x):
    return list(Row([x, x + 1])), list(reversed(Sized([1, x])))


@case(rand(3))
def not_iterable(x):
    return list(zip([x], 3, strict=False))


class Countdown:
    def __init__(self, start):
        self.start = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.start == 0:
            raise StopIteration
        self.start -= 1
        return self.start


class Wrong:
    def __iter__(self):
        return 3


@case(rand(3))
def user_iterator(x):
    return [x + i for i in Countdown(3)], list(zip(Countdown(2), "abc", strict=False))


@case(rand(3))
def iter_returns_no_iterator(x):
    return list(Wrong()), x


@case(rand(3))
def stop_iteration_in_map_ends_it(x):
    def stop(value):
        if value == 2:
            raise StopIteration
        return x * value

    return list(map(stop, [1, 2, 3]))


@case(rand(3))
def callable_with_sentinel(x):
    items = [x, x + 1, None, x]
    iterator = iter(lambda: items.pop(0), None)
    return list(iterator), len(items), next(iterator, "end")


@case(rand(3))
def contained(x):
    iterator = iter([1, 2, 3])
    return x, 2 in iterator, list(iterator)


@case(rand(3))
def chained(x):
    parts = itertools.chain([x], (1, 2), itertools.chain.from_iterable(["ab", "c"]))
    return list(parts)


@case(rand(3))
def sliced(x):
    source = iter(range(10))
    first = list(itertools.islice(source, 2))
    middle = list(itertools.islice(source, 1, 6, 2))
    return x, first, middle, list(source)


@case(rand(3))
def sliced_wrongly(x):
    return x, itertools.islice([1], -1)


@case(rand(3))
def counted(x):
    return [x * i for i, _ in zip(itertools.count(2, 0.5), "abc", strict=False)]


@case(rand(3))
def cycled(x):
    return list(itertools.islice(itertools.cycle([x, 1]), 5)), list(itertools.cycle(()))


@case(rand(3))
def taken_and_dropped(x):
    numbers = [1, 3, 8, 2]
    return (
        x,
        list(itertools.takewhile(lambda n: n < 5, numbers)),
        list(itertools.dropwhile(lambda n: n < 5, numbers)),
        list(itertools.filterfalse(lambda n: n < 5, numbers)),
        list(itertools.compress(numbers, [1, 0, 1])),
    )


@case(rand(3))
def accumulated(x):
    return (
        list(itertools.accumulate([x, x, x])),
        list(itertools.accumulate([1, 2], lambda a, b: a * b + x.shape[0], initial=5)),
    )


@case(rand(3))
def paired(x):
    return list(itertools.pairwise([x, 1, 2])), list(itertools.pairwise([x]))


@case(rand(3))
def longest(x):
    return list(itertools.zip_longest([x], "ab", [], fillvalue=0))


@case(rand(3))
def grouped(x):
    groups = itertools.groupby([1, 1, 2, 3, 3], key=lambda n: n > 1)
    return [(key, [x * n for n in group]) for key, group in groups]


@case(rand(3))
def grouped_and_skipped(x):
    groups = list(itertools.groupby("aab"))
    return x, [(key, list(group)) for key, group in groups]


@case(rand(3))
def teed(x):
    one, two, three = itertools.tee(map(lambda i: x + i, range(3)), 3)
    return next(one), list(two), list(one), next(three)


@case(rand(3))
def starred(x):
    return list(itertools.starmap(lambda a, b: x * a + b, [(1, 2), (3, 4)]))


@case(rand(3))
def combined(x):
    return (
        list(itertools.product([x, 1], "ab")),
        list(itertools.product([0, 1], repeat=2)),
        list(itertools.permutations("abc", 2)),
        list(itertools.permutations([1, 2])),
        list(itertools.combinations([1, 2, x], 2)),
        list(itertools.combinations_with_replacement("ab", 2)),
    )


@case(rand(3))
def repeated(x):
    return list(itertools.repeat(x, 2)), list(itertools.repeat(1, times=-1))


if hasattr(itertools, "batched"):

    @case(rand(3))
    def batched(x):
        return list(itertools.batched([x, 1, 2], 2))


@case(rand(3))
def unpacked(x):
    first, *rest = map(lambda i: x + i, range(3))
    return (
        first,
        rest,
        [*zip([1], [2], strict=True)],
        {**dict(zip("a", [x], strict=True))},
    )


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)


# Left in the middle: returned, or alive at a break


def _advanced(iterator, count=1):
    for _ in range(count):
        next(iterator)
    return iterator


@left()
def list_iterator(x):
    return _advanced(iter([x, 1, 2]))


@left()
def tuple_iterator(x):
    return _advanced(iter((x, 1, 2)), 2)


@left()
def ended_list_iterator(x):
    iterator = iter([x])
    list(iterator)
    return iterator


@left()
def reversed_list(x):
    return _advanced(reversed([1, 2, x]))


@left()
def reversed_tuple(x):
    return _advanced(reversed((1, 2, x)))


@left()
def string_iterator(x):
    return _advanced(iter("abc"))


@left()
def range_iterator(x):
    return _advanced(iter(range(2, 9, 3)))


@left()
def reversed_range(x):
    return _advanced(reversed(range(5)), 2)


@left()
def reversed_string(x):
    return _advanced(reversed("abc"))


@left()
def dict_iterator(x):
    return _advanced(iter({"a": 1, "b": x, "c": 2}))


@left()
def dict_items_iterator(x):
    return _advanced(iter({"a": 1, "b": x, "c": 2}.items()))


@left()
def reversed_dict_values(x):
    return _advanced(reversed({"a": 1, "b": x, "c": 2}.values()))


@left()
def by_index(x):
    return _advanced(iter(Row([1, x, 2])))


@left()
def by_index_reversed(x):
    return _advanced(reversed(Sized([1, x, 2])))


@left()
def enumerated(x):
    return _advanced(enumerate([x, x, x], 5))


@left()
def zipped(x):
    return _advanced(zip([x, x, 1], "abc", range(9), strict=False))


@left()
def mapped(x):
    return _advanced(map(lambda a, b: a * b, [x, x, x], [1, 2, 3]))


@left()
def filtered(x):
    return _advanced(filter(lambda n: n > 1, [0, 2, 3, 0, 4]))


@left()
def filtered_false(x):
    return _advanced(itertools.filterfalse(None, [0, 2, (), 0, 4]))


@left()
def of_callable(x):
    items = [1, 2, 3, 0]
    return _advanced(iter(lambda: items.pop(0), 0))


@left()
def of_callable_ended(x):
    return iter(list, []) if next(iter(list, []), None) else iter(list, [])


@left()
def chain(x):
    return _advanced(itertools.chain([x, 1], "ab", [2]), 3)


@left()
def chain_ended(x):
    return _advanced(itertools.chain([x]))


@left()
def count(x):
    return _advanced(itertools.count(3, 2), 2)


@left()
def repeat(x):
    return _advanced(itertools.repeat(x, 4))


@left()
def repeat_without_end(x):
    return _advanced(itertools.repeat(x))


@left()
def islice(x):
    return _advanced(itertools.islice(range(20), 2, 15, 3), 2)


@left()
def islice_without_stop(x):
    return _advanced(itertools.islice(range(9), 3, None), 2)


@left()
def islice_ended(x):
    iterator = itertools.islice([x, 1], 1)
    list(iterator)
    return iterator


@left()
def takewhile(x):
    return _advanced(itertools.takewhile(lambda n: n < 3, [1, 2, 3, 1]))


@left()
def dropwhile_started(x):
    return _advanced(itertools.dropwhile(lambda n: n < 3, [1, 3, 1, 2]))


@left()
def dropwhile(x):
    return itertools.dropwhile(lambda n: n < 3, [1, 3, 1, 2])


@left()
def starmap(x):
    return _advanced(itertools.starmap(torch.add, [(x, 1), (x, 2), (x, 3)]))


@left()
def compress(x):
    return _advanced(itertools.compress([1, x, 2, 3], [1, 0, 1, 1]))


@left()
def zip_longest(x):
    return _advanced(itertools.zip_longest([x], [1, 2, 3], fillvalue=9), 2)


@left()
def cycle_in_first_round(x):
    return _advanced(itertools.cycle([x, 1, 2]), 2)


@left()
def cycle_in_second_round(x):
    return _advanced(itertools.cycle([x, 1, 2]), 4)


@left()
def accumulate(x):
    return _advanced(itertools.accumulate([x, 1, 2, 3]), 2)


@left()
def accumulate_with_initial(x):
    return itertools.accumulate([1, 2], lambda a, b: a - b, initial=x)


@left()
def pairwise(x):
    return _advanced(itertools.pairwise([1, x, 2, 3]))


@left()
def product(x):
    return _advanced(itertools.product([1, 2], (3, x), repeat=1), 2)


@left()
def combinations(x):
    return _advanced(itertools.combinations([1, 2, x], 2))


@left()
def tee_ahead(x):
    one, two = itertools.tee(iter([x, 1, 2]))
    _advanced(one, 2)
    return two if broken_is_off else one


broken_is_off = True


@left()
def groupby_not_started(x):
    groups = itertools.groupby([1, 1, 2])
    return groups


@left()
def user_object(x):
    return _advanced(Countdown(4))


@left()
def zip_of_user_object(x):
    return _advanced(zip(Countdown(4), iter([1, 2, 3]), strict=False))


def _shown(iterator):
    """What an iterator is and gives."""
    items = list(itertools.islice(iterator, 8))
    if isinstance(iterator, itertools.groupby):
        items = [key for key, _ in items]
    return type(iterator), items


def _equal(left, right):
    if isinstance(left, torch.Tensor):
        return torch.equal(left, right)
    if isinstance(left, (list, tuple)):
        pairs = zip(left, right, strict=True)
        return type(left) is type(right) and all(_equal(a, b) for a, b in pairs)
    return left == right or isinstance(left, type(next(itertools.groupby("a"))[1]))


@pytest.mark.parametrize("make, args, kwargs", left.parameters)
def test_returned(make, args, kwargs):
    compiled = compile_eagerly(make)
    x = rand(3)
    for _ in range(2):
        mine, theirs = _shown(compiled(x)), _shown(make(x))
        assert _equal(mine, theirs), (mine, theirs)


@pytest.mark.parametrize("make, args, kwargs", left.parameters)
def test_alive_at_a_break(make, args, kwargs):
    def around(x):
        iterator = make(x + 1)
        item = next(iterator, "end")
        assert broken()
        return item, next(iterator, "end"), iterator

    graphs = []

    def backend(gm, example_inputs):
        graphs.append(gm)
        return gm.forward

    compiled = compile_eagerly(around, fullgraph=False, backend=backend)
    x = rand(3)
    for _ in range(2):
        *items, iterator = compiled(x)
        *expected, other = around(x)
        assert _equal(items, expected), (items, expected)
        mine, theirs = _shown(iterator), _shown(other)
        assert _equal(mine, theirs), (mine, theirs)
    if make is not groupby_not_started:  # it has started when the graph breaks
        assert graphs or not any(isinstance(i, torch.Tensor) for i in theirs[1])


def _loop(iterable, x):
    total = x
    for item in iterable:
        total = total + item
        assert broken()
        total = total * 2
    return total


@pytest.mark.parametrize(
    "iterable",
    [
        [1, 2, 3],
        (1, 2),
        range(3),
        {1: "a", 2: "b"},
        Sized([1, 2, 3]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_break_in_a_loop(iterable):
    compiled = compile_eagerly(_loop, fullgraph=False)
    x = rand(3)
    for _ in range(2):
        assert torch.equal(compiled(iterable, x), _loop(iterable, x))


def test_iterator_of_a_container_that_changes():
    box, items = Row(None), [1, 2]

    def keep(x):
        iterator = iter(items)
        next(iterator)
        items.append(3)
        items.append(4)
        next(iterator)
        next(iterator)
        box.items = iterator
        return x + 1

    compiled = compile_eagerly(keep, fullgraph=False)
    compiled(rand(3))
    assert list(box.items) == [4]
