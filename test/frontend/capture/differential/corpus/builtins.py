"""Python's builtin functions."""

import torch

from differential.program import program, rand


@program(rand(3))
def zips(x):
    pairs = list(zip([1, 2, 3], [x, x + 1]))
    return pairs, list(zip()), [a + b for a, b in zip((1, 2), (3, 4), strict=True)]


@program(rand(3))
def zip_strict_fails(x):
    return list(zip([1, 2], [x], strict=True))


@program(rand(3))
def enumerates(x):
    return [x * i for i, _ in enumerate("ab")], list(enumerate([5], start=3))


@program(rand(3))
def maps_and_filters(x):
    return list(map(lambda a, b: x + a * b, [1, 2], [3, 4])), list(filter(None, [0, 1]))


@program(rand(3))
def filters_with_function(x):
    return x, [*filter(lambda v: v > 1, (1, 2, 3))], sum(map(int, ["1", "2"]))


@program(rand(3))
def sorts(x):
    words = ["bb", "a", "ccc"]
    by_pair = sorted([(2, "b"), (1, "z"), (2, "a")])
    return x, sorted(words, key=len), sorted([3, 1], reverse=True), by_pair


@program(rand(3))
def sort_is_stable(x):
    items = [("a", 2), ("b", 1), ("c", 2), ("d", 1)]
    return x, sorted(items, key=lambda p: p[1]), sorted(items, key=lambda p: -p[1])


@program(rand(3))
def minimum_and_maximum(x):
    a = min(3, 1, 2), max([1, 5, 2]), min("b", "a"), max([], default=7)
    return x + a[0], a, max(["a", "bbb"], key=len), min({4, 2}), min((1, 2), (0, 9))


@program(rand(3))
def sums(x):
    return sum([x, x, x]), sum([1, 2], 10), sum([[1], [2]], []), sum(())


@program(rand(3), [0.1] * 10).then(rand(3), [1e16, 1.0, -1e16])
def sums_of_floats(x, items):
    """From CPython 3.12 on they are rounded once."""
    mixed = sum([*items, x, 0.1]), sum([1e16, 1, True, 1.0, -1e16]), sum(items, 0.5)
    return *mixed, sum(items), sum(iter(items), 1), sum([1, 0.1, 1 + 2j, 0.1])


@program(rand(3))
def sums_of_texts(x):
    told = []
    for items, start in ((["a"], ""), ((), ""), ([b"a"], b"")):
        try:
            told.append(sum(items, start))
        except TypeError as error:
            told.append(str(error))
    return x + 1, told


@program(rand(3))
def any_and_all(x):
    return x, any([0, 1]), all([1, 0]), any([]), all([]), all(v > 0 for v in (1, 2))


@program(rand(3))
def numbers(x):
    return (
        x * abs(-3),
        round(2.567, 1),
        round(2.5),
        divmod(7, 2),
        pow(2, 5),
        pow(3, 4, 5),
    )


@program(rand(3))
def conversions(x):
    made = int("3"), int(2.9), float(2), str(5), bool(""), bool(3), complex(1, 2)
    return x, made, bin(5), hex(255), oct(8), chr(65), ord("a"), ascii("é")


@program(rand(3))
def reversals(x):
    return [*reversed([x, x + 1])], list(reversed(range(3))), list(reversed("ab"))


@program(rand(3), 1).then(rand(3), [1]).then(rand(3), rand(2))
def instance_checks(x, value):
    if isinstance(value, int):
        return x + 1
    if isinstance(value, (list, tuple)):
        return x + len(value)
    return isinstance(value, torch.Tensor), x


@program(rand(3))
def subclass_checks(x):
    return (
        x,
        issubclass(bool, int),
        issubclass(list, (tuple, dict)),
        issubclass(int, object),
    )


@program(rand(3), 3).then(rand(3), "a").then(rand(3), 2.5)
def types(x, value):
    kind = type(value)
    made = kind(value)
    return x, kind is int, kind.__name__, made, kind in (int, float), type(x)


@program(rand(3))
def attributes(x):
    got = getattr(x, "shape"), getattr(x, "nope", 7), hasattr(x, "dtype")
    return x, got, hasattr(x, "nope"), callable(len), callable(3), callable(x.add)


