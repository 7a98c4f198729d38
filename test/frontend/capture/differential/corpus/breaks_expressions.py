"""Breaks inside expressions: what waits on the stack is there afterwards."""

import collections
import functools
import operator

import torch

from differential.program import ints, program, rand


def log(value):
    """Breaks, and gives its argument back."""
    print("log", value if not isinstance(value, torch.Tensor) else "tensor")
    return value


def f(*args, **kwargs):
    return sum(args), sorted(kwargs), [kwargs[k] for k in sorted(kwargs)]


class Holder:
    def __init__(self, value=0):
        self.value = value
        self.items = [1, 2, 3]

    def __repr__(self):
        return "Holder()"

    def plus(self, n):
        return self.value + n

    def me(self):
        return self


@program(rand(3)).graphs(3)
def nested_calls(x):
    def g(v, nothing):
        return v * 2

    def h(v):
        return v - 1

    return f(x, g(x, print(1)), h(x) + 1)


@program(rand(3)).graphs(4)
def every_argument(x):
    return f(log(x + 1), log(x + 2), log(x + 3))


@program(rand(3))
def keyword_arguments(x):
    return f(x, a=x + 1, b=log(2), c=x * 2)


@program(rand(3))
def star_arguments(x):
    items = [x, x + 1]
    return f(*items, *log([x * 2]), **{"a": log(1)}, **log({"b": x}))


@program(rand(3))
def star_arguments_from_a_generator(x):
    return f(*(log(x + i) for i in range(3)))


@program(rand(3))
def list_comprehension(x):
    return [log(i) * x for i in range(3)]


@program(rand(3))
def nested_comprehension(x):
    return [[x * i + log(j) for j in range(2)] for i in range(2) if log(i) >= 0]


@program(rand(3))
def dict_comprehension(x):
    return {log(k): x + v for k, v in {"a": 1, "b": 2}.items()}


@program(rand(3))
def set_comprehension(x):
    return sorted({log(i) % 2 for i in range(4)}), x + 1


@program(rand(3))
def f_string(x):
    y = x + 1
    return f"{y.shape[0]}-{log('mid')!r:>8}-{y.dim()}", y * 2


@program(rand(3))
def f_string_with_format_spec(x):
    return f"{log(3.14159):.{log(2)}f}", x + 1


@program(rand(3))
def chained_comparison(x):
    n = x.shape[0]
    return 0 < log(n) < log(2) < log(100), 0 < log(n) <= log(9), x + 1


@program(rand(3))
def comparison_of_items(x):
    y = x + 1
    return (-1e9 < y[0].item() < 1e9), y * 2


@program(rand(3))
def boolean_operators(x):
    a = log(0) or log(x + 1)
    b = log(0) and log(1)
    c = not log(0)
    return a * 2, b, c, log(None) or log("") or log("last")


@program(rand(3))
def subscript(x):
    items = [x, x + 1, x + 2]
    return items[log(1)] * 2, items[log(0) : log(2)], x[log(1)], x[..., log(0) :]


@program(rand(3))
def subscript_is_stored(x):
    items = [x, x + 1]
    items[log(0)] = items[log(1)] * 2
    table = {}
    table[log("k")] = log(x + 1)
    return items, table


@program(rand(3))
def augmented_item(x):
    items = [x, x + 1]
    items[log(1)] += log(5)
    table = {"a": 1}
    table["a"] -= log(3)
    return items, table


@program(rand(3), Holder(2))
def augmented_attribute(x, holder):
    holder.value += log(3)
    y = x * holder.value
    log(holder).value *= 2
    return y + holder.value


@program(rand(3), Holder([1]))
def augmented_list_attribute(x, holder):
    same = holder.value
    holder.value += log([2, 3])
    return x * len(holder.value), same is holder.value


@program(rand(3))
def augmented_tensor(x):
    y = x * 1
    z = y
    y += log(2)
    y[log(0)] *= log(3)
    return y, z is y


@program(rand(3), True).then(rand(3), False)
def conditional_expression(x, flag):
    return (log(x + 1) if flag else log(x - 1)) * 2, log(1) if log(flag) else log(2)


@program(rand(3))
def lambda_body(x):
    g = lambda v: log(v) + x
    return g(1) * g(2)


@program(rand(3))
def lambda_is_made_around(x):
    g = (lambda v, n=log(2): v * n) if log(True) else None
    return g(x), g(x, log(5))


@program(rand(3))
def default_arguments(x):
    def g(v, scale=log(3), *, shift=log(x + 1)):
        return v * scale + shift

    return g(x), g(x, 1), g(x, shift=0)


@program(rand(3))
def annotations(x):
    def g(v: log("annotation") = 2) -> log("result"):
        return x * v

    return g(), g.__annotations__


