"""Packages for GPUs, with the code of Triton, on a machine without a GPU."""

import json

import pytest
import torch
from emulated_device import _built
from gpu_packages import MODELS
from package_changes import remade
from processes import run_python

import girih
from girih.codegen.gpu import _driver
from girih.packaging import command, container, gpus

pytest.importorskip("triton")
TARGETS = ("cuda-sm80", "cuda-sm90")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    torch.manual_seed(0)
    make, inputs, shapes = MODELS["perceptron"]
    path = tmp_path_factory.mktemp("package") / "p.girih"
    return girih.package(
        make().eval(),
        inputs(3, "cpu"),
        path=path,
        dynamic_shapes=shapes,
        targets=TARGETS,
    )


@pytest.fixture
def gpu(monkeypatch):
    """Has a GPU that takes all kernels, of a compute capability."""

    def set_(major, minor):
        driver = _driver.Driver("cuda", str(_built("fake_cuda.c")))
        products = str(_built("fake_products.c"))
        found = gpus.Gpu(
            torch.device("cpu"), "fake", (major, minor), driver, 0, products
        )
        monkeypatch.setattr(gpus, "find", lambda device: found)

    return set_


def test_kernels_are_binaries_of_each_target(path):
    found = container.read(path)
    for target in found.manifest["targets"]:
        binaries = target["code"]["main"]["binaries"]
        assert binaries
        for binary in binaries:
            assert bytes(found.part(binary["part"])[:4]) == b"\x7fELF"
            assert binary["target"] == target["processor"].replace("cuda-sm", "sm_")
    assert not [name for name in found.parts if name.startswith("kernels")]


@pytest.mark.parametrize(
    ("capability", "target"),
    [((8, 0), "cuda-sm80"), ((8, 9), "cuda-sm80"), ((9, 0), "cuda-sm90")],
)
def test_the_best_one_is_taken(path, gpu, capability, target):
    gpu(*capability)
    assert girih.load(path).target == target
    if capability == (9, 0):
        with pytest.raises(girih.PackageError, match="It has code for cuda-sm80, and"):
            girih.load(path, target="cuda-sm80")


