"""What ``docs/coming-from-torch-compile.md`` says of torch's names holds.

``test_compiler_api`` holds what the names of both mean; this file has the others.
"""

import re
import warnings
from pathlib import Path

import numpy
import pytest
import torch
from processes import run_after_torch

import girih
from girih import torch_options, torch_switches

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-torch-compile.md"

# Each is the body of a function of x, which has to give x + 1 in one graph.
HONOURED = {
    "is_compiling": "return x + int(torch.compiler.is_compiling())",
    "is_dynamo_compiling": "return x + int(torch.compiler.is_dynamo_compiling())",
    "is_exporting": "return x + 1 - int(torch.compiler.is_exporting())",
    "cudagraph_mark_step_begin": (
        "torch.compiler.cudagraph_mark_step_begin(); return x + 1"
    ),
    "nested_compile_region": "return region(x)",
}


def test_names_of_girih_are_there():
    names = set(re.findall(r"`girih\.(\w+)", PAGE.read_text())) - {"compile"}
    assert len(names) > 12
    assert [name for name in sorted(names) if name not in girih.__all__] == []


def test_names_of_torch_that_the_page_honours():
    bodies = "\n".join(
        f"def {name}_(x): {body}\n"
        f"assert torch.equal(girih.compile({name}_, fullgraph=True)(x), x + 1)"
        for name, body in HONOURED.items()
    )
    program = "import torch, girih\nx = torch.ones(3)\n"
    program += "region = torch.compiler.nested_compile_region(lambda x: x + 1)\n"
    run_after_torch(program + bodies)


DOCUMENTED = {
    "epilogue_fusion": True,
    "max_autotune": False,
    "fallback_random": True,
    "shape_padding": True,
    "triton.cudagraphs": False,
    "trace.graph_diagram": True,
    "guard_filter_fn": lambda entries: [True for _ in entries],
}
"""The options that the page of ``torch.compile`` names, but for ``trace.enabled``."""


@pytest.fixture
def nothing_told(monkeypatch):
    monkeypatch.setattr(torch_options, "_told", set())


@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_options_count_or_say_why_not(name, nothing_told):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            compiled = girih.compile(torch.sin, options={name: DOCUMENTED[name]})
            assert torch.equal(compiled(torch.zeros(3)), torch.zeros(3))
    expected = name in torch_options.WITHOUT_EFFECT
    assert len(caught) == expected
    for warning in caught:
        assert warning.category is girih.SwitchWarning
        assert warning.filename == __file__
        assert name in str(warning.message)


def test_torch_filters_guards_and_girih_checks_all(nothing_told):
    def none(entries):
        return [False for _ in entries]

    x, options = torch.ones(3), {"guard_filter_fn": none}

    def function(x, n):
        return x * n

    torch.compiler.reset()
    by_torch = torch.compile(function, backend="girih", options=dict(options))
    assert torch.equal(by_torch(x, 2), x * 2)
    assert torch.equal(by_torch(x, 3), x * 2)  # which is what was asked for
    with pytest.warns(girih.SwitchWarning, match="girih checks all guards"):
        by_girih = girih.compile(function, options=options)
    assert torch.equal(by_girih(x, 2), x * 2)
    assert torch.equal(by_girih(x, 3), x * 3)


def test_other_options_of_inductor_have_no_effect(nothing_told):
    names = ["coordinate_descent_tuning", "triton.unique_kernel_names", "cpp.threads"]
    for name in names:
        with pytest.warns(girih.SwitchWarning, match=f"{name}' has no effect"):
            girih.compile(torch.sin, options={name: True})


