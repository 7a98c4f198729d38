"""Packages for a GPU: equal to compiled code bit for bit, loaded without a compiler."""

import pytest
import torch
from gpu_device import DEVICE, HAS_CUDA
from gpu_packages import MODELS, marked
from processes import run_python

import girih
from girih.packaging import container

TARGETS = ("native",) if HAS_CUDA else ("cuda-sm90",)


def packaged(path, model, args, **settings):
    return girih.package(model, args, path=path, targets=TARGETS, **settings)


def compiled(model, **settings):
    return girih.compile(model, options={"fallback": False}, **settings)


@pytest.fixture(params=MODELS)
def known(request, tmp_path):
    """A model, what makes its arguments, its file and what is symbolic."""
    torch.manual_seed(0)
    make, inputs, shapes = MODELS[request.param]
    model = make().eval().to(DEVICE)
    path = tmp_path / "p.girih"
    packaged(path, model, inputs(3, DEVICE), dynamic_shapes=shapes)
    return model, inputs, path, shapes


def test_equals_compiled_code_bit_for_bit(known):
    model, inputs, path, shapes = known
    loaded = girih.load(path)
    run = compiled(model, dynamic=None)
    for count in (2, 5, 3):
        args = marked(inputs(count, DEVICE), shapes)
        with torch.no_grad():
            wanted = run(*args)
            torch.testing.assert_close(
                loaded(*args), model(*args), rtol=0.02, atol=0.02
            )
        found = loaded(*args)
        assert found.device == wanted.device and found.stride() == wanted.stride()
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)


@pytest.mark.skipif(not HAS_CUDA, reason="loads kernels of Triton")
def test_a_fresh_process_needs_no_compiler(known, tmp_path):
    model, inputs, path, _ = known
    args = inputs(3, DEVICE)
    torch.save((args, girih.load(path)(*args)), tmp_path / "call.pt")
    program = """
        import sys
        BLOCKED = ("torch_mlir", "mlir", "triton", "llvmlite", "torch._dynamo")
        import torch
        # As where they are not installed; torch looks for Triton when CUDA begins.
        sys.modules |= dict.fromkeys(BLOCKED)
        import girih
        torch.backends.cudnn.allow_tf32 = False  # as in the tests
        loaded = girih.load(sys.argv[1])
        args, wanted = torch.load(sys.argv[2])
        assert torch.equal(loaded(*args), wanted)
        assert "girih.compiler" not in sys.modules
    """
    run_python(program, str(path), str(tmp_path / "call.pt"))


def test_state_is_on_the_device(tmp_path):
    norm = torch.nn.BatchNorm1d(4).to(DEVICE)
    x = torch.randn(8, 4, device=DEVICE)
    path = packaged(tmp_path / "p", norm, (x,))
    loaded, other = girih.load(path), girih.load(path)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(loaded(x), norm(x))
    for name, value in loaded.state_dict().items():
        assert value.device.type == DEVICE.type
        torch.testing.assert_close(value, getattr(norm, name))
    assert other.state_dict()["num_batches_tracked"] == 0
    other.load_state_dict(loaded.state_dict())
    assert other.state_dict()["num_batches_tracked"] == 3
    loaded.reset()
    assert loaded.state_dict()["num_batches_tracked"] == 0


def test_entry_points_share_weights(tmp_path):
    layer = torch.nn.Linear(16, 16).to(DEVICE)
    x = torch.randn(3, 16, device=DEVICE)

    def twice(x):
        return layer(layer(x))

    entries = {"once": (layer, (x,)), "twice": (twice, (x,))}
    path = girih.package(entries, path=tmp_path / "p", targets=TARGETS)
    loaded = girih.load(path)
    assert set(loaded.weights) == {"weight", "bias"}
    with torch.no_grad():
        torch.testing.assert_close(loaded.twice(x), twice(x), rtol=1e-4, atol=1e-4)
    assert torch.equal(loaded.once(loaded.once(x)), loaded.twice(x))
    kernels = [name for name in container.read(path).parts if name.endswith(".cubin")]
    assert len(kernels) == len({bytes(container.read(path).parts[n]) for n in kernels})


def test_arguments_that_are_written_and_made(tmp_path):
    def step(cache, x):
        cache[:, 1] = x
        made = torch.zeros(4, device=x.device) + torch.arange(4, device=x.device)
        return cache.sum() + made, torch.full((2,), 3.0, device=x.device)

    args = torch.zeros(4, 3, device=DEVICE), torch.randn(4, device=DEVICE)
    loaded = girih.load(packaged(tmp_path / "p", step, args))
    cache, wanted = args[0].clone(), args[0].clone()
    found = loaded(cache, args[1])
    torch.testing.assert_close(found, step(wanted, args[1]))
    torch.testing.assert_close(cache, wanted)
    with pytest.raises(ValueError, match="multiple of 16 bytes"):
        loaded(torch.zeros(13, device=DEVICE)[1:].view(4, 3), args[1])
    assert torch.equal(
        loaded(cache, torch.ones(5, device=DEVICE)[1:])[0][:1],
        step(wanted, torch.ones(4, device=DEVICE))[0][:1],
    )


@pytest.mark.skipif(not HAS_CUDA, reason="has tensors of two devices")
def test_tensors_of_other_devices(tmp_path):
    x = torch.randn(8, 4, device=DEVICE)
    loaded = girih.load(packaged(tmp_path / "p", torch.relu, (x,)))
    for _ in range(2):
        assert torch.equal(loaded(x), torch.relu(x))
        with pytest.raises(TypeError, match="must be on cuda:0, got a tensor on cpu"):
            loaded(x.cpu())
    with pytest.raises(girih.UnsupportedError, match="several devices"):
        packaged(tmp_path / "q", lambda x, y: (x * 2, y * 2), (x, x.cpu()))
    with pytest.raises(ValueError, match="targets must be GPUs"):
        girih.package(torch.relu, (x,), path=tmp_path / "q", targets=("x86-64-v3",))
    with pytest.raises(ValueError, match="has no code for the device 'cpu'"):
        girih.load(tmp_path / "p", device="cpu")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        found = loaded(x)
    stream.synchronize()
    assert torch.equal(found, torch.relu(x))


@pytest.mark.skipif(not HAS_CUDA, reason="takes the capability of the card")
def test_made_from_tensors_of_the_cpu(tmp_path):
    """A machine without the card makes a file for it."""
    torch.manual_seed(0)
    make, inputs, shapes = MODELS["decoder"]
    model = make().eval().cpu()
    major, minor = torch.cuda.get_device_capability()
    name = f"cuda-sm{major}{minor}"
    path = girih.package(
        model,
        inputs(3, "cpu"),
        path=tmp_path / "p",
        dynamic_shapes=shapes,
        targets=(name,),
    )
    loaded, (ids,) = girih.load(path), inputs(7, DEVICE)
    with torch.no_grad():
        wanted = model.to(DEVICE)(ids)
    torch.testing.assert_close(loaded(ids), wanted, rtol=0.02, atol=0.02)