def test_gpus_that_can_not_run_it(path, gpu):
    gpu(7, 5)
    text = (
        "is a fake of compute capability 7.5. Make it for this GPU, too: .* cuda-sm75"
    )
    with pytest.raises(girih.PackageError, match=text):
        girih.load(path)
    with pytest.raises(ValueError, match="has no code for 'cuda-sm86'; it has 'cuda-s"):
        girih.load(path, target="cuda-sm86")
    with pytest.raises(ValueError, match="has no code for the device 'cpu'"):
        girih.load(path, device="cpu")
    for device in ("cuba", "meta"):
        with pytest.raises(ValueError, match=f"{device}"):
            girih.load(path, device=device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_machine_without_a_gpu(path, capsys):
    with pytest.raises(girih.PackageError, match="torch finds no GPU of NVIDIA here"):
        girih.load(path)
    assert command.main(["verify", str(path)]) == 1
    assert "can't run here" in capsys.readouterr().err
    assert command.main(["inspect", str(path)]) == 0
    text = capsys.readouterr().out
    assert "cuda-sm80 (a GPU of compute capability 8.0, 108 multiprocessors)" in text


def test_loads_without_a_compiler(path):
    program = """
        import sys
        BLOCKED = ("torch_mlir", "mlir", "triton", "llvmlite", "torch._dynamo")

        class Blocker:
            def find_spec(self, name, *_):
                if name.startswith(BLOCKED):
                    raise ImportError(f"{name} is blocked")

        import torch
        sys.meta_path.insert(0, Blocker())
        import girih
        from girih.codegen.gpu import _driver
        from girih.packaging import gpus

        cpu, driver = torch.device("cpu"), _driver.Driver("cuda", sys.argv[2])
        fake = gpus.Gpu(cpu, "fake", (9, 0), driver, 0, sys.argv[3])
        gpus.find = lambda device: fake
        assert girih.load(sys.argv[1]).target == "cuda-sm90"
        assert "girih.compiler" not in sys.modules
        assert not [name for name in sys.modules if name.startswith("girih.dialects")]
    """
    libraries = (str(_built("fake_cuda.c")), str(_built("fake_products.c")))
    run_python(program, str(path), *libraries)


@pytest.mark.parametrize(
    ("targets", "text"),
    [
        (("cuda-sm80", "x86-64-v3"), "must be processors or GPUs"),
        (("native", "cuda-sm90"), "must be processors or GPUs"),
        (("cuda-sm70",), "GPUs are cuda-sm80, cuda-sm86, cuda-sm89, cuda-sm90"),
        (("sm_90",), "GPUs are cuda-sm80"),
    ],
)
def test_wrong_targets(tmp_path, targets, text):
    with pytest.raises(ValueError, match=text):
        girih.package(
            torch.relu, (torch.ones(3),), path=tmp_path / "p", targets=targets
        )


@pytest.mark.parametrize("option", ["cudagraphs", "max_autotune"])
def test_options_that_have_no_effect_are_refused(tmp_path, option):
    with pytest.raises(girih.UnsupportedError, match=f"for a GPU with {option}"):
        girih.package(
            torch.relu,
            (torch.ones(3),),
            path=tmp_path / "p",
            targets=TARGETS,
            options={option: True},
        )


def test_code_for_processors_is_not_for_gpus(tmp_path, capsys):
    path = girih.package(torch.relu, (torch.ones(3),), path=tmp_path / "p")
    for device in ("cuda", "cuda:1", 0):
        with pytest.raises(ValueError, match="has no code for the device 'cuda"):
            girih.load(path, device=device)
    assert torch.equal(girih.load(path, device="cpu")(torch.ones(3)), torch.ones(3))
    assert command.main(["add-target", str(path), "cuda-sm80"]) == 1
    assert "has code for processors" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_file_of_a_machine_with_a_gpu_gets_another_target_here(tmp_path, gpu):
    """Its graphs name a device that is not here."""

    def program(x):
        return torch.rand(4, device=x.device) + x.sum(), x @ x

    args = (torch.randn(300, 300),)
    path = girih.package(program, args, path=tmp_path / "p", targets=("cuda-sm90",))

    def made_there(manifest, parts):
        manifest["targets"][0]["gpu"]["device"] = "cuda:0"
        text = parts["program.mlir"].decode()
        assert 'device = "cpu"' in text
        text = text.replace('device = "cpu"', 'device = "cuda:0"')
        parts["program.mlir"] = text.encode()

    path = remade(path, tmp_path / "q", made_there)
    assert command.main(["add-target", str(path), "cuda-sm80"]) == 0
    parts = container.read(path).parts
    texts = [bytes(parts[name]) for name in parts if name.endswith(".json")]
    assert len(texts) == 2 and not any(b"cuda:0" in text for text in texts)
    assert all(b'{"gpu": "device"}' in text for text in texts)
    gpu(8, 0)
    assert girih.load(path).target == "cuda-sm80"


# Damage -------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["kernel.cubin", "program.json", "program.bin"])
def test_damage_is_found(path, tmp_path, gpu, part):
    gpu(8, 0)
    content = bytearray(path.read_bytes())
    content[container.read(path).offsets[part] + 40] ^= 1
    (tmp_path / "q").write_bytes(content)
    with pytest.raises(girih.PackageError, match=f"the part '{part}' is wrong"):
        girih.load(tmp_path / "q")


def first_table(change):
    """Changes the first launch table."""

    def changed(manifest, parts):
        name = manifest["targets"][0]["code"]["main"]["constants"]
        known = json.loads(parts[name])
        tables = [
            x["table"] for x in known["constants"] if type(x) is dict and "table" in x
        ]
        change(tables[0])
        parts[name] = json.dumps(known).encode()

    return changed


def program(change):
    return lambda manifest, parts: change(manifest["targets"][0]["code"]["main"])


CHANGES = {
    "a kernel that is not there": first_table(
        lambda table: table["entries"][0].update(kernel=99)
    ),
    "a grid that is not there": first_table(
        lambda table: table["entries"][0].update(grid=99)
    ),
    "a word that is not there": first_table(
        lambda table: table["entries"][0].update(arguments=[99])
    ),
    "many threads": first_table(lambda table: table["entries"][0].update(threads=4096)),
    "fewer words": first_table(lambda table: table.update(words=0)),
    "more words": first_table(lambda table: table.update(words=1 << 40)),
    "no launches": first_table(lambda table: table.update(entries=[])),
    "no kernels": program(lambda code: code.update(binaries=[])),
    "a part that is not there": program(
        lambda code: code["binaries"][0].update(part="kernel99.cubin")
    ),
    "much shared memory": program(
        lambda code: code["binaries"][0].update(shared_bytes=1 << 40)
    ),
    "a name that is none": program(lambda code: code["binaries"][0].update(name=3)),
    "no capability": lambda manifest, parts: manifest["targets"][0]["gpu"].clear(),
    "a device of the argument": lambda manifest, parts: manifest["entries"]["main"][
        "inputs"
    ][0].update(device="tpu"),
    "a device of a weight": lambda manifest, parts: next(
        iter(manifest["weights"].values())
    ).update(device="tpu"),
}


def test_a_kernel_that_the_driver_refuses(path, tmp_path, gpu):
    gpu(8, 0)
    bad = {"kernel.cubin": b"bad"}
    changed = remade(path, tmp_path / "q", lambda m, parts: parts.update(bad))
    text = r"can't be loaded on cpu \(fake\): the kernel .* was not loaded"
    with pytest.raises(girih.PackageError, match=text):
        girih.load(changed)


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_wrong_is_refused(path, tmp_path, gpu, name):
    gpu(8, 0)
    changed = remade(path, tmp_path / "q", CHANGES[name])
    with pytest.raises(girih.PackageError, match="is no package of girih|is damaged"):
        girih.load(changed)
