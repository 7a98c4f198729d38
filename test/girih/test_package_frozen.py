"""Packages with the option `freezing`: what depends on weights alone is in the file."""

import c_packages
import pytest
import torch
import torch.nn.functional as F
from package_changes import remade
from torch import nn
from torch.export import Dim

import girih
from girih.codegen.cpu.target import LEVELS, host_target
from girih.packaging import adding, command, container

FROZEN = {"freezing": True}
HERE = [name for name in LEVELS if LEVELS[name] <= host_target().flags]


class Network(nn.Module):
    """Convolutions that are packed, of pixels and of channels; a large product."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 24, 5, bias=False)
        self.norm = nn.BatchNorm2d(24)
        self.grouped = nn.Conv2d(24, 48, 3, groups=2, padding=1)
        self.pixels = nn.Conv2d(48, 24, 1)
        self.channels = nn.Conv2d(24, 24, 3, groups=24, padding=1)
        self.head = nn.Linear(24, 4096)
        self.last = nn.Linear(4096, 128)
        with torch.no_grad():
            self.norm.running_mean.normal_()
            self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x)))
        x = F.hardtanh(self.grouped(x), 0.0, 6.0)
        x = F.silu(self.channels(F.hardswish(self.pixels(x))))
        return self.last(F.gelu(self.head(x.mean((2, 3)))))


def network(seed=0):
    torch.manual_seed(seed)
    return Network().eval(), torch.randn(3, 3, 30, 26)


def packaged(folder, model, args, name="p.girih", **options):
    options.setdefault("options", FROZEN)
    return girih.package(model, args, path=folder / name, **options)


def weights_of(path):
    return container.read(path).manifest["weights"]


@pytest.mark.parametrize("level", HERE)
def test_like_compiled_code(tmp_path, level, monkeypatch):
    model, x = network()
    path = packaged(tmp_path, model, (x,), targets=HERE)
    monkeypatch.setenv("GIRIH_CPU", level)
    loaded = girih.load(path)
    assert loaded.target == level
    with torch.no_grad():
        wanted = girih.compile(model, options=FROZEN)(x)
        torch.testing.assert_close(wanted, model(x))
        for _ in range(2):
            torch.testing.assert_close(loaded(x), wanted, rtol=0, atol=0)


def test_what_the_file_has(tmp_path):
    """Folded weights stand in place of the others, and are packed at the load."""
    model, x = network()
    path = packaged(tmp_path, model, (x,))
    table = weights_of(path)
    assert not any("norm" in name or name == "first.weight" for name in table)
    assert sum("packed" in place for place in table.values()) == 2
    plain = packaged(tmp_path, model, (x,), "plain.girih", options=None)
    assert not any("packed" in place for place in weights_of(plain).values())
    assert path.stat().st_size < 1.1 * plain.stat().st_size
    loaded = girih.load(path)
    assert all(weight.layout is torch.strided for weight in loaded.weights.values())
    assert "runs from C: " in command.described(container.read(path))


def test_without_onednn_weights_stay_plain(tmp_path, monkeypatch):
    model, x = network()
    path = packaged(tmp_path, model, (x,))
    wanted = girih.load(path)(x)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    torch.testing.assert_close(girih.load(path)(x), wanted)


def test_levels_share_constants_that_are_equal(tmp_path):
    model, x = network()
    one = packaged(tmp_path, model, (x,), "one.girih", targets=HERE[:1])
    all_ = packaged(tmp_path, model, (x,), "all.girih", targets=HERE)
    packed = [[p for p in weights_of(x).values() if "packed" in p] for x in (one, all_)]
    assert len(packed[0]) == len(packed[1]) == 2


def test_entry_points_share_constants(tmp_path):
    model, x = network()
    entries = {"one": (model, (x,)), "two": (model, (x[:2],))}
    path = girih.package(entries, path=tmp_path / "p.girih", options=FROZEN)
    loaded = girih.load(path)
    compiled = girih.compile(model, options=FROZEN, dynamic=False)
    with torch.no_grad():
        for name, given in (("one", x), ("two", x[:2])):
            wanted = compiled(given)
            torch.testing.assert_close(loaded[name](given), wanted, rtol=0, atol=0)
    alone = packaged(tmp_path, model, (x,), "alone.girih")
    assert path.stat().st_size < 1.5 * alone.stat().st_size


def test_symbolic_sizes(tmp_path):
    model, x = network()
    shapes = {"x": {0: Dim("batch", min=2, max=16), 2: Dim("height", min=8, max=64)}}
    path = packaged(tmp_path, model, (x,), dynamic_shapes=shapes)
    loaded = girih.load(path)
    for sizes in ((2, 3, 30, 26), (7, 3, 64, 26), (16, 3, 9, 26)):
        given = torch.randn(sizes)
        with torch.no_grad():
            torch.testing.assert_close(
                loaded(given), model(given), rtol=1e-4, atol=1e-5
            )


def test_weights_that_are_results(tmp_path):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 4))
            self.other = nn.Parameter(torch.randn(4))

        def forward(self, x):
            return x * self.weight.exp(), self.weight, self.other.view(2, 2)

    model, x = Both(), torch.randn(4, 4)
    loaded = girih.load(packaged(tmp_path, model, (x,)))
    with torch.no_grad():
        for one, two in zip(loaded(x), model(x), strict=True):
            torch.testing.assert_close(one, two, rtol=0, atol=0)


def test_constants_of_the_function_itself(tmp_path):
    table = torch.linspace(0, 1, 12)

    def function(x):
        return x + table.sin().cumsum(0)

    x = torch.randn(5, 12)
    path = packaged(tmp_path, function, (x,))
    torch.testing.assert_close(girih.load(path)(x), function(x))


def test_nothing_to_freeze(tmp_path):
    x = torch.randn(5)
    path = packaged(tmp_path, lambda x: x.sin() + 1, (x,))
    torch.testing.assert_close(girih.load(path)(x), x.sin() + 1)


def test_a_weight_that_another_entry_point_writes_is_refused(tmp_path):
    class Trained(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(4, 4)
            self.scale = nn.Parameter(torch.ones(4, 4))

        def forward(self, x):
            return self.inner(x) * self.scale.exp().sum()

        def double(self, x):
            self.scale.mul_(2)
            return x + 1

    model, x = Trained(), torch.randn(2, 4)
    with torch.no_grad():
        entries = {"run": (model, (x,)), "double": (model.double, (x,))}
        with pytest.raises(girih.UnsupportedError, match="freezing that writes"):
            girih.package(entries, path=tmp_path / "p.girih", options=FROZEN)
        # A program that writes a weight itself does not take it for a constant.
        path = packaged(tmp_path, model.double, (x,), "double.girih")
        torch.testing.assert_close(girih.load(path)(x), x + 1)


def test_targets_cannot_be_added(tmp_path):
    model, x = network()
    path = packaged(tmp_path, model, (x,), targets=HERE[:1])
    with pytest.raises(girih.PackageError, match="made with freezing, and does not"):
        adding.add_target(path, "x86-64-v4")


def test_gpus_are_refused(tmp_path):
    model, x = network()
    with pytest.raises(girih.UnsupportedError, match="GPU with freezing"):
        packaged(tmp_path, model, (x,), targets=("cuda-sm90",))


@pytest.mark.skipif(not c_packages.COMPILER, reason="no C compiler")
def test_from_c(tmp_path):
    """The library packs plain weights itself; results are the same."""
    program = c_packages.SUPPORT / "run_package.c"
    program = c_packages.built(program, tmp_path / "run")

    class Relu(Network):
        def forward(self, x):
            return F.relu(self.grouped(F.relu(self.norm(self.first(x)))))

    torch.manual_seed(0)
    model, x = Relu().eval(), torch.randn(3, 3, 30, 26)
    path = packaged(tmp_path, model, (x,), targets=HERE)
    for level in HERE:
        wanted = girih.load(path, target=level)(x)
        with c_packages.Runner(program, level) as runner:
            assert runner.use_torch(c_packages.TORCH) == runner.load(path) == "0"
            (found,) = runner.call([x], 1)
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)


GEOMETRIES = {
    "no list": 3,
    "a number less": {"tuple": [{"tuple": [0, 0]}, {"tuple": [1, 1]}]},
    "a negative pad": [[-1, 0], [1, 1], [1, 1], 1, None],
    "no step": [[0, 0], [0, 1], [1, 1], 1, None],
    "a large step": [[0, 0], [1 << 40, 1], [1, 1], 1, None],
    "no groups": [[0, 0], [1, 1], [1, 1], 0, None],
    "groups that do not divide": [[0, 0], [1, 1], [1, 1], 7, None],
    "an image of other channels": [[0, 0], [1, 1], [1, 1], 1, [1, 9, 8, 8]],
    "a text": [[0, 0], [1, 1], [1, 1], "1", None],
}


def _as_tuples(value):
    if not isinstance(value, list):
        return value
    return {"tuple": [_as_tuples(each) for each in value]}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_wrong_geometries_are_refused(tmp_path, name):
    model, x = network()
    path = packaged(tmp_path, model, (x,))

    def change(manifest, parts):
        place = next(p for p in manifest["weights"].values() if "packed" in p)
        place["packed"] = _as_tuples(GEOMETRIES[name])

    wrong = remade(path, tmp_path / "wrong.girih", change)
    with pytest.raises(girih.PackageError, match="is no package of girih"):
        girih.load(wrong)


@pytest.mark.parametrize("given", [3, [], [["weight", "no such"]], [["input", 7]]])
def test_wrong_weights_of_a_target_are_refused(tmp_path, given):
    model, x = nn.Sequential(nn.Linear(5, 7), nn.ReLU()), torch.randn(2, 5)
    path = packaged(tmp_path, model, (x,))

    def change(manifest, parts):
        (target,) = manifest["targets"]
        target["code"]["main"]["given"] = given

    wrong = remade(path, tmp_path / "wrong.girih", change)
    with pytest.raises(girih.PackageError, match="is no package of girih"):
        girih.load(wrong)
    if c_packages.COMPILER:
        program = c_packages.SUPPORT / "run_package.c"
        with c_packages.Runner(c_packages.built(program, tmp_path / "run")) as runner:
            assert "is no package of girih" in runner.load(wrong)
