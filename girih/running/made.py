"""Random values for the arguments of ``@main``."""

from __future__ import annotations

from typing import Any

import torch

from girih.dialects.dims import evaluate, symbols_of
from girih.running.arguments import Argument, Arguments

_SIZES = (7, 5, 6, 9, 4, 8)
"""What symbols are, one after the other, where their ranges allow it."""


def random_values(
    arguments: Arguments, seed: int, device: torch.device | str
) -> list[Any]:
    """Makes a value for each argument.

    Floats are normal numbers and bools are random. Integers are zeros, because they may
    be indices. Symbols get sizes from 4 to 9, or those of their range next to these.

    Args:
        arguments: What ``@main`` takes.
        seed: Of the random numbers. They are drawn on the CPU, so they are the same for
            each device.
        device: Where the tensors are.
    """
    generator = torch.Generator().manual_seed(seed)
    symbols = _symbols(arguments)
    return [_value(each, symbols, generator, device) for each in arguments.list]


def _symbols(arguments: Arguments) -> dict[str, int]:
    names: dict[str, None] = {}
    for argument in arguments.list:
        for size in argument.sizes:
            names |= dict.fromkeys(sorted(symbols_of(size)))
        if argument.symbol:
            names[argument.symbol] = None
    found = {}
    for number, name in enumerate(names):
        size = _SIZES[number % len(_SIZES)]
        least, most = arguments.ranges.get(name, (size, size))
        found[name] = min(max(size, least), most)
    return found


def _value(
    argument: Argument,
    symbols: dict[str, int],
    generator: torch.Generator,
    device: torch.device | str,
) -> Any:
    if argument.dtype is None:
        return symbols.get(argument.symbol, 1)
    sizes = [evaluate(size, symbols) for size in argument.sizes]
    drawn = _drawn(argument.dtype, sizes, generator)
    return drawn.item() if argument.is_number else drawn.to(device)


def _drawn(
    dtype: torch.dtype, sizes: list[int], generator: torch.Generator
) -> torch.Tensor:
    if dtype.is_complex:
        wide = torch.randn(sizes, dtype=torch.complex64, generator=generator)
        return wide.to(dtype)
    if dtype.is_floating_point:
        return torch.randn(sizes, generator=generator).to(dtype)
    if dtype == torch.bool:
        return torch.rand(sizes, generator=generator) < 0.5
    return torch.zeros(sizes, dtype=dtype)
