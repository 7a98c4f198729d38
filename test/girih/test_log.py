"""Logs: by environment variables and by ``girih.set_logs``."""

import inspect
import logging

import pytest
import torch
from processes import run_after_torch, run_python

import girih
from girih import log

PROGRAM = """
import sys; sys.stderr = sys.stdout
import torch, girih
x = torch.ones(3, requires_grad=True)
girih.compile(lambda x: (x.sin() * 2).sum())(x).backward()
"""


@pytest.fixture(autouse=True)
def _off_afterwards():
    yield
    girih.set_logs()


def test_help_is_a_text():
    """The program goes on."""
    program = "import sys; sys.stderr = sys.stdout; import girih; girih.compile"
    printed = run_python(f"{program}; print('on')", GIRIH_LOGS="help")
    assert "Traceback" not in printed and printed.endswith("on\n")
    for name in log.NAMES:
        assert f"  {name} " in printed


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("aot_graphs", ["graph0, derivatives:", "graph.sin", "graph.cos"]),
        ("fusion", ["graph0, fused:", "graph0.backward, fused:", "graph.fusion"]),
        ("schedule", ["graph0, tile:", "tile."]),
        ("output_code", ["graph0, host:", "host."]),
        ("kernel_code", ["graph0, llvm:", "graph0.backward, llvm:", "llvm.func"]),
    ],
)
def test_levels_of_ir_are_logs(name, texts):
    """Also where the kernels are in a cache."""
    for _ in range(2):
        printed = run_after_torch(PROGRAM, GIRIH_LOGS=name)
        assert [text for text in texts if text not in printed] == []
        assert printed.count(f"[girih.{name}]") == printed.count("[girih.")


def test_torchs_variable_counts_for_known_names():
    printed = run_python(PROGRAM, TORCH_LOGS="+guards,recompiles_verbose,+dynamo")
    assert "[girih.guards]" in printed
    assert "[girih.fusion]" not in printed


def test_logs_are_switched(capsys):
    girih.set_logs(guards=True)
    girih.compile(lambda x: x + 1)(torch.ones(3))
    assert "[girih.guards]" in capsys.readouterr().err
    girih.set_logs(all=True, guards=False)
    girih.compile(lambda x: x + 2)(torch.ones(3))
    printed = capsys.readouterr().err
    assert "[girih.fusion]" in printed and "[girih.guards]" not in printed
    girih.set_logs()
    girih.compile(lambda x: x + 3)(torch.ones(3))
    assert capsys.readouterr().err == ""


def logged(capsys, name):
    """What one log has printed since the last call, one string for each record."""
    records = capsys.readouterr().err.split("[girih.")[1:]
    return [r.removeprefix(f"{name}] ").strip() for r in records if r.startswith(name)]


def line_of(function, text):
    """``file:line`` of the first line of a function that has the text."""
    lines, first = inspect.getsourcelines(function)
    number = next(i for i, line in enumerate(lines) if text in line)
    return f"{__file__}:{first + number}"


def test_torchs_names():
    program = PROGRAM.replace("(x.sin() * 2)", "(torch.diff(torch.sort(x.sin())[0]))")
    printed = run_python(program, TORCH_LOGS="+perf_hints,cudagraphs,+dynamic")
    assert "[girih.perf_hints] graph0: 1 library call" in printed
    assert printed.count("[girih.perf_hints]") == printed.count("[girih.")


def sorts(x):
    y = x.cumsum(0).sin()
    return torch.sort(y)[0].cos()


def test_library_calls_are_hints(capsys):
    """Those of the backward program too; a graph of kernels alone has none."""
    girih.set_logs(perf_hints=True)
    x = torch.randn(7, requires_grad=True)
    compiled = girih.compile(sorts)
    compiled(x).sum().backward()
    forward, backward = logged(capsys, "perf_hints")
    (graph,) = girih.report(compiled).graphs
    assert forward.startswith("graph0: ") and f" beside {graph.kernels} ker" in forward
    assert f"aten.sort.stable for sort, {line_of(sorts, 'sort(y)')}" in forward
    assert backward.startswith("graph0.backward: ")
    girih.compile(lambda x: x.sin() + 1)(x)
    assert logged(capsys, "perf_hints") == []


def test_eager_runs_are_hints(capsys):
    girih.set_logs(perf_hints=True)
    x = torch.ones(3, device="meta")
    compiled = girih.compile(lambda x: x + 1)
    with pytest.warns(girih.FallbackWarning):
        compiled(x)
    (hint,) = logged(capsys, "perf_hints")
    assert hint.startswith(f"{girih.report(compiled).fallbacks[0]} ({__file__}:")


def scaled(x, n):
    return x.sin() * n


