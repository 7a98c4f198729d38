"""Code that looks at the frames of its callers finds there what Python would have."""

# ruff: noqa: F841  (variables that only a look at the frame finds)

import inspect
import logging
import sys
import traceback
import warnings

import pytest
import torch
from extent import spread

import girih


def evaluate(text, depth=1):
    frame = sys._getframe(depth)
    return eval(text, frame.f_globals, dict(frame.f_locals))


def evaluate_with(tensor, text):
    tensor = tensor * 2
    frame = inspect.currentframe().f_back
    return tensor + eval(text, frame.f_globals, dict(frame.f_locals))


def names_seen():
    return sorted(inspect.stack()[1].frame.f_locals)


def formatted(text):
    return text.format_map(sys._getframe(1).f_locals)


def outer_names():
    return sorted(sys._getframe(1).f_back.f_locals)


def place():
    frame = sys._getframe(1)
    code = frame.f_code
    first = code.co_firstlineno
    return code.co_name, code.co_filename, frame.f_lineno - first, frame.f_globals


class Printer:
    def __repr__(self):
        return "text"

    def show(self, text):
        return sys._getframe(1).f_locals[text]


def numbers(x):
    scale = x.mean() * 2
    n = 3
    y = x + 1
    return evaluate("y * scale * n")


def with_tensor(x):
    scale, n = x.mean() * 2, 3
    return evaluate_with(x, "scale * n + x") + 1


def names(x):
    y, z = x + 1, [x, x * 2]
    seen = names_seen()
    return y * 2, seen


def after_another_break(x):
    n, unread = 2, x + 5
    print(end="")
    y = x + n
    return y, formatted("{n}"), evaluate("unread + y"), names_seen()


def two_levels(x):
    hidden = x * 3

    def inner(y):
        own = y + 1
        return evaluate("hidden", depth=2) + evaluate("own")

    return inner(x) + 1


def called_in_the_middle(x):
    before = x + 1
    result = outer_names_of(x)
    after = x * 2
    return result, after, before is None


def outer_names_of(x):
    y = x.sum()
    return y, outer_names()


def loop(x):
    seen = []
    for i in range(3):
        square = i * i
        x = x + square
        seen.append(evaluate("i + square"))
        square = -1
        seen.append(evaluate("square"))
    return x, seen


def rebound(x):
    n = 1
    first = evaluate("x + n")
    n = x * 5
    second = evaluate("x + n")
    del n
    return first, second, names_seen()


def cells(x):
    kept, n = x + 1, 2

    def inner():
        unread = n + 1
        return kept + n, formatted("{n} {unread}"), names_seen()

    return inner(), evaluate("kept * n"), formatted("{n}")


def comprehension(x):
    n = 4
    return [x + formatted("{i}").count("1") for i in range(3)], names_seen(), n


def method(x):
    hidden = x + 2
    return Printer().show("hidden") * 2


def through_another(x):
    hidden = x + 2

    def delayed(text):
        print(end="")
        return evaluate(text, 2)

    return delayed("hidden") + 1


def place_of_caller(x):
    y = x + 1
    found = place()
    return y * 2, found[:3], found[3] is globals()


def in_a_block(x):
    hidden = x + 7
    try:
        with torch.no_grad():
            return evaluate("hidden") * 2
    finally:
        x.add_(1)


def raising(x):
    hidden = 3
    try:
        evaluate("hidden / 0")
    except ZeroDivisionError as error:
        return x + 1, traceback.extract_tb(error.__traceback__)[-2].name
    return hidden


PROGRAMS = (
    after_another_break,
    called_in_the_middle,
    cells,
    comprehension,
    in_a_block,
    loop,
    method,
    names,
    numbers,
    place_of_caller,
    raising,
    rebound,
    through_another,
    two_levels,
    with_tensor,
)


def is_same(found, expected):
    if isinstance(expected, (list, tuple)):
        pairs = zip(found, expected, strict=True)
        return all(is_same(*pair) for pair in pairs)
    if isinstance(expected, torch.Tensor):
        return torch.equal(found, expected)
    return found == expected


@pytest.mark.parametrize(
    ("program", "dynamic"), spread(PROGRAMS, [None, True], every=2)
)
def test_frames_of_callers(program, dynamic):
    compiled = girih.compile(program, dynamic=dynamic)
    for _ in range(2):
        found, expected = compiled(torch.arange(4.0)), program(torch.arange(4.0))
        assert is_same(found, expected), (found, expected)


class Layer(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        logging.getLogger("girih.test_readers").warning("message")
        return y + x.sum()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(), Layer()

    def forward(self, x):
        y = x + 1
        warnings.warn("told", stacklevel=2)
        return self.second(self.first(y)) + y


def test_the_standard_library_may_look(caplog):
    """Warnings and messages break the frame that they are in, and no other one."""
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    model = Model()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = girih.compile(model, backend=backend)(torch.ones(3))
        expected = model(torch.ones(3))
    assert torch.equal(found, expected)
    places = {(message.filename, message.lineno) for message in told}
    assert len(told) == 2 and len(places) == 2
    assert {record.funcName for record in caplog.records} == {"forward"}
    assert len(graphs) == 4


def hidden_reader(table, text):
    return table[text]()


def test_a_reader_that_nothing_names_is_told():
    table = {"hidden": lambda: dict(sys._getframe(2).f_locals)}

    def program(x):
        unread = 3
        print(end="")
        return x + 1, hidden_reader(table, "hidden").get("unread")

    with pytest.warns(
        girih.FallbackWarning, match="dropped the caller's unused variables"
    ):
        girih.compile(program)(torch.ones(2))
