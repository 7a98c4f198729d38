"""Packages for a GPU whose kernels are interpreted."""

import json

import pytest
import torch
from gpu_packages import MODELS, marked

import girih
from girih.packaging import command, container

SM90 = ("cuda-sm90",)


@pytest.fixture(params=MODELS)
def known(request, tmp_path):
    """A model, what makes its arguments, its file and what is symbolic."""
    torch.manual_seed(0)
    make, inputs, shapes = MODELS[request.param]
    model, path = make().eval(), tmp_path / "p.girih"
    args = inputs(3, "cpu")
    girih.package(model, args, path=path, targets=SM90, dynamic_shapes=shapes)
    return model, inputs, path, shapes


def test_equals_compiled_code_bit_for_bit(known, device):
    model, inputs, path, shapes = known
    loaded = girih.load(path)
    assert loaded.target == "cuda-sm90"
    run = girih.compile(model, options={"fallback": False})
    args = marked(inputs(5, "cpu"), shapes)
    with torch.no_grad():
        wanted = run(*args)
    before = len(device.launched)
    found = loaded(*args)
    assert len(device.launched) > before
    assert found.stride() == wanted.stride()
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_state_entry_points_and_written_arguments(tmp_path):
    norm = torch.nn.BatchNorm1d(4)

    def write(cache, x):
        cache[:, 1] = x
        return cache.sum() + torch.arange(4, device=x.device), torch.zeros(2)

    x, cache = torch.randn(8, 4), torch.zeros(4, 3)
    entries = {"norm": (norm, (x,)), "write": (write, (cache, x[0]))}
    path = girih.package(entries, path=tmp_path / "p", targets=SM90)
    loaded = girih.load(path)
    with torch.no_grad():
        torch.testing.assert_close(loaded.norm(x), norm(x))
    assert loaded.state_dict()["num_batches_tracked"] == 1
    torch.testing.assert_close(loaded.state_dict()["running_mean"], norm.running_mean)
    loaded.reset()
    assert loaded.state_dict()["num_batches_tracked"] == 0
    wanted = torch.zeros(4, 3)
    torch.testing.assert_close(loaded.write(cache, x[1]), write(wanted, x[1]))
    torch.testing.assert_close(cache, wanted)
    with pytest.raises(ValueError, match="multiple of 16 bytes"):
        loaded.write(torch.zeros(13)[1:].view(4, 3), x[1])


def test_random_numbers_and_views(tmp_path):
    def program(x):
        return torch.rand(4, device=x.device), x.view(2, -1)[1], x + torch.ones(())

    x = torch.randn(8)
    path = girih.package(program, (x,), path=tmp_path / "p", targets=SM90)
    loaded = girih.load(path)
    torch.manual_seed(1)
    one = loaded(x)
    torch.manual_seed(1)
    torch.testing.assert_close(one, program(x))


def described(path, capsys):
    assert command.main(["inspect", str(path)]) == 0
    return capsys.readouterr().out


def test_the_command_knows_gpus(known, tmp_path, capsys):
    _, _, path, _ = known
    text = described(path, capsys)
    assert (
        "target: cuda-sm90 (a GPU of compute capability 9.0, 132 multiprocessors)"
        in text
    )
    assert " on the GPU" in text and "runs from C: no" in text
    assert command.main(["verify", str(path)]) == 0
    assert command.main(["extract", str(path), str(tmp_path / "parts")]) == 0
    manifest = json.loads((tmp_path / "parts" / "manifest.json").read_text())
    (target,) = manifest["targets"]
    for binary in target["code"]["main"]["binaries"]:
        text = (tmp_path / "parts" / binary["part"]).read_text()
        assert binary["name"] in text


def test_a_target_that_is_added_is_one_that_was_given(tmp_path, capsys):
    torch.manual_seed(0)
    make, inputs, shapes = MODELS["perceptron"]
    model, args, both = make().eval(), inputs(3, "cpu"), ("cuda-sm90", "cuda-sm80")
    files = []
    for name, targets in (("one", SM90), ("two", both)):
        files.append(
            girih.package(
                model,
                args,
                path=tmp_path / name,
                targets=targets,
                dynamic_shapes=shapes,
            )
        )
    assert command.main(["add-target", str(files[0]), "cuda-sm80"]) == 0
    one, two = map(container.read, files)
    assert one.manifest == two.manifest
    assert {n: bytes(p) for n, p in one.parts.items()} == {
        n: bytes(p) for n, p in two.parts.items()
    }
    assert girih.load(files[0]).target == "cuda-sm90"
    capsys.readouterr()
    for name, text in (("x86-64-v2", "has code for GPUs"), ("cuda-sm1", "GPUs are")):
        assert command.main(["add-target", str(files[0]), name]) == 1
        assert text in capsys.readouterr().err


@pytest.mark.parametrize("needed", [0, 1 << 10])
def test_a_library_that_needs_another_workspace(tmp_path, device, needed):
    """What the program has for it is at least as much as it takes."""
    import ctypes

    wanted = ctypes.c_size_t.in_dll(ctypes.CDLL(device.products), "wanted_workspace")
    a, b = torch.randn(300, 200), torch.randn(200, 300)
    wanted.value = 1 << 11
    try:
        path = girih.package(torch.mm, (a, b), path=tmp_path / "p", targets=SM90)
        wanted.value = needed
        parts = container.read(path).parts
        assert b'"workspace_bytes": 2048' in bytes(parts["program.json"])
        loaded = girih.load(path)
        torch.testing.assert_close(loaded(a, b), a @ b, rtol=1e-4, atol=1e-4)
    finally:
        wanted.value = 0
