"""Comprehensions."""

from differential.program import program, rand


@program(rand(3), 3).then(rand(3), 0)
def of_a_range(x, n):
    return [x * i for i in range(n)]


@program(rand(3))
def with_conditions(x):
    return [x + i for i in range(6) if i % 2 if i > 1], [i or -1 for i in range(2)]


@program(rand(3))
def nested_loops(x):
    return [x * (i + j) for i in range(2) for j in range(i + 1)]


@program(rand(3))
def nested_comprehensions(x):
    return [[x * i + j for j in range(2)] for i in range(2)]


@program(rand(3))
def of_a_dict(x):
    d = {name: x * i for i, name in enumerate("abc")}
    return d, {v: k for k, v in {"a": 1, "b": 2}.items()}, {i: i for i in range(0)}


@program(rand(3))
def of_a_set(x):
    return x, {i % 3 for i in range(10)}, {c.upper() for c in "abca"}


@program(rand(3))
def in_a_call(x):
    return sum(x * i for i in range(3)), max(i * 2 for i in (1, 5, 3))


@program(rand(3))
def over_tensors(x):
    parts = [x, x + 1]
    return [p * 2 for p in parts], sum(p.sum() for p in parts), [v for v in x]


@program(rand(3))
def reads_outer_names(x):
    factor = 3
    return [x * factor + i for i in range(2)], {i: factor for i in range(2)}


@program(rand(3))
def names_stay_inside(x):
    i = 100
    values = [i for i in range(3)]
    return x + i, values


@program(rand(3))
def walrus_escapes(x):
    values = [y := x * i for i in range(3)]
    return values, y


@program(rand(3))
def with_side_effects(x):
    log = []
    result = [log.append(i) or x + i for i in range(3)]
    return result, log


@program(rand(3))
def flattened(x):
    nested = [[x, x + 1], [], [x + 2]]
    return [item for group in nested for item in group]


@program(rand(3))
def unpacked_targets(x):
    pairs = [(1, (2, 3)), (4, (5, 6))]
    return [x * a + b - c for a, (b, c) in pairs], [k for k, *_ in pairs]


@program(rand(3))
def with_conditional_value(x):
    return [x if i % 2 else -x for i in range(3)]


@program(rand(3))
def of_strings(x):
    return x, [c * 2 for c in "ab"], "".join(c for c in "hello" if c != "l")


@program(rand(3))
def closures_inside(x):
    return [f(x) for f in [lambda v, k=k: v + k for k in range(3)]]


@program(rand(3), [1, 2, 3])
def changes_argument(x, items):
    return [items.pop() * x for _ in range(len(items))]


@program(rand(3))
def raises_inside(x):
    return [x / (1 // i) for i in (1, 0)]


@program(rand(3))
def raises_and_is_caught(x):
    try:
        return [10 // i for i in (2, 0)]
    except ZeroDivisionError as error:
        return x, str(error)


@program(rand(3))
def sorted_and_zipped(x):
    keys = sorted({k for k in "cab"})
    return {k: x * i for k, i in zip(keys, range(3), strict=True)}


@program(rand(3), [rand(3), None, rand(3)])
def filters_none(x, items):
    return [x + item for item in items if item is not None]


@program(rand(3))
def transposed(x):
    rows = [[1, 2, 3], [4, 5, 6]]
    return (
        x,
        [[row[i] for row in rows] for i in range(3)],
        list(zip(*rows, strict=True)),
    )


class Holder:
    values = [i * 2 for i in range(3)]

    def scaled(self, x):
        return [x * v for v in self.values]


@program(rand(3), Holder())
def in_a_method(x, holder):
    return holder.scaled(x)
