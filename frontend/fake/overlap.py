"""Whether eager refuses a write because its operands overlap in memory.

Most kernels of ATen look whether what they write lies in part where they read: they
would read what they have written already. They look at dense tensors only, so whether
two overlap in part is a comparison of ranges; whether a kernel minds, it is asked, with
tensors that lie as these do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

_MOST_ELEMENTS = 1 << 20
_UNASKED = (
    "unsupported operation: some elements of the input tensor and the written-to "
    "tensor refer to a single memory location. Please clone() the tensor before "
    "performing the operation."
)


class _Place(NamedTuple):
    """Where a tensor lies: the first element and the one after the last."""

    first: Any
    end: Any


def overlaps_in_part(func: torch._ops.OpOverload, args: Any, kwargs: Any) -> bool:
    """Whether a call writes a tensor that lies in part where another operand does.

    Args:
        func: One of ATen's.
        args: With fake tensors. Comparisons of symbolic sizes become guards.
        kwargs: Likewise.
    """
    tensors = _tensors((args, kwargs))
    if len(tensors) < 2:
        return False
    written = _written(func, args, kwargs)
    return any(
        _overlap_in_part(target, other) for target in written for other in tensors
    )


def _tensors(value: Any) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves(value)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _written(func: torch._ops.OpOverload, args: Any, kwargs: Any) -> list[torch.Tensor]:
    parameters = func._schema.arguments
    given = [*zip(parameters, args, strict=False)]
    given += [(p, kwargs[p.name]) for p in parameters if p.name in kwargs]
    return _tensors([value for p, value in given if p.is_write])


def _overlap_in_part(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one is other or one.layout is not torch.strided is not other.layout:
        return False
    if one.untyped_storage()._cdata != other.untyped_storage()._cdata:
        return False
    if 0 in one.shape or 0 in other.shape or one.dtype != other.dtype:
        return False
    if not (_is_dense(one) and _is_dense(other)):
        return False  # kernels find that too hard to tell
    here, there = _place(one), _place(other)
    if here == there:
        return one.stride() != other.stride()
    return bool(here.first < there.end) and bool(there.first < here.end)


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether elements lie side by side, in whatever order of dims."""
    expected: Any = 1
    dims = [n for n, size in enumerate(tensor.shape) if size != 1]
    for dim in sorted(dims, key=lambda n: _number(tensor.stride(n))):
        if tensor.stride(dim) != expected:
            return False
        expected = expected * tensor.shape[dim]
    return True


def _place(tensor: torch.Tensor) -> _Place:
    first = tensor.storage_offset()
    return _Place(first, first + tensor.numel())


def _number(value: Any) -> int:
    """An int, or what a symbolic one is now."""
    return value if isinstance(value, int) else value.node.hint


def refused_in_place(
    func: torch._ops.OpOverload, args: Any, kwargs: Any, asking: Callable
) -> Exception | None:
    """The error of eager for a call whose operands overlap in part.

    Args:
        func: The operation.
        args: With fake tensors.
        kwargs: Likewise.
        asking: A context in which calls are of real tensors.
    """
    leaves, spec = pytree.tree_flatten((args, kwargs))
    if sum(map(_extent, _tensors(leaves))) > _MOST_ELEMENTS:
        return RuntimeError(_UNASKED)  # too large to ask; eager decides
    with asking():
        state = torch.default_generator.get_state()
        try:
            given, named = pytree.tree_unflatten(list(_real(leaves)), spec)
            func(*given, **named)
        except RuntimeError as error:
            is_this = "single memory location" in str(error)
            return error if is_this else None
        except Exception:
            return None
        finally:
            torch.default_generator.set_state(state)
    return None


def _extent(tensor: torch.Tensor) -> int:
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    steps = sum((_number(size) - 1) * _number(stride) for size, stride in pairs)
    return _number(tensor.storage_offset()) + steps + 1


def _real(leaves: list) -> Iterator[Any]:
    """The leaves with real tensors, which share memory as the fake ones do."""
    memory: dict[int, int] = {}
    for tensor in _tensors(leaves):
        key = tensor.untyped_storage()._cdata
        memory[key] = max(memory.get(key, 1), _extent(tensor))
    made: dict[tuple, torch.Tensor] = {}
    ones = torch.ops.aten.ones.default
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            key, dtype = leaf.untyped_storage()._cdata, leaf.dtype
            if (key, dtype) not in made:
                made[key, dtype] = ones([memory[key]], dtype=dtype)
            numbers = [
                list(map(_number, leaf.shape)),
                list(map(_number, leaf.stride())),
            ]
            offset = _number(leaf.storage_offset())
            yield made[key, dtype].as_strided(*numbers, offset)
        else:
            is_symbolic = isinstance(leaf, (torch.SymInt, torch.SymFloat))
            yield leaf.node.hint if is_symbolic else leaf
