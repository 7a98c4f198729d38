"""Callables as backends: they get what TorchDynamo would give them."""

from __future__ import annotations

import pytest
import torch

import girih


def _sine(x):
    return x.sin() + 1


def _broken(x):
    x = torch.sigmoid(x)
    torch._dynamo.graph_break()
    return torch.cos(x)


def test_the_inputs_are_those_of_the_call():
    met = []

    def backend(gm, inputs):
        met.extend(inputs)
        return gm.forward

    x = torch.ones(3)
    girih.compile(_sine, backend=backend, dynamic=True)(x)
    assert len(met) == 1 and met[0] is x


def test_a_backend_may_run_the_inputs():
    x = torch.randn(3)
    compiled = girih.compile(_sine, backend=torch.jit.trace)
    torch.testing.assert_close(compiled(x), _sine(x))


def test_aotautograd_behind_a_callable_keeps_sizes_symbolic():
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    graphs = []

    def compiler(gm, inputs):
        graphs.append([size for x in inputs[:1] for size in getattr(x, "shape", ())])
        return make_boxed_func(gm.forward)

    def product(x, w):
        return (x.sin() @ w).relu() * x.shape[0]

    backend = aot_autograd(fw_compiler=compiler)
    compiled = girih.compile(product, backend=backend, dynamic=True)
    for rows in (3, 4, 5):
        x, w = torch.randn(rows, 4, requires_grad=True), torch.randn(4, 4)
        torch.testing.assert_close(compiled(x, w), product(x, w))
        compiled(x, w).sum().backward()
    assert len(graphs) == 2 and isinstance(graphs[0][0], torch.SymInt)


def test_a_written_argument_is_written_once():
    def double(x):
        x.mul_(2)
        return x + 1

    x = torch.ones(3)
    result = girih.compile(double, backend=lambda gm, inputs: gm.forward)(x)
    torch.testing.assert_close((x, result), (torch.full((3,), 2.0), x + 1))


def test_graphs_say_why_they_end():
    ends = []

    def backend(gm, inputs):
        ends.append(gm.compile_subgraph_reason)
        return gm.forward

    girih.compile(_broken, backend=backend)(torch.ones(2))
    assert [end.graph_break for end in ends] == [True, False]
    assert "graph_break()" in ends[0].reason and ends[1].reason == "return_value"
    assert [frame.name for frame in ends[0].user_stack] == ["_broken"]
    assert "graph_break" in ends[0].user_stack[0].line


def test_torch_explains_graphs_of_girih():
    from torch._dynamo.backends.debugging import ExplainWithBackend

    backend, x = ExplainWithBackend("eager"), torch.ones(2)
    torch.testing.assert_close(girih.compile(_broken, backend=backend)(x), _broken(x))
    output = backend.output()
    assert (output.graph_count, output.graph_break_count, output.op_count) == (2, 1, 2)
    assert "Break Reason 1" in str(output) and __file__ in str(output)
    assert girih.explain(_broken)(x).graph_break_count == 1


def test_explain_and_a_callable_that_reads_why_graphs_end():
    from torch._dynamo.backends.debugging import ExplainWithBackend

    compiled = girih.compile(_broken, backend=ExplainWithBackend("eager"))
    assert girih.explain(compiled)(torch.ones(2)).graph_break_count == 1


def test_errors_of_a_callable_come_as_they_are():
    def backend(gm, inputs):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="^mine$"):
        girih.compile(_sine, backend=backend)(torch.ones(2))


def test_errors_of_girih_are_also_of_torchs_classes():
    from torch._dynamo.exc import FailOnRecompileLimitHit, Unsupported

    with pytest.raises(RuntimeError) as caught:
        girih.compile(_broken, fullgraph=True)(torch.ones(2))
    assert type(caught.value) is girih.UnsupportedError
    assert isinstance(caught.value, Unsupported)
    assert not isinstance(caught.value, FailOnRecompileLimitHit)
    assert issubclass(girih.RecompileError, RuntimeError)
    with pytest.raises(ValueError, match="no_such_backend"):
        girih.compile(_sine, backend="no_such_backend")


@pytest.mark.parametrize("is_dynamos", [False, True])
def test_each_of_torchs_resets_resets_girih(is_dynamos):
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    compiled = girih.compile(_sine, backend=backend)
    compiled(torch.ones(2))
    torch._dynamo.reset() if is_dynamos else torch.compiler.reset()
    compiled(torch.ones(2))
    assert len(graphs) == 2
