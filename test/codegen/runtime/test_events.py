"""Events around calls of programs, and around each kernel."""

import contextlib
import sys

import pytest
import torch

import girih
from girih.codegen.runtime.event import Event, observed
from girih.codegen.runtime.events import joined, lines_of, operations_of, places_of
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.dialects.locations import location_in, regions_of


class Recorder:
    """Notes which events begin and end."""

    def __init__(self):
        self.notes = []

    @contextlib.contextmanager
    def __call__(self, event):
        self.notes.append(f"({event.name}")
        yield
        self.notes.append(f"{event.name})")


def two_kernels(x):
    return x.exp().sum(), x * 2


def many_kernels(*xs):
    return [x + 1 for x in xs]


MANY = [torch.full((size,), 0.5) for size in range(1, 31)]


@pytest.fixture
def noted():
    recorder = Recorder()
    yield recorder
    assert recorder.notes


@pytest.mark.parametrize("size", [8, 1 << 20], ids=["holds", "releases the GIL"])
def test_each_kernel_is_an_event(noted, size):
    x = torch.linspace(0, 1, size)
    compiled = girih.compile(two_kernels)
    expected = compiled(x)
    with observed(noted):
        torch.testing.assert_close(compiled(x), expected)
    first, *inner, last = noted.notes
    assert (first, last) == ("(graph0", "graph0)")
    names = [note.strip("()") for note in inner]
    assert inner[0::2] == [f"({name}" for name in names[0::2]]
    assert inner[1::2] == [f"{name})" for name in names[0::2]]
    assert any("sum" in name for name in names)
    assert any("mul" in name for name in names)


@pytest.mark.parametrize("count", [2, 23, 24, 30])
def test_kernels_in_a_row_and_in_a_table(noted, count):
    compiled = girih.compile(many_kernels)
    expected = compiled(*MANY[:count])
    with observed(noted):
        results = compiled(*MANY[:count])
    torch.testing.assert_close(results, expected)
    assert sum("(k" in note for note in noted.notes) == count
    assert sum("add)" in note for note in noted.notes) == count


def test_nobody_watches_before_and_after(noted):
    compiled = girih.compile(two_kernels)
    x = torch.ones(3)
    compiled(x)
    assert not noted.notes
    with observed(noted):
        compiled(x)
        inner = Recorder()
        with observed(inner):
            compiled(x)
    count = len(noted.notes)
    assert len(inner.notes) == count
    compiled(x)
    assert len(noted.notes) == count


def test_backward_passes_are_programs(noted):
    x = torch.ones(3, requires_grad=True)
    compiled = girih.compile(two_kernels)
    compiled(x)[0].backward()
    with observed(noted):
        compiled(x)[0].backward()
    assert "(graph0.backward" in noted.notes


@pytest.mark.parametrize("place", ["call", "enter", "exit"])
def test_a_failing_observer_is_not_the_users(monkeypatch, noted, place):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda given: told.append(given))

    class Fails:
        def __init__(self, event):
            if place == "call":
                raise KeyError(place)

        def __enter__(self):
            if place == "enter":
                raise KeyError(place)

        def __exit__(self, *error):
            if place == "exit":
                raise KeyError(place)

    compiled = girih.compile(two_kernels)
    x = torch.ones(3)
    expected = compiled(x)
    with observed(noted):
        compiled(x)
    with observed(Fails):
        torch.testing.assert_close(compiled(x), expected)
    assert 2 * len(told) == len(noted.notes)
    assert {given.exc_type for given in told} == {KeyError}


def events_of(compiled, *args):
    """The events of a call, by name."""
    found = {}

    def note(event):
        found[event.name] = event
        return contextlib.nullcontext()

    with observed(note):
        compiled(*args)
    return found


def test_calls_of_libraries_are_events():
    compiled = girih.compile(lambda x, w: torch.bmm(x, w).exp())
    x, w = torch.rand(2, 3, 4).double(), torch.rand(2, 4, 5).double()
    compiled(x, w)
    found = events_of(compiled, x, w)
    assert list(found) == ["graph0", "aten.bmm.default", "k0_exp"]
    call = found["aten.bmm.default"]
    assert (call.kind, call.operations) == ("call", "bmm")
    assert call.lines.startswith("test_events.py:")
    assert call.bytes == 8 * (2 * 3 * 4 + 2 * 4 * 5 + 2 * 3 * 5)
    assert call.flops == 2 * 2 * 3 * 4 * 5
    assert found["graph0"].parts == (call, found["k0_exp"])
    assert found["graph0"].kind == "program"


