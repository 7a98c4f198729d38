"""Tensors whose values are the conjugates, or the negatives, of what memory holds.

Eager marks such a tensor by a bit (``x.conj()``, ``x.conj().imag``) and computes when
it is read. [Note: lazy bits] In a graph the value of a tensor is what it shows, so a
bit is nothing but a view. Arguments and results of a program are tensors without bits:
whoever calls it takes the bits away from arguments, and gives them to results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from girih.frontend.fake import python_dispatcher

if TYPE_CHECKING:
    from girih.frontend.importer.recorder import Recorder


class Bits(NamedTuple):
    """Which bits a tensor has.

    Attributes:
        is_conjugate: Its values are the conjugates of what its memory holds.
        is_negative: They are the negatives of that.
        is_recorded: Whether autograd knows how the tensor was made of its memory; see
            ``leaves.py``.
    """

    is_conjugate: bool = False
    is_negative: bool = False
    is_recorded: bool = True

    def toggled(self, tensor: torch.Tensor) -> torch.Tensor:
        """A view of a tensor in which these bits are the other way around."""
        with torch.set_grad_enabled(self.is_recorded and torch.is_grad_enabled()):
            tensor = torch._conj(tensor) if self.is_conjugate else tensor
            return torch._neg_view(tensor) if self.is_negative else tensor


NONE = Bits()


def bits_of(tensor: torch.Tensor) -> Bits:
    """The bits of a tensor."""
    return Bits(tensor.is_conj(), tensor.is_neg())


def recorded_with(recorder: Recorder, tensor: torch.Tensor, bits: Bits) -> torch.Tensor:
    """A view with these bits the other way around, recorded outside of the program."""
    mode, derivatives = recorder.fake_mode, recorder.derivatives
    is_derived = derivatives is not None
    with torch.set_grad_enabled(is_derived), python_dispatcher(mode), mode, recorder:
        view = bits.toggled(tensor)
    if is_derived:
        derivatives.liken(view, tensor)
    return view
