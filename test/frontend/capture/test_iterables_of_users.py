"""What reads an iterable of a user's class calls the methods that CPython calls.

C code that fills a list calls ``__iter__`` of an iterator again, and asks for lengths;
code that fills a container by and by leaves in it what came before an error.
"""

import collections
import itertools
import operator

import pytest
import torch
from capture_differential import compile_eagerly, rand


class Rewinds:
    """An iterator that starts again where ``iter`` is called."""

    fails_at = None

    def __init__(self, items, log):
        self.items, self.log, self.place = list(items), log, 0

    def __iter__(self):
        self.place = 0
        self.log.append("iter")
        return self

    def __next__(self):
        self.log.append("next")
        if self.place == self.fails_at:
            raise KeyError("failed")
        if self.place >= len(self.items):
            raise StopIteration
        self.place += 1
        return self.items[self.place - 1]

    def __length_hint__(self):
        self.log.append("hint")
        return 3


class Fails(Rewinds):
    fails_at = 2


class Counted(Rewinds):
    def __len__(self):
        self.log.append("len")
        return len(self.items)


class Endless(Rewinds):
    def __len__(self):
        self.log.append("len")
        raise NotImplementedError("endless")


class Split:
    """Its iterator is another object."""

    def __init__(self, items, log):
        self.items, self.log = items, log

    def __iter__(self):
        self.log.append("iter")
        return Rewinds(self.items, self.log)

    def __len__(self):
        self.log.append("len")
        return 2


class Row:
    """Iterated by index."""

    def __init__(self, items, log):
        self.items, self.log = list(items), log

    def __getitem__(self, index):
        self.log.append(index)
        return self.items[index]

    def __len__(self):
        self.log.append("len")
        return len(self.items)


def counting(base):
    """A subclass of a container that notes how it is read."""

    class Counting(base):
        def __init__(self, items, log):
            super().__init__(items)
            self.log = log

        def __iter__(self):
            self.log.append("iter")
            return super().__iter__()

        def __len__(self):
            self.log.append("len")
            return super().__len__()

    return Counting


class CountingTuple(tuple):
    def __new__(cls, items, log):
        made = super().__new__(cls, items)
        made.log = log
        return made

    def __iter__(self):
        self.log.append("iter")
        return super().__iter__()

    def __len__(self):
        self.log.append("len")
        return super().__len__()


class CountingDict(dict):
    def __init__(self, items, log):
        super().__init__((item, item) for item in items)
        self.log = log

    def __iter__(self):
        self.log.append("iter")
        return super().__iter__()

    def keys(self):
        self.log.append("keys")
        return super().keys()


KINDS = {
    "rewinds": Rewinds,
    "fails": Fails,
    "counted": Counted,
    "endless": Endless,
    "split": Split,
    "row": Row,
    "list": counting(list),
    "tuple": CountingTuple,
    "set": counting(set),
    "deque": counting(collections.deque),
    "dict": CountingDict,
}


class Keyed:
    """A mapping whose keys are what is read."""

    def __init__(self, it):
        self.it, self.log = it, it.log

    def keys(self):
        self.log.append("keys")
        return self.it

    def __getitem__(self, key):
        self.log.append(key)
        return key


class OwnList(list):
    pass


class OwnTuple(tuple):
    pass


Three = collections.namedtuple("Three", "a b c")


def count(*args, **kwargs):
    return len(args), len(kwargs)


def first_and_rest(it):
    first, *rest = it
    return first, rest


def all_but_last(it):
    *rest, last = it
    return rest, last


def around_the_middle(it):
    first, *middle, last = it
    return first, middle, last


def too_few(it):
    one, two, three, four, *rest = it


def matched(it):
    match it:
        case [first, *rest]:
            return first, rest
    return "no sequence"


def part_of_list(it):
    items = [1, 2, 3, 4]
    items[1:2] = it
    return items


def every_second(it):
    items = [1, 2, 3, 4, 5, 6]
    items[::2] = it
    return items


def filled(make, name):
    """A method of a container, which keeps what came before an error."""

    def read(it):
        made = also = make()
        try:
            found = getattr(operator, name, None)
            if found is not None:
                made = found(made, it)
            else:
                getattr(made, name)(it)
        except KeyError as error:
            return made, also, str(error)
        return made, made is also

    return read


