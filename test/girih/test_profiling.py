"""``girih.profile``: rows, times and texts."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import DeviceType

import girih
from girih.codegen.runtime.event import Event
from girih.profiling import bandwidth, records
from girih.profiling.found import Profile, Timed, rows_of

FEW = {"calls": 3, "warmup": 2}
# Products of float64 are calls of a library.
X, W = (torch.rand(size, dtype=torch.float64) for size in ((40, 30), (30, 50)))


@pytest.fixture(autouse=True)
def _small_copies(monkeypatch):
    monkeypatch.setitem(bandwidth._BYTES, "cpu", 1 << 20)
    bandwidth._measured.cache_clear()
    yield
    bandwidth._measured.cache_clear()


def program(x, w):
    y = torch.softmax(x + 1, -1)
    return torch.mm(y, w).relu()


def line(function, offset):
    return f"test_profiling.py:{function.__code__.co_firstlineno + offset}"


WAYS = {
    "plain": (lambda: program, {}),
    "compiled": (lambda: girih.compile(program), {}),
    "by torch": (lambda: torch.compile(program, backend="girih"), {}),
    "anew": (lambda: girih.compile(program), {"dynamic": False}),
    "by another": (lambda: torch.compile(program, backend="eager"), {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_kernels_and_library_calls_are_rows(way):
    make, settings = WAYS[way]
    profile = girih.profile(make(), **FEW, **settings)(X, W)
    torch.testing.assert_close(profile.result, program(X, W))
    softmax, relu, product, rest = sorted(
        profile.rows, key=lambda row: (row.kind == "between", row.kind != "kernel")
    )[:4]
    if "relu" in softmax.name:
        softmax, relu = relu, softmax
    assert {softmax.graph, relu.graph, product.graph} == {"graph0"}
    assert (softmax.kind, softmax.calls, softmax.flops) == ("kernel", 1, None)
    assert softmax.operations == "add, softmax"
    assert softmax.lines == line(program, 1)
    assert softmax.bytes == 2 * 8 * X.numel()
    assert (product.kind, product.lines) == ("call", line(program, 2))
    assert product.flops == 2 * 40 * 30 * 50
    assert product.bytes == 8 * (40 * 30 + 30 * 50 + 40 * 50)
    assert product.flops_per_second == product.flops / product.seconds
    assert relu.name == "k1_relu"
    assert (rest.name, rest.graph, rest.lines) == ("between kernels", "", "")


def test_a_compiled_function_is_not_compiled_again():
    compiled = girih.compile(program)
    compiled(X, W)
    before = girih.counters()
    profile = girih.profile(compiled, **FEW)(X, W)
    assert girih.counters() == before
    assert profile.notes == []


def test_shares_are_of_the_call():
    timed = [
        Timed(Event("k0", bytes=6000), "graph0", 2.0, 2e-6),
        Timed(Event("aten.mm.default", flops=900, kind="call"), "graph0", 1.0, 5e-6),
        Timed(Event("aten::sin", kind="eager"), "eager", 0.5, 0.0),
    ]
    rows = rows_of(timed, 10e-6, 12e9)
    assert [row.name for row in rows] == [
        "aten.mm.default",
        "k0",
        "aten::sin",
        "between kernels",
    ]
    assert [row.share for row in rows] == pytest.approx([0.5, 0.2, 0.0, 0.3])
    assert (rows[1].bytes, rows[1].copy_share) == (12000, pytest.approx(0.5))
    assert (rows[0].copy_share, rows[0].flops_per_second) == (None, 900 / 5e-6)
    assert sum(row.seconds for row in rows) == pytest.approx(10e-6)


def test_the_text_is_a_table():
    timed = [
        Timed(Event("k0_add", "add", "a.py:7", 6_000_000), "graph0", 2.0, 2e-3),
        Timed(Event("aten.mm.default", flops=900, kind="call"), "graph0", 1.0, 5e-6),
        Timed(Event("void f<" + 80 * "x", kind="call"), "graph0", 1.0, 1e-6),
    ]
    rows = rows_of(timed, 4e-3, 12e9)
    text = str(Profile("f (a.py:6)", 4e-3, 3, rows, 12e9, notes=["A note."]))
    head, what, _, titles, first, second, third, last, note = text.split("\n")
    assert (head, note) == ("f (a.py:6)", "A note.")
    assert what == "4.00 ms a call (3 calls, cpu); a copy moves 12 GB/s"
    assert titles.split() == (
        "kernel graph calls time share bytes of copy flops flops/s lines".split()
    )
    expected = ["k0_add", "graph0", "2", "2.00", "ms", "50.0%", "12", "M", "50%"]
    assert first.split() == [*expected, "-", "-", "a.py:7"]
    expected = ["aten.mm.default", "graph0", "1", "5.00", "us", "0.1%", "-", "-"]
    assert second.split() == [*expected, "900", "180", "M"]
    assert "xxx...  graph0" in third
    assert last.startswith("between kernels  ")
    assert titles.index("time") + 4 == first.index(" ms") + 3


def test_the_text_sums_rows_of_one_name():
    update = Event("k0_add", "add", "a.py:7", 3_000_000)
    timed = [
        Timed(update, "graph0", 1.0, 1e-3),
        Timed(Event("k1_mul", "mul", "a.py:8", 600_000), "graph0", 1.0, 3e-3),
        Timed(update, "graph0", 2.0, 3e-3),
        Timed(Event("k0_add", "add", "a.py:9", 1_000), "graph0", 1.0, 1e-6),
        Timed(Event("mm", lines="a.py:7", kind="call", flops=9), "graph0", 1.0, 1e-7),
        Timed(Event("mm", lines="a.py:7", kind="call"), "graph0", 1.0, 1e-7),
    ]
    profile = Profile("f (a.py:6)", 8e-3, 3, rows_of(timed, 8e-3, 9e9), 9e9)
    assert len(profile.rows) == 7
    *_, first, second, third, fourth, last = str(profile).split("\n")
    expected = ["k0_add", "graph0", "3", "4.00", "ms", "50.0%", "9", "M", "25%"]
    assert first.split() == [*expected, "-", "-", "a.py:7"]
    assert second.startswith("k1_mul") and third.endswith("a.py:9")
    expected = ["mm", "graph0", "2", "0.20", "us", "0.0%", "-", "-", "-", "-"]
    assert fourth.split() == [*expected, "a.py:7"]
    assert last.startswith("between kernels")


def test_backward_passes_and_the_gradients_of_leaves():
    def loss(x, w):
        return torch.mm(x, w).exp().sum()

    w = W.clone().requires_grad_()
    w.grad = kept = torch.ones_like(w)
    profile = girih.profile(loss, **FEW, backward=True)(X, w)
    assert w.grad is kept
    assert torch.equal(kept, torch.ones_like(w))
    graphs = {row.graph for row in profile.rows}
    assert {"graph0", "graph0.backward"} <= graphs
    assert all(row.calls == 1 for row in profile.rows if row.kind in ("kernel", "call"))
    without = girih.profile(loss, **FEW)(X, w)
    assert "graph0.backward" not in {row.graph for row in without.rows}


def test_backward_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="none of its results does"):
        girih.profile(program, **FEW, backward=True)(X, W)


def test_gradients_are_there_again_after_an_error():
    w = W.clone().requires_grad_()
    w.grad = kept = torch.ones_like(w)
    calls = []

    def fails(x, w):
        calls.append(1)
        if len(calls) > 1:
            raise KeyError("second")
        return (x @ w).sum()

    with pytest.raises(KeyError):
        girih.profile(girih.disable(fails), **FEW, backward=True)(X, w)
    assert w.grad is kept


def test_what_runs_eager_is_told():
    @girih.disable
    def outside(x):
        return x.sin()

    profile = girih.profile(lambda x: outside(x + 1) * 2, **FEW)(X)
    (row,) = (row for row in profile.rows if row.name == "aten::sin")
    assert (row.graph, row.kind, row.calls) == ("eager", "eager", 1)
    assert row.seconds > 0
    assert "girih.explain" in profile.notes[-1]
    assert {row.name for row in profile.rows if row.kind == "kernel"} == {
        "k0_add",
        "k0_mul",
    }


def test_a_compilation_while_calls_are_timed_is_told():
    sizes = iter(range(2, 90))
    compiled = girih.compile(lambda x: x[: next(sizes)] + 1, dynamic=False)
    profile = girih.profile(lambda x: compiled(x), calls=2, warmup=1)(X)
    assert "a larger `warmup`" in profile.notes[0]


@pytest.mark.parametrize("name", ["calls", "warmup"])
@pytest.mark.parametrize("value", [0, True, 1.5])
def test_counts_are_checked(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a number >= 1"):
        girih.profile(program, **{name: value})


def test_only_callables():
    with pytest.raises(TypeError, match="expects a callable, got int"):
        girih.profile(3)


def test_flops_of_convolutions():
    x, w = torch.rand(2, 4, 9, 9), torch.rand(6, 2, 3, 3, requires_grad=True)

    def convolve(x, w):
        return F.conv2d(x, w, groups=2).exp()

    profile = girih.profile(convolve, **FEW, backward=True)(x, w)
    flops = {row.graph: row.flops for row in profile.rows if row.kind == "call"}
    once = 2 * (2 * 6 * 7 * 7) * (2 * 3 * 3)
    assert flops == {"graph0": once, "graph0.backward": once}


def test_a_bandwidth_is_measured_once():
    device = torch.device("cpu")
    found = bandwidth.copy_bandwidth(device)
    assert found > 1e6
    assert bandwidth.copy_bandwidth(device) == found


# Kernels of a GPU, as torch's profiler reports them


def event(name, *kernels, parent=None):
    """An event on the host, with the kernels that were launched in it."""
    launched = [SimpleNamespace(name=k, device=0, duration=us) for k, us in kernels]
    return SimpleNamespace(
        name=name, kernels=launched, cpu_parent=parent, device_type=DeviceType.CPU
    )


ADD = Event("k0_add", "add", "m.py:7", 800)
SUM = Event("k1_sum", "sum", "m.py:8", 400)
PRODUCT = Event("matmul", "mm", "m.py:9", 300, 5000)
CALL = Event("aten.bmm.default", "bmm", "m.py:10", 200, 6000, "call")
TABLE = ADD._replace(name="k0_add + 2", parts=(ADD, SUM, PRODUCT))
GRAPH = Event("graph0", kind="program", parts=(ADD, SUM, PRODUCT, CALL))


@pytest.fixture
def described():
    made = records.Described()
    for one in (GRAPH, TABLE, CALL, GRAPH._replace(name="graph0 (CUDA graph)")):
        made(one)
    return made


def found_in(described, *events, calls=2):
    timed = records.kernels_of(events, described, calls)
    return {one.event.name: one for one in timed}


def test_kernels_of_launches_with_their_grids(described):
    graph = event("girih::graph0")
    kernels = [("k0_add_0", 10.0), ("k1_sum_0", 3.0), ("k1_sum_1", 1.0), ("gemm", 20.0)]
    launch = event("girih::k0_add + 2", *kernels, parent=graph)
    found = found_in(described, graph, launch, launch)
    assert found["k0_add"] == Timed(ADD, "graph0", 1.0, pytest.approx(10e-6))
    assert found["k1_sum"] == Timed(SUM, "graph0", 1.0, pytest.approx(4e-6))
    assert found["gemm"].event == PRODUCT._replace(name="gemm", kind="call")


def test_kernels_of_library_calls_and_of_eager_operations(described):
    graph = event("girih::graph0")
    call = event("girih::aten.bmm.default", parent=graph)
    inner = event("aten::bmm", ("cublas", 7.0), parent=call)
    outer = event("aten::softmax")
    eager = event("aten::_softmax", ("softmax_warp", 5.0), parent=outer)
    copy = event("cudaMemcpyAsync", ("Memcpy HtoD", 1.0))
    found = found_in(described, graph, call, inner, outer, eager, copy, calls=1)
    assert found["aten.bmm.default"] == Timed(CALL, "graph0", 1, pytest.approx(7e-6))
    assert (found["aten::softmax"].graph, found["aten::softmax"].calls) == ("eager", 1)
    assert found["Memcpy HtoD"].graph == "eager"


def test_kernels_of_a_replayed_cuda_graph(described):
    replay = event(
        "girih::graph0 (CUDA graph)", ("k0_add_0", 2.0), ("k1_sum_0", 3.0), ("gemm", 4)
    )
    found = found_in(described, replay, calls=1)
    assert {one.graph for one in found.values()} == {"graph0 (CUDA graph)"}
    assert found["k1_sum"].event == SUM
    assert found["gemm"].event.lines == "m.py:9"
