"""Corners of Python's meaning: the same in one graph, or refused with a reason."""

import collections
import contextlib
import functools
import inspect
import operator
import re
import types
import typing

import pytest
import torch
from capture_differential import (
    Cases,
    assert_same,
    check,
    compile_eagerly,
    outcome_of,
)

import girih
from girih.errors import UnsupportedError

case = Cases()
X = torch.ones(2)


# Containers that change while something iterates over them


def _empty_a_set():
    items = {1}
    for item in items:
        items.remove(item)


def _grow_a_set():
    items = {1, 2}
    for _ in items:
        items.add(3)


def _empty_a_dict():
    items = {1: 2}
    for key in items:
        del items[key]


def _grow_a_deque():
    items = collections.deque([1, 2, 3])
    for _ in items:
        items.append(1)


def _exchange_in_a_deque():
    items = collections.deque([1, 2, 3])
    iterator = iter(items)
    items.pop()
    items.append(3)
    return next(iterator)


def _set_in_a_deque():
    items = collections.deque([1, 2, 3])
    iterator = iter(items)
    next(iterator)
    items[0] = 5
    items.reverse()
    return list(iterator)


def _pop_from_values():
    items = {1: 2}
    return [items.popitem() for _ in items.values()]


@case(X)
def changed_while_iterated(x):
    calls = (
        _empty_a_set,
        _grow_a_set,
        _empty_a_dict,
        _grow_a_deque,
        _exchange_in_a_deque,
        _set_in_a_deque,
        _pop_from_values,
        lambda: list(reversed(collections.deque([1, 2]))),
    )
    return x + 1, [outcome_of(call) for call in calls]


def exchanges_a_key(x):
    items, seen = {0: 0}, []
    for key in items:
        seen.append(key)
        del items[key]
        items[key + 1] = 0
        if len(seen) > 5:
            break
    return x + 1, seen


def exchanges_a_member(x):
    items, seen = {1, 2}, []
    for item in items:
        seen.append(item)
        items.discard(item)
        items.add(item + 10)
        if len(seen) > 5:
            break
    return x + 1, seen


@pytest.mark.parametrize(
    "make, add",
    [
        (lambda: {1, 2}, set.add),
        (lambda: {1: 1, 2: 2}, lambda items, key: items.setdefault(key, 1)),
        (lambda: collections.deque([1, 2]), collections.deque.append),
    ],
)
def test_containers_that_grow_at_a_break(make, add):
    def grow(x, container):
        for item in container:
            add(container, item + 10)
            girih.graph_break()
            x = x + item
        return x

    check(grow, X, make(), fullgraph=False)
    check(lambda x: grow(x, make()), X, fullgraph=False)


def test_breaks_in_loops_over_containers():
    def program(x):
        seen = []
        for container in ({1, 2, 3}, {1: 2, 3: 4}, collections.deque([1, 2])):
            for item in container:
                girih.graph_break()
                seen.append(item)
                x = x + item
        return x, seen

    check(program, X, fullgraph=False)


@case(X)
def a_deque_iterator_that_is_left(x):
    iterator = iter(collections.deque([1, 2, 3]))
    next(iterator)
    return x + 1, list(iterator), type(iter(collections.deque()))


# Operators of dicts, and of subclasses of builtins that leave the answer to others


class Aloof(int):
    def __eq__(self, other):
        return NotImplemented

    __hash__ = int.__hash__


class AloofList(list):
    def __eq__(self, other):
        return NotImplemented

    def __lt__(self, other):
        return NotImplemented


@case(X)
def answers_of_the_other_operand(x):
    counted = collections.Counter("abca")
    lists = AloofList([1]) == [1], [1] == AloofList([1]), AloofList([1]) < [2]
    numbers = Aloof(3) == 3, 3 == Aloof(3), Aloof(3) != 3, Aloof(3) == 4
    return x + 1, counted == {"a": 2, "b": 1, "c": 1}, {} == counted, lists, numbers


@case(X)
def unions_of_dicts(x):
    one = collections.defaultdict(int, {1: 1})
    two = collections.defaultdict(str, {0: "zero"})
    ordered = collections.OrderedDict(a=1)
    made = [one | two, two | one, one | dict(two), dict(two) | one, ordered | {}]
    made += [{} | ordered, {1: 2} | {1: 3}]
    factory = (dict(two) | one).default_factory
    answers = {}.__or__(None), {1}.__or__([1]), {}.__ior__([(1, 2)])
    return x + 1, made, [type(item) for item in made], factory, answers


# Functions made while tracing


