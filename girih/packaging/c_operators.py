"""Calls of operators from C: how their arguments are written.

C calls an operator by its name, with arguments on a stack whose types the operator's
schema gives. ``codegen/c_runtime/operators.h`` lists the kinds of arguments.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import torch

from girih.codegen.runtime import torch_entry

MOST_OPERANDS = 64

Argument = IntEnum(
    "Argument", "NONE TENSOR INT FLOAT TEXT DTYPE CPU SOME LIST", start=0
)

# Operators whose factors, which are Scalars, C gives to a function of their own.
_PRODUCTS = ("aten::addmm", "aten::baddbmm")

DTYPES = {
    torch.bfloat16: (4, 16),
    torch.bool: (6, 8),
    torch.complex128: (5, 128),
    torch.complex32: (5, 32),
    torch.complex64: (5, 64),
    torch.float16: (2, 16),
    torch.float32: (2, 32),
    torch.float64: (2, 64),
    torch.float8_e4m3fn: (10, 8),
    torch.float8_e4m3fnuz: (11, 8),
    torch.float8_e5m2: (12, 8),
    torch.float8_e5m2fnuz: (13, 8),
    torch.int16: (0, 16),
    torch.int32: (0, 32),
    torch.int64: (0, 64),
    torch.int8: (0, 8),
    torch.uint16: (1, 16),
    torch.uint32: (1, 32),
    torch.uint64: (1, 64),
    torch.uint8: (1, 8),
}
"""The numbers that DLPack has for kinds of dtypes, and the bits of an element."""

# The numbers of c10/core/MemoryFormat.h and c10/core/Layout.h.
_NUMBERS = {
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
    torch.strided: 0,
}


class NotInC(Exception):
    """Something that needs Python; its text names it."""


class Slot(NamedTuple):
    """The number of a value or a register."""

    index: int
    is_value: bool


class Writer(Protocol):
    """What knows values, registers and texts."""

    def value(self, item: Any) -> int:
        """The number of a tensor."""

    def register(self, item: Any) -> int:
        """The register that holds an integer."""

    def text(self, text: str) -> int:
        """The number of a text."""


def dtype_word(dtype: torch.dtype) -> int:
    """A dtype as C has it."""
    code, bits = DTYPES[dtype]
    return code | bits << 8


def name_of(function: Any) -> str:
    """How an error names a function that C can't call."""
    return getattr(function, "__qualname__", None) or repr(function)


def callable_from_c(name: str, items: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """The operator that C calls for another one, and what with.

    Args:
        name: The overload, such as ``aten.mm.default``.
        items: What it is called with.
    """
    if name != "aten.constant_pad_nd.default":
        return name, items
    # Its value is a Scalar; that of pad is a float64, which holds most of them.
    image, widths, value = (*items, 0)[:3]
    is_whole = isinstance(value, int) and int(float(value)) == value
    if not (isinstance(value, float) or is_whole):
        return name, items
    return "aten.pad.default", (image, widths, "constant", float(value))


def operands_of(
    name: str, items: Sequence[Any], keywords: Sequence[str], writer: Writer
) -> list[int]:
    """The arguments of a call, with those that are not given: their count, and words.

    Args:
        name: The overload, such as ``aten.mm.default``.
        items: What it is called with.
        keywords: The names of the last of them.
        writer: What knows values, registers and texts.

    Raises:
        NotInC: An argument has no form in C.
    """
    schema = torch_entry.overload(name)._schema
    if max(len(schema.arguments), len(schema.returns)) > MOST_OPERANDS:
        raise NotInC(f"the many arguments of {name}")
    words = [len(schema.arguments)]
    for argument, item in _matched(schema, items, keywords):
        try:
            is_factor = schema.name in _PRODUCTS and _kind(argument) == "NumberType"
            encoder = _factor if is_factor else _encoded
            words += encoder(argument.real_type, item, writer)
        except (NotInC, KeyError, TypeError, ValueError, struct.error):
            raise NotInC(f"{argument.name} of {name}") from None
    return words


def _matched(
    schema: Any, items: Sequence[Any], keywords: Sequence[str]
) -> Iterator[tuple[Any, Any]]:
    """Each argument of a schema with what is given for it, or its default."""
    positional = len(items) - len(keywords)
    named = dict(zip(keywords, items[positional:], strict=True))
    for number, argument in enumerate(schema.arguments):
        if number < positional and not argument.kwarg_only:
            yield argument, items[number]
        else:
            yield argument, named.pop(argument.name, argument.default_value)
    if named or positional > len(schema.arguments):
        raise NotInC(f"a call of {schema.name}")


def _kind(argument: Any) -> str:
    return argument.real_type.kind()


def _float(number: float) -> list[int]:
    return [Argument.FLOAT, *struct.unpack("q", struct.pack("d", number))]


def _factor(type_: Any, item: Any, writer: Writer) -> list[int]:
    return _float(float(item))


def _encoded(type_: Any, item: Any, writer: Writer) -> list[int]:
    return _ENCODERS[type_.kind()](type_, item, writer)


def _optional(type_: Any, item: Any, writer: Writer) -> list[int]:
    if item is None:
        return [Argument.NONE]
    return [Argument.SOME, *_encoded(type_.getElementType(), item, writer)]


def _list(type_: Any, item: Any, writer: Writer) -> list[int]:
    if not isinstance(item, (list, tuple)):
        raise NotInC(item)
    inner = type_.getElementType()
    words = [word for each in item for word in _encoded(inner, each, writer)]
    return [Argument.LIST, len(item), *words]


def _integer(type_: Any, item: Any, writer: Writer) -> list[int]:
    number = int(item) if isinstance(item, bool) else item
    return [Argument.INT, writer.register(number)]


def _enumerated(type_: Any, item: Any, writer: Writer) -> list[int]:
    return [Argument.INT, writer.register(_NUMBERS[item])]


def _device(type_: Any, item: Any, writer: Writer) -> list[int]:
    if torch.device(item).type != "cpu":
        raise NotInC(item)
    return [Argument.CPU]


_ENCODERS: Mapping[str, Callable[[Any, Any, Writer], list[int]]] = {
    "BoolType": _integer,
    "DeviceObjType": _device,
    "FloatType": lambda type_, item, writer: _float(item),
    "IntType": _integer,
    "LayoutType": _enumerated,
    "ListType": _list,
    "MemoryFormatType": _enumerated,
    "OptionalType": _optional,
    "ScalarTypeType": lambda type_, item, writer: [Argument.DTYPE, dtype_word(item)],
    "StringType": lambda type_, item, writer: [Argument.TEXT, writer.text(item)],
    "SymIntType": _integer,
    "TensorType": lambda type_, item, writer: [Argument.TENSOR, writer.value(item)],
}
