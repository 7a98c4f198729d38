"""Graph breaks: what is before and after is captured, all that happens is Python's."""

from __future__ import annotations

import contextlib
import sys
import traceback

import pytest
import torch

import girih


class Graphs:
    """A backend that counts the graphs that are compiled and run."""

    def __init__(self):
        self.compiled = []
        self.runs = 0

    def __call__(self, graph, examples):
        self.compiled.append([n for n in graph.graph.nodes if n.op.startswith("call")])

        def run(*inputs):
            self.runs += 1
            return graph.forward(*inputs)

        return run


def same_as_plain(capsys, function, *args, calls: int = 2) -> Graphs:
    """Compares results and printed text with plain Python's; returns the graphs."""
    backend = Graphs()
    compiled = girih.compile(function, backend=backend)
    for _ in range(calls):
        expected, printed = function(*args), capsys.readouterr().out
        result = compiled(*args)
        assert capsys.readouterr().out == printed
        torch.testing.assert_close(result, expected)
    return backend


X = torch.arange(6.0).reshape(2, 3)


def in_the_middle(x):
    y = x * 2
    print("between", len(x))
    return y + 1


def twice(x):
    y = x * 2
    print("first")
    y = y + 1
    print("second")
    return y * y


def in_an_expression(x):
    return torch.add(x + 1, x.sum().item() + print_and(2), alpha=2) * x.cos()


def print_and(value):
    print(value)
    return value


def on_data(x):
    y = x * 2
    if y.sum() > 3:
        return y + 1
    return y - 1


def in_a_called_function(x):
    y = x * 2
    z = helper(y, 3) + 1
    return z.relu()


def helper(y, n):
    y = y - n
    print("in the helper", n)
    return y * 2


def two_calls_deep(x):
    return outer(x + 1) * 2


def outer(y):
    return helper(y * 3, 1) + y


def in_a_closure(x):
    count = 0

    def step(v):
        nonlocal count
        count += 1
        print("step", count)
        return v + count

    y = step(x)
    count += 10
    return step(y) * count


