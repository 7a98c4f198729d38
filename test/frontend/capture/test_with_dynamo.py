"""Capture in a process in which TorchDynamo is loaded: it changes torch.nn.Module."""

from processes import COMPILERS, run_after_torch

_PROGRAM = """
import torch
import girih


def loss_of(x, target):
    return torch.nn.CrossEntropyLoss()(x, target)


torch.compile(torch.nn.Linear(3, 3), backend="eager")(torch.randn(2, 3))
x, target = torch.randn(4, 5), torch.tensor([0, 1, 2, 3])
compiled = girih.compile(loss_of, fullgraph=True, backend="eager")
assert "patched_init" in torch.nn.Module.__init__.__qualname__
torch.testing.assert_close(compiled(x, target), loss_of(x, target))
"""


def test_modules_are_made_while_tracing():
    run_after_torch(_PROGRAM, loaded=COMPILERS)
