"""Calls of packages whose operators, layers or sizes are unusual."""

import pytest
import torch
from torch.export import Dim

import girih


def packaged(path, model, *args, **options):
    girih.package(model, args, path=path / "p.girih", **options)
    return girih.load(path / "p.girih")


def test_layers_that_return_more_in_grad_mode(tmp_path):
    layer, x = torch.nn.LSTM(8, 16, batch_first=True).eval(), torch.randn(3, 7, 8)
    loaded = packaged(tmp_path, layer, x)
    with torch.no_grad():
        wanted = layer(x)[0]
    assert torch.is_grad_enabled()
    found = loaded(x)[0]
    torch.testing.assert_close(found, wanted)
    assert torch.is_grad_enabled() and not found.requires_grad


def test_functions_of_girih_that_programs_call(tmp_path):
    def f(x):
        return torch.as_strided(x, (3, 2), (1, 1)) + 1

    x = torch.randn(8)
    assert torch.equal(packaged(tmp_path, f, x)(x), f(x))


def test_sizes_need_names(tmp_path):
    def package(size):
        return packaged(
            tmp_path, lambda x: x + 1, torch.randn(4), dynamic_shapes={"x": {0: size}}
        )

    with pytest.raises(TypeError, match="a torch.export.Dim with a name"):
        package(Dim.AUTO)
    with pytest.raises(ValueError, match=r"size\(0\) must be 4"):
        package(Dim.STATIC)(torch.randn(5))
