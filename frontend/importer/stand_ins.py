"""What runs in place of a node's target, where that looks for more than fakes show."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch._ops import HigherOrderOperator
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from girih.frontend.checkpoint import Checkpoint
from girih.frontend.fake.demands import Refused
from girih.frontend.fake.layout import suggested_strides
from girih.frontend.fake.recurrent import is_recurrent
from girih.frontend.importer.levels import known
from girih.frontend.importer.schema import op_info


def stand_in(target: Callable) -> Callable:
    """What importing calls for a node."""
    if getattr(target, "__module__", None) == _COMPILED_AUTOGRAD:
        return _compiled_autograd(target)
    if isinstance(target, Checkpoint):
        return _without_checkpoint
    if isinstance(target, HigherOrderOperator) and target.name() == _FUNCTIONALIZED:
        return _written_out
    if is_recurrent(target):
        return partial(_without_cudnn, target)
    return _STAND_INS.get(target, target)


def method(owner: Any, name: str) -> Callable:
    """What importing calls for a node that calls a method of a value."""
    if name == "fill_diagonal_" and isinstance(owner, torch.Tensor):
        return partial(_fill_diagonal, owner)
    return getattr(owner, name)


def _without_checkpoint(module, *args: Any) -> Any:
    """Nothing is kept where nobody asks for gradients."""
    return module(*args)


def _channel_shuffle(
    target: Callable, tensor: torch.Tensor, groups: int
) -> torch.Tensor:
    """``channel_shuffle``; the CPU's kernel keeps channels innermost, ATen's math not.

    Source: ``channel_shuffle_cpu`` in ChanelShuffle.cpp (2.13)
    """
    made = target(tensor, groups)
    is_image = tensor.device.type == "cpu" and tensor.dim() in (4, 5)
    if not is_image or suggested_strides(tensor, tuple(tensor.shape)) is None:
        return made
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return made.contiguous(memory_format=formats[tensor.dim()])


def _without_cudnn(target: Callable, *args: Any, **kwargs: Any) -> Any:
    """A recurrent layer under a transform, on a GPU as on the processor.

    What cuDNN would keep of the call is no tensor of the program.
    """
    before = torch._C._get_cudnn_enabled()
    torch._C._set_cudnn_enabled(False)  # also where nobody else may change flags
    try:
        return target(*args, **kwargs)
    finally:
        torch._C._set_cudnn_enabled(before)


def _one_hot(tensor: torch.Tensor, num_classes: int = -1) -> torch.Tensor:
    """``torch.nn.functional.one_hot``; classes are looked up, which checks them."""
    if tensor.dtype is not torch.int64:
        raise Refused("classes are not of type int64")
    if not tensor.numel() and num_classes <= 0:
        raise Refused(
            "the input is empty, so one_hot can't tell the number of classes. Give "
            "num_classes"
        )
    if num_classes == -1 or not tensor.numel():
        return F.one_hot(tensor, num_classes)
    classes = torch.arange(num_classes, device=tensor.device)
    found = classes.index_select(0, tensor.reshape(-1)).reshape(tensor.shape)
    return (found.unsqueeze(-1) == classes).to(torch.int64)


def _attention(
    query: torch.Tensor, *args: Any, scale: float | None = None, **kwargs: Any
) -> torch.Tensor:
    """``F.scaled_dot_product_attention``; the size of a head is a guard.

    The scale is a number of the program, and models have heads of one size.
    """
    depth = query.size(-1)
    if scale is None and isinstance(depth, torch.SymInt):
        scale = 1 / math.sqrt(int(depth))
    attention = F.scaled_dot_product_attention
    return attention(query, *args, scale=scale, **kwargs)


def _pad(
    target: Callable,
    input: torch.Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: Any = None,
) -> torch.Tensor:
    """``F.pad``; circular padding is read from the other side, not written there.

    ATen's own writes parts of an empty tensor, each from what it wrote before.
    """
    count = len(pad) // 2
    dims = [input.dim() - 1 - n for n in range(count)]
    is_circle = mode == "circular" and value is None and len(pad) in (2, 4, 6)
    is_circle = is_circle and input.dim() - count in (1, 2)
    if not is_circle or not any(pad) or not _wraps_once(input, dims, pad):
        return target(input, pad, mode, value)
    for dim, before, after in zip(dims, pad[::2], pad[1::2], strict=True):
        input = _wrapped(input, dim, before, after, is_read_by_index=count > 2)
    return input.contiguous()


def _wraps_once(x: torch.Tensor, dims: list[int], pad: Sequence[int]) -> bool:
    """Whether padding repeats an element at most once on a side. ATen refuses more."""
    sizes = [x.shape[dim] for dim in dims for _ in range(2)]
    return all(
        size > 0 and 0 <= width <= size for size, width in zip(sizes, pad, strict=True)
    )


def _wrapped(
    x: torch.Tensor, dim: int, before: int, after: int, *, is_read_by_index: bool
) -> torch.Tensor:
    """Circular padding along a dim.

    Of three dims a kernel would have to choose between 27 parts at each element. An
    index is faster then: 8 times for 64 x 64 x 64.
    """
    size = x.shape[dim]
    if is_read_by_index:
        places = torch.arange(size - before, 2 * size + after, device=x.device) % size
        return x.index_select(dim, places)
    starts = (size - before, before), (0, size), (0, after)
    parts = [x.narrow(dim, *part) for part in starts if part[1]]
    return torch.cat(parts, dim)


def _fill_diagonal(
    tensor: torch.Tensor, fill_value: Any, wrap: bool = False
) -> torch.Tensor:
    """``Tensor.fill_diagonal_`` by views of the tensor.

    ATen's own counts from where the tensor begins in its storage, which nobody checks.
    """
    is_cube = tensor.dim() > 2 and all(n == len(tensor) for n in tensor.shape)
    if tensor.dim() == 2 and wrap and tensor.is_contiguous():
        # It begins anew, a row below where it ended.
        tensor.view(-1)[:: int(tensor.shape[1]) + 1].fill_(fill_value)
        return tensor
    if not is_cube and (tensor.dim() != 2 or wrap):
        return tensor.fill_diagonal_(fill_value, wrap)
    diagonal = tensor
    while diagonal.dim() > 1:
        diagonal = diagonal.diagonal()
    diagonal.fill_(fill_value)
    return tensor


# Functionalized calls of operators that write their arguments ------------------------

_FUNCTIONALIZED = "auto_functionalized"


def _written_out(operator: torch._ops.OpOverload, **arguments: Any) -> tuple:
    """Such a call as its meaning: the operator writes copies, which are results."""
    copies = {
        name: pytree.tree_map_only(torch.Tensor, torch.clone, arguments[name])
        for name in op_info(operator).writes
    }
    result = operator(**arguments | copies)
    made = result if isinstance(result, tuple) else (result,)
    return (*made, *copies.values())


# Compiled autograd ------------------------------------------------------------------

_COMPILED_AUTOGRAD = "torch._dynamo.compiled_autograd.ops"


def _compiled_autograd(target: Callable) -> Callable:
    return _accumulating(target) if target.__name__ == "AccumulateGrad" else target


def _accumulating(target: Callable) -> Callable:
    """Adds to the gradient of a parameter; of one that requires none it drops it.

    What stands for a parameter requires none: torch must not record anything.
    """

    def accumulate(gradients: list, variable: torch.Tensor, *args: Any) -> list:
        with torch.no_grad():
            leaf = variable.detach().requires_grad_()
        return target(gradients, leaf, *args)

    return accumulate


# Forward mode -----------------------------------------------------------------------


def _exit_dual_level(level: int) -> None:
    forward_ad.exit_dual_level(level=level)


_SHUFFLES = (torch.channel_shuffle, torch.native_channel_shuffle)

# They tell Python, too, which level is on.
_STAND_INS: dict[Callable, Callable] = {
    **dict.fromkeys(known("_enter_dual_level"), forward_ad.enter_dual_level),
    **dict.fromkeys(known("_exit_dual_level"), _exit_dual_level),
    **{shuffle: partial(_channel_shuffle, shuffle) for shuffle in _SHUFFLES},
    F.one_hot: _one_hot,
    **{pad: partial(_pad, pad) for pad in (F.pad, torch._C._nn.pad)},
    F.scaled_dot_product_attention: _attention,
}
