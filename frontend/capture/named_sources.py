"""What the switches of ``torch.compiler.config`` name as varying.

``dynamic_sources`` and ``unbacked_sources`` name tensors and integers, each by the text
of its source or a regular expression for that, with ``:N`` for one dim alone;
``dynamic_values`` has numbers. Variables of the environment set them, too. torch reads
them at each capture, and so does girih.

Source: ``is_dynamic_source`` in torch/_dynamo/variables/builder.py.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from types import FunctionType

import torch

from girih.errors import unsupported

_SWITCHES = ("dynamic_sources", "unbacked_sources", "dynamic_values")

# How girih prints a name of a module, of which torch prints the name alone.
_OF_MODULE = re.compile(r"^G\[[^\]']*\]")

# How it names the arguments of a module that is called.
_ARGUMENT = re.compile(r"^L\['args'\]\[(\d+)\]")
_KEYWORD = re.compile(r"^L\['kwargs'\]\['(\w+)'\]")


def _switches() -> list[str]:
    config = sys.modules.get("torch.compiler.config")
    return [getattr(config, name, "") for name in _SWITCHES]


def names_of_forward(function: FunctionType, arguments: tuple) -> tuple[str, ...]:
    """The names of the parameters of a module that is called; () for other functions.

    girih captures the call of a module, whose arguments are ``args`` and ``kwargs``;
    torch captures its ``forward``.
    """
    is_call = function.__code__ is torch.nn.Module._wrapped_call_impl.__code__
    if not is_call or not any(_switches()):
        return ()
    try:
        given = inspect.signature(arguments[0].forward).parameters.values()
    except (TypeError, ValueError):  # in C, or no function
        return ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(each.name for each in given if each.kind in kinds)


def texts_of(source: str, forward: tuple[str, ...]) -> set[str]:
    """How a source reads, in girih's reports and in torch.

    Args:
        source: The text of the source.
        forward: What ``names_of_forward`` gives.
    """
    found = {source, _OF_MODULE.sub("G", source)}
    position = _ARGUMENT.match(source)
    if position and int(position[1]) < len(forward):
        name = forward[int(position[1])]
        found.add(f"L['{name}']{source[position.end() :]}")
    elif forward:
        found.add(_KEYWORD.sub(r"L['\1']", source))
    return found


def is_named(
    texts: set[str], value: int, dim: int | None = None, *, exactly: bool = False
) -> bool:
    """Whether a switch says that a size or a number varies.

    Args:
        texts: How the source of the tensor or number reads.
        value: The size or number now.
        dim: The dim that has the size; None for a number.
        exactly: Whether patterns and values don't count.
    """
    *names, values = _switches()
    if not values and not any(names):
        return False
    if not exactly and value in _values(values):
        return True
    entries = [entry for given in names for entry in _entries(given)]
    return any(
        pattern == text or not exactly and _fits(pattern, text)
        for pattern, wanted in entries
        if None in (wanted, dim) or wanted == dim
        for text in texts
    )


@functools.lru_cache
def _values(given: str) -> frozenset[int]:
    return frozenset(int(each) for each in given.replace(" ", "").split(",") if each)


@functools.lru_cache
def _entries(given: str) -> list[tuple[str, int | None]]:
    """The patterns, each with its dim, if it has one."""
    found = []
    for entry in given.replace(" ", "").split(","):
        pattern, _, dim = entry.rpartition(":")
        if pattern and dim.isascii() and dim.isdigit():
            found.append((pattern, int(dim)))
        elif entry:
            found.append((entry, None))
    return found


def _fits(pattern: str, source: str) -> bool:
    try:
        return re.match(pattern, source) is not None
    except re.error as error:
        unsupported(
            kind="entry of torch.compiler.config that is no regular expression",
            context=repr(pattern),
            explanation=f"Python's re says: {error}.",
            hints=("Escape its brackets.",),
        )
