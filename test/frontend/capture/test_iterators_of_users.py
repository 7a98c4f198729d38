"""Builtin iterators over objects whose methods do more than answer.

What the methods do they do once: a graph break makes the builtin iterator anew, and so
does returning it, but neither may start the object again.
"""

import itertools
from collections import OrderedDict, deque

import pytest
import torch
from capture_differential import compile_eagerly, rand
from iterator_programs import broken


class Batches:
    """Parts of a tensor; each call of ``iter`` starts again."""

    def __init__(self, x, width=1):
        self.x, self.width = x, width
        self.place = self.starts = 0

    def __iter__(self):
        self.place = 0
        self.starts += 1
        return self

    def __next__(self):
        if self.place >= len(self.x):
            raise StopIteration
        self.place += 1
        item = self.x[self.place - 1]
        return item if self.width == 1 else (item,) * self.width


def tee_second(it):
    one, two = itertools.tee(it)
    next(one, None)
    return two


def tee_of_tee(it):
    return itertools.tee(itertools.tee(it)[0])[1]


MAKERS = {
    "iter": iter,
    "enumerate": lambda it: enumerate(it, 3),
    "zip": lambda it: zip("abcdef", it, strict=False),
    "zip of both": lambda it: zip(it, it, strict=False),
    "map": lambda it: map(lambda b: b * 2, it),
    "map of two": lambda it: map(torch.add, it, itertools.count()),
    "filter": lambda it: filter(lambda b: b.dim() == 0, it),
    "filterfalse": lambda it: itertools.filterfalse(lambda b: b.dim() > 0, it),
    "chain": lambda it: itertools.chain(it, [1]),
    "chain behind": lambda it: itertools.chain([1], it),
    "chain.from_iterable": lambda it: itertools.chain.from_iterable([it, [1]]),
    "chain of rows": lambda it: itertools.chain.from_iterable(
        Batches(it.x[:, None].expand(-1, 2))
    ),
    "islice": lambda it: itertools.islice(it, 0, 5, 2),
    "takewhile": lambda it: itertools.takewhile(lambda b: b.dim() == 0, it),
    "dropwhile": lambda it: itertools.dropwhile(lambda b: b.dim() > 0, it),
    "starmap": lambda it: itertools.starmap(torch.add, Batches(it.x, 2)),
    "compress": lambda it: itertools.compress(it, itertools.cycle([0, 1])),
    "compress by": lambda it: itertools.compress("abcdef", map(torch.is_tensor, it)),
    "zip_longest": lambda it: itertools.zip_longest(it, "ab"),
    "zip_longest behind": lambda it: itertools.zip_longest("abcdefghi", it),
    "cycle": itertools.cycle,
    "accumulate": itertools.accumulate,
    "accumulate with initial": lambda it: itertools.accumulate(it, initial=1),
    "pairwise": itertools.pairwise,
    "product": lambda it: itertools.product(it, "ab"),
    "combinations": lambda it: itertools.combinations(it, 2),
    "tee": lambda it: itertools.tee(it)[0],
    "tee, the second": tee_second,
    "tee of a tee": tee_of_tee,
    "nested": lambda it: enumerate(zip(map(torch.sin, it), "abcdef", strict=False)),
    "groupby": lambda it: itertools.groupby(it, torch.is_tensor),
}
if hasattr(itertools, "batched"):
    MAKERS["batched"] = lambda it: itertools.batched(it, 2)


def equal(left, right):
    if isinstance(left, torch.Tensor):
        return torch.equal(left, right)
    if isinstance(left, (list, tuple)):
        pairs = zip(left, right, strict=True)
        return type(left) is type(right) and all(equal(a, b) for a, b in pairs)
    return left == right or isinstance(left, type(next(itertools.groupby("a"))[1]))


def left_over(made, it):
    """What is to come, in turns with the object itself, and what it has counted."""
    one = next(made, "end")
    between = next(it, "end") if it.starts else None
    rest = list(itertools.islice(made, 9))
    return type(made), one, between, rest, it.starts, it.place


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("taken", [0, 1, 2, 9])
def test_returned(name, taken):
    def program(x):
        it = Batches(x + 1)
        made = MAKERS[name](it)
        for _ in range(taken):
            next(made, None)
        return made, it

    # A groupby that has started is refused.
    fullgraph = not (name == "groupby" and taken)
    compiled = compile_eagerly(program, fullgraph=fullgraph)
    for _ in range(2):
        mine, theirs = left_over(*compiled(rand(6))), left_over(*program(rand(6)))
        assert equal(mine, theirs), (mine, theirs)


