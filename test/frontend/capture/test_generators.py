"""Generators: traced from yield to yield, closed, thrown into, and rebuilt."""

import os

import pytest
import torch
from capture_differential import Cases, assert_same, check, compile_eagerly, rand

case = Cases()
left = Cases()


def broken():
    """A C function that nobody models: the graph breaks here."""
    return os.getpid() > 0


def numbers(x, log=None):
    try:
        sent = yield x
        sent = yield x + (1 if sent is None else sent)
        yield x * 2 if sent is None else sent
        return "done"
    except ValueError as error:
        yield str(error)
    finally:
        if log is not None:
            log.append("closed")


def delegating(x, log=None):
    try:
        result = yield from numbers(x, log)
        yield result
    except KeyError:
        yield "key"
    finally:
        if log is not None:
            log.append("outer closed")


def stops(x):
    yield x
    raise StopIteration("inner")


@case(rand(3))
def iterated(x):
    return list(numbers(x)), list(delegating(x)), sum(numbers(x))


@case(rand(3))
def sent(x):
    generator = numbers(x)
    next(generator)
    return generator.send(5), generator.send(x), next(generator, "end")


@case(rand(3))
def sent_at_the_start(x):
    return numbers(x).send(1)


@case(rand(3))
def sent_through_yield_from(x):
    generator = delegating(x)
    return next(generator), generator.send(7), next(generator), next(generator)


@case(rand(3))
def result_of_a_generator(x):
    generator = numbers(x)
    try:
        while True:
            next(generator)
    except StopIteration as stop:
        return stop.value, stop.args, x


@case(rand(3))
def thrown(x):
    log = []
    generator = numbers(x, log)
    first = next(generator)
    second = generator.throw(ValueError("thrown"))
    return first, second, list(generator), log


@case(rand(3))
def thrown_as_class_and_value(x):
    generator = numbers(x)
    next(generator)
    return generator.throw(ValueError, "text"), x


@case(rand(3))
def thrown_before_start(x):
    generator = numbers(x)
    try:
        generator.throw(KeyError("k"))
    except KeyError as error:
        return str(error), list(generator), x


@case(rand(3))
def thrown_through_yield_from(x):
    log = []
    generator = delegating(x, log)
    next(generator)
    return generator.throw(ValueError("inner")), next(generator), log, x


@case(rand(3))
def thrown_past_yield_from(x):
    log = []
    generator = delegating(x, log)
    next(generator)
    return generator.throw(KeyError("k")), log, list(generator), log, x


@case(rand(3))
def thrown_into_a_list_iterator(x):
    def over():
        try:
            yield from [x, 1, 2]
        except TypeError:
            yield "caught"

    generator = over()
    next(generator)
    return generator.throw(TypeError), list(generator)


class Sub:
    def __init__(self):
        self.log = []

    def __iter__(self):
        return self

    def __next__(self):
        self.log.append("next")
        if len(self.log) > 3:
            raise StopIteration("value of the end")
        return len(self.log)

    def send(self, value):
        self.log.append(value)
        return value

    def throw(self, error):
        self.log.append(str(error))
        raise StopIteration("stopped by throw")

    def close(self):
        self.log.append("closed")


def over_sub(sub):
    try:
        result = yield from sub
        yield result
    finally:
        sub.log.append("left")


@case(rand(3))
def yield_from_a_user_iterator(x):
    sub = Sub()
    return list(over_sub(sub)), sub.log, x


@case(rand(3))
def sends_to_a_user_iterator(x):
    sub = Sub()
    generator = over_sub(sub)
    return next(generator), generator.send(x), generator.send(None), sub.log


@case(rand(3))
def throws_into_a_user_iterator(x):
    sub = Sub()
    generator = over_sub(sub)
    next(generator)
    return generator.throw(ValueError("v")), sub.log, x


@case(rand(3))
def closes_a_user_iterator(x):
    sub = Sub()
    generator = over_sub(sub)
    next(generator)
    generator.close()
    return sub.log, x


@case(rand(3))
def closed(x):
    log = []
    generator = delegating(x, log)
    next(generator)
    generator.close()
    generator.close()
    return log, list(generator), x


@case(rand(3))
def closed_before_start(x):
    log = []
    generator = numbers(x, log)
    generator.close()
    return log, list(generator), x


@case(rand(3))
def close_is_ignored(x):
    def stubborn():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    generator = stubborn()
    next(generator)
    generator.close()
    return x


@case(rand(3))
def close_raises(x):
    def failing():
        try:
            yield 1
        finally:
            raise KeyError("in finally")

    generator = failing()
    next(generator)
    generator.close()
    return x


@case(rand(3))
def stop_iteration_inside(x):
    return list(stops(x))


@case(rand(3))
def stop_iteration_inside_has_a_cause(x):
    try:
        list(stops(x))
    except RuntimeError as error:
        cause = error.__cause__
        return str(error), str(cause), cause is error.__context__, x


@case(rand(3))
def runs_itself(x):
    def again():
        yield x
        next(generator)

    generator = again()
    return list(generator)


@case(rand(3))
def recursive(x):
    def walk(depth):
        if depth:
            yield from walk(depth - 1)
            yield x + depth
            yield from walk(depth - 1)

    return list(walk(3))


class Manager:
    def __init__(self, log, x):
        self.log = log
        self.x = x

    def __enter__(self):
        self.log.append("enter")
        return self.x

    def __exit__(self, kind, value, traceback):
        self.log.append(None if kind is None else kind.__name__)
        return kind is ValueError


