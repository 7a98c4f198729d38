"""Packages run from C give what ``girih.load`` gives, and refuse what it refuses."""

import re
import shutil
import subprocess

import c_packages
import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim

import girih
from girih.codegen import c_runtime
from girih.codegen.cpu.target import LEVELS, host_target
from girih.packaging import c_programs, code, command, container, loading

pytestmark = pytest.mark.skipif(not c_packages.COMPILER, reason="no C compiler")
BATCH, LENGTH = Dim("batch", min=2, max=512), Dim("length", min=2, max=4096)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    return c_packages.built(c_packages.SUPPORT / "run_package.c", folder / "run")


@pytest.fixture
def runner(program):
    with c_packages.Runner(program) as made:
        yield made


def packaged(path, model, *args, **options):
    girih.package(model, args, path=path / "p.girih", **options)
    return path / "p.girih"


def check_equal(found, wanted):
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
    assert isinstance(found, list), found
    assert len(found) == len(wanted)
    for one, two in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape) == (two.dtype, two.shape)
        assert one.numel() == 0 or one.stride() == two.stride()
        torch.testing.assert_close(one, two, rtol=0, atol=0, equal_nan=True)


def check_calls(runner, path, *calls, **options):
    """Calls both loads with the same tensors, which they may write."""
    assert runner.load(path) == "0"
    loaded = girih.load(path, **options)
    for args in calls:
        copies = [arg.clone() for arg in args]
        with torch.no_grad():
            wanted = loaded(*copies)
        outputs = 1 if isinstance(wanted, torch.Tensor) else len(wanted)
        check_equal(runner.call(args, outputs), wanted)
        for one, two in zip(args, copies, strict=True):
            torch.testing.assert_close(one, two, rtol=0, atol=0, equal_nan=True)


def special(*sizes, dtype=torch.float32):
    x = torch.randn(sizes)
    x.view(-1)[:6] = torch.tensor(
        [float("nan"), float("inf"), -float("inf"), 0, -0.0, 1]
    )
    return x.to(dtype)


def chain(x, y):
    return torch.tanh(x) * y + torch.exp(-x.abs()).sqrt(), (x > y).logical_not()


