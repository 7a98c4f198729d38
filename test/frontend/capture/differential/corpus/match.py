"""The match statement."""

import collections
import dataclasses
import enum

from differential.program import program, rand


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Point:
    x: int
    y: int


Pair = collections.namedtuple("Pair", "first second")


@program(rand(3), 1).then(rand(3), 2).then(rand(3), 9)
def literals(x, n):
    match n:
        case 1:
            return x + 1
        case 2 | 3:
            return x * 2
        case _:
            return -x


@program(rand(3), "add").then(rand(3), "mul").then(rand(3), None)
def strings_and_none(x, op):
    match op:
        case "add":
            return x + 1
        case "mul":
            return x * 2
        case None:
            return x


@(
    program(rand(3), [1, 2])
    .then(rand(3), [])
    .then(rand(3), [1, 2, 3, 4])
    .then(rand(3), (5,))
)
def sequences(x, items):
    match items:
        case []:
            return x
        case [a]:
            return x + a
        case [a, b]:
            return x + a * b
        case [first, *rest]:
            return x + first, rest


@program(rand(3), {"op": "add", "by": 2}).then(rand(3), {"op": "neg"}).then(rand(3), {})
def mappings(x, config):
    match config:
        case {"op": "add", "by": n, **rest}:
            return x + n, rest
        case {"op": name}:
            return x, name
        case _:
            return x * 0


@program(rand(3), Point(0, 1)).then(rand(3), Point(2, 3)).then(rand(3), "no")
def classes(x, p):
    match p:
        case Point(x=0, y=b):
            return x + b
        case Point(a, b):
            return x * a + b
        case str(text):
            return x, text


@program(rand(3), 5).then(rand(3), -5).then(rand(3), 0)
def guards(x, n):
    match n:
        case k if k > 0:
            return x + k
        case k if k < 0:
            return x - k
        case k:
            return x, k


@program(rand(3), Color.RED).then(rand(3), Color.BLUE)
def values(x, color):
    match color:
        case Color.RED:
            return x + 1
        case Color.BLUE:
            return x + 2


@program(rand(3), 3).then(rand(3), 2.5).then(rand(3), True).then(rand(3), "s")
def builtin_types(x, value):
    match value:
        case bool():
            return x, "bool"
        case int(n):
            return x + n
        case float() as f:
            return x * f
        case _:
            return x


@program(rand(3), [1, [2, {"k": (3, 4)}]])
def nested(x, tree):
    match tree:
        case [1, [a, {"k": (b, c)}]]:
            return x + a + b + c
    return x


@program(rand(3), Pair(1, 2)).then(rand(3), Pair(3, 2))
def named_tuples(x, pair):
    match pair:
        case Pair(1, second):
            return x + second
        case Pair(first=first):
            return x * first


@program(rand(3), [1, 2, 3])
def captures_with_as(x, items):
    match items:
        case [1, *_] as whole:
            return x + len(whole)
    return x


@program(rand(2)).then(rand(2, 3)).then(rand(4, 1, 2))
def on_a_shape(x):
    match tuple(x.shape):
        case (n,):
            return x * n
        case (n, m):
            return x * n + m
        case (n, *rest):
            return x + n, rest


@program(rand(3), 7)
def nothing_matches(x, n):
    match n:
        case 1:
            x = x + 1
        case "a":
            x = x + 2
    return x


@program(rand(3), [("add", 1), ("mul", 3), ("stop",), ("add", 100)])
def in_a_loop(x, program):
    for step in program:
        match step:
            case ("add", n):
                x = x + n
            case ("mul", n):
                x = x * n
            case ("stop",):
                break
    return x


@program(rand(3), "ab")
def string_is_no_sequence(x, text):
    match text:
        case [a, b]:
            return x + 1
        case str():
            return x + 2
