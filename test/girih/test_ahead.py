"""Functions that are compiled ahead of time, and their files."""

import inspect
import io
import pickle
import threading

import pytest
import torch
from processes import run_after_torch, run_python

import girih
from girih.ahead import functions

SCALE = 3.0


def scaled(x, y, *, bias=1.0):
    return torch.tanh(x) * SCALE + y * bias


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.inner = torch.nn.Linear(8, 16)
        self.norm = torch.nn.LayerNorm(16)

    def forward(self, x):
        return torch.nn.functional.gelu(self.norm(self.inner(x))).sum(-1)


def saved(made, path, **external):
    made.save_compiled_function(str(path), external_data=external or None)
    return path


def test_a_function_is_compiled_and_not_run():
    made = girih.compile(scaled, fullgraph=True).aot_compile(
        ((torch.randn(4, 5), torch.randn(5)), {"bias": 2.0})
    )
    x, y = torch.randn(4, 5), torch.randn(5)
    torch.testing.assert_close(made(x, y, bias=2.0), scaled(x, y, bias=2.0))
    seen = []

    def noted(x):
        seen.append(1)
        return x + 1

    compiled = girih.compile(noted, fullgraph=True).aot_compile(((torch.ones(3),), {}))
    assert not seen
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))
    assert seen == [1]


def test_calls_that_do_not_fit_raise_and_say_why():
    made = girih.compile(scaled, fullgraph=True).aot_compile(
        ((torch.randn(4, 5), torch.randn(5)), {})
    )
    with pytest.raises(girih.RecompileError, match="compiled ahead of time"):
        made(torch.randn(3, 5), torch.randn(5))
    with pytest.raises(RuntimeError):  # the class that torch's function raises
        made(torch.randn(4, 5).double(), torch.randn(5))
    assert made.guard_check(torch.randn(4, 5), torch.randn(5))
    assert not made.guard_check(torch.randn(3, 5), torch.randn(5))
    with pytest.raises(TypeError, match="missing"):
        made(torch.randn(4, 5))


def test_examples_and_functions_that_can_not_be_compiled():
    compiled = girih.compile(scaled, fullgraph=True)
    with pytest.raises(TypeError, match=r"\(\(x, y\)"):
        compiled.aot_compile(torch.randn(3))
    with pytest.raises(TypeError, match="missing"):
        compiled.aot_compile(((torch.randn(3),), {}))
    with pytest.raises(RuntimeError, match="fullgraph=True"):
        girih.compile(scaled).aot_compile(((torch.ones(3), torch.ones(3)), {}))

    def broken(x):
        print(x)
        return x

    with pytest.raises(girih.UnsupportedError):
        girih.compile(broken, fullgraph=True).aot_compile(((torch.ones(3),), {}))
    with pytest.raises(RuntimeError, match="can't be compiled ahead of time"):
        girih.compile(scaled, fullgraph=True).aot_compile(
            ((torch.ones(3), torch.ones(4)), {})
        )


def test_a_file_is_loaded_without_a_pass(tmp_path, monkeypatch):
    x, y = torch.randn(4, 5), torch.randn(5)
    made = girih.compile(scaled, fullgraph=True).aot_compile(((x, y), {}))
    path = saved(made, tmp_path / "scaled.girih")
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "cache"))
    girih.reset()
    with path.open("rb") as opened:
        loaded = girih.load_compiled_function(opened)
    torch.testing.assert_close(loaded(x, y), scaled(x, y))
    (report,) = loaded._dispatcher.girih_compiler.settings.backend_fn.reports.graphs
    assert report.cache == "disk"
    assert "graph" not in report.stage_seconds, report
    assert torch.equal(loaded(x, y), made(x, y))


@pytest.mark.parametrize("wrong", ["size", "dtype", "number"])
def test_the_first_call_of_a_file_does_not_compile(tmp_path, wrong):
    x, y = torch.randn(4, 5), torch.randn(5)
    made = girih.compile(scaled, fullgraph=True).aot_compile(((x, y), {"bias": 2}))
    loaded = girih.load_compiled_function(saved(made, tmp_path / "f.girih"))
    other = {
        "size": (torch.randn(7, 5), y, 2),
        "dtype": (x.double(), y, 2),
        "number": (x, y, 3),
    }[wrong]
    named = {"size": r"x is float32\[7, 5\]", "dtype": "x is float64", "number": "bias"}
    with pytest.raises(girih.RecompileError, match=named[wrong]):
        loaded(*other[:2], bias=other[2])
    torch.testing.assert_close(loaded(x, y, bias=2), scaled(x, y, bias=2))


