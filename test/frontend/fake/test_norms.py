"""Statistics of norms have eager's dtypes, also where autocast mixes two."""

import pytest
import torch
from torch import nn

import girih
from girih.frontend.fake.mode import fake_like, make_fake_mode

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
NORMS = {
    "layer": lambda x, w, b: torch.native_layer_norm(x, (8,), w, b, 1e-5),
    "group": lambda x, w, b: torch.native_group_norm(x, w, b, 5, 8, 8, 2, 1e-5),
}


@pytest.mark.parametrize("parameters", [*DTYPES, None])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", NORMS)
def test_statistics(kind, dtype, parameters):
    x = torch.randn(5, 8, 8).to(dtype)
    w, b = (None if parameters is None else torch.randn(8).to(parameters),) * 2
    try:
        expected = NORMS[kind](x, w, b)
    except RuntimeError:
        pytest.skip("eager does not take these dtypes together")
    mode = make_fake_mode()
    fakes = [None if each is None else fake_like(mode, each) for each in (x, w, b)]
    with mode:
        found = NORMS[kind](*fakes)
    assert [each.dtype for each in found] == [each.dtype for each in expected]
    assert [each.shape for each in found] == [each.shape for each in expected]


@pytest.mark.parametrize(
    "norm", [nn.LayerNorm(8), nn.GroupNorm(2, 8), nn.BatchNorm1d(8)], ids=str
)
def test_gradients_of_a_loss_under_autocast(norm):
    model = nn.Sequential(nn.Linear(8, 8), norm, nn.Linear(8, 4))

    def gradients(x):
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(x).float().square().mean()
        return torch.autograd.grad(loss, list(model.parameters()))

    x = torch.randn(5, 8)
    found, expected = girih.compile(gradients, fullgraph=True)(x), gradients(x)
    for one, two in zip(found, expected, strict=True):
        assert one.dtype is two.dtype
        torch.testing.assert_close(one, two, rtol=0.05, atol=0.02)
