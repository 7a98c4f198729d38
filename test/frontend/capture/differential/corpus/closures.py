"""Closures, nonlocal, globals."""

import torch

from differential.program import program, rand

COUNT = 0
SCALE = 2.0
TABLE = {"factor": 3, "items": [1, 2]}
LOG = []
BUFFER = torch.ones(3)


@program(rand(3))
def captured_value(x):
    y = x * 2

    def inner(z):
        return z + y

    return inner(x)


@program(rand(3))
def nonlocal_counter(x):
    count = 0

    def bump(y):
        nonlocal count
        count += 1
        return y + count

    return bump(bump(bump(x))), count


@program(rand(3))
def late_binding(x):
    functions = [lambda v: v * i for i in range(3)]
    bound = [lambda v, i=i: v * i for i in range(3)]
    return [f(x) for f in functions], [f(x) for f in bound]


@program(rand(3))
def rebound_after_capture(x):
    n = 1

    def inner():
        return x * n

    first = inner()
    n = 5
    return first, inner()


@program(rand(3))
def shared_cell(x):
    state = 1

    def grow():
        nonlocal state
        state *= 2

    def read():
        return state

    grow()
    grow()
    return x * read(), state


@program(rand(3))
def three_levels(x):
    a = 1

    def outer():
        b = 2

        def inner():
            nonlocal b
            b += a
            return x * b

        return inner() + b

    return outer()


@program(rand(3))
def returned_closure(x):
    y = x * 2

    def inner(z):
        return y + z

    return inner(x), y


def make_adder(n):
    def add(x):
        return x + n

    return add


def make_counter():
    count = 0

    def bump(x):
        nonlocal count
        count += 1
        return x + count

    return bump


ADD_TWO = make_adder(2)


@program(rand(3))
def closures_from_outside(x):
    return make_adder(1)(x), ADD_TWO(x)


@program(rand(3))
def closure_made_and_called(x):
    bump = make_counter()
    return bump(x), bump(x), bump(x)


def with_free_variable():
    weight = torch.full((3,), 2.0)
    calls = 0

    def inner(x):
        nonlocal calls
        calls += 1
        return x * weight + calls

    return inner


@program(rand(3))
def tensor_in_a_cell(x):
    return with_free_variable()(x)


@program(rand(3))
def reads_globals(x):
    return x * SCALE + TABLE["factor"] + len(TABLE["items"])


@program(rand(3))
def global_counter(x):
    global COUNT
    COUNT += 1
    return x + COUNT


@program(rand(3))
def global_list(x):
    LOG.append(len(LOG))
    return x + len(LOG)


@program(rand(3))
def global_list_keeps_tensor(x):
    LOG.append(x * 2)
    return LOG[-1] + 1


@program(rand(3))
def global_table(x):
    TABLE["factor"] += 1
    TABLE["items"].append(TABLE["factor"])
    TABLE["new"] = x + 1
    return x * TABLE["factor"]


@program(rand(3))
def global_tensor(x):
    return x + BUFFER


@program(rand(3))
def global_tensor_in_place(x):
    BUFFER.add_(1)
    return x * BUFFER


@program(rand(3))
def global_tensor_rebound(x):
    global BUFFER
    BUFFER = BUFFER + x
    return BUFFER * 2


@program(rand(3))
def global_made_and_deleted(x):
    global made_here
    made_here = 5
    y = x * made_here
    del made_here
    return y


@program(rand(3))
def global_is_missing(x):
    return x + there_is_no_such_global


def bump_global():
    global COUNT
    COUNT += 10
    return COUNT


@program(rand(3))
def global_changed_by_callee(x):
    before = COUNT
    bump_global()
    return x + COUNT - before, COUNT


@program(rand(3))
def global_changed_in_loop(x):
    global COUNT
    for _ in range(3):
        COUNT += 1
        x = x * COUNT
    return x


@program(rand(3))
def global_shadowed(x):
    SCALE = 7
    return x * SCALE


@program(rand(3))
def empty_cell(x):
    def inner():
        return later

    try:
        inner()
    except NameError as error:
        message = str(error)
    later = 3
    return x + inner(), message


@program(rand(3))
def deleted_cell(x):
    n = 2

    def inner():
        return n

    y = x * inner()
    del n
    return y


@program(rand(3))
def recursive_closure(x):
    def fact(n):
        return 1 if n < 2 else n * fact(n - 1)

    return x + fact(5)


@program(rand(3))
def memo_in_closure(x):
    memo = {}

    def fibonacci(n):
        if n not in memo:
            memo[n] = n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
        return memo[n]

    return x + fibonacci(10), memo


@program(rand(3))
def callbacks(x):
    seen = []

    def apply(value, callback):
        callback(value)
        return value + 1

    y = apply(x, seen.append)
    z = apply(y, lambda v: seen.append(v * 2))
    return z, seen


@program(rand(3))
def cell_holds_argument(x):
    def grow():
        nonlocal x
        x = x * 2
        return x

    return grow(), grow(), x


@program(rand(3), [1, 2])
def closure_over_list(x, items):
    def add(item):
        items.append(item)
        return sum(items)

    return x + add(3), x + add(4), items