def test_gradients_come_from_the_file(tmp_path, monkeypatch):
    net = Net()
    made = girih.compile(net, fullgraph=True).forward.aot_compile(
        ((torch.randn(4, 8),), {})
    )
    path = saved(made, tmp_path / "net.girih")
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "cache"))
    girih.reset()
    loaded = girih.load_compiled_function(str(path))
    other = Net()
    with torch.no_grad():
        other.inner.weight.mul_(2)  # it is an input, not a part of the file
    x = torch.randn(4, 8)
    loaded(other, x).sum().backward()
    found = [p.grad for p in other.parameters()]
    other.zero_grad()
    other(x).sum().backward()
    for gradient, parameter in zip(found, other.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)
    reports = loaded._dispatcher.girih_compiler.settings.backend_fn.reports.graphs
    for report in reports[0].and_derived():
        assert "fusions" not in report.stage_seconds, report


def test_methods_take_the_object_first():
    net = Net()
    x = torch.randn(4, 8)
    made = girih.compile(net.forward, fullgraph=True).aot_compile(((x,), {}))
    torch.testing.assert_close(made(net, x), net(x))


def test_symbolic_sizes_stay_symbolic(tmp_path):
    x = torch.randn(4, 5)
    girih.mark_dynamic(x, 0, min=2, max=100)
    made = girih.compile(scaled, fullgraph=True).aot_compile(((x, torch.ones(5)), {}))
    loaded = girih.load_compiled_function(saved(made, tmp_path / "f.girih"))
    for f in (made, loaded):
        for n in (7, 2, 100):
            x = torch.randn(n, 5)
            torch.testing.assert_close(f(x, torch.ones(5)), scaled(x, torch.ones(5)))
            assert not vars(x), "marks are gone"
        with pytest.raises(girih.RecompileError):
            f(torch.randn(101, 5), torch.ones(5))


def test_closures_travel_and_modules_are_named(tmp_path):
    net, table = Net(), torch.randn(8)

    def made_inside(x):
        return net(x + table)

    made = girih.compile(made_inside, fullgraph=True).aot_compile(
        ((torch.randn(4, 8),), {})
    )
    with pytest.raises(TypeError, match="module of the class Net.*external_data"):
        saved(made, tmp_path / "f.girih")
    path = saved(made, tmp_path / "f.girih", net=net)
    with pytest.raises(KeyError, match="'net'"):
        girih.load_compiled_function(path)
    loaded = girih.load_compiled_function(path, external_data={"net": net})
    x = torch.randn(4, 8)
    torch.testing.assert_close(loaded(x), made_inside(x))


def test_another_process_compiles_nothing(tmp_path):
    """Code of the program itself travels; globals are given, or are the process's."""
    program = """
        import sys
        import torch
        import girih

        def f(x):
            return torch.relu(x) * FACTOR

        FACTOR = 2.0
        made = girih.compile(f, fullgraph=True).aot_compile(((torch.randn(64, 3),), {}))
        made.save_compiled_function(sys.argv[1])
    """
    path = str(tmp_path / "f.girih")
    run_python(program, path)
    run_after_torch(
        f"""
        import os
        os.environ["GIRIH_CACHE_DIR"] = {str(tmp_path / "cache")!r}
        import torch
        import girih
        from girih.compiler import cpu_code

        def refuse(*args, **kwargs):
            raise AssertionError("it compiles")

        cpu_code.compile_module = refuse
        with open({path!r}, "rb") as file:
            f = girih.load_compiled_function(file, f_globals={{"FACTOR": 2.0}})
        x = torch.randn(64, 3)
        assert torch.equal(f(x), torch.relu(x) * 2)
        """
    )


