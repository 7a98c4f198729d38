"""Whatever runs eager although it was to be compiled is told, in every way there is."""

import contextlib
import errno
import inspect
import resource
import sys
import warnings
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.nn.attention.flex_attention import flex_attention
from torch.utils._python_dispatch import TorchDispatchMode

import girih
from girih.compiler import compile_graph
from girih.errors import EXHAUSTED, GirihError, SourceLocation
from girih.fallbacks import KINDS, Site, with_reasons
from girih.frontend.capture import api
from girih.frontend.capture.capture import RAISES
from girih.frontend.capture.graph import Graph
from girih.frontend.capture.refusals import OPERATION_FAILED
from girih.options import Options
from girih.passes import registry
from girih.reports import Report


class Mode(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else Dynamo is loaded

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


@dataclass(frozen=True)
class Program:
    """A function with calls of which one at least runs eager.

    Attributes:
        function: What is compiled.
        calls: Makes the arguments of each call, in order.
        settings: For ``girih.compile``.
        around: What is active during the calls.
        line: Of the function, from its first one, that is named.
    """

    function: Callable
    calls: Callable
    settings: dict = field(default_factory=dict)
    around: Callable = nullcontext
    line: int = 0


def plain(x):
    return x.sin() + 1


def left_open(x):
    y = x + 1
    torch.autocast("cpu").__enter__()
    return y @ y


@contextmanager
def same_autocast():
    yield
    if torch.is_autocast_enabled("cpu"):
        torch.clear_autocast_cache()
        torch.set_autocast_enabled("cpu", False)
        torch.autocast_decrement_nesting()


def steps(x):
    yield x + 1


def by_name(x, name):
    return x * len(name)


def in_inference_mode(x):
    with torch.inference_mode():
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


def writes_windows(x):
    y = x.unfold(0, 3, 1)
    y.mul_(2)
    return y * 2


def looks_up(weight):
    return F.embedding(torch.tensor([1, 2]), weight, sparse=True) * 2


def writes(x, y):
    x.add_(1)
    return y * 2


def scales(x, n):
    return x * n


def ones(*shape):
    return torch.ones(shape)


def overlapping():
    memory = torch.zeros(8)
    yield ones(4), ones(4)
    yield memory[:4], memory[2:6]


PROGRAMS = {
    "capture": Program(left_open, lambda: [(ones(3, 3),)], around=same_autocast),
    "mode": Program(plain, lambda: [(ones(3),)], around=Mode),
    "recompile limit": Program(
        by_name,
        lambda: [(ones(3), "a"), (ones(3), "ab"), (ones(3), "abc")],
        {"options": {"recompile_limit": 2}, "dynamic": False},
    ),
    "device": Program(plain, lambda: [(ones(3).to("meta"),)], line=1),
    "inference mode": Program(in_inference_mode, lambda: [(ones(3),)], line=1),
    "import": Program(writes_windows, lambda: [(ones(4),)], line=2),
    "derivative": Program(looks_up, lambda: [(ones(3, 2).requires_grad_(),)], line=1),
    "overlap": Program(writes, overlapping, line=1),
    "number": Program(
        scales, lambda: [(ones(3), n) for n in (2.0, 3.0, 1e300)], line=1
    ),
    "bug": Program(plain, lambda: [(ones(3),)], line=1),
    "pass": Program(plain, lambda: [(ones(3),)], line=1),
    "resources": Program(plain, lambda: [(ones(3),)], line=1),
}


MISTAKE = KeyError("what a mistake")


@pytest.fixture(autouse=True)
def anew():
    girih.reset()


def break_fuse(monkeypatch, module, error=MISTAKE):
    """The pass ``fuse`` fails, and is of this module."""

    def fail(module, options):
        raise error

    fail.__module__ = module
    broken = replace(registry.find_pass("fuse"), run=fail)
    monkeypatch.setitem(registry._REGISTERED, "fuse", broken)


def told(program, **settings):
    """Compiles and calls a program; what was found, and the warnings."""
    compiled = girih.compile(program.function, **program.settings | settings)
    with warnings.catch_warnings(record=True) as caught, program.around():
        warnings.simplefilter("always")
        for _ in range(2):
            run(compiled, program)
    return compiled, [w for w in caught if w.category is girih.FallbackWarning]


def run(compiled, program):
    for arguments in program.calls():
        compiled(*arguments)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_each_kind_is_told_once_at_the_users_line(kind, request):
    program = prepared(kind, request)
    compiled, (warning,) = told(program)
    code = program.function.__code__
    place = (code.co_filename, code.co_firstlineno + program.line)
    assert (warning.filename, warning.lineno) == place
    assert 'options={"fallback": False} makes this an error' in str(warning.message)
    (fallback,) = girih.report(compiled).fallbacks
    assert fallback.kind == kind
    location = fallback.location
    assert (location.filename, location.line) == place
    assert fallback.reason in str(girih.report(compiled))
    calls = girih.counters()["eager_calls"]
    assert set(calls) == {kind} and calls[kind] >= 1


def prepared(kind, request):
    program = PROGRAMS[kind]
    if kind in ("bug", "pass"):
        module = "girih.passes.fuse" if kind == "bug" else __name__
        break_fuse(request.getfixturevalue("monkeypatch"), module)
    elif kind == "resources":
        error = OSError(errno.EMFILE, "Too many open files")
        break_fuse(request.getfixturevalue("monkeypatch"), "girih.passes.fuse", error)
    return program


def is_raised(compiled, program):
    try:
        with program.around():
            run(compiled, program)
    except GirihError:
        return True
    return False


@pytest.mark.parametrize(
    "strict",
    [{"options": {"fallback": False}}, {"fullgraph": True}, {"GIRIH_FALLBACK": "0"}],
    ids=str,
)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_each_kind_is_an_error_where_that_is_asked_for(
    kind, strict, request, monkeypatch
):
    program, strict = prepared(kind, request), dict(strict)
    if "GIRIH_FALLBACK" in strict:
        monkeypatch.setenv("GIRIH_FALLBACK", strict.pop("GIRIH_FALLBACK"))
    options = program.settings.get("options", {}) | strict.get("options", {})
    settings = {**program.settings, **strict, "options": options}
    assert is_raised(girih.compile(program.function, **settings), program)
    assert not girih.counters()["eager_calls"]


@pytest.mark.parametrize("kind", sorted(set(PROGRAMS) - {"recompile limit"}))
def test_each_kind_is_explained(kind, request):
    program = prepared(kind, request)
    *_, last = program.calls()
    with warnings.catch_warnings(), program.around():
        warnings.simplefilter("ignore")
        dynamic = kind == "number" or None
        found = girih.explain(program.function, dynamic=dynamic)(*last)
    (fallback,) = found.fallbacks
    assert fallback.kind == kind
    assert "1 fallback;" in str(found) and fallback.text in str(found)
    assert found.to_dict()["fallbacks"][0]["kind"] == kind


def test_the_graph_in_front_of_a_break_is_the_reason_if_it_is_refused():
    """A break by itself is none: it cost users the line that was in the way."""

    def program(x):
        torch.sin(x)
        detached = x.detach()
        detached.mul_(x)
        if detached.sum() > 0:
            torch.sin(detached)
        return x

    strict = girih.compile(program, options={"fallback": False})
    x = ones(3).requires_grad_()
    with pytest.raises(girih.UnsupportedError, match="history of a detached view"):
        strict(x * 2)


# Kinds that no call of a compiled function comes to ------------------------------


def test_a_generator_function_is_told_when_it_is_compiled():
    with pytest.warns(girih.FallbackWarning, match="generator function") as caught:
        girih.compile(steps)
    assert caught[0].lineno == steps.__code__.co_firstlineno
    assert girih.counters()["fallbacks"] == {"generator": 1}
    for strict in ({"fullgraph": True}, {"options": {"fallback": False}}):
        with pytest.raises(girih.UnsupportedError, match="generator function"):
            girih.compile(steps, **strict)


def test_a_function_that_raises_again_and_again_is_told(monkeypatch):
    def fails(call):
        raise girih.UnsupportedError(RAISES)

    def refuses(x):
        assert x.dim() > 9

    monkeypatch.setattr(api, "capture", fails)
    compiled = girih.compile(refuses)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(api.MAXIMAL_FAILURES + 2):
            with pytest.raises(AssertionError):
                compiled(ones(3))
    (warning,) = caught
    assert warning.lineno == refuses.__code__.co_firstlineno
    assert girih.counters()["eager_calls"] == {"errors": 3}
    strict = girih.compile(refuses, options={"fallback": False})
    for _ in range(api.MAXIMAL_FAILURES + 2):  # it is never left alone
        with pytest.raises(AssertionError):
            strict(ones(3))
    assert girih.counters()["eager_calls"] == {"errors": 3}


def test_an_operation_that_fails_while_tracing_alone_is_told(monkeypatch):
    def fails(call):
        error = girih.UnsupportedError(OPERATION_FAILED)
        error.met_tensors = True
        raise error

    monkeypatch.setattr(api, "capture", fails)
    with pytest.warns(girih.FallbackWarning, match=OPERATION_FAILED):
        girih.compile(plain)(ones(3))
    with pytest.raises(girih.UnsupportedError, match=OPERATION_FAILED):
        girih.compile(plain, options={"fallback": False})(ones(3))


def picked(x, index):
    return x[index] * 2


def test_a_kernel_that_refuses_what_eager_takes():
    """The graph is called with more rows than it was compiled for."""
    gm = torch.fx.symbolic_trace(picked)
    x, index = torch.arange(4.0), torch.tensor([0, 3])
    wide = torch.arange(9.0)
    for is_allowed in (True, False):
        options = Options(fallback=is_allowed, cache=False)
        compiled = compile_graph(gm, (x, index), options, Report("graph"))
        with pytest.raises(IndexError):  # eager's own error is all that is said
            compiled(x, torch.tensor([0, 9]))
        expected = (
            pytest.warns(girih.FallbackWarning, match="a kernel refused the data")
            if is_allowed
            else pytest.raises(girih.UnsupportedError, match="kernel check")
        )
        with expected:
            compiled(wide, torch.tensor([0, 8]))


def test_a_tensor_that_is_not_aligned_is_said_to_be():
    site = Site("this graph", True, SourceLocation("program.py", 3))
    fall_back = with_reasons(site, lambda x: x + 1)
    with pytest.warns(girih.FallbackWarning, match="not aligned as kernels need it"):
        assert fall_back("alignment", 1) == 2
    assert girih.counters()["eager_calls"] == {"alignment": 1}


def test_every_kind_is_tried():
    others = {"generator", "errors", "kernel check", "alignment", "transform"}
    assert {*PROGRAMS, *others} == set(KINDS)


def test_every_kind_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "eager.md").read_text()
    assert all(f"| `{kind}` |" in page for kind in KINDS)
    numbers = girih.counters()
    assert all(f"| `{name}` |" in page for name in numbers)


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("maximum depth")])
def test_what_the_process_lacks_is_no_bug(monkeypatch, error):
    break_fuse(monkeypatch, "girih.passes.fuse", error)
    compiled = girih.compile(plain)
    with pytest.warns(girih.FallbackWarning, match=type(error).__name__) as caught:
        compiled(ones(3))
    assert "bug" not in str(caught[0].message)
    monkeypatch.undo()
    compiled(ones(3))  # what was lacking is there again
    counters = girih.counters()
    assert counters["graphs"] == 1 and not counters["fallbacks"]
    compiled(ones(3))
    assert girih.counters() == counters


