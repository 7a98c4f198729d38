"""Whether eager takes the dtypes of a call.

Fake tensors, and girih's own rules, take some calls that kernels of ATen refuse: the
absolute value of booleans, ``1 - mask``, a float64 image with float32 statistics.
Nobody but ATen knows them all, so ATen is asked: with real tensors of these dtypes, of
a few elements. What it refuses for other reasons (a size that does not fit any more)
it refuses for common dtypes, too; that says nothing.

Where tensors are large, sizes above 1 become 2, and numbers among the arguments that
are sizes, or products of neighbouring ones, follow.

A call that is refused is asked again with common dtypes, and is the same call: a
boolean that is a number (``mask + True``) becomes 1, one that says how (``transposed``)
stays, and so do indices, whose dtype says how many elements are meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from girih.errors import unsupported

_ASKED_ON = ("cpu", "cuda")
_ON_CPU = ("cpu",)
_MOST_KNOWN = 1 << 14
_OPS_ON_BITS = ("bitwise_", "__", "gcd", "lcm")
_MOST_ELEMENTS = 1 << 12
# As schemas write the types of options and of indices. Numbers stand for tensors, too.
_OPTION = "bool"
_INDICES = "List[Optional[Tensor]]"
_known: dict[tuple, bool] = {}


class _TensorLike(NamedTuple):
    """What is asked about a tensor."""

    dtype: torch.dtype
    device: str
    shape: tuple[int, ...]


def check_dtypes(func: torch._ops.OpOverload, args: Any, kwargs: Any) -> None:
    """Refuses a call whose dtypes eager refuses.

    Args:
        func: One of ATen's.
        args: With fake tensors.
        kwargs: Likewise.

    Raises:
        UnsupportedError: Eager will raise its own error.
    """
    leaves, spec = pytree.tree_flatten((args, kwargs))
    roles = _roles(func, args, kwargs)
    dtypes = {leaf.dtype for leaf in leaves if isinstance(leaf, torch.Tensor)}
    if _is_usual(func, dtypes, leaves, roles):
        return
    smaller = _smaller_sizes(leaves)
    likes = tuple(_like(leaf, smaller) for leaf in leaves)
    devices = _ON_CPU if torch.Tag.nondeterministic_seeded in func.tags else _ASKED_ON
    if not all(_can_be_asked(leaf, devices) for leaf in likes):
        return
    key = (func, likes, tuple(map(type, likes)), str(spec))
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = _is_refused(func, likes, spec, roles)
    if _known[key]:
        names = ", ".join(sorted(str(dtype) for dtype in dtypes))
        unsupported(
            kind="operation that eager refuses",
            context=f"{func} of {names}",
            explanation="Kernels of ATen do not take these dtypes.",
        )


def _roles(func, args: Any, kwargs: Any) -> list[str]:
    """For each leaf of the arguments the type that the schema gives its argument."""
    in_order, by_name = _types(func)
    given = [*zip(in_order, args, strict=False)]
    given += [(by_name.get(name, ""), value) for name, value in kwargs.items()]
    return [role for role, value in given for _ in pytree.tree_leaves(value)]


@cache
def _types(func) -> tuple[list[str], dict[str, str]]:
    types = {argument.name: str(argument.type) for argument in func._schema.arguments}
    return list(types.values()), types


def _is_usual(func, dtypes: set[torch.dtype], leaves: list, roles: list[str]) -> bool:
    """Whether a call has one of the dtypes that all take but ops on bits."""
    if len(dtypes) != 1 or not dtypes <= {torch.float32, torch.float64}:
        return False
    is_about_bits = func.__name__.startswith(_OPS_ON_BITS)
    are_odd = map(_is_odd_number, leaves, roles)
    return not is_about_bits and not any(are_odd)


def _is_odd_number(leaf: Any, role: str) -> bool:
    return type(leaf) is complex or (type(leaf) is bool and _OPTION not in role)


def _smaller_sizes(leaves: list) -> dict[int, int] | None:
    """Sizes to ask with in place of the real ones, or None where these will do."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    shapes = [list(map(_number, tensor.shape)) for tensor in tensors]
    if sum(map(math.prod, shapes)) <= _MOST_ELEMENTS:
        return None
    smaller = {}
    for shape in shapes:
        for end in range(len(shape) + 1):
            for start in range(end - 1):
                part = shape[start:end]
                smaller[math.prod(part)] = math.prod(min(n, 2) for n in part)
    return smaller | {n: min(n, 2) for shape in shapes for n in shape}


