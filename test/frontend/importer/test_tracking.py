"""Tensors that an import has met, by identity."""

import gc
import weakref

import torch

from girih.frontend.importer.registry import WHOLE
from girih.frontend.importer.tracking import Cut, Table


def test_what_was_met_stays_alive():
    """Another tensor could have its identity, and would be taken for it."""
    table, owner, result = Table(), torch.ones(3), torch.ones(3)
    entry = table.add_base(owner, "value")
    table.add_view(result, entry, WHOLE, Cut(None, None))
    table.adopt(result, known=0)
    assert table.get(result) is entry and entry.tensor is result
    seen = weakref.ref(owner)
    del owner
    gc.collect()
    assert seen() is not None
