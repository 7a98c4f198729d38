"""Arguments that builtin functions and methods take, and those that they refuse."""

import builtins
import collections
import functools
import inspect
import itertools
import operator
import types
import weakref

import pytest
import torch
from capture_differential import Cases, check, outcome_of

from girih.frontend.capture.models import (
    families,  # noqa: F401  (registers models)
    registry,
)
from girih.frontend.capture.values import arity

case = Cases()
X = torch.ones(2)


@case(X)
def too_many_and_too_few(x):
    calls = (
        lambda: sorted([3, 1], None),
        lambda: sorted(),
        lambda: [].append(),
        lambda: [].append(1, 2),
        lambda: {}.get(),
        lambda: {}.items(1),
        lambda: {}.update(1, 2),
        lambda: {1}.add(1, 2),
        lambda: [1].index(),
        lambda: [1].pop(1, 2),
        lambda: [].sort(None),
        lambda: dict.get({}),
        lambda: list.append([], 1, 2),
        lambda: collections.deque([1], 2, 3),
        lambda: collections.OrderedDict(1, 2),
        lambda: range(),
        lambda: list(1, 2),
        lambda: dict(1, 2),
        lambda: tuple(1, 2),
        lambda: set([1], [2]),
        lambda: isinstance(1),
        lambda: map(len),
        lambda: filter(None),
        lambda: next(),
        lambda: getattr(1),
        lambda: hasattr(1, "a", 2),
        lambda: abs(1, 2),
        lambda: max(),
        lambda: divmod(1),
        lambda: pow(2, 3, 4, 5),
        lambda: slice(),
        lambda: reversed([1], 2),
        lambda: functools.reduce(operator.add),
        lambda: itertools.combinations([1]),
        lambda: itertools.count(1, 2, 3),
        lambda: itertools.islice([1]),
        lambda: itertools.repeat(),
    )
    return x + 1, [outcome_of(call) for call in calls]


@case(X)
def keywords(x):
    calls = (
        lambda: len(obj=[1]),
        lambda: sum(iterable=[1]),
        lambda: list(iterable=[1]),
        lambda: frozenset(a=1),
        lambda: bool(x=1),
        lambda: int(x=1),
        lambda: int("11", base=2),
        lambda: str(object=1),
        lambda: pow(base=2, exp=3),
        lambda: round(number=1.5),
        lambda: {}.get(key=1),
        lambda: {1: 2}.pop(1, default=2),
        lambda: {1}.union(x=1),
        lambda: enumerate([1], start=1, x=2),
        lambda: itertools.product([1], repeat=2, x=1),
        lambda: zip([1], strict=True, x=3),
        lambda: max(1, 2, foo=1),
        lambda: list(itertools.repeat(times=3, object=1)),
        lambda: collections.deque(iterable=[1, 2], maxlen=1),
    )
    return x + 1, [outcome_of(call) for call in calls]


@case(X)
def names_that_models_use(x):
    made = {}
    made.update(self=1, tracer=2)
    partial = functools.partial(dict, self=1, function=2)
    counted = collections.Counter(self=1, tracer=2)
    ordered = collections.OrderedDict(self=2, tracer=3)
    return x + 1, made, dict(self=1, tracer=3), partial(tracer=4), counted, ordered


@case(X)
def bad_values(x):
    calls = (
        lambda: collections.defaultdict(1),
        lambda: collections.deque([], -1),
        lambda: itertools.count("a"),
        lambda: dict([1]),
        lambda: dict([(1,)]),
        lambda: dict("ab"),
        lambda: [1, 2][::0],
        lambda: operator.setitem([1, 2], slice(0, 2, 0), [1]),
        lambda: operator.setitem([1, 2, 3], slice(0, 3, 2), [1]),
        lambda: operator.setitem([1, 2, 3], slice(0, 1), 3),
        lambda: operator.setitem([1, 2, 3], slice(0, 3, 2), 3),
        lambda: operator.delitem([1, 2], slice(0, 2, 0)),
        lambda: type.__abstractmethods__,
    )
    return x + 1, [outcome_of(call) for call in calls]


@case(X)
def objects_made_by_new(x):
    made = [bool.__new__(bool, 1), int.__new__(int, "11", base=2), list.__new__(list)]
    return x + 1, made, [type(item) for item in made], dict.__new__(dict)


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)


def modelled():
    """The functions written in C that have a model and whose arity is known."""
    found = [f for f in registry._MODELS if not isinstance(f, types.FunctionType)]
    return [f for f in found if arity.arity_of(f) is not arity.OPEN]


def test_models_take_the_names_that_functions_take():
    lacking = []
    for function in modelled():
        parameters = inspect.signature(registry._MODELS[function]).parameters
        kinds = {parameter.kind for parameter in parameters.values()}
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            names = arity.arity_of(function).names or {}
            lacking += [(function, name) for name in names if name not in parameters]
    assert not lacking


def test_models_leave_all_names_to_keywords():
    for function in modelled():
        first, *rest = inspect.signature(registry._MODELS[function]).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in rest):
            assert first.kind is first.POSITIONAL_ONLY, function


# These look at their first argument before they count.
_LOOK_FIRST = (type, types.SimpleNamespace, weakref.ref, tuple.__new__)


@pytest.mark.parametrize(
    "function",
    [f for f in arity._UNSIGNED if f not in _LOOK_FIRST],
    ids=lambda function: function.__qualname__,
)
def test_arities_are_those_of_cpython(function):
    """One argument more than it takes, or fewer, and CPython does not begin."""
    found = arity._UNSIGNED[function]
    for count in {found.least - 1, found.most + 1} & set(range(10)):
        with pytest.raises(TypeError, match="argument|expected"):
            function(*[None] * count)
    if found.names is not None:
        with pytest.raises(TypeError, match="argument|keyword"):
            function(*[None] * found.least, no_such_name=None)


# Their models refuse any arguments.
_LEFT_TO_PYTHON = (breakpoint, classmethod, open, staticmethod)


def test_what_is_modelled_has_an_arity():
    names = [name for name in dir(builtins) if not name.startswith("__")]
    functions = [vars(builtins)[name] for name in names]
    functions += [vars(itertools)[name] for name in dir(itertools)]
    for function in filter(callable, functions):
        if function in registry._MODELS and function not in _LEFT_TO_PYTHON:
            assert arity.arity_of(function) is not arity.OPEN, function
