"""How long results live of which others are computed, and what is left of them."""

import gc
import weakref

import pytest
import torch
from training_scenario import called

import girih


def test_an_inner_result_is_not_held():
    """Whoever keeps the loss alone has no logits in memory meanwhile."""

    def function(x, w):
        y = (x @ w).sin()
        return y, (y + x.sum()).sum()

    x, w, y, loss = called(girih.compile, function)
    expected = torch.autograd.grad(function(x, w)[1], [x, w])
    storage = weakref.ref(y.untyped_storage())
    y = weakref.ref(y)
    assert y() is None and storage() is None
    for mine, theirs in zip(torch.autograd.grad(loss, [x, w]), expected, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_a_hook_of_a_result_that_is_gone_has_no_second_order():
    seen = []
    x, w, y, loss = called(girih.compile)
    y.register_hook(seen.append)
    del y
    with pytest.raises(RuntimeError, match="Keep a reference to the tensor"):
        torch.autograd.grad(loss, [x, w], create_graph=True)
    torch.autograd.grad(loss, [x, w])
    assert len(seen) == 1


def test_a_result_does_not_hold_its_own_memory():
    x, w, y, loss = called(girih.compile)
    references = [weakref.ref(y), weakref.ref(loss.grad_fn)]
    gc.disable()
    try:
        del y, loss
        assert [reference() for reference in references] == [None, None]
    finally:
        gc.enable()
