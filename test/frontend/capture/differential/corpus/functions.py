"""Functions: arguments, defaults, recursion, decorators, functools."""

import functools

import torch

from differential.program import program, rand


def scaled(x, factor=2, *, bias=1):
    return x * factor + bias


@program(rand(3))
def defaults_and_keywords(x):
    return scaled(x), scaled(x, 3), scaled(x, bias=5), scaled(factor=4, x=x)


@program(rand(3), 2, 3, key=4).then(rand(3))
def star_parameters(x, *args, **kwargs):
    return x + sum(args), args, kwargs


@program(rand(3), b=2, c=3)
def keyword_only(x, *, b, c=5, d=7):
    return x * b + c - d


@program(rand(3), 2)
def positional_only(x, n, /, *, bias=1):
    return x * n + bias


@program(rand(3), [1, 2], {"bias": 3})
def star_arguments(x, args, kwargs):
    return scaled(x, *args[:1], **kwargs), scaled(*[x], **{"factor": 9}, bias=0)


def collect(*args, **kwargs):
    return args, kwargs


@program(rand(3))
def merged_star_arguments(x):
    return collect(*[1, x], 2, *(3,), a=4, **{"b": x}, **{"c": 6})


@program(rand(3))
def missing_argument(x):
    return scaled(factor=2)


@program(rand(3))
def too_many_arguments(x):
    return scaled(x, 1, 2)


@program(rand(3))
def unexpected_keyword(x):
    return scaled(x, nope=3)


@program(rand(3))
def argument_given_twice(x):
    return scaled(x, **{"x": x})


@program(rand(3))
def mutable_default(x):
    def append(value, items=[]):
        items.append(value)
        return items

    append(x)
    return append(x + 1)


@program(rand(3))
def function_attributes(x):
    def inner(y):
        return y * inner.factor

    inner.factor = 3
    inner.__doc__ = "Doc."
    return inner(x), inner.__doc__, inner.__name__, hasattr(inner, "nope")


@program(rand(3), 4).then(rand(3), 0)
def recursion(x, n):
    def go(y, k):
        return y if k == 0 else go(y + k, k - 1)

    return go(x, n)


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


@program(rand(3), 5).then(rand(3), 6)
def mutual_recursion(x, n):
    return x + 1 if is_even(n) else x - 1


@program(rand(3))
def lambdas(x):
    twice = lambda f: lambda v: f(f(v))
    return twice(lambda v: v * 2)(x), (lambda a, b=2, *c: a + b + len(c))(x, 3, 4)


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * 2

    return wrapper


def scaled_by(factor):
    def decorate(function):
        def wrapper(x):
            return function(x) * factor

        return wrapper

    return decorate


@doubled
def plus_one(x):
    """Docstring."""
    return x + 1


@scaled_by(3)
@scaled_by(5)
def identity(x):
    return x


@program(rand(3))
def decorated_functions(x):
    return plus_one(x), plus_one.__name__, plus_one.__doc__, identity(x)


@program(rand(3))
def decorators_inside(x):
    @scaled_by(2)
    @doubled
    def inner(y):
        return y - 1

    return inner(x)


@program(rand(3))
def partials(x):
    triple = functools.partial(scaled, factor=3)
    nested = functools.partial(triple, bias=10)
    method = functools.partial(torch.add, x, alpha=2)
    return triple(x), nested(x), nested(x, factor=1), method(x), nested.keywords


@program(rand(3), functools.partial(scaled, bias=4))
def partial_argument(x, function):
    return function(x), function(x, bias=5), function.args


@program(rand(3))
def reduces(x):
    product = functools.reduce(lambda a, b: a * b, [x, 2, 3])
    return product, functools.reduce(max, [3, 9, 2], 5)


@functools.cache
def cached_square(n):
    return n * n


@program(rand(3), 3)
def cached_function(x, n):
    return x + cached_square(n), x * cached_square(n)


@program(rand(3), torch.relu).then(rand(3), torch.tanh).then(rand(3), scaled)
def function_argument(x, function):
    return function(x) + 1


@program(rand(3))
def functions_in_a_table(x):
    table = {"double": lambda v: v * 2, "relu": torch.relu, "scaled": scaled}
    return [function(x) for function in table.values()]


@program(rand(3))
def comparison_of_functions(x):
    same = scaled is scaled and scaled != plus_one
    return x + 1 if same and callable(scaled) else x


@program(rand(3))
def composed(x):
    def compose(*functions):
        return functools.reduce(lambda f, g: lambda v: g(f(v)), functions)

    return compose(torch.sin, lambda v: v + 1, scaled)(x)


@program(rand(3))
def early_returns(x):
    def pick(n):
        if n == 0:
            return None
        if n == 1:
            return 1, 2
        return

    return x, pick(0), pick(1), pick(2)


@program(rand(3))
def many_results(x):
    def split(y):
        return y + 1, y - 1, [y]

    a, b, (c,) = split(x)
    return a, b, c


@program(rand(3))
def annotated(x):
    def inner(y: torch.Tensor, n: int = 2) -> torch.Tensor:
        z: torch.Tensor = y * n
        return z

    return inner(x), sorted(inner.__annotations__)


@functools.singledispatch
def describe(value):
    return "other"


@describe.register
def _(value: int):
    return "int"


@describe.register
def _(value: list):
    return "list"


@program(rand(3))
def single_dispatch(x):
    return x + 1, describe(1), describe([1]), describe("a")


@program(rand(3), (1, 2))
def unpacked_in_call(x, pair):
    def inner(a, b, *rest, last=0):
        return a + b + len(rest) + last

    return x + inner(*pair), x + inner(*pair, *pair, last=5)


@program(rand(3))
def argument_is_rebound(x):
    def inner(y):
        y = y * 2
        y += 1
        return y

    return inner(x), x


@program(rand(3))
def keyword_order(x):
    def names(**kwargs):
        return list(kwargs)

    return x, names(b=1, a=2), names(**{"z": 1}, y=2)


@program(rand(3))
def defaults_are_evaluated_once(x):
    n = 1

    def inner(y, factor=n):
        return y * factor

    n = 5
    return inner(x), n


@program(rand(3))
def methods_as_values(x):
    add = x.add
    names = [1, 2]
    push = names.append
    push(3)
    return add(1), names, list(map(x.mul, [1, 2]))


@program(rand(3))
def immediately_raised(x):
    def fails(y):
        raise ValueError(f"bad shape {tuple(y.shape)}")

    return fails(x)
