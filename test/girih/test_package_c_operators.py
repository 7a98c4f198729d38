"""Packages that call operators of torch run from C, where torch's library is."""

import re

import c_packages
import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim

import girih
from girih.packaging import c_operators, command, container

pytestmark = pytest.mark.skipif(not c_packages.COMPILER, reason="no C compiler")

BATCH = Dim("batch", min=2, max=64)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    return c_packages.built(c_packages.SUPPORT / "run_package.c", folder / "run")


@pytest.fixture(scope="module")
def runner(program):
    with c_packages.Runner(program) as made:
        assert made.use_torch(c_packages.TORCH) == "0"
        yield made


def packaged(folder, model, *args, **options):
    return girih.package(model, args, path=folder / "p.girih", **options)


def operators_of(path):
    return container.read(path).manifest["targets"][0]["code"]["main"]["operators"]


def check(runner, path, *calls, tolerance=0):
    """Calls both loads with the same tensors; results and written tensors are equal."""
    assert runner.load(path) == "0"
    loaded = girih.load(path)
    for args in calls:
        copies = [arg.clone() for arg in args]
        with torch.no_grad():
            wanted = loaded(*copies)
        wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
        found = runner.call(args, len(wanted))
        assert isinstance(found, list), found
        for one, two in zip([*found, *args], [*wanted, *copies], strict=True):
            assert one.dtype == two.dtype
            assert one.numel() == 0 or one.stride() == two.stride()
            torch.testing.assert_close(
                one, two, rtol=tolerance, atol=tolerance, equal_nan=True
            )


class Images(torch.nn.Module):
    """Convolutions of several kinds, a pool, a head."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.norm = torch.nn.BatchNorm2d(16)
        self.grouped = torch.nn.Conv2d(16, 32, 3, groups=4, dilation=2)
        self.back = torch.nn.ConvTranspose2d(32, 8, 2, stride=2)
        self.head = torch.nn.Linear(8, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x)))
        x = F.max_pool2d(F.silu(self.grouped(x)), 2)
        return self.head(self.back(x).mean((2, 3)))


class Attention(torch.nn.Module):
    """A block of a transformer."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)

    def forward(self, x):
        return self.inner(x)


@pytest.mark.parametrize("kind", [Images, Attention])
def test_networks(tmp_path, runner, kind):
    torch.manual_seed(0)
    model = kind().eval()
    sizes = (3, 33, 35) if kind is Images else (9, 64)
    shapes = {"x": {0: BATCH}}
    path = packaged(tmp_path, model, torch.randn(4, *sizes), dynamic_shapes=shapes)
    assert operators_of(path)
    check(runner, path, *[(torch.randn(rows, *sizes),) for rows in (2, 3, 17)])
    assert "  runs from C: yes" in command.described(container.read(path))


