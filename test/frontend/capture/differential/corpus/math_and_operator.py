"""The modules math, operator, copy, random, inspect, typing, warnings, time."""

import copy
import inspect
import math
import operator
import random
import typing
import warnings

import torch

from differential.program import program, rand


@program(rand(3))
def math_functions(x):
    values = math.sqrt(2), math.exp(1), math.log(10), math.log2(8), math.sin(1.0)
    return x * math.pi, values, math.floor(2.7), math.ceil(2.1), math.trunc(-2.5)


@program(rand(4, 6))
def math_of_shapes(x):
    return x / math.sqrt(x.shape[-1]), math.prod(x.shape), math.gcd(*x.shape)


@program(rand(3))
def math_of_integers(x):
    return (
        x,
        math.factorial(5),
        math.comb(5, 2),
        math.gcd(12, 18),
        math.lcm(4, 6),
        math.isqrt(10),
    )


@program(rand(3))
def math_tests(x):
    inf, nan = math.inf, math.nan
    return (
        x,
        math.isnan(nan),
        math.isinf(inf),
        math.isfinite(1.0),
        math.isclose(0.1 + 0.2, 0.3),
    )


@program(rand(3))
def math_of_pairs(x):
    return (
        x,
        math.atan2(1, 2),
        math.hypot(3, 4),
        math.pow(2, 3),
        math.fmod(7, 3),
        math.copysign(1, -2),
    )


@program(rand(3))
def math_domain_error(x):
    return x * math.sqrt(-1)


@program(rand(3), 2.0).then(rand(3), 3.0).then(rand(3), 4.5)
def math_of_argument(x, f):
    return x * math.sqrt(f), math.exp(-f), math.floor(f)


@program(rand(3))
def operator_functions(x):
    a = operator.add(x, 1), operator.mul(x, 2), operator.neg(x), operator.sub(5, 3)
    return (
        a,
        operator.truth([]),
        operator.not_(1),
        operator.is_(x, x),
        operator.xor(5, 3),
    )


@program(rand(3))
def operator_comparisons(x):
    return (
        x,
        operator.lt(1, 2),
        operator.eq([1], [1]),
        operator.ge(2, 2),
        operator.ne(1, 2),
    )


@program(rand(3))
def operator_items(x):
    table = {"a": x}
    operator.setitem(table, "b", x + 1)
    got = operator.getitem(table, "a"), operator.contains(table, "b")
    operator.delitem(table, "a")
    return table, got, operator.length_hint([1, 2]), operator.index(3)


@program(rand(3))
def operator_getters(x):
    pairs = [("b", 2), ("a", 3)]
    shape = operator.attrgetter("shape")(x)
    return (
        x,
        sorted(pairs, key=operator.itemgetter(1)),
        shape,
        operator.itemgetter(0, 1)("xy"),
    )


@program(rand(3))
def operator_methodcaller(x):
    return operator.methodcaller("mul", 3)(x), operator.methodcaller("upper")("a")


@program(rand(3))
def operator_in_place(x):
    items = [1]
    same = operator.iadd(items, [2]) is items
    return operator.imul(x, 2), items, same


@program(rand(3))
def operator_matmul(x):
    return (
        operator.matmul(x, x),
        operator.pow(x, 2),
        operator.truediv(x, 2),
        operator.abs(x),
    )


@program(rand(3), [1, [2]])
def shallow_copy(x, items):
    other = copy.copy(items)
    other[1].append(3)
    other.append(x)
    return items, other


@program(rand(3), [1, [2], {"k": (3,)}])
def deep_copy(x, items):
    other = copy.deepcopy(items)
    other[1].append(x)
    other[2]["k"] = 0
    return items, other


@program(rand(3))
def copy_of_tensors(x):
    y = copy.copy(x)
    z = copy.deepcopy(x)
    z.add_(1)
    return y, z


class Box:
    def __init__(self, value):
        self.value = value
        self.items = [1]


@program(rand(3), Box(2))
def copy_of_objects(x, box):
    shallow, deep = copy.copy(box), copy.deepcopy(box)
    shallow.items.append(5)
    deep.items.append(7)
    shallow.value = x
    return box, shallow, deep


@program(rand(3))
def random_seeded(x):
    random.seed(3)
    return x * random.random(), random.randint(0, 9), random.choice([1, 2, 3])


@program(rand(3))
def random_generator(x):
    generator = random.Random(5)
    items = list(range(5))
    generator.shuffle(items)
    return x + generator.uniform(1, 2), items


def documented(a, b: int = 2, *, c=3, **rest):
    """Text."""
    return a


@program(rand(3))
def inspects_signature(x):
    parameters = inspect.signature(documented).parameters
    return x, list(parameters), parameters["b"].default, "c" in parameters


@program(rand(3), documented).then(rand(3), torch.relu)
def inspects_callables(x, function):
    return (
        x,
        inspect.isfunction(function),
        inspect.isclass(function),
        inspect.getdoc(documented),
    )


@program(rand(3))
def typing_does_nothing(x):
    y = typing.cast(int, x)
    z: typing.Optional[torch.Tensor] = y + 1
    return z, typing.TYPE_CHECKING


@program(rand(3))
def generic_class(x):
    T = typing.TypeVar("T")

    class Holder(typing.Generic[T]):
        def __init__(self, value):
            self.value = value

    return Holder[int](x).value


@program(rand(3))
def warns(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("careful", UserWarning, stacklevel=1)
    return x + len(caught), str(caught[0].message)


@program(rand(3))
def number_protocols(x):
    return (
        x,
        (3).__add__(4),
        (2.5).__mul__(2),
        (5).__index__(),
        "a".__len__(),
        [1].__contains__(1),
    )
