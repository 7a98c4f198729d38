"""Names that mean something else at a later call: modules, imports, torch itself."""

import builtins
import functools
import importlib
import math
import sys
import types

import pytest
import torch
from capture_differential import compile_eagerly

CASES = []
MODULE = types.ModuleType("module_of_tests")


def case(make):
    CASES.append(make)
    return make


@case
def module_gets_an_attribute(patch):
    module = types.ModuleType("module")
    patch.setitem(sys.modules, "module", module)
    return (lambda x: x * getattr(module, "k", 2)), lambda: setattr(module, "k", 7)


@case
def module_loses_an_attribute(patch):
    module = types.ModuleType("module")
    module.k = 7
    return (lambda x: x * getattr(module, "k", 2)), lambda: delattr(module, "k")


@case
def module_gets_getattr(patch):
    module = types.ModuleType("module")
    change = functools.partial(setattr, module, "__getattr__", lambda name: 7)
    return (lambda x: x * getattr(module, "k", 2)), change


@case
def getattr_of_a_module_gives_another_value(patch):
    module, state = types.ModuleType("module"), {"k": 2}
    module.__getattr__ = state.__getitem__
    return (lambda x: x * module.k), lambda: state.update(k=7)


@case
def module_gets_another_class(patch):
    module = types.ModuleType("module")
    module.k = 2

    class Odd(types.ModuleType):
        def __getattribute__(self, name):
            return 7 if name == "k" else super().__getattribute__(name)

    return (lambda x: x * module.k), lambda: setattr(module, "__class__", Odd)


@case
def names_of_a_module(patch):
    module = types.ModuleType("module")
    return (lambda x: x * (2 + ("k" in dir(module)))), lambda: setattr(module, "k", 7)


@case
def module_is_replaced(patch):
    patch.setitem(sys.modules, "replaced", types.SimpleNamespace(k=2))

    def f(x):
        import replaced

        return x * replaced.k

    other = types.SimpleNamespace(k=7)
    return f, lambda: patch.setitem(sys.modules, "replaced", other)


@case
def name_of_a_replaced_module(patch):
    MODULE.k = 2
    patch.setitem(sys.modules, "replaced", MODULE)

    def f(x):
        from replaced import k

        return x * k

    other = types.SimpleNamespace(k=7)
    return f, lambda: patch.setitem(sys.modules, "replaced", other)


def _optional(x):
    try:
        import optional
    except ImportError:
        return x * 9
    return x * optional.k


@case
def module_appears(patch):
    other = types.SimpleNamespace(k=7)
    return _optional, lambda: patch.setitem(sys.modules, "optional", other)


@case
def module_is_gone(patch):
    patch.setitem(sys.modules, "optional", types.SimpleNamespace(k=7))
    return _optional, lambda: patch.delitem(sys.modules, "optional")


@case
def module_is_forbidden(patch):
    patch.setitem(sys.modules, "optional", types.SimpleNamespace(k=7))
    return _optional, lambda: patch.setitem(sys.modules, "optional", None)


@case
def import_is_replaced(patch):
    def f(x):
        import colorsys

        return x * len(colorsys.__name__)

    usual = builtins.__import__

    def other(name, *args, **named):
        return usual("math" if name == "colorsys" else name, *args, **named)

    return f, lambda: patch.setattr(builtins, "__import__", other)


@case
def builtins_of_a_function_of_its_own(patch):
    names = {"__builtins__": {**vars(builtins), "abs": lambda value: 5}}
    exec("def f(x): return x * abs(-1)", names)
    change = functools.partial(names["__builtins__"].update, abs=lambda value: 7)
    return names["f"], change


@case
def function_is_renamed(patch):
    def helper():
        pass

    return (lambda x: x * len(helper.__name__)), lambda: setattr(
        helper, "__name__", "other_name"
    )


@case
def what_a_cache_was_made_of(patch):
    state = [2]

    @functools.lru_cache
    def cached(number):
        return number * state[0]

    def change():
        state[0] = 7
        cached.cache_clear()

    return (lambda x: x * cached(3)), change


@case
def what_a_cache_of_none_is_made_of(patch):
    state = [2]
    cached = functools.lru_cache(maxsize=0)(lambda number: number * state[0])
    return (lambda x: x * cached(3)), lambda: state.__setitem__(0, 7)


@case
def function_that_looks_like_torchs(patch):
    state = [2]

    @functools.wraps(torch.nn.functional.relu)
    def relu(x):
        return torch.nn.functional.relu(x) * state[0]

    return (lambda x: relu(x)), lambda: state.__setitem__(0, 7)


def _nine(self, *args, **named):
    return torch.full((1,), 9.0)


def _written(x):
    y = x.clone()
    y[0] = 5
    y += 1
    return y


def _answers(x):
    return x * 2 if hasattr(x, "of_program") else x


LINEAR = torch.nn.Linear(1, 1)
TENSOR, MODULES = torch.Tensor, torch.nn.Module

