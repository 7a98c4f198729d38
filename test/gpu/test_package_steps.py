"""Packages for a GPU that write their state: training steps, caches of a decoder."""

import pytest
import torch
import torch.nn.functional as F
from gpu_device import DEVICE, HAS_CUDA
from gpu_packages import Convolutions
from processes import run_python
from torch import nn
from torch.export import Dim

import girih

TARGETS = ("native",) if HAS_CUDA else ("cuda-sm90",)
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "capturable": lambda p: torch.optim.Adam(p, lr=0.01, capturable=HAS_CUDA),
}
LENGTH = Dim("length", min=2, max=16)


def trained(make):
    """A network after one step, and a function that makes a step."""
    torch.manual_seed(0)
    network = Convolutions(8).to(DEVICE).train()
    optimizer = make(network.parameters())

    @torch.enable_grad()
    def step(x, y):
        loss = F.cross_entropy(network(x), y)
        parameters = list(network.parameters())
        gradients = torch.autograd.grad(loss, parameters)
        for parameter, found in zip(parameters, gradients, strict=True):
            parameter.grad = found
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    step(*batch())
    return network, step


def batch():
    x = torch.randn(4, 3, 16, 16, device=DEVICE)
    return x, torch.randint(10, (4,), device=DEVICE)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_steps_are_eagers(tmp_path, name):
    network, step = trained(OPTIMIZERS[name])
    entries = {"step": (step, batch())}
    path = girih.package(entries, path=tmp_path / "p", targets=TARGETS)
    loaded = girih.load(path)
    for _ in range(3):
        given = batch()
        torch.testing.assert_close(
            loaded.step(*given), step(*given), rtol=1e-3, atol=1e-4
        )
    state = loaded.state_dict()
    for key, value in network.state_dict().items():
        assert state[f"network.{key}"].device.type == DEVICE.type
        torch.testing.assert_close(state[f"network.{key}"], value, rtol=2e-2, atol=2e-3)


class Generator(nn.Module):
    """A layer of a decoder with a cache that it writes."""

    def __init__(self, words=40, width=32, heads=4, length=24):
        super().__init__()
        self.heads = heads
        self.words = nn.Embedding(words, width)
        self.joint = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        shape = (1, heads, length, width // heads)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))
        self.register_buffer("filled", torch.zeros((), dtype=torch.int64))

    def _layer(self, ids, places):
        x = self.words(ids)
        q, k, v = self.joint(x).view(*x.shape[:2], 3, self.heads, -1).unbind(2)
        self.keys.index_copy_(2, places, k.transpose(1, 2))
        self.values.index_copy_(2, places, v.transpose(1, 2))
        columns = torch.arange(self.keys.shape[2], device=x.device)
        mask = columns <= places[:, None]
        made = F.scaled_dot_product_attention(
            q.transpose(1, 2), self.keys, self.values, attn_mask=mask
        )
        x = x + self.out(made.transpose(1, 2).flatten(2))
        return (x @ self.words.weight.T)[:, -1]

    def prefill(self, ids):
        self.filled.fill_(ids.shape[1])
        return self._layer(ids, torch.arange(ids.shape[1], device=ids.device))

    def decode(self, word):
        self.filled.add_(1)
        return self._layer(word, self.filled[None] - 1)


@pytest.fixture
def generator(tmp_path):
    """A decoder, and its file."""
    torch.manual_seed(0)
    model = Generator().to(DEVICE)
    ids = torch.randint(40, (1, 6), device=DEVICE)
    entries = {
        "prefill": (model.prefill, (ids,)),
        "decode": (model.decode, (ids[:, :1],)),
    }
    shapes = {"prefill": {"ids": {1: LENGTH}}}
    with torch.no_grad():
        path = girih.package(
            entries, path=tmp_path / "p", dynamic_shapes=shapes, targets=TARGETS
        )
    return model, path


def test_a_decoder_with_a_cache(generator):
    model, path = generator
    loaded, ids = girih.load(path), torch.randint(40, (1, 9), device=DEVICE)
    with torch.no_grad():
        for name, given in (("prefill", ids), *[("decode", ids[:, :1])] * 4):
            wanted = getattr(model, name)(given)
            torch.testing.assert_close(
                loaded[name](given), wanted, rtol=2e-2, atol=2e-3
            )
    state = loaded.state_dict()
    assert int(state["filled"]) == int(model.filled) == 13
    torch.testing.assert_close(state["keys"], model.keys, rtol=2e-2, atol=2e-3)


@pytest.mark.skipif(not HAS_CUDA, reason="loads kernels of Triton")
def test_state_in_a_fresh_process(generator, tmp_path):
    _, path = generator
    loaded, ids = girih.load(path), torch.randint(40, (1, 9), device=DEVICE)
    wanted = [loaded.prefill(ids), *(loaded.decode(ids[:, :1]) for _ in range(3))]
    torch.save((ids, wanted), tmp_path / "call.pt")
    program = """
        import sys
        import torch
        sys.modules |= dict.fromkeys(("mlir", "triton", "torch._dynamo"))
        import girih
        loaded = girih.load(sys.argv[1])
        ids, wanted = torch.load(sys.argv[2])
        found = [loaded.prefill(ids), *(loaded.decode(ids[:, :1]) for _ in range(3))]
        assert all(map(torch.equal, found, wanted))
        assert "girih.compiler" not in sys.modules
    """
    run_python(program, str(path), str(tmp_path / "call.pt"))
