"""Generators and iterators."""

import itertools

from differential.program import program, rand


def numbers(n):
    for i in range(n):
        yield i


def scaled(x, n):
    for i in range(n):
        yield x * i


def tree(depth):
    if depth:
        yield from tree(depth - 1)
        yield depth
        yield from tree(depth - 1)


@program(rand(3), 3).then(rand(3), 0)
def consumed_by_loop(x, n):
    for i in numbers(n):
        x = x + i
    return x


@program(rand(3))
def consumed_by_builtins(x):
    return sum(scaled(x, 3)), list(numbers(3)), tuple(numbers(2)), max(numbers(4))


@program(rand(3))
def consumed_by_unpacking(x):
    a, b, c = scaled(x, 3)
    return a + b + c, [*numbers(2)], {*numbers(2)}


@program(rand(3))
def partly_consumed(x):
    g = numbers(5)
    first, second = next(g), next(g)
    rest = list(g)
    return x + first + second, rest, next(g, "end")


@program(rand(3))
def recursive(x):
    for i in tree(3):
        x = x * 0.5 + i
    return x


@program(rand(3))
def yield_from_gives_result(x):
    def inner():
        yield x
        return 5

    def outer():
        result = yield from inner()
        yield x * result

    return list(outer())


@program(rand(3))
def sends(x):
    def running():
        total = 0
        while True:
            received = yield total
            if received is None:
                return
            total += received

    g = running()
    next(g)
    return x + g.send(3), g.send(4)


@program(rand(3))
def throws(x):
    def guarded():
        try:
            yield 1
        except ValueError as error:
            yield str(error)

    g = guarded()
    return x, next(g), g.throw(ValueError("inside"))


@program(rand(3))
def closes(x):
    log = []

    def guarded():
        try:
            yield 1
        finally:
            log.append("closed")

    g = guarded()
    next(g)
    g.close()
    return x, log


@program(rand(3))
def interleaved(x):
    log = []

    def noisy(n):
        for i in range(n):
            log.append(("made", i))
            yield i

    for i in noisy(3):
        log.append(("used", i))
        x = x + i
    return x, log


@program(rand(3))
def stops_early(x):
    log = []

    def noisy():
        for i in range(10):
            log.append(i)
            yield i

    for i in noisy():
        if i == 2:
            break
    return x, log


@program(rand(3))
def passed_around(x):
    def take(g, n):
        return [next(g) for _ in range(n)]

    g = numbers(6)
    a = take(g, 2)
    b = take(g, 3)
    return x + sum(a), b, list(g)


@program(rand(3))
def pipelines(x):
    def doubled(source):
        for item in source:
            yield item * 2

    def kept(source):
        for item in source:
            if item % 4 == 0:
                yield item

    return x + sum(kept(doubled(numbers(6))))


@program(rand(3))
def infinite(x):
    def forever():
        i = 0
        while True:
            yield x + i
            i += 1

    return list(itertools.islice(forever(), 3))


@program(rand(3))
def zip_of_generators(x):
    pairs = list(zip(numbers(3), scaled(x, 2)))
    return pairs, dict(enumerate(numbers(2)))


@program(rand(3))
def returned_generator(x):
    return scaled(x, 3)


@program(rand(3))
def returned_after_start(x):
    g = scaled(x, 3)
    next(g)
    return g


@program(rand(3))
def generator_function_itself(x):
    for i in range(3):
        yield x * i


@program(rand(3))
def generator_expression_returned(x):
    return (x * i for i in range(3))


@program(rand(3), iter([1, 2, 3]))
def iterator_argument(x, it):
    return x + next(it), next(it)


@program(rand(3))
def iterators(x):
    it = iter([1, 2, 3])
    first = next(it)
    rest = [i for i in it]
    return x + first, rest, next(it, None), list(iter("ab"))


@program(rand(3))
def iterator_of_callable(x):
    items = [3, 2, 1]
    return x, list(iter(items.pop, 1)), items


@program(rand(3))
def iterator_is_shared(x):
    it = iter(range(6))
    pairs = list(zip(it, it, strict=True))
    return x, pairs


@program(rand(3))
def stop_iteration(x):
    next(iter([]))
    return x


@program(rand(3))
def stop_iteration_is_caught(x):
    it = iter([1, 2])
    total = 0
    while True:
        try:
            total += next(it)
        except StopIteration:
            break
    return x + total


@program(rand(3))
def stop_iteration_in_generator(x):
    def broken():
        yield 1
        raise StopIteration

    return x, list(broken())


@program(rand(3))
def return_value_of_generator(x):
    def inner():
        yield 1
        return "done"

    g = inner()
    next(g)
    try:
        next(g)
    except StopIteration as stop:
        return x, stop.value


@program(rand(3))
def exception_in_generator(x):
    def failing():
        yield x
        raise ValueError("broken")

    found = []
    try:
        for item in failing():
            found.append(item)
    except ValueError as error:
        return found, str(error)


@program(rand(3))
def generator_with_state(x):
    def averages(values):
        total = 0
        for n, value in enumerate(values, 1):
            total = total + value
            yield total / n

    return list(averages([x, x * 2, x * 3]))


@program(rand(3))
def any_and_all_stop_early(x):
    log = []

    def noisy():
        for i in range(5):
            log.append(i)
            yield i

    return x, any(i == 2 for i in noisy()), all(i < 1 for i in noisy()), log


@program(rand(3))
def comprehension_over_generator(x):
    return [x + i for i in numbers(3) if i], {i: x for i in numbers(2)}


@program(rand(3))
def generator_sees_later_values(x):
    n = 1

    def inner():
        yield n
        yield n

    g = inner()
    first = next(g)
    n = 7
    return x, first, next(g)
