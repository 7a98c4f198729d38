"""Operations on lists of tensors (``_foreach_add``), as one call for each tensor.

ATen defines each of them by a call of another operation on every tensor of its lists.
Here that call is spelled out, for shape rules and for import rules.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from girih.frontend.fake.rules import RULES, Result

_PREFIX = "_foreach_"
_OVERLOADS = {"Scalar": "Scalar", "ScalarList": "Scalar", "List": "Tensor"}
_ARITHMETIC = {**_OVERLOADS, "Tensor": "Tensor"}
_SUFFIXED = ("add", "sub", "mul", "div", "lerp")

# Where the name of the operation on one tensor follows from no rule.
_NAMES = {
    "clamp_max.List": "clamp_max.Tensor",
    "clamp_min.List": "clamp_min.Tensor",
    "maximum.Scalar": "clamp_min",
    "maximum.ScalarList": "clamp_min",
    "minimum.Scalar": "clamp_max",
    "minimum.ScalarList": "clamp_max",
    "norm.Scalar": "linalg_vector_norm",
    "pow.List": "pow.Tensor_Tensor",
    "pow.Scalar": "pow.Tensor_Scalar",
    "pow.ScalarList": "pow.Tensor_Scalar",
    "pow.ScalarAndTensor": "pow.Scalar",
}


class Call(NamedTuple):
    """The call for one tensor.

    Attributes:
        name: The overload, named ``add.Tensor``.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
    """

    name: str
    args: tuple
    kwargs: dict


def is_foreach(name: str) -> bool:
    """Whether an overload is an operation on lists that gives new tensors."""
    return name.startswith(_PREFIX) and not name.partition(".")[0].endswith("_")


def overloads() -> Iterator[str]:
    """ATen's operations on lists that give new tensors, named ``_foreach_add.List``."""
    for name in torch._C._dispatch_get_all_op_names():
        name = name.removeprefix("aten::")
        if is_foreach(name) and not name.endswith("out"):
            yield name


def takes_numbers(name: str) -> bool:
    """Whether an overload takes a vector of numbers, wherever the other tensors are.

    It is called ``scalars``, or the fourth argument.
    """
    return name.startswith(f"{_PREFIX}addc") and name.endswith(".Tensor")


def calls(name: str, args: Any, kwargs: dict) -> Iterator[Call]:
    """The calls that one on lists stands for, in order.

    Args:
        name: The overload, named ``_foreach_add.List``.
        args: Its positional arguments; tensors may be anything that stands for them.
        kwargs: Its keyword arguments.
    """
    single, lists = _plan(name)
    given = dict(enumerate(args)) | kwargs
    count = next(len(given[key]) for key in given if key in lists)
    for index in range(count):
        chosen = {k: v[index] if k in lists else v for k, v in given.items()}
        yield _call(single, chosen)


def _call(name: str, given: dict) -> Call:
    args = tuple(given.pop(key) for key in list(given) if isinstance(key, int))
    if name == "linalg_vector_norm":  # its dims and keepdim stand before the dtype
        order = args[1:2] or (given.pop("ord", 2),)
        args = (args[0], *order, None, False)
    if name in ("addcdiv", "addcmul"):
        *tensors, value = args if len(args) == 4 else (*args, None)
        args = tuple(tensors)
        values = [given.pop(key) for key in ("value", "scalars") if key in given]
        given["value"] = next(iter(values), 1 if value is None else value)
    return Call(name, args, given)


@functools.cache
def _plan(name: str) -> tuple[str, frozenset]:
    """The operation on one tensor, and which arguments are lists, by place and name."""
    base, _, overload = name.removeprefix(_PREFIX).partition(".")
    packet = getattr(torch.ops.aten, _PREFIX + base)
    schema = getattr(packet, overload or "default")._schema
    lists: set = set()
    for place, argument in enumerate(schema.arguments):
        if str(argument.type).startswith("List"):
            lists |= {place, argument.name}
    return _single(base, overload), frozenset(lists)


def _single(base: str, overload: str) -> str:
    known = _NAMES.get(f"{base}.{overload}")
    if known is not None:
        return known
    return f"{base}.{_ARITHMETIC[overload]}" if base in _SUFFIXED else base


def shapes_of(name: str):
    """The shape rule of an operation on lists, by the rules for one tensor."""

    def rule(*args, **kwargs):
        results = []
        for call in calls(name, args, kwargs):
            kernel = RULES.get(call.name)
            made = (
                NotImplemented if kernel is None else kernel(*call.args, **call.kwargs)
            )
            if not isinstance(made, Result):
                return NotImplemented
            results.append(made)
        return tuple(results)

    return rule
