"""Whether eager takes a call, but for its sizes.

Fake tensors, and girih's own rules, take some calls that kernels of ATen refuse: the
absolute value of booleans, ``1 - mask``, a float64 image with float32 statistics, a
write of elements that are one in memory. Nobody but ATen knows them all, so ATen is
asked: with real tensors of these dtypes, of a few elements. What it refuses for other
reasons (a size that does not fit any more) it refuses for common dtypes, too; that says
nothing.

Numbers are asked about as well: eager refuses those that the dtype can't hold. What
holds one number holds all up to the next end of a type, so one is asked for each such
range; a symbolic number is guarded to stay in its range.

Where tensors are large, sizes above 1 become 2, and numbers among the arguments that
are sizes, or products of neighbouring ones, follow.

On a GPU a kernel that is given a bad index stops the device for good, so integers are 0
there, which every tensor with an element has. Where one is empty, or numbers mean more
than that (the pivots of a factorisation), nothing is asked.

A call that is refused is asked again with common dtypes, and is the same call: a
boolean that is a number (``mask + True``) becomes 1, one that says how (``transposed``)
stays, and so do indices, whose dtype says how many elements are meant.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from girih.frontend.fake.overlap import overlaps_in_part, refused_in_place

_ASKED_ON = ("cpu", "cuda")
_ON_CPU = ("cpu",)
_MOST_KNOWN = 1 << 14
_OPS_ON_OTHERS = (
    "__",
    "bitwise_",
    "embedding",
    "gather",
    "gcd",
    "index",
    "lcm",
    "masked_",
    "scatter",
    "take",
)
# Integers that are 0 are no pivots, and what is asserted must be true.
_NOT_ON_DEVICES = ("_assert", "_linalg_", "ldl_", "linalg_", "lu_", "ormqr")
_MOST_ELEMENTS = 1 << 12
# As schemas write the types of options and of indices. Numbers stand for tensors, too.
_OPTION = "bool"
_SIZES = "List[int]"
_SYMBOLS = (torch.SymInt, torch.SymFloat)
_COMMON = {torch.float32, torch.float64}
_INDICES = "List[Optional[Tensor]]"
# Made of a number and sizes alone.
_MADE_OF_A_NUMBER = ("full.", "scalar_tensor.")
# Where the numbers of some type end; finite ones beyond the last are only integers.
_ENDS = sorted(
    end
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64)
    for end in (torch.finfo(dtype).max,)
) + [
    end
    for bits in (8, 16, 32, 64)
    for end in (2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1)
]
_ENDS.sort()
_FLOATS_END = bisect_left(_ENDS, 2**63)
_taken: set[tuple] = set()
_known: dict[tuple, tuple[type[Exception], tuple] | None] = {}


class _TensorLike(NamedTuple):
    """What is asked about a tensor.

    Attributes:
        dtype: Of the tensor.
        device: The type of its device.
        shape: Sizes to ask with.
        repeated: Dims whose elements are one in memory.
        twin: Place of the same tensor further in front, or None.
    """

    dtype: torch.dtype
    device: str
    shape: tuple[int, ...]
    repeated: tuple[int, ...] = ()
    twin: int | None = None


@contextmanager
def asking_kernels() -> Iterator[None]:
    """Calls in here are of real tensors, and run as they stand.

    Neither the importer nor modes and transforms of the program see them.
    """
    with (
        torch._C._DisableTorchDispatch(),
        torch._C._DisableFuncTorch(),
        torch._C._DisableAutocast(),
        torch.no_grad(),
    ):
        yield


def refusal_of(func: torch._ops.OpOverload, args: Any, kwargs: Any) -> Exception | None:
    """The error with which eager refuses a call; None where it takes it.

    Args:
        func: One of ATen's.
        args: With fake tensors.
        kwargs: Likewise.
    """
    if any(isinstance(value, _SYMBOLS) for value in (*args, *kwargs.values())):
        _keep_in_range(func, args, kwargs)
    if func._schema.is_mutable and overlaps_in_part(func, args, kwargs):
        error = refused_in_place(func, args, kwargs, asking_kernels)
        if error is not None:
            return error
    if func._schema.is_mutable and _has_twins(args):
        return _refusal_of(func, args, kwargs)
    outline = (func, *_outlines(args), *kwargs, *_outlines(kwargs.values()))
    if outline in _taken:
        return None
    error = _refusal_of(func, args, kwargs)
    if error is None:
        if len(_taken) >= _MOST_KNOWN:
            _taken.clear()
        _taken.add(outline)
    return error


def _has_twins(args: Iterable) -> bool:
    """Whether a tensor is given twice."""
    names = [id(value) for value in args if isinstance(value, torch.Tensor)]
    return len(set(names)) < len(names)


def _outlines(values: Iterable) -> Iterator[Any]:
    """What of arguments decides as a rule whether their dtypes are taken."""
    for value in values:
        if isinstance(value, torch.Tensor):
            # What repeats elements may not be written.
            repeated = _repeated_dims(value)
            yield value.dtype, value.dim() == 0, value.device.type, repeated
        elif isinstance(value, (tuple, list)):
            yield from _outlines(value)
        elif isinstance(value := _number(value), (int, float)):
            yield type(value), value < 0, value == 0, _range(value)
        else:
            yield value if isinstance(value, (str, torch.dtype)) else type(value)


def _range(number: float) -> int:
    """Which types hold a number: the place of the end that it does not pass."""
    if isinstance(number, float) and not math.isfinite(number):
        return -1
    return bisect_left(_ENDS, abs(number))


def _is_about_numbers(role: str) -> bool:
    """Whether an argument is a number, and no size or place."""
    return "number" in role or "float" in role


def _keep_in_range(func: torch._ops.OpOverload, args: Any, kwargs: Any) -> None:
    """Guards that symbolic numbers fit into the types into which they fit now."""
    leaves = pytree.tree_leaves((args, kwargs))
    kinds = {leaf.dtype for leaf in leaves if isinstance(leaf, torch.Tensor)}
    kinds |= {leaf for leaf in leaves if isinstance(leaf, torch.dtype)}
    if kinds - {torch.bool} <= _COMMON:  # they hold nearly all numbers
        return
    for leaf, role in zip(leaves, _roles(func, args, kwargs), strict=True):
        if isinstance(leaf, _SYMBOLS) and _is_about_numbers(role):
            hint = leaf.node.hint
            if hint is None or _range(hint) in (-1, len(_ENDS)):
                continue
            end = _ENDS[_range(hint)]
            bool(leaf <= end)
            bool(leaf >= -end)


def _refusal_of(
    func: torch._ops.OpOverload, args: Any, kwargs: Any
) -> Exception | None:
    leaves, spec = pytree.tree_flatten((args, kwargs))
    roles = _roles(func, args, kwargs)
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if not tensors:
        if not func.__name__.startswith(_MADE_OF_A_NUMBER):
            return None
        sizes = zip(leaves, roles, strict=True)
        leaves = [min(_number(n), 2) if role == _SIZES else n for n, role in sizes]
    elif _is_usual(func, tensors, leaves, roles):
        return None
    smaller = _smaller_sizes(leaves)
    places: dict[int, int] = {}
    likes = tuple(
        _like(leaf, smaller, places.setdefault(id(leaf), place), place)
        for place, leaf in enumerate(leaves)
    )
    devices = _ON_CPU if torch.Tag.nondeterministic_seeded in func.tags else _ASKED_ON
    if not all(_can_be_asked(leaf, devices) for leaf in likes):
        return None
    if any(map(_is_on_device, likes)) and not _is_harmless(func, likes):
        return None
    key = (func, likes, tuple(map(type, likes)), str(spec))
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = _refusal(func, likes, spec, roles)
    known = _known[key]
    return None if known is None else known[0](*known[1])


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


def _is_usual(func, tensors: list, leaves: list, roles: list[str]) -> bool:
    """Whether a call has one of the dtypes that all take but ops on bits and masks."""
    dtypes = {tensor.dtype for tensor in tensors}
    dtypes |= {leaf for leaf in leaves if isinstance(leaf, torch.dtype)}
    if len(dtypes) != 1 or not dtypes <= _COMMON:
        return False
    if func._schema.is_mutable:
        is_apart = len(set(map(id, tensors))) == len(tensors)
        if not is_apart or any(map(_repeated_dims, tensors)):
            return False
    is_about_others = func.__name__.startswith(_OPS_ON_OTHERS)
    are_odd = map(_is_odd_number, map(_number, leaves), roles)
    has_words = any(type(leaf) is str for leaf in leaves)
    return not is_about_others and not any(are_odd) and not has_words


def _is_odd_number(leaf: Any, role: str) -> bool:
    if type(leaf) in (int, float):
        return _range(leaf) >= _FLOATS_END and _is_about_numbers(role)
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
    if isinstance(value, _SYMBOLS):
        hint = value.node.hint
        return 2 if hint is None else hint
    return value


def _like(leaf: Any, smaller: dict[int, int] | None, first: int, place: int) -> Any:
    if isinstance(leaf, torch.Tensor):
        sizes = map(_number, leaf.shape)
        shape = sizes if smaller is None else [min(n, 2) for n in sizes]
        repeated, twin = _repeated_dims(leaf), None if first == place else first
        return _TensorLike(leaf.dtype, leaf.device.type, tuple(shape), repeated, twin)
    leaf = _number(leaf)
    if type(leaf) is int and smaller is not None:
        return smaller.get(leaf, leaf)
    return leaf


def _repeated_dims(tensor: torch.Tensor) -> tuple[int, ...]:
    """The dims of a tensor along which it stays where it is."""
    if tensor.layout is not torch.strided:
        return ()
    strides = enumerate(tensor.stride())
    return tuple(n for n, stride in strides if type(stride) is int and stride == 0)


def _can_be_asked(leaf: Any, devices: tuple[str, ...]) -> bool:
    if isinstance(leaf, _TensorLike):
        return leaf.device in devices
    kinds = (bool, int, float, complex, str, torch.dtype, torch.device, torch.layout)
    return leaf is None or isinstance(leaf, (*kinds, torch.memory_format))


def _is_on_device(leaf: Any) -> bool:
    return isinstance(leaf, _TensorLike) and leaf.device != "cpu"


def _holds_integers(leaf: _TensorLike) -> bool:
    return not (leaf.dtype.is_floating_point or leaf.dtype.is_complex)


def _is_harmless(func, leaves: tuple) -> bool:
    """Whether integers that are 0 can't make a kernel of a device fail."""
    if func.__name__.startswith(_NOT_ON_DEVICES):
        return False
    likes = [leaf for leaf in leaves if isinstance(leaf, _TensorLike)]
    has_indices = any(map(_holds_integers, likes))
    return not (has_indices and any(0 in like.shape for like in likes))


