"""Where tensors are, and who has their memory: read from torch's objects, or asked."""

from __future__ import annotations

import ctypes

import pytest
import torch

from girih.codegen.runtime import _addresses, addresses


def test_the_layout_is_known():
    assert addresses.is_layout_known()


@pytest.fixture(params=["read", "asked"])
def kinds(request):
    assert addresses.is_layout_known()
    if request.param == "read":
        return _addresses.Pins, _addresses.Loans
    return addresses.AskingPins, addresses.AskingLoans


def loan_of(kind, tensor):
    storage = tensor.untyped_storage()._cdata
    return kind(((storage, addresses.own_count(1)),))


def test_pins_hold_while_tensors_stay(kinds):
    tensors = [torch.zeros(6), torch.zeros(6)[2:], torch.nn.Parameter(torch.zeros(3))]
    pins = kinds[0]((*tensors, 3), (0, 1, 2))
    assert pins.hold((*tensors, 4))
    assert pins.hold((tensors[0].detach(), tensors[1].detach(), tensors[2].data, 3))
    assert not pins.hold((tensors[0][1:], *tensors[1:], 3))
    tensors[2].data = torch.zeros(3)
    assert not pins.hold((*tensors, 3))


def test_pins_of_what_is_no_tensor():
    with pytest.raises(ValueError, match="positions of tensors"):
        _addresses.Pins((1, 2), (0,))
    pins = _addresses.Pins((torch.zeros(1),), (0,))
    assert not pins.hold(())
    assert not pins.hold((3,))
    with pytest.raises(TypeError):
        pins.hold([3])


def test_loans_are_back_when_nobody_has_the_memory(kinds):
    held = torch.zeros(6)
    loans = loan_of(kinds[1], held)
    assert loans.are_back()
    view = held[2:]
    assert not loans.are_back()
    assert loans.out() == [0]
    del view
    storage = held.untyped_storage()
    del storage
    assert loans.are_back()


def test_memory_that_was_moved_is_not_back(kinds):
    held = torch.zeros(6)
    loans = loan_of(kinds[1], held)
    held.detach().resize_(1000)
    assert not loans.are_back()


def test_saved_tensors_are_loans(kinds):
    held = torch.ones(6)
    loans = loan_of(kinds[1], held)
    weight = torch.ones(6, requires_grad=True)
    result = held.detach() * weight
    assert not loans.are_back()
    result.sum().backward()
    del result
    assert loans.are_back()


def test_spans_are_copied_from_the_first_element_on():
    copied = []
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p
    )

    @kind
    def copy(target, source, count, stream):
        copied.append((count, stream))
        ctypes.memmove(target, source, count)
        return 0

    sources = [torch.arange(8.0)[2:], torch.arange(6.0).view(2, 3).t(), torch.zeros(0)]
    targets = [torch.zeros(6), torch.zeros(3, 2), torch.zeros(0)]
    address = ctypes.cast(copy, ctypes.c_void_p).value
    spans = _addresses.Spans(((24, 4), (24, 4), (0, 4)))
    spans.copy(address, 7, targets, sources)
    assert targets[0].tolist() == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert targets[1].view(-1).tolist() == list(range(6))
    assert copied == [(24, 7), (24, 7)]
    with pytest.raises(ValueError, match="a tensor for each span"):
        spans.copy(address, 7, targets[:1], sources)


def test_a_copy_that_fails():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_size_t] * 4)
    copy = kind(lambda *arguments: 700)
    address = ctypes.cast(copy, ctypes.c_void_p).value
    spans = _addresses.Spans(((4, 4),))
    with pytest.raises(RuntimeError, match="error 700"):
        spans.copy(address, 0, [torch.zeros(1)], [torch.zeros(1)])
