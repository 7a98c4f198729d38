"""Breaks inside loops; what a loop walks goes on where it was."""

import collections
import itertools

import torch

from differential.program import ints, program, rand

HISTORY = []


class Countdown:
    """A user iterator."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


class Talking(Countdown):
    """A user iterator that breaks itself."""

    def __next__(self):
        print("next", self.n)
        return super().__next__()


class Indexed:
    """Is iterated over by its items."""

    def __getitem__(self, i):
        if i == 3:
            raise IndexError(i)
        return i * 10


@program(rand(3)).graphs(4)
def over_a_range(x):
    for i in range(3):
        x = x + 1
        print(i)
        x = x * 2
    return x


@program(rand(3)).graphs(6)
def index_is_used(x):
    for i in range(5):
        x = x + i
        print(i)
    return x, i


@program(rand(3)).graphs(4)
def over_a_list(x):
    for name in ["a", "b", "c"]:
        x = x.sin()
        print(name)
    else:
        print("done")
    return x.cos()


@program(rand(3), [1, 2, 3]).then(rand(3), [4]).then(rand(3), [])
def over_a_list_argument(x, items):
    for item in items:
        x = x * item
        print(item)
    return x


@program(rand(3), [1, 2, 3])
def list_grows_while_walked(x, items):
    for item in items:
        print(item)
        if len(items) < 6:
            items.append(item * 2)
        x = x + item
    return x


@program(rand(3))
def over_a_tuple_of_tensors(x):
    total = 0
    for part in (x, x + 1, x + 2):
        print("part")
        total = total + part
    return total


@program(rand(3)).graphs(6)
def over_a_dict(x):
    for key, value in {"a": 1, "b": 2}.items():
        print(key)
        x = x + value
    return x


@program(rand(3), {"a": 1, "b": 2, "c": 3})
def dict_is_changed_while_walked(x, table):
    try:
        for key in table:
            print(key)
            table[key + key] = 1
    except RuntimeError as error:
        return x + len(table), str(error)


@program(rand(3)).graphs(6)
def over_zip_and_enumerate(x):
    for i, (a, b) in enumerate(zip([1, 2, 3], "abc")):
        print(i, a, b)
        x = x + a
    return x


@program(rand(3))
def over_a_map(x):
    for y in map(lambda n: x + n, [1, 2]):
        print("mapped")
        x = x * y
    return x


@program(rand(3))
def over_reversed_and_sorted(x):
    for a, b in zip(reversed([1, 2, 3]), sorted([3, 1, 2])):
        print(a, b)
        x = x * a + b
    return x


@program(rand(3))
def over_a_generator(x):
    def values():
        for i in range(3):
            yield x + i

    total = 0
    for v in values():
        print("value")
        total = total + v
    return total


@program(rand(3))
def over_a_generator_that_breaks(x):
    def values():
        for i in range(3):
            print("made", i)
            yield x + i

    total = 0
    for v in values():
        total = total + v
    return total


@program(rand(3))
def over_a_generator_expression(x):
    total = 0
    for v in (x * i for i in range(3)):
        print("value")
        total = total + v
    return total


@program(rand(3))
def over_a_user_iterator(x):
    for n in Countdown(3):
        print(n)
        x = x + n
    return x


@program(rand(3))
def over_a_user_iterator_that_breaks(x):
    for n in Talking(3):
        x = x + n
    return x


@program(rand(3))
def over_items_by_index(x):
    for n in Indexed():
        print(n)
        x = x + n
    return x


@program(rand(3))
def over_iter_with_sentinel(x):
    waiting = [3, 2, 1, 0, 5]
    for n in iter(lambda: waiting.pop(0), 0):
        print(n)
        x = x + n
    return x, waiting


@program(rand(3))
def over_itertools(x):
    for a, b in itertools.product([1, 2], [3, 4]):
        print(a, b)
        x = x + a * b
    for n in itertools.islice(itertools.count(5), 2):
        print(n)
        x = x * n
    for n in itertools.chain([1], (2,)):
        print(n)
        x = x - n
    return x


@program(rand(3))
def over_rows_of_a_tensor(x):
    total = torch.zeros(())
    for v in x:
        print("row")
        total = total + v
    return total


@program(rand(3)).graphs(4)
def while_loop(x):
    n = 0
    while n < 4:
        x = x + 1
        print("step")
        n += 1
    return x, n


@program(rand(3))
def while_on_item(x):
    steps = 0
    while x.abs().sum().item() > 0.5 and steps < 20:
        x = x / 2
        steps += 1
    else:
        steps = -steps
    return x, steps


@program(rand(3))
def while_true_with_break(x):
    n = 0
    while True:
        n += 1
        x = x + 1
        if n == 2:
            print("skip")
            continue
        print("step")
        if n == 4:
            break
        x = x * 2
    else:
        x = x - 100
    return x, n


@program(rand(3))
def continue_and_else(x):
    for i in range(4):
        if i % 2:
            print("odd", i)
            continue
        x = x + i
    else:
        print("else")
        x = x * 2
    return x


@program(rand(3))
def break_leaves_before_the_else(x):
    for i in range(4):
        print(i)
        if i == 2:
            break
        x = x + i
    else:
        x = x * 100
    return x, i


@program(rand(3))
def nested_loops(x):
    for i in range(2):
        x = x + i
        for j in range(2):
            print(i, j)
            x = x * (j + 1)
        x = x - 1
    return x


@program(rand(3))
def nested_loops_with_else(x):
    for i in range(3):
        for j in range(3):
            print(i, j)
            if j == i:
                break
        else:
            continue
        if i == 1:
            break
        x = x + j
    return x, i, j


@program(rand(3))
def loop_in_a_loop_over_the_same_iterator(x):
    numbers = iter(range(6))
    for a in numbers:
        for b in numbers:
            print(a, b)
            x = x + b
            if b % 2:
                break
    return x, list(numbers)


@program(rand(3)).graphs(4)
def a_thousand_rounds(x):
    for _ in range(1000):
        x = x * 0.999
        torch._dynamo.graph_break()
    return x


@program(rand(3))
def a_thousand_rounds_of_while(x):
    n = 0
    while n < 1000:
        n = n + 1
        torch._dynamo.graph_break()
    return x + n


@program(rand(3))
def break_in_the_header(x):
    def limit():
        print("limit")
        return 3

    for i in range(limit()):
        x = x + i
    n = 0
    while n < limit():
        n += 1
    return x * n


@program(rand(3))
def loop_variable_survives(x):
    for i, row in enumerate([x, x + 1]):
        print(i)
    return row * i


@program(rand(3))
def unbound_loop_variable(x):
    for i in []:
        x = x + 1
    print("after")
    try:
        return x + i
    except UnboundLocalError as error:
        return x, str(error)


@program(rand(3))
def results_are_collected(x):
    results, seen = [], set()
    for i in range(3):
        y = x + i
        print(i)
        results.append(y)
        seen.add(i)
    return torch.stack(results), seen, results


@program(rand(3))
def partially_consumed_iterator(x):
    numbers = iter([1, 2, 3, 4, 5])
    first = next(numbers)
    print(first)
    second = next(numbers)
    x = x * second
    print(second)
    return x, list(numbers)


@program(rand(3))
def partially_consumed_generator(x):
    def values():
        received = yield x
        print("received", received)
        yield x + received
        yield x * 2

    made = values()
    a = next(made)
    print("between")
    b = made.send(5)
    print("again")
    return a, b, list(made)


@program(rand(3))
def several_iterators_are_alive(x):
    a, b, c = iter([1, 2]), iter({"k": 1}.items()), enumerate("xy")
    next(a)
    print("break")
    x = x + next(a)
    return x, next(b), list(c), list(a)


@program(rand(3), collections.deque([1, 2, 3]))
def queue_is_drained(x, queue):
    while queue:
        n = queue.popleft()
        print(n)
        if n == 2:
            queue.append(9)
        x = x + n
    return x


@program(rand(3))
def fibonacci(x):
    a, b = x, x + 1
    for _ in range(5):
        a, b = b, a + b
        print("step")
    return a, b


@program(rand(4, 3), ints(4, high=3))
def losses_of_a_loop(x, targets):
    losses = []
    for row, target in zip(x, targets.tolist()):
        losses.append(torch.nn.functional.softmax(row, 0)[target])
    best = max(range(4), key=lambda i: losses[i].item())
    return sum(losses), best


@program(rand(3))
def globals_grow_in_a_loop(x):
    for i in range(3):
        HISTORY.append(i)
        print(len(HISTORY))
        x = x + len(HISTORY)
    return x


@program(rand(3))
def match_in_a_loop(x):
    for item in [1, "two", (3, 4), None]:
        match item:
            case int(n):
                print("int")
                x = x + n
            case str(text):
                print("str")
            case (a, b):
                print("pair")
                x = x * a - b
            case _:
                print("other")
    return x


@program(rand(3))
def comprehension_in_a_loop(x):
    for i in range(2):
        parts = [x + j for j in range(i + 1) if not print(i, j)]
        x = sum(parts)
    return x, [print(v) or v for v in (1, 2)]


@program(rand(3)).then(rand(5)).then(rand(7)).then(rand(3))
def sizes_change_between_calls(x):
    for i in range(2):
        x = torch.cat([x, x[:1] + i])
        print(x.shape[0])
    return x * x.shape[0]


@program(rand(8))
def sizes_change_in_the_loop(x):
    while x.shape[0] > 1:
        print(x.shape[0])
        x = x[: x.shape[0] // 2] + x[x.shape[0] // 2 :]
    return x
