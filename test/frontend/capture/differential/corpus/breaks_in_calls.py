"""Breaks inside functions that are called: every caller goes on after its call."""

import functools
import itertools
import threading

import torch

from differential.program import compiles, program, rand

CALLS = []


def speak(text):
    print(text)
    return text


def level1(x):
    x = x + 1
    y = level2(x, scale=2)
    return y * 3


def level2(x, *, scale):
    x = x * scale
    parts = [level3(x), scale]
    return parts[0] + parts[1]


def level3(x):
    y = level4(x) if x.dim() else x
    return y - 1


def level4(x, *rest, **options):
    x = x.abs()
    speak("level 4")
    return x.sqrt()


def traced(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        print("before", fn.__name__)
        result = fn(*args, **kwargs)
        print("after", fn.__name__)
        return result

    return wrapper


@traced
def decorated(x, n=2):
    return x * n


@program(rand(3)).graphs(2)
def four_levels_deep(x):
    return level1(x * 2) + 1


@program(rand(3))
def the_same_callee_twice(x):
    return level1(x) + level1(x + 1)


@program(rand(3)).graphs(3)
def callee_without_a_break_between(x):
    def pure(v):
        return v.sin() * 2

    y = pure(x)
    speak("a")
    z = pure(y)
    speak("b")
    return pure(z)


@program(rand(3))
def callee_breaks_at_its_start(x):
    def g(v):
        print("g")
        return v * 2

    return g(x + 1) + g(x + 2)


@program(rand(3))
def callee_breaks_at_its_end(x):
    def g(v):
        v = v * 2
        print("g")

    y = x + 1
    nothing = g(y)
    return y * 2, nothing


@program(rand(3))
def decorators(x):
    return decorated(x + 1) + decorated(x, n=3), decorated.__name__


@program(rand(3))
def closure_shares_cells_with_the_caller(x):
    count = 0
    y = x

    def bump(n):
        nonlocal count, y
        count += n
        print("bump", count)
        y = y + count

    bump(1)
    z = y * count
    count += 10
    bump(2)
    return y, z, count


@program(rand(3))
def nonlocal_changes_on_both_sides(x):
    state = 1

    def inner():
        nonlocal state
        state *= 2
        speak("inner")
        state += 1
        return state

    state += 1
    speak("outer")
    a = inner()
    state += a
    return x * state, inner(), state


@program(rand(3))
def cells_of_three_levels(x):
    def outer():
        a = x + 1

        def middle():
            b = a * 2

            def innermost():
                nonlocal a, b
                a = a + 1
                print("innermost")
                b = b + a
                return b

            result = innermost()
            return result, b

        pair = middle()
        return pair, a

    return outer()


@program(rand(3))
def returned_closure_after_a_break(x):
    total = x

    def add(v):
        nonlocal total
        total = total + v
        return total

    print("made")
    add(1)
    return add, add(2), total


@program(rand(3))
def cell_is_unbound_across_a_break(x):
    def read():
        return late + 1

    print("before")
    try:
        read()
    except NameError as error:
        text = str(error)
    late = x * 2
    print("after")
    return read(), text


@program(rand(3))
def cell_is_deleted_across_a_break(x):
    cell = x + 1

    def read():
        return cell

    y = read() * 2
    del cell
    print("deleted")
    try:
        return read()
    except NameError as error:
        return y, type(error)


@program(rand(3))
def recursion(x):
    def f(v, n):
        if n == 0:
            print("bottom")
            return v
        return f(v + n, n - 1) * 2

    return f(x, 3)


@program(rand(3))
def recursion_with_a_break_at_each_level(x):
    def f(v, n):
        print(n)
        if n == 0:
            return v
        y = f(v + 1, n - 1)
        print(n)
        return y * 2

    return f(x, 3)


@program(rand(3))
def mutual_recursion(x):
    def even(v, n):
        print("even", n)
        return v if n == 0 else odd(v + 1, n - 1)

    def odd(v, n):
        return even(v * 2, n - 1)

    return even(x, 4)


@program(rand(3))
def partial(x):
    def g(v, a, b=1):
        print(a, b)
        return v * a + b

    return functools.partial(g, a=2)(x), functools.partial(g, x, 3)(b=x)


@program(rand(3))
def cached_function(x):
    @functools.lru_cache
    def g(n):
        print("computed", n)
        return n + 1

    return x * g(1) + g(1) + g(2), g.cache_info().hits


@program(rand(3))
def generator_that_breaks(x):
    def values():
        print("start")
        yield x
        print("middle")
        yield x + 1
        print("end")

    return [v * 2 for v in values()]


@program(rand(3))
def generator_delegates(x):
    def inner():
        got = yield x
        print("got", got)
        return x * 2

    def outer():
        result = yield from inner()
        print("result")
        yield result

    made = outer()
    first = next(made)
    return first, made.send(7), next(made, "over")


@program(rand(3))
def generator_is_alive_across_breaks(x):
    def values():
        n = 0
        try:
            while True:
                n += 1
                yield x * n
        finally:
            CALLS.append(n)

    made = values()
    a = next(made)
    print("one")
    b = next(made)
    print("two")
    c = next(made)
    made.close()
    return a + b + c, list(CALLS), next(made, None)


@program(rand(3))
def generator_throws(x):
    def values():
        while True:
            try:
                yield x
            except ValueError as error:
                print("caught", error)
                yield x * 2

    made = values()
    next(made)
    print("break")
    y = made.throw(ValueError("thrown"))
    return y + 1, next(made)


@program(rand(3))
def zip_of_generators(x):
    def numbers(start):
        for i in range(start, start + 3):
            print("number", i)
            yield i

    total = x
    for a, b in zip(numbers(0), itertools.takewhile(lambda v: v < 7, numbers(5))):
        total = total + a * b
    return total


@program(rand(3), [3, 1, 2])
def callback_of_sort(x, items):
    def key(v):
        print("key", v)
        return -v

    items.sort(key=key)
    return x * items[0]


@program(rand(3))
def callback_of_map(x):
    def g(v):
        v = v + 1
        print("g")
        return v * 2

    return list(map(g, [x, x + 1])), tuple(map(g, (x,)))


@program(rand(3))
def callback_of_an_unknown_function(x):
    seen = []
    for _ in functools.reduce(lambda a, b: [*a, b], "abc", []):
        seen.append(x * len(seen))
    import re

    text = re.sub("[ab]", lambda m: speak(m.group().upper()), "abc")
    return seen, text


@program(rand(3))
def arguments_are_changed_by_the_callee(x):
    def fill(items, table):
        items.append(x + 1)
        print("filling")
        table["n"] = len(items)
        items.append(x * 2)

    items, table = [], {}
    fill(items, table)
    items.append(table["n"])
    return items, table


@program(rand(3))
def callee_raises_after_a_break(x):
    def g(v):
        v = v + 1
        print("g")
        raise KeyError("g")

    try:
        g(x)
    except KeyError as error:
        y = x * 2
    return y


@program(rand(3))
def lambda_in_a_default_argument(x):
    def g(v, h=lambda u: speak("h") and u * 2):
        return h(v) + 1

    return g(x), g(x, lambda u: u - 1)


@program(rand(3)).graphs(3)
def varied_arguments_of_one_callee(x):
    def g(v, *args, scale=1, **options):
        y = v * scale + sum(args)
        print(sorted(options))
        return y

    return g(x, 1, 2, scale=3, a=1, b=2) * 2


@program(rand(3))
def callee_returns_many(x):
    def g(v):
        print("g")
        return v + 1, [v * 2, {"k": v}], None

    a, (b, c), d = g(x)
    return a + b + c["k"], d


@program(rand(3))
def disabled_callee(x):
    @torch._dynamo.disable
    def g(v):
        return v * 2

    return g(x + 1) + 1


@program(rand(3))
def torch_callee_that_breaks(x):
    y = torch.nn.functional.dropout(x, 0.0)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        z = torch.rand(3)
    return y + z


@compiles(rand(3))
def calls_itself_compiled(compile, x):
    @compile
    def f(v, n):
        v = v + 1
        print(n)
        if n == 0:
            return v
        return f(v * 2, n - 1) + 1

    return f(x, 3), f(x, 1)


@compiles(rand(3))
def compiled_calls_compiled_with_breaks(compile, x):
    @compile
    def inner(v):
        v = v + 1
        print("inner")
        return v * 2

    @compile
    def outer(v):
        y = inner(v)
        print("outer")
        return inner(y) + 1

    return outer(x), inner(x), outer(x)


@compiles(rand(3))
def two_threads(compile, x):
    gate = threading.Barrier(2, timeout=30)
    seen = {}

    @compile
    def f(v, n):
        y = v * n
        gate.wait()
        z = y + n
        gate.wait()
        return z * 2

    def work(n):
        try:
            seen[n] = [f(x, n), f(x + 1, n)]
        except Exception as error:
            seen[n] = type(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [seen[1], seen[2]]


@compiles(rand(3))
def compiled_generator_breaks(compile, x):
    @compile
    def f(v):
        v = v + 1
        print("in")
        yield v
        print("out")
        yield v * 2

    return list(f(x))
