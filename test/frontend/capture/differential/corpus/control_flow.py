"""Branches and loops."""

import torch

from differential.program import program, rand


@program(rand(3), True).then(rand(3), False)
def branch_on_argument(x, flag):
    if flag:
        return x + 1
    return x - 1


@program(rand(3), 1).then(rand(3), 0).then(rand(3), -4)
def chain_of_branches(x, n):
    if n > 0:
        y = x * 2
    elif n == 0:
        y = x * 3
    else:
        y = x * n
    return y


@program(rand(3)).then(rand(4)).then(rand(2, 2))
def branch_on_shape(x):
    if x.shape[0] == 3:
        return x.sum()
    if x.dim() == 2:
        return x.t()
    return x


@program(rand(3), None).then(rand(3), rand(3))
def optional_argument(x, bias):
    return x if bias is None else x + bias


@program(rand(3), 3).then(rand(3), 0)
def for_over_range(x, n):
    for i in range(n):
        x = x * i + 1
    return x


@program(rand(3))
def for_with_break(x):
    for i in range(10):
        if i == 3:
            break
        x = x + i
    return x, i


@program(rand(3))
def for_with_continue(x):
    for i in range(5):
        if i % 2:
            continue
        x = x * (i + 1)
    return x


@program(rand(3), 5).then(rand(3), 1)
def for_with_else(x, stop):
    for i in range(3):
        if i == stop:
            break
    else:
        x = -x
    return x, i


@program(rand(3), 4).then(rand(3), 0)
def while_loop(x, n):
    while n:
        x = x + n
        n -= 1
    return x, n


@program(rand(3))
def while_with_else(x):
    n = 3
    while n > 0:
        n -= 1
        if n == 5:
            break
    else:
        x = x + 100
    return x


@program(rand(3))
def while_true_with_break(x):
    n = 0
    while True:
        n += 1
        x = x + n
        if n > 2:
            break
    return x


@program(rand(3))
def nested_loops(x):
    total = 0
    for i in range(3):
        for j in range(i):
            if j == 1:
                break
            total += i * j + 1
        else:
            total += 10
    return x + total


@program(rand(3), 2).then(rand(3), 7)
def conditional_expression(x, n):
    return x * (n if n > 5 else -n)


@program(rand(3), 0, 5).then(rand(3), 3, 5)
def and_or(x, a, b):
    return x + (a or b), x * (a and b), not a, a and b or 9


@program(rand(3), 2).then(rand(3), 5)
def chained_comparison(x, n):
    return x if 1 < n <= 3 else -x, 1 < n < 3 != 4


@program(rand(3), [1, 2, 3]).then(rand(3), [])
def truth_of_containers(x, items):
    if items:
        x = x + len(items)
    if not {}:
        x = x * 2
    return x


@program([rand(3), rand(3), rand(3)]).then([rand(3)])
def for_over_tensors_of_list(items):
    total = 0
    for item in items:
        total = total + item
    return total


@program(rand(3, 2))
def for_over_rows(x):
    total = torch.zeros(2)
    for row in x:
        total = total + row
    return total


@program(rand(4)).then(rand(2))
def for_over_size(x):
    y = x
    for i in range(x.shape[0]):
        y = y + x[i] * i
    return y


@program(rand(3), 3).then(rand(3), 6)
def early_return_in_loop(x, n):
    for i in range(5):
        x = x + 1
        if i == n:
            return x, "early"
    return x, "late"


@program(rand(3))
def walrus(x):
    if (n := x.shape[0]) > 2:
        x = x * n
    values = [last := i * 2 for i in range(3)]
    return x, values, last


@program(rand(3))
def walrus_in_while(x):
    items = [1, 2, 3]
    while (n := len(items)) > 1:
        x = x + n * items.pop()
    return x, items, n


@program(rand(3), 3).then(rand(3), 30)
def asserts(x, n):
    assert n < 10, f"too large: {n}"
    assert x.shape[0] == 3
    return x + n


@program(rand(3))
def deleted_names(x):
    y = x + 1
    del x
    items = [1, 2, 3, 4]
    del items[1], items[-1]
    table = {"a": 1, "b": 2}
    del table["a"]
    return y, items, table


@program(rand(3))
def unbound_local(x):
    if x.dim() == 7:
        y = x
    return y


@program(rand(3))
def loop_variable_survives(x):
    for i, name in enumerate("abc"):
        x = x + i
    return x, i, name


@program(rand(3), 2).then(rand(3), 3)
def swap_and_fibonacci(x, n):
    a, b = x, x * 2
    for _ in range(n):
        a, b = b, a + b
    return a, b


@program(rand(3), 1.5).then(rand(3), 2.5).then(rand(3), 3.5)
def float_argument(x, scale):
    return x * scale if scale < 3 else x + scale


@program(rand(3), "relu").then(rand(3), "tanh").then(rand(3), "none")
def string_argument(x, name):
    if name == "relu":
        return torch.relu(x)
    elif name == "tanh":
        return torch.tanh(x)
    return x


@program(rand(2)).then(rand(3)).then(rand(5)).then(rand(1)).then(rand(0))
def sizes_that_change(x):
    return x * x.shape[0] + x.numel()


@program(2, 3).then(2.0, 3).then("a", 3)
def no_tensors(a, b):
    return a * b


@program(rand(3))
def pass_and_ellipsis(x):
    if x.dim() > 4:
        pass
    else:
        ...
    return x[...], ...


@program(rand(3), [3, 1, 2])
def bubble_sort(x, items):
    for i in range(len(items)):
        for j in range(len(items) - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
    return x * items[0], items


@program(rand(3), 17).then(rand(3), 18)
def collatz(x, n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return x + steps