@pytest.mark.parametrize("is_outside", [False, True], ids=["made", "argument"])
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("taken", [0, 1, 2])
def test_alive_at_a_break(name, taken, is_outside):
    def program(x, it):
        it = it if is_outside else Batches(x + 1)
        made = MAKERS[name](it)
        for _ in range(taken):
            next(made, None)
        assert broken()
        found = [next(made, "end")]
        assert broken()
        return [*found, next(made, "end")], made, it

    compiled = compile_eagerly(program, fullgraph=False)
    for _ in range(2):
        x = rand(6)
        items, *parts = compiled(x, Batches(x))
        others, *expected = program(x, Batches(x))
        assert equal(items, others)
        mine, theirs = left_over(*parts), left_over(*expected)
        assert equal(mine, theirs), (mine, theirs)


class CopiedByItself(Batches):
    """``tee`` copies such an iterator instead of keeping its items."""

    def __copy__(self):
        made = CopiedByItself(self.x)
        made.place, made.starts = self.place, self.starts + 10
        return made


def test_tee_of_one_that_copies_itself():
    def program(x):
        it = CopiedByItself(x + 1)
        one, two = itertools.tee(it)
        found = next(one), next(two)
        return found, type(one), type(two), it.starts, two.starts

    compiled = compile_eagerly(program, fullgraph=False)
    for _ in range(2):
        assert equal(compiled(rand(3)), program(rand(3)))


class CountingList(list):
    calls = 0

    def __iter__(self):
        self.calls += 1
        return super().__iter__()

    def __reversed__(self):
        self.calls += 1
        return super().__reversed__()


class CountingTuple(tuple):
    def __iter__(self):
        self.calls = getattr(self, "calls", 0) + 1
        return super().__iter__()


class CountingDict(dict):
    calls = 0

    def __iter__(self):
        self.calls += 1
        return super().__iter__()

    def keys(self):
        self.calls += 1
        return super().keys()

    def values(self):
        self.calls += 1
        return super().values()

    def items(self):
        self.calls += 1
        return super().items()


class CountingOrderedDict(OrderedDict):
    calls = 0

    def __iter__(self):
        self.calls += 1
        return super().__iter__()

    def items(self):
        self.calls += 1
        return super().items()


class CountingSet(set):
    calls = 0

    def __iter__(self):
        self.calls += 1
        return super().__iter__()


class CountingDeque(deque):
    calls = 0

    def __iter__(self):
        self.calls += 1
        return super().__iter__()

    def __reversed__(self):
        self.calls += 1
        return super().__reversed__()


class CountingRow:
    """Iterated by index."""

    def __init__(self, *items):
        self.own, self.calls = items, 0

    def __len__(self):
        self.calls += 1
        return len(self.own)

    def __getitem__(self, index):
        self.calls += 100
        return self.own[index]


PAIRS = {1: "a", 2: "b", 3: "c", 4: "d"}
CONTAINERS = {
    "list": (iter, lambda: CountingList([1, 2, 3, 4])),
    "reversed list": (reversed, lambda: CountingList([1, 2, 3, 4])),
    "tuple": (iter, lambda: CountingTuple([1, 2, 3, 4])),
    "dict": (iter, lambda: CountingDict(PAIRS)),
    "keys": (lambda d: iter(d.keys()), lambda: CountingDict(PAIRS)),
    "values": (lambda d: iter(d.values()), lambda: CountingDict(PAIRS)),
    "items": (lambda d: iter(d.items()), lambda: CountingDict(PAIRS)),
    "ordered": (iter, lambda: CountingOrderedDict(PAIRS)),
    "ordered items": (lambda d: iter(d.items()), lambda: CountingOrderedDict(PAIRS)),
    "view": (lambda d: [d.items()], lambda: CountingDict(PAIRS)),
    "set": (iter, lambda: CountingSet([1, 2, 3, 4])),
    "deque": (iter, lambda: CountingDeque([1, 2, 3, 4])),
    "reversed deque": (reversed, lambda: CountingDeque([1, 2, 3, 4])),
    "by index": (iter, lambda: CountingRow(1, 2, 3, 4)),
    "reversed by index": (reversed, lambda: CountingRow(1, 2, 3, 4)),
}


@pytest.mark.parametrize("is_outside", [False, True], ids=["made", "argument"])
@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_that_count(name, is_outside):
    function, make = CONTAINERS[name]

    def program(x, container):
        container = container if is_outside else make()
        made = function(container)
        first = None if name == "view" else next(made)
        y = x + 1
        assert broken()
        found = container.calls
        return y * 2, first, type(made), list(made), found

    compiled = compile_eagerly(program, fullgraph=False)
    for _ in range(2):
        mine = compiled(rand(3), make())
        theirs = program(rand(3), make())
        if name == "view":
            mine, theirs = mine[:3] + mine[4:], theirs[:3] + theirs[4:]
        assert equal(mine, theirs), (mine, theirs)
