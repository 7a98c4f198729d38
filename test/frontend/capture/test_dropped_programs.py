"""A program that nobody holds is freed: its classes, functions, objects, tensors.

Each program returns what is to be compiled, the calls to make, and what must die with
it. What a class holds is anything, for its methods may close over a whole model.
"""

import collections
import dataclasses
import enum
import functools
import gc
import os
import warnings
import weakref

import pytest
import torch

import girih

LONG = bool(os.environ.get("GIRIH_TEST_LONG"))
PROGRAMS = {}
COMPILERS = {
    "girih": girih.compile,
    "girih dynamic": functools.partial(girih.compile, dynamic=True),
    "eager backend": functools.partial(girih.compile, backend="eager"),
    "torch": functools.partial(torch.compile, backend="girih"),
}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def ones():
    return torch.ones(3)


@program
def closure():
    weight = torch.nn.Parameter(torch.ones(3))

    def function(x):
        return x * weight

    return function, [(ones(),)], [function, weight]


@program
def module_of_local_class():
    kept = ones()

    class Local(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.weight + kept

    module = Local()
    return module, [(ones(),), (torch.ones(2, 3),)], [Local, module, kept]


@program
def module_with_hooks():
    class Local(torch.nn.Module):
        def forward(self, x):
            return x + 1

    def before(module, args):
        return (args[0] * 2,)

    def after(module, args, result):
        return result - 1

    module = torch.nn.Sequential(Local(), torch.nn.Linear(3, 3))
    module[0].register_forward_pre_hook(before)
    module.register_forward_hook(after)
    return module, [(ones(),)], [Local, module, before, after]


@program
def bound_method():
    class Local:
        def __init__(self):
            self.bias = ones()

        def run(self, x):
            return x + self.bias

    thing = Local()
    return thing.run, [(ones(),)], [Local, thing, thing.bias]


@program
def dataclass():
    @dataclasses.dataclass
    class Config:
        scale: float
        shift: torch.Tensor

    def function(x, config):
        made = dataclasses.replace(config, scale=config.scale + 1)
        return made, x * made.scale + made.shift

    return function, [(ones(), Config(2.0, ones()))], [Config, function]


@program
def named_tuple():
    Pair = collections.namedtuple("Pair", "a b")

    def function(x):
        return Pair(x + 1, x - 1)

    return function, [(ones(),)], [Pair, function]


@program
def enumeration():
    class Mode(enum.Enum):
        ADD = 1
        MULTIPLY = 2

    def function(x, mode):
        return x + 1 if mode is Mode.ADD else x * 2

    return function, [(ones(), Mode.ADD), (ones(), Mode.MULTIPLY)], [Mode]


@program
def autograd_function():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient

    def function(x):
        Square.apply(x).sum().backward()
        return x.grad

    x = ones().requires_grad_()
    return function, [(x,)], [function, Square, x]


@program
def tensor_subclass():
    class Named(torch.Tensor):
        pass

    def function(x):
        return x + 1

    return function, [(ones().as_subclass(Named),)], [Named, function]


@program
def generator():
    def numbers(n):
        yield from range(n)

    def function(x):
        return sum(x + n for n in numbers(3))

    return function, [(ones(),)], [function, numbers]


@program
def dict_class():
    class Table(dict):
        def __missing__(self, key):
            return key

    def function(x, table):
        made = Table(a=x)
        made["b"] = table["c"]
        return made

    return function, [(ones(), Table(c=3)), (ones(), Table())], [Table, function]


@program
def optimizer():
    class Steps(torch.optim.SGD):
        pass

    weight = torch.nn.Parameter(torch.ones(3))
    steps = Steps([weight], lr=0.1, momentum=0.9)

    def function(x):
        steps.zero_grad()
        (x * weight).sum().backward()
        steps.step()

    return function, [(ones(),)] * 3, [Steps, steps, weight, function]


@program
def guards_that_fail():
    class Kind:
        pass

    class Other(Kind):
        pass

    def function(x, kind):
        return x + 1 if type(kind) is Kind else x - len(x.shape)

    calls = [(ones(), Kind()), (ones(), Other()), (torch.ones(2, 2), Other())]
    return function, calls, [Kind, Other, function]


@program
def recompile_limit():
    class Kind:
        pass

    def function(x, n, kind):
        return x + n, kind

    calls = [(ones(), float(n), Kind()) for n in range(20)]
    return function, calls, [Kind, function]


@program
def graph_breaks():
    class Thing:
        def __init__(self, x):
            self.x = x

    def inner(x):
        print(end="")
        return Thing(x * 2)

    def function(x):
        made = inner(x + 1)
        print(end="")
        return made

    return function, [(ones(),)], [Thing, inner, function]


@program
def data_dependent():
    class Kind:
        pass

    def function(x):
        return (x + 1, Kind()) if x.sum() > 0 else (x - 1, Kind())

    return function, [(ones(),), (-ones(),)], [Kind, function]


@program
def fallback():
    class Kind:
        def __init__(self):
            self.held = ones()

    def function(x):
        kind = Kind()
        while x.sum().item() < 20:  # breaks in a loop under a handler
            try:
                x = x + kind.held
            finally:
                print(end="")
        return x

    return function, [(ones(),)], [Kind, function]


@program
def errors():
    class Failure(Exception):
        pass

    def function(x, kind):
        if kind == "own":
            raise Failure(x)
        return x @ torch.ones(5, 5) if kind == "torch" else x.no_such_thing

    return function, [(ones(), k) for k in ("own", "torch", "none")], [Failure]


@program
def context_manager():
    class Scope:
        def __enter__(self):
            return ones()

        def __exit__(self, *_):
            return False

    def function(x):
        with Scope() as y:
            return x + y

    return function, [(ones(),)], [Scope, function]


@program
def descriptor():
    class Field:
        def __get__(self, thing, cls):
            return thing.x + 1

    class Thing:
        field = Field()

        def __init__(self, x):
            self.x = x

        @property
        def twice(self):
            return self.field * 2

        @functools.cached_property
        def thrice(self):
            return self.field * 3

    def function(x):
        thing = Thing(x)
        return thing.twice + thing.thrice

    return function, [(ones(),)], [Field, Thing, function]


@program
def metaclass():
    class Meta(type):
        def __call__(cls, *args):
            return super().__call__(*args)

    class Thing(metaclass=Meta):
        __slots__ = ("x", "__weakref__")

        def __init__(self, x):
            self.x = x

    def function(x):
        return Thing(x + 1)

    return function, [(ones(),)], [Meta, Thing, function]


@program
def transforms():
    def loss(w, x):
        return (w * x).sum()

    def function(w, x):
        return torch.func.vmap(torch.func.grad(loss), (None, 0))(w, x)

    return function, [(ones(), torch.ones(2, 3))], [loss, function]


@program
def checkpoint():
    from torch.utils.checkpoint import checkpoint

    def part(x):
        return torch.relu(x).sin()

    def function(x):
        return checkpoint(part, x, use_reentrant=False).sum()

    return function, [(ones().requires_grad_(),)], [part, function]


@program
def cached_function():
    @functools.lru_cache
    def factor(n):
        return n + 1

    def function(x):
        return x * factor(2)

    return function, [(ones(),)], [factor, function]


@program
def made_inside():
    classes = []

    def function(x):
        class Local:
            held = x

        classes.append(Local)
        return x + 1

    return function, [(ones(),)], [function]


@program
def disabled():
    class Local(torch.nn.Module):
        def forward(self, x):
            return x + 1

    module = torch.compiler.disable(Local())
    plain = Local()

    def function(x):
        return module(x) + plain(x)

    return function, [(ones(),)], [Local, plain, function]


@program
def disabled_by_girih():
    class Local(torch.nn.Module):
        def forward(self, x):
            return x + 1

    module = girih.disable(Local())
    return module, [(ones(),)], [Local, module]


@program
def code():
    namespace = {}
    exec("def inner(x): return x + 1\ndef outer(x): return inner(x) * 2", namespace)
    inner, outer = namespace["inner"], namespace["outer"]
    watched = [inner, outer, inner.__code__, outer.__code__]
    return outer, [(ones(),), (torch.ones(2, 2),)], watched


@program
def own_backend():
    kept = []

    def backend(gm, inputs):
        kept.append(inputs)
        return gm.forward

    def function(x):
        return x + 1

    compiled = torch.compiler.disable(girih.compile(function, backend=backend))
    return compiled, [(ones(),)], [backend, function]


# TorchDynamo keeps these itself, with whatever backend: in caches by class, and in the
# globals of a function, whose names its generated code looks up.
KEPT_BY_TORCH = {"dict_class", "errors", "code"}


def run(compiler, make):
    function, calls, watched = make()
    compiled = compiler(function)
    for args in calls:
        try:
            compiled(*args)
        except Exception:
            pass
    return [weakref.ref(thing) for thing in (*watched, compiled)]


def still_alive(references):
    for _ in range(3):
        gc.collect()
    return [reference() for reference in references if reference() is not None]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("compiler", COMPILERS if LONG else ["girih"])
@pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS)
def test_freed(make, compiler):
    references = run(COMPILERS[compiler], make)
    if compiler == "torch":
        torch._dynamo.reset()
    alive = still_alive(references)
    if compiler == "torch" and make.__name__ in KEPT_BY_TORCH:
        reference = functools.partial(torch.compile, backend="eager")
        others = run(reference, make)
        torch._dynamo.reset()
        assert len(alive) == len(still_alive(others))
    else:
        assert not alive


def test_twins_share_their_class():
    class Local(torch.nn.Module):
        pass

    module = Local()
    first, second = girih.compile(module), girih.compile(module)
    assert type(first) is type(second) is type(girih.compile(Local()))
