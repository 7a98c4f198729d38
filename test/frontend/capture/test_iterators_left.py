"""Iterators that are left in the middle: returned, or alive at a break."""

import itertools

import pytest
import torch
from capture_differential import Cases, compile_eagerly, rand
from iterator_programs import Countdown, Row, Sized, broken

left = Cases()


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