CASES = {
    "paddings": (
        lambda x: F.pad(x.sort(-1)[0], (1, 2), value=0.1).sort(0)[0],
        (torch.randn(5, 33),),
    ),
    "paddings_of_integers": (
        lambda x: torch.sort(F.pad(x.sort(-1)[0], (2, 1), value=1 << 40))[0],
        (torch.randint(9, (5, 33)),),
    ),
    "one_pixel": (
        lambda x: F.adaptive_avg_pool2d(x, 1).sort(1)[0],
        (torch.randn(2, 8, 5, 5).to(memory_format=torch.channels_last),),
    ),
    "several_results": (lambda x: tuple(torch.sort(x * 2, -1)), (torch.randn(5, 33),)),
    "one_of_several": (lambda x: torch.sort(x + 1, -1)[1] + 1, (torch.randn(5, 33),)),
    "optional_numbers": (
        lambda x: torch.topk(x.exp(), 3, sorted=True)[0] - 1,
        (torch.randn(4, 100),),
    ),
    "texts": (
        lambda x, y: torch.searchsorted(x, y * 2, side="right"),
        (torch.arange(9.0), torch.rand(7) * 5),
    ),
    "no_elements": (lambda x: torch.sort(x + 1)[0] * 2, (torch.randn(0, 4),)),
    "no_dims": (lambda x: torch.sort(x + 1)[0] * 2, (torch.tensor(3.0),)),
    "batched": (
        lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2).relu(),
        (torch.randn(3, 1, 70), torch.randn(3, 65, 129), torch.randn(3, 129, 70)),
    ),
    "double": (
        lambda c, a, b: torch.addmm(c, a, b) + 1,
        (
            torch.randn(70, dtype=torch.float64),
            torch.randn(65, 129, dtype=torch.float64),
            torch.randn(129, 70, dtype=torch.float64),
        ),
    ),
    "complex": (
        lambda x: torch.fft.fft(x, dim=-1).abs() * 2,
        (torch.randn(3, 64),),
    ),
    "solved": (
        lambda a, b: torch.linalg.solve(a + 4 * torch.eye(8), b) * 2,
        (torch.randn(8, 8), torch.randn(8, 3)),
    ),
    "not_asked_for": (
        lambda y, x, w: (
            torch.ops.aten.convolution_backward(
                y,
                x,
                w,
                None,
                [1, 1],
                [0, 0],
                [1, 1],
                False,
                [0, 0],
                1,
                [False, True, False],
            )[1]
            * 2
        ),
        (torch.randn(2, 4, 7, 7), torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kinds_of_arguments_and_results(tmp_path, runner, name):
    torch.manual_seed(0)
    function, args = CASES[name]
    path = packaged(tmp_path, function, *args)
    manifest = container.read(path).manifest["targets"][0]["code"]["main"]
    if not manifest["operators"]:
        pytest.skip("this is a kernel")
    if manifest["c_problem"]:
        assert name not in ("paddings", "paddings_of_integers", "one_pixel")
        pytest.skip(f"needs Python: {manifest['c_problem']}")
    check(runner, path, args, args)


def test_views_of_arguments_and_weights(tmp_path, runner):
    """An operator's result that lies in the memory of its argument."""

    class Views(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.randn(6, 5), requires_grad=False)

        def forward(self, x):
            y = torch.sort(x + 1)[0]
            return torch.linalg.diagonal(y), torch.linalg.diagonal(self.table), y * 2

    path = packaged(tmp_path, Views(), torch.randn(6, 5))
    check(runner, path, (torch.randn(6, 5),), (torch.randn(6, 5),))


def test_errors_of_operators(tmp_path, runner):
    def f(a):
        return torch.linalg.inv(a) * 2

    path = packaged(tmp_path, f, torch.eye(3))
    assert runner.load(path) == "0"
    answer = runner.call((torch.zeros(3, 3),), 1)
    assert answer.startswith("4 ") and "singular" in answer, answer
    assert isinstance(runner.call((torch.eye(3),), 1), list)


def test_what_needs_python_is_named(tmp_path, runner):
    kept = packaged(tmp_path, lambda x: x.sort()[0] + 1, torch.rand(4, 3))
    assert runner.load(kept) == "0"
    with torch.library._scoped_library("girih_c_test", "FRAGMENT") as library:
        library.define("scaled(Tensor x, Scalar s) -> Tensor")
        library.impl("scaled", lambda x, s: x * s, "CompositeExplicitAutograd")
        library.impl("scaled", lambda x, s: torch.empty_like(x), "Meta")
        operator = torch.ops.girih_c_test.scaled
        path = packaged(tmp_path, lambda x: operator(x, 2.5) + 1, torch.rand(4, 3))
        text = command.described(container.read(path))
        assert "runs from C: no, because of s of girih_c_test.scaled" in text
        answer = runner.load(path)
        assert answer.startswith("4 ") and "because of s of girih_c_test" in answer


def test_torch_that_is_not_there(tmp_path, program):
    path = packaged(tmp_path, lambda x: torch.sort(x + 1)[0], torch.randn(5))
    with c_packages.Runner(program) as other:
        answer = other.load(path)
        assert answer.startswith("4 ")
        assert "can't run without torch, because it calls aten.sort" in answer
        assert "Call girih_use_torch before girih_load" in answer
        assert "libtorch_cpu.so" in other.use_torch(tmp_path)
        assert other.use_torch(c_packages.TORCH) == "0"
        assert other.load(path) == "0"
        assert isinstance(other.call((torch.randn(5),), 1), list)


def test_another_version_of_torch(tmp_path, runner):
    found = container.read(
        packaged(tmp_path, lambda x: x.sort()[0] + 1, torch.randn(5))
    )
    made_by = {**found.manifest["made_by"], "torch": "9.8.7"}
    container.write(
        tmp_path / "other", {**found.manifest, "made_by": made_by}, found.parts
    )
    assert "was made with torch 9.8.7, here is" in runner.load(tmp_path / "other")


def test_float64_functions_come_with_torch(tmp_path, runner):
    example = torch.rand(50, dtype=torch.float64)
    path = packaged(tmp_path, lambda x: x.exp().log1p() + 1, example)
    check(runner, path, (example,))


def test_numbers_that_stand_in_both():
    folder = c_packages.SUPPORT.parents[1] / "codegen" / "c_runtime"
    text = (folder / "operators.h").read_text()
    listed = re.findall(r"^    T_(\w+)[ ,]", text, flags=re.MULTILINE)
    assert listed == [each.name for each in c_operators.Argument]
    assert f"MOST_OPERANDS {c_operators.MOST_OPERANDS} " in text
