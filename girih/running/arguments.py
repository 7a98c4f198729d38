"""What ``@main`` takes, and whether given values fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from girih.codegen.runtime import torch_entry
from girih.dialects import keys
from girih.dialects.attributes import SIZES
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size, evaluate, symbols_of
from girih.dialects.types import (
    buffer_parts,
    contiguous_strides,
    element_of,
    is_buffer,
    shape_of,
)


@dataclass(frozen=True)
class Argument:
    """An argument of ``@main``.

    Attributes:
        index: Its number.
        name: Its name in the user's program, or "".
        dtype: Of the tensor, or of the number; None for a size.
        sizes: Of the tensor.
        strides: Of the tensor, in elements.
        symbol: The symbol whose value the size is; "" where nothing uses it.
        is_number: Whether the caller gives a Python number.
        is_donated: Whether the caller gives the tensor away.
    """

    index: int
    name: str
    dtype: torch.dtype | None
    sizes: tuple[Size, ...] = ()
    strides: tuple[Size, ...] = ()
    symbol: str = ""
    is_number: bool = False
    is_donated: bool = False

    def __str__(self) -> str:
        return f"argument {self.index}" + (f" ({self.name})" if self.name else "")

    @property
    def is_tensor(self) -> bool:
        """Whether the caller gives a tensor."""
        return self.dtype is not None and not self.is_number

    @property
    def type(self) -> str:
        """What it has to be, for messages: ``float32[s0, 16]``, ``int``."""
        if self.dtype is None:
            return "int"
        name = str(self.dtype).removeprefix("torch.")
        if self.is_number:
            return f"number of type {name}"
        return f"{name}[{', '.join(map(str, self.sizes))}]"


@dataclass(frozen=True)
class Arguments:
    """All arguments of ``@main``.

    Attributes:
        list: The arguments, in order.
        ranges: By symbol the smallest value that the program is right for, and the
            largest one.
    """

    list: tuple[Argument, ...]
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def checked(self, values: Sequence[Any]) -> dict[str, int]:
        """Returns the values of symbols.

        Args:
            values: One for each argument.

        Raises:
            TypeError: There is another number of values, or one is of another type.
            ValueError: A tensor has another rank or size, symbols disagree, or one is
                out of its range.
        """
        if len(values) != len(self.list):
            kinds = ", ".join(argument.type for argument in self.list)
            raise TypeError(
                f"@main takes {len(self.list)} arguments ({kinds}), got {len(values)}"
            )
        for argument, value in zip(self.list, values, strict=True):
            _check_kind(argument, value)
        symbols = self._symbols(values)
        for argument, value in zip(self.list, values, strict=True):
            _check_sizes(argument, value, symbols)
        return symbols

    def _symbols(self, values: Sequence[Any]) -> dict[str, int]:
        """The value of each symbol: of the first argument that has it as a size."""
        found: dict[str, tuple[int, str]] = {}
        for argument, value in zip(self.list, values, strict=True):
            for name, size, where in _symbols_in(argument, value):
                known, first = found.setdefault(name, (size, where))
                if known != size:
                    raise ValueError(
                        f"expected {where} to be {name} = {known}, as {first} is, "
                        f"got {size}"
                    )
        for name, (size, where) in found.items():
            least, most = self.ranges.get(name, (size, size))
            if not least <= size <= most:
                raise ValueError(
                    f"expected {where}, which is {name}, to be from {least} to {most}, "
                    f"got {size}: @main is compiled for that range alone"
                )
        return {name: size for name, (size, _) in found.items()}


def arguments_of(function: ir.OpView) -> Arguments:
    """What a function takes, of any level.

    Args:
        function: Its arguments are tensors, buffers or of type ``index``.
    """
    block = function.regions[0].blocks[0]
    attributes = function.attributes
    given = attributes["arg_attrs"] if "arg_attrs" in attributes else None
    found = tuple(
        _argument(number, value.type, {} if given is None else given[number])
        for number, value in enumerate(block.arguments)
    )
    ranges = attributes[keys.SYMBOLS] if keys.SYMBOLS in attributes else ()
    return Arguments(
        found,
        {each.name: tuple(bound.value for bound in each.attr) for each in ranges},
    )


def fitted(argument: Argument, value: Any, symbols: Mapping[str, int]) -> Any:
    """A value as the program takes it.

    Args:
        argument: What it is for.
        value: A checked value.
        symbols: The values of symbols.

    Returns:
        The tensor itself, or a copy with the strides that ``@main`` demands or of one
        that is given away; a Python number for a number.
    """
    if not argument.is_tensor:
        return value.item() if isinstance(value, torch.Tensor) else value
    value = value.detach()
    strides = [evaluate(stride, symbols) for stride in argument.strides]
    if not _lies_so(value, strides):
        made = torch.empty_strided(
            value.shape, strides, dtype=value.dtype, device=value.device
        )
        return made.copy_(value)
    return value.clone() if argument.is_donated else value


def _lies_so(tensor: torch.Tensor, strides: Sequence[int]) -> bool:
    """Whether a tensor has these strides, where they matter."""
    sizes = zip(tensor.shape, tensor.stride(), strides, strict=True)
    return not tensor.numel() or all(n == 1 or a == b for n, a, b in sizes)


def _argument(number: int, type_: ir.Type, given: Mapping) -> Argument:
    name = given[keys.NAME].value if keys.NAME in given else ""
    if isinstance(type_, ir.IndexType):
        symbol = given[keys.SYMBOL].value if keys.SYMBOL in given else ""
        return Argument(number, name, None, symbol=symbol)
    sizes = shape_of(type_)
    if is_buffer(type_):
        strides = buffer_parts(type_).strides
    elif keys.STRIDES in given:
        strides = SIZES.decode(given[keys.STRIDES])
    else:
        strides = contiguous_strides(sizes)
    return Argument(
        number,
        name,
        torch_entry.dtype(str(element_of(type_))),
        tuple(sizes),
        tuple(strides),
        is_number=keys.NUMBER in given,
        is_donated=keys.DONATED in given,
    )


def _check_kind(argument: Argument, value: Any) -> None:
    """Raises a TypeError where a value is no tensor, number or int as it has to be."""
    if argument.dtype is None:
        fits = isinstance(value, int) and not isinstance(value, bool)
    elif argument.is_number and not isinstance(value, torch.Tensor):
        fits = isinstance(value, _python_types(argument.dtype))
    else:
        fits = isinstance(value, torch.Tensor) and value.dtype == argument.dtype
    if not fits:
        raise TypeError(
            f"expected {argument} to be {argument.type}, got {_told(value)}"
        )


def _python_types(dtype: torch.dtype) -> tuple[type, ...]:
    if dtype == torch.bool:
        return (bool,)
    return (int, float) if dtype.is_floating_point else (int,)


def _symbols_in(argument: Argument, value: Any) -> list[tuple[str, int, str]]:
    """Symbols, their values, and where they stand."""
    if argument.symbol:
        return [(argument.symbol, value, str(argument))]
    if not argument.is_tensor or value.dim() != len(argument.sizes):
        return []
    dims = enumerate(zip(argument.sizes, value.shape, strict=True))
    return [
        (str(size), actual, f"size {dim} of {argument}")
        for dim, (size, actual) in dims
        if isinstance(size, Dim) and str(size).isidentifier()
    ]


def _check_sizes(argument: Argument, value: Any, symbols: Mapping[str, int]) -> None:
    """Raises a ValueError where a tensor has another rank or size."""
    if not isinstance(value, torch.Tensor):
        return
    if value.dim() != len(argument.sizes):
        raise ValueError(
            f"expected {argument} to have rank {len(argument.sizes)} "
            f"({argument.type}), got {_told(value)}"
        )
    for dim, (size, actual) in enumerate(zip(argument.sizes, value.shape, strict=True)):
        if not symbols_of(size) <= symbols.keys():
            continue  # nothing says what it should be
        wanted = evaluate(size, symbols)
        if wanted != actual:
            text = f"{size} = {wanted}" if isinstance(size, Dim) else f"{size}"
            raise ValueError(
                f"expected size {dim} of {argument} to be {text} ({argument.type}), "
                f"got {_told(value)}"
            )


def _told(value: Any) -> str:
    """A value as messages name it."""
    if isinstance(value, torch.Tensor):
        name = str(value.dtype).removeprefix("torch.")
        return f"{name}{list(value.shape)}"
    return f"{value!r} of type {type(value).__name__}"