@program(rand(3))
def attribute_is_missing(x):
    return getattr(x, "nope")


@program(rand(3))
def nexts(x):
    it = iter([1])
    return x, next(it), next(it, "end"), next((v for v in [5, 6] if v > 5), None)


@program(rand(3))
def lengths(x):
    return x, len(x), len([1]), len("ab"), len({}), len(range(5)), len((1, 2))


@program(rand(3), [1, 2])
def identities(x, items):
    other = items
    return x, id(items) == id(other), id(items) == id([1, 2])


@program(rand(3))
def hashes(x):
    return x, hash("a") == hash("a"), hash((1, 2)) == hash((1, 2)), hash(1) == hash(1.0)


@program(rand(3))
def unhashable(x):
    return x, hash([1])


@program(rand(3))
def integers(x):
    n = 10
    shifts = n << 2, n >> 1, n & 6, n | 5, n ^ 3, ~n
    return x + n // 3, n % 3, -n // 3, -n % 3, n**2, shifts, n.bit_length(), 10**20


@program(rand(3))
def floats(x):
    f = 7.5
    return (
        x * f,
        f // 2,
        f % 2,
        -f // 2,
        f.is_integer(),
        f.as_integer_ratio(),
        1e308 * 10,
    )


@program(rand(3))
def float_special_values(x):
    nan, inf = float("nan"), float("inf")
    return x, nan == nan, inf > 1, -inf, nan, 0.0 == -0.0, inf - inf


@program(rand(3))
def complexes(x):
    c = 3 + 4j
    return x, abs(c), c.real, c.imag, c.conjugate(), c * 2j, c == 3 + 4j


@program(rand(3))
def booleans(x):
    return (
        x + True,
        True + True,
        True & False,
        not 1,
        True is True,
        bool([0]),
        int(True),
    )


@program(rand(3))
def division_by_zero(x):
    return x + 1 // 0


@program(rand(3))
def shifts_by_negative(x):
    return x, 1 << -1


@program(rand(3))
def comparisons_of_types(x):
    return x, 1 == 1.0, 1 == "1", (1,) == [1], None is None, 1 < 2.5, "a" < "b"


@program(rand(3))
def comparison_fails(x):
    return x, 1 < "a"


@program(rand(3), {"a": 1})
def variables_of_object(x, table):
    class Box:
        def __init__(self):
            self.a = 1

    return x, vars(Box()), table == vars(Box())


@program(rand(3))
def directory(x):
    return x, "append" in dir([]), "shape" in dir(x)


@program(rand(3))
def locals_and_globals(x):
    y = x + 1
    return sorted(locals()), "program" in globals(), y


@program(rand(3))
def evaluates(x):
    return eval("x + 1"), eval("a * 2", {"a": 3})


@program(rand(3))
def executes(x):
    scope = {"x": x}
    exec("y = x * 2", scope)
    return scope["y"]


@program(rand(3))
def imports_inside(x):
    import math
    from collections import OrderedDict as Ordered

    return x * math.pi, Ordered(a=1)


@program(rand(3))
def slices_and_ellipsis(x):
    return (
        x[slice(1)],
        x[...].shape,
        x[None, ..., None].shape,
        [1, 2, 3][slice(None, None, -1)],
    )


@program(rand(3))
def iterators_by_hand(x):
    it = iter((1, 2, 3))
    total = 0
    for value in it:
        total += value + next(it, 0)
    return x + total


@program(rand(3))
def format_builtin(x):
    return (
        x,
        format(3.14159, ".2f"),
        format(5, "03d"),
        format("a", ">3"),
        repr([1, "a"]),
    )


@program(rand(3))
def call_on_builtin_types(x):
    made = list((1, 2)), tuple([1]), set([1, 1]), dict(a=1), frozenset("aa"), bytes(2)
    return x, made, list(), tuple(), dict(), str(), int(), float(), bool()


@program(rand(3))
def object_sentinel(x):
    missing = object()
    found = {"a": 1}.get("b", missing)
    return x + 1 if found is missing else x
