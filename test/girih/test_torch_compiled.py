"""What ``torch.compile`` returned, given to girih, and the other way round."""

import functools

import pytest
import torch
from processes import run_after_torch

import girih

X = torch.linspace(-1, 1, 3)

# Each kind of callable over a function that one compiler has compiled. The process ends
# by itself where a call of it does not: such a loop is in C, where no signal is heard.
_PROGRAM = """
    import faulthandler, functools, sys, warnings

    import torch

    import girih

    faulthandler.dump_traceback_later(200, exit=True)
    warnings.simplefilter("ignore")
    backend, outermost = sys.argv[1:]
    inner, outer = torch.compile, girih.compile
    if outermost == "torch":
        inner, outer = outer, inner
    inner = functools.partial(inner, backend=backend)


    class Base:
        one = 1

        @inner
        def method(self, x):
            return x.sin() + self.one

        @classmethod
        @inner
        def of_class(cls, x):
            return x.sin() + cls.one

        @staticmethod
        @inner
        def static(x):
            return x.sin() + 1

        part = functools.partialmethod(method)


    class Derived(Base):
        def method(self, x):
            return super().method(x)


    class Called:
        @inner
        def __call__(self, x):
            return x.sin() + 1


    class Calling:
        held = Base().method

        def __call__(self, x):
            return self.held(x)


    class Net(torch.nn.Module):
        @inner
        def forward(self, x):
            return x.sin() + 1


    targets = {
        "bound method": Base().method,
        "method of a class, through the class": Base.of_class,
        "method of a class, through an object": Base().of_class,
        "static method": Base.static,
        "partial method": Base().part,
        "method that calls the base's": Derived().method,
        "function": functools.partial(Base.method, Base()),
        "partial": functools.partial(Base().method),
        "partial of a partial": functools.partial(functools.partial(Base.static)),
        "partial of an object": functools.partial(Called()),
        "object": Called(),
        "method of call": Called().__call__,
        "object that calls": Calling(),
        "forward": Net().forward,
        "function that calls a method": lambda x: Base().method(x),
    }
    if outermost == "girih":  # torch.compile refuses this one
        targets["module"] = Net()
    x = torch.ones(3)
    for name, target in targets.items():
        print(name, flush=True)
        compiled = outer(target, backend=backend)
        for _ in range(2):
            torch.testing.assert_close(compiled(x), x.sin() + 1)
    print("all")
"""


def test_girih_over_torch():
    for backend in ("eager", "girih"):
        assert run_after_torch(_PROGRAM, backend, "girih").endswith("all\n")


def test_torch_over_girih():
    for backend in ("eager", "girih"):
        assert run_after_torch(_PROGRAM, backend, "torch").endswith("all\n")


class Steps:
    """A method that torch compiles, with options."""

    @torch.compile(backend="girih", options={"fallback": False})
    def step(self, x):
        """Called by the tests."""
        return x.sin() + 1


def _relu():
    return torch.nn.Sequential(torch.nn.ReLU())


class Double(torch.nn.Module):
    """Not torch's own: TorchDynamo skips those where they are compiled in place."""

    def forward(self, x):
        """Called by the tests."""
        return x * 2


def _in_place():
    module = Double()
    module.compile(backend="girih")
    return module


def _class():
    class Called:
        def __call__(self, x):
            return x * 2

    return torch.compile(Called, backend="girih")


_KINDS = {
    "function": lambda: torch.compile(lambda x: x * 2, backend="girih"),
    "module": lambda: torch.compile(_relu(), backend="girih"),
    "module in place": _in_place,
    "method": lambda: Steps().step,
    "operation": lambda: torch.compile(torch.sin, backend="girih"),
}


@pytest.fixture(autouse=True)
def _compiles_anew():
    torch.compiler.reset()


@pytest.mark.parametrize("kind", _KINDS)
def test_a_report_has_the_graphs_of_one_object(kind):
    compiled, other = _KINDS[kind](), torch.compile(lambda x: x - 1, backend="girih")
    other(X)
    before = girih.report(compiled)
    assert str(before).startswith("girih has compiled nothing yet\nTorchDynamo")
    compiled(X)
    (graph,) = girih.report(compiled).graphs
    assert graph is girih.report().graphs[1]
    assert girih.report(other).graphs == [girih.report().graphs[0]]


def test_a_report_of_a_class():
    compiled = _class()
    compiled()(X)
    assert len(girih.report(compiled).graphs) == 1


def test_a_report_has_what_follows_a_break():
    @torch.compile(backend="girih")
    def broken(x):
        y = x.sin()
        torch._dynamo.graph_break()
        return y + 1

    broken(X)
    report = girih.report(broken)
    assert len(report.graphs) == 2
    assert "graph breaks, and what it left to Python" in str(report)


def test_a_report_tells_of_graphs_that_dynamo_may_share():
    def double(x):
        return x * 2

    one, other = (torch.compile(double, backend="girih") for _ in range(2))
    third = torch.compile(double, backend="girih", options={"fallback": False})
    one(X), other(X)
    assert not girih.report(other).graphs
    assert "run its graphs here, too: graph0" in str(girih.report(other))
    for apart in (one, third):
        assert "Another object" not in str(girih.report(apart))


def test_a_report_of_what_optimize_compiled():
    compiled = torch._dynamo.optimize("girih")(lambda x: x * 2)
    compiled(X)
    report = girih.report(compiled)
    assert len(report.graphs) == 1
    assert "does not say for which" in str(report)


def test_no_report_of_other_backends_and_wrappers():
    compiled = torch.compile(lambda x: x, backend="eager")
    with pytest.raises(TypeError, match="compiled with the backend 'eager'"):
        girih.report(compiled)

    @functools.wraps(Steps.step)
    def wrapper(x):
        return x

    with pytest.raises(TypeError, match="or torch.compile"):
        girih.report(wrapper)


def test_graphs_of_what_is_gone_are_no_ones():
    compiled = torch.compile(lambda x: x * 2, backend="girih")
    compiled(X)
    del compiled
    torch.compiler.reset()
    fresh = torch.compile(lambda x: x * 2, backend="girih")
    assert not girih.report(fresh).graphs


@pytest.mark.parametrize("kind", _KINDS)
def test_explanations_and_checks_say_who_captured(kind):
    compiled = _KINDS[kind]()
    explanation = girih.explain(compiled)(X)
    assert explanation.graph_count == 1
    check = girih.check(compiled)(X)
    assert check.ok and len(check.graphs) == 1
    for text in (str(explanation), str(check)):
        assert "torch.compile has TorchDynamo capture" in text
    assert explanation.to_dict()["notes"] == explanation.notes
    assert not girih.report(compiled).graphs  # nothing of it was compiled


def test_explanations_and_checks_take_the_options_of_torch_compile(tmp_path):
    options = {"dump_dir": str(tmp_path)}
    compiled = torch.compile(lambda x: x * 2, backend="girih", options=options)
    for function in (girih.explain, girih.check):
        function(compiled)(X)
        found = list(tmp_path.rglob("*.mlir"))
        assert found
        for path in found:
            path.unlink()
    dynamic = torch.compile(lambda x: x * x.shape[0], backend="girih", dynamic=True)
    (segment,) = girih.explain(dynamic)(X).segments
    assert "3 ==" not in str(segment.guards) and "== 3" not in str(segment.guards)


def test_what_girih_compiled_has_no_notes():
    compiled = girih.compile(lambda x: x * 2)
    compiled(X)
    assert not girih.report(compiled).notes
    assert not girih.explain(compiled)(X).notes
    assert not girih.check(compiled)(X).notes
