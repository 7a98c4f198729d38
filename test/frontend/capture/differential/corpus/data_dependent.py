"""Results that depend on the values of tensors."""

import torch

from differential.program import ints, program, rand


@program(rand(3)).then(-rand(3))
def branch_on_value(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


@program(rand(3))
def item(x):
    return x * x[0].item()


@program(rand(3))
def item_in_arithmetic(x):
    n = x.argmax().item()
    return x[n], n + 1, type(n)


@program(ints(4))
def tolist(n):
    return sum(n.tolist()), n.tolist(), n.float().tolist()


@program(rand(3))
def conversions(x):
    return float(x.sum()), int(x[0]), bool(x[1] > 0), x[2].item() + 1


@program(ints(3, high=5))
def tensor_as_index(n):
    items = [10, 11, 12, 13, 14]
    return items[n[0]], [0] * n[1]


@program(ints(3, high=5))
def tensor_as_range(n):
    total = 0
    for i in range(n[0]):
        total += i
    return n + total


@program(rand(4))
def nonzero(x):
    return (x > 0).nonzero(), torch.nonzero(x > 0, as_tuple=True), torch.argwhere(x < 0)


@program(rand(4))
def masked_select(x):
    return x[x > 0], x.masked_select(x < 0), torch.where(x > 0)


@program(ints(6, high=3))
def unique(n):
    return n.unique(), torch.unique(n, return_counts=True), n.unique_consecutive()


@program(rand(3))
def while_on_value(x):
    steps = 0
    while x.abs().max() > 0.1:
        x = x / 2
        steps += 1
    return x, steps


@program(rand(3))
def assertion_on_value(x):
    assert (x < 100).all(), "too large"
    return x + 1


@program(rand(3))
def assertion_on_value_fails(x):
    assert x.sum() > 1000, "too small"
    return x + 1


@program(rand(3))
def short_circuits(x):
    return x if (x > 0).any() and (x < 0).any() else -x


@program(rand(3), rand(3))
def equal(x, y):
    return torch.equal(x, y), torch.equal(x, x), torch.allclose(x, x + 1e-9)


@program(rand(2))
def ambiguous_truth(x):
    if x:
        return 1
    return 2


@program(rand(3))
def minimum_of_tensors(x):
    return max(x[0], x[1], x[2]), min(x), sorted(x)[0]


@program(rand(3))
def contained(x):
    return x[0] in x, 5.0 in x


@program(rand(3))
def list_membership_by_value(x):
    y = x[0]
    return y in [y, 1], [1, 2].count(3), x


@program(torch.tensor(3), rand(5))
def slice_by_tensor(n, x):
    return x[:n], x[n], x[n:]


@program(rand(3))
def printed_value(x):
    y = x * 0
    print("sum", y.sum().item())
    return y + 1


@program(rand(3))
def printed_between(x):
    y = x + 1
    print("between")
    z = y * 2
    print("after")
    return z


@program(rand(3))
def break_in_a_callee(x):
    def report(y):
        print(y.shape[0])
        return y * 2

    return report(x + 1) + 1


@program(rand(3))
def break_in_a_loop(x):
    for i in range(3):
        x = x + 1
        if x.sum() > 1e9:
            break
        x = x * 2
    return x, i


@program(rand(3), [])
def break_after_effects(x, log):
    log.append(1)
    y = x * 2
    n = y.sum().item()
    log.append(2)
    return y + n


@program(rand(3))
def break_inside_try(x):
    try:
        y = x + 1
        print("in try")
        raise ValueError("after the break")
    except ValueError as error:
        return y * 2, str(error)
    finally:
        print("finally")


@program(rand(3, requires_grad=True))
def break_inside_no_grad(x):
    with torch.no_grad():
        y = x * 2
        print("inside")
        z = y + 1
    return z, x * 3


@program(rand(3))
def break_with_closure(x):
    count = 0

    def bump():
        nonlocal count
        count += 1
        print(count)

    bump()
    x = x + count
    bump()
    return x * count


@program(rand(3))
def break_on_the_stack(x):
    return [x + 1, (x * 2, x.sum().item()), x - 1]


@program(rand(3))
def break_in_a_comprehension(x):
    return [x * v.item() for v in x]


@program(rand(3))
def break_in_a_generator(x):
    def values():
        for v in x:
            yield v.item()

    return x + sum(values())


@program(rand(3))
def item_with_branch(x):
    n = int(x.abs().sum().item())
    return x * 2 if n > 100 else x * 3


@program(rand(4), ints(4, high=2))
def boolean_index_assignment(x, n):
    x[n > 0] = x[n > 0] * 2
    return x.sum()


@program(rand(3, 2))
def rows_by_condition(x):
    kept = [row for row in x if row.sum() > 0]
    return torch.stack(kept) if kept else x[:0]


@program(ints(4, high=4))
def bincount_without_length(n):
    return n.bincount(), torch.repeat_interleave(n)


@program(rand(3))
def cond(x):
    return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))