def _number(value: Any) -> Any:
    """A number, an example of a symbolic one, or any other value as it is."""
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        hint = value.node.hint
        return 2 if hint is None else hint
    return value


def _like(leaf: Any, smaller: dict[int, int] | None) -> Any:
    if isinstance(leaf, torch.Tensor):
        sizes = map(_number, leaf.shape)
        shape = sizes if smaller is None else [min(n, 2) for n in sizes]
        return _TensorLike(leaf.dtype, leaf.device.type, tuple(shape))
    leaf = _number(leaf)
    if type(leaf) is int and smaller is not None:
        return smaller.get(leaf, leaf)
    return leaf


def _can_be_asked(leaf: Any, devices: tuple[str, ...]) -> bool:
    if isinstance(leaf, _TensorLike):
        return leaf.device in devices
    kinds = (bool, int, float, complex, str, torch.dtype, torch.device, torch.layout)
    return leaf is None or isinstance(leaf, (*kinds, torch.memory_format))


def _is_refused(func, leaves: tuple, spec, roles: list[str]) -> bool:
    """Whether these dtypes are what ATen refuses."""
    # Neither the importer nor modes and transforms of the program see these calls.
    with (
        torch._C._DisableTorchDispatch(),
        torch._C._DisableFuncTorch(),
        torch._C._DisableAutocast(),
        torch.no_grad(),
    ):
        state = torch.default_generator.get_state()
        try:
            if any(_takes(func, leaves, spec, fill) for fill in (1, 0)):
                return False
            common = _common(leaves, roles)
            return any(_takes(func, others, spec, 1) for others in common)
        finally:
            torch.default_generator.set_state(state)


def _common(leaves: tuple, roles: list[str]) -> Iterator[tuple]:
    """The same call with dtypes, and numbers, that are taken mostly everywhere."""
    float32, int64 = torch.float32, torch.int64
    numbers = tuple(
        1 if _is_odd_number(leaf, role) else leaf
        for leaf, role in zip(leaves, roles, strict=True)
    )
    for given in (leaves, numbers):
        for floats, integers in ((float32, float32), (float32, int64), (int64, int64)):
            yield tuple(
                _with_common_dtype(leaf, role, floats, integers)
                for leaf, role in zip(given, roles, strict=True)
            )


def _with_common_dtype(
    leaf: Any, role: str, floats: torch.dtype, integers: torch.dtype
) -> Any:
    if not isinstance(leaf, _TensorLike) or role == _INDICES:
        return leaf
    is_float = leaf.dtype.is_floating_point or leaf.dtype.is_complex
    return leaf._replace(dtype=floats if is_float else integers)


def _takes(func, leaves: tuple, spec, fill: int) -> bool:
    """Whether ATen takes a call with tensors that hold this number."""
    try:
        args, kwargs = pytree.tree_unflatten(
            [_real(leaf, fill) for leaf in leaves], spec
        )
        func(*args, **kwargs)
    except Exception:
        return False
    return True


def _real(leaf: Any, fill: int) -> Any:
    if not isinstance(leaf, _TensorLike):
        return leaf
    full = torch.ops.aten.full.default
    return full(leaf.shape, fill, dtype=leaf.dtype, device=torch.device(leaf.device))