def test_a_limit_on_files_is_no_bug():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    compiled = girih.compile(plain, options={"cache": False})
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
    try:
        with pytest.warns(girih.FallbackWarning, match="File too large"):
            compiled(ones(3))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert girih.counters()["eager_calls"] == {"resources": 1}
    assert torch.equal(compiled(ones(3)), plain(ones(3)))
    assert girih.counters()["graphs"] == 1


def test_nor_is_it_while_tracing(monkeypatch):
    def fails(*arguments):
        raise MemoryError

    monkeypatch.setattr(Graph, "add_call", fails)
    monkeypatch.setattr(Graph, "_node", fails)
    with pytest.warns(girih.FallbackWarning, match=EXHAUSTED):
        assert girih.compile(plain)(ones(3)).shape == (3,)
    assert girih.counters()["eager_calls"] == {"resources": 1}


@pytest.mark.parametrize("left", [40, 120, 200, 280])
def test_near_the_end_of_the_stack(left):
    compiled = girih.compile(lambda x: torch.softmax(x * left, -1) + x.sin())
    depth = sys.getrecursionlimit() - len(inspect.stack()) - left

    def call_at(depth):
        return compiled(ones(3)) if depth == 0 else call_at(depth - 1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(RecursionError):
            call_at(depth)
    compiled(ones(3))  # from shallower ground
    assert girih.counters()["graphs"] == 1
    assert not girih.counters()["fallbacks"]


# Dynamo's door -------------------------------------------------------------------


@pytest.mark.parametrize(
    "strict", [{"fullgraph": True}, {"options": {"fallback": False}}]
)
def test_the_other_door_tells_and_raises(strict):
    program = PROGRAMS["derivative"]
    (arguments,) = program.calls()
    torch._dynamo.reset()
    with pytest.warns(girih.FallbackWarning) as caught:
        torch.compile(program.function, backend="girih")(*arguments)
    line = program.function.__code__.co_firstlineno + program.line
    assert [w.lineno for w in caught if w.category is girih.FallbackWarning] == [line]
    torch._dynamo.reset()
    with pytest.raises(Exception, match="operation without a derivative"):
        torch.compile(program.function, backend="girih", **strict)(*arguments)


@pytest.mark.parametrize("strict", [{}, {"fullgraph": True}])
def test_dual_numbers_at_the_other_door_are_told(strict):
    torch._dynamo.reset()
    compiled = torch.compile(plain, backend="girih", **strict)
    expected = (
        pytest.raises(girih.UnsupportedError, match="a transform wraps tensors")
        if strict
        else pytest.warns(girih.FallbackWarning, match="a transform wraps tensors")
    )
    with forward_ad.dual_level(), expected:
        compiled(forward_ad.make_dual(ones(3), ones(3)))


@pytest.mark.parametrize("strict", [{}, {"fullgraph": True}])
def test_batched_gradients_are_told(strict):
    x = ones(3).requires_grad_()
    y = girih.compile(plain, **strict)(x)
    expected = (
        pytest.raises(girih.UnsupportedError, match="a transform wraps tensors")
        if strict
        else pytest.warns(girih.FallbackWarning, match="a transform wraps tensors")
    )
    with expected:
        torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)


