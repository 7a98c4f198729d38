"""girih's functions mean what torch's mean, and torch's own work under girih.

Each program of ``compiler_scenarios`` runs in three ways: under ``torch.compile`` with
torch's names, under ``girih.compile`` with girih's, and under ``girih.compile`` with
torch's. Results and graphs (operations of each, in the order of compilation) are
compared. All of it runs in processes of their own: torch loads its compiler.
"""

import functools
import json
from pathlib import Path

import pytest
from processes import COMPILERS, run_after_torch

NAMES = [
    line.removeprefix("def ").partition("(")[0]
    for line in (Path(__file__).parent.parent / "support" / "compiler_scenarios.py")
    .read_text()
    .splitlines()
    if line.startswith("def ") and "(api, compile):" in line
]

# Graphs that girih makes otherwise, and why.
_BREAKS_INSIDE = "girih goes on inside of the callee, torch only behind the call"
GRAPHS_DIFFER = {
    "break_in_a_callee": _BREAKS_INSIDE,
    "disabled_method": "torch does not capture the caller at all",
    "mark_is_not_inherited_by_wraps": "torch takes the copied mark for the wrapper's",
}

# torch lets any stance be set, and complains in its own compiled functions.
ONLY_GIRIHS_NAMES = ("unknown_stance",)


@functools.cache
def observed(names: str, compiler: str) -> dict | str:
    """What all scenarios did, or the error text of the process."""
    folder = str(Path(__file__).parent.parent / "support")
    program = f"""
        import json
        import sys
        import torch
        import girih
        sys.path.insert(0, {folder!r})
        from compiler_scenarios import observe_all, torch_names

        names = {names}
        print(json.dumps(observe_all(names, {compiler}.compile)))
        """
    try:
        printed = run_after_torch(program, loaded=COMPILERS)
    except AssertionError as failed:
        return str(failed)
    return json.loads(printed.splitlines()[-1])


@pytest.mark.parametrize("names", ["girih", "torch_names()"])
@pytest.mark.parametrize("name", NAMES)
def test_means_what_torch_means(name, names):
    if name in ONLY_GIRIHS_NAMES and names != "girih":
        pytest.skip("torch's function checks nothing")
    of_torch, of_girih = observed("torch_names()", "torch"), observed(names, "girih")
    assert isinstance(of_torch, dict) and isinstance(of_girih, dict), of_girih
    expected, found = of_torch[name], of_girih[name]
    assert found["result"] == expected["result"]
    if name not in GRAPHS_DIFFER:
        assert found["graphs"] == expected["graphs"]


def test_breaks_may_be_errors_in_a_region():
    run_after_torch(
        """
        import torch, torch._dynamo
        import girih

        def breaks(x):
            print(end="")
            return x * 2

        def inside(x):
            with torch._dynamo.error_on_graph_break(True):
                return breaks(x + 1)

        def behind(x):
            with torch._dynamo.error_on_graph_break(True):
                y = x + 1
            return breaks(y)

        @torch._dynamo.error_on_graph_break(False)
        def allowed(x):
            return breaks(x)

        def nested(x):
            with torch._dynamo.error_on_graph_break(True):
                return allowed(x + 1)

        x = torch.ones(3)
        try:
            girih.compile(inside, backend="eager")(x)
        except girih.UnsupportedError as error:
            assert error.kind == "builtin with an effect"
        else:
            raise AssertionError("no error")
        for function in (behind, nested):
            compiled = girih.compile(function, backend="eager")
            torch.testing.assert_close(compiled(x), function(x))
        """,
        loaded=COMPILERS,
    )


def test_nothing_of_girih_loads_torchs_compiler():
    run_after_torch(
        """
        import sys
        import torch, girih

        @girih.disable
        def left_alone(x):
            return x + 1

        @girih.assume_constant_result
        def two():
            return 2

        def program(x):
            girih.graph_break()
            return left_alone(x) * two() if girih.is_compiling() else x

        x = torch.ones(3)
        girih.mark_dynamic(x, 0)
        with girih.set_stance("eager_on_recompile"):
            girih.compile(program, backend="eager")(x)
        print(girih.explain(program)(x))
        girih.reset()
        assert "torch._dynamo" not in sys.modules
        """
    )


def test_what_torch_compiled_or_disabled_is_called():
    run_after_torch(
        """
        import torch
        import girih

        class Graphs:
            def __init__(self):
                self.operations = []

            def __call__(self, gm, inputs):
                nodes = [n for n in gm.graph.nodes if n.op.startswith("call_")]
                self.operations.append(len(nodes))
                return gm.forward

        def sine(x):
            return x.sin() + 1

        net, x = torch.nn.Linear(4, 4), torch.arange(4.0)
        cases = [
            (torch.compile(sine, backend="eager"), [4]),
            (torch.compile(net, backend="eager"), [3]),
            (torch.compiler.disable(sine), [1, 1]),
            (torch.compiler.disable(net), [1, 1]),
        ]
        for inner, expected in cases:
            def program(x):
                return inner(x * 2) * 3

            graphs = Graphs()
            with torch.no_grad():
                compiled = girih.compile(program, backend=graphs)
                for _ in range(2):
                    torch.testing.assert_close(compiled(x), program(x))
            assert graphs.operations == expected, (inner, graphs.operations)

        # torch's compiler is active while girih compiles, and must not compile girih
        ours = girih.compile(sine, backend="eager")
        theirs = torch.compile(lambda x: ours(x * 2) * 3, backend="eager")
        torch.testing.assert_close(theirs(x), sine(x * 2) * 3)
        theirs = torch.compile(ours, backend=(graphs := Graphs()))
        torch.testing.assert_close(theirs(x), sine(x))
        assert graphs.operations == [2]
        """,
        loaded=COMPILERS,
    )