@case(rand(3))
def with_block_around_yields(x):
    log = []

    def inside():
        with Manager(log, x) as entered:
            yield entered
        yield "after"

    generator = inside()
    next(generator)
    return generator.throw(ValueError()), list(generator), log


@case(rand(3))
def handler_around_yield_keeps_its_exception(x):
    def inside():
        try:
            raise ValueError("first")
        except ValueError:
            yield 1
            raise

    try:
        try:
            raise KeyError("outer")
        except KeyError:
            list(inside())
    except ValueError as error:
        return str(error), repr(error.__context__), x


@case(rand(3))
def generator_attributes(x):
    generator = numbers(x)
    next(generator)
    return generator.__name__, generator.gi_running, generator.gi_suspended, x


@case(rand(3))
def generator_expression(x):
    factor = 2
    return sum(x * factor + i for i in range(3) if i != 1)


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)


# Left in the middle


def _advanced(generator, count=1):
    for _ in range(count):
        next(generator)
    return generator


@left()
def not_started(x):
    return numbers(x)


@left()
def started(x):
    return _advanced(numbers(x))


@left()
def finished(x):
    generator = numbers(x)
    list(generator)
    return generator


@left()
def inside_yield_from(x):
    return _advanced(delegating(x), 2)


@left()
def in_a_loop(x):
    def loop():
        for item in [x, 1, 2]:
            for other in range(2):
                yield item + other

    return _advanced(loop(), 3)


@left()
def with_closure(x):
    total = x

    def loop():
        nonlocal total
        while True:
            total = total + 1
            yield total

    generator = _advanced(loop())
    total = total * 10
    return generator


@left()
def expression(x):
    return _advanced((x + i for i in range(4)), 2)


@left()
def expression_not_started(x):
    return (x + i for i in range(4) if i)


@left()
def in_a_handler(x):
    def handling():
        try:
            raise ValueError("text")
        except ValueError as error:
            yield x
            yield str(error)
            yield repr(error.__context__)

    return _advanced(handling())


@left()
def values_on_the_stack(x):
    def sums():
        yield [x, (yield 1), (yield 2)]

    return _advanced(sums(), 2)


@left()
def arguments_of_every_kind(x):
    def every(a, /, b=2, *rest, c, d=4, **more):
        yield a, b, rest
        yield c, d, more

    return _advanced(every(x, 5, 6, c=7, e=8))


@pytest.mark.parametrize("make, args, kwargs", left.parameters)
def test_returned(make, args, kwargs):
    compiled = compile_eagerly(make)
    x = rand(3)
    for _ in range(2):
        mine, theirs = compiled(x), make(x)
        assert type(mine) is type(theirs)
        assert mine.__name__ == theirs.__name__
        assert (mine.gi_frame is None) == (theirs.gi_frame is None)
        for _ in range(5):
            assert_same(next(mine, "end"), next(theirs, "end"))


@pytest.mark.parametrize("make, args, kwargs", left.parameters)
def test_alive_at_a_break(make, args, kwargs):
    def around(x):
        generator = make(x + 1)
        assert broken()
        return [next(generator, "end") for _ in range(4)]

    compiled = compile_eagerly(around, fullgraph=False)
    x = rand(3)
    for _ in range(2):
        assert_same(compiled(x), around(x))


@pytest.mark.parametrize("error", [ValueError("given"), KeyError(), GeneratorExit()])
@pytest.mark.parametrize("make", [started, inside_yield_from])
def test_rebuilt_generator_is_thrown_into(make, error):
    compiled = compile_eagerly(make)

    def outcome(generator):
        try:
            return [generator.throw(type(error)(*error.args)), *generator]
        except BaseException as raised:
            return type(raised), raised.args

    x = rand(3)
    for _ in range(2):
        assert_same(outcome(compiled(x)), outcome(make(x)))


def test_break_inside_a_generator():
    def yields(x):
        yield x + 1
        assert broken()
        yield x + 2

    def loop(x):
        total = x
        for item in yields(x):
            total = total * item
        return total

    compiled = compile_eagerly(loop, fullgraph=False)
    x = rand(3)
    for _ in range(2):
        assert torch.equal(compiled(x), loop(x))


def test_generator_function_is_compiled():
    def yields(x):
        for i in range(3):
            yield x + i

    compiled = compile_eagerly(yields, fullgraph=False)
    x = rand(3)
    for _ in range(2):
        assert_same(list(compiled(x)), list(yields(x)))


def test_generator_in_an_object():
    class Box:
        pass

    def fill(box, x):
        box.rest = _advanced(numbers(x))
        return x + 1

    compiled = compile_eagerly(fill)
    x = rand(3)
    for _ in range(2):
        box = Box()
        compiled(box, x)
        assert_same(list(box.rest), list(numbers(x))[1:])


def _leaves_in_a_local(x, log):
    generator = numbers(x, log)
    return next(generator), len(log)


def _leaves_in_a_callee(x, log):
    first = _leaves_in_a_local(x, log)
    return first, len(log)


def _leaves_at_a_break(x, log):
    generator = numbers(x, log)
    x = next(generator) + 1
    assert broken()
    return x * 2, len(log)


def _leaves_nothing_to_do(x, log):
    generator = (x + i for i in range(3))
    return next(generator) + 1, len(log)


@pytest.mark.parametrize(
    "function",
    [
        _leaves_in_a_local,
        _leaves_in_a_callee,
        _leaves_at_a_break,
        _leaves_nothing_to_do,
    ],
)
def test_unfinished_generators_are_closed(function):
    check(function, rand(3), [], fullgraph=False, calls=3)