@case(X)
def attributes_of_functions(x):
    def function(a, b=2, *, c=3):
        """Text."""

    function.__dict__["first"] = 1
    function.second = 2
    wrapper = functools.wraps(function)(lambda: 3)
    seen = [function.first, dict(function.__dict__), function.__annotations__]
    seen += [function.__kwdefaults__, function.__defaults__, wrapper.second]
    del function.second
    seen.append(outcome_of(lambda: delattr(function, "second")))
    seen.append(outcome_of(lambda: setattr(function, "__name__", 3)))
    function.__defaults__ = (1, 2)
    function.__name__ = "other"
    seen += [function.__defaults__, function.__name__, function.__qualname__]
    return x + 1, seen, wrapper.__name__, wrapper.__wrapped__ is function


def gets_another_code(x):
    def function():
        return 1

    function.__code__ = outcome_of.__code__
    return x + 1, function(lambda: 2)


def test_attributes_of_a_function_that_is_returned():
    def program(x):
        def function():
            return 1

        function.__dict__["first"] = [1]
        function.second = 2
        return x + 1, function

    _, made = compile_eagerly(program)(X)
    assert vars(made) == {"first": [1], "second": 2}


@case(X)
def parameters_of_a_signature(x):
    parameters = inspect.signature(outcome_of).parameters
    kinds = type(parameters), list(parameters), len(parameters), repr(parameters)
    return x + 1, kinds, outcome_of(lambda: parameters.__setitem__("a", 1))


# Contexts of exceptions


def _yields_contexts():
    try:
        yield 1
    except ValueError as error:
        yield error.__context__
    yield 2


@case(X)
def contexts_of_what_is_thrown(x):
    generator = _yields_contexts()
    next(generator)
    try:
        raise KeyError(1)
    except KeyError:
        context = generator.throw(ValueError(2))
        try:
            _yields_contexts().throw(IndexError(4))
        except IndexError as error:
            other = error.__context__
    return x + 1, context, other


@contextlib.contextmanager
def _raises_at_the_end(error):
    try:
        yield
    finally:
        raise error


@case(X)
def contexts_of_a_stack_of_managers(x):
    errors, chain = [Exception(number) for number in range(4)], []
    try:
        with contextlib.ExitStack() as stack:
            for error in errors[1:]:
                stack.enter_context(_raises_at_the_end(error))
            raise errors[0]
    except Exception as error:
        link = error
        while link is not None:
            chain.append(link.args[0])
            link = link.__context__
    return x + 1, chain


@case(X)
def a_cycle_of_contexts(x):
    try:
        try:
            raise ValueError(1)
        except ValueError as error:
            error.__context__ = error
            raise TypeError(2) from None
    except TypeError as error:
        found = error.__context__
    return x + 1, type(found), found.__context__ is found


class MadeByNew(OSError):
    def __new__(cls, message, extra):
        made = super().__new__(cls, message)
        made.extra = extra
        return made


@case(X)
def attributes_of_exceptions(x):
    group, lost = ExceptionGroup("e", [ValueError()]), ImportError("t", name="n")
    lost.__init__()
    made = MadeByNew("m", extra="q")
    empty = str(UnicodeEncodeError.__new__(UnicodeEncodeError))
    wrong = [
        outcome_of(lambda: setattr(Exception(), "__traceback__", 5)),
        outcome_of(lambda: setattr(group, "message", 2)),
        outcome_of(lambda: OSError(a=1)),
    ]
    return x + 1, wrong, lost.name, lost.args, made.args, made.extra, str(made), empty


# Identities


@case(X)
def addresses_of_what_lives(x):
    one, two = [1], [2]
    rows = list(enumerate([1, 2, 3]))
    return x + 1, id(one) == id(two), id(one) == id(one), len(set(map(id, rows)))


def addresses_of_what_is_gone(x):
    return x + 1, len(set(map(id, enumerate([1, 2, 3]))))


def address_of_what_follows(x):
    return x + 1, id([]) == id([])


# Lengths


class Raising:
    def __iter__(self):
        return iter(range(3))

    def __len__(self):
        raise RuntimeError("no length")


class Unsure(Raising):
    def __len__(self):
        raise TypeError("no length")


class Negative:
    def __iter__(self):
        return iter(range(3))

    def __length_hint__(self):
        return -1


@case(X)
def lengths_that_lists_ask_for(x):
    calls = (
        lambda: list(Raising()),
        lambda: tuple(Raising()),
        lambda: sorted(Raising()),
        lambda: [].extend(Raising()),
        lambda: [*Raising()],
        lambda: list(Unsure()),
        lambda: list(Negative()),
    )
    return x + 1, [outcome_of(call) for call in calls]


