"""Operators whose methods give ``NotImplemented``, beside those of builtins."""

from differential.program import program, rand


def refuse(self, other):
    return NotImplemented


class Number(int):
    __truediv__ = __rtruediv__ = __eq__ = __lt__ = __gt__ = refuse
    __floordiv__ = refuse
    __hash__ = int.__hash__


class Reflected(int):
    __rsub__ = refuse


class Text(str):
    __add__ = __mul__ = __eq__ = refuse
    __hash__ = str.__hash__


class Items(list):
    __add__ = __iadd__ = __mul__ = __radd__ = __eq__ = refuse


class Plain:
    __add__ = __radd__ = __eq__ = refuse


def told(function, *args):
    try:
        return repr(function(*args))
    except TypeError as error:
        return str(error)


def extend(left, right):
    left += right
    return left


def add(left, right):
    return left + right


def multiply(left, right):
    return left * right


def divide(left, right):
    return left / right


def equal(left, right):
    return left == right, left != right


@program(rand(2))
def numbers(x):
    one, two = Number(1), Number(2)
    return (
        x + 1,
        told(divide, one, two),
        told(divide, 3, two),
        told(divide, one, 2.0),
        told(divide, True, two),
        told(equal, one, Number(1)),
        told(equal, one, 1),
        told(equal, 1, one),
        told(lambda: one < two),
        told(lambda: 0 < one),
        told(lambda: one <= two),
        told(lambda: one // two),
        told(lambda: Reflected(3) - Reflected(1)),
        told(lambda: 5 - Reflected(1)),
        told(lambda: Reflected(5) - 1),
    )


@program(rand(2))
def texts(x):
    a = Text("a")
    return (
        x + 1,
        told(add, a, a),
        told(add, a, "b"),
        told(add, "b", a),
        told(multiply, a, 2),
        told(multiply, 2, a),
        told(equal, a, Text("a")),
        told(equal, a, "a"),
    )


@program(rand(2))
def lists(x):
    a = Items([1])
    return (
        x + 1,
        told(add, a, a),
        told(add, a, [2]),
        told(add, [2], a),
        told(multiply, a, 2),
        told(multiply, 2, a),
        told(equal, a, Items([1])),
        told(equal, a, [1]),
        told(extend, Items([1]), [2]),
        told(extend, [2], Items([1])),
    )


@program(rand(2))
def objects(x):
    return (
        x + 1,
        told(add, Plain(), Plain()),
        told(add, Plain(), 1),
        told(add, 1, Plain()),
        told(add, [1], Plain()),
        told(extend, Plain(), 3),
        told(extend, (1,), Plain()),
        Plain() == Plain(),
    )


@program(rand(2), (1, 2))
def the_empty_tuple(x, pair):
    empty = tuple(item for item in ())
    return x + 1, empty is pair[2:], pair * 0 is empty, empty + () is empty
