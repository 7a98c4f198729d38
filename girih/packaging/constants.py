"""Constants of instructions as JSON: sizes, dtypes, functions by their names.

Nothing that is read can be code: a function is one of a few of girih's run time, or an
operator of torch, which is looked up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from girih.codegen.runtime import folding, torch_entry, windows, writing_calls
from girih.codegen.runtime.event import Event

_OPERATORS = (folding.NAME, windows.COPY, windows.SCATTER)
assert {*_OPERATORS} <= torch_entry.OWN.keys() and writing_calls

ENTRIES = (
    "aligned_copy",
    "as_strided",
    "copy_",
    "data_ptr",
    "empty_strided",
    "flatten_tensors",
    "increment_version",
    "item",
    "reinterpret",
    "restride",
    "size",
    "storage_offset",
    "stride",
    "tensor_of_number",
    "without_autocast",
)
"""Functions of ``torch_entry`` that instructions call."""

_OF_TORCH = (torch.dtype, torch.layout, torch.memory_format)


class UnknownConstant(Exception):
    """A constant that no package can hold."""


class NoOperator(Exception):
    """torch has no operator of a name; the message says what to do."""


def encode(value: Any, operators: Mapping[Callable, str]) -> Any:
    """A constant as JSON.

    Args:
        value: The constant.
        operators: The name of each operator that the program calls.

    Raises:
        UnknownConstant: There is no way to write it.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return {"float": value.hex() if math.isfinite(value) else repr(value)}
    if type(value) is complex:
        return {"complex": [encode(x, operators) for x in (value.real, value.imag)]}
    if type(value) is Event:
        return {"event": [encode(x, operators) for x in value[:-1]]}
    if type(value) in (tuple, list):
        return {type(value).__name__: [encode(item, operators) for item in value]}
    if isinstance(value, torch.Size):
        return {"tuple": list(value)}
    if isinstance(value, _OF_TORCH):
        return {"torch": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if made := getattr(value, "girih_made", None):
        return {"made": [made[0], encode(made[1], operators)]}
    for name in ENTRIES:
        if value is getattr(torch_entry, name):
            return {"entry": name}
    try:
        return {"operator": operators[value]}
    except (KeyError, TypeError):
        raise UnknownConstant(repr(value)) from None


def decode(written: Any) -> Any:
    """The constant that ``encode`` wrote.

    Raises:
        LookupError: torch has no such operator.
        ValueError: It is no constant.
    """
    if written is None or type(written) in (bool, int, str):
        return written
    if type(written) is not dict or len(written) != 1:
        raise ValueError(f"no constant: {written!r}")
    ((kind, value),) = written.items()
    if kind not in _DECODERS:
        raise ValueError(f"no kind of constant: {kind!r}")
    return _DECODERS[kind](value)


def decode_known(written: Any) -> Any:
    """As ``decode``, for constants of a program.

    Raises:
        NoOperator: torch has no such operator.
        ValueError: It is no constant.
    """
    try:
        return decode(written)
    except LookupError as error:
        what = f"calls an operator that is not there: {error.args[0]}"
        hint = "Import the library that registers it before girih.load."
        raise NoOperator(f"{what}. {hint}") from error


def _float(text: str) -> float:
    return float(text) if text in ("inf", "-inf", "nan") else float.fromhex(text)


def _event(fields: list) -> Event:
    return Event(*map(decode, fields))


def _of_torch(name: str) -> Any:
    value = getattr(torch, name, None)
    if not isinstance(value, _OF_TORCH):
        raise ValueError(f"no constant of torch: {name!r}")
    return value


def _entry(name: str) -> Callable:
    if name not in ENTRIES:
        raise ValueError(f"no function of the run time: {name!r}")
    return getattr(torch_entry, name)


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "complex": lambda parts: complex(*map(decode, parts)),
    "device": torch.device,
    "entry": _entry,
    "event": _event,
    "float": _float,
    "list": lambda items: [decode(item) for item in items],
    "made": lambda pair: torch_entry.check_made(pair[0], decode(pair[1])),
    "operator": torch_entry.entry,
    "torch": _of_torch,
    "tuple": lambda items: tuple(map(decode, items)),
}