def a_list_without_end(x):
    return x + 1, len([0] * (1 << 40))


# Calls


@case(X)
def stars_in_calls(x):
    def function(a, /, b=2, *c, d, e=5, **g):
        return a, b, c, d, e, g

    args, named = [1, 2], {"d": x, "z": 3}
    calls = (
        lambda: function(*args, **named),
        lambda: function(0, *args, *(9,), **named, e=1),
        lambda: function(1, a=3, d=2),
        lambda: function(1, 2, b=3, d=1),
        lambda: function(*args, **named, d=2),
        lambda: dict(**named, **named),
        lambda: function(**{1: 2}),
        lambda: function(*3),
        lambda: function(1, **3),
        lambda: [*3],
        lambda: print(*3),
    )
    return x + 1, [outcome_of(call) for call in calls]


class Described(typing.TypedDict):
    number: int


@case(X)
def a_typed_dict(x):
    return x + 1, Described(number=3)


class Failing:
    def __enter__(self):
        raise ValueError("enter")


class Leaving:
    def __init__(self):
        self.__enter__ = self.__exit__ = None  # which the statement does not ask

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        raise KeyError("exit")


class NoSuper:
    def outside():
        return super().there


def _enters(make):
    with make():
        return 1


def _super_of_nothing(given):
    return super().there


@case(X)
def protocols_that_lack_something(x):
    calls = (
        lambda: _enters(object),
        lambda: _enters(Failing),
        lambda: _enters(Leaving),
        lambda: _super_of_nothing(1),
        lambda: NoSuper.outside(),
        lambda: super(int, "text").there,
        lambda: super(3, 4).there,
        lambda: max([]),
        lambda: min((), default=3),
        lambda: max([3, 1], key=lambda item: -item),
    )
    return x + 1, [outcome_of(call) for call in calls]


def _imports_no_module():
    from math import nothing_of_the_kind  # noqa: F401


def _imports_no_submodule():
    from collections import nothing_of_the_kind  # noqa: F401


@case(X)
def imports_of_what_is_not_there(x):
    import collections.abc as one
    from collections import abc as other

    calls = (_imports_no_module, _imports_no_submodule)
    return x + 1, [outcome_of(call) for call in calls], one is other


class Naming(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.name = cls.__name__
        return made


class Named(metaclass=Naming):
    def __init__(self, weight):
        girih.graph_break()
        self.weight = weight * 2


def negated_at_a_break(x):
    scaled = X * x
    girih.graph_break()
    return -x * scaled[0].numel()


class Answering:
    def __getitem__(self, key):
        return negated_at_a_break(key)

    @property
    def part(self):
        return negated_at_a_break(8)


class Filling(dict):
    def __missing__(self, key):
        return negated_at_a_break(key)


def breaks_below_c_code(x):
    items = [1, 3, 2]
    answer = items.sort(key=negated_at_a_break)
    one, two = operator.itemgetter(1)(Answering()), operator.attrgetter("part")
    replaced = re.compile("a").sub(lambda found: str(negated_at_a_break(1)), "banana")
    return x + 1, items, answer, one, two(Answering()), replaced, Filling()[3]


def breaks_below_a_metaclass(x):
    made = Named(x)
    return made.weight + 1, made.name


@pytest.mark.parametrize("function", [breaks_below_c_code, breaks_below_a_metaclass])
def test_breaks_below_what_is_called(function):
    check(function, X, fullgraph=False)


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)


REFUSED = {
    exchanges_a_key: "dict that gets other keys while it is iterated",
    exchanges_a_member: "set that gets other members while it is iterated",
    gets_another_code: "assignment to a part of a function",
    addresses_of_what_is_gone: "id of an object that no longer exists",
    address_of_what_follows: "id of an object that no longer exists",
    a_list_without_end: "list or tuple that is too long to be traced",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function):
    with pytest.raises(UnsupportedError) as caught:
        compile_eagerly(function)(X)
    assert caught.value.kind == REFUSED[function]
    compiled = compile_eagerly(function, fullgraph=False)
    how = [outcome_of(lambda f=f: f(X)) for f in (function, compiled)]
    assert_same(how[1], how[0])


def test_proxies_that_are_returned():
    def program(x):
        return x + 1, types.MappingProxyType({"a": 1})

    made = compile_eagerly(program)(X)[1]
    assert type(made) is types.MappingProxyType and made == {"a": 1}
