"""What the switches of ``torch.compiler.config`` name as varying.

``dynamic_sources`` and ``unbacked_sources`` name tensors and integers, each by the text
of its source or a regular expression for that, with ``:N`` for one dim alone;
``dynamic_values`` has numbers. Variables of the environment set them, too. torch reads
them at each capture, and so does girih.

Source: ``is_dynamic_source`` in torch/_dynamo/variables/builder.py.
"""

from __future__ import annotations

import functools
import re
import sys

from girih.errors import unsupported

_LISTS = ("dynamic_sources", "unbacked_sources")

# How girih prints a name of a module, of which torch prints the name alone.
_OF_MODULE = re.compile(r"^G\[[^\]']*\]")


def is_named(source: str, value: int, dim: int | None = None) -> bool:
    """Whether a switch says that a size or a number varies.

    Args:
        source: The text of the source of the tensor or number.
        value: The size or number now.
        dim: The dim that has the size; None for a number.
    """
    config = sys.modules.get("torch.compiler.config")
    names = tuple(getattr(config, name, "") for name in _LISTS)
    values = getattr(config, "dynamic_values", "")
    if not values and not any(names):
        return False
    if value in _values(values):
        return True
    texts = {source, _OF_MODULE.sub("G", source)}
    entries = [entry for given in names for entry in _entries(given)]
    return any(
        _fits(pattern, text)
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
        return pattern == source or re.match(pattern, source) is not None
    except re.error as error:
        unsupported(
            kind="entry of torch.compiler.config that is no regular expression",
            context=repr(pattern),
            explanation=f"Python's re says: {error}.",
            hints=("Escape its brackets.",),
        )