# What is no fallback -------------------------------------------------------------


def prints(x):
    y = x + 1
    print(end="")
    return y * 2


def helps(x):
    return len(str(x))


def uses(x):
    girih.graph_break()
    return x * helps(3)


@pytest.mark.parametrize("function", [plain, prints, uses])
def test_what_is_no_fallback_is_not_told(function):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = girih.compile(function, options={"fallback": False})
        for _ in range(3):
            compiled(ones(3))
    assert not girih.counters()["eager_calls"]
    assert not girih.counters()["fallbacks"]
    assert not girih.report(compiled).fallbacks


def test_counters():
    compiled = girih.compile(prints)
    for size in (3, 4, 5, 6, 5, 4):
        compiled(ones(size))
    found = girih.counters()
    assert found["graphs"] == found["captures"] == 4 and found["breaks"] == 2
    assert found["recompilations"] == 2 and found["derivatives"] == 0
    with girih.set_stance("eager_on_recompile"):
        compiled(ones(3, 3))
    assert girih.counters()["eager_calls"] == {"stance": 1}
    girih.compile(plain)(ones(3).requires_grad_()).sum().backward()
    assert girih.counters()["derivatives"] == 1
    girih.reset()
    assert girih.counters()["graphs"] == 0


def test_a_bug_while_tracing_is_told_although_it_breaks_the_graph(monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError("girih's own")

    monkeypatch.setattr(Graph, "call_function", fail)
    with pytest.warns(girih.FallbackWarning, match="girih's own"):
        girih.compile(lambda x: torch.sin(x))(ones(3))
    with pytest.raises(girih.UnsupportedError, match="girih's own"):
        girih.compile(lambda x: torch.sin(x), options={"fallback": False})(ones(3))


def test_an_error_behind_a_break_leaves_the_blocks(monkeypatch):
    """A program that is refused in the middle of ``no_grad`` does not leave it on."""
    call_function = Graph.call_function

    def refuse(graph, target, *arguments, **options):
        if target is torch.special.zeta:
            raise ZeroDivisionError("girih's own")
        return call_function(graph, target, *arguments, **options)

    def program(x, y):
        with torch.no_grad():
            if bool((x < 9).any()):
                x = torch.special.zeta(x, y)
        return x

    monkeypatch.setattr(Graph, "call_function", refuse)
    compiled = girih.compile(program, options={"fallback": False})
    with pytest.raises(girih.UnsupportedError, match="girih's own"):
        compiled(ones(2), ones(2))
    assert torch.is_grad_enabled()


def attention(q):
    """Enters a mode of torch in a function of torch, in several nested calls."""
    q = q + 1
    return flex_attention(q, q, q)


def test_nested_calls_in_a_library_are_told_once_at_the_users_line():
    compiled = girih.compile(attention)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for length in (32, 32, 64, 96):
            compiled(torch.ones(1, 2, length, 16))
    told = [w for w in caught if w.category is girih.fallbacks.FallbackWarning]
    places = [(w.filename, w.lineno) for w in told if w.filename == __file__]
    assert places
    assert len(places) == len({*places})
