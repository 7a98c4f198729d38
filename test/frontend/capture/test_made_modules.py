"""Modules that a compiled function makes, and what is said where a rebuilding fails."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import girih
from girih.frontend.capture import capture as capturing


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.p


class ByName(nn.Module):
    def __init__(self):
        nn.Module.__init__(self)
        self.p = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x + self.p


class OfLinear(nn.Linear):
    def __init__(self):
        nn.Linear.__init__(self, 2, 2)
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)


class Holding(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = OfLinear()

    def forward(self, x):
        return self.inner(x)


class Adapter(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.ones(2, 1))

    def forward(self, x):
        return self.base(x) + x @ self.down


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("made", [Own, ByName, OfLinear, Holding])
def test_parameters_of_modules_that_are_made(made, dynamic):
    compiled = girih.compile(lambda x: made()(x), dynamic=dynamic)
    for rows in (1, 3):
        x = torch.arange(2.0 * rows).reshape(rows, 2)
        torch.testing.assert_close(compiled(x), made()(x))


def test_a_module_that_a_call_replaces():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = OfLinear()

        def forward(self, x):
            if not isinstance(self.fc, Adapter):
                self.fc = Adapter(self.fc)
            return self.fc(x)

    one, other = Net(), Net()
    compiled = girih.compile(one)
    for _ in range(3):
        x = torch.randn(3, 2)
        torch.testing.assert_close(compiled(x), other(x))
    assert [name for name, _ in one.named_parameters()] == [
        name for name, _ in other.named_parameters()
    ]
    assert not one.fc.base.weight.requires_grad


def test_a_mistake_of_girihs_own_is_told(monkeypatch):
    def fails(*args):
        raise AttributeError("planted")

    monkeypatch.setattr(capturing, "guard_written", fails)
    compiled = girih.compile(lambda x: x + 1)
    with pytest.warns(girih.FallbackWarning, match="planted"):
        assert compiled(torch.ones(1)) == 2
    with pytest.raises(girih.GirihError, match="planted"):
        girih.compile(lambda x: x + 2, fullgraph=True)(torch.ones(1))


def test_a_normalization_over_no_dims_is_eagers_error():
    for x in (torch.ones(2), torch.tensor(2.0)):
        with pytest.raises(RuntimeError, match="at least 1-dimensional"):
            girih.compile(lambda x: F.layer_norm(x, ()))(x)
