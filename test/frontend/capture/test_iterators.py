"""Iterators: lazy as Python's while they are traced, rebuilt where they stand."""

import itertools

import pytest
from capture_differential import Cases, check, rand
from iterator_programs import Countdown, Row, Sized

case = Cases()


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


@case(rand(3))
def iterated_by_index(x):
    return list(Row([x, x + 1])), list(reversed(Sized([1, x])))


@case(rand(3))
def not_iterable(x):
    return list(zip([x], 3, strict=False))


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