def _refusal(
    func, leaves: tuple, spec, roles: list[str]
) -> tuple[type[Exception], tuple] | None:
    """What ATen raises for these dtypes, if they are what it refuses."""
    with asking_kernels():
        state = torch.default_generator.get_state()
        try:
            error = _raised(func, leaves, spec, 1)
            if error is None or _raised(func, leaves, spec, 0) is None:
                return None
            plain = tuple(_with_usual_word(func, leaf) for leaf in leaves)
            if plain != leaves and _raised(func, plain, spec, 1) is None:
                return type(error), error.args
            common = _common(leaves, roles)
            if all(_raised(func, others, spec, 1) for others in common):
                return None
            return type(error), error.args
        finally:
            torch.default_generator.set_state(state)


def _with_usual_word(func: torch._ops.OpOverload, leaf: Any) -> Any:
    """A leaf; in place of a word (``approximate``) the one that is the default."""
    if type(leaf) is not str:
        return leaf
    for argument in func._schema.arguments:
        if "str" in str(argument.type):
            is_optional = str(argument.type).startswith("Optional")
            if is_optional or argument.has_default_value():
                return argument.default_value
    return leaf


def _common(leaves: tuple, roles: list[str]) -> Iterator[tuple]:
    """The same call with dtypes, and numbers, that are taken mostly everywhere."""
    float32, int64 = torch.float32, torch.int64
    numbers = tuple(
        1 if _is_odd_number(leaf, role) or _is_large(leaf, role) else leaf
        for leaf, role in zip(leaves, roles, strict=True)
    )
    for given in (leaves, numbers):
        for floats, integers in ((float32, float32), (float32, int64), (int64, int64)):
            yield tuple(
                _with_common_dtype(leaf, role, floats, integers)
                for leaf, role in zip(given, roles, strict=True)
            )
    tensors = [n for n, x in enumerate(numbers) if isinstance(x, _TensorLike)]
    if not tensors:
        return
    kinds = dict.fromkeys(tensors, torch.bool) | {tensors[0]: float32}  # masks
    yield tuple(
        _with_common_dtype(leaf, role, kinds.get(n), kinds.get(n))
        for n, (leaf, role) in enumerate(zip(numbers, roles, strict=True))
    )