def reductions(x):
    return torch.softmax(x, -1), x.amax(0), x.double().sum(), x.argmax(-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_elementwise_chains(tmp_path, runner, dtype):
    shapes = {"x": {0: LENGTH}, "y": {}}
    example = torch.randn(8, 7).to(dtype), torch.randn(7).to(dtype)
    path = packaged(tmp_path, chain, *example, dynamic_shapes=shapes)
    calls = [
        (special(rows, 7, dtype=dtype), torch.randn(7).to(dtype))
        for rows in (2, 3, 31, 4096)
    ]
    check_calls(runner, path, *calls)


def test_reductions_of_symbolic_sizes(tmp_path, runner):
    shapes = {"x": {0: LENGTH, 1: Dim("columns", min=2, max=4096)}}
    path = packaged(tmp_path, reductions, torch.randn(5, 6), dynamic_shapes=shapes)
    sizes = ((2, 3), (3, 2), (31, 257), (257, 31), (1000, 64))
    check_calls(runner, path, *[(torch.randn(size),) for size in sizes])
    check_calls(runner, path, (special(3, 7),))


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(64)
        self.inner = torch.nn.Linear(64, 128)
        self.head = torch.nn.Linear(128, 10)

    def forward(self, x):
        hidden = F.gelu(self.inner(self.norm(x)))
        return torch.softmax(self.head(hidden), -1), hidden[:, 1:]


@pytest.mark.parametrize("target", [None, *LEVELS])
def test_a_network_on_each_level(tmp_path, program, target):
    if target and not LEVELS[target] <= host_target().flags:
        pytest.skip(f"this processor is not {target}")
    torch.manual_seed(0)
    shapes = {"x": {0: BATCH}}
    args = (Network().eval(), torch.randn(8, 64))
    path = packaged(
        tmp_path, *args, dynamic_shapes=shapes, targets=(target or "native",)
    )
    with c_packages.Runner(program) as runner:
        calls = [(torch.randn(rows, 64),) for rows in (2, 3, 13, 64, 512)]
        check_calls(runner, path, *calls)


def test_tensors_without_elements_or_dims(tmp_path, runner):
    path = packaged(
        tmp_path, lambda x, y: (x * 2, y + 1), torch.ones(0, 3), torch.ones(())
    )
    check_calls(runner, path, (torch.ones(0, 3), torch.tensor(3.0)))


def test_arguments_that_are_written_and_returned(tmp_path, runner):
    def f(x, y):
        x.mul_(2)
        return x.t(), y, x[1:], y.expand(3, 4, 5)

    path = packaged(tmp_path, f, torch.randn(3, 4), torch.randn(4, 5))
    check_calls(runner, path, *[(torch.randn(3, 4), torch.randn(4, 5))] * 2)


def test_other_strides_are_copied(tmp_path, runner):
    def f(x):
        return x + 1, x.sum(0)

    shapes = {"x": {0: BATCH}}
    path = packaged(tmp_path, f, torch.randn(4, 6), dynamic_shapes=shapes)
    x = torch.randn(6, 9).t()
    check_calls(runner, path, (x,), (torch.randn(9, 13)[:, 3:9],))


def test_errors_of_arguments(tmp_path, runner):
    def f(x, y):
        return x + y

    shapes = {"x": {0: BATCH}, "y": {0: BATCH}}
    args = torch.randn(4, 6), torch.randn(4, 6)
    runner.load(packaged(tmp_path, f, *args, dynamic_shapes=shapes))
    x = torch.randn(4, 6)
    for wrong, text in (
        ((x, x.double()), "y must be float32, got float64"),
        ((x, x[0]), "y must have 2 dims, got 1"),
        ((x, torch.ones(4, 7)), "y.size(1) must be 6, got 7"),
        ((torch.ones(600, 6),) * 2, "x.size(0) must be from 2 to 512, got 600"),
        ((torch.ones(1, 6),) * 2, "x.size(0) must be from 2 to 512, got 1"),
        ((x, torch.ones(5, 6)), "y.size(0) must be 4, got 5"),
        ((x,), "expected 2 inputs and 1 outputs, got 1 and 1"),
    ):
        answer = runner.call(wrong, 1)
        assert answer.startswith("5 ") and text in answer, answer
    assert "no entry point other" in runner.call((x, x), 1, entry="other")
    check_equal(runner.call((x, x), 1), x + x)


def test_indices_out_of_range(tmp_path, runner):
    runner.load(packaged(tmp_path, torch.nn.Embedding(50, 16), torch.arange(5)))
    answer = runner.call((torch.tensor([0, 1, 2, 50, 3]),), 1)
    assert answer.startswith("6 ") and "an index is out of range" in answer


class Averages(torch.nn.Module):
    """Writes its state; another entry point reads it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def add(self, x):
        self.count.add_(1)
        self.mean.add_((x.mean(0) - self.mean) / self.count)
        return self.mean * 2

    def read(self):
        return self.mean, self.count.clone()

    def step(self):
        self.count.add_(1)
        return self.count + 0


def test_state_and_entry_points(tmp_path, runner):
    model = Averages()
    entries = {
        "add": (model.add, (torch.randn(3, 4),)),
        "read": (model.read, ()),
        "step": (model.step, ()),
    }
    path = packaged(tmp_path, entries, dynamic_shapes={"add": {"x": {0: BATCH}}})
    assert runner.load(path) == "0"
    loaded = girih.load(path)
    for rows in (2, 5, 7):
        x = torch.randn(rows, 4)
        check_equal(runner.call((x,), 1, entry="add"), loaded.add(x))
    before = runner.call((), 2, entry="read")
    check_equal(before, loaded.read())
    assert before[1] == 3
    assert runner.reset() == "0"
    assert runner.call((), 2, entry="read")[1] == 0
    assert runner.call_in_threads(1, entry="step") == "800"
    assert runner.call((), 2, entry="read")[1] == 800
    assert runner.load(path) == "0"
    assert runner.call((), 2, entry="read")[1] == 0


def test_library_calls_are_named(tmp_path, runner):
    path = packaged(tmp_path, lambda x: torch.sort(x + 1)[0], torch.randn(5))
    answer = runner.load(path)
    assert answer.startswith("4 "), answer
    assert "can't run without torch, because it calls aten.sort" in answer
    text = command.described(container.read(path))
    assert "  runs from C: yes, with torch's library" in text
    path = packaged(tmp_path, lambda x: x + 1, torch.randn(5))
    assert "  runs from C: yes\n" in command.described(container.read(path))


def test_functions_that_torch_brings_are_named(tmp_path, runner):
    example = torch.rand(50, dtype=torch.float64)
    path = packaged(tmp_path, lambda x: x.exp() + 1, example)
    manifest = container.read(path).manifest
    imports = manifest["targets"][0]["code"]["main"]["imports"]
    if not imports:
        pytest.skip("kernels for this processor call nothing")
    answer = runner.load(path)
    assert answer.startswith("4 ") and imports[0] in answer, answer


def test_parallel_kernels_with_and_without_openmp(tmp_path, program):
    """As torch runs them here; their results do not depend on threads."""
    path = packaged(tmp_path, reductions, torch.randn(700, 300))
    kernels = bytes(container.read(path).part("kernels.o"))
    assert b"__kmpc_fork_call" in kernels
    source = c_packages.SUPPORT / "run_package.c"
    flags = ("-Wl,--no-as-needed", "-lgomp")
    with_openmp = c_packages.built(source, tmp_path / "run", *flags)
    for each in (program, with_openmp):
        with c_packages.Runner(each) as runner:
            check_calls(runner, path, (torch.randn(700, 300),))


def test_no_such_target(tmp_path, program):
    path = packaged(tmp_path, torch.relu, torch.randn(5), targets=("x86-64-v2",))
    with c_packages.Runner(program, "x86-64-v3") as runner:
        assert "has no code for 'x86-64-v3'" in runner.load(path)
    with c_packages.Runner(program, "x86-64-v2") as runner:
        assert runner.load(path) == "0"


def test_features_that_are_missing(tmp_path, runner):
    path = packaged(tmp_path, torch.relu, torch.randn(5))
    found = container.read(path)
    found.manifest["targets"][0]["features"].append("avx9")
    container.write(tmp_path / "other", found.manifest, found.parts)
    answer = runner.load(tmp_path / "other")
    assert answer.startswith("3 ") and "lacks avx9" in answer


def test_versions(tmp_path, runner):
    found = container.read(packaged(tmp_path, torch.relu, torch.randn(5)))
    other = {**found.manifest, "format": 3}
    container.write(tmp_path / "other", other, found.parts)
    assert "its format is 3, this girih reads 2" in runner.load(tmp_path / "other")
    other = {**found.manifest, "made_by": {"girih": "9.9"}}
    container.write(tmp_path / "other", other, found.parts)
    assert "was made with girih 9.9, here is" in runner.load(tmp_path / "other")


def test_c_and_python_agree():
    """Numbers that stand in both."""
    header = c_runtime.HEADER.read_text()
    assert re.findall(r'_VERSION "(.+)"', header) == [girih.__version__]
    folder = c_runtime.LIBRARY.parents[1]
    assert f"#define FORMAT {loading.FORMAT}\n" in (folder / "package.c").read_text()
    text = (folder / "program.h").read_text()
    listed = re.findall(r"^    C_(\w+)[ ,}]?", text, flags=re.MULTILINE)
    assert listed == [each.name for each in c_programs.Instruction]
    assert c_programs.MAGIC.decode() in text
    assert (
        f"#define MOST_DIMS {c_programs.MOST_DIMS}\n"
        in (folder / "tensors.h").read_text()
    )
    processor = (folder / "processor.c").read_text()
    flags = set(code.processor(host_target())["features"]).union(*LEVELS.values())
    assert {flag for flag in flags if f'{{"{flag}", ' not in processor} == set()


# Examples -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    torch.manual_seed(0)

    class First(Network):
        def forward(self, x):
            return super().forward(x)[0]

    path = tmp_path_factory.mktemp("network")
    shapes = {"x": {0: BATCH}}
    return packaged(path, First().eval(), torch.randn(8, 64), dynamic_shapes=shapes)


def example(tmp_path, name, compiler):
    """An example, built with what ``girih-package runtime`` copies."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    assert command.main(["runtime", str(tmp_path)]) == 0
    source = c_packages.SUPPORT.parents[1] / "examples" / "c" / name
    flags = [f"-I{tmp_path}", f"-L{tmp_path}", "-lgirih_runtime", "-pthread"]
    flags += ["-Wl,-rpath,$ORIGIN", "-Wall", "-Wextra", "-Werror", "-O2"]
    target = tmp_path / "program"
    subprocess.run([compiler, str(source), *flags, "-o", str(target)], check=True)
    return target


def test_the_example_in_c(tmp_path, network):
    program = example(tmp_path, "classify.c", "cc")
    row = torch.randn(64)
    text = " ".join(map(repr, row.tolist()))
    done = subprocess.run(
        [program, network], input=text, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    wanted = girih.load(network)(row.repeat(2, 1))[0]
    assert done.stdout.split() == [f"{score:.6f}" for score in wanted.tolist()]
    done = subprocess.run(
        [program, network], input="1 2", capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "error 5: First" in done.stderr and "x.size(1) must be 64" in done.stderr


def test_the_example_in_cpp(tmp_path, network):
    program = example(tmp_path, "server.cc", "c++")
    rows = torch.randn(200, 64)
    lines = [" ".join(map(repr, row.tolist())) for row in rows] + ["1 2"]
    done = subprocess.run(
        [program, network, "4"], input="\n".join(lines), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    answers = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    wanted = girih.load(network)(rows).argmax(-1).tolist()
    assert [int(answers[str(number)]) for number in range(200)] == wanted
    assert answers["200"].startswith("error: First")
