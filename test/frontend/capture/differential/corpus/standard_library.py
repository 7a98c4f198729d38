"""Parts of the standard library that programs are full of."""

import asyncio
import collections
import contextlib
import dataclasses
import functools
import inspect
import operator
import typing

import torch

from differential.program import program, rand


@program(rand(3))
def signature_of_functions(x):
    def g(a, /, b: int = 2, *args, c, d=4, **rest) -> int:
        return a

    parameters = inspect.signature(g).parameters
    names = [(n, p.kind.name, p.default is p.empty) for n, p in parameters.items()]
    bound = inspect.signature(g).bind(x, 5, c=3)
    return names, bound.arguments["b"], x + 1


@program(rand(3))
def typing_does_nothing(x):
    y: typing.Optional[torch.Tensor] = typing.cast(torch.Tensor, x)
    numbers: "list[int]" = [1, 2]
    alias = typing.Union[int, str]
    return typing.cast("int", y + sum(numbers)), alias == typing.Union[int, str]


@program(rand(3))
def chained_maps(x):
    first, second = {"a": 1}, {"a": 2, "b": 3}
    chain = collections.ChainMap(first, second)
    chain["c"] = 4
    return x * chain["a"] + chain["b"], first, list(chain), len(chain)


@program(rand(3), collections.OrderedDict(a=1, b=2, c=3))
def ordered_dict(x, table):
    table.move_to_end("a")
    first = table.popitem(last=False)
    table["d"] = x + 1
    return list(table), first, table == collections.OrderedDict(c=3), table["d"] * 2


@program(rand(3))
def asynchronous_code_is_left_alone(x):
    async def g(v):
        await asyncio.sleep(0)
        return v * 2

    async def both():
        return await asyncio.gather(g(x), g(x + 1))

    return asyncio.run(both())


@program(rand(3))
def asynchronous_generator_is_left_alone(x):
    async def values():
        for i in range(3):
            yield x + i

    async def collect():
        return [v * 2 async for v in values()]

    return asyncio.run(collect())


@program(rand(3))
def dataclass_with_everything(x):
    @dataclasses.dataclass(order=True, slots=True)
    class Config:
        scale: int = 2
        names: list = dataclasses.field(default_factory=list, compare=False)
        total: int = dataclasses.field(init=False, default=0)

        def __post_init__(self):
            self.total = self.scale * 2

    config = Config(3, ["a"])
    other = dataclasses.replace(config, scale=1)
    return x * config.total, other < config, config == Config(3), repr(other)[-40:]


@program(rand(3), 5).then(rand(3), "text").then(rand(3), [1, 2])
def single_dispatch_of_methods(x, value):
    class Shown:
        @functools.singledispatchmethod
        def show(self, v):
            return "other"

        @show.register
        def _(self, v: int):
            return x * v

        @show.register(list)
        def _(self, v):
            return x + len(v)

    return Shown().show(value)


@program(rand(3))
def lru_cache_of_a_method(x):
    calls = []

    @functools.cache
    def g(n):
        calls.append(n)
        return n * 2

    y = x + g(1) + g(1) + g(2)
    return y, calls, g.cache_info().misses


@program(rand(3))
def partial_methods(x):
    class Scaler:
        def scale(self, v, n, shift=0):
            return v * n + shift

        twice = functools.partialmethod(scale, n=2)

    return Scaler().twice(x), Scaler().twice(x, shift=1)


@program(rand(3))
def operators_by_name(x):
    getter = operator.attrgetter("shape", "dtype")
    calls = operator.methodcaller("clamp", min=0)
    return getter(x), calls(x), operator.matmul(x, x), operator.itemgetter(0, 2)("abc")


@program(rand(3))
def exit_stack_swallows_and_pops(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.push(lambda *error: log.append(error[0]) or True)
        stack.callback(log.append, "called")
        kept = stack.pop_all()
        x = x + 1
    log.append("left")
    with kept:
        raise KeyError("swallowed")
    return x, log


@program(rand(3))
def decorator_of_a_context_manager(x):
    log = []

    @contextlib.contextmanager
    def scope(name):
        log.append(name)
        yield
        log.append(f"/{name}")

    @scope("f")
    def f(v):
        return v + len(log)

    return f(x), f(x), log


@program(rand(3))
def context_decorator_class(x):
    class Scope(contextlib.ContextDecorator):
        depth = 0

        def __enter__(self):
            Scope.depth += 1
            return self

        def __exit__(self, *error):
            Scope.depth -= 1

    @Scope()
    def f(v):
        return v * Scope.depth

    return f(x), Scope.depth


@program(rand(3))
def star_expressions_everywhere(x):
    def g(*args, a=0, **kwargs):
        return len(args) + a, sorted(kwargs)

    first, *middle, last = [*range(3), x, *(1, 2)]
    (a, *b), c = (1, 2, 3), 4
    merged = {**{"a": 1}, **dict(b=2)}
    return g(*middle, *b, **merged), first, last, [*{**merged}], g(*"ab", a=c)


@program(rand(3))
def reduce_with_and_without_start(x):
    a = functools.reduce(lambda p, q: p * q, [x, 2, 3])
    b = functools.reduce(operator.add, (x, x + 1), 10)
    try:
        functools.reduce(operator.add, [])
    except TypeError as error:
        return a, b, type(error)


@program(rand(3))
def sort_is_stable_with_keys(x):
    pairs = [("b", 2), ("a", 2), ("c", 1)]
    pairs.sort(key=lambda p: p[1], reverse=True)
    return pairs, sorted("bca", reverse=True), min(pairs, key=lambda p: p[0]), x + 1


@program(rand(3), {1, 2, 3}, frozenset({2, 5}))
def set_algebra(x, a, b):
    a |= {9}
    a -= {1}
    made = a & b, a ^ b, b | {0}, a <= {2, 3, 9}, a.isdisjoint({7}), b.union([8])
    a.discard(77)
    return x * len(a), made, {a.pop() for _ in range(0)}


@program(rand(3), slice(0, 2)).then(rand(3), slice(None, None, 2))
def slices_as_arguments(x, s):
    return x[s], [1, 2, 3][s], s.indices(3), s == slice(0, 2), s.start


@program(rand(3), range(1, 7, 2)).then(rand(3), range(0))
def ranges_as_arguments(x, r):
    return x * len(r), list(r[::-1]), 3 in r, r.start + r.stop, sum(r), r == range(1, 7)