def _is_large(leaf: Any, role: str) -> bool:
    """Whether small types can't hold a number."""
    is_number = type(leaf) in (int, float) and _is_about_numbers(role)
    return is_number and _range(leaf) != _range(1)


def _with_common_dtype(
    leaf: Any, role: str, floats: torch.dtype, integers: torch.dtype
) -> Any:
    if not isinstance(leaf, _TensorLike):
        return floats if isinstance(leaf, torch.dtype) and floats else leaf
    leaf = leaf._replace(repeated=(), twin=None)
    if role == _INDICES:
        return leaf
    return leaf._replace(dtype=integers if _holds_integers(leaf) else floats)


def _raised(func, leaves: tuple, spec, fill: int) -> Exception | None:
    """What ATen raises for a call with tensors that hold this number."""
    try:
        values: list[Any] = []
        for leaf in leaves:
            twin = getattr(leaf, "twin", None)
            values.append(_real(leaf, fill) if twin is None else values[twin])
        args, kwargs = pytree.tree_unflatten(values, spec)
        func(*args, **kwargs)
    except Exception as error:
        return error
    return None


def _real(leaf: Any, fill: int) -> Any:
    if not isinstance(leaf, _TensorLike):
        return leaf
    if _is_on_device(leaf) and _holds_integers(leaf):
        fill = 0
    shape = [1 if n in leaf.repeated else size for n, size in enumerate(leaf.shape)]
    made = _full(shape, fill, leaf.dtype, leaf.device)
    return made.expand(leaf.shape) if leaf.repeated else made


def _full(shape: list[int], fill: int, dtype: torch.dtype, device: str) -> torch.Tensor:
    full = torch.ops.aten.full.default
    return full(shape, fill, dtype=dtype, device=torch.device(device))
