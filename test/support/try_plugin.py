"""What the example plugin adds, against PyTorch; run where the plugin is installed.

Nothing here imports the plugin before girih has: it is found by its entry point.
"""

from __future__ import annotations

import contextlib
import sys

import torch
from emulated_device import emulated_device
from extent import spread

import girih

F = torch.nn.functional
ON = {"cpu": contextlib.nullcontext, "gpu": emulated_device}


def ours():
    """The torch operators, which exist once the plugin is loaded."""
    return torch.ops.example


def softclip(x, limit):
    return limit * torch.tanh(x / limit)


# Each program beside the same in plain PyTorch. All are fused with neighbours.
PROGRAMS = {
    "primitive": (
        lambda x: (ours().softclip(x.sin(), 2.0) + 1) * x,
        lambda x: (softclip(x.sin(), 2.0) + 1) * x,
    ),
    "composite": (
        lambda x: ours().gated(x, x.cos(), 1.5).exp(),
        lambda x: (softclip(x, 1.5) * x.cos().sigmoid()).exp(),
    ),
    "broadcast": (
        lambda x: ours().gated(x, x[0].cos(), 1.5).exp(),
        lambda x: (softclip(x, 1.5) * x[0].cos().sigmoid()).exp(),
    ),
    "library": (
        lambda x: ours().running_sum(x * 2, -1).tanh(),
        lambda x: (x * 2).cumsum(-1).tanh(),
    ),
    "dialect": (
        lambda x: ours().polynomial(x.tanh(), [1, -2, 0, 3]) * 2,
        lambda x: (1 - 2 * x.tanh() + 3 * x.tanh() ** 3) * 2,
    ),
    "fused": (
        lambda x: ours().softclip(x.t() @ x, 3.0) + 1,
        lambda x: softclip(x.t() @ x, 3.0) + 1,
    ),
}


def values(function, x):
    """The result, its gradient, and the gradient of a function of that."""
    x = x.clone().requires_grad_()
    y = function(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first**2).sum(), x)
    return y, first, second


def try_all() -> None:
    """Compares all programs, on both targets, with sizes that are known and not."""
    for name, target, dynamic in spread(PROGRAMS, ON, (None, True), every=2):
        mine, plain = PROGRAMS[name]
        with ON[target]():
            girih.reset()
            options = {"fallback": False}
            compiled = girih.compile(mine, dynamic=dynamic, options=options)
            for rows in (5, 6, 7):
                x = torch.randn(rows, 4)
                found, expected = values(compiled, x), values(plain, x)
                torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
                with torch.no_grad():
                    torch.testing.assert_close(compiled(x), plain(x))
            report = girih.report(compiled)
            assert not report.fallbacks, report
            check(name, report)


def check(name: str, report) -> None:
    """A forward program is one kernel, beside the call of a library op."""
    first = report.graphs[0]
    calls = {"library": 1, "fused": 1}.get(name, 0)
    assert first.externs == calls, (name, report)
    if name in ("primitive", "composite", "dialect"):
        assert first.kernels == 1, (name, report)


def main() -> None:
    assert "girih_example" not in sys.modules
    girih.compile(lambda x: x)  # loads what is installed
    assert "girih_example" in sys.modules
    try_all()
    x = torch.randn(99)
    passes = {"before:decompose": "fast-gelu{min-elements=64}"}
    compiled = girih.compile(F.gelu, options={"passes": passes, "fallback": False})
    torch.testing.assert_close(compiled(x), F.gelu(x, approximate="tanh"))
    torch.testing.assert_close(compiled(x[:9]), F.gelu(x[:9]))
    print("as in PyTorch")


if __name__ == "__main__":
    main()
