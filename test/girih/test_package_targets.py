"""Packages with code for several processors: the best one that runs here is taken."""

import platform

import pytest
import torch
import torch.nn.functional as F
from processes import run_python
from torch.export import Dim

import girih
from girih import processors
from girih.codegen.cpu.target import LEVELS, host_target, level_of, level_target
from girih.packaging import command, container

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the levels are those of x86-64"
)
HERE = [name for name in LEVELS if LEVELS[name] <= host_target().flags]
OTHERS = [name for name in LEVELS if name not in HERE]


class Mixed(torch.nn.Module):
    """Kernels of several kinds, products, casts to narrow types and back."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(24, 37)
        self.norm = torch.nn.LayerNorm(37)

    def forward(self, x, ids):
        y = self.norm(F.gelu(self.inner(x)))
        half, brain = y.half() * 2, y.bfloat16() / 3
        wide = (y.double().exp().sum(0), torch.addcmul(y, y, y, value=0.3))
        picked = y[:, ids.clamp(0, 36)].softmax(-1)
        return half.float().sum(1), brain, wide, picked, (ids * 7 % 5).cumsum(0)


def example(count):
    torch.manual_seed(count)
    return torch.randn(count, 24), torch.randint(37, (11,))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Mixed().eval()


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    shapes = {"x": {0: Dim("n", min=2)}, "ids": None}
    path = tmp_path_factory.mktemp("package") / "p.girih"
    return girih.package(
        model, example(5), path=path, dynamic_shapes=shapes, targets=tuple(LEVELS)
    )


def check_equal(found, wanted):
    flat = torch.utils._pytree.tree_leaves(found)
    for one, other in zip(flat, torch.utils._pytree.tree_leaves(wanted), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("level", HERE)
@pytest.mark.parametrize("by", ["option", "environment"])
def test_each_level_is_that_of_compiled_code(model, path, level, by, monkeypatch):
    if by == "option":
        loaded = girih.load(path, target=level)
        monkeypatch.setenv("GIRIH_CPU", level)
    else:
        monkeypatch.setenv("GIRIH_CPU", level)
        loaded = girih.load(path)
    assert loaded.target == level
    compiled = girih.compile(model, dynamic=True, options={"fallback": False})
    for count in (2, 13, 1000):
        x, ids = example(count)
        x[0, 0] = float("nan")
        with torch.no_grad():
            wanted = compiled(x, ids)
            torch.testing.assert_close(
                loaded(x, ids), model(x, ids), rtol=2e-2, atol=1e-2, equal_nan=True
            )
        check_equal(loaded(x, ids), wanted)


def instructions(path, level):
    """Whether the code of a level has registers of 256 and of 512 bits, by prefix."""
    found = container.read(path)
    (target,) = (t for t in found.manifest["targets"] if t["processor"] == level)
    content = bytes(found.part(target["code"]["main"]["kernels"]))
    return content.count(b"\x62"), content.count(b"\xc5") + content.count(b"\xc4")


def test_code_of_the_levels_is_different(path):
    """Prefixes of AVX and AVX-512 are no proof, but they are hundreds or few."""
    found = {level: instructions(path, level) for level in LEVELS}
    size = len(bytes(container.read(path).parts["kernels.o"]))
    assert found["x86-64-v4"][0] > 4 * found["x86-64-v3"][0]
    assert found["x86-64-v3"][1] > 4 * found["x86-64-v2"][1], (found, size)


def test_the_best_one_is_taken(path, tmp_path):
    assert girih.load(path).target == HERE[-1]
    x, ids = example(4)
    native = girih.package(
        Mixed().eval(), (x, ids), path=tmp_path / "p", targets=("x86-64-v2", "native")
    )
    assert girih.load(native).target == host_target().name.strip(" /")


def test_parts_are_shared(path):
    found = container.read(path)
    weights = [name for name in found.parts if name.startswith("weights")]
    assert weights == ["weights.safetensors"]
    assert len([name for name in found.parts if name.startswith("kernels")]) == 3
    assert len([name for name in found.parts if name.endswith(".mlir")]) == 1


def test_a_processor_that_no_target_fits(tmp_path, monkeypatch):
    path = girih.package(
        torch.sin, (torch.randn(9),), path=tmp_path / "p", targets=HERE[-1:] + OTHERS
    )
    monkeypatch.setenv("GIRIH_CPU", "x86-64-v2")
    with pytest.raises(girih.PackageError) as error:
        girih.load(path)
    text = str(error.value)
    assert "This processor is x86-64-v2. The package has code for" in text
    assert f"{HERE[-1]} (this processor lacks " in text
    assert text.endswith(f"girih-package add-target {path} x86-64-v2")
    with pytest.raises(girih.PackageError, match="can't run here"):
        girih.load(path, target=HERE[-1])


def test_an_added_target_is_one_that_was_there_from_the_beginning(path, model, capsys):
    """All parts are equal, to the byte."""
    whole, grown = path, path.parent / "grown.girih"
    shapes = {"x": {0: Dim("n", min=2)}, "ids": None}
    girih.package(
        model, example(5), path=grown, dynamic_shapes=shapes, targets=["x86-64-v2"]
    )
    for level in ("x86-64-v3", "x86-64-v4"):
        assert command.main(["add-target", str(grown), level]) == 0
    assert "has code for x86-64-v4, too" in capsys.readouterr().out
    one, other = container.read(whole), container.read(grown)
    assert one.manifest == other.manifest
    assert one.parts == other.parts
    assert command.main(["add-target", str(grown), "x86-64-v3"]) == 1
    assert "has code for x86-64-v3 already" in capsys.readouterr().err
    assert command.main(["inspect", str(grown)]) == 0
    assert "target: x86-64-v3 (linux, x86_64)" in capsys.readouterr().out


def test_no_folder_of_the_maker_is_in_the_graph(path):
    text = bytes(container.read(path).parts["program.mlir"]).decode()
    assert 'loc("test_package_targets.py":' in text and "/" not in text


def remade(path, target, change):
    found = container.read(path)
    parts = dict(found.parts)
    change(found.manifest, parts)
    container.write(target, found.manifest, parts)
    return target


REFUSED = {
    "other plugins": lambda m, parts: m.update(plugins="elementwise softclip"),
    "passes or files of IR": lambda m, parts: m["entries"]["main"].update(graph=None),
    "no part 'graph9.mlir'": lambda m, parts: m["entries"]["main"].update(
        graph="graph9.mlir"
    ),
    "was made with girih 0.0": lambda m, parts: m["made_by"].update(girih="0.0"),
    "options that can't be read": lambda m, parts: m.update(options={"a": "f()"}),
}


@pytest.mark.parametrize("text", REFUSED)
def test_targets_that_cannot_be_added(tmp_path, capsys, text):
    path = girih.package(torch.sin, (torch.randn(3),), path=tmp_path / "p")
    path = remade(path, tmp_path / "q", REFUSED[text])
    content = path.read_bytes()
    assert command.main(["add-target", str(path), "x86-64-v2"]) == 1
    assert text in capsys.readouterr().err
    assert path.read_bytes() == content


def test_passes_of_the_user_are_in_no_package(tmp_path, capsys):
    path = girih.package(
        torch.sin, (torch.randn(3),), path=tmp_path / "p",
        options={"passes": {"before:fuse": lambda module: None}},
    )  # fmt: skip
    assert command.main(["add-target", str(path), "x86-64-v2"]) == 1
    assert "passes or files of IR that it does not hold" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("targets", "kind", "text"),
    [
        ("x86-64-v3", TypeError, "must be a tuple of names"),
        ((), ValueError, "must be different names"),
        (("native", "native"), ValueError, "must be different names"),
        (("cuda-sm1",), ValueError, "makes no code for 'cuda-sm1': GPUs are cuda-sm80"),
        (("x86-64-v5",), ValueError, "are x86-64-v2, x86-64-v3, x86-64-v4"),
    ],
)
def test_wrong_targets(tmp_path, targets, kind, text):
    with pytest.raises(kind, match=text):
        girih.package(
            torch.sin, (torch.randn(3),), path=tmp_path / "p", targets=targets
        )
    assert not (tmp_path / "p").exists()


def test_a_target_that_the_file_lacks(path):
    with pytest.raises(ValueError, match="no code for 'x86-64-v1'; it has 'x86-64-v2'"):
        girih.load(path, target="x86-64-v1")


def test_a_wrong_level_in_the_environment(path, monkeypatch):
    monkeypatch.setenv("GIRIH_CPU", "pentium")
    with pytest.raises(ValueError, match="GIRIH_CPU is 'pentium'"):
        girih.load(path)
    with pytest.raises(girih.UnsupportedError, match="GIRIH_CPU is 'pentium'"):
        girih.compile(torch.sin, fullgraph=True)(torch.randn(3))
    monkeypatch.setenv("GIRIH_CPU", "x86-64-v3")
    with monkeypatch.context() as patch:
        host = level_target("x86-64-v2")
        patch.setattr(processors, "host_target", lambda: host)
        with pytest.raises(ValueError, match=r"this processor lacks abm, avx, avx2"):
            girih.load(path)


def test_levels():
    for number, level in enumerate(LEVELS):
        found = level_target(level)
        assert found.vector_bits == 128 << number
        assert level_of(found) == level
    assert level_of(host_target()) == (HERE[-1] if HERE else None)


def test_loads_without_a_compiler(path):
    run_python(
        """
        import sys, torch, girih
        girih.load(sys.argv[1])
        assert "girih.compiler" not in sys.modules
        """,
        str(path),
        GIRIH_CPU="x86-64-v2",
    )
