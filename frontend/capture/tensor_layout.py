"""Where the metadata of a tensor lies in memory, tried out before it is relied on.

Guards recognise a parameter that was not changed by comparing the bytes of its
``TensorImpl`` that hold sizes, strides, dtype, device and dispatch keys (see
``_tensors.c``). girih is not built with torch's headers, so one binary serves every
torch, and what is written here about its layout is only a claim: ``is_known`` tries it
on tensors that are changed in each of these in turn. Where one change does not show, no
fingerprints are taken and every check of a tensor is torch's.

Only tensors on the CPU are recognised so. One that moved to another kind of device has
other dispatch keys; that the index of a device shows is something that a machine
without such devices can't try.

Source: c10/core/TensorImpl.h, torch/csrc/autograd/python_variable.h (torch 2.11-2.13).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import torch

from girih.frontend.capture import _frame

# Offsets: of the TensorImpl's address in the Python object; in the TensorImpl, of the
# rank, which sizes and strides follow, and of the end of the dispatch keys.
_IMPL = 16
_FIRST, _LAST = 56, 176

# Tensors of a larger rank have sizes and strides elsewhere, and no fingerprint.
_INLINE_DIMS = 5

# bool c10::TensorImpl::requires_grad() const
_REQUIRES_GRAD = "_ZNK3c1010TensorImpl13requires_gradEv"

_fingerprint = _frame.Guards.fingerprint


_known: list[bool] = []
"""What was found, once it could be tried out."""


def is_known() -> bool:
    """Whether the layout is what this file claims; lets the guards rely on it.

    While a profiler holds the tensors that it has seen, it can't be tried out.
    """
    if not _known:
        try:
            _known.append(_try_out())
        except RuntimeError:
            _frame.Guards.set_tensor_layout(0, 0, 0, 0)
            return False
    return _known[0]


def _try_out() -> bool:
    address = _address_of_requires_grad()
    if address is not None and _is_plausible():
        _frame.Guards.set_tensor_layout(_IMPL, _FIRST, _LAST, address)
        with torch.inference_mode(False), torch.no_grad():
            if _every_change_shows():
                return True
    _frame.Guards.set_tensor_layout(0, 0, 0, 0)
    return False


def _address_of_requires_grad() -> int | None:
    try:
        function = getattr(ctypes.CDLL("libc10.so"), _REQUIRES_GRAD)
    except (OSError, AttributeError):
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


def _is_plausible() -> bool:
    """Looks for the address, rank, sizes and strides of a tensor, word by word."""
    if torch.Tensor.__basicsize__ < _IMPL + 8:
        return False
    tensor = _empty(2 * 3 * 5 * 7).as_strided((2, 3, 5, 7), (1, 2, 6, 30))
    if _words(id(tensor) + _IMPL, 1) != [tensor._cdata]:
        return False
    found = _words(tensor._cdata + _FIRST, 1 + 2 * _INLINE_DIMS)
    sizes, strides = found[1 : 1 + _INLINE_DIMS], found[1 + _INLINE_DIMS :]
    shape, steps = list(tensor.shape), list(tensor.stride())
    return [found[0], sizes[:4], strides[:4]] == [4, shape, steps]


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _every_change_shows() -> bool:
    return all(
        before is not None and after is not None and before != after
        for before, after in _changes()
    )


def _changes() -> Iterator[tuple]:
    """Fingerprints of a tensor before and after one thing is changed in place.

    Two tensors would not do: bytes that nobody sets may differ between them.
    """
    tensor = torch.nn.Parameter(_empty())
    for change in (
        lambda: tensor.requires_grad_(False),
        lambda: tensor.requires_grad_(True),
        lambda: torch._C._set_neg(tensor, True),  # a dispatch key
        lambda: torch._C._set_neg(tensor, False),
        lambda: setattr(tensor, "data", _empty(dtype=torch.bfloat16)),
        lambda: setattr(tensor, "data", _empty((3, 2), dtype=torch.bfloat16)),
        lambda: setattr(tensor, "__class__", torch.Tensor),
        lambda: torch._C._swap_tensor_impl(tensor, _empty()),
    ):
        before = _fingerprint(tensor)
        change()
        yield before, _fingerprint(tensor)
    yield from _changes_of_sizes()


def _changes_of_sizes() -> Iterator[tuple]:
    """Each size and each stride, one at a time, up to the rank that is kept inline."""
    for rank in range(1, _INLINE_DIMS + 1):
        tensor = _empty(4**rank)
        sizes, strides = [2] * rank, [2**i for i in range(rank)]
        for dim in range(rank):
            for changed in (sizes, strides):
                tensor.as_strided_(sizes, strides)
                before = _fingerprint(tensor)
                changed[dim] += 1
                tensor.as_strided_(sizes, strides)
                changed[dim] -= 1
                yield before, _fingerprint(tensor)


def _empty(size=(2, 3), *, dtype=torch.float32, device="cpu") -> torch.Tensor:
    return torch.empty(size, dtype=dtype, device=device)
