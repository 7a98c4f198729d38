"""Random programs: what surrounds the statements that the grammar makes."""

from __future__ import annotations

import ast
import contextlib
import linecache
import zlib
from itertools import count

import torch
from hypothesis import strategies as st

from differential.grammar import Scope as Place
from differential.grammar import block, integers, statement, tensors
from differential.program import Program

_NUMBERS = count()
_NAMESPACE = "differential.corpus.random"


class Box:
    """An object that programs change."""

    def __init__(self, value, count):
        self.value = value
        self.count = count
        self.log = []

    def scaled(self, x):
        """Changes the object and gives a tensor."""
        self.count += 1
        return x * (self.count % 5)

    def __call__(self, n):
        self.log.append(n % 13)

    def __getitem__(self, n):
        return self.count + n


class Scope:
    """A context manager that logs."""

    def __init__(self, box):
        self.box = box

    def __enter__(self):
        self.box.log.append("enter")

    def __exit__(self, kind, error, traceback):
        self.box.log.append(kind.__name__ if kind else "exit")


@contextlib.contextmanager
def bracketed(box, n):
    """A context manager made from a generator."""
    box.log.append("<")
    try:
        yield n
    finally:
        box.log.append(">")


@contextlib.contextmanager
def swallowing(box):
    """Swallows what is raised inside."""
    try:
        yield
    except (ValueError, ZeroDivisionError) as error:
        box.log.append(type(error).__name__)


class LoudScope(Scope):
    """A context manager that breaks."""

    def __enter__(self):
        print("enter")
        super().__enter__()

    def __exit__(self, kind, error, traceback):
        print("exit", kind)
        return super().__exit__(kind, error, traceback)


class Loud(Box):
    """An object whose methods and properties break."""

    def scaled(self, x):
        """Breaks between its operations."""
        x = x * 2
        print("scaled", self.count)
        self.count += 1
        return super().scaled(x) - 1

    @property
    def note(self):
        """Breaks; gives a function that notes a number."""
        print("note")
        return lambda n: self.log.append(n % 13)

    def numbers(self, n):
        """A generator that breaks."""
        for i in range(n % 4):
            print("number", i)
            yield i + self.count % 3


class Foreign:
    """Reachable by a global name."""

    level = 0


class Local(Box):
    """What programs may have a class of their own for."""

    def grown(self, m):
        """Changes the object and gives a tensor."""
        self.count = (self.count + m) % 20
        return self.value + self.count


def speak(*values, **options):
    """Breaks."""
    print("speak", *values, **options)


def heard(value):
    """Breaks and gives its argument back."""
    print("heard", value if isinstance(value, int | str) else type(value).__name__)
    return value


def fail(n):
    """Breaks and raises."""
    print("fails")
    raise (ValueError if n % 2 else ZeroDivisionError)(n)


for _cls in (Box, Scope, LoudScope, Loud, Foreign, Local):
    _cls.__module__ = _NAMESPACE
_CLASS = """
class Local(Box):
    def grown(self, m):
        v = self.value
        self.count = (self.count + m) % 20
        MADE
        return v + self.count
"""
_HELPERS = (Box, Scope, LoudScope, Loud, Local)
_HELPERS += (bracketed, swallowing, speak, heard, fail)
_SKELETON = """
def program(x, y, n, flag, items, tensors, table, box):
    k = 1
    log = []
    loud = Loud(x, 2)

    def maker(m):
        def made(v):
            nonlocal k
            k = (k + m) % 50
            MADE
            return v * k

        return made

    def vectors(v, m=2):
        MADE
        for i in range(2):
            yield v + i
        yield RESULT

    def vectors_of(values):
        return map(lambda m: INNER % 9, values[:4])

    CLASS

    def bump(v, m=1):
        CLOSURE
        return RESULT

    def numbers(m):
        for i in range(m % 4):
            yield ELEMENT

    MAIN
    return x, y, n, k, log, items, loud, FINAL
"""


@st.composite
def sources(draw) -> str:
    """The text of a function."""
    outer = draw(st.lists(st.sampled_from(["x", "y", "n", "k"]), unique=True))
    inner = Place(
        tensors=("v", "x", "y"),
        integers=("m", "n", "k"),
        assignable=("v", "m", *outer),
        depth=2,
        helpers=False,
        level=1,
    )
    closure = draw(block(inner))
    if outer:
        closure = statement("nonlocal " + ", ".join(sorted(outer))) + closure
    made = Place(
        tensors=("v", "x"),
        integers=("m", "n"),
        assignable=("v",),
        depth=1,
        helpers=False,
        level=2,
    )
    generated = Place(integers=("i", "m", "n"), depth=2, helpers=False)
    made_block = draw(block(made))
    # A class made inside breaks, and guards on it fail at each call.
    has_class = draw(st.integers(0, 9)) == 9
    module = statement(
        _SKELETON.strip(),
        CLASS=statement(_CLASS.strip() if has_class else "pass", MADE=made_block),
        CLOSURE=closure,
        MADE=made_block,
        INNER=draw(integers(Place(integers=("m",), depth=1, helpers=False))),
        RESULT=draw(tensors(inner)),
        ELEMENT=draw(integers(generated)),
        MAIN=[node for _ in range(3) for node in draw(block(Place()))],
        FINAL=draw(tensors(Place())),
    )
    return ast.unparse(ast.fix_missing_locations(ast.Module(module, [])))


def _whole(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


@st.composite
def inputs(draw) -> tuple:
    """Arguments for a program."""
    small = st.integers(-4, 5)
    vectors = st.builds(_whole, small, small, small)
    return (
        draw(vectors),
        draw(vectors),
        draw(small),
        draw(st.booleans()),
        draw(st.lists(st.integers(0, 8), max_size=3)),
        draw(st.lists(vectors, max_size=2)),
        draw(st.dictionaries(st.sampled_from("abc"), vectors, max_size=2)),
        Box(draw(vectors), draw(st.integers(0, 6))),
    )


def make_program(source: str, calls: list[tuple]) -> Program:
    """A program from its text.

    The text is registered, so that messages can show its lines.
    """
    filename = f"random_program_{next(_NUMBERS)}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {"__name__": _NAMESPACE, "torch": torch, "crc32": zlib.crc32}
    namespace["foreign"] = Foreign()
    namespace |= {made.__name__: made for made in _HELPERS}
    exec(compile(source, filename, "exec"), namespace)
    return Program(filename, namespace["program"], [(call, {}) for call in calls])


@st.composite
def programs(draw) -> tuple[str, Program]:
    """A program's text, and the program with the arguments of two calls."""
    source = draw(sources())
    return source, make_program(source, [draw(inputs()), draw(inputs())])
