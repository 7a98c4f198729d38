"""The runner sees what it is meant to see."""

import copy

import pytest
import torch

from differential import session
from differential.program import Program
from differential.variation import varied

COUNT = 0
X = torch.arange(4.0)


def program(x, items):
    """The right program."""
    global COUNT
    COUNT += 1
    items.append(COUNT)
    print(COUNT)
    x.add_(1)
    return x, x[:2], x.t(), items


def _wrong(body: str):
    source = f"def program(x, items):\n    global COUNT\n    {body}"
    namespace = globals()
    exec(source, namespace, made := {})
    return made["program"]


RIGHT = "COUNT += 1; items.append(COUNT); print(COUNT); x.add_(1); "
WRONG = {
    "value": RIGHT + "return x, x[1:3], x.t(), items",
    "copy": RIGHT + "return x.clone(), x[:2], x.t(), items",
    "list": RIGHT + "return x, x[:2], x.t(), [*items]",
    "view": RIGHT + "return x, x[:2].clone(), x.t(), items",
    "alias": RIGHT + "return x, x[:2], x, items",
    "type": RIGHT + "return [x, x[:2], x.t(), items]",
    "dtype": RIGHT + "return x, x[:2], x.double(), items",
    "mutation": RIGHT + "x.add_(1).sub_(1 + 1e-3); return x, x[:2], x.t(), items",
    "item": RIGHT + "items[-1] += 1; return x, x[:2], x.t(), items",
    "float": RIGHT + "items[-1] *= 1.0; return x, x[:2], x.t(), items",
    "global": "COUNT += 2; items.append(COUNT - 1); print(COUNT - 1); x.add_(1);"
    "return x, x[:2], x.t(), items",
    "print": RIGHT + "print(); return x, x[:2], x.t(), items",
    "raise": RIGHT + "raise ValueError",
    "grad": RIGHT + "torch.set_grad_enabled(False); return x, x[:2], x.t(), items",
    "random": RIGHT + "torch.rand(1); return x, x[:2], x.t(), items",
}


def differs(function) -> list[str]:
    """Differences of a function from the right one."""
    given = Program("test.program", program, [((X, [0]), {})])
    expected = session.run(given, session.plain)
    return session.compare(given, lambda _: function, expected)


def test_right_program_is_accepted():
    assert differs(program) == []
    assert differs(_wrong(RIGHT + "return x, x[:2], x.t(), items")) == []


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_wrong_program_is_found(body):
    assert differs(_wrong(body))


def fails(x, items):
    """Raises."""
    raise ValueError("one") from KeyError("cause")


def other_message(x, items):
    """Raises with another text."""
    raise ValueError("two") from KeyError("cause")


def other_cause(x, items):
    """Raises from something else."""
    raise ValueError("one") from KeyError("other")


@pytest.mark.parametrize("function", [other_message, other_cause, program])
def test_wrong_exception_is_found(function):
    given = Program("test.fails", fails, [((X, [0]), {})])
    expected = session.run(given, session.plain)
    assert session.compare(given, lambda _: fails, expected) == []
    assert session.compare(given, lambda _: function, expected)


def test_missing_guard_is_found():
    """A compiler that remembers the first result of a branch."""

    def remembers(function):
        known = []

        def run(x, flag):
            known.append(flag)
            return function(x, known[0])

        return run

    def branches(x, flag):
        return x + 1 if flag else x - 1

    calls = [((X, True), {})]
    given = Program("test.branches", branches, calls + varied(calls[0], 20))
    expected = session.run(given, session.plain)
    assert session.compare(given, session.plain, expected) == []
    assert session.compare(given, remembers, expected)


def test_globals_are_put_back():
    before = copy.copy(globals()["COUNT"])
    session.run(Program("test.program", program, [((X, [0]), {})]), session.plain)
    assert before == COUNT
    assert torch.equal(X, torch.arange(4.0))


def test_traceback_is_compared():
    def raises(x, items):
        raise ValueError("one")

    def raises_elsewhere(x, items):
        print(end="")
        raise ValueError("one")

    raises.__code__, raises_elsewhere.__code__ = (
        f.__code__.replace(co_filename=f"{session._CORPUS}/x.py", co_name="f")
        for f in (raises, raises_elsewhere)
    )
    given = Program("test.raises", raises, [((X, [0]), {})])
    expected = session.run(given, session.plain)
    assert session.compare(given, session.plain, expected) == []
    assert session.compare(given, lambda _: raises_elsewhere, expected)


def test_graphs_are_counted():
    def computes(x):
        return x.sin() + 1

    def returns(x):
        return x

    for function, counted in ((computes, (1, 2)), (returns, (0, 0))):
        assert session.count_graphs(Program("test", function, [((X,), {})])) == counted
