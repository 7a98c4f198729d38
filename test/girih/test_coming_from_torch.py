"""What ``docs/coming-from-torch-compile.md`` says of torch's names holds.

``test_compiler_api`` holds what the names of both mean; this file has the others.
"""

import re
from pathlib import Path

import pytest
import torch
from processes import run_python

import girih

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
    run_python(program + bodies)


def test_arguments_that_are_not_there_yet():
    with pytest.raises(TypeError, match="shapes_spec"):
        girih.compile(torch.sin, shapes_spec=None)


@pytest.mark.parametrize("name", ["guard_filter_fn", "epilogue_fusion"])
def test_options_that_are_not_there_yet(name):
    with pytest.raises(ValueError, match=f"unknown option '{name}'"):
        girih.compile(torch.sin, options={name: True})


def test_torchs_decorators_around_what_girih_compiles():
    run_python(
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
