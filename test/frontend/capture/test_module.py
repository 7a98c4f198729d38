"""Compiled modules and their state."""

import pytest
import torch

import girih


class _Blocks(torch.nn.Module):
    def __init__(self, compile):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)
        self.blocks = torch.nn.ModuleList(
            compile(torch.nn.BatchNorm1d(3)) for _ in range(2)
        )


def _by_torch(module):
    return torch.compile(module, backend="eager")


def test_a_checkpoint_of_what_torch_compiled_is_loaded():
    """Its names have the prefix _orig_mod. wherever a module was compiled."""
    saved = _by_torch(_Blocks(_by_torch)).state_dict()
    assert "_orig_mod.blocks.0._orig_mod.weight" in saved
    saved = {name: value + 1 for name, value in saved.items()}
    given = dict(saved)
    own = girih.compile(_Blocks(girih.compile))
    own.load_state_dict(saved)
    assert saved == given
    for name, value in own.state_dict().items():
        there = name.replace("blocks.0.", "blocks.0._orig_mod.")
        there = there.replace("blocks.1.", "blocks.1._orig_mod.")
        assert torch.equal(value, saved[f"_orig_mod.{there}"])
    own.load_state_dict(own.state_dict())


def test_a_checkpoint_with_both_names_is_an_error():
    own = girih.compile(torch.nn.Linear(3, 3))
    both = {**own.state_dict(), "_orig_mod.bias": torch.ones(3)}
    with pytest.raises(RuntimeError, match="Unexpected key.*_orig_mod.bias"):
        own.load_state_dict(both)
    with pytest.raises(RuntimeError, match="Missing key.*bias"):
        own.load_state_dict({"_orig_mod.weight": torch.ones(3, 3)})