# What torch has where, what uses it, and what may stand in its place.
PATCHES = [
    (TENSOR, "cos", lambda x: x.cos(), _nine),
    (TENSOR, "cos", lambda x: torch.Tensor.cos(x), _nine),
    (TENSOR, "split", lambda x: x.split(1)[0], lambda self, *args: (self * 5,)),
    (TENSOR, "add_", lambda x: x.clone().add_(1), _nine),
    (TENSOR, "__add__", lambda x: x + 1, _nine),
    (TENSOR, "__radd__", lambda x: 1 + x, _nine),
    (TENSOR, "__iadd__", _written, _nine),
    (TENSOR, "__setitem__", _written, lambda self, key, value: None),
    (TENSOR, "__getitem__", lambda x: x[0], _nine),
    (TENSOR, "__neg__", lambda x: -x, _nine),
    (TENSOR, "__lt__", lambda x: x < 1, _nine),
    (TENSOR, "__lt__", lambda x: 1 > x, _nine),
    (TENSOR, "__eq__", lambda x: x == 1, _nine),
    (TENSOR, "__len__", lambda x: x * len(x), lambda self: 9),
    (TENSOR, "__iter__", lambda x: next(iter(x)), lambda self: iter([self * 9])),
    (TENSOR, "__contains__", lambda x: x * (2 if 3 in x else 3), lambda *args: True),
    (TENSOR, "__float__", lambda x: x * float(x.sum()), lambda self: 9.0),
    (TENSOR, "T", lambda x: x.T, property(lambda self: self * 9)),
    (TENSOR, "shape", lambda x: x * x.shape[0], property(lambda self: (9,))),
    (TENSOR, "size", lambda x: x * x.size(0), lambda self, dim: 9),
    (TENSOR, "is_cuda", lambda x: x * (2 + x.is_cuda), property(lambda self: True)),
    (TENSOR, "of_program", lambda x: x * getattr(x, "of_program", 2), 9),
    (TENSOR, "of_program", _answers, property(lambda self: 1)),
    (TENSOR, "of_program", _answers, staticmethod(lambda: 1)),
    (MODULES, "__call__", lambda x: LINEAR(x), lambda self, x: x * 9),
    (MODULES, "_call_impl", lambda x: LINEAR(x), lambda self, x: x * 9),
    (MODULES, "__getattr__", lambda x: x * LINEAR.weight, lambda self, name: 9),
    (torch, "sin", lambda x: torch.sin(x), _nine),
    (torch.nn.functional, "linear", lambda x: LINEAR(x), lambda x, *rest: x * 9),
    (math, "pi", lambda x: x * math.pi, 3.0),
]


def _check_change(f, change):
    compiled, x = compile_eagerly(f, fullgraph=False), torch.ones(1)
    before = f(x)
    assert torch.equal(compiled(x), before)
    change()
    expected = f(x)
    assert torch.equal(compiled(x), expected)
    return before, expected


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_a_change_is_seen(make, monkeypatch):
    before, after = _check_change(*make(monkeypatch))
    monkeypatch.undo()
    assert not torch.equal(before, after)


@pytest.mark.parametrize(("owner", "name", "f", "other"), PATCHES)
def test_what_replaces_torch_is_seen(owner, name, f, other, monkeypatch):
    def change():
        monkeypatch.setattr(owner, name, other, raising=False)

    try:
        _check_change(f, change)
    finally:
        monkeypatch.undo()


def test_what_replaces_a_method_is_followed(monkeypatch):
    original, scale = torch.Tensor.cos, [2]
    monkeypatch.setattr(torch.Tensor, "cos", lambda self: original(self) * scale[0])

    def change():
        scale[0] = 7

    before, after = _check_change(lambda x: x.cos() + 1, change)
    assert not torch.equal(before, after)


def test_caches_run_where_the_program_calls_them():
    log = []

    @functools.lru_cache
    def cached(number):
        log.append("cached")
        return number * 2

    def f(x):
        log.append("before")
        y = x * cached(3)
        log.append("after")
        return y, cached.cache_info()

    def outcomes(function):
        log.clear()
        cached.cache_clear()
        return [str(function(torch.ones(1))) for _ in range(3)], list(log)

    assert outcomes(compile_eagerly(f, fullgraph=False)) == outcomes(f)


@pytest.mark.parametrize("name", ["__getattr__", "__dir__"])
def test_modules_whose_methods_are_none(name):
    module = types.ModuleType("module")
    setattr(module, name, "a text")

    def f(x):
        try:
            return x, dir(module), module.missing
        except TypeError as error:
            return x + 1, str(error)
        except AttributeError:
            return x + 2

    assert str(compile_eagerly(f)(torch.ones(1))) == str(f(torch.ones(1)))


def test_import_module_follows_replaced_modules(monkeypatch):
    monkeypatch.setitem(sys.modules, "replaced", types.SimpleNamespace(k=2))
    _check_change(
        lambda x: x * importlib.import_module("replaced").k,
        lambda: monkeypatch.setitem(
            sys.modules, "replaced", types.SimpleNamespace(k=7)
        ),
    )