def test_torchs_profiler_has_a_librarys_call_inside_of_its_event():
    compiled = girih.compile(lambda x, w: torch.bmm(x, w).exp())
    x, w = torch.rand(2, 3, 4).double(), torch.rand(2, 4, 5).double()
    compiled(x, w)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profiler:
        compiled(x, w)
    (call,) = (event for event in profiler.events() if event.name == "aten::bmm")
    assert call.cpu_parent.name == "girih::aten.bmm.default"
    assert call.cpu_parent.cpu_parent.name == "girih::graph0"


def test_numbers_of_symbolic_sizes_are_not_known():
    compiled = girih.compile(lambda x, w: torch.bmm(x, w), dynamic=True)
    x, w = torch.rand(2, 3, 4), torch.rand(2, 4, 5)
    compiled(x, w)
    call = events_of(compiled, x, w)["aten.bmm.default"]
    assert (call.bytes, call.flops) == (None, None)


CONVOLUTIONS = {
    "plain": (dict(), (6, 4, 3, 3), 2 * (2 * 6 * 7 * 7) * (4 * 9)),
    "groups": (dict(groups=2), (6, 2, 3, 3), 2 * (2 * 6 * 7 * 7) * (2 * 9)),
    "transposed": (dict(), (4, 6, 3, 3), 2 * (2 * 4 * 9 * 9) * (6 * 9)),
}


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_flops_of_convolutions_and_their_gradients(kind):
    settings, shape, flops = CONVOLUTIONS[kind]
    convolve = torch.conv_transpose2d if kind == "transposed" else torch.conv2d
    compiled = girih.compile(lambda x, w: convolve(x, w, **settings).exp())
    w = torch.rand(shape, requires_grad=True)
    x = torch.rand(2, 4, 9, 9, requires_grad=True)
    compiled(x, w).sum().backward()
    found = events_of(lambda: compiled(x, w).sum().backward())
    assert found["aten.convolution.default"].flops == flops
    assert found["aten.convolution_backward.default"].flops == 2 * flops


def test_an_error_of_a_call_stays(noted):
    def fails(x, y):
        return torch.mm(x, y).exp()

    compiled = girih.compile(fails, dynamic=True)
    compiled(torch.ones(3, 4), torch.ones(4, 3))
    with observed(noted), pytest.raises(RuntimeError, match="cannot be multiplied"):
        compiled(torch.ones(3, 4), torch.ones(5, 3))
    noted.notes.append("")


def test_lines_by_file():
    with make_context() as context:
        places = [("a/m.py", 8), ("b/n.py", 3), ("a/m.py", 7), ("a/m.py", 8)]
        found = [ir.Location.file(*place, 0, context=context) for place in places]
        named = [ir.Location.name("aten.add.Tensor", place) for place in found]
        assert lines_of(places_of(ir.Location.fused(named))) == "m.py:7, 8; n.py:3"
        assert lines_of(places_of(ir.Location.unknown())) == ""
        assert Event("k0").lines == ""


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([()], ()),
        ([(), ("a",), ("a",)], ("a",)),
        ([("a",), ("b",)], ("a + b",)),
        ([("a", "b"), ("a",), ()], ("a", "b")),
        ([("a", "b", "c"), ("a", "d")], ("a", "b / c + d")),
    ],
)
def test_blocks_around_a_kernel(paths, expected):
    assert joined(paths) == expected


def test_locations_hold_the_blocks_of_the_program():
    with ir.Context():
        place = ir.Location.file("model.py", 7, 0)
        inner = ir.Location.name("aten.sin.default", location_in(("a", "b"), place))
        fused = ir.Location.fused([inner, ir.Location.name("aten.add.Tensor", place)])
        assert list(regions_of(fused)) == [("a", "b"), ()]
        assert operations_of(fused) == "sin, add"
        assert lines_of(places_of(fused)) == "model.py:7"