@program(rand(3))
def decorator_expression(x):
    def times(n):
        print("factory", n)

        def decorate(fn):
            print("decorated", fn.__name__)
            return functools.wraps(fn)(lambda v: fn(v) * n)

        return decorate

    @times(log(3))
    @times(2)
    def g(v):
        return v + 1

    return g(x), g.__name__


@program(rand(3))
def displays(x):
    return [x + 1, log(2), x + 3], (log(1), x), {log("a"): x, "b": log(2)}, {log(1)}


@program(rand(3))
def displays_with_stars(x):
    return [*log([1]), x, *log((2,))], {**log({"a": x}), "b": 1, **log({"a": 2})}


@program(rand(3))
def unpacking(x):
    a, (b, *c) = log((x + 1, (x + 2, 3, 4)))
    return a * b, c


@program(rand(3))
def swap_around_a_break(x):
    a, b = x + 1, x + 2
    a, b = log(b), log(a)
    return a * 2, b * 3


@program(rand(3))
def binary_operators(x):
    return (x + log(1)) * (log(2) - x) / (log(x) ** 2 + 1)


@program(rand(3))
def power_and_matrix_product(x):
    return x @ log(x), x // log(2), x % log(2), -log(x), ~log(3), 7 << log(2)


@program(rand(3))
def walrus(x):
    if (n := log(3)) > 2 and (y := log(x + 1)) is not None:
        return y * n
    return x


@program(rand(3))
def slices(x):
    items = list(range(10))
    return items[log(1) : log(8) : log(2)], x[log(1) :] * 2


@program(rand(3))
def containment(x):
    return log(1) in [0, 1], log("a") not in {"a": x}, x + 1, log(x) is x


@program(rand(3))
def method_chain(x):
    return Holder(x + 1).me().plus(log(1)) * log(Holder(2)).me().plus(x)


@program(rand(3))
def tensor_method_chain(x):
    return x.add(log(1)).mul(log(2)).clamp(min=log(-1), max=log(1)).sum()


@program(rand(3))
def assertion(x):
    y = x + 1
    assert log(y.shape[0]) == 3, log("not evaluated")
    return y * 2


@program(rand(3))
def assertion_fails(x):
    y = x + 1
    assert log(y.shape[0]) == 4, log("message")
    return y * 2


@program(rand(3))
def deletions(x):
    items, table = [1, 2, 3], {"a": 1, "b": 2}
    del items[log(0)], table[log("a")]
    holder = log(Holder())
    del log(holder).items
    return x + len(items), items, table, hasattr(holder, "items")


@program(rand(3))
def large_stack(x):
    return f(
        *(x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7),
        *(x + 8, x + 9, x + 10, log(x + 11), x + 12, x + 13, x + 14, log(x + 15)),
        a=[x, [x + 1, [x + 2, [x + 3, [x + 4, log(1)]]]]],
        b={"a": x, "b": {"c": (x, log(2), x + 1)}},
    )


@program(rand(3))
def deep_stack(x):
    return x + (x + (x + (x + (x + (x + (x + (x + log(1))))))))


@program(rand(3)).graphs(3)
def stack_holds_views_and_their_base(x):
    return [x, x[:2], x.view(3, 1), log(x.add_(1)), x[1:]]


@program(rand(3))
def item_in_nested_expressions(x):
    return torch.stack([x * x[0].item(), x + x[1].item(), x.sum() * x]).sum(0)


@program(ints(4, high=4))
def items_as_indices(n):
    items = ["a", "b", "c", "d"]
    return [items[n[0].item()], items[n[1]], items[int(n[2])]], n + 1


@program(rand(3))
def key_function(x):
    return sorted([3, 1, 2], key=lambda v: -log(v)), max([1, 2], key=log), x + 1


@program(rand(3))
def callbacks(x):
    a = list(map(log, [x + 1, x + 2]))
    b = list(filter(lambda v: log(v) % 2, [1, 2, 3]))
    c = functools.reduce(lambda p, q: p + log(q), [x, x + 1, x + 2])
    return a, b, c * 2


@program(rand(3))
def callback_of_sum_and_any(x):
    return sum(log(v) for v in (1, 2)), any(log(v) for v in (0, 1, 2)), x + 1


@program(rand(3))
def default_dict_factory(x):
    table = collections.defaultdict(lambda: log(x + 1))
    return table["a"] * 2, table["a"] is table["a"], len(table)


@program(rand(3))
def operator_functions(x):
    return operator.add(x, log(1)), operator.itemgetter(log(1))([x, x * 2])


@program(rand(3))
def string_methods(x):
    return "-".join(log(v) for v in "ab"), "{}{}".format(log(1), log("b")), x + 1
