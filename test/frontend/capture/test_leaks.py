"""Nothing is kept of calls, of compilations and callables that were dropped."""

import functools
import gc
import sys
import weakref
from collections import Counter

import pytest
import torch

import girih

BACKENDS = ("eager", "girih")


def containers(x, n):
    parts = [torch.relu(x * n) + i for i in range(2)]
    return {"sum": torch.stack(parts).sum(), "parts": parts}


def breaks(x, n):
    y = x + n
    if y.sum().item() > 0:
        return helper(y, n)
    return y * 2


def helper(x, n):
    return x - n * x.mean()


def raises(x, n):
    if x.shape[0] == n:
        raise ValueError(n)
    return x + n


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x, n):
        self.count += 1
        return torch.relu(self.linear(x)) * n


def living_objects() -> Counter:
    for _ in range(3):
        gc.collect()
    return Counter(str(type(thing)) for thing in gc.get_objects())


def gained(before: Counter) -> dict[str, int]:
    """What there is more of, leaving out what varies by itself."""
    now = living_objects()
    return {name: now[name] - before[name] for name in now if now[name] > before[name]}


def call_all(functions):
    for function in functions:
        for size in (3, 5):
            try:
                function(torch.ones(size, 4), 3)
            except ValueError:
                pass


def call_with(function, n, x, _):
    return function(x, n)


@pytest.fixture(params=BACKENDS)
def compiled(request):
    plain = (containers, breaks, raises, Net().eval())
    functions = [girih.compile(f, backend=request.param) for f in plain]
    with torch.no_grad():
        for _ in range(3):
            girih.reset()
            call_all(functions)
        living_objects()  # looking at all objects makes some, once
        yield functions


def test_calls(compiled):
    before = living_objects()
    blocks = sys.getallocatedblocks()
    for _ in range(1250):  # times four functions and two sizes
        call_all(compiled)
    assert sum(gained(before).values()) < 20, gained(before)
    assert sys.getallocatedblocks() - blocks < 200


def test_recompilations(compiled):
    before = living_objects()
    for _ in range(25):  # times four functions; each captures twice
        girih.reset()
        call_all(compiled)
    assert sum(gained(before).values()) < 40, gained(before)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("use", [None, "break", "error"])
def test_dropped_modules_are_freed(backend, use):
    class Dropped(Net):
        def forward(self, x, n):
            y = super().forward(x, n)
            if use == "break" and y.sum().item() > 1e9:
                return y
            if use == "error" and n == 3:
                raise ValueError(n)
            return y + 1

    module = Dropped().eval()
    twin = girih.compile(module, backend=backend)
    with torch.no_grad():
        for n in (1, 2, 3):
            call_all([functools.partial(call_with, twin, n)])
    references = [weakref.ref(module), weakref.ref(module.linear.weight)]
    del module, twin
    gc.collect()
    assert [reference() for reference in references] == [None, None]


@pytest.mark.parametrize("backend", BACKENDS)
def test_dropped_functions_are_freed(backend):
    def make():
        weight = torch.nn.Parameter(torch.ones(4))

        def function(x):
            return x * weight

        compiled = girih.compile(function, backend=backend)
        with torch.no_grad():
            compiled(torch.ones(4))
        return [weakref.ref(thing) for thing in (function, weight, compiled)]

    references = make()
    gc.collect()
    assert [reference() for reference in references] == [None, None, None]


def test_arguments_are_not_kept():
    compiled = girih.compile(containers, backend="eager")
    x = torch.ones(3, 4)
    result = compiled(x, 2)
    reference = weakref.ref(x)
    del x, result
    gc.collect()
    assert reference() is None


def test_what_is_referred_to_weakly_dies():
    class Thing:
        pass

    def note(x, known, references, thing):
        known[thing] = x + 1
        references.append(weakref.ref(thing))
        return x

    known, references, thing = weakref.WeakKeyDictionary(), [], Thing()
    compiled = girih.compile(note)
    compiled(torch.ones(3), known, references, thing)
    del thing
    gc.collect()
    assert not known and references[0]() is None
    another = Thing()
    compiled(torch.ones(3), known, references, another)
    assert list(known) == [another] and references[1]() is another
