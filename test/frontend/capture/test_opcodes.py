"""The table of opcodes is complete for the CPython that runs the tests."""

import dis

import pytest
from capture_differential import Cases, check, rand

from girih.frontend.capture.bytecode import families, table

# Opcodes without a handler, and why none is needed.
UNHANDLED = {
    "CACHE": "room after an instruction; dis shows none",
    "END_FOR": "FOR_ITER goes on behind it, as CPython's does",
    "ENTER_EXECUTOR": "written by the optimizer at run time; co_code has none",
    "EXIT_INIT_CHECK": "only in code that CPython itself makes for __init__",
    "IMPORT_STAR": "only in modules",
    "INTERPRETER_EXIT": "only in code that CPython itself makes",
    "PRINT_EXPR": "only in the interactive interpreter",
    "RESERVED": "has no meaning",
}
# Names for the compiler's own use; no code object has them.
_PSEUDO = range(256, 1 << 16)


def test_every_opcode_has_a_handler():
    names = {
        name
        for name, number in dis.opmap.items()
        if number not in _PSEUDO and not name.startswith("INSTRUMENTED_")
    }
    missing = names - families.handled() - UNHANDLED.keys()
    assert not missing, sorted(missing)


def test_reasons_are_of_use():
    assert not UNHANDLED.keys() & (families.handled() - {"CACHE"})


def test_of_version_takes_the_newest():
    newest = table.VERSION
    found = table.of_version({(3, 0): 1, newest: 2, (newest[0], newest[1] + 1): 3})
    assert found == 2


case = Cases()


@case(rand(3))
def stack_of_calls(x):
    def add(a, b=1, *rest, c=2, **more):
        return a + b + sum(rest) + c + sum(more.values())

    args, named = [1, 2], {"d": 3}
    return (
        add(x),
        add(x, add(x, add(x))),
        add(x, *args, c=4, **named),
        add(*[x], b=2),
        add(x, **{"b": 1}, **named),
        x.add(other=1),
        x.sum(dim=0, keepdim=True).add(x, alpha=2),
        (lambda *a, **k: (a, k))(1, *args, k=2, **named),
    )


@case(rand(3))
def keyword_twice(x):
    def one(a, **more):
        return a

    return one(a=x, **{"a": 1})


@case(rand(3))
def functions_with_everything(x):
    factor = 2

    def inner(a: int, /, b: "str" = 1, *, c: float = 3.0, d=4) -> list:
        return a * factor + b + c + d

    return inner(x), inner(x, 2, d=1), inner.__annotations__, inner.__defaults__


@case(rand(3), 3)
def comparisons_and_tests(x, n):
    a = n < 4
    b = 1 < n <= 3 != 5
    c = not n, not [], not x.shape
    while n:
        n -= 1
    return x, a, b, c, n or "zero", n and x, x if a else n


@case(rand(3), "text")
def formatted(x, s):
    width, n = 8, 3.14159
    return (
        x,
        f"{s}",
        f"{s!r}{s!s}{s!a}",
        f"{s:>{width}}|{n:.2f}|{n!r:>{width}}",
        f"{s=} {n:{width}.{2}f} {{}} {x.shape}",
    )


@case(rand(3))
def comprehensions_and_scopes(x):
    i = "outer"
    squares = [i * i for i in range(3)]
    pairs = {k: [x * v for v in range(k)] for k in range(3)}
    functions = [lambda y, i=i: y + i for i in range(2)]
    members = {j for j in (1, 1, 2)}
    nested = [[(a, b, len(squares)) for a in "ab"] for b in range(2)]
    return i, squares, pairs, [f(x) for f in functions], members, nested


@case(rand(3))
def cell_is_a_comprehension_variable(x):
    def get():
        return v

    v = 5
    made = [v for v in range(3)]
    late = [lambda: w for w in range(2)]  # noqa: B023
    return x + v, made, get(), [f() for f in late]


@case(rand(3))
def unbound_after_a_comprehension(x):
    made = [z for z in range(2)]
    try:
        return x, made, z
    except NameError as error:
        return type(error).__name__, made


@case(rand(3))
def exception_in_a_comprehension(x):
    v = "kept"
    try:
        [1 // v for v in (1, 0)]
    except ZeroDivisionError:
        return x, v


@case(rand(3))
def swaps(x):
    a, b, c = 1, x, 3
    a, b = b, a
    a, b, c = c, a, b
    [a, *rest], c = (b, 1, 2), c
    return a, b, c, rest


@case(rand(6))
def slices(x):
    y = x[1:4]
    items = [1, 2, 3, 4]
    items[1:3] = [9]
    del items[0:1]
    return y, x[::2], x[-2:], items, items[:-1]


class Base:
    scale = 2

    def apply(self, x, y=1):
        return x * self.scale + y

    @property
    def doubled(self):
        return self.scale * 2


class Derived(Base):
    scale = 3

    def apply(self, x, y=1):
        scale = super(Derived, self).scale  # noqa: UP008
        return super().apply(x, y=y) + super().doubled + scale


@case(rand(3))
def super_in_every_form(x):
    return Derived().apply(x), Derived().apply(x, y=4)


def change_a_cell(x):
    total = x

    def add(value):
        nonlocal total
        total = total + value
        return total

    add(1)
    add(2)
    return total


case(rand(3))(change_a_cell)


@case(rand(3))
def deleted(x):
    a = b = x
    del a
    try:
        return a  # noqa: F821
    except UnboundLocalError as error:
        return str(error), b


@case(rand(3))
def deleted_cell(x):
    a = x

    def get():
        return a  # noqa: F821

    del a
    try:
        return get()
    except NameError as error:
        return type(error).__name__


@case(rand(3), {"kind": "point", "at": [1, 2], "more": 3})
def matched(x, value):
    match value:
        case {"kind": "line"}:
            return x
        case {"kind": str(kind), "at": [a, b], **rest} if a < b:
            return x * b, kind, rest
    return None


@case(rand(3))
def many_constants(x):
    values = [
        # fmt: off
        1000,
        1001,
        1002,
        1003,
        1004,
        1005,
        1006,
        1007,
        1008,
        1009,
        1010,
        1011,
        1012,
        # fmt: on
        *range(300),
    ]
    return x + values[7], sum(values)


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)


def test_wide_arguments():
    """Jumps, names and constants beyond 255, with EXTENDED_ARG."""
    lines = [f"    v{i} = x + {i + 1000}.5" for i in range(300)]
    total = " + ".join(f"v{i}" for i in range(0, 300, 7))
    body = "\n".join(lines)
    source = f"def wide(x, n):\n  while n:\n{body}\n    n -= 1\n  return {total}\n"
    namespace = {}
    exec(source, namespace)
    check(namespace["wide"], rand(2), 2)


GENERIC = """
def generic(x):
    def inner[T](value: T) -> T:
        return value * 2
    return inner(x), len(inner.__type_params__)
"""


@pytest.mark.skipif(table.VERSION < (3, 12), reason="syntax of CPython 3.12")
def test_type_parameters():
    namespace = {}
    exec(GENERIC, namespace)
    check(namespace["generic"], rand(3))