def test_the_option_trace_writes_every_level(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = torch.ones(3)
    girih.compile(torch.sin, options={"trace.enabled": True})(x)
    assert list((tmp_path / torch_options.TRACE_FOLDER).rglob("*-fused.mlir"))
    given = {"trace.enabled": True, "trace.debug_dir": str(tmp_path / "given")}
    girih.compile(torch.cos, options=given)(x)
    assert list((tmp_path / "given").rglob("*-fused.mlir"))
    girih.compile(torch.tan, options={"trace.enabled": False})(x)
    assert len(list((tmp_path / torch_options.TRACE_FOLDER).iterdir())) == 1


@pytest.mark.parametrize(
    ("name", "meant"),
    [("epilog_fusion", "epilogue_fusion"), ("trace.enable", "trace.")],
)
def test_wrong_options_have_suggestions_among_torchs_names(name, meant):
    with pytest.raises(ValueError, match=f"did you mean '{meant}"):
        girih.compile(torch.sin, options={name: True})


def test_options_of_inductor_do_not_load_it():
    run_after_torch(
        """
        import sys, warnings, torch, girih
        warnings.simplefilter("ignore")
        girih.compile(torch.sin, options={"coordinate_descent_tuning": True})
        assert "torch._inductor.config" not in sys.modules
        """
    )


def test_names_that_break_the_graph_or_do_nothing_give_the_right_result():
    run_after_torch(
        """
        import torch, girih
        import torch._dynamo as dynamo
        from torch._dynamo.comptime import comptime

        x, graphs = torch.ones(3), []

        def backend(gm, inputs):
            graphs.append(gm)
            return gm.forward

        @dynamo.patch_dynamo_config(verbose=True)
        def patched(x):
            return x * (2 if dynamo.config.verbose else 3)

        @dynamo.disable_nested_graph_breaks
        def nested(x):
            return x * 2

        def marked(x):
            dynamo.mark_static_address(x)
            return x * 2

        def seen(x):
            y = x * 2
            comptime.print_graph()
            return y

        def steps(x):
            y = x * 2
            dynamo.step_unsupported()
            return y

        functions = (
            patched, nested, marked, seen, steps,
            dynamo.forbid_in_graph(lambda x: x * 2),
        )
        for function in functions:
            compiled = girih.compile(lambda x: function(x + 1) * 5, backend=backend)
            assert torch.equal(compiled(x), torch.full((3,), 20.0)), function
        if hasattr(dynamo, "override_cudagraphs"):  # since torch 2.13
            double = dynamo.override_cudagraphs(False)(lambda x: x * 2)

            def hinted(x):
                dynamo.override_optimization_hint(x.size(0), 8)
                return double(x)

            assert torch.equal(girih.compile(hinted)(x), x * 2)
        graphs.clear()
        compiled = girih.compile(lambda x: x * 2, backend=backend)
        assert torch.equal(dynamo.run(compiled)(x), x * 2) and graphs == []
        eager = girih.compile(torch.neg, backend=dynamo.lookup_backend("eager"))
        assert torch.equal(eager(x), -x)
        """
    )


def test_torchs_decorators_around_what_girih_compiles():
    run_after_torch(
        """
        import torch, torch._dynamo, girih
        from torch._dynamo.decorators import mark_unbacked

        def breaks(x):
            torch._dynamo.graph_break()
            return x + 1

        x, graphs = torch.ones(5), []

        def backend(gm, inputs):
            graphs.append(gm)
            return gm.forward

        for wrap in (torch._dynamo.nonstrict_trace, torch._dynamo.dont_skip_tracing):
            inner = wrap(breaks)
            compiled = girih.compile(lambda x: inner(x) * 2, backend=backend)
            assert torch.equal(compiled(x), (x + 1) * 2)

        graphs.clear()
        mark_unbacked(x, 0)
        compiled = girih.compile(lambda x: x + 1, backend=backend)
        for size in (5, 7, 1):
            compiled(x if size == 5 else torch.ones(size))
        assert len(graphs) == 2

        torch._dynamo.disallow_in_graph(torch.cos)
        graphs.clear()
        compiled = girih.compile(lambda x: torch.cos(x.sin()) + 1, backend=backend)
        assert torch.equal(compiled(x), torch.cos(x.sin()) + 1)
        assert len(graphs) == 2
        """
    )


def scoped(x):
    with torch.profiler.record_function("inside"):
        y = x.sin() + 1
    return y.cos()


@torch.profiler.record_function("decorated")
def decorated(x):
    return x.sin()


def sequence(x):
    with torch.profiler.record_function("outer"):
        y = x.sin() + 1
        with torch.profiler.record_function("products"):
            y = y @ x
        y = y.softmax(-1)
    return y @ x


SCOPES = {scoped: {"inside"}, decorated: {"decorated"}, sequence: {"outer", "products"}}


def compiled_with_scopes(function, by_torch):
    if not by_torch:
        return girih.compile(function, fullgraph=True)
    torch.compiler.reset()
    return torch.compile(function, backend="girih")


@pytest.fixture
def scopes_for_dynamo():
    from torch._dynamo import config

    with config.patch(capture_profiler_record_function=True):
        yield
    torch.compiler.reset()


@pytest.mark.parametrize("function", SCOPES)
@pytest.mark.parametrize("by_torch", [False, True])
def test_scopes_of_the_profiler_are_in_its_trace(function, by_torch, scopes_for_dynamo):
    assert "`record_function` in compiled code" in PAGE.read_text()
    compiled = compiled_with_scopes(function, by_torch)
    x = torch.linspace(-1, 1, 64).view(8, 8)
    expected = function(x)
    torch.testing.assert_close(compiled(x), expected)
    with torch.profiler.profile() as trace, torch.profiler.record_function("around"):
        torch.testing.assert_close(compiled(x), expected)
    events = {event.name: event for event in trace.events()}
    assert "around" in events
    assert sum(name.startswith("girih::graph") for name in events) == 1
    for name in SCOPES[function]:
        assert events[name].is_user_annotation
        assert events[name].cpu_children


def parents_of(event):
    while event.cpu_parent is not None:
        event = event.cpu_parent
        yield event.name


@pytest.mark.parametrize("by_torch", [False, True])
def test_a_scope_is_around_its_own_kernels(by_torch, scopes_for_dynamo):
    compiled = compiled_with_scopes(sequence, by_torch)
    # Products of float64 are calls of a library.
    x = torch.linspace(-1, 1, 64, dtype=torch.float64).view(8, 8)
    compiled(x)
    with torch.profiler.profile() as trace:
        compiled(x)
    around = {}
    for event in trace.events():
        if event.name.startswith("girih::") and "graph" not in event.name:
            around.setdefault(event.name, []).append(
                [name for name in parents_of(event) if name in SCOPES[sequence]]
            )
    products = around.pop("girih::aten.mm.default")
    assert sorted(products) == [[], ["products", "outer"]]
    assert [*around.values()] == [[["outer"]], [["outer"]]]


def test_names_of_scopes_are_those_of_each_program():
    def first(x):
        with torch.profiler.record_function("first"):
            return x.sin() + 1

    def second(x):
        with torch.profiler.record_function("second"):
            y = x.sin()
        with torch.profiler.record_function("third"):
            return y + 1

    x = torch.ones(7)
    for function, name in ((first, "first"), (second, "second + third")):
        compiled = girih.compile(function)
        compiled(x)
        with torch.profiler.profile() as trace:
            compiled(x)
        shown = [e.name for e in trace.events() if e.is_user_annotation]
        assert shown == [name]


def test_a_scope_that_is_open_at_a_break():
    def function(x):
        with torch.profiler.record_function("inside"):
            y = x.sin()
            girih.graph_break()
            return y + 1

    compiled, x = girih.compile(function), torch.ones(3)
    compiled(x)
    with torch.profiler.profile() as trace:
        torch.testing.assert_close(compiled(x), function(x))
    assert "inside" in [event.name for event in trace.events()]


def test_a_scope_is_around_its_kernels_of_the_backward_pass():
    compiled = girih.compile(lambda x: scoped(x).sum())
    x = torch.linspace(-1, 1, 8, requires_grad=True)
    compiled(x).backward()
    with torch.profiler.profile() as trace:
        compiled(x).backward()
    inside = [e for e in trace.events() if e.name == "inside"]
    programs = {name for e in inside for name in parents_of(e)}
    assert {"girih::graph0", "girih::graph0.backward"} <= programs


def step_of_grad(model, x):
    loss = model(x).sum()
    weights = list(model.parameters())
    for weight, grad in zip(weights, torch.autograd.grad(loss, weights), strict=True):
        weight.grad = grad
    return loss.detach()


def step_of_backward(model, x):
    loss = model(x).sum()
    loss.backward()
    return loss.detach()


def step_of_a_function(model, x):
    loss = model(x).sum()
    torch.autograd.backward(loss)
    return loss.detach()


def own_leaf(model, x):
    leaf = x.detach().requires_grad_()
    (leaf * model.weight.detach().sum()).sum().backward()
    return leaf.grad


STEPS = {step_of_grad: 0, step_of_backward: 1, step_of_a_function: 1, own_leaf: 1}


@pytest.mark.parametrize("function", STEPS)
def test_grad_is_in_the_graph_and_backward_breaks_it(function):
    found, x = [], torch.linspace(-1, 1, 12).view(4, 3)
    for run in (function, girih.compile(function)):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        found.append([run(model, x), *(p.grad for p in model.parameters())])
    torch.testing.assert_close(found[1], found[0])
    assert girih.explain(function)(model, x).graph_break_count == STEPS[function]
    compiled = girih.compile(function, fullgraph=True)
    if not STEPS[function]:
        compiled(model, x)
        return
    with pytest.raises(girih.UnsupportedError, match=r"Use torch\.autograd\.grad"):
        compiled(model, x)


def test_the_page_and_the_warning_say_what_is_in_one_graph():
    assert "calls `torch.autograd.grad` has both in one graph" in PAGE.read_text()
    (_, instead) = torch_switches._WITHOUT_EFFECT["compiled_autograd"]
    assert "calls torch.autograd.grad to have both in one graph" in instead


def test_functions_of_numpy_run_as_python():
    @torch.compiler.wrap_numpy
    def wrapped(array):
        return numpy.sum(array * array)

    x = torch.linspace(-1, 1, 6)
    assert girih.compile(wrapped)(x) == wrapped(x)
    for function, given in ((wrapped, x), (numpy.sin, x.numpy())):
        with pytest.raises(girih.UnsupportedError):
            girih.compile(lambda x, f=function: f(x), fullgraph=True)(given)
    x.requires_grad_()
    for function in (wrapped, girih.compile(wrapped)):
        with pytest.raises(RuntimeError, match="on Tensor that requires grad"):
            function(x)