def test_a_folder_that_can_not_be_written_is_no_error(tmp_path, monkeypatch):
    made = girih.compile(scaled, fullgraph=True).aot_compile(
        ((torch.randn(3), torch.randn(3)), {})
    )
    path = saved(made, tmp_path / "f.girih")
    x, y = torch.randn(2, 3)
    for folder in ("/proc/none", str(path), ""):
        monkeypatch.setenv("GIRIH_CACHE_DIR", folder)
        if not folder:
            monkeypatch.setenv("GIRIH_NO_CACHE", "1")
        loaded = girih.load_compiled_function(path)
        torch.testing.assert_close(loaded(x, y), scaled(x, y))
        compiled = girih.compile(scaled, fullgraph=True).aot_compile(((x, y), {}))
        again = girih.load_compiled_function(saved(compiled, tmp_path / "g.girih"))
        torch.testing.assert_close(again(x, y), scaled(x, y))


def test_it_is_a_function_to_what_is_compiled():
    x, y = torch.randn(2, 3)
    made = girih.compile(scaled, fullgraph=True).aot_compile(((x, y), {}))
    compiled = girih.compile(lambda x, y: made(x, y) + 1, fullgraph=True)
    torch.testing.assert_close(compiled(x, y), scaled(x, y) + 1)
    torch.testing.assert_close(girih.compile(made)(x, y), scaled(x, y))


SOURCE = """
import torch

def f(x):
    return torch.relu(x) * 2 + x.sum()
"""


def test_a_source_may_move(tmp_path):
    """Lines and folders are told by events, and are no part of a program."""

    def made(folder, source):
        path = tmp_path / folder / "moved.py"
        path.parent.mkdir()
        path.write_text(source)
        space = {"__name__": "moved"}
        exec(compile(source, str(path), "exec"), space)
        return space["f"]

    x = torch.randn(5, requires_grad=True)
    first = made("one", SOURCE)
    ready = girih.compile(first, fullgraph=True).aot_compile(((x,), {}))
    saved(ready, tmp_path / "f.girih", f=4)
    second = made("two", "# a comment" + SOURCE)
    assert first.__code__.co_firstlineno == second.__code__.co_firstlineno
    third = made("three", "\n# another\n" + SOURCE)
    other = girih.compile(third, fullgraph=True).aot_compile(((x,), {}))
    assert {key for _, key in ready._used} == {key for _, key in other._used}


def test_a_call_that_another_process_compiled_does_not_fit(tmp_path, monkeypatch):
    """What is in the cache, or in other files, does not count."""
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "cache"))
    y = torch.randn(5)
    for rows in (4, 7):
        example = ((torch.randn(rows, 5), y), {})
        made = girih.compile(scaled, fullgraph=True).aot_compile(example)
        saved(made, tmp_path / f"{rows}.girih")
    four = girih.load_compiled_function(tmp_path / "4.girih")
    seven = girih.load_compiled_function(tmp_path / "7.girih")
    for loaded, right, wrong in ((four, 4, 7), (seven, 7, 4)):
        with pytest.raises(girih.RecompileError, match=rf"float32\[{wrong}, 5\]"):
            loaded(torch.randn(wrong, 5), y)
        assert loaded(torch.randn(right, 5), y).shape == (right, 5)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda f, x, y: f(x.T.contiguous().T, y), r"strides \(1, 5\)"),
        (lambda f, x, y: f(torch.nn.Parameter(x), y), "a Parameter"),
        (lambda f, x, y: torch.no_grad()(f)(x, y), "gradients are off"),
        (lambda f, x, y: f("text", y), "x is 'text'"),
        (lambda f, x, y: f(x, y, bias=2.5), "3 values are given"),
        (lambda f, x, y: f(x, None), "y is None"),
    ],
    ids=["strides", "parameter", "mode", "text", "number", "none"],
)
def test_misfits_of_files_say_what_differs(call, said, tmp_path):
    x, y = torch.randn(5, 5), torch.randn(5, requires_grad=True)
    made = girih.compile(scaled, fullgraph=True).aot_compile(((x, y), {}))
    loaded = girih.load_compiled_function(saved(made, tmp_path / "f.girih"))
    with pytest.raises(girih.RecompileError, match=said):
        call(loaded, x, y)
    torch.testing.assert_close(loaded(x, y), scaled(x, y))


def test_another_operation_is_named(tmp_path, monkeypatch):
    x, y = torch.randn(2, 3)
    made = girih.compile(scaled, fullgraph=True).aot_compile(((x, y), {}))
    loaded = girih.load_compiled_function(saved(made, tmp_path / "f.girih"))
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    with pytest.raises(
        girih.RecompileError, match="it computes .*5.0.* expected .*3.0"
    ):
        loaded(x, y)