READERS = {
    "first, *rest": first_and_rest,
    "*rest, last": all_but_last,
    "first, *middle, last": around_the_middle,
    "too few": too_few,
    "match": matched,
    "[a:b] =": part_of_list,
    "[::2] =": every_second,
    "[*it]": lambda it: [0, *it],
    "{*it}": lambda it: {0, *it},
    "{**it}": lambda it: {**it},
    "f(*it)": lambda it: count(*it),
    "list": list,
    "list subclass": OwnList,
    "tuple": tuple,
    "tuple subclass": OwnTuple,
    "_make": Three._make,
    "Size": torch.Size,
    "set": set,
    "frozenset": frozenset,
    "sorted": sorted,
    "product": lambda it: list(itertools.product(it, "ab")),
    "combinations": lambda it: list(itertools.combinations(it, 2)),
    "permutations": lambda it: list(itertools.permutations(it)),
    "combinations again": lambda it: list(
        itertools.combinations_with_replacement(it, 2)
    ),
    "starmap": lambda it: list(itertools.starmap(count, [it])),
    "join": lambda it: ",".join(it),
    "join texts": lambda it: ",".join(map(str, it)),
    "dict": dict,
    "dict of one pair": lambda it: dict([it]),
    "dict of keys": lambda it: dict(Keyed(it)),
    "**keys": lambda it: {**Keyed(it)},
    "f(**keys)": lambda it: count(**Keyed(it)),
    "fromkeys": dict.fromkeys,
    "dict | it": lambda it: {9: 9} | it,
    "set | it": lambda it: {9} | it,
    "set & it": lambda it: {1} & it,
    "keys | it": lambda it: {9: 1}.keys() | it,
    "keys & it": lambda it: {1: 1}.keys() & it,
    "keys - it": lambda it: {1: 1, 9: 1}.keys() - it,
    "keys ^ it": lambda it: {1: 1, 9: 1}.keys() ^ it,
    "items of dict": lambda it: filled(dict, "update")((k, k) for k in it),
    **{f"list.{n}": filled(lambda: [9], n) for n in ("extend", "iadd", "__init__")},
    **{
        f"deque.{name}": filled(lambda: collections.deque([9]), name)
        for name in ("extend", "extendleft", "iadd")
    },
    **{f"dict.{n}": filled(lambda: {9: 9}, n) for n in ("update", "ior")},
    **{
        f"set.{name}": filled(lambda: {1, 9}, name)
        for name in (
            "update",
            "difference_update",
            "intersection_update",
            "symmetric_difference_update",
            "ior",
            "iand",
            "isub",
            "ixor",
        )
    },
    "union": lambda it: {9}.union(it, [7]),
    "intersection": lambda it: {1, 2}.intersection(it),
    "difference": lambda it: {1, 9}.difference(it),
    "symmetric_difference": lambda it: {1, 9}.symmetric_difference(it),
    "issubset": lambda it: {1, 2}.issubset(it),
    "issuperset": lambda it: {1, 9}.issuperset(it),
    "isdisjoint": lambda it: {2}.isdisjoint(it),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", READERS)
def test_calls_of_methods(name, kind):
    def program(x):
        log = []
        it = KINDS[kind]([1, 2, 3], log)
        log.clear()
        try:
            found = READERS[name](it)
        except Exception as error:
            found = type(error), str(error)
        return x + 1, found, type(found), log

    compiled = compile_eagerly(program, fullgraph=False)
    x = rand(2)
    assert compiled(x)[1:] == program(x)[1:]


def test_length_while_extending():
    def program(x):
        items = [1]
        items.extend(len(items) for _ in range(3))
        return x + 1, items

    assert compile_eagerly(program)(rand(2))[1] == [1, 1, 2, 3]


class Equal:
    """Equal to all others, and counts how often somebody asks."""

    def __init__(self, log):
        self.log = log

    def __hash__(self):
        return 3

    def __eq__(self, other):
        self.log.append("eq")
        return True


def test_members_are_compared_once():
    def program(x):
        log = []
        a, b = Equal(log), Equal(log)
        counts = [{a, a, b}, len(log), set([a, b]), len(log)]
        members = {a}
        members.add(b)
        members.update([b])
        return x + 1, [len(c) if isinstance(c, set) else c for c in counts], len(log)

    x = rand(2)
    assert compile_eagerly(program)(x)[1:] == program(x)[1:]


def test_pairs_of_a_literal():
    """``{**pairs}`` takes mappings alone."""

    def program(x):
        try:
            return {**[("a", x)]}
        except TypeError as error:
            return x + 1, str(error)

    x = rand(2)
    assert compile_eagerly(program)(x)[1] == program(x)[1]