def test_sizes_and_numbers_that_become_symbolic(capsys):
    """Each is told once, with the two values."""
    girih.set_logs(dynamic=True)
    compiled = girih.compile(scaled)
    compiled(torch.ones(4, 8), 2)
    assert logged(capsys, "dynamic") == []
    compiled(torch.ones(5, 8), 3)
    (told,) = logged(capsys, "dynamic")
    head, *lines = told.split("\n  ")
    assert head.startswith("scaled (")
    assert lines == [
        "L['x'].size(0) is symbolic: it was 4 at an earlier call, and then 5",
        "L['n'] is an input of the graph: it was 2 at an earlier call, and then 3",
    ]
    compiled(torch.ones(6, 8, dtype=torch.float64), 3)  # another entry, nothing new
    assert logged(capsys, "dynamic") == []
    compiled(torch.ones(1, 8), 3)
    (told,) = logged(capsys, "dynamic")
    (line,) = told.split("\n  ")[1:]
    assert line == "L['x'].size(0) is fixed to 1: sizes of 0 and 1 are never symbolic"


def repeats(x, y, n):
    for _ in range(n):
        x = x + 1
    return x + y


def test_what_fixes_sizes_and_numbers(capsys):
    girih.set_logs(dynamic=True)
    compiled = girih.compile(repeats)
    y = torch.ones(8, 3)
    compiled(y[:1], y, 2)
    compiled(torch.ones(8, 3), y, 3)
    (told,) = logged(capsys, "dynamic")
    asked, fixed = (line_of(repeats, text) for text in ("range(n)", "x + y"))
    assert f"L['n'] is fixed to 3: Python asks for the value at {asked}" in told
    guard = "the guard is L['x'].size(0) == 8"
    assert f"L['x'].size(0) is fixed to 8: {guard}, at {fixed}" in told


def test_other_reasons_of_symbols(capsys):
    girih.set_logs(dynamic=True)
    girih.compile(torch.sin, dynamic=True)(torch.ones(5))
    x = torch.ones(7, 2)
    girih.mark_dynamic(x, 0)
    girih.compile(lambda x: x + 1)(x)
    if hasattr(torch.compiler.config, "dynamic_sources"):
        with torch.compiler.config.patch(dynamic_sources="L['x']:0"):
            girih.compile(lambda x: x + 1)(torch.ones(7, 2))
    by_option, by_mark, *by_name = logged(capsys, "dynamic")
    assert by_option.endswith(".size(0) is symbolic: dynamic=True")
    assert by_mark.endswith("L['x'].size(0) is symbolic: the program marks it")
    reason = "L['x'].size(0) is symbolic: torch.compiler.config names it"
    assert all(text.endswith(reason) for text in by_name)


def test_same_sizes_are_one_symbol(capsys):
    girih.set_logs(dynamic=True)
    girih.compile(lambda x, y: x + y, dynamic=True)(torch.ones(5), torch.ones(5))
    (told,) = logged(capsys, "dynamic")
    same = "L['y'].size(0) is symbolic, and the same as L['x'].size(0): dynamic=True"
    assert told.endswith(same)


def test_the_cpu_has_no_cuda_graphs(capsys):
    girih.set_logs(cudagraphs=True)
    girih.compile(lambda x: x + 1)(torch.ones(3))
    assert logged(capsys, "cudagraphs") == []
    for given in ({"mode": "reduce-overhead"}, {"options": {"cudagraphs": True}}):
        girih.compile(lambda x: x + 2, **given)(torch.ones(3))
        told = ["graph0: not recorded: it computes on the CPU"]
        assert logged(capsys, "cudagraphs") == told


def test_mistakes():
    with pytest.raises(ValueError, match="'guard'.*did you mean 'guards'"):
        girih.set_logs(guard=True)
    with pytest.raises(TypeError, match="guards must be True, False or a level"):
        girih.set_logs(guards="yes")


def test_torchs_function_counts_for_known_names(capsys):
    names = {"guards": True, "dynamic": logging.DEBUG, "fusion": False, "dynamo": 30}
    girih.set_logs(fusion=True)
    torch._logging.set_logs(**names)
    girih.compile(lambda x: x + 4)(torch.ones(3))
    printed = capsys.readouterr().err
    assert "[girih.guards]" in printed and "[girih.fusion]" in printed
    torch._logging.set_logs()
    girih.compile(lambda x: x + 5)(torch.ones(3))
    printed = capsys.readouterr().err
    assert "[girih.guards]" not in printed and "[girih.fusion]" in printed


def test_torch_ignores_its_function_beside_its_variable():
    program = PROGRAM.replace(
        "x = torch", "torch._logging.set_logs(fusion=True)\nx = torch"
    )
    printed = run_python(program, TORCH_LOGS="guards")
    assert "[girih.guards]" in printed and "[girih.fusion]" not in printed


def test_names_and_levels_of_torch(capsys):
    girih.set_logs(graph=True, dynamic=logging.WARNING)
    girih.compile(lambda x: x + 6)(torch.ones(3))
    assert "[girih.graph_code]" in capsys.readouterr().err
    with pytest.raises(ValueError, match="'dynamo', which is one of torch's"):
        girih.set_logs(dynamo=logging.DEBUG)