@pytest.mark.parametrize(
    ("function", "graphs"),
    [
        (in_the_middle, 2),
        (twice, 3),
        (in_an_expression, 2),
        (on_data, 2),
        (in_a_called_function, 2),
        (two_calls_deep, 2),
        (in_a_closure, 2),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_graphs_around_a_break(capsys, function, graphs):
    """As many graphs as there are pieces; the second call compiles nothing."""
    found = same_as_plain(capsys, function, X)
    assert len(found.compiled) == graphs
    assert found.runs == 2 * graphs


def test_loop_with_a_break(capsys):
    """The trips of a loop share their code."""

    def function(x, rows):
        for row in rows:
            x = x + row
            print(tuple(row.shape))
        return x * 2

    found = same_as_plain(capsys, function, X, [torch.ones(3) * i for i in range(20)])
    assert len(found.compiled) <= 4


def test_long_loop_does_not_nest():
    """Each trip is a tail call; the stack stays flat."""

    def function(x, n):
        depth = 0
        while depth < n:
            x = x + 1
            depth += int(x[0].item() > 0)
        return x

    n = sys.getrecursionlimit() * 2
    compiled = girih.compile(function, backend="eager")
    assert compiled(torch.zeros(1), n).item() == n


def test_exception_of_the_broken_instruction(capsys):
    """It goes to the handler that Python would send it to."""

    def function(x, items):
        y = x * 2
        try:
            print("looking")
            y = y + missing(items)
        except KeyError as error:
            y = y - 1
            print("not found", error)
        else:
            y = y * 3
        finally:
            print("done")
        return y

    def missing(items):
        print("asked")
        return items[int(X.sum().item())]

    same_as_plain(capsys, function, X, {})
    same_as_plain(capsys, function, X, {15: 4})


def test_traceback_shows_the_users_lines():
    """An exception after a break carries the lines of plain Python."""

    def inner(x):
        print("here", end="")
        return x + {}["absent"]

    def function(x):
        y = x * 2
        return inner(y) + 1

    def lines(call):
        with pytest.raises(KeyError) as raised:
            call(X)
        entries = traceback.extract_tb(raised.value.__traceback__)
        return [(e.name, e.lineno) for e in entries if e.name in ("inner", "function")]

    assert lines(girih.compile(function, backend="eager")) == lines(function)


def test_with_block(capsys):
    """Managers are left once, also when the break raises."""

    @contextlib.contextmanager
    def named(name):
        print("enter", name)
        try:
            yield name
        finally:
            print("leave", name)

    def function(x, key):
        with torch.no_grad(), named("a") as a:
            y = x * 2
            print(a, torch.is_grad_enabled())
            y = y + {1: 5}[key]
        return y, torch.is_grad_enabled()

    same_as_plain(capsys, function, X, 1)
    compiled = girih.compile(function, backend="eager")
    with pytest.raises(KeyError):
        compiled(X, 2)
    assert capsys.readouterr().out.endswith("leave a\n")
    assert torch.is_grad_enabled()


def test_autocast_stays_on(capsys):
    """An autocast region goes on after a break in it."""

    def function(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            a = x @ x.T
            print(a.dtype)
            b = x @ x.T
        return a, b, x @ x.T

    same_as_plain(capsys, function, X)


def test_generator_is_alive_at_a_break(capsys):
    """A generator that was begun before the break goes on after it."""

    def numbers(x):
        print("begun")
        try:
            for i in range(4):
                yield x + i
        finally:
            print("closed")

    def function(x):
        items = numbers(x)
        first = next(items)
        print("break")
        return first + next(items) + sum(items)

    same_as_plain(capsys, function, X)


def test_fullgraph_says_why():
    """With fullgraph the break is the error."""
    compiled = girih.compile(in_the_middle, backend="eager", fullgraph=True)
    with pytest.raises(girih.UnsupportedError, match="print"):
        compiled(X)


def takes_item(x, i):
    y = x * 2
    try:
        return y[i] + 1
    except IndexError:
        return y * 0


@pytest.mark.parametrize("backend", ["eager", "girih"])
def test_graph_that_fails_on_its_data(backend):
    """What an operation says about its data reaches the program's own handlers."""
    compiled = girih.compile(takes_item, backend=backend)
    good, bad = torch.tensor([1]), torch.tensor([9])
    for index in (good, bad, good):
        torch.testing.assert_close(compiled(X[0], index), takes_item(X[0], index))


def test_graph_that_fails_after_a_change():
    """A graph that has changed its input is not run again."""

    def function(x, i):
        x.add_(1)
        return x[i]

    compiled = girih.compile(function, backend="eager")
    x = torch.zeros(3)
    compiled(x, torch.tensor([0]))
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([9]))
    assert x.tolist() == [2, 2, 2]


@pytest.mark.parametrize("writes", [False, True])
def test_interrupt_in_a_region(writes):
    """An interrupt leaves the regions that were open before the graph."""

    def function(x, log):
        try:
            with torch.no_grad():
                girih.graph_break()
                if writes:
                    x.add_(1)
                return x * 2
        finally:
            log.append(torch.is_grad_enabled())

    interrupted = []

    def backend(graph, inputs):
        def run(*args):
            if interrupted:
                raise KeyboardInterrupt
            return graph(*args)

        return run

    compiled, log = girih.compile(function, backend=backend), []
    compiled(torch.zeros(3), log)
    interrupted.append(True)
    with pytest.raises(KeyboardInterrupt):
        compiled(torch.zeros(3), log)
    assert log == [True, True]
    assert torch.is_grad_enabled()


def test_error_that_another_block_would_see():
    """A graph that writes is broken before what may fail behind an open block."""

    def function(x, i):
        x.add_(1)
        try:
            return x[i]
        except IndexError:
            return x

    x, i = torch.zeros(3), torch.tensor([1])
    report = girih.explain(function, backend="eager")(x, i)
    kinds = [reason.kind for reason in report.break_reasons]
    assert kinds == ["error of a graph inside a `try` or `with` block"]
    compiled = girih.compile(function, backend="eager", fullgraph=True)
    with pytest.raises(girih.UnsupportedError, match="Without fullgraph=True") as info:
        compiled(x, i)
    assert info.value.kind == kinds[0]
    assert "return x[i]" in str(info.value)


def test_traceback_of_a_graph_that_fails():
    """The error stands at the program's own line."""

    def function(x, i):
        y = x * 2
        return y[i]

    compiled = girih.compile(function, backend="eager")
    compiled(X[0], torch.tensor([0]))
    with pytest.raises(IndexError) as raised:
        compiled(X[0], torch.tensor([9]))
    assert raised.traceback[-1].name == "function"
    assert str(raised.traceback[-1].statement).strip() == "return y[i]"


def test_results_collected_in_a_loop():
    """A list that only grows is not read, so its length is no guard."""

    def function(x, n):
        norms = []
        for _ in range(n):
            x = x * 2
            norms.append(x.sum().item())
        return x, norms

    compiled = girih.compile(function, backend="eager")
    assert compiled(X, 20)[1] == function(X, 20)[1]
    dispatchers = [d for d in compiled.callees.values() if d is not None]
    assert all(len(d.entries) <= 4 for d in dispatchers)