def test_modules_are_named_by_forward(tmp_path):
    net = Net()
    made = girih.compile(net, fullgraph=True).forward.aot_compile(
        ((torch.randn(4, 8),), {})
    )
    file = io.BytesIO()
    made.save_compiled_function(file)
    loaded = girih.load_compiled_function(io.BytesIO(file.getvalue()))
    with pytest.raises(girih.RecompileError, match="Net.forward"):
        loaded(net, torch.randn(5, 8))


def test_a_function_that_is_gone(tmp_path, monkeypatch):
    made = girih.compile(scaled, fullgraph=True).aot_compile(
        ((torch.randn(3), torch.randn(3)), {})
    )
    path = saved(made, tmp_path / "f.girih")
    monkeypatch.delitem(globals(), "scaled")
    with pytest.raises(girih.PackageError, match="not there any more"):
        girih.load_compiled_function(path)


def test_damaged_files_are_refused(tmp_path):
    made = girih.compile(scaled, fullgraph=True).aot_compile(
        ((torch.randn(3), torch.randn(3)), {})
    )
    data = bytearray(saved(made, tmp_path / "f.girih").read_bytes())
    for at in range(0, len(data), 97):
        wrong = bytearray(data)
        wrong[at] ^= 1
        with pytest.raises(girih.PackageError):
            girih.load_compiled_function(io.BytesIO(bytes(wrong)))
    for size in (0, 5, 40, len(data) - 1):
        with pytest.raises(girih.PackageError):
            girih.load_compiled_function(io.BytesIO(bytes(data[:size])))


def test_files_of_other_versions_are_refused(tmp_path, monkeypatch):
    made = girih.compile(scaled, fullgraph=True).aot_compile(
        ((torch.randn(3), torch.randn(3)), {})
    )
    path = saved(made, tmp_path / "f.girih")
    monkeypatch.setattr(girih, "__version__", "0.0.9")
    with pytest.raises(girih.PackageError, match="here|this process has girih 0.0.9"):
        girih.load_compiled_function(path)


def test_programs_that_are_not_kept_can_be_called_and_not_saved(tmp_path):
    made = girih.compile(
        scaled, fullgraph=True, options={"choices_seed": 3}
    ).aot_compile(((torch.ones(3), torch.ones(3)), {}))
    x, y = torch.randn(2, 3)
    torch.testing.assert_close(made(x, y), scaled(x, y))
    with pytest.raises(girih.UnsupportedError, match="draws decisions"):
        saved(made, tmp_path / "f.girih")
    assert not list(tmp_path.iterdir())


def recursive(n):
    def inner(k):
        return 1 if k == 0 else k * inner(k - 1)

    return inner


@pytest.mark.parametrize(
    "function",
    [
        scaled,
        recursive(3),
        lambda x, y=2, *, z=3: x + y + z,
        Net.forward,
        girih.compile(scaled),
    ],
    ids=["named", "recursive", "defaults", "method", "compiled"],
)
def test_functions_as_bytes(function):
    if hasattr(function, "girih_function"):
        function = function.girih_function
    again = functions.decode(functions.encode(function, {}), {})
    assert again.__qualname__ == function.__qualname__
    assert again.__code__ == function.__code__
    if function.__name__ == "inner":
        assert again(5) == 120
    if function.__name__ == "<lambda>":
        assert again(1) == 6


def test_what_can_not_be_written_is_told():
    opened = threading.Lock()

    def holds():
        return opened

    with pytest.raises(TypeError, match="external_data"):
        functions.encode(holds, {})
    again = functions.decode(functions.encode(holds, {"o": opened}), {"o": 4})
    assert again() == 4


def test_the_forward_of_a_compiled_module_is_a_method_as_before():
    net = girih.compile(Net(), fullgraph=True)
    x = torch.randn(4, 8)

    @girih.compile(fullgraph=True)
    def calls(x):
        return type(net).forward(net, x) * 2

    expected = net(x)
    torch.testing.assert_close(calls(x), expected * 2)
    assert inspect.ismethod(net.forward)
    assert inspect.getsource(net.forward).startswith("def _forward")
    assert list(inspect.signature(net.forward).parameters) == ["args", "kwargs"]
    assert net.forward.__name__ == "forward"
    assert torch.equal(pickle.loads(pickle.dumps(net.forward))(x), expected)
