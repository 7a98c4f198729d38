"""Containers that change while a program iterates over them: Python's own errors."""

import collections
import warnings

import pytest
import torch

import girih


def keys(d):
    for key in d:
        d[key + 1] = 1


def keys_removed(d):
    for key in d:
        del d[key]


def other_keys(d):
    found = []
    for key in d:
        found.append(key)
        del d[key]
        d[key + 10 * len(found)] = 1
        if len(found) == 9:
            break
    return found


def values(d):
    for _ in d.values():
        d.clear()


def same_keys(d):
    for key, value in d.items():
        d[key] = value + 1


def by_next(d):
    iterator = iter(d)
    next(iterator)
    d[3] = 1
    return next(iterator)


def by_zip(d):
    return [d.pop(key) for key, _ in zip(d, range(9), strict=False)]


def members(s):
    for member in s:
        s.add(member + 1)


def items_of_deque(d):
    for item in d:
        d.append(item)


def last_of_deque(d):
    for _ in d:
        if len(d) == 2:
            d.pop()


def sort(items):
    items.sort(key=lambda item: items.append(item) or item)


def length_in_sort(items):
    lengths = []
    items.sort(key=lambda item: lengths.append(len(items)) or item)
    return lengths


def ordered():
    return collections.OrderedDict({1: 1, 2: 2})


CASES = [
    *[(f, dict) for f in (keys, keys_removed, values, same_keys, by_next, by_zip)],
    (keys, ordered),
    (other_keys, dict),
    (members, set),
    (items_of_deque, collections.deque),
    (last_of_deque, collections.deque),
    (sort, list),
    (length_in_sort, list),
]


@pytest.mark.parametrize("from_outside", [True, False])
@pytest.mark.parametrize(("function", "make"), CASES)
def test_same_as_plain(function, make, from_outside):
    def start():
        content = {1: 1, 2: 2} if make is dict else (2, 1)
        return make() if make is ordered else make(content)

    def program(x, container):
        container = container if from_outside else start()
        log.append(x + 1)
        try:
            return function(container), list(container)
        finally:
            log.append(list(container))

    seen = []
    for call in (program, girih.compile(program, backend="eager")):
        log, container = [], start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", girih.FallbackWarning)
            try:
                found = call(torch.ones(1), container)
            except Exception as error:
                found = repr(error)
        seen.append((found, list(container), repr(log)))
    assert seen[0] == seen[1]
