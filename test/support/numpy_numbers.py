"""Calls of torch with a number of NumPy, which eager reads in ways of their own."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy
import torch

NAMES = (
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "longdouble complex64 complex128"
).split()
NUMBERS = [
    *(getattr(numpy, name)(2) for name in NAMES),
    numpy.array(2),
    numpy.array(2.0),
]
DTYPES = (
    *(torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32),
    *(torch.float64, torch.complex64),
)

_OPERATORS = (
    "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift matmul eq ne lt "
    "le gt ge iadd imul isub itruediv ipow iand getitem"
).split()

CALLS: dict[str, Callable] = {
    "torch.add": lambda x, k: torch.add(x, k),
    "torch.add, number first": lambda x, k: torch.add(k, x),
    "alpha=": lambda x, k: torch.add(x, x, alpha=k),
    "method": lambda x, k: x.mul(k),
    "where": lambda x, k: torch.where(x == x, x, k),
    "pow, number first": lambda x, k: torch.pow(k, x),
    "full": lambda x, k: torch.full((2,), k),
    "full_like": lambda x, k: torch.full_like(x, k),
    "new_full": lambda x, k: x.new_full((2,), k),
    "fill_": lambda x, k: x.clone().fill_(k),
    "masked_fill": lambda x, k: x.masked_fill(x == x, k),
    "clamp": lambda x, k: x.clamp(k, k),
    "sum, dim": lambda x, k: x.reshape(1, 1, 3).sum(k),
    "keepdim=": lambda x, k: x.sum(0, keepdim=k),
    "arange": lambda x, k: torch.arange(k),
    "zeros": lambda x, k: torch.zeros(k),
    "zeros of a list": lambda x, k: torch.zeros([k, k]),
    "reshape": lambda x, k: torch.cat([x, x]).reshape(k, 3),
    "setitem": lambda x, k: operator.setitem(y := x.clone(), 0, k) or y,
    "setitem, index": lambda x, k: operator.setitem(y := x.clone(), k, 1) or y,
    "index of a tuple": lambda x, k: x[None, k],
    "slice": lambda x, k: x[:k],
    "scalar_tensor": lambda x, k: torch.scalar_tensor(k),
    "isin": lambda x, k: torch.isin(x, k),
    "torch.tensor": lambda x, k: torch.tensor(k),
    "torch.tensor of a list": lambda x, k: torch.tensor([k, 1]),
    "torch.as_tensor": lambda x, k: torch.as_tensor(k),
    "torch.asarray": lambda x, k: torch.asarray(k),
    "new_tensor": lambda x, k: x.new_tensor(k),
    "new_tensor of a list": lambda x, k: x.new_tensor([k]),
    "new": lambda x, k: x.new(k).shape,
    "new of a list": lambda x, k: x.new([k]),
    "torch.Tensor": lambda x, k: torch.Tensor([k]),
    "result_type": lambda x, k: torch.result_type(x, k),
    "F.pad": lambda x, k: torch.nn.functional.pad(x, (k, k)),
    "F.leaky_relu": lambda x, k: torch.nn.functional.leaky_relu(x, k),
    "dropout": lambda x, k: torch.nn.functional.dropout(x, k - k),
    "Python's arithmetic": lambda x, k: x * (k * 3 + 1),
    "Python's comparison": lambda x, k: x if k > 1 else -x,
    "returned": lambda x, k: (x, k, k + 1),
}


def _forms(name: str) -> dict[str, Callable]:
    function = getattr(operator, name)
    if name[0] == "i" and name not in ("is_", "inv"):
        return {name: lambda x, k: function(x.clone(), k)}
    forms = {name: lambda x, k: function(x, k)}
    if name != "getitem":
        forms[f"{name}, number first"] = lambda x, k: function(k, x)
    return forms


for _name in _OPERATORS:
    CALLS.update(_forms(_name))


def tensor_of(dtype: torch.dtype) -> torch.Tensor:
    """Three elements of a dtype."""
    return torch.tensor([0, 1, 3]).to(dtype)


def outcome(function: Callable, *args) -> str:
    """What a call gives, or how it fails, as text: types, dtypes, values."""
    try:
        return described(function(*args))
    except Exception as error:  # noqa: BLE001  (whatever eager raises)
        return f"{type(error).__name__}: {error}"


def described(value) -> str:
    """A result as text."""
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(map(described, value))})"
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {list(value.shape)} {value.tolist()}"
    return f"{type(value).__name__} {value!r}"
